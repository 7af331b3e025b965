// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Probes

/// When the daemon examines the network next.
///
/// Pure: rounds and times in, the next time out. In order, once in an interval, or not at all; a finding that is not certain
/// yet is checked again soon; while something stays broken the pauses double up to ``longest``; after a change of the path,
/// when a probe fails or recovers, and when connections stall or are answered again, at once.
struct DiagnosisSchedule: Hashable {
    enum Finding: Hashable {
        /// Nothing is wrong, and nothing was.
        case sound
        /// Something began or ended, and is not certain yet.
        case unsettled
        /// Some of what was wrong was not seen any more.
        case recovering
        /// What was wrong still is.
        case broken
    }

    /// From the end of one round to the next while nothing is wrong, where nothing else is configured.
    static let interval = Duration.seconds(60)
    /// The same while a finding is not certain.
    static let confirmation = Duration.seconds(5)
    /// The same while a fault was seen no more, once.
    static let recovery = Duration.seconds(1)
    /// The longest pause while something is broken: an outage is not reported much longer than it lasts.
    static let longest = Duration.seconds(15)
    /// The same on a path that should be spared.
    static let longestFrugal = Duration.seconds(30)
    /// By how much everything is slower on a path that costs money or should be spared.
    static let frugality = 10
    /// The least time from the start of one round to that of the next.
    static let gap = Duration.seconds(1)
    /// The same where a destination is the reason: one that fails and answers alternately is no reason to examine all the time.
    static let destinationGap = Duration.seconds(10)
    /// How many rounds probes may request in a row, and when one more may follow (a token bucket).
    static let probeBurst = 3
    static let probeRefill = Duration.seconds(60)

    /// When the next round is due, as time since boot; `nil` while nothing fails and no interval is set.
    private(set) var next: Duration?
    private let interval: Duration?
    private var brokenRounds = 0
    private var lastStart: Duration?
    private var isRunning = false
    /// When the next round is due though the one that runs has not ended: it began before what happened.
    private var repetition: Duration?
    /// When the last round was due because a destination stalled.
    private var destinationDue: Duration?
    private var abandoned: Duration?
    /// When the round is due that probes requested and that has not begun; `nil` without one.
    private var probeDue: Duration?
    /// When all tokens of probes are there again.
    private var bucketFull = Duration.zero

    /// Plans the first round for now, or for when something fails.
    init(at now: Duration, interval: Duration? = Self.interval) {
        self.interval = interval
        next = interval == nil ? nil : now
    }

    /// Nothing is wrong, as is known otherwise: the round that is due is left out.
    mutating func postpone(at now: Duration) { next = interval.map { now + $0 } }

    mutating func begin(isRequested: Bool = false, at now: Duration) {
        lastStart = now
        isRunning = true
        // A round that is due otherwise, before there is a token, serves the request as well.
        if let probeDue, probeDue <= now { bucketFull = max(bucketFull, now) + Self.probeRefill }
        probeDue = nil
        // A round that was requested does not stand for one that is due because of a stall.
        repetition = isRequested ? next : nil
    }

    /// Gives up the round that runs, unless another one was given up just before: what stalls and is answered again and again
    /// would never be examined.
    /// - Returns: Whether it is given up.
    mutating func abandon(at now: Duration) -> Bool {
        if let abandoned, now - abandoned < Self.destinationGap { return false }
        (isRunning, lastStart, repetition, next) = (false, nil, nil, nil)
        abandoned = now
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
        var pause: Duration?
        switch finding {
        case .sound:
            brokenRounds = 0
            pause = interval.map { $0 - $0 * (chance / 10) }
        case .unsettled: pause = Self.confirmation
        case .recovering: pause = Self.recovery
        case .broken:
            pause = min(Self.longest, .seconds(1 << min(brokenRounds, 10)))
            brokenRounds += 1
        }
        if isFrugal { pause = pause.map { $0 * Self.frugality } }
        if finding == .broken { pause = pause.map { min($0, Self.longestFrugal) } }
        next = pause.map { now + $0 }
        if let repetition { next = min(next ?? repetition, max(now, repetition)) }
        isRunning = false
        repetition = nil
    }

    /// A path changed: what was found is old.
    mutating func pathChanged(at now: Duration) {
        brokenRounds = 0
        bringForward(to: now, gap: Self.gap)
    }

    /// A probe failed as often as its threshold, found a portal, or answers again: one round, however many probes say so.
    mutating func probeChanged(isFrugal: Bool, at now: Duration) {
        guard probeDue == nil else { return }
        let due = max(now, bucketFull - Self.probeRefill * (Self.probeBurst - 1))
        probeDue = due
        bringForward(to: due, gap: isFrugal ? Self.destinationGap * Self.frugality : Self.gap)
    }

    /// Connections are no longer answered (`isStall`), or are again; of one destination only when `isPath` is not set.
    mutating func trafficChanged(isPath: Bool, isStall: Bool, at now: Duration) {
        if isPath {
            brokenRounds = 0
            return bringForward(to: now, gap: Self.gap)
        }
        guard isStall else { return bringForward(to: now, gap: Self.destinationGap) }
        let last = destinationDue ?? now - Self.destinationGap
        let due = last > now ? last : max(now, last + Self.destinationGap)
        destinationDue = due
        bringForward(to: due, gap: Self.gap)
    }

    private mutating func bringForward(to now: Duration, gap: Duration) {
        let due = max(now, (lastStart ?? now - gap) + gap)
        if isRunning { repetition = min(repetition ?? due, due) }
        next = min(next ?? due, due)
    }
}
