// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Diagnosis
internal import Probes

/// When the daemon examines the network next.
///
/// Pure: rounds and times in, the next time out. In order, once in ``fullInterval``, or not at all; a finding that is not
/// certain yet is checked again soon; while something stays wrong the pauses double up to ``longest``; what happens on the path,
/// to probes and to connections begins a round at once, or repeats the one that runs.
struct DiagnosisSchedule: Hashable {
    enum Finding: Hashable {
        /// Nothing is wrong, and nothing was.
        case sound
        /// Something began or ended, and is not certain yet.
        case unsettled
        /// Some of what was wrong was not seen any more.
        case recovering
        /// What was wrong still is, at worst so much.
        case wrong(Severity)
    }

    /// What is due.
    enum Step: Hashable {
        /// A few packets that show that hosts still answer, or none where connections or probes show it.
        case confirmation
        /// A round by the interval.
        case routine
        /// A round because of what was found or happened.
        case round
    }

    /// From one confirmation to the next while nothing is wrong, where nothing else is configured.
    static let interval = Duration.seconds(60)
    /// From the end of one round to the next while nothing is wrong.
    static let fullInterval = Duration.seconds(2700)
    /// The same while a finding is not certain.
    static let confirmation = Duration.seconds(5)
    /// The longest pause while something is wrong: with two good rounds after it a fault is over 20 s after its end.
    static let longest = Duration.seconds(5)
    /// The same after a warning, of which rounds would cost more than it does; it is over 20 s after its end as well.
    static let longestWarning = Duration.seconds(12)
    /// The same on a path that should be spared, where nothing is broken.
    static let longestFrugal = Duration.seconds(30)
    /// By how much everything is slower while nothing is wrong on a path that costs money or should be spared.
    static let frugality = 10
    /// The least time from the start of one round to that of the next.
    static let gap = Duration.seconds(1)
    /// The least time between two rounds that are given up: what changes all the time would never be examined.
    static let abandonGap = Duration.seconds(10)
    /// How many rounds one probe or destination after another begins in a row, and when one more may follow (a token bucket).
    static let burst = 3
    static let refill = Duration.seconds(10)
    /// The same on a path that should be spared.
    static let refillFrugal = Duration.seconds(60)

    private let interval: Duration?
    /// When the next step is due by itself; `nil` while nothing fails and no interval is set.
    private var planned: Duration?
    /// When a round is due because of what happened since the last one began.
    private var requested: Duration?
    /// When a full round is due although nothing is wrong; `nil` while something is, or was before the last round.
    private var full: Duration?
    private var wrongRounds = 0
    private var lastStart: Duration?
    private var abandoned: Duration?
    /// Whether one was given up since the last one that ended.
    private var hasAbandoned = false
    /// When a round that a probe or a destination requested is due and has not begun; `nil` without one.
    private var partDue: Duration?
    /// When all tokens are there again.
    private var bucketFull = Duration.zero
    /// When something last happened, as time since boot: answers of before are old.
    private(set) var lastEvent = Duration.zero

    /// Plans the first round for now, or for when something fails.
    init(at now: Duration, interval: Duration? = Self.interval) {
        self.interval = interval
        planned = interval == nil ? nil : now
    }

    /// When the next step is due, as time since boot; `nil` while nothing fails and no interval is set.
    var next: Duration? { [planned, requested].compactMap(\.self).min() }

    /// What is to be done at a time when something is due.
    func step(at now: Duration) -> Step {
        if let requested, requested <= now { return .round }
        return full.map { now < $0 ? .confirmation : .routine } ?? .round
    }

    /// Nothing is wrong, as a confirmation showed.
    mutating func confirm(isFrugal: Bool, at now: Duration) {
        planned = pause(isFrugal: isFrugal, chance: 0).map { now + $0 }
    }

    /// A confirmation got no answer: a round is due.
    mutating func reject(at now: Duration) { bringForward(to: now) }

    /// A round begins; one that a client requested (`isOther`) does not stand for one that is due.
    mutating func begin(isOther: Bool = false, at now: Duration) {
        lastStart = now
        guard !isOther else { return }
        (planned, requested, partDue) = (nil, nil, nil)
    }

    /// Gives up the round that runs, whose results are from before what happened, unless another was given up just before.
    /// - Returns: Whether it is given up.
    mutating func abandon(at now: Duration) -> Bool {
        if let abandoned, now - abandoned < Self.abandonGap || hasAbandoned { return false }
        (lastStart, abandoned, hasAbandoned) = (nil, now, true)
        planned = now + Self.gap
        return true
    }

    /// The outcome of a request to examine at once.
    func runNow(isRunning: Bool, at now: Duration) -> ProbeSchedule.Wish {
        ProbeSchedule.Wish(isRunning: isRunning, lastStart: lastStart, at: now)
    }

    /// How long what a round found counts: until the next but one, which comes after `pause` each, would have ended.
    static func validity(pause: Duration) -> Duration { pause * 2 + .seconds(30) }

    /// A round ended; `chance` from 0 to 1 keeps machines from sending in step.
    mutating func end(_ finding: Finding, isFrugal: Bool, at now: Duration, chance: Double) {
        full = nil
        hasAbandoned = false
        switch finding {
        case .sound:
            wrongRounds = 0
            planned = pause(isFrugal: isFrugal, chance: chance).map { now + $0 }
            full = interval.map { now + max(Self.fullInterval, $0) }
        case .unsettled: planned = now + Self.confirmation
        // Not before the gap after its start.
        case .recovering: planned = max(now, (lastStart ?? now) + Self.gap)
        case .wrong(let severity):
            let usual = severity >= .degraded ? Self.longest : Self.longestWarning
            let longest = isFrugal && severity != .broken ? Self.longestFrugal : usual
            planned = now + min(longest, .seconds(1 << min(wrongRounds, 10)))
            wrongRounds += 1
        }
    }

    private func pause(isFrugal: Bool, chance: Double) -> Duration? {
        interval.map { ($0 - $0 * (chance / 10)) * (isFrugal ? Self.frugality : 1) }
    }

    /// A path changed, or all connections of one are no longer answered or are again: what was found is old.
    mutating func pathChanged(at now: Duration) {
        wrongRounds = 0
        lastEvent = now
        bringForward(to: now)
    }

    /// A probe or connections to one destination fail, or are answered again: one round, however many say so.
    mutating func partChanged(isFrugal: Bool, at now: Duration) {
        lastEvent = now
        guard partDue == nil else { return }
        let refill = isFrugal ? Self.refillFrugal : Self.refill
        let due = max(now, bucketFull - refill * (Self.burst - 1))
        bucketFull = min(max(bucketFull, now) + refill, now + refill * (Self.burst + 1))
        partDue = due
        bringForward(to: due)
    }

    private mutating func bringForward(to now: Duration) {
        let due = max(now, (lastStart ?? now - Self.gap) + Self.gap)
        requested = min(requested ?? due, due)
    }
}
