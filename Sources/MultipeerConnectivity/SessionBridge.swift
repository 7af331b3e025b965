// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import LinuxIO
internal import Network
internal import PeerEngine

/// What engines do for one session; confined to their thread.
final class SessionBridge: EngineSession {
    let session: PeerSession
    private let bridge: HostBridge
    private let peer: MCPeerID
    private let id: UInt64
    private unowned let engines: Engines

    /// - Returns: `nil` when there is no port for the peer.
    init?(
        _ peer: MCPeerID,
        _ engines: Engines,
        id: UInt64,
        certificates: PeerCertificates?,
        onEvent: @escaping (SessionEvent) -> Void
    ) {
        guard let bridge = try? HostBridge.retain(peer, in: engines) else { return nil }
        self.bridge = bridge
        self.peer = peer
        self.id = id
        self.engines = engines
        session = PeerSession(bridge.host, certificates: certificates) { [unowned bridge] event in
            if case .notConnected(let peer, .unreachable) = event { bridge.reconfirm(peer.key) }
            onEvent(event)
        }
        bridge.add(session, as: id)
    }

    func end() {
        session.disconnect()
        bridge.removeSession(id)
        bridge.release(peer, in: engines)
    }

    /// The interfaces that have link-local addresses.
    var scopes: [UInt32] { bridge.host.scopes }

    /// What others need to connect with the session; `nil` when it is full.
    var connectionData: [UInt8]? {
        guard !session.isFull else { return nil }
        return session.endpoint(at: bridge.host.shownAddresses).bytes
    }
}
