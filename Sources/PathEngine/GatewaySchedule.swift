// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import PathModel

/// Schedules probes of gateways (rule S52): of new ones at once, of all of them every
/// `interval`.
struct GatewaySchedule: Hashable, Sendable {
    /// The time between two probes; `nil` sends none.
    let interval: Duration?
    /// When to probe all of them next, as time since boot.
    private(set) var due: Duration?
    private var known: Set<NeighborKey> = []

    /// Knows no gateway yet.
    init(interval: Duration?) {
        self.interval = interval.map { max($0, .milliseconds(100)) }
    }

    /// Applies the gateways in use.
    /// - Returns: Those to probe at once, because they are new.
    mutating func track(_ gateways: Set<NeighborKey>, at now: Duration) -> Set<NeighborKey> {
        guard let interval else { return [] }
        let new = gateways.subtracting(known)
        known = gateways
        if gateways.isEmpty {
            due = nil
        } else if due == nil {
            due = now + interval
        }
        return new
    }

    /// The gateways to probe now; those that were new meanwhile are probed again.
    mutating func dequeueDue(at now: Duration) -> Set<NeighborKey> {
        guard let interval, let due, now >= due else { return [] }
        self.due = now + interval
        return known
    }
}
