// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import LinuxIO

/// A file that goes to a peer; confined to the thread of its loop.
///
/// It is read a piece ahead of what has gone, beside the loop.
final class OutgoingResource {
    let name: String
    private(set) var channel: UInt16?
    private let link: PeerLink
    private let files: Worker
    private let path: String
    private let onProgress: (UInt64, UInt64) -> Void
    private var completion: ((TransferFailure?) -> Void)?
    private var ticket: Worker.Ticket?
    private var file: SharedFile?
    private var size: UInt64 = 0
    private var offset: UInt64 = 0

    private static let piece = 512 << 10

    init(
        _ path: String,
        name: String,
        link: PeerLink,
        files: Worker,
        onProgress: @escaping (UInt64, UInt64) -> Void,
        completion: @escaping (TransferFailure?) -> Void
    ) {
        self.path = path
        self.name = name
        self.link = link
        self.files = files
        self.onProgress = onProgress
        self.completion = completion
    }

    deinit { ticket?.cancel() }

    /// Opens the file; `onChannel` is called when it has a channel.
    func start(onChannel: @escaping (UInt16) -> Void) {
        let path = path
        ticket = try? files.start({ FileJobs.Open(path: path) }) { [weak self] result in
            guard let self else { return }
            ticket = nil
            switch result {
            case .failure(let error): finish(.file(error as? Errno ?? .invalid))
            case .success((let file, let size)):
                (self.file, self.size) = (file, size)
                guard let channel = link.openChannel(.resource(name: name, size: size)) else { return finish(.tooMany) }
                self.channel = channel
                onChannel(channel)
                onProgress(0, size)
                advance()
            }
        }
        if ticket == nil { finish(.tooMany) }
    }

    /// Reads on, when there is room.
    func advance() {
        guard let channel, let file, ticket == nil, completion != nil else { return }
        onProgress(offset - UInt64(link.waiting(on: channel)), size)
        guard offset < size else { return link.end(channel: channel) }
        guard link.waiting(on: channel) < Self.piece else { return }
        let (offset, count) = (offset, Int(min(UInt64(Self.piece), size - offset)))
        ticket = try? files.start({ FileJobs.Read(file: file, offset: offset, count: count) }) { [weak self] result in
            self?.handle(result, count)
        }
        if ticket == nil { fail(.tooMany) }
    }

    private func handle(_ result: Result<[UInt8], any Error>, _ count: Int) {
        guard let channel else { return }
        ticket = nil
        switch result {
        case .failure(let error): fail(.file(error as? Errno ?? .invalid))
        // It has become shorter meanwhile.
        case .success(let bytes) where bytes.count < count: fail(.incomplete)
        case .success(let bytes):
            offset += UInt64(bytes.count)
            link.send(chunk: bytes, on: channel)
            advance()
        }
    }

    /// Gives it up, and notifies the peer.
    func fail(_ failure: TransferFailure) {
        if let channel { link.reset(channel: channel, isFailure: failure != .cancelled) }
        finish(failure)
    }

    /// It is over.
    func finish(_ failure: TransferFailure?) {
        ticket?.cancel()
        ticket = nil
        if failure == nil { onProgress(size, size) }
        let completion = completion
        self.completion = nil
        completion?(failure)
    }
}
