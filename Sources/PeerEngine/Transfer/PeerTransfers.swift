// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import LinuxIO

/// Resources and streams with one member, in both directions; confined to the thread of its loop.
package final class PeerTransfers {
    private let connection: UInt64
    private let link: PeerLink
    private let files: Worker
    private let onEvent: (TransferEvent) -> Void
    /// What is sent, by the program's number for it; those that have no channel yet wait in line.
    private var sending: [UInt64: OutgoingResource] = [:]
    private var line: [UInt64] = []
    private var active: Set<UInt64> = []
    private var numbers: [UInt16: UInt64] = [:]
    private var receiving: [UInt16: IncomingResource] = [:]
    private var sources: [UInt16: any ByteSource] = [:]
    private var streams: Set<UInt16> = []

    /// How many files are open at a time, to be sent and to be received.
    private static let mostSending = 8
    private static let mostReceiving = 64
    private static let piece = 64 << 10

    init(_ link: PeerLink, connection: UInt64, files: Worker, onEvent: @escaping (TransferEvent) -> Void) {
        self.link = link
        self.connection = connection
        self.files = files
        self.onEvent = onEvent
    }

    private func id(_ channel: UInt16) -> TransferID { TransferID(connection: connection, channel: channel) }

    private func channel(_ id: TransferID) -> UInt16? { id.connection == connection ? id.channel : nil }

    // MARK: - Sending

    /// Sends a regular file under a name, which is no path for the peer.
    ///
    /// `number` names it for ``cancelResource(_:)``. `onProgress` gets how many bytes have gone, and how many there are;
    /// `completion` is called once, without a failure when the peer has all of it.
    package func sendResource(
        at path: String,
        name: String,
        number: UInt64,
        onProgress: @escaping (UInt64, UInt64) -> Void,
        completion: @escaping (TransferFailure?) -> Void
    ) {
        sending[number] = OutgoingResource(path, name: name, link: link, files: files, onProgress: onProgress) {
            [weak self] failure in
            self?.forget(number)
            completion(failure)
        }
        line.append(number)
        startNext()
    }

    private func startNext() {
        while active.count < Self.mostSending, !line.isEmpty {
            let number = line.removeFirst()
            active.insert(number)
            sending[number]?.start { [weak self] channel in self?.numbers[channel] = number }
        }
    }

    private func forget(_ number: UInt64) {
        let resource = sending.removeValue(forKey: number)
        if let channel = resource?.channel { numbers[channel] = nil }
        line.removeAll { $0 == number }
        if active.remove(number) != nil { startNext() }
    }

    package func cancelResource(_ number: UInt64) { sending[number]?.fail(.cancelled) }

    /// Opens a stream to the peer.
    /// - Returns: `nil` when there are too many.
    package func openStream(_ name: String, from source: any ByteSource) -> TransferID? {
        guard let channel = link.openChannel(.stream(name: name)) else { return nil }
        sources[channel] = source
        pump(channel)
        return id(channel)
    }

    /// A source has something.
    package func wake(_ id: TransferID) {
        if let channel = channel(id) { pump(channel) }
    }

    private func pump(_ channel: UInt16) {
        while let source = sources[channel], case let room = link.room(on: channel), room > 0 {
            switch source.read(upTo: min(room, Self.piece)) {
            case .nothing: return
            case .bytes(let bytes): link.send(chunk: bytes, on: channel)
            case .end:
                sources[channel] = nil
                link.end(channel: channel)
            }
        }
    }

    // MARK: - Receiving

    /// The program has read so much of a stream.
    package func consume(_ count: Int, of id: TransferID) {
        if let channel = channel(id) { link.consume(count, on: channel) }
    }

    /// The program does not want a resource, or the rest of a stream.
    package func refuse(_ id: TransferID) {
        guard let channel = channel(id) else { return }
        if streams.remove(channel) != nil { link.reset(channel: channel, isFailure: false) }
        receiving[channel]?.finish(.failure(.cancelled))
    }

    func handle(_ event: LinkEvent) {
        switch event {
        case .channelOpened(let channel, let purpose): open(channel, purpose)
        case .chunk(let channel, let bytes):
            if let resource = receiving[channel] {
                resource.append(bytes)
            } else if streams.contains(channel) {
                onEvent(.streamBytes(id(channel), bytes))
            }
        case .ended(let channel):
            receiving[channel]?.end()
            guard streams.remove(channel) != nil else { return }
            link.send(Frame(kind: .done, channel: channel))
            link.forget(channel)
            onEvent(.streamEnded(id(channel), nil))
        case .reset(let channel, let isFailure): lose(channel, isFailure ? .incomplete : .cancelled)
        case .done(let channel): numbers[channel].flatMap { sending[$0] }?.finish(nil)
        case .room(let channel):
            numbers[channel].flatMap { sending[$0] }?.advance()
            pump(channel)
        default: return
        }
    }

    private func open(_ channel: UInt16, _ purpose: ChannelPurpose) {
        switch purpose {
        case .stream(let name):
            streams.insert(channel)
            onEvent(.streamOpened(id(channel), name: name))
        case .resource(let name, let size):
            guard receiving.count < Self.mostReceiving else { return link.reset(channel: channel, isFailure: true) }
            let id = id(channel)
            let resource = IncomingResource(
                size: size,
                files: files,
                onProgress: { [weak self] in self?.onEvent(.resourceProgress(id, count: $0)) },
                onConsumed: { [weak self] in self?.link.consume($0, on: channel) },
                completion: { [weak self] in self?.finish(channel, name, $0) }
            )
            receiving[channel] = resource
            onEvent(.resourceStarted(id, name: name, size: size))
            resource.start()
        }
    }

    private func finish(_ channel: UInt16, _ name: String, _ result: Result<String, TransferFailure>) {
        guard receiving.removeValue(forKey: channel) != nil else { return }
        switch result {
        case .success:
            link.send(Frame(kind: .done, channel: channel))
            link.forget(channel)
        // That the connection ends says enough.
        case .failure(.disconnected): break
        case .failure(let failure): link.reset(channel: channel, isFailure: failure != .cancelled)
        }
        onEvent(.resourceFinished(id(channel), name: name, result))
    }

    /// One end has given a channel up, or there is no connection any more.
    private func lose(_ channel: UInt16, _ failure: TransferFailure) {
        numbers[channel].flatMap { sending[$0] }?.finish(failure)
        receiving[channel]?.finish(.failure(failure))
        sources.removeValue(forKey: channel)?.fail(failure)
        if streams.remove(channel) != nil { onEvent(.streamEnded(id(channel), failure)) }
    }

    /// The peer is gone.
    func end() {
        line = []
        for resource in sending.values { resource.finish(.disconnected) }
        for channel in Array(receiving.keys) + Array(sources.keys) + Array(streams) { lose(channel, .disconnected) }
    }
}
