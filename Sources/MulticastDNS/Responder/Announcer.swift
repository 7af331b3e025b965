// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// When the records of a set are announced (rules P9, P11).
///
/// Three times, after 0, 1 and 3 s; never again by itself. A change is announced at once, further ones of the same second
/// together at its end. Ten changes may follow each other so, and one more every six seconds; what goes beyond waits.
struct Announcer: Sendable {
    private struct Run: Sendable {
        var remaining: Int
        var next: Duration
        var gap: Duration
        /// Whether it announces a change for the first time.
        var isChange = false
    }

    private struct Pace: Sendable {
        var lastChange: Duration
        /// When the set may have its whole number of changes again.
        var restored: Duration
    }

    static let announcements = 3
    static let firstGap = Duration.seconds(1)
    static let updateLimit = 10
    static let updateGap = Duration.seconds(1)
    /// The time until one more change may be announced: ten a minute in the long run.
    static let updateCost = Duration.seconds(6)

    private var runs: [RecordSet.ID: Run] = [:]
    private var paces: [RecordSet.ID: Pace] = [:]

    /// When ``due(at:)`` is to be called next.
    var nextDeadline: Duration? { runs.values.lazy.map(\.next).min() }

    mutating func start(_ id: RecordSet.ID, at now: Duration) {
        runs[id] = Run(remaining: Self.announcements, next: now, gap: Self.firstGap)
    }

    /// Announces changed data, as soon as the number of changes allows.
    mutating func update(_ id: RecordSet.ID, at now: Duration) {
        var first = now
        if let pace = paces[id] {
            let allowed = pace.restored - Self.updateCost * (Self.updateLimit - 1)
            first = max(now, pace.lastChange + Self.updateGap, allowed)
        }
        runs[id] = Run(remaining: Self.announcements, next: first, gap: Self.firstGap, isChange: true)
    }

    mutating func cancel(_ id: RecordSet.ID) { runs[id] = nil }

    mutating func forget(_ id: RecordSet.ID) {
        runs[id] = nil
        paces[id] = nil
    }

    mutating func due(at now: Duration) -> [RecordSet.ID] {
        var ids: [RecordSet.ID] = []
        for (id, run) in runs.inKeyOrder where run.next <= now {
            ids.append(id)
            // Changes that waited are announced together and count as one.
            if run.isChange {
                paces[id] = Pace(lastChange: now, restored: max(now, paces[id]?.restored ?? now) + Self.updateCost)
            }
            runs[id] =
                run.remaining > 1
                ? Run(remaining: run.remaining - 1, next: now + run.gap, gap: run.gap * 2) : nil
        }
        return ids
    }
}
