// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import MulticastDNS

/// Limits how much neighbours can write to the event log by services that change again and again.
///
/// Pure: events of the census in, events to publish out, the clock an argument. Of each service, and of each type, one event
/// of a kind is published per ``interval``; what comes sooner is suppressed, and the state at the end of it is published
/// with the number of events that were left out. All of them are paid for from a token bucket of bytes: while it is empty,
/// states wait, and events that leave no state are dropped.
struct ServiceEventLimiter {
    /// An event that may be published now.
    struct Update: Equatable {
        var event: ServiceEvent
        /// How many events before it were left out.
        var suppressed: Int
    }

    /// The least time between two events of a kind about one service.
    static let interval = Duration.seconds(60)

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

    /// Makes one that lets a large network's first census through: 2 MiB at once, and then 1 KiB a second.
    init(bucket: TokenBucket = TokenBucket(capacity: 2 << 20, perSecond: 1 << 10)) { self.bucket = bucket }

    /// Handles an event of the census; what is to be published is then given out by ``next(at:)``.
    mutating func handle(_ event: ServiceEvent, at now: Duration) {
        switch event {
        case .added(let service), .changed(let service, _, _):
            set(.service(service.id), to: .service(service))
        case .removed(let service, let reason, let seenFor):
            set(.service(service.id), to: nil, (reason, seenFor))
        case .typeAdded(let type): set(.type(type), to: .type(type))
        case .typeRemoved(let type): set(.type(type), to: nil)
        case .resolveFailed(let service):
            let subject = Subject.service(service.id)
            if let last = entries[subject]?.last[.unresolved], now < last + Self.interval { return }
            guard bucket.hasTokens(at: now) else { return }
            entries[subject, default: Entry()].last[.unresolved] = now
            passing.append(event)
        case .censusProvisional, .censusCompleted:
            if bucket.hasTokens(at: now) { passing.append(event) }
        }
        purge(at: now)
    }

    /// The next event that may be published at `now`; ``charge(_:at:)`` follows with its size.
    mutating func next(at now: Duration) -> Update? {
        if !passing.isEmpty { return Update(event: passing.removeFirst(), suppressed: 0) }
        guard let soonest, soonest <= now, bucket.hasTokens(at: now) else { return nil }
        var next: Duration?
        for (index, subject) in waiting.enumerated() {
            guard let entry = entries[subject], let kind = entry.kind else { continue }
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
    var nextDeadline: Duration? { soonest.map { max($0, bucket.refilled) } }

    private mutating func set(
        _ subject: Subject,
        to state: State?,
        _ removal: (reason: RemovalReason, seenFor: Duration)? = nil
    ) {
        entries[subject, default: Entry()].current = state
        entries[subject]?.removal = removal
        entries[subject]?.suppressed += 1
        guard let entry = entries[subject], let kind = entry.kind else { return }
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
