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
    /// What was counted for another state already stays there.
    /// - Parameters:
    ///   - state: The state from `since` on.
    ///   - since: When it began, as time since boot; now when not given.
    ///   - now: The time since boot.
    ///   - asleep: How much of it the machine was suspended.
    public mutating func note(
        _ state: Headline.State,
        since: Duration? = nil,
        at now: Duration,
        asleep: Duration = .zero
    ) {
        if asleep - self.asleep > .seconds(1) {
            // The state of before stands until the machine was suspended, as far as anybody knows.
            settle(at: now - (asleep - self.asleep))
            settled = max(settled, now)
        }
        self.asleep = asleep
        guard state != self.state else { return }
        settle(at: min(since ?? now, now))
        self.state = state
    }

    /// How long the headline was in a state.
    ///
    /// - Parameters:
    ///   - state: One of all states.
    ///   - time: Until when it counts, as time since boot: now, or earlier while the present state is not settled.
    /// - Returns: Seconds, never fewer than at any earlier call.
    public mutating func seconds(of state: Headline.State, at time: Duration) -> Double {
        settle(at: time)
        return (totals[state] ?? .zero) / .seconds(1)
    }

    private mutating func settle(at time: Duration) {
        guard time > settled else { return }
        if let state { totals[state, default: .zero] += time - settled }
        settled = time
    }
}
