// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import DNSWire

/// Merges the events of links into one ordered story per instance: found, resolved, changed, lost.
///
/// Pure; every instance that is found is lost at most once before it is found again, whatever the order of packets.
struct BrowseList: Sendable {
    private struct Item: Sendable {
        var announcement: ServiceAnnouncement
        var service: Service?
        /// It was reported as lost, though it is announced still.
        var isLost = false
    }

    /// The types and subtypes that are browsed; `nil` is everything.
    private let names: Set<DomainName>?
    /// The instances that are followed by name, announced or not.
    private let instances: Set<DomainName>
    private var items: [Service.ID: Item] = [:]

    init(_ subscription: Subscription) {
        names = subscription.census == nil ? subscription.pointers : nil
        instances = subscription.instances
    }

    /// The instances that are present, resolved or not.
    var announcements: [ServiceAnnouncement] { items.values.filter { !$0.isLost }.map(\.announcement) }

    /// The resolved services.
    var services: [Service] { items.values.compactMap(\.service) }

    /// Applies an event.
    /// - Returns: What to report, in order.
    mutating func apply(_ event: DirectoryEvent) -> [BrowseEvent] {
        switch event {
        case .announced(let announcement, let sources):
            return isNamed(announcement) ? [] : announced(announcement, by: sources)
        case .withdrawn(let announcement, let reason, let seenFor):
            return isNamed(announcement) ? [] : remove(announcement.id, reason, seenFor, forgets: true)
        case .resolved(let service):
            if instances.contains(service.instance), items[service.id] == nil {
                items[service.id] = Item(announcement: ServiceAnnouncement(service))
            }
            return resolved(service)
        case .changed(let service, let fields, let previous):
            return changed(service, fields, previous)
        case .removed(let service, let reason, let seenFor):
            return remove(service.id, reason, seenFor, forgets: instances.contains(service.instance))
        case .unresolved(let service):
            return instances.contains(service.instance) || items[service.id]?.isLost == false
                ? [.unresolved(service)] : []
        case .recordAdded, .recordRemoved:
            return []
        }
    }

    private func isNamed(_ announcement: ServiceAnnouncement) -> Bool { instances.contains(announcement.instance) }

    private mutating func announced(
        _ announcement: ServiceAnnouncement,
        by sources: Set<DomainName>
    ) -> [BrowseEvent] {
        guard let item = items[announcement.id] else {
            guard isWanted(sources) else { return [] }
            items[announcement.id] = Item(announcement: announcement)
            return [.found(announcement)]
        }
        guard isWanted(sources) else { return remove(announcement.id, .goodbye, .zero, forgets: true) }
        items[announcement.id]?.announcement = announcement
        return item.isLost || item.announcement == announcement ? [] : [.found(announcement)]
    }

    private func isWanted(_ sources: Set<DomainName>) -> Bool {
        guard let names else { return true }
        return !sources.isDisjoint(with: names)
    }

    private mutating func resolved(_ service: Service) -> [BrowseEvent] {
        guard let item = items[service.id] else { return [] }
        items[service.id]?.service = service
        items[service.id]?.isLost = false
        if let known = item.service {
            let fields = service.changes(since: known)
            return fields.isEmpty ? [] : [.changed(service, fields: fields, previous: known)]
        }
        return (item.isLost ? [.found(item.announcement)] : []) + [.resolved(service)]
    }

    private mutating func changed(_ service: Service, _ fields: [ServiceField], _ previous: Service) -> [BrowseEvent] {
        guard let item = items[service.id] else { return [] }
        guard item.service != nil else { return resolved(service) }
        items[service.id]?.service = service
        return [.changed(service, fields: fields, previous: previous)]
    }

    private mutating func remove(
        _ id: Service.ID,
        _ reason: RemovalReason,
        _ seenFor: Duration,
        forgets: Bool
    ) -> [BrowseEvent] {
        guard let item = items[id] else { return [] }
        if forgets {
            items[id] = nil
        } else {
            items[id]?.isLost = true
            items[id]?.service = nil
        }
        if item.isLost { return [] }
        return [.lost(item.announcement, last: item.service, reason: reason, seenFor: seenFor)]
    }
}

extension ServiceAnnouncement {
    /// What a service that was resolved by its name would be announced as.
    init(_ service: Service) {
        self.init(
            instance: service.instance,
            name: service.name,
            type: service.type,
            domain: service.domain,
            subtypes: [],
            interface: service.interface,
            interfaceIndex: service.interfaceIndex
        )
    }
}
