// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Adds up how long the headline was in each state, for a counter that never falls.
public struct HeadlineSeconds: Hashable, Sendable {
    private var totals: [Headline.State: Duration] = [:]
    private var state: Headline.State?
    /// Until when the totals are complete; the present state counts from here.
    private var settled = Duration.zero
    /// How long the machine had been suspended by then, which counts for no state.
    private var asleep = Duration.zero

    public init() {}

    /// Records the present state.
    ///
    /// The time until now was shown for the state before and stays there, but that of ``Headline/State/checking``, which
    /// is not shown while it lasts.
    /// - Parameters:
    ///   - state: The state from `since` on.
    ///   - since: When it began, as time since boot; now when not given.
    ///   - now: The time since boot.
    ///   - asleep: How much of it the machine was suspended.
    public mutating func record(
        _ state: Headline.State,
        since: Duration? = nil,
        at now: Duration,
        asleep: Duration = .zero
    ) {
        let slept = suspension(asleep)
        if slept > .zero {
            // As far as is known the state of before stands until the machine was suspended.
            settle(at: now - slept)
            settled = max(settled, now)
        }
        self.asleep = asleep
        guard state != self.state else { return }
        settle(at: isCounting ? now : min(since ?? now, now))
        self.state = state
    }

    /// How long the headline was in a state.
    ///
    /// - Parameters:
    ///   - state: One of all states.
    ///   - now: The time since boot.
    ///   - asleep: How much of it the machine was suspended.
    /// - Returns: Seconds, never fewer than earlier.
    public func seconds(of state: Headline.State, at now: Duration, asleep: Duration = .zero) -> Double {
        let running = state == self.state && isCounting ? now - suspension(asleep) - settled : .zero
        return ((totals[state] ?? .zero) + max(.zero, running)) / .seconds(1)
    }

    /// Whether the present state counts while it lasts: tests may show that ``Headline/State/checking`` was another one.
    private var isCounting: Bool { state != nil && state != .checking }

    /// How long the machine was suspended since the last record; differences of two clocks are no suspension.
    private func suspension(_ asleep: Duration) -> Duration {
        asleep - self.asleep > .seconds(1) ? asleep - self.asleep : .zero
    }

    private mutating func settle(at time: Duration) {
        guard time > settled else { return }
        if let state { totals[state, default: .zero] += time - settled }
        settled = time
    }
}
