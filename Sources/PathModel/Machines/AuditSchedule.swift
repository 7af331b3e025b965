// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Schedules full readings, and counts changes that no notification announced (rule S9).
///
/// After a loss it reads more often until the path recovers: a monitor that misses the recovery is the worst
/// kind.
public struct AuditSchedule: Hashable, Sendable {
    /// How often a satisfied path is audited; zero never does.
    public private(set) var interval: Duration
    /// How often a path that is not satisfied is audited.
    public private(set) var lossInterval: Duration
    /// How often an audit found a change that no event had announced.
    public private(set) var silentChanges = 0
    private var last: Duration?
    private var isLost = false

    /// Audits every `interval`, and every `lossInterval` at first after a loss.
    public init(interval: Duration = .seconds(30), lossInterval: Duration = .seconds(10)) {
        self.interval = max(interval, .zero)
        self.lossInterval = min(max(lossInterval, .milliseconds(10)), self.interval)
    }

    /// Applies a new interval and keeps the counters.
    public mutating func apply(interval: Duration) {
        let fresh = AuditSchedule(interval: interval)
        (self.interval, lossInterval) = (fresh.interval, fresh.lossInterval)
    }

    /// When the next audit is due, as time since boot; `nil` when audits are off.
    ///
    /// It counts from the last full reading: evaluations that events trigger may never end.
    public var due: Duration? {
        guard interval > .zero else { return nil }
        return (last ?? .zero) + (isLost ? lossInterval : interval)
    }

    /// Notes that everything was read.
    public mutating func read(at now: Duration) { last = now }

    /// Records the result of any evaluation.
    /// - Parameters:
    ///   - isSatisfied: Whether the default monitor is satisfied.
    ///   - didChange: Whether a path changed.
    ///   - cause: Why it was evaluated.
    /// - Returns: Whether this is a silent change, to be published as such.
    public mutating func evaluated(isSatisfied: Bool, didChange: Bool, cause: CauseKind) -> Bool {
        isLost = !isSatisfied
        guard cause == .audit, didChange else { return false }
        silentChanges += 1
        return true
    }
}
