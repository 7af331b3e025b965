// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Publishes the first change at once, and those that follow it soon together.
///
/// A ``DebounceState`` waits for the end of a burst; this is for those who need its beginning.
public struct ChangePacer: Hashable, Sendable {
    private let pause: Duration
    private var last: Duration?

    /// Leaves `pause` between two tellings.
    public init(pause: Duration = .milliseconds(50)) { self.pause = pause }

    /// When to publish what changed, as time since boot; `now` is at once.
    public func due(at now: Duration) -> Duration { last.map { max(now, $0 + pause) } ?? now }

    public mutating func record(at now: Duration) { last = now }
}
