// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import LinuxIO
internal import Network
internal import PeerEngine

/// The engine of one peer of this program, shared by its sessions, advertisers and browsers; confined to the thread of
/// its engines.
final class HostBridge: EngineSession {
    let host: PeerHost
    private var follower: AddressFollower?
    private var users = 0
    private var sessions: [UInt64: PeerSession] = [:]
    private var browsers: [UInt64: PeerBrowser] = [:]
    /// Invitations that wait for an answer, which may come after the end of the advertiser that reported them.
    private var invitations: [UInt64: WeakInvitation] = [:]

    private static let lingerTime = Duration.seconds(1)

    private struct WeakInvitation {
        weak var value: PeerInvitation?
    }

    private init(_ peer: MCPeerID, _ engines: Engines) throws(Errno) {
        host = try PeerHost(peer.localIdentity, name: peer.displayName, loop: engines.loop)
        let follower = AddressFollower(engines) { [unowned self] follower in changed(follower) }
        self.follower = follower
        changed(follower)
    }

    /// The engine of a peer, made for the first user; ``release(_:in:)`` lets it go.
    /// - Throws: Why there is none, such as `EMFILE`.
    static func retain(_ peer: MCPeerID, in engines: Engines) throws(Errno) -> HostBridge {
        let known = engines.session(peer.engineID, as: HostBridge.self)
        let bridge = if let known { known } else { try HostBridge(peer, engines) }
        if known == nil { engines.add(bridge, as: peer.engineID) }
        bridge.users += 1
        return bridge
    }

    func release(_ peer: MCPeerID, in engines: Engines) {
        users -= 1
        endIfUnused(peer, in: engines)
    }

    /// Invitations that wait for an answer keep the peer: a session for it may be made only then.
    private func endIfUnused(_ peer: MCPeerID, in engines: Engines) {
        guard users == 0 else { return }
        invitations = invitations.filter { $0.value.value != nil }
        guard !invitations.isEmpty else { return engines.end(peer.engineID) }
        engines.loop.schedule(after: Self.lingerTime) { [weak self, unowned engines] in
            self?.endIfUnused(peer, in: engines)
        }
    }

    func end() {
        follower?.end()
        follower = nil
    }

    func add(_ session: PeerSession, as id: UInt64) { sessions[id] = session }

    func removeSession(_ id: UInt64) { sessions[id] = nil }

    func add(_ browser: PeerBrowser, as id: UInt64) { browsers[id] = browser }

    func removeBrowser(_ id: UInt64) { browsers[id] = nil }

    func keep(_ invitation: PeerInvitation, as id: UInt64) {
        invitations = invitations.filter { $0.value.value != nil }
        invitations[id] = WeakInvitation(value: invitation)
    }

    /// The invitation, once; `nil` when who sent it has given up.
    func removeInvitation(_ id: UInt64) -> PeerInvitation? { invitations.removeValue(forKey: id)?.value }

    /// A peer does not answer any more: the browsers that found it reconfirm its records.
    func reconfirm(_ key: PeerKey) { for browser in browsers.values { browser.reconfirm(key) } }

    private func changed(_ follower: AddressFollower) {
        host.addresses = Set(follower.addresses.map { PeerAddress($0.address, scope: $0.scope) })
        for session in sessions.values { session.addressesChanged() }
    }
}
