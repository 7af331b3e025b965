// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CNetworkShims
internal import LinuxIO

/// Up to eight peers, each connected with each other one; confined to the thread of its loop.
package final class PeerSession {
    private enum Progress {
        /// Ours and theirs, in whichever order.
        case proving(isTrusted: Bool, isReady: Bool)
        case connected
    }

    private struct Entry {
        let peer: PeerInfo
        let link: PeerLink
        let session: SessionID
        let connection: UInt64
        let transfers: PeerTransfers
        var progress = Progress.proving(isTrusted: false, isReady: false)
        var chain: [[UInt8]] = []
        var hasProof = false
        /// Whom the peer named; used once it is a member itself.
        var named: [ControlMessage.Member] = []
    }

    /// How long the proofs, and the programs' judgement of them, may last.
    private static let longestProving = Duration.seconds(120)

    private struct Joining {
        let link: PeerLink
        let peer: PeerInfo
        let session: SessionID
        let timer: EventLoop.Timer
    }

    package let id = SessionID()
    let host: PeerHost
    private let certificates: PeerCertificates?
    private let onEvent: (SessionEvent) -> Void
    private var membership: Membership
    private var entries: [PeerKey: Entry] = [:]
    private var outbound: [PeerKey: OutboundHandshake] = [:]
    /// Those who wait to be named.
    private var joining: [PeerKey: Joining] = [:]
    /// Those whom the program named, and until when.
    private var invited: [PeerKey: (peer: PeerInfo, timer: EventLoop.Timer)] = [:]

    private static let mostJoining = 16
    /// How often somebody is called whom a member named, and after which time again.
    private static let mostTries = 3
    private static let retry = Duration.seconds(2)
    /// How long a join waits to be named, and a program's own connection for its peer.
    private static let longestJoining = Duration.seconds(30)
    private static let proofLabel = "EXPORTER-nwmc certificate"

    /// A session without anybody else; others get to see the certificates besides our key.
    package init(_ host: PeerHost, certificates: PeerCertificates? = nil, onEvent: @escaping (SessionEvent) -> Void) {
        self.host = host
        self.certificates = certificates
        self.onEvent = onEvent
        membership = Membership(own: host.identity.key)
        host.add(self)
    }

    deinit {
        host.remove(id)
        for entry in invited.values { host.loop.cancel(entry.timer) }
        for entry in entries.values { entry.link.leave(.left) }
        for waiting in joining.values { drop(waiting, .left) }
    }

    // MARK: - Coming in

    /// Invites a peer to this session.
    package func invite(
        _ peer: PeerInfo,
        at addresses: [PeerAddress],
        port: UInt16,
        serviceType: String,
        context: [UInt8]?,
        timeout: Duration
    ) {
        if let problem = problem(with: peer.key) {
            // Who is there already gets no such event.
            if problem != .duplicate { onEvent(.notConnected(peer, problem)) }
            return
        }
        let request = OutboundHandshake.Request.invitation(serviceType: serviceType, context: context)
        startHandshake(peer, at: addresses, port: port, request, timeout: timeout) { [unowned self] reason in
            // The peer's own invitation is in progress, or it is here already.
            if reason != .duplicate { onEvent(.notConnected(peer, reason)) }
        }
    }

    /// Connects with a peer of which the program knows all that is needed, and which does the same.
    package func connect(_ endpoint: PeerEndpoint, timeout: Duration) {
        if let problem = problem(with: endpoint.peer.key) {
            if problem != .duplicate { onEvent(.notConnected(endpoint.peer, problem)) }
            return
        }
        let key = endpoint.peer.key
        forgetInvited(key)
        membership.expect(key)
        invited[key] = (
            endpoint.peer,
            host.loop.schedule(after: timeout) { [unowned self] in giveUp(key, .timedOut) }
        )
        if membership.calls(key) { join(endpoint) } else { admitJoining() }
    }

    /// Calls a peer that the program named; the peer's program may name us a little later.
    private func join(_ endpoint: PeerEndpoint) {
        let request = OutboundHandshake.Request.join(endpoint.session)
        startHandshake(
            endpoint.peer,
            at: endpoint.addresses,
            port: endpoint.port,
            request,
            timeout: Self.longestJoining
        ) {
            [unowned self] reason in
            guard reason == .unknownSession, membership.isInvited(endpoint.peer.key) else {
                return giveUp(endpoint.peer.key, reason)
            }
            host.loop.schedule(after: Self.retry) { [weak self] in
                guard let self, membership.isInvited(endpoint.peer.key) else { return }
                join(endpoint)
            }
        }
    }

    private func giveUp(_ key: PeerKey, _ reason: RefusalReason) {
        guard let peer = invited[key]?.peer else { return }
        forgetInvited(key)
        outbound.removeValue(forKey: key)?.cancel()
        if entries[key] == nil { onEvent(.notConnected(peer, reason)) }
    }

    private func forgetInvited(_ key: PeerKey) {
        if let timer = invited.removeValue(forKey: key)?.timer { host.loop.cancel(timer) }
        membership.expectNoMore(key)
    }

    /// Gives up connecting with a peer.
    package func cancelConnect(_ key: PeerKey) {
        giveUp(key, .left)
        if let handshake = outbound.removeValue(forKey: key) {
            handshake.cancel()
            onEvent(.notConnected(handshake.peer, .left))
        }
        if let entry = entries[key], case .proving = entry.progress { entry.link.close(.left) }
    }

    package var isFull: Bool { membership.isFull }

    /// What others need to connect with this session.
    package func endpoint(at addresses: [PeerAddress]) -> PeerEndpoint {
        PeerEndpoint(peer: host.info, session: id, addresses: addresses, port: host.portNumber)
    }

    private func startHandshake(
        _ peer: PeerInfo,
        at addresses: [PeerAddress],
        port: UInt16,
        _ request: OutboundHandshake.Request,
        timeout: Duration,
        onRefusal: @escaping (RefusalReason) -> Void
    ) {
        guard outbound[peer.key] == nil else { return }
        outbound[peer.key] = OutboundHandshake(
            peer,
            at: addresses.map { $0.end(port: port) },
            request: request,
            session: id,
            timeout: timeout,
            host: host
        ) { [unowned self] result in
            outbound[peer.key] = nil
            switch result {
            case .success(let (link, theirs)): attach(link, PeerInfo(key: peer.key, name: link.name), theirs)
            case .failure(let refusal): onRefusal(refusal.reason)
            }
        }
    }

    /// Why a peer cannot come in now; `nil` when it can.
    ///
    /// One that comes from another session of its own than it is known from was restarted: it replaces its old entry.
    func problem(with key: PeerKey, from session: SessionID? = nil) -> RefusalReason? {
        if let entry = entries[key] { return session == nil || entry.session == session ? .duplicate : nil }
        return membership.isFull ? .full : nil
    }

    func hasInvited(_ key: PeerKey, serviceType: String) -> Bool {
        outbound[key]?.isInvitation(to: serviceType) == true && outbound[key]?.hasSentRequest == true
    }

    func cancelInvitation(of key: PeerKey, serviceType: String) {
        if outbound[key]?.isInvitation(to: serviceType) == true { outbound.removeValue(forKey: key)?.cancel() }
    }

    /// A peer requests to join; it may have to wait until a member names it.
    func join(_ link: PeerLink, _ peer: PeerInfo, _ theirs: SessionID) {
        let isInvited = if case .invitation? = outbound[peer.key]?.request { true } else { false }
        let problem = isInvited ? .duplicate : problem(with: peer.key, from: theirs)
        guard problem == nil, joining.count < Self.mostJoining, joining[peer.key] == nil else {
            link.send(.decline(problem ?? .tooMany))
            return link.close(problem ?? .tooMany)
        }
        let timer = host.loop.schedule(after: Self.longestJoining) { [unowned self] in
            if let waiting = joining.removeValue(forKey: peer.key) { drop(waiting, .unknownSession) }
        }
        joining[peer.key] = Joining(link: link, peer: peer, session: theirs, timer: timer)
        link.onEvent = { [unowned self] event in
            guard case .closed = event else { return link.close(.protocolError) }
            if let waiting = joining.removeValue(forKey: peer.key) { host.loop.cancel(waiting.timer) }
        }
        admitJoining()
    }

    private func drop(_ waiting: Joining, _ reason: RefusalReason) {
        host.loop.cancel(waiting.timer)
        waiting.link.onEvent = { _ in }
        waiting.link.send(.decline(reason))
        waiting.link.close(reason)
    }

    private func admitJoining() {
        for (key, waiting) in joining where membership.expects(key) {
            joining[key] = nil
            if let problem = problem(with: key, from: waiting.session) {
                drop(waiting, problem)
                continue
            }
            host.loop.cancel(waiting.timer)
            waiting.link.send(.accept(session: id))
            attach(waiting.link, waiting.peer, waiting.session)
        }
    }

    // MARK: - Being in

    /// Adds a connection with a peer that is to be in.
    func attach(_ link: PeerLink, _ peer: PeerInfo, _ theirs: SessionID) {
        if let old = entries[peer.key], old.session != theirs { old.link.close(.unreachable) }
        let isThere = entries[peer.key] != nil
        guard !link.isClosed, membership.add(peer.key) else {
            link.onEvent = { _ in }
            let reason: RefusalReason = link.isClosed ? .unreachable : isThere ? .duplicate : .full
            link.close(reason)
            if !isThere { onEvent(.notConnected(peer, reason)) }
            return
        }
        forgetInvited(peer.key)
        // Both may have invited: a call that is still in progress would bring back who leaves.
        outbound.removeValue(forKey: peer.key)?.cancel()
        let connection = host.makeNumber()
        let transfers = PeerTransfers(link, connection: connection, files: host.files) { [unowned self] in
            onEvent(.transfer(peer, $0))
        }
        entries[peer.key] = Entry(
            peer: peer,
            link: link,
            session: theirs,
            connection: connection,
            transfers: transfers
        )
        link.onEvent = { [unowned self] event in handle(event, from: peer.key) }
        onEvent(.connecting(peer))
        host.loop.schedule(after: Self.longestProving) { [weak self] in
            guard let self, let entry = entries[peer.key], entry.connection == connection else { return }
            if case .proving = entry.progress { entry.link.close(.timedOut) }
        }
        if let certificates, let secret = link.export(Self.proofLabel(isDialer: link.isDialer), count: 32),
            let proof = certificates.sign(secret)
        {
            for certificate in certificates.chain { link.send(Frame(kind: .certificate, payload: certificate)) }
            link.send(Frame(kind: .proof, payload: proof))
        } else {
            link.send(Frame(kind: .proof))
        }
    }

    /// Each end signs something else, so that one cannot present the other's proof.
    private static func proofLabel(isDialer: Bool) -> String { proofLabel + (isDialer ? " dialer" : " listener") }

    private func handle(_ event: LinkEvent, from key: PeerKey) {
        guard let entry = entries[key] else { return }
        switch event {
        case .certificate(let bytes):
            guard case .proving = entry.progress, entry.chain.count < PeerCertificates.maximumCount,
                bytes.count <= PeerCertificates.maximumLength
            else { return entry.link.close(.protocolError) }
            entries[key]?.chain.append(bytes)
        case .proof(let signature): prove(entry, signature)
        case .control(.members(let members)): receive(members, from: entry)
        case .message(let bytes):
            // A datagram may overtake what makes its sender a member.
            guard case .connected = entry.progress else { return entry.link.consumeMessages(1, bytes: bytes.count) }
            onEvent(.message(entry.peer, bytes))
        case .closed(let reason): lose(key, reason)
        case .channelOpened, .chunk, .ended, .reset, .done, .room:
            guard case .connected = entry.progress else { return entry.link.close(.protocolError) }
            entry.transfers.handle(event)
        case .opened, .control, .context: entry.link.close(.protocolError)
        }
    }

    private func prove(_ entry: Entry, _ signature: [UInt8]) {
        guard !entry.hasProof else { return entry.link.close(.protocolError) }
        entries[entry.peer.key]?.hasProof = true
        if !entry.chain.isEmpty || !signature.isEmpty {
            let label = Self.proofLabel(isDialer: !entry.link.isDialer)
            guard let secret = entry.link.export(label, count: 32),
                PeerCertificates.isProof(signature, of: secret, by: entry.chain)
            else { return entry.link.close(.impostor) }
        }
        onEvent(.certificates(entry.peer, entry.chain, connection: entry.connection))
    }

    /// The program has evaluated what a peer says about itself.
    package func decide(_ key: PeerKey, connection: UInt64, isTrusted: Bool) {
        guard let entry = entries[key], entry.connection == connection, entry.hasProof,
            case .proving(isTrusted: false, let isReady) = entry.progress
        else { return }
        guard isTrusted else { return entry.link.close(.certificate) }
        entries[key]?.progress = .proving(isTrusted: true, isReady: isReady)
        // What the peer sends from now on may be content: it is ready as soon as it receives this.
        host.admitContent(entry.link)
        entry.link.send(.members(list(for: key)))
        if isReady { connect(key) }
    }

    private func receive(_ members: [ControlMessage.Member], from entry: Entry) {
        let key = entry.peer.key
        entries[key]?.named = members
        switch entry.progress {
        case .connected: meet(members, of: key)
        case .proving(let isTrusted, _):
            entries[key]?.progress = .proving(isTrusted: isTrusted, isReady: true)
            if isTrusted { connect(key) }
        }
    }

    /// A member has named others: those that are new are called, or let in.
    private func meet(_ members: [ControlMessage.Member], of key: PeerKey) {
        let new = membership.receive(Set(members.map(\.key)), from: key)
        admitJoining()
        for member in members where new.contains(member.key) { call(member, triesLeft: Self.mostTries) }
    }

    /// Calls somebody whom a member named; the result is reported once it is about to be in.
    private func call(_ member: ControlMessage.Member, triesLeft: Int) {
        guard membership.isNamed(member.key), problem(with: member.key) == nil,
            membership.count + outbound.count < Membership.maximum
        else { return }
        let addresses = PeerAddress.expand(member.addresses, scopes: host.scopes)
        let peer = PeerInfo(key: member.key, name: member.name)
        startHandshake(
            peer,
            at: addresses,
            port: member.port,
            .join(member.session),
            timeout: PeerLink.handshakeTimeout
        ) {
            [unowned self] reason in
            guard reason != .duplicate, triesLeft > 1 else { return }
            host.loop.schedule(after: Self.retry) { [weak self] in self?.call(member, triesLeft: triesLeft - 1) }
        }
    }

    private func connect(_ key: PeerKey) {
        guard let entry = entries[key], let outbox = entry.link.outbox else { return }
        entries[key]?.progress = .connected
        onEvent(.connected(entry.peer, outbox))
        sendMembers()
        meet(entry.named, of: key)
    }

    private func lose(_ key: PeerKey, _ reason: RefusalReason) {
        guard let entry = entries.removeValue(forKey: key) else { return }
        membership.remove(key)
        entry.transfers.end()
        onEvent(.notConnected(entry.peer, reason))
        sendMembers()
    }

    private func list(for key: PeerKey) -> [ControlMessage.Member] {
        entries.values.compactMap { entry in
            guard entry.peer.key != key, case .connected = entry.progress else { return nil }
            let seen = PeerAddress(entry.link.remote).map { [$0.address] } ?? []
            let others = entry.link.addresses.filter { !seen.contains($0) }
            return ControlMessage.Member(
                key: entry.peer.key,
                name: entry.peer.name,
                session: entry.session,
                port: entry.link.port,
                addresses: Array((seen + others).prefix(ControlMessage.maximumAddresses))
            )
        }
    }

    private func sendMembers() {
        for entry in entries.values {
            if case .connected = entry.progress { entry.link.send(.members(list(for: entry.peer.key))) }
        }
    }

    /// A program has so many messages of a peer, and their bytes.
    package func consume(_ messages: Int, bytes: Int, from key: PeerKey) {
        entries[key]?.link.consumeMessages(messages, bytes: bytes)
    }

    /// What goes to and comes from a member besides messages; `nil` when it is not connected.
    package func transfers(with key: PeerKey) -> PeerTransfers? {
        guard let entry = entries[key], case .connected = entry.progress else { return nil }
        return entry.transfers
    }

    // MARK: - Going out

    /// Closes all connections; what was sent before goes first.
    package func disconnect() {
        for handshake in outbound.values { handshake.cancel() }
        outbound = [:]
        for waiting in joining.values { drop(waiting, .left) }
        joining = [:]
        for key in invited.keys { forgetInvited(key) }
        let leaving = entries
        entries = [:]
        membership = Membership(own: host.identity.key)
        for entry in leaving.values {
            entry.transfers.end()
            entry.link.leave(.left)
            onEvent(.notConnected(entry.peer, .left))
        }
    }

    /// An interface has gone, or its address: what went by it is over.
    package func addressesChanged() {
        for entry in entries.values {
            guard let local = PeerAddress(entry.link.local), !host.addresses.contains(local) else { continue }
            entry.link.close(.unreachable)
        }
    }
}
