// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import LinuxIO
internal import Metrics
internal import MulticastDNS

/// What is counted of services as it happens; everything else is read when it is scraped.
final class ServiceCounters {
    let serviceEvents = Counter(
        .counter("mdns_service_events", "Services that were added, changed or removed.", ["service_type", "event"]),
        children: serviceChanges.map { ["other", $0] }
    )
    let serviceRemovals = Counter(
        .counter("mdns_service_removals", "Services that went away, by the reason.", ["reason"]),
        children: RemovalReason.allCases.map { [$0.rawValue] }
    )
    let nameConflicts = Counter(.counter("mdns_name_conflicts", "Advertised names that another host had."))
    private var types: Set<String> = []
    /// Types beyond this number are counted as `other`.
    static let maximumTypes = 200
    private static let serviceChanges = ["added", "changed", "removed"]

    func register(in registry: MetricRegistry) {
        for counter in [serviceEvents, serviceRemovals, nameConflicts] { registry.add(counter) }
    }

    func count(_ event: ServiceEvent) {
        switch event {
        case .added(let service): count("added", of: service.type)
        case .changed(let service, _, _): count("changed", of: service.type)
        case .removed(let service, let reason, _):
            count("removed", of: service.type)
            serviceRemovals.increment(reason.rawValue)
        default: break
        }
    }

    /// Makes the counters of a type that is known beforehand, so that its first event is seen.
    func expect(_ type: String) { count(nil, of: type) }

    private func count(_ event: String?, of type: String) {
        let type = label(type)
        // The others are there from now on, so that their first one is seen.
        for name in Self.serviceChanges { serviceEvents.increment(type, name, by: name == event ? 1 : 0) }
    }

    /// How many services there are by label; a type that was ever seen stays as 0, since a silent neighbourhood is a
    /// number and not the lack of one.
    func tally(_ present: some Sequence<String>) -> [(type: String, count: Int)] {
        var counts = ["other": 0]
        for type in types { counts[type] = 0 }
        for type in present { counts[types.contains(type) ? type : "other", default: 0] += 1 }
        return counts.sorted { $0.key < $1.key }.map { (type: $0.key, count: $0.value) }
    }

    /// The label of a service type: strangers on the link choose types, so their number is bounded.
    func label(_ type: String) -> String {
        if types.count < Self.maximumTypes { types.insert(type) }
        return types.contains(type) ? type : "other"
    }
}
