// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Foundation
internal import LinuxIO
internal import Network
internal import PeerEngine
internal import Synchronization

/// Lets others find this peer under a service type, and receives their invitations.
///
/// All methods may be called by any thread. The delegate is called on a queue of the advertiser's own.
public final class MCNearbyServiceAdvertiser: NSObject, Sendable {
    private struct State {
        /// The session of what is advertised; 0 is nothing.
        var advertisement: UInt64 = 0
    }

    /// Who is advertised.
    public let myPeerID: MCPeerID
    /// What is said with it, to everybody.
    public let discoveryInfo: [String: String]?
    /// The type, such as `chat`.
    public let serviceType: String

    private let state = Mutex(State())
    private let hearer = WeakDelegate<any MCNearbyServiceAdvertiserDelegate>()
    private let queue = DispatchQueue(label: "MCNearbyServiceAdvertiser")
    private let thread: EngineThread?

    /// An advertiser that does nothing yet.
    /// - Parameters:
    ///   - myPeerID: Who is advertised.
    ///   - info: What is said with it: pairs of 255 bytes at most, about 400 bytes in all. A longer pair, and more than a TXT
    ///     record can hold (1300 bytes), is reported by `didNotStartAdvertisingPeer`.
    ///   - serviceType: 1 to 15 of a-z, 0-9 and single hyphens inside, with one letter at least; another one stops the
    ///     program, as on Apple's systems.
    public init(peer myPeerID: MCPeerID, discoveryInfo info: [String: String]?, serviceType: String) {
        if let problem = PeerRules.problem(ofServiceType: serviceType) { preconditionFailure(problem) }
        self.myPeerID = myPeerID
        discoveryInfo = info
        self.serviceType = serviceType
        thread = try? EngineThread.current()
    }

    deinit { stopAdvertisingPeer() }

    /// Receives invitations.
    public weak var delegate: (any MCNearbyServiceAdvertiserDelegate)? {
        get { hearer.value }
        set { hearer.value = newValue }
    }

    /// Begins to advertise; a second call does nothing.
    public func startAdvertisingPeer() {
        let id = EngineThread.makeID()
        let isNew = state.withLock { state in
            guard state.advertisement == 0 else { return false }
            state.advertisement = id
            return true
        }
        guard isNew else { return }
        if let problem = PeerRules.problem(ofInfo: discoveryInfo ?? [:]) {
            return fail(id, MCError(.invalidParameter, problem))
        }
        guard let thread else { return fail(id, MCError(.unavailable, "cannot create a thread")) }
        thread.perform { [weak self, myPeerID, serviceType, discoveryInfo] engines in
            do throws(Errno) {
                let bridge = try HostBridge.retain(myPeerID, in: engines)
                let made = AdvertiserBridge(myPeerID, serviceType, info: discoveryInfo ?? [:], bridge, engines) {
                    [weak self, unowned bridge] event in
                    self?.handle(event, bridge, of: id)
                }
                engines.add(made, as: id)
            } catch {
                self?.fail(id, MCError(.unavailable, "cannot open a port: \(error)"))
            }
        }
    }

    /// Ends it; invitations that were delivered can still be answered.
    public func stopAdvertisingPeer() {
        let id = state.withLock { state in
            defer { state.advertisement = 0 }
            return state.advertisement
        }
        if id != 0 { thread?.perform { engines in engines.end(id) } }
    }

    private func fail(_ id: UInt64, _ error: MCError) {
        thread?.perform { engines in engines.end(id) }
        queue.async { [self] in
            state.withLock { state in
                if state.advertisement == id { state.advertisement = 0 }
            }
            hearer.value?.advertiser(self, didNotStartAdvertisingPeer: error)
        }
    }

    private func handle(_ event: PeerAdvertiser.Event, _ bridge: HostBridge, of id: UInt64) {
        switch event {
        case .failed(let sentence): fail(id, MCError(.invalidParameter, sentence))
        case .invited(let invitation):
            let number = EngineThread.makeID()
            bridge.keep(invitation, as: number)
            let (peer, context) = (MCPeerID(invitation.peer), invitation.context.map { Data($0) })
            queue.async { [self] in
                guard let delegate = hearer.value else { return answer(number, nil) }
                delegate.advertiser(
                    self,
                    didReceiveInvitationFromPeer: peer,
                    withContext: context,
                    invitationHandler: { [self] isAccepted, session in answer(number, isAccepted ? session : nil) }
                )
            }
        }
    }

    private func answer(_ number: UInt64, _ session: MCSession?) {
        let id = session?.core.id
        thread?.perform { [myPeerID] engines in
            let bridge = engines.session(myPeerID.engineID, as: HostBridge.self)
            let session = id.flatMap { engines.session($0, as: SessionBridge.self)?.session }
            bridge?.removeInvitation(number)?.answer(session)
        }
    }
}

/// Receives invitations to a session, on a queue of the advertiser's own.
public protocol MCNearbyServiceAdvertiserDelegate: AnyObject {
    /// A peer invites to a session.
    ///
    /// - Parameters:
    ///   - advertiser: The advertiser.
    ///   - peerID: Who invites.
    ///   - context: What it says with it, which is as untrusted as the peer.
    ///   - invitationHandler: To be called once, now or later, with the session to be in when it is accepted. The session
    ///     must be of the advertised peer, and not be full.
    func advertiser(
        _ advertiser: MCNearbyServiceAdvertiser,
        didReceiveInvitationFromPeer peerID: MCPeerID,
        withContext context: Data?,
        invitationHandler: @escaping (Bool, MCSession?) -> Void
    )
    /// It cannot be advertised.
    func advertiser(_ advertiser: MCNearbyServiceAdvertiser, didNotStartAdvertisingPeer error: any Error)
}

extension MCNearbyServiceAdvertiserDelegate {
    /// Does nothing.
    public func advertiser(_ advertiser: MCNearbyServiceAdvertiser, didNotStartAdvertisingPeer error: any Error) {}
}
