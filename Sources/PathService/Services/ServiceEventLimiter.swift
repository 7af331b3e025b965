// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import DNSWire
internal import MulticastDNS

/// Services that were lost with the link of one interface, or found again with it: one record for all of them.
struct ServiceGroup: Equatable {
    let isFound: Bool
    let interface: String
    /// Whether an earlier run published them.
    var isOfEarlierRun = false
    var services: [Service]
    /// The types that have no service any more, or one again.
    var types: [String]
}

/// Limits how many service events are published.
///
/// Pure: events of the census in, events to publish out, the clock an argument. Of each service, and of each type, one event
/// of a kind is published per ``interval``; what comes sooner is suppressed, and the state at the end of it is published
/// with the number of events that were left out. All of them are paid for from a token bucket of bytes: while it is empty,
/// states wait, and events that leave no state are dropped.
///
/// Services that are lost with their link are one ``ServiceGroup``, ``settling`` after the first of them. Those of them that
/// are found again by the first census of the returned link are another, once all are back or that census is complete.
struct ServiceEventLimiter {
    /// An event that may be published now.
    struct Update: Equatable {
        var event: ServiceEvent
        /// How many events before it were left out.
        var suppressed: Int
    }

    /// The least time between two events of a kind about one service.
    static let interval = Duration.seconds(60)
    /// How long services join the group of those lost with a link: the longest debounce of the path, whose record comes first.
    static let settling = Duration.seconds(1)

    private enum Kind: Hashable { case added, changed, removed, unresolved }

    private enum Subject: Hashable {
        case service(Service.ID)
        case type(String)
    }

    private enum State {
        case service(Service)
        case type(String)
    }

    private struct Entry {
        /// What was published last; `nil` when it is not there.
        var published: State?
        /// What is so now.
        var current: State?
        /// Why it is not there, and for how long it was.
        var removal: (reason: RemovalReason, seenFor: Duration)?
        /// How many events came since the last that was published.
        var suppressed = 0
        /// When an event of a kind was published last.
        var last: [Kind: Duration] = [:]
        var isWaiting = false
        /// Whether it was found again and is published with its group.
        var isHeld = false

        /// What must be published for the current state; `nil` when it was.
        var kind: Kind? {
            switch (published, current) {
            case (nil, nil), (.type?, .type?): nil
            case (nil, _?): .added
            case (_?, nil): .removed
            case (.service(let old)?, .service(let new)?): new.changes(since: old).isEmpty ? nil : .changed
            default: nil
            }
        }

        /// When an event of a kind may be published.
        func earliest(_ kind: Kind) -> Duration { last[kind].map { $0 + ServiceEventLimiter.interval } ?? .zero }
    }

    private var bucket: TokenBucket
    private var entries: [Subject: Entry] = [:]
    /// What is to be published, the one that waits longest first; a change that was undone meanwhile stays until it is due.
    private var waiting: [Subject] = []
    /// Before this time nothing of it is due; `nil` while nothing waits.
    private var soonest: Duration?
    /// Events without a state, to be published now or never.
    private var passing: [ServiceEvent] = []
    private var nextPurge = Duration.zero
    private var links: [String: Link] = [:]
    /// How many services groups told since the last census.
    private var grouped = (added: 0, removed: 0)
    private var lastCensus: CensusSummary?

    /// Makes one that lets a large network's first census through: 2 MiB at once, and then 1 KiB a second.
    init(bucket: TokenBucket = TokenBucket(capacity: 2 << 20, perSecond: 1 << 10)) { self.bucket = bucket }

    /// Handles an event of the census; what is to be published is then given out by ``next(at:)``.
    mutating func handle(_ event: ServiceEvent, at now: Duration) {
        switch event {
        case .added(let service):
            if !hold(service, at: now) { release(.type(service.type)) }
            set(.service(service.id), to: .service(service))
        case .changed(let service, _, _): set(.service(service.id), to: .service(service))
        case .removed(let service, let reason, let seenFor):
            if reason != .interfaceDown || !lose(service, at: now) {
                set(.service(service.id), to: nil, (reason, seenFor))
            }
        case .typeAdded(let type):
            let isMissing = links.values.contains { $0.missingTypes.contains(type) }
            entries[.type(type), default: Entry()].isHeld = isMissing
            set(.type(type), to: .type(type))
        case .typeRemoved(let type):
            if !lose(type: type) { set(.type(type), to: nil) }
        case .resolveFailed(let service):
            let subject = Subject.service(service.id)
            if let last = entries[subject]?.last[.unresolved], now < last + Self.interval { return }
            guard bucket.hasTokens(at: now) else { return }
            entries[subject, default: Entry()].last[.unresolved] = now
            passing.append(event)
        case .censusProvisional: break
        case .censusCompleted(let summary):
            for interface in summary.interfaces { links[interface]?.close(at: now) }
            if isDifferent(summary), bucket.hasTokens(at: now) { passing.append(event) }
            (lastCensus, grouped) = (summary, (0, 0))
        }
        purge(at: now)
    }

    /// Expects services that an earlier run published, and that were there at its end.
    mutating func expect(_ service: DomainName, on interface: String) {
        links[interface, default: Link()].miss(service, as: nil)
    }

    /// Whether services wait for the others of their link.
    var isHolding: Bool { links.values.contains { !$0.lost.isEmpty || !$0.found.isEmpty } }

    /// The next group that may be published at `now`; ``charge(_:at:)`` follows with its size.
    mutating func nextGroup(at now: Duration) -> ServiceGroup? {
        for (interface, link) in links.sorted(by: { $0.key < $1.key }) {
            let isFoundDue = link.foundDue.map { $0 <= now } ?? false
            if let due = link.lostDue, due <= now || isFoundDue { return publishLost(interface) }
            if isFoundDue, let group = publishFound(interface) { return group }
        }
        links = links.filter { !$0.value.isIdle }
        return nil
    }

    /// The next event that may be published at `now`; ``charge(_:at:)`` follows with its size.
    mutating func next(at now: Duration) -> Update? {
        if !passing.isEmpty { return Update(event: passing.removeFirst(), suppressed: 0) }
        guard let soonest, soonest <= now, bucket.hasTokens(at: now) else { return nil }
        var next: Duration?
        for (index, subject) in waiting.enumerated() {
            guard let entry = entries[subject], !entry.isHeld, let kind = entry.kind else { continue }
            let earliest = entry.earliest(kind)
            guard earliest > now else {
                waiting.remove(at: index)
                entries[subject]?.isWaiting = false
                return publish(subject, kind, at: now)
            }
            next = min(next ?? earliest, earliest)
        }
        for subject in waiting where entries[subject]?.kind == nil { entries[subject]?.isWaiting = false }
        waiting = waiting.filter { entries[$0]?.isWaiting == true }
        self.soonest = next
        return nil
    }

    /// Charges the size of a published event.
    mutating func charge(_ bytes: Int, at now: Duration) { bucket.spend(bytes, at: now) }

    /// When there may be something to publish; `nil` when nothing waits.
    var nextDeadline: Duration? {
        let due = links.values.flatMap { [$0.lostDue, $0.foundDue].compactMap(\.self) }
        return (due + [soonest.map { max($0, bucket.refilled) }].compactMap(\.self)).min()
    }

    private mutating func set(
        _ subject: Subject,
        to state: State?,
        _ removal: (reason: RemovalReason, seenFor: Duration)? = nil
    ) {
        entries[subject, default: Entry()].current = state
        entries[subject]?.removal = removal
        entries[subject]?.suppressed += 1
        enqueue(subject)
    }

    private mutating func enqueue(_ subject: Subject) {
        guard let entry = entries[subject], !entry.isHeld, let kind = entry.kind else { return }
        let earliest = entry.earliest(kind)
        soonest = min(soonest ?? earliest, earliest)
        guard !entry.isWaiting else { return }
        waiting.append(subject)
        entries[subject]?.isWaiting = true
    }

    private mutating func publish(_ subject: Subject, _ kind: Kind, at now: Duration) -> Update? {
        guard let entry = entries[subject], let event = Self.event(subject, entry) else { return nil }
        entries[subject]?.published = entry.current
        entries[subject]?.last[kind] = now
        entries[subject]?.suppressed = 0
        return Update(event: event, suppressed: max(0, entry.suppressed - 1))
    }

    private static func event(_ subject: Subject, _ entry: Entry) -> ServiceEvent? {
        switch (entry.published, entry.current, subject) {
        case (nil, .service(let service)?, _): .added(service)
        case (.service(let old)?, .service(let new)?, _):
            .changed(new, fields: new.changes(since: old), previous: old)
        case (.service(let service)?, nil, _):
            .removed(service, reason: entry.removal?.reason ?? .goodbye, seenFor: entry.removal?.seenFor ?? .zero)
        case (_, nil, .type(let type)): .typeRemoved(type)
        case (_, _, .type(let type)): .typeAdded(type)
        default: nil
        }
    }

    /// Forgets what is not there, once another event about it may be published.
    private mutating func purge(at now: Duration) {
        guard now >= nextPurge else { return }
        nextPurge = now + Self.interval
        entries = entries.filter { _, entry in
            entry.published != nil || entry.current != nil || entry.isWaiting
                || entry.last.values.contains { now < $0 + Self.interval }
        }
    }
}

// MARK: - Services of a link

extension ServiceEventLimiter {
    /// The services of one interface that went or come with its link.
    private struct Link {
        /// Where names change at every loss of the link, those that never come back must not pile up.
        static let mostMissing = 4096

        /// What went and was not found again, as it was published; without a value where an earlier run published it.
        var missing: [DomainName: Service?] = [:]
        /// At least the types of those.
        var missingTypes: Set<String> = []
        /// What went and is to be published.
        var lost: [Service] = []
        var lostTypes: [String] = []
        var lostDue: Duration?
        /// What was found again and is to be published.
        var found: Set<Service.ID> = []
        var foundDue: Duration?
        /// Whether the census after its return is complete.
        var isOver = false

        var isIdle: Bool { lost.isEmpty && found.isEmpty && missing.isEmpty }

        mutating func miss(_ instance: DomainName, as published: Service?) {
            guard missing.count < Self.mostMissing else { return }
            missing[instance] = .some(published)
            missingTypes.insert("\(instance.parent.prefix(2))")
        }

        mutating func forget() { (missing, missingTypes) = ([:], []) }

        /// What is found from now on was not lost with the link.
        mutating func close(at now: Duration) {
            guard !found.isEmpty else { return forget() }
            foundDue = now
            isOver = true
        }
    }

    /// Holds a service that went with its link back until its group is published.
    ///
    /// - Returns: Whether it did.
    private mutating func hold(_ service: Service, at now: Duration) -> Bool {
        guard links[service.interface]?.missing[service.instance] != nil else { return false }
        entries[.service(service.id), default: Entry()].isHeld = true
        if links[service.interface]?.found.insert(service.id).inserted == true { grouped.added += 1 }
        if let link = links[service.interface], link.found.count >= link.missing.count {
            links[service.interface]?.foundDue = now
        }
        return true
    }

    /// Notes a service that is lost with its link.
    ///
    /// - Returns: Whether it belongs to a group; one that was never published is nothing to readers.
    private mutating func lose(_ service: Service, at now: Duration) -> Bool {
        let subject = Subject.service(service.id)
        guard let entry = entries[subject] else { return false }
        if entry.isHeld {
            entries[subject]?.isHeld = false
            links[service.interface]?.found.remove(service.id)
            return false
        }
        guard case .service(let published)? = entry.published else { return false }
        entries[subject]?.published = nil
        entries[subject]?.current = nil
        entries[subject]?.suppressed = 0
        let due = links[service.interface]?.lostDue ?? now + Self.settling
        links[service.interface, default: Link()].miss(service.instance, as: published)
        links[service.interface]?.lost.append(service)
        links[service.interface]?.lostDue = due
        links[service.interface]?.isOver = false
        grouped.removed += 1
        return true
    }

    /// Notes a type whose last service was lost with a link.
    ///
    /// - Returns: Whether it belongs to a group.
    private mutating func lose(type: String) -> Bool {
        let subject = Subject.type(type)
        entries[subject]?.isHeld = false
        guard entries[subject]?.published != nil,
            let interface = links.keys.sorted().first(where: { links[$0]?.lost.contains { $0.type == type } == true })
        else { return false }
        entries[subject]?.published = nil
        entries[subject]?.current = nil
        entries[subject]?.suppressed = 0
        links[interface]?.lostTypes.append(type)
        return true
    }

    /// Publishes it on its own.
    private mutating func release(_ subject: Subject) {
        guard entries[subject]?.isHeld == true else { return }
        entries[subject]?.isHeld = false
        enqueue(subject)
    }

    private mutating func publishLost(_ interface: String) -> ServiceGroup? {
        guard let link = links[interface] else { return nil }
        links[interface]?.lost = []
        links[interface]?.lostTypes = []
        links[interface]?.lostDue = nil
        return ServiceGroup(isFound: false, interface: interface, services: link.lost, types: link.lostTypes)
    }

    private mutating func publishFound(_ interface: String) -> ServiceGroup? {
        guard let link = links[interface] else { return nil }
        links[interface]?.found = []
        links[interface]?.foundDue = nil
        var group = ServiceGroup(isFound: true, interface: interface, services: [], types: [])
        for id in link.found {
            let subject = Subject.service(id)
            entries[subject]?.isHeld = false
            guard case .service(let service)? = entries[subject]?.current else { continue }
            let earlier = link.missing[id.instance].flatMap(\.self)
            if earlier == nil { group.isOfEarlierRun = true }
            // What is different from what it was is then a change of its own.
            entries[subject]?.published = .service(earlier ?? service)
            entries[subject]?.suppressed = 0
            links[interface]?.missing[id.instance] = nil
            enqueue(subject)
            group.services.append(service)
        }
        if link.isOver { links[interface]?.forget() }
        for type in Set(group.services.map(\.type)).sorted() where entries[.type(type)]?.isHeld == true {
            entries[.type(type)]?.isHeld = false
            entries[.type(type)]?.published = .type(type)
            entries[.type(type)]?.suppressed = 0
            group.types.append(type)
        }
        return group.services.isEmpty ? nil : group
    }

    /// Whether a census found anything else than the one before, and than the groups since then.
    private func isDifferent(_ summary: CensusSummary) -> Bool {
        guard grouped != (0, 0) else { return lastCensus.map(summary.foundMore(than:)) ?? true }
        return summary.added > grouped.added || summary.removed > grouped.removed || summary.changed > 0
            || summary.unresolved != lastCensus?.unresolved ?? 0
    }
}
