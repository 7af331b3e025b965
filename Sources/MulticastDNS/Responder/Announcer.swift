// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// When the records of a set are announced (rules P9, P11).
///
/// Three times, after 0, 1 and 3 s; never again by itself. More than ten changes within a minute wait their turn.
struct Announcer: Sendable {
    private struct Run: Sendable {
        var remaining: Int
        var next: Duration
        var gap: Duration
    }

    static let announcements = 3
    static let firstGap = Duration.seconds(1)
    static let updateLimit = 10
    static let updateWindow = Duration.seconds(60)

    private var runs: [RecordSet.ID: Run] = [:]
    private var updates: [RecordSet.ID: [Duration]] = [:]

    /// When ``due(at:)`` is to be called next.
    var nextDeadline: Duration? { runs.values.lazy.map(\.next).min() }

    mutating func start(_ id: RecordSet.ID, at now: Duration) {
        runs[id] = Run(remaining: Self.announcements, next: now, gap: Self.firstGap)
    }

    /// Announces changed data, as soon as the number of changes allows.
    mutating func update(_ id: RecordSet.ID, at now: Duration) {
        var recent = updates[id, default: []].filter { now - $0 < Self.updateWindow }
        let first = recent.count < Self.updateLimit ? now : max(now, recent[0] + Self.updateWindow)
        // Changes that wait are announced together, so only those that were announced count.
        if first == now { recent.append(now) }
        updates[id] = recent
        runs[id] = Run(remaining: Self.announcements, next: first, gap: Self.firstGap)
    }

    mutating func cancel(_ id: RecordSet.ID) { runs[id] = nil }

    mutating func forget(_ id: RecordSet.ID) {
        runs[id] = nil
        updates[id] = nil
    }

    mutating func due(at now: Duration) -> [RecordSet.ID] {
        var ids: [RecordSet.ID] = []
        for (id, run) in runs.sorted(by: { $0.key < $1.key }) where run.next <= now {
            ids.append(id)
            runs[id] =
                run.remaining > 1
                ? Run(remaining: run.remaining - 1, next: now + run.gap, gap: run.gap * 2) : nil
        }
        return ids
    }
}
