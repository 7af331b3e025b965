// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Waits until a burst of triggers is over, but not for ever (rule S42).
///
/// The first trigger opens a quiet window that further triggers extend, up to a cap: an unbounded wait might never end
/// under churn, and a fixed one would delay losses.
public struct DebounceState: Hashable, Sendable {
    public enum Action: Hashable, Sendable {
        case idle
        /// Check again after this time.
        case wait(Duration)
        case evaluate
    }

    /// How long it has to be quiet; zero evaluates at once.
    public let quiet: Duration
    /// The longest wait after the first trigger of a burst.
    public let cap: Duration
    private var first: Duration?
    private var last: Duration = .zero

    /// Waits for `quiet`, at most for `cap`.
    public init(quiet: Duration = .milliseconds(100), cap: Duration = .seconds(1)) {
        self.quiet = max(quiet, .zero)
        self.cap = max(cap, quiet)
    }

    /// Whether a burst has not been evaluated yet.
    public var isPending: Bool { first != nil }

    public mutating func trigger(at now: Duration) {
        if first == nil { first = now }
        last = now
    }

    /// What to do now; `.evaluate` closes the burst.
    public mutating func next(at now: Duration) -> Action {
        guard let first else { return .idle }
        let deadline = min(last + quiet, first + cap)
        guard now >= deadline else { return .wait(deadline - now) }
        self.first = nil
        return .evaluate
    }
}
