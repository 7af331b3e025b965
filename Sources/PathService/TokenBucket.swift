// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import LinuxIO

/// Tokens that are used up and come back at a steady rate, of which there are never more than ``capacity``.
///
/// What something costs is known afterwards only, so one more thing may pass than there are tokens for: the debt is paid
/// before the next.
struct TokenBucket {
    let capacity: Int
    let perSecond: Int
    private var tokens: Double
    private var last = Duration.zero

    /// Makes a full one.
    init(capacity: Int, perSecond: Int) {
        self.capacity = capacity
        self.perSecond = perSecond
        tokens = Double(capacity)
    }

    /// Whether something may pass.
    func hasTokens(at now: Duration) -> Bool { balance(at: now) > 0 }

    mutating func spend(_ count: Int, at now: Duration) {
        tokens = balance(at: now) - Double(count)
        last = max(last, now)
    }

    /// When something may pass again, or might have before.
    var refilled: Duration {
        tokens > 0 ? last : last + .nanoseconds(Int64((1 - tokens) / Double(perSecond) * 1e9))
    }

    private func balance(at now: Duration) -> Double {
        min(Double(capacity), tokens + max(0, (now - last).seconds) * Double(perSecond))
    }
}
