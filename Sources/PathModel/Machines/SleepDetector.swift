// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Finds out that the machine slept, from two clocks of which only one goes on in sleep (rule S49).
public struct SleepDetector: Hashable, Sendable {
    /// Shorter differences are noise of reading two clocks.
    public let threshold: Duration
    private var gap: Duration?

    /// Counts a gap of at least `threshold` as sleep.
    public init(threshold: Duration = .milliseconds(500)) {
        self.threshold = threshold
    }

    /// Compares the clocks; call it on every wake-up.
    /// - Parameters:
    ///   - boot: Time since boot, asleep or not (`CLOCK_BOOTTIME`).
    ///   - awake: Time since boot without sleep (`CLOCK_MONOTONIC`).
    /// - Returns: For how long the machine slept since the last call, or `nil`.
    public mutating func observe(boot: Duration, awake: Duration) -> Duration? {
        let now = boot - awake
        defer { gap = now }
        guard let gap, now - gap >= threshold else { return nil }
        return now - gap
    }
}
