// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import LinuxIO
internal import Network
internal import PeerEngine
internal import Synchronization

/// What is between a session that any thread uses and its engine, which is confined to a thread of its own.
final class SessionCore: Sendable {
    private struct Member {
        let peer: MCPeerID
        let outbox: MessageOutbox
    }

    private struct State {
        weak var session: MCSession?
        var members: [Member] = []
        /// Messages that the delegate has, and the engine does not know of.
        var consumed: [PeerKey: (messages: Int, bytes: Int)] = [:]
    }

    let peer: MCPeerID
    /// Where the delegate is called.
    let queue = DispatchQueue(label: "MCSession")
    let thread: EngineThread?
    let id = EngineThread.makeID()
    let transfers = SessionTransfers()
    private let certificates: PeerCertificates?
    private let state = Mutex(State())
    private let hearer = WeakDelegate<any MCSessionDelegate>()

    static let connectTimeout = Duration.seconds(30)

    init(_ peer: MCPeerID, certificates: PeerCertificates?) {
        self.peer = peer
        self.certificates = certificates
        thread = try? EngineThread.current()
    }

    func start(_ session: MCSession) {
        state.withLock { $0.session = session }
        thread?.perform { [self] engines in
            let bridge = SessionBridge(peer, engines, id: id, certificates: certificates) { [weak self] event in
                self?.handle(event)
            }
            if let bridge { engines.add(bridge, as: id) }
        }
    }

    /// Ends the session; the last events of its streams and files are still delivered.
    func end() { thread?.perform { [self] engines in engines.end(id) } }

    /// Runs work with the engine on its thread; `nil` when there is none.
    func perform(_ work: @escaping @Sendable (SessionBridge?) -> Void) {
        guard let thread else { return work(nil) }
        thread.perform { [id] engines in work(engines.session(id, as: SessionBridge.self)) }
    }

    // MARK: - Any thread

    var delegate: (any MCSessionDelegate)? {
        get { hearer.value }
        set { hearer.value = newValue }
    }

    var connectedPeers: [MCPeerID] { state.withLock { $0.members.map(\.peer) } }

    func outbox(of peer: MCPeerID) -> MessageOutbox? {
        state.withLock { $0.members.first { $0.peer.key == peer.key }?.outbox }
    }

    func send(_ message: [UInt8], to peers: [MCPeerID], isReliable: Bool) throws(MCError) {
        guard !peers.isEmpty else { throw MCError(.invalidParameter, "there is no peer to send to") }
        guard message.count <= MessageOutbox.maximumMessage else {
            throw MCError(.invalidParameter, "the message has \(message.count) bytes, expected 16 MiB at most")
        }
        var outboxes: [MessageOutbox] = []
        for peer in peers {
            guard let outbox = outbox(of: peer) else {
                throw MCError(.notConnected, "'\(peer.displayName)' is not in the session")
            }
            guard !isReliable || outbox.hasRoom(for: message.count) else {
                throw MCError(.unavailable, "the send queue for '\(peer.displayName)' is full")
            }
            outboxes.append(outbox)
        }
        for outbox in outboxes {
            do throws(MessageOutbox.Failure) {
                try isReliable ? outbox.add(message) : outbox.addUnreliable(message)
            } catch {
                throw MCError(error == .full ? .unavailable : .notConnected)
            }
        }
    }

    func invite(
        _ peer: MCPeerID,
        at found: FoundPeer?,
        serviceType: String,
        context: [UInt8]?,
        timeout: Duration
    ) {
        perform { [self] bridge in
            guard let bridge, let found else { return handle(.notConnected(peer.info, .unreachable)) }
            bridge.session.invite(
                peer.info,
                at: found.addresses,
                port: found.port,
                serviceType: serviceType,
                context: context,
                timeout: timeout
            )
        }
    }

    func disconnect() { perform { bridge in bridge?.session.disconnect() } }

    func connectionData(_ completion: @escaping @Sendable (Result<[UInt8], MCError>) -> Void) {
        perform { [queue] bridge in
            let bytes = bridge?.connectionData
            let error = MCError(.unavailable, bridge == nil ? "there is no port" : "the session is full")
            queue.async { completion(bytes.map { .success($0) } ?? .failure(error)) }
        }
    }

    func connect(_ peer: MCPeerID, _ data: [UInt8]) {
        perform { [self] bridge in
            guard let bridge else { return handle(.notConnected(peer.info, .unreachable)) }
            guard let endpoint = PeerEndpoint(data, scopes: bridge.scopes), endpoint.peer.key == peer.key else {
                return handle(.notConnected(peer.info, .impostor))
            }
            bridge.session.connect(endpoint, timeout: Self.connectTimeout)
        }
    }

    func cancelConnect(_ peer: MCPeerID) { perform { bridge in bridge?.session.cancelConnect(peer.key) } }

    // MARK: - Events of the engine

    private func handle(_ event: SessionEvent) {
        switch event {
        case .connecting(let info): notify(info, .connecting)
        case .connected(let info, let outbox):
            let peer = MCPeerID(info)
            state.withLock { state in
                state.members.removeAll { $0.peer.key == info.key }
                state.members.append(Member(peer: peer, outbox: outbox))
            }
            notify(info, .connected)
        case .notConnected(let info, let reason): lose(info, reason)
        case .certificates(let info, let chain, let connection): evaluate(info, chain, connection)
        case .message(let info, let bytes): deliver(info, bytes)
        case .transfer(let info, let event): transfers.handle(event, from: info, by: self)
        }
    }

    /// Calls the delegate on its queue, while there is a session.
    func call(_ work: @escaping @Sendable (MCSession, any MCSessionDelegate) -> Void) {
        queue.async { [self] in notify(work) }
    }

    /// Calls the delegate within this call, on the session's queue, while there is a session.
    func notify(_ work: (MCSession, any MCSessionDelegate) -> Void) {
        if let session = state.withLock({ $0.session }), let delegate { work(session, delegate) }
    }

    private func notify(_ info: PeerInfo, _ new: MCSessionState) {
        let peer = known(info)
        call { session, delegate in delegate.session(session, peer: peer, didChange: new) }
    }

    /// The object that stands for a member; the same while it is in the session.
    func known(_ info: PeerInfo) -> MCPeerID {
        state.withLock { $0.members.first { $0.peer.key == info.key }?.peer } ?? MCPeerID(info)
    }

    private func lose(_ info: PeerInfo, _ reason: RefusalReason) {
        let peer = known(info)
        state.withLock { $0.members.removeAll { $0.peer.key == info.key } }
        let error = MCError(reason, info.name)
        call { session, delegate in
            delegate.linuxSession(session, peer: peer, isNotConnectedBecause: error)
            delegate.session(session, peer: peer, didChange: .notConnected)
        }
    }

    private func evaluate(_ info: PeerInfo, _ chain: [[UInt8]], _ connection: UInt64) {
        let decide: @Sendable (Bool) -> Void = { [weak self] isTrusted in
            self?.perform { bridge in bridge?.session.decide(info.key, connection: connection, isTrusted: isTrusted) }
        }
        let peer = MCPeerID(info)
        queue.async { [self] in
            let (session, delegate) = (state.withLock { $0.session }, delegate)
            guard let session, let delegate else { return decide(true) }
            delegate.session(
                session,
                didReceiveCertificate: chain.isEmpty ? nil : chain.map { Data($0) },
                fromPeer: peer,
                certificateHandler: decide
            )
        }
    }

    private func deliver(_ info: PeerInfo, _ bytes: [UInt8]) {
        let peer = known(info)
        queue.async { [self] in
            let (session, delegate) = (state.withLock { $0.session }, delegate)
            if let session { delegate?.session(session, didReceive: Data(bytes), fromPeer: peer) }
            let isFirst = state.withLock { state in
                defer {
                    state.consumed[info.key, default: (0, 0)].messages += 1
                    state.consumed[info.key, default: (0, 0)].bytes += bytes.count
                }
                return state.consumed.isEmpty
            }
            guard isFirst else { return }
            perform { [weak self] bridge in
                let consumed = self?.state.withLock { state in
                    defer { state.consumed = [:] }
                    return state.consumed
                }
                for (key, count) in consumed ?? [:] {
                    bridge?.session.consume(count.messages, bytes: count.bytes, from: key)
                }
            }
        }
    }
}

extension MCError {
    /// Why a peer is not in a session.
    init(_ reason: RefusalReason, _ name: String) {
        let (code, sentence): (MCError.Code, String) =
            switch reason {
            case .declined: (.cancelled, "'\(name)' declined the invitation")
            case .full: (.unavailable, "the session has \(kMCSessionMaximumNumberOfPeers) peers already")
            case .unknownService: (.unavailable, "'\(name)' no longer advertises this service")
            case .unknownSession: (.unavailable, "the session of '\(name)' does not expect this peer")
            case .tooMany: (.unavailable, "'\(name)' received too many requests")
            case .timedOut: (.timedOut, "'\(name)' did not answer in time")
            case .certificate: (.cancelled, "the certificates were not accepted")
            case .left: (.cancelled, "the session was left")
            case .duplicate: (.unavailable, "'\(name)' is connected already")
            case .unreachable: (.notConnected, "'\(name)' cannot be reached, or stopped answering")
            case .impostor: (.invalidParameter, "the peer that answered is not '\(name)'")
            case .protocolError: (.unknown, "'\(name)' sent an invalid message")
            }
        self.init(code, sentence)
    }
}
