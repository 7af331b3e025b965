// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// The answers that will be multicast, and when (rules A2, A6, A8).
struct AnswerQueue: Sendable {
    private struct Plan: Sendable {
        let order: Int
        /// It may join a packet from here on, and makes one at `due`.
        var earliest: Duration
        var due: Duration
    }

    /// How long what others may answer too is held back, in milliseconds.
    static let delay = 20...120
    /// A record is multicast once in this time, on one interface by one family.
    static let gap = Duration.seconds(1)
    /// The same for a record that defends a name.
    static let defenceGap = Duration.milliseconds(250)

    private var plans: [OwnRecords.Key: Plan] = [:]
    private var lastOrder = 0

    /// When ``due(at:)`` is to be called next; it may be early, never late.
    private(set) var nextDeadline: Duration?

    var count: Int { plans.count }

    func isPlanned(_ key: OwnRecords.Key) -> Bool { plans[key] != nil }

    /// Chooses when the delayed answers to a query go: with what goes soon anyway, else at a random time.
    func delayedTime(at now: Duration, random: inout RandomSource) -> Duration {
        let chosen = now + random.duration(in: Self.delay)
        guard let next = nextDeadline else { return chosen }
        let range = now + .milliseconds(Self.delay.lowerBound)...now + .milliseconds(Self.delay.upperBound)
        return range.contains(next) ? next : chosen
    }

    /// Plans an answer for `due`, or sooner if it is planned for a sooner time already.
    mutating func plan(
        _ key: OwnRecords.Key,
        at now: Duration,
        due: Duration,
        lastMulticast: Duration?,
        gap: Duration = AnswerQueue.gap
    ) {
        let allowed = max(now, lastMulticast.map { $0 + gap } ?? now)
        let wait = due > now ? Duration.milliseconds(Self.delay.lowerBound) : .zero
        var plan = Plan(order: lastOrder, earliest: max(now + wait, allowed), due: max(due, allowed))
        if let old = plans[key] {
            plan = Plan(order: old.order, earliest: min(old.earliest, plan.earliest), due: min(old.due, plan.due))
        } else {
            lastOrder += 1
        }
        plans[key] = plan
        nextDeadline = min(nextDeadline ?? plan.due, plan.due)
    }

    /// Removes an answer, because another host gave it or it is ours no longer.
    mutating func drop(_ key: OwnRecords.Key) { plans[key] = nil }

    /// Removes and returns the answers of the packet that is due, if one is, in the order in which they were planned.
    mutating func due(at now: Duration) -> [OwnRecords.Key] {
        guard let deadline = nextDeadline, deadline <= now else { return [] }
        defer { nextDeadline = plans.values.lazy.map(\.due).min() }
        guard plans.values.contains(where: { $0.due <= now }) else { return [] }
        let ready = plans.filter { $0.value.earliest <= now }.sorted { $0.value.order < $1.value.order }.map(\.key)
        for key in ready { plans[key] = nil }
        return ready
    }
}
