// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// A timeout that is extended by the time for which this process was delayed.
struct ExtendedTimeout {
    /// Lateness below this is that of any timer.
    static let tolerance = Duration.milliseconds(10)

    enum End: Equatable {
        /// Wait for so much longer, and call again.
        case wait(Duration)
        /// The time is over; inconclusive when this process was delayed for more than half of it.
        case over(isInconclusive: Bool)
    }

    private let limit: Duration
    private let started: Duration
    private let lateness: Duration
    private var remaining: Duration

    /// - Parameters:
    ///   - limit: The time for an answer; at most twice as much is added.
    ///   - started: The time since boot.
    ///   - lateness: How late timers came on the whole, until then.
    init(limit: Duration, started: Duration, lateness: Duration) {
        self.limit = limit
        self.started = started
        self.lateness = lateness
        remaining = limit * 2
    }

    /// Decides whether the time that seems to be over is.
    mutating func end(at now: Duration, lateness: Duration) -> End {
        // A timer may have been late before it began.
        let awake = max(.zero, now - started - (lateness - self.lateness))
        let missing = limit - awake
        guard missing > Self.tolerance else { return .over(isInconclusive: false) }
        guard remaining > .zero else { return .over(isInconclusive: awake < limit / 2) }
        let more = min(missing, remaining)
        remaining -= more
        return .wait(more)
    }
}
