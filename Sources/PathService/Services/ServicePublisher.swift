// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Documents
internal import EventHub
internal import LinuxIO
internal import MulticastDNS

/// Turns what the census reports into events, as many as ``ServiceEventLimiter`` lets through.
struct ServicePublisher {
    let hub: EventHub
    let clock: any TimeSource
    /// When a service was first heard of, as far as the history knows.
    let firstSeen: (Service) -> WallTime?

    private var lastCensus: CensusSummary?
    private var limiter = ServiceEventLimiter()

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
        limiter.handle(event, at: clock.boot)
        publishDue()
    }

    /// Publishes what had to wait and need not any longer.
    mutating func publishDue() {
        let now = clock.boot
        while let update = limiter.next(at: now) {
            guard let body = update.event.body(as: document, suppressed: update.suppressed),
                let event = hub.publish(body)
            else { continue }
            limiter.charge(event.line.count, at: now)
        }
    }

    /// When ``publishDue()`` is to be called; `nil` when nothing waits.
    var nextDeadline: Duration? { limiter.nextDeadline }

    private func document(_ service: Service) -> ServiceDocument {
        ServiceDocument(service, clock: clock, firstSeen: firstSeen(service))
    }
}
