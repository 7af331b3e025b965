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
        if case .censusCompleted(let summary) = event {
            // One a minute that says the same is nothing to read.
            defer { lastCensus = summary }
            guard lastCensus.map({ summary.tellsMore(than: $0) }) ?? true else { return }
        }
        if let body = event.body(as: document) { hub.publish(body) }
    }

    private func document(_ service: Service) -> ServiceDocument {
        ServiceDocument(service, clock: clock, firstSeen: firstSeen(service))
    }
}
