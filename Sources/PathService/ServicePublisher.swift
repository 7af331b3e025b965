// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Documents
internal import EventHub
internal import LinuxIO
internal import MulticastDNS

/// Turns what the census reports into events.
struct ServicePublisher {
    let hub: EventHub
    let clock: any TimeSource
    /// When a service was first heard of, as far as the history knows.
    let firstSeen: (Service) -> WallTime?

    private var lastCensus: CensusSummary?

    init(hub: EventHub, clock: any TimeSource, firstSeen: @escaping (Service) -> WallTime?) {
        self.hub = hub
        self.clock = clock
        self.firstSeen = firstSeen
    }

    mutating func publish(_ event: ServiceEvent) {
        switch event {
        case .typeAdded(let type): hub.publish(ServiceTypeChanged(type: type, isAdded: true))
        case .typeRemoved(let type): hub.publish(ServiceTypeChanged(type: type, isAdded: false))
        case .added(let service): hub.publish(ServiceAdded(document(service)))
        case .changed(let service, let fields, let previous):
            hub.publish(ServiceChanged(document(service), changed: fields, previous: document(previous)))
        case .removed(let service, let reason, let seenFor):
            hub.publish(ServiceRemoved(document(service), reason: reason, seenFor: seenFor))
        case .resolveFailed(let service): hub.publish(ServiceResolveFailed(service))
        case .censusProvisional: break
        case .censusCompleted(let summary):
            // One a minute that says the same is nothing to read.
            if lastCensus.map({ summary.tellsMore(than: $0) }) ?? true { hub.publish(CensusCompleted(summary)) }
            lastCensus = summary
        }
    }

    private func document(_ service: Service) -> ServiceDocument {
        ServiceDocument(service, clock: clock, firstSeen: firstSeen(service))
    }
}
