// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Foundation
internal import LinuxIO
internal import Network
internal import PeerEngine
internal import Synchronization

/// Browses for peers of a service type on the links, and invites them.
///
/// All methods may be called by any thread. The delegate is called on a queue of the browser's own.
public final class MCNearbyServiceBrowser: NSObject, Sendable {
    private struct State {
        /// The session of the search; 0 is none.
        var search: UInt64 = 0
        /// Where peers were seen last, so that they can be invited after the search, too.
        var found: [PeerKey: FoundPeer] = [:]
    }

    /// The local peer; it does not find itself.
    public let myPeerID: MCPeerID
    /// The type, such as `chat`.
    public let serviceType: String

    private let state = Mutex(State())
    private let hearer = WeakDelegate<any MCNearbyServiceBrowserDelegate>()
    private let queue = DispatchQueue(label: "MCNearbyServiceBrowser")
    private let thread: EngineThread?

    /// The time for the answer to an invitation, in seconds, where the program says none.
    private static let usualTimeout: TimeInterval = 30
    private static let longestContext = 64 << 10

    /// A browser that does nothing yet.
    /// - Parameters:
    ///   - myPeerID: The local peer.
    ///   - serviceType: 1 to 15 of a-z, 0-9 and single hyphens inside, with one letter at least; another one stops the
    ///     program, as on Apple's systems. ``linuxProblem(ofServiceType:)`` checks beforehand.
    public init(peer myPeerID: MCPeerID, serviceType: String) {
        if let problem = PeerRules.problem(ofServiceType: serviceType) { preconditionFailure(problem) }
        self.myPeerID = myPeerID
        self.serviceType = serviceType
        thread = try? EngineThread.current()
    }

    deinit { stopBrowsingForPeers() }

    /// What is wrong with a service type, as a sentence; `nil` when it may be used.
    public static func linuxProblem(ofServiceType type: String) -> String? { PeerRules.problem(ofServiceType: type) }

    /// Receives what is found.
    public weak var delegate: (any MCNearbyServiceBrowserDelegate)? {
        get { hearer.value }
        set { hearer.value = newValue }
    }

    /// Starts browsing; a second call does nothing.
    public func startBrowsingForPeers() {
        let id = EngineThread.makeID()
        let isNew = state.withLock { state in
            guard state.search == 0 else { return false }
            state.search = id
            return true
        }
        guard isNew else { return }
        guard let thread else { return fail(id, "cannot create a thread") }
        thread.perform { [weak self, myPeerID, serviceType] engines in
            do throws(Errno) {
                let bridge = try HostBridge.retain(myPeerID, in: engines)
                let search = BrowserBridge(myPeerID, serviceType, bridge, engines, id: id) { [weak self] event in
                    self?.handle(event, of: id)
                }
                engines.add(search, as: id)
            } catch {
                self?.fail(id, "cannot open a port: \(error)")
            }
        }
    }

    /// Ends the search; peers that were found can still be invited.
    public func stopBrowsingForPeers() {
        let id = state.withLock { state in
            defer { state.search = 0 }
            return state.search
        }
        if id != 0 { thread?.perform { engines in engines.end(id) } }
    }

    /// Invites a peer that was found to a session; the session's delegate receives the result.
    /// - Parameters:
    ///   - peerID: The peer.
    ///   - session: The session, which is not full.
    ///   - context: What the peer gets to see with it, up to 64 KiB; it has no reason to believe it.
    ///   - timeout: How long to wait for the answer, in seconds; 30 when it is 0 or less.
    public func invitePeer(
        _ peerID: MCPeerID,
        to session: MCSession,
        withContext context: Data?,
        timeout: TimeInterval
    ) {
        let found = state.withLock { $0.found[peerID.key] }
        let seconds = timeout > 0 ? min(timeout, 86400) : Self.usualTimeout
        let bytes = context.map { Array($0) }
        session.core.invite(
            peerID,
            at: bytes.map { $0.count <= Self.longestContext } == false ? nil : found,
            serviceType: serviceType,
            context: bytes,
            timeout: .milliseconds(Int64(seconds * 1000))
        )
    }

    private func fail(_ id: UInt64, _ sentence: String) {
        queue.async { [self] in
            state.withLock { state in
                if state.search == id { state.search = 0 }
            }
            hearer.value?.browser(self, didNotStartBrowsingForPeers: MCError(.unavailable, sentence))
        }
    }

    private func handle(_ event: PeerBrowser.Event, of id: UInt64) {
        let peer = state.withLock { state -> (MCPeerID, FoundPeer?)? in
            switch event {
            case .found(let found):
                state.found[found.peer.key] = found
                return (MCPeerID(found.peer), found)
            case .moved(let found):
                state.found[found.peer.key] = found
                return nil
            case .lost(let info):
                state.found[info.key] = nil
                return (MCPeerID(info), nil)
            }
        }
        guard let (peer, found) = peer else { return }
        queue.async { [self] in
            guard state.withLock({ $0.search }) == id, let delegate = hearer.value else { return }
            if let found {
                let info = found.info.isEmpty ? nil : found.info
                delegate.browser(self, foundPeer: peer, withDiscoveryInfo: info)
            } else {
                delegate.browser(self, lostPeer: peer)
            }
        }
    }
}

/// Receives the peers that are found and lost, on a queue of the browser's own.
public protocol MCNearbyServiceBrowserDelegate: AnyObject {
    /// A peer is there, with what it says about itself, unproven.
    func browser(
        _ browser: MCNearbyServiceBrowser,
        foundPeer peerID: MCPeerID,
        withDiscoveryInfo info: [String: String]?
    )
    /// A peer is gone.
    func browser(_ browser: MCNearbyServiceBrowser, lostPeer peerID: MCPeerID)
    /// There is no search.
    func browser(_ browser: MCNearbyServiceBrowser, didNotStartBrowsingForPeers error: any Error)
}

extension MCNearbyServiceBrowserDelegate {
    /// Does nothing.
    public func browser(_ browser: MCNearbyServiceBrowser, didNotStartBrowsingForPeers error: any Error) {}
}
