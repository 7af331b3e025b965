// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CNetworkShims
internal import LinuxIO

/// Invites one peer to a session: connects, sends the request, and waits for the answer; confined to its loop's thread.
final class OutboundHandshake {
    enum Request {
        case invitation(serviceType: String, context: [UInt8]?)
        case join(SessionID)
    }

    let peer: PeerInfo
    let request: Request
    /// Whether the peer has the request, or will have it soon.
    private(set) var hasSentRequest = false
    private let host: PeerHost
    private let session: SessionID
    private var dial: PeerDial?
    private var link: PeerLink?
    private var timer: EventLoop.Timer?
    private var completion: ((Result<(PeerLink, SessionID), Refusal>) -> Void)?

    struct Refusal: Error {
        let reason: RefusalReason
    }

    /// Begins; `completion` is called later and once, unless it is cancelled.
    init(
        _ peer: PeerInfo,
        at ends: [nwp_end],
        request: Request,
        session: SessionID,
        timeout: Duration,
        host: PeerHost,
        completion: @escaping (Result<(PeerLink, SessionID), Refusal>) -> Void
    ) {
        self.peer = peer
        self.request = request
        self.session = session
        self.host = host
        self.completion = completion
        timer = host.loop.schedule(after: timeout) { [weak self] in self?.finish(.timedOut) }
        dial = PeerDial(ends, loop: host.loop) { [weak self] descriptor in
            guard let self else { return }
            guard let descriptor, let link = host.makeLink(descriptor, isDialer: true, expected: peer.key) else {
                return finish(.unreachable)
            }
            self.link = link
            link.onEvent = { [weak self] event in self?.handle(event) }
            link.start()
        }
    }

    deinit { cancel() }

    func isInvitation(to serviceType: String) -> Bool {
        if case .invitation(serviceType, _) = request { true } else { false }
    }

    /// Gives up without a word to the program.
    func cancel() {
        completion = nil
        finish(.left)
    }

    private func handle(_ event: LinkEvent) {
        switch event {
        case .opened: sendRequest()
        case .control(.accept(let theirs)):
            guard let link, let completion else { return }
            self.link = nil
            self.completion = nil
            if let timer { host.loop.cancel(timer) }
            link.onEvent = { _ in }
            completion(.success((link, theirs)))
        case .control(.decline(let reason)), .closed(let reason): finish(reason)
        default: finish(.protocolError)
        }
    }

    private func sendRequest() {
        hasSentRequest = true
        switch request {
        case .invitation(let serviceType, let context):
            if host.identity.key < peer.key { host.refuseInvitations(from: peer.key, serviceType: serviceType) }
            let length = context?.count ?? 0
            link?.send(.invite(serviceType: serviceType, session: session, contextLength: length))
            if let context, length > 0 { link?.send(Frame(kind: .context, payload: context)) }
        case .join(let theirs): link?.send(.join(session: theirs, from: session))
        }
    }

    private func finish(_ reason: RefusalReason) {
        if let timer { host.loop.cancel(timer) }
        timer = nil
        dial?.cancel()
        link?.onEvent = { _ in }
        link?.close(reason)
        link = nil
        let completion = completion
        self.completion = nil
        completion?(.failure(Refusal(reason: reason)))
    }
}
