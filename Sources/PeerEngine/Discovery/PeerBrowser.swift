// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

package import MulticastDNS

/// Browses for peers of a type; confined to the thread of its loop.
package final class PeerBrowser {
    package enum Event {
        case found(FoundPeer)
        /// It is the same, at another endpoint.
        case moved(FoundPeer)
        case lost(PeerInfo)
    }

    private let engine: MulticastEngine
    private let onEvent: (Event) -> Void
    private var browse: ServiceBrowse?
    private var table: PeerTable

    /// Begins at once, and ends when it is let go; `own` is the local peer, which is not reported.
    package init(own: PeerKey, serviceType: String, engine: MulticastEngine, onEvent: @escaping (Event) -> Void) {
        self.engine = engine
        self.onEvent = onEvent
        table = PeerTable(own: own, serviceType: serviceType)
        guard let pointer = PeerAnnouncement.pointer(serviceType) else { return }
        browse = ServiceBrowse(engine, types: [pointer]) { [unowned self] event in handle(event) }
    }

    deinit { browse?.cancel() }

    /// A peer did not answer, or its connection broke: its records are reconfirmed at once.
    package func reconfirm(_ key: PeerKey) {
        for service in table.services(of: key) { engine.reconfirm(service) }
    }

    private func handle(_ event: BrowseEvent) {
        switch event {
        case .found, .unresolved: return
        case .resolved(let service), .changed(let service, _, _): report(table.resolved(service))
        case .lost(let announcement, _, _, _): report(table.lost(announcement.id))
        }
    }

    private func report(_ changes: [PeerTable.Change]) {
        for change in changes {
            switch change {
            case .found(let peer): onEvent(.found(peer))
            case .moved(let peer): onEvent(.moved(peer))
            case .lost(let peer): onEvent(.lost(peer))
            }
        }
    }
}
