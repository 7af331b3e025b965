// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Per-probe state: the next run, consecutive failures, transitions.
///
/// Time since boot and chance are arguments. A run is due at ``deadline``; whoever starts it calls
/// ``start(at:isPrompt:)`` and, once it is over, ``finish(_:started:at:chance:)``.
public struct ProbeSchedule: Hashable, Sendable {
    public enum Transition: Hashable, Sendable {
        /// It failed as often in a row as the threshold says.
        case failed
        /// It succeeds again after that; how long it had failed, from the first failure on.
        case recovered(after: Duration)
        case portalDetected
        case portalCleared
    }

    public enum Wish: Hashable, Sendable {
        /// It will run at once.
        case granted
        /// It is running already, and that run is as good.
        case running
        /// It ran moments ago: ask again after so long.
        case tooSoon(Duration)

        /// What becomes of the wish for something that runs, or began last at `lastStart`.
        public init(isRunning: Bool, lastStart: Duration?, at now: Duration) {
            if isRunning {
                self = .running
            } else if let lastStart, now - lastStart < ProbeSchedule.leastGap {
                self = .tooSoon(lastStart + ProbeSchedule.leastGap - now)
            } else {
                self = .granted
            }
        }
    }

    /// The least time between two runs, whatever is wished or happens on the path.
    public static let leastGap = Duration.seconds(1)
    /// How much of the interval is left to chance, so that many machines do not ask in step.
    static let jitter = 0.1
    /// How long after a change of the path a probe waits at most: addresses and routes settle meanwhile.
    static let settling = Duration.milliseconds(500)
    /// How soon the first run comes at the latest.
    static let firstRun = Duration.seconds(3)

    /// How many runs other tests may cause at once; one more in each third of the interval.
    static let burst = 5

    private var interval: Duration
    private var retryInterval: Duration
    private var threshold: Int
    /// When the next run is due; `nil` while one is going on that must end first.
    public private(set) var deadline: Duration?
    /// How many runs are going on.
    private var running = 0
    public private(set) var consecutiveFailures = 0
    /// Whether `threshold` failures in a row were reported and no recovery since.
    public private(set) var isFailing = false
    /// Whether a captive portal answered last.
    public private(set) var isCaptive = false
    /// When the first of the present row of failures started, as time since boot; `nil` after a success.
    public private(set) var failingSince: Duration?
    /// When the first of the present row of successes ended, as time since boot; `nil` after a failure.
    public private(set) var answeringSince: Duration?
    private var lastStart: Duration?
    /// How many failed in a row since the path last changed.
    private var failuresOnPath = 0
    /// When the newest run started that succeeded.
    private var lastSuccess: Duration?
    /// Whether the path changed during a run, whose result may be that of the old one.
    private var mustRepeat = false
    /// When the runs that other tests caused are all allowed for again (a token bucket).
    private var bucketFull = Duration.zero
    /// When a captive portal began to answer, and when it answered last, as time since boot; `nil` without one.
    public private(set) var captiveSince: Duration?
    public private(set) var lastCaptive: Duration?

    public var isRunning: Bool { running > 0 }

    /// Plans the first run within the first seconds.
    /// - Parameters:
    ///   - interval: From run to run.
    ///   - retryInterval: From run to run while less than `threshold` failed in a row; then it doubles up to the interval.
    ///   - threshold: How many failures in a row are reported.
    ///   - now: Time since boot.
    ///   - chance: From 0 up to 1.
    public init(
        interval: Duration,
        retryInterval: Duration = .seconds(1),
        threshold: Int,
        at now: Duration,
        chance: Double
    ) {
        self.interval = interval
        self.retryInterval = min(retryInterval, interval)
        self.threshold = max(1, threshold)
        deadline = now + min(Self.firstRun, interval) * chance
    }

    /// Goes on with other settings, as after a reload: what is known stays, and no run goes on.
    public mutating func apply(interval: Duration, retryInterval: Duration, threshold: Int, at now: Duration) {
        let planned = deadline ?? now
        (self.interval, self.retryInterval) = (interval, min(retryInterval, interval))
        self.threshold = max(1, threshold)
        running = 0
        deadline = max(now, min(planned, (lastStart ?? now) + interval))
    }

    /// Forgets the runs in progress, whose results will not come, before and after a pause; the next run is due at once.
    public mutating func restart(at now: Duration) {
        running = 0
        deadline = max(now, (lastStart ?? now) + Self.leastGap)
    }

    /// Whether a run is due.
    ///
    /// One that is almost due runs with others, so that the machine wakes up once for all of them.
    public func isDue(at now: Duration) -> Bool {
        guard let deadline else { return false }
        let isRegular = !isRunning && failingSince == nil && lastStart != nil
        return deadline <= now + (isRegular ? interval * Self.jitter : .zero)
    }

    /// A run starts.
    /// - Parameters:
    ///   - now: Time since boot.
    ///   - isPrompt: Whether answers come long before the retry interval ends, so that a retry need not wait for this run
    ///     to time out.
    public mutating func start(at now: Duration, isPrompt: Bool = false) {
        lastStart = now
        running += 1
        mustRepeat = false
        // A little less, so that three attempts of two seconds are over within four.
        let pause = retryInterval - retryInterval * (Self.jitter / 2)
        deadline = isPrompt && consecutiveFailures + running < threshold ? now + pause : nil
    }

    /// Notes how a run ended and plans the next.
    /// - Parameters:
    ///   - result: What it found.
    ///   - started: When that run started; `nil` is the newest one.
    ///   - now: Time since boot.
    ///   - chance: From 0 up to 1.
    /// - Returns: What is to be reported.
    public mutating func finish(
        _ result: ProbeResult,
        started: Duration? = nil,
        at now: Duration,
        chance: Double
    ) -> [Transition] {
        let start = started ?? lastStart ?? now
        running = max(0, running - 1)
        let transitions: [Transition] =
            switch result.outcome {
            case .notAssessed: []
            case .success: succeed(start, at: now)
            case .failure(let reason, _): fail(reason, start)
            }
        // Beside runs that go on the next one is planned already, unless there is nothing to confirm any more.
        if result.reason == nil || deadline == nil && running == 0 { plan(at: now, chance: chance) }
        return transitions
    }

    private mutating func plan(at now: Duration, chance: Double) {
        let wait = mustRepeat ? Self.leastGap : max(Self.leastGap, pause * (1 - Self.jitter * chance))
        deadline = max(now, (lastStart ?? now) + wait)
        if running == 0 { mustRepeat = false }
    }

    /// From the start of a run to that of the next: short at first while it fails, so that a few seconds decide.
    private var pause: Duration {
        guard consecutiveFailures > 0 else { return interval }
        let more = max(0, failuresOnPath - threshold + 1)
        return min(interval, retryInterval * (1 << min(more, 20)))
    }

    private mutating func succeed(_ start: Duration, at now: Duration) -> [Transition] {
        var found: [Transition] = []
        if isCaptive { found.append(.portalCleared) }
        if isFailing { found.append(.recovered(after: now - (failingSince ?? now))) }
        (isCaptive, isFailing, consecutiveFailures, failingSince) = (false, false, 0, nil)
        (captiveSince, lastCaptive) = (nil, nil)
        failuresOnPath = 0
        lastSuccess = max(lastSuccess ?? start, start)
        answeringSince = answeringSince ?? now
        return found
    }

    private mutating func fail(_ reason: ProbeReason, _ start: Duration) -> [Transition] {
        if let lastSuccess, start < lastSuccess { return [] }
        consecutiveFailures += 1
        failuresOnPath += 1
        failingSince = failingSince ?? start
        answeringSince = nil
        var found: [Transition] = []
        // A portal that is no longer reached is not gone: only a right answer says so.
        if reason == .captivePortal {
            if !isCaptive { found.append(.portalDetected) }
            (isCaptive, captiveSince, lastCaptive) = (true, captiveSince ?? start, start)
        }
        if consecutiveFailures >= threshold && !isFailing {
            isFailing = true
            found.append(.failed)
        }
        return found
    }

    /// Brings the next run forward after a change of the path, but not closer to the last one than the least gap.
    public mutating func pathChanged(at now: Duration, chance: Double) {
        failuresOnPath = 0
        guard !isRunning else { return mustRepeat = true }
        bringForward(to: now + Self.settling * chance)
    }

    /// Brings the next run forward because another test failed for the first time; one that is going on is as good.
    public mutating func otherFailed(at now: Duration) {
        if !isRunning { otherAnswered(at: now) }
    }

    /// Brings the next run forward because another test answers again, which one that is going on cannot know.
    ///
    /// Where packets are lost all the time tests fail and answer again all the time, so the number of such runs is
    /// limited.
    public mutating func otherAnswered(at now: Duration) {
        let soon = max(now, lastStart.map { $0 + Self.leastGap } ?? now)
        if let deadline, deadline <= soon { return }
        let refill = interval / 3
        guard bucketFull + refill <= now + refill * Self.burst else { return }
        bucketFull = max(bucketFull, now) + refill
        bringForward(to: now)
    }

    private mutating func bringForward(to due: Duration) {
        let soon = max(due, lastStart.map { $0 + Self.leastGap } ?? due)
        deadline = min(deadline ?? soon, soon)
    }

    /// Requests a run at once.
    public mutating func runNow(at now: Duration) -> Wish {
        let wish = Wish(isRunning: isRunning, lastStart: lastStart, at: now)
        if wish == .granted { deadline = now }
        return wish
    }
}
