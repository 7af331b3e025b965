// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// When to read everything again after messages were lost (rule S5): 100 ms later, and twice as long each time it
/// happens again, up to 1 s.
public struct OverrunRecovery: Hashable, Sendable {
    private(set) var delay = Duration.milliseconds(100)
    private var lastResync: Duration?

    /// No messages were lost yet.
    public init() {}

    /// Messages were lost.
    /// - Returns: How long to wait before the resync.
    public mutating func overran(at now: Duration) -> Duration {
        // An overrun soon after the last resync is the same storm.
        if let lastResync, now - lastResync < .seconds(2) {
            delay = min(delay * 2, .seconds(1))
        } else {
            delay = .milliseconds(100)
        }
        return delay
    }

    public mutating func resynced(at now: Duration) { lastResync = now }
}
