// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import MulticastDNS

/// Somebody who can be invited.
package struct FoundPeer: Hashable, Sendable {
    package let peer: PeerInfo
    package let info: [String: String]
    package let addresses: [PeerAddress]
    package let port: UInt16
    let boot: String
}

/// Services of peers on all interfaces, as peers; pure.
struct PeerTable: Sendable {
    enum Change: Hashable, Sendable {
        case found(FoundPeer)
        /// It is somewhere else now, and the same.
        case moved(FoundPeer)
        case lost(PeerInfo)
    }

    private let own: PeerKey
    private let serviceType: String
    private var services: [Service.ID: (service: Service, announcement: PeerAnnouncement)] = [:]
    private var reported: [PeerKey: FoundPeer] = [:]

    init(own: PeerKey, serviceType: String) {
        self.own = own
        self.serviceType = serviceType
    }

    /// A service is there, or says something else.
    mutating func resolved(_ service: Service) -> [Change] {
        let announcement = PeerAnnouncement(service.text)
        let old = services[service.id]?.announcement.key
        let isPeer = announcement?.serviceType == serviceType && announcement?.key != own
        services[service.id] = isPeer ? announcement.map { (service, $0) } : nil
        let keys = Set([old, isPeer ? announcement?.key : nil].compactMap { $0 })
        return keys.sorted().flatMap { update($0) }
    }

    mutating func lost(_ id: Service.ID) -> [Change] {
        guard let key = services.removeValue(forKey: id)?.announcement.key else { return [] }
        return update(key)
    }

    func peer(_ key: PeerKey) -> FoundPeer? { reported[key] }

    func services(of key: PeerKey) -> [Service] {
        services.values.filter { $0.announcement.key == key }.map(\.service)
            .sorted { ($0.interfaceIndex, $0.name) < ($1.interfaceIndex, $1.name) }
    }

    private mutating func update(_ key: PeerKey) -> [Change] {
        let old = reported[key]
        let all = services(of: key)
        // One that was killed and is back under another name may be there twice for a while: the latest one counts.
        guard let latest = all.max(by: { $0.firstSeen < $1.firstSeen }), let entry = services[latest.id] else {
            reported[key] = nil
            return old.map { [.lost($0.peer)] } ?? []
        }
        let same = all.filter { $0.port == latest.port }
        let new = FoundPeer(
            peer: PeerInfo(key: key, name: entry.announcement.name),
            info: entry.announcement.info,
            addresses: PeerAddress.all(same),
            port: latest.port,
            boot: entry.announcement.boot
        )
        reported[key] = new
        guard let old else { return [.found(new)] }
        guard old != new || old.peer.name != new.peer.name else { return [] }
        // Another start, or other info: it is reported as found again, since there is no event for such a change.
        let isSame = (old.boot, old.info, old.peer.name) == (new.boot, new.info, new.peer.name)
        return isSame ? [.moved(new)] : [.lost(old.peer), .found(new)]
    }
}
