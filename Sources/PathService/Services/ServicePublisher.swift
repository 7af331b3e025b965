// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Documents
internal import EventHub
internal import LinuxIO
internal import MulticastDNS

/// Publishes what the census reports, as many events as ``ServiceEventLimiter`` lets through.
struct ServicePublisher {
    let hub: EventHub
    let clock: any TimeSource
    /// When a service was first heard of, as far as the history knows.
    let firstSeen: (Service) -> WallTime?

    private var limiter = ServiceEventLimiter()

    init(hub: EventHub, clock: any TimeSource, firstSeen: @escaping (Service) -> WallTime?) {
        self.hub = hub
        self.clock = clock
        self.firstSeen = firstSeen
    }

    /// Expects services that were there when an earlier run ended.
    mutating func expect(_ services: [ServiceHistory.Key]) {
        for service in services { limiter.expect(service.instance, on: service.interface) }
    }

    /// Publishes an event of the census.
    ///
    /// - Parameters:
    ///   - event: The event.
    ///   - cause: Why the services of a group come or go.
    mutating func publish(_ event: ServiceEvent, cause: (ServiceGroup) -> EventCause) {
        limiter.handle(event, at: clock.boot)
        publishDue(cause: cause)
    }

    /// Publishes what had to wait and need not any longer.
    ///
    /// - Parameter cause: Why the services of a group come or go.
    mutating func publishDue(cause: (ServiceGroup) -> EventCause) {
        let now = clock.boot
        while let group = limiter.nextGroup(at: now) {
            let body = ServicesMoved(
                group.services,
                types: group.types,
                on: group.interface,
                isFound: group.isFound,
                cause: cause(group)
            )
            if let event = hub.publish(body) { limiter.charge(event.line.count, at: now) }
        }
        while let update = limiter.next(at: now) {
            guard let body = update.event.body(as: document, suppressed: update.suppressed),
                let event = hub.publish(body)
            else { continue }
            limiter.charge(event.line.count, at: now)
        }
    }

    /// Whether services wait for the others of their link.
    var isHolding: Bool { limiter.isHolding }

    /// When ``publishDue(cause:)`` is to be called; `nil` when nothing waits.
    var nextDeadline: Duration? { limiter.nextDeadline }

    private func document(_ service: Service) -> ServiceDocument {
        ServiceDocument(service, clock: clock, firstSeen: firstSeen(service))
    }
}
