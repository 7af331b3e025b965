// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Finds out that a path changes too often, from the first change that is too many to the time of quiet after it.
public struct FlapDamper: Hashable, Sendable {
    public enum Action: Hashable, Sendable {
        case publish
        /// Publish also that flapping began, after this many changes.
        case start(changes: Int)
        /// Part of the flapping that was published; counted for its end.
        case suppress
    }

    /// More changes than this within the window are flapping.
    public let limit: Int
    public let window: Duration
    private var times: [Duration] = []
    private var suppressedChanges: Int?

    /// Allows `limit` changes in `window`.
    public init(limit: Int = 7, window: Duration = .seconds(60)) {
        self.limit = max(limit, 1)
        self.window = max(window, .milliseconds(1))
    }

    public var isFlapping: Bool { suppressedChanges != nil }

    public mutating func change(at now: Duration) -> Action {
        forgetOld(at: now)
        times.append(now)
        if times.count > limit + 1 { times.removeFirst(times.count - limit - 1) }
        if let suppressed = suppressedChanges {
            suppressedChanges = suppressed + 1
            return .suppress
        }
        guard times.count > limit else { return .publish }
        suppressedChanges = 0
        return .start(changes: times.count)
    }

    /// Checks whether flapping is over.
    /// - Returns: How many changes were suppressed, when it just ended; publish the present path with it.
    public mutating func end(at now: Duration) -> Int? {
        forgetOld(at: now)
        guard let suppressed = suppressedChanges, times.count <= limit / 2 else { return nil }
        suppressedChanges = nil
        return suppressed
    }

    /// When to call end(at:) next, as time since boot; `nil` without flapping.
    public var nextCheck: Duration? {
        guard isFlapping else { return nil }
        // Flapping ends when only half of the limit is left within the window.
        let leaving = times.count - limit / 2 - 1
        guard leaving >= 0, leaving < times.count else { return times.last.map { $0 + window } }
        return times[leaving] + window
    }

    /// Forgets the gap of a sleep, in which changes were not seen (rule S49).
    public mutating func slept(until now: Duration) {
        times = []
    }

    private mutating func forgetOld(at now: Duration) {
        times.removeAll { now - $0 >= window }
    }
}
