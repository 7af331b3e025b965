// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import LinuxIO

/// An inbound connection until it has a request, unauthenticated at first; confined to the thread of its loop.
final class InboundHandshake {
    private let id: UInt64
    private let link: PeerLink
    private unowned let host: PeerHost
    /// Its own, since the host may be gone before it.
    private let loop: EventLoop
    private var timer: EventLoop.Timer?
    /// An invitation whose context has not come yet.
    private var partial: (serviceType: String, session: SessionID, length: Int)?
    private var invitation: PeerInvitation?

    /// How long an invitation waits for an answer at most, whatever who sent it says.
    private static let longestWait = Duration.seconds(600)

    init(_ id: UInt64, _ link: PeerLink, host: PeerHost) {
        self.id = id
        self.link = link
        self.host = host
        loop = host.loop
    }

    deinit { stopTimer() }

    func start() {
        link.onEvent = { [unowned self] event in handle(event) }
        timer = loop.schedule(after: PeerLink.handshakeTimeout) { [unowned self] in refuse(.timedOut) }
        link.start()
    }

    private func stopTimer() {
        if let timer { loop.cancel(timer) }
        timer = nil
    }

    /// Gives it up without a word: others need the slot.
    func drop() {
        link.onEvent = { _ in }
        link.close(.tooMany)
        stopTimer()
    }

    private func refuse(_ reason: RefusalReason) {
        if link.peer != nil { link.send(.decline(reason)) }
        link.onEvent = { _ in }
        link.close(reason)
        leave()
    }

    private func leave(isAccepted: Bool = false) {
        stopTimer()
        if let invitation {
            self.invitation = nil
            invitation.onAnswer = { _ in }
            host.answered(invitation.peer.key, isAccepted: isAccepted)
        }
        host.forget(id)
    }

    private func handle(_ event: LinkEvent) {
        switch event {
        case .opened: return
        case .control(.invite(let serviceType, let session, let length)) where partial == nil && invitation == nil:
            partial = (serviceType, session, length)
            if length == 0 { invited(nil) }
        case .context(let bytes):
            guard let partial, bytes.count == partial.length, !bytes.isEmpty else { return refuse(.protocolError) }
            invited(bytes)
        case .control(.join(let session, let theirs)) where partial == nil && invitation == nil:
            join(session, from: theirs)
        case .closed: leave()
        default: refuse(.protocolError)
        }
    }

    private func join(_ id: SessionID, from theirs: SessionID) {
        guard let session = host.session(id), let key = link.peer else { return refuse(.unknownSession) }
        let peer = PeerInfo(key: key, name: link.name)
        link.onEvent = { _ in }
        leave()
        session.join(link, peer, theirs)
    }

    private func invited(_ context: [UInt8]?) {
        guard let (serviceType, theirs, _) = partial, let key = link.peer else { return refuse(.protocolError) }
        partial = nil
        guard let advertiser = host.advertiser(of: serviceType), key != host.identity.key else {
            return refuse(.unknownService)
        }
        // Of two that invite one another at the same time, the invitation of the lesser key is the one, unless it has not
        // got there yet: it never may. So the lesser one decides, and both use the same connection.
        if host.identity.key < key, host.hasInvited(key, serviceType: serviceType) { return refuse(.duplicate) }
        host.cancelInvitations(of: key, serviceType: serviceType)
        guard host.allowsInvitation(from: key) else { return refuse(.tooMany) }
        host.forgetUnauthenticated(id)
        stopTimer()
        timer = loop.schedule(after: Self.longestWait) { [unowned self] in refuse(.timedOut) }
        let peer = PeerInfo(key: key, name: link.name)
        let invitation = PeerInvitation(peer, serviceType: serviceType, context: context)
        invitation.onAnswer = { [unowned self] session in answer(session, theirs) }
        self.invitation = invitation
        advertiser.onEvent(.invited(invitation))
    }

    /// Refuses what waits for an answer, if it is this.
    func refuseInvitation(from key: PeerKey, serviceType: String) {
        guard let invitation, invitation.peer.key == key, invitation.serviceType == serviceType else { return }
        refuse(.duplicate)
    }

    private func answer(_ session: PeerSession?, _ theirs: SessionID) {
        guard let session, session.host === host, let peer = invitation?.peer else { return refuse(.declined) }
        guard let problem = session.problem(with: peer.key, from: theirs) else {
            link.onEvent = { _ in }
            leave(isAccepted: true)
            link.send(.accept(session: session.id))
            return session.attach(link, peer, theirs)
        }
        refuse(problem)
    }
}

/// A peer's invitation to a session; confined to the thread of its loop.
package final class PeerInvitation {
    package let peer: PeerInfo
    /// What it says with it; as untrusted as the peer.
    package let context: [UInt8]?
    let serviceType: String
    var onAnswer: (PeerSession?) -> Void = { _ in }

    init(_ peer: PeerInfo, serviceType: String, context: [UInt8]?) {
        self.peer = peer
        self.serviceType = serviceType
        self.context = context
    }

    /// Answers once, by a session to be in, or by no; later it does nothing, nor when the inviting peer has cancelled.
    package func answer(_ session: PeerSession?) {
        let onAnswer = onAnswer
        self.onAnswer = { _ in }
        onAnswer(session)
    }
}
