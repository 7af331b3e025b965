// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Network
internal import PeerEngine

/// What engines do for one browser; confined to their thread.
final class BrowserBridge: EngineSession {
    private let bridge: HostBridge
    private let peer: MCPeerID
    private let id: UInt64
    private unowned let engines: Engines

    /// Starts browsing.
    init(
        _ peer: MCPeerID,
        _ serviceType: String,
        _ bridge: HostBridge,
        _ engines: Engines,
        id: UInt64,
        onEvent: @escaping (PeerBrowser.Event) -> Void
    ) {
        self.bridge = bridge
        self.peer = peer
        self.id = id
        self.engines = engines
        engines.multicast.retain()
        let own = bridge.host.identity.key
        let engine = engines.multicast.engine
        let browser = PeerBrowser(own: own, serviceType: serviceType, engine: engine, onEvent: onEvent)
        bridge.add(browser, as: id)
    }

    func end() {
        bridge.removeBrowser(id)
        engines.multicast.release()
        bridge.release(peer, in: engines)
    }
}

/// What engines do for one advertiser; confined to their thread.
final class AdvertiserBridge: EngineSession {
    private let bridge: HostBridge
    private let peer: MCPeerID
    private let advertiser: PeerAdvertiser
    private unowned let engines: Engines

    /// Begins to advertise.
    init(
        _ peer: MCPeerID,
        _ serviceType: String,
        info: [String: String],
        _ bridge: HostBridge,
        _ engines: Engines,
        onEvent: @escaping (PeerAdvertiser.Event) -> Void
    ) {
        self.bridge = bridge
        self.peer = peer
        self.engines = engines
        engines.multicast.retain()
        let engine = engines.multicast.engine
        advertiser = PeerAdvertiser(bridge.host, serviceType: serviceType, info: info, engine: engine, onEvent: onEvent)
    }

    func end() {
        advertiser.stop()
        engines.multicast.release()
        bridge.release(peer, in: engines)
    }
}
