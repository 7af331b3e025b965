// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import PathModel

/// Decides when which gateways are asked whether they are there (rule S52): new ones at once, all of them every
/// `interval`.
struct GatewaySchedule: Hashable, Sendable {
    /// The time between two questions; `nil` asks nobody.
    let interval: Duration?
    /// When to ask all of them next, as time since boot.
    private(set) var due: Duration?
    private var known: Set<NeighborKey> = []

    /// Knows no gateway yet.
    init(interval: Duration?) {
        self.interval = interval.map { max($0, .milliseconds(100)) }
    }

    /// Takes the gateways in use.
    /// - Returns: Those to ask at once, because they are new.
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

    /// The gateways to ask at this moment; those that were new meanwhile are asked again.
    mutating func dequeueDue(at now: Duration) -> Set<NeighborKey> {
        guard let interval, let due, now >= due else { return [] }
        self.due = now + interval
        return known
    }
}
