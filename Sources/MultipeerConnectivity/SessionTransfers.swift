// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Network
internal import PeerEngine
internal import Synchronization

/// Resources and streams of a session, between threads of the program and the engine.
final class SessionTransfers: Sendable {
    private let resources = Mutex<[TransferID: ProgressRelay]>([:])
    private let streams = Mutex<[TransferID: StreamPipe]>([:])

    /// How many bytes of a stream wait at each end.
    private static let capacity = 256 << 10

    // MARK: - Sending

    /// Sends a file; `completion` is called on the session's queue.
    func send(
        _ url: URL,
        name: String,
        to peer: MCPeerID,
        by core: SessionCore,
        completion: @escaping @Sendable (MCError?) -> Void
    ) -> Progress? {
        let refuse = { (error: MCError) -> Progress? in
            core.queue.async { completion(error) }
            return nil
        }
        guard url.isFileURL else {
            return refuse(MCError(.unsupported, "'\(url)' is not a file URL: download remote resources first"))
        }
        guard name.utf8.count <= 1024, !name.isEmpty else {
            return refuse(
                MCError(.invalidParameter, "the resource's name has \(name.utf8.count) bytes, expected 1 to 1024")
            )
        }
        guard core.outbox(of: peer) != nil else {
            return refuse(MCError(.notConnected, "'\(peer.displayName)' is not in the session"))
        }
        let size = (try? FileManager.default.attributesOfItem(atPath: url.path))?[.size] as? NSNumber
        let progress = Progress(totalUnitCount: size?.int64Value ?? -1)
        let relay = ProgressRelay(progress, queue: core.queue)
        let number = EngineThread.makeID()
        let key = peer.key
        progress.cancellationHandler = { [weak core] in
            core?.perform { bridge in bridge?.session.transfers(with: key)?.cancelResource(number) }
        }
        let path = url.path
        core.perform { [queue = core.queue] bridge in
            guard let transfers = bridge?.session.transfers(with: key) else {
                return queue.async { completion(MCError(.notConnected)) }
            }
            transfers.sendResource(at: path, name: name, number: number) {
                relay.set($0, of: $1)
            } completion: { failure in
                let error = failure.map { MCError($0, name) }
                queue.async { completion(error) }
            }
        }
        return progress
    }

    /// Opens a stream of bytes to a peer.
    func open(_ name: String, to peer: MCPeerID, by core: SessionCore) throws(MCError) -> OutputStream {
        guard name.utf8.count <= 1024 else {
            throw MCError(.invalidParameter, "the stream's name has \(name.utf8.count) bytes, expected 1024 at most")
        }
        guard core.outbox(of: peer) != nil else {
            throw MCError(.notConnected, "'\(peer.displayName)' is not in the session")
        }
        let pipe = StreamPipe(capacity: Self.capacity)
        let key = peer.key
        let holder = OpenedStream()
        core.perform { bridge in
            guard let transfers = bridge?.session.transfers(with: key) else {
                return pipe.fail(MCError(.notConnected))
            }
            guard let id = transfers.openStream(name, from: PipeSource(pipe)) else {
                return pipe.fail(MCError(.unavailable, "there are too many streams and resources"))
            }
            holder.set(id)
        }
        return SessionOutputStream(pipe) { [weak core] in
            core?.perform { bridge in
                guard let id = holder.id else { return }
                bridge?.session.transfers(with: key)?.wake(id)
            }
        }
    }

    // MARK: - Receiving

    /// Events of the engine.
    func handle(_ event: TransferEvent, from info: PeerInfo, by core: SessionCore) {
        let peer = core.known(info)
        switch event {
        case .resourceStarted(let id, let name, let size):
            let progress = Progress(totalUnitCount: Int64(clamping: size))
            resources.withLock { $0[id] = ProgressRelay(progress, total: size, queue: core.queue) }
            progress.cancellationHandler = { [weak core] in
                core?.perform { bridge in bridge?.session.transfers(with: info.key)?.refuse(id) }
            }
            core.call { session, delegate in
                delegate.session(
                    session,
                    didStartReceivingResourceWithName: name,
                    fromPeer: peer,
                    with: progress
                )
            }
        case .resourceProgress(let id, let count):
            if let relay = resources.withLock({ $0[id] }) { relay.set(count, of: relay.total) }
        case .resourceFinished(let id, let name, let result):
            resources.withLock { $0[id] = nil }
            finish(name, result, from: peer, by: core)
        case .streamOpened(let id, let name): receive(name, id, from: peer, by: core)
        case .streamBytes(let id, let bytes): streams.withLock { $0[id] }?.put(bytes)
        case .streamEnded(let id, let failure):
            let pipe = streams.withLock { $0.removeValue(forKey: id) }
            if let failure { pipe?.fail(MCError(failure, "stream")) } else { pipe?.end() }
        }
    }

    private func finish(
        _ name: String,
        _ result: Result<String, TransferFailure>,
        from peer: MCPeerID,
        by core: SessionCore
    ) {
        let path: String? = if case .success(let path) = result { path } else { nil }
        let error: MCError? = if case .failure(let failure) = result { MCError(failure, name) } else { nil }
        core.queue.async {
            core.notify { session, delegate in
                delegate.session(
                    session,
                    didFinishReceivingResourceWithName: name,
                    fromPeer: peer,
                    at: path.map { URL(fileURLWithPath: $0) },
                    withError: error
                )
            }
            // What the delegate has not moved is nobody's.
            if let path { try? FileManager.default.removeItem(atPath: path) }
        }
    }

    private func receive(_ name: String, _ id: TransferID, from peer: MCPeerID, by core: SessionCore) {
        let pipe = StreamPipe(capacity: Self.capacity)
        streams.withLock { $0[id] = pipe }
        let key = peer.key
        core.queue.async {
            // Without a delegate to receive it, it is refused when released.
            let stream = SessionInputStream(pipe) { [weak core] count in
                core?.perform { bridge in bridge?.session.transfers(with: key)?.consume(count, of: id) }
            } onClose: { [weak core] in
                core?.transfers.forget(id)
                core?.perform { bridge in bridge?.session.transfers(with: key)?.refuse(id) }
            }
            core.notify { session, delegate in
                delegate.session(session, didReceive: stream, withName: name, fromPeer: peer)
            }
        }
    }

    private func forget(_ id: TransferID) { streams.withLock { $0[id] = nil } }
}

/// The name of a stream that may not be open yet; any thread.
private final class OpenedStream: Sendable {
    private let stored = Mutex<TransferID?>(nil)
    var id: TransferID? { stored.withLock { $0 } }
    func set(_ id: TransferID) { stored.withLock { $0 = id } }
}

/// The engine's side of a stream that is sent.
private final class PipeSource: ByteSource {
    private let pipe: StreamPipe

    init(_ pipe: StreamPipe) { self.pipe = pipe }

    func read(upTo limit: Int) -> ByteSourceContent {
        let isEnded = pipe.isEnded
        let bytes = pipe.read(upTo: limit, waits: false)
        return bytes.isEmpty ? isEnded ? .end : .nothing : .bytes(bytes)
    }

    func fail(_ failure: TransferFailure) { pipe.fail(MCError(failure, "stream")) }
}

extension MCError {
    /// Why something did not get through.
    init(_ failure: TransferFailure, _ name: String) {
        switch failure {
        case .cancelled: self.init(Code.cancelled, "'\(name)' was cancelled")
        case .disconnected: self.init(.notConnected, "the peer is no longer in the session")
        case .tooMany: self.init(.unavailable, "there are too many streams and resources")
        case .file(let error): self.init(.invalidParameter, "the file of '\(name)': \(error)")
        case .incomplete: self.init(.unknown, "'\(name)' could not be read or kept as a whole")
        }
    }
}
