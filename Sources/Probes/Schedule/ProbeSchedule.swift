// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// When a probe runs, and when its failures are told: one machine for each probe.
///
/// Time since boot and chance are arguments. A run is due at ``deadline``; whoever starts it calls ``start(at:)`` and,
/// once it is over, ``finish(_:at:chance:)``.
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

    private let interval: Duration
    private let threshold: Int
    /// When the next run is due; `nil` while one is going on.
    public private(set) var deadline: Duration?
    public private(set) var consecutiveFailures = 0
    /// Whether the failure was told and no recovery since.
    public private(set) var isFailing = false
    /// Whether a captive portal answered last.
    public private(set) var isCaptive = false
    private var failingSince: Duration?
    private var lastStart: Duration?
    /// Whether the path changed during a run, whose result may be that of the old one.
    private var mustRepeat = false

    /// Plans the first run within the first seconds.
    /// - Parameters:
    ///   - interval: From run to run.
    ///   - threshold: How many failures in a row are told.
    ///   - now: Time since boot.
    ///   - chance: From 0 up to 1.
    public init(interval: Duration, threshold: Int, at now: Duration, chance: Double) {
        self.interval = interval
        self.threshold = max(1, threshold)
        deadline = now + min(Self.firstRun, interval) * chance
    }

    public mutating func start(at now: Duration) {
        lastStart = now
        deadline = nil
        mustRepeat = false
    }

    /// Notes how a run ended and plans the next.
    /// - Returns: What is to be told.
    public mutating func finish(_ result: ProbeResult, at now: Duration, chance: Double) -> [Transition] {
        let start = lastStart ?? now
        let wait = mustRepeat ? Self.leastGap : max(Self.leastGap, interval * (1 - Self.jitter * chance))
        deadline = max(now, start + wait)
        mustRepeat = false
        switch result.outcome {
        case .notAssessed: return []
        case .success: return succeed(at: now)
        case .failure(let reason, _): return fail(reason, at: start)
        }
    }

    private mutating func succeed(at now: Duration) -> [Transition] {
        var told: [Transition] = []
        if isCaptive { told.append(.portalCleared) }
        if isFailing { told.append(.recovered(after: now - (failingSince ?? now))) }
        (isCaptive, isFailing, consecutiveFailures, failingSince) = (false, false, 0, nil)
        return told
    }

    private mutating func fail(_ reason: ProbeReason, at start: Duration) -> [Transition] {
        consecutiveFailures += 1
        failingSince = failingSince ?? start
        var told: [Transition] = []
        // A portal that is no longer reached is not gone: only a right answer says so.
        if reason == .captivePortal && !isCaptive {
            isCaptive = true
            told.append(.portalDetected)
        }
        if consecutiveFailures >= threshold && !isFailing {
            isFailing = true
            told.append(.failed)
        }
        return told
    }

    /// Brings the next run forward after a change of the path, but not closer to the last one than the least gap.
    public mutating func pathChanged(at now: Duration, chance: Double) {
        guard let deadline else { return mustRepeat = true }
        let soon = max(now + Self.settling * chance, (lastStart.map { $0 + Self.leastGap }) ?? now)
        self.deadline = min(deadline, soon)
    }

    /// Asks for a run at once.
    public mutating func runNow(at now: Duration) -> Wish {
        let wish = Wish(isRunning: deadline == nil, lastStart: lastStart, at: now)
        if wish == .granted { deadline = now }
        return wish
    }
}
