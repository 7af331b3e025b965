// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Services as they are found on interfaces, merged into one result for each.
///
/// Pure. What changed since the last call is reported at once, so that a burst is one call of the handler.
struct BrowseTable: Sendable {
    /// What makes it the same service.
    struct Service: Hashable, Sendable {
        let name: String
        let type: String
        let domain: String
    }

    private struct Appearance: Hashable, Sendable {
        let interface: NWInterface
        var text: NWTXTRecord?
    }

    private var services: [Service: [Appearance]] = [:]
    private var touched: Set<Service> = []
    private var reported: [Service: NWBrowser.Result] = [:]

    /// Everything that was reported.
    var results: Set<NWBrowser.Result> { Set(reported.values) }

    /// Whether there may be something to report.
    var isTouched: Bool { !touched.isEmpty }

    /// A service is on an interface, or says something else there.
    mutating func appeared(_ service: Service, on interface: NWInterface, text: NWTXTRecord? = nil) {
        var appearances = services[service, default: []].filter { $0.interface.index != interface.index }
        appearances.append(Appearance(interface: interface, text: text))
        services[service] = appearances.sorted { $0.interface.index < $1.interface.index }
        touched.insert(service)
    }

    /// A service is no longer on an interface.
    mutating func vanished(_ service: Service, from index: Int) {
        guard var appearances = services[service] else { return }
        appearances.removeAll { $0.interface.index == index }
        services[service] = appearances.isEmpty ? nil : appearances
        touched.insert(service)
    }

    /// What changed since the last call; nothing for what came and went meanwhile.
    mutating func drainChanges() -> Set<NWBrowser.Result.Change> {
        var changes: Set<NWBrowser.Result.Change> = []
        for service in touched {
            let (old, new) = (reported[service], result(for: service))
            reported[service] = new
            let change = NWBrowser.Result.Change(between: old, new)
            if change != NWBrowser.Result.Change.identical { changes.insert(change) }
        }
        touched = []
        return changes
    }

    private func result(for service: Service) -> NWBrowser.Result? {
        guard let appearances = services[service], let first = appearances.first else { return nil }
        let endpoint = NWEndpoint.service(
            name: service.name,
            type: service.type,
            domain: service.domain,
            interface: nil
        )
        return NWBrowser.Result(
            endpoint: endpoint,
            interfaces: appearances.map(\.interface),
            metadata: first.text.map { NWBrowser.Result.Metadata.bonjour($0) } ?? NWBrowser.Result.Metadata.none
        )
    }
}
