// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// When to read everything again after messages were lost (rule S5): at once; when it happens again soon, 100 ms later,
/// and twice as long each time, up to 1 s.
public struct OverrunRecovery: Hashable, Sendable {
    private(set) var delay = Duration.zero
    private var lastResync: Duration?

    /// No messages were lost yet.
    public init() {}

    /// Messages were lost.
    /// - Returns: How long to wait before the resync.
    public mutating func overran(at now: Duration) -> Duration {
        // An overrun soon after the last resync is the same storm.
        if let lastResync, now - lastResync < .seconds(2) {
            delay = min(max(delay * 2, .milliseconds(100)), .seconds(1))
        } else {
            delay = .zero
        }
        return delay
    }

    public mutating func resynced(at now: Duration) { lastResync = now }
}
