// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import LinuxIO

/// Adds up marks of one calendar, none of which is earlier than the one before.
struct OutageLedger {
    typealias Outage = OutageHistory.Outage

    private struct Cause {
        let reason: String
        let message: String
    }

    /// What the marks so far say.
    private struct Condition {
        /// `nil` while nobody knows.
        var isSatisfied: Bool?
        /// Why the path is not satisfied.
        var pathCause: Cause?
        /// What was told last of the headline, where that is bad.
        var headlineCause: Cause?

        var isUp: Bool? { isSatisfied.map { $0 && headlineCause == nil } }
    }

    private struct OpenOutage {
        var start: WallTime
        var cause: Cause
        /// Whether it began before a time without records, which has a part of it.
        var isResumed = false
    }

    private let monitor: String
    private let since: WallTime
    private let until: WallTime?
    private let state: OutageHistory.State
    /// Whether what comes now is after the end.
    private var isOver = false
    private var last: WallTime
    private var condition = Condition()
    private var known: Duration = .zero
    private var satisfied: Duration = .zero
    private var outages: [Outage] = []
    private var unknown: [Range<WallTime>] = []
    private var openOutage: OpenOutage?
    private var steps: OutageSteps?

    init(monitor: String, since: WallTime, until: WallTime?, state: OutageHistory.State = .path, step: Duration? = nil)
    {
        self.monitor = monitor
        self.since = since
        self.until = until
        self.state = state
        steps = step.map { OutageSteps(since: since, length: $0) }
        last = since
    }

    mutating func take(_ mark: OutageMark) {
        guard !isOver else { return }
        if let until, mark.time > until {
            isOver = true
            return lookAhead(mark, until: until)
        }
        switch mark {
        case .status(let time, let monitor, let isSatisfied, let reason, let message):
            guard monitor == self.monitor else { return }
            advance(to: time)
            condition.isSatisfied = isSatisfied
            condition.pathCause = isSatisfied ? nil : Cause(reason: reason, message: message)
            settle()
        case .headline(let time, _, let isBad, let reason, let message):
            advance(to: time)
            condition.headlineCause = isBad ? Cause(reason: reason, message: message) : nil
            settle()
        case .stopped(let time):
            advance(to: time)
            forget(until: time)
        case .started(let time, let lastHeard, _):
            if let lastHeard { advance(to: lastHeard) }
            forget(until: time)
        case .unwatched(let duration, let time):
            advance(to: time - duration)
            let (before, open) = (condition, openOutage)
            forget(until: time)
            // What is so afterwards as it was before is told by nobody again.
            condition = before
            openOutage = open
            openOutage?.start = last
            openOutage?.isResumed = true
        case .opened(let time), .alive(let time), .stepped(_, let time): advance(to: time)
        }
    }

    /// Begins or ends an outage by what is known now.
    private mutating func settle() {
        guard let isUp = condition.isUp else { return }
        guard !isUp else { return close(at: last) }
        // The headline is more specific than the path, and its last state more than those before.
        if let cause = condition.headlineCause ?? (openOutage == nil ? condition.pathCause : nil) {
            let isResumed = openOutage?.isResumed ?? false
            openOutage = OpenOutage(start: openOutage?.start ?? last, cause: cause, isResumed: isResumed)
        }
    }

    /// Before a later start, or a later awakening, nobody knows anything either.
    private mutating func lookAhead(_ mark: OutageMark, until: WallTime) {
        let end: WallTime
        switch mark {
        case .started(_, let lastHeard?, _): end = lastHeard
        case .unwatched(let duration, let time): end = time - duration
        default: return
        }
        guard end < until else { return }
        advance(to: end)
        forget(until: until)
    }

    /// What happens between two daemons nobody knows.
    private mutating func forget(until time: WallTime) {
        close(at: last)
        condition = Condition()
        advance(to: time)
    }

    func document(at now: WallTime) -> OutageHistory.Document {
        var end = self
        end.advance(to: now)
        var outages = end.outages
        if let open = end.openOutage { outages.append(Self.outage(open, end: nil, now: now)) }
        return OutageHistory.Document(
            monitor: monitor,
            state: state,
            since: since.description,
            until: now.description,
            knownSeconds: Self.rounded(end.known),
            satisfiedSeconds: Self.rounded(end.satisfied),
            availabilityPercent: end.availabilityPercent,
            outages: outages,
            unknown: end.unknown.map { .init(start: $0.lowerBound.description, end: $0.upperBound.description) },
            stepSeconds: end.steps.map { Int($0.length.components.seconds) },
            steps: end.steps?.steps(until: now)
        )
    }

    /// `nil` when nothing is known, 100 only when nothing was down.
    private var availabilityPercent: Double? {
        guard known > .zero else { return nil }
        let percent = (satisfied.seconds / known.seconds * 100_000).rounded() / 1000
        return satisfied < known ? min(percent, 99.999) : percent
    }

    private mutating func advance(to time: WallTime) {
        guard time > last else { return }
        if let isUp = condition.isUp {
            let span = steps?.add(last..<time, isDown: !isUp) ?? (time - last)
            known += span
            if isUp { satisfied += span }
        } else if unknown.last?.upperBound == last {
            unknown[unknown.count - 1] = unknown[unknown.count - 1].lowerBound..<time
        } else {
            unknown.append(last..<time)
        }
        last = time
    }

    private mutating func close(at time: WallTime) {
        guard let open = openOutage else { return }
        openOutage = nil
        // An outage that ended before the time looked at does not count.
        guard time > since else { return }
        // One that is over when records begin again ended in the time without them.
        guard !open.isResumed || time - open.start >= .seconds(1) else { return }
        outages.append(Self.outage(open, end: time, now: time))
    }

    private static func outage(_ open: OpenOutage, end: WallTime?, now: WallTime) -> Outage {
        Outage(
            start: open.start.description,
            end: end?.description,
            durationSeconds: rounded((end ?? now) - open.start),
            reason: open.cause.reason,
            message: open.cause.message
        )
    }

    private static func rounded(_ duration: Duration) -> Double { (duration.seconds * 1000).rounded() / 1000 }
}

/// Adds up known and down time by steps of one length.
///
/// All moments are rounded to milliseconds before they are subtracted, so that steps add up to the whole exactly.
struct OutageSteps {
    let length: Duration
    private let since: WallTime
    private var sums: [(known: Int64, down: Int64)] = []

    init(since: WallTime, length: Duration) {
        self.since = since
        self.length = length
    }

    /// Adds a stretch, which does not begin before the first step.
    /// - Returns: How long it is in whole milliseconds.
    mutating func add(_ span: Range<WallTime>, isDown: Bool) -> Duration {
        let (first, size) = (Self.milliseconds(since), length.nanoseconds / 1_000_000)
        let (start, end) = (Self.milliseconds(span.lowerBound), Self.milliseconds(span.upperBound))
        var place = start
        while place < end {
            let index = Int((place - first) / size)
            let next = min(end, first + Int64(index + 1) * size)
            if index >= sums.count { sums += Array(repeating: (0, 0), count: index + 1 - sums.count) }
            sums[index].known += next - place
            if isDown { sums[index].down += next - place }
            place = next
        }
        return .milliseconds(end - start)
    }

    /// All steps up to `until`, those of which nothing is known too.
    func steps(until: WallTime) -> [OutageHistory.Step] {
        let (whole, rest) = (until - since).nanoseconds.quotientAndRemainder(dividingBy: length.nanoseconds)
        let count = max(sums.count, Int(whole) + (rest > 0 ? 1 : 0))
        return (0..<count).map { index in
            let sum = index < sums.count ? sums[index] : (known: 0, down: 0)
            return OutageHistory.Step(
                start: (since + length * index).description,
                knownSeconds: Double(sum.known) / 1000,
                downSeconds: Double(sum.down) / 1000
            )
        }
    }

    private static func milliseconds(_ time: WallTime) -> Int64 { (time.nanoseconds + 500_000) / 1_000_000 }
}
