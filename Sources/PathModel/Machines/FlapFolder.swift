// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Finds out that a path changes too often, from the first change that is too many to the time of quiet after it.
public struct FlapFolder: Hashable, Sendable {
    public enum Action: Hashable, Sendable {
        case tell
        /// Tell also that flapping began, after this many changes.
        case start(changes: Int)
        /// It belongs to the flapping that was told, and is counted for its end.
        case fold
    }

    /// More changes than this within the window are flapping.
    public let limit: Int
    public let window: Duration
    private var moments: [Duration] = []
    private var foldedChanges: Int?

    /// Allows `limit` changes in `window`.
    public init(limit: Int = 7, window: Duration = .seconds(60)) {
        self.limit = max(limit, 1)
        self.window = max(window, .milliseconds(1))
    }

    public var isFlapping: Bool { foldedChanges != nil }

    public mutating func change(at now: Duration) -> Action {
        forgetOld(at: now)
        moments.append(now)
        if moments.count > limit + 1 { moments.removeFirst(moments.count - limit - 1) }
        if let folded = foldedChanges {
            foldedChanges = folded + 1
            return .fold
        }
        guard moments.count > limit else { return .tell }
        foldedChanges = 0
        return .start(changes: moments.count)
    }

    /// Looks whether flapping is over.
    /// - Returns: How many changes were folded, when it just ended; tell the path as it is now with it.
    public mutating func end(at now: Duration) -> Int? {
        forgetOld(at: now)
        guard let folded = foldedChanges, moments.count <= limit / 2 else { return nil }
        foldedChanges = nil
        return folded
    }

    /// When to call end(at:) next, as time since boot; `nil` without flapping.
    public var nextCheck: Duration? {
        guard isFlapping else { return nil }
        // Flapping ends when only half of the limit is left within the window.
        let leaving = moments.count - limit / 2 - 1
        guard leaving >= 0, leaving < moments.count else { return moments.last.map { $0 + window } }
        return moments[leaving] + window
    }

    /// Forgets the gap of a sleep, in which changes were not seen (rule S49).
    public mutating func slept(until now: Duration) {
        moments = []
    }

    private mutating func forgetOld(at now: Duration) {
        moments.removeAll { now - $0 >= window }
    }
}
