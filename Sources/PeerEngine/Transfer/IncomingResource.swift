// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import LinuxIO

/// A file that comes from a peer, into one of its own name; confined to the thread of its loop.
final class IncomingResource {
    private let size: UInt64
    private let files: Worker
    private let onProgress: (UInt64) -> Void
    private let onConsumed: (Int) -> Void
    private var completion: ((Result<String, TransferFailure>) -> Void)?
    private var ticket: Worker.Ticket?
    private var file: ArrivingFile?
    private var pieces: [[UInt8]] = []
    private var received: UInt64 = 0
    private var written: UInt64 = 0
    private var hasEnded = false
    /// What was received and not granted again.
    private var owed = 0

    /// So much may wait to be written.
    private static let enough: UInt64 = 1 << 20
    /// Less is not worth a thread's while, unless it is all that there is.
    private static let batch = 64 << 10

    init(
        size: UInt64,
        files: Worker,
        onProgress: @escaping (UInt64) -> Void,
        onConsumed: @escaping (Int) -> Void,
        completion: @escaping (Result<String, TransferFailure>) -> Void
    ) {
        self.size = size
        self.files = files
        self.onProgress = onProgress
        self.onConsumed = onConsumed
        self.completion = completion
    }

    deinit { ticket?.cancel() }

    func start() {
        perform({ FileJobs.Create() }) { resource, file in
            resource.file = file
            resource.advance()
        }
    }

    /// Has the disk do something, one thing at a time.
    private func perform<Work: Worker.Job>(
        _ job: @escaping @Sendable () -> Work,
        then proceed: @escaping (IncomingResource, Work.Value) -> Void
    ) {
        ticket = try? files.start(job) { [weak self] result in
            guard let self else { return }
            ticket = nil
            switch result {
            case .failure(let error): finish(.failure(.file(error as? Errno ?? .invalid)))
            case .success(let value): proceed(self, value)
            }
        }
        if ticket == nil { finish(.failure(.tooMany)) }
    }

    /// Appends a piece of it.
    func append(_ bytes: [UInt8]) {
        received += UInt64(bytes.count)
        guard received <= size else { return finish(.failure(.incomplete)) }
        pieces.append(bytes)
        // The peer may go on while the disk is not far behind.
        owed += bytes.count
        if received - written < Self.enough { settle() }
        advance()
    }

    private func settle() {
        let count = owed
        owed = 0
        if count > 0 { onConsumed(count) }
    }

    /// The peer has sent all.
    func end() {
        hasEnded = true
        advance()
    }

    private func advance() {
        guard let file, ticket == nil, completion != nil else { return }
        let isLittle = received - written < UInt64(Self.batch) && received < size
        guard !pieces.isEmpty, !isLittle || hasEnded else {
            guard hasEnded else { return }
            guard written == size else { return finish(.failure(.incomplete)) }
            return perform({ FileJobs.Name(file: file) }) { $0.finish(.success($1.keep())) }
        }
        let pieces = pieces
        self.pieces = []
        perform({ FileJobs.Write(file: file, pieces: pieces) }) { resource, count in
            resource.written += UInt64(count)
            resource.settle()
            resource.onProgress(resource.written)
            resource.advance()
        }
    }

    /// It is over; what is not whole is gone.
    func finish(_ result: Result<String, TransferFailure>) {
        ticket?.cancel()
        ticket = nil
        file = nil
        let completion = completion
        self.completion = nil
        completion?(result)
    }
}
