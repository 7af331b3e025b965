// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import DNSWire

/// When each question is sent on one interface by one family (rules Q2 to Q5, Q8, Q14).
///
/// A series starts after 20 to 120 ms and repeats after 1 s (or 1.12 s), then after twice as long each time, up to an
/// hour. Questions that may go when a packet leaves go with it, in the order in which they were added: what one answer
/// triggered stays together, so that its sender can answer in one packet. For the same reason packets are some time
/// apart. Records that run out are queried beside the series of their question (rule Q6).
struct QuestionSchedule: Sendable {
    private struct Series: Sendable {
        /// The question may join a packet from here on, and makes one at `due`.
        var earliest: Duration
        var due: Duration
        var gap: Duration
        var remaining: Int
        /// Counts the series.
        let order: Int
        /// Whether a record triggered it, and not a client.
        var isResponseTriggered = false
        /// Whether it is sent besides another one; see ``supplement(_:at:)``.
        var isSupplement = false

        /// What is left after a transmission.
        func next(at now: Duration) -> Series? {
            guard remaining > 1 else { return nil }
            return Series(
                earliest: now + gap,
                due: now + gap,
                gap: min(gap * 2, QuestionSchedule.longestGap),
                remaining: remaining == .max ? .max : remaining - 1,
                order: order,
                isResponseTriggered: isResponseTriggered
            )
        }
    }

    static let firstDelay = 20...120
    /// For what each answer of many hosts brings a part of: one packet, and one answer of each host, instead of several.
    static let gatheringDelay = 50...120
    static let firstGap = Duration.seconds(1)
    /// For records that only one host has.
    ///
    /// It may have answered up to 120 ms after the question, and then has to keep silent for a second (RFC 6762
    /// section 6). A list of what many hosts have is queried anew as soon as possible: with the known answers of a
    /// long one hosts wait for 400 to 500 ms anyway (section 7.2), and so the third round still ends before 4 s.
    static let firstGapOfUnique = Duration.milliseconds(1120)
    static let longestGap = Duration.seconds(3600)
    /// The least time between a query and one for records that expire: of 10 s four fit into the last two.
    static let renewalGap = Duration.milliseconds(250)
    /// By how much the answers to a truncated query are apart (RFC 6762 section 7.2).
    static let spread = Duration.milliseconds(100)
    /// How many questions at most have a packet of their own at a time.
    static let maximumAlone = 4
    /// How long questions are collected after a packet.
    static let batch = Duration.milliseconds(50)

    /// Questions per second, whatever arrives; a second's worth may go at once.
    let rate: Int
    private var series: [Question: Series] = [:]
    /// Queries outside the series, whose next one may be an hour away.
    private var renewals: [Question: Series] = [:]
    private var lastSent: [Question: Duration] = [:]
    private var tokens: Double
    /// What may leave that others made us say.
    var responseTriggered = ResponseTriggeredLimit()
    private var refilled: Duration?
    private var heldUntil: Duration?
    private var lastPacket: Duration?
    private var lastOrder = 0

    init(rate: Int) {
        self.rate = max(rate, 1)
        tokens = Double(max(rate, 1))
    }

    var count: Int { series.count + renewals.count }

    /// When ``due(at:)`` is to be called next; it may be early, never late.
    private(set) var nextDeadline: Duration?

    /// Whether `question` will be sent again.
    func isPending(_ question: Question) -> Bool { series[question] != nil || renewals[question] != nil }

    /// Sends `question` a number of times, or without end with `Int.max`.
    ///
    /// A series that runs already goes on, with more repetitions if need be. Two transmissions are at least 1 s apart.
    /// A response-triggered question goes as far as others pay for it (``ResponseTriggeredLimit``).
    mutating func query(
        _ question: Question,
        times: Int,
        within delay: ClosedRange<Int> = firstDelay,
        isResponseTriggered: Bool = false,
        at now: Duration,
        random: inout RandomSource
    ) {
        guard times > 0 else { return }
        if let running = series[question] {
            series[question]?.remaining = max(running.remaining, times)
            series[question]?.isResponseTriggered = running.isResponseTriggered && isResponseTriggered
            return
        }
        let gap = Self.firstGap(of: question)
        let start = max(now, lastSent[question].map { $0 + gap } ?? now)
        let due = start + random.duration(in: delay)
        lastOrder += 1
        series[question] = Series(
            earliest: start + .milliseconds(Self.firstDelay.lowerBound),
            due: due,
            gap: gap,
            remaining: times,
            order: lastOrder,
            isResponseTriggered: isResponseTriggered
        )
        nextDeadline = min(nextDeadline ?? due, due)
    }

    private static func firstGap(of question: Question) -> Duration {
        question.type == .ptr ? firstGap : firstGapOfUnique
    }

    /// Queries now records that expire or are disputed, whatever series of the same question goes on.
    ///
    /// Whichever of the two is sent counts for the other one, if that was due within a second.
    mutating func renew(_ question: Question, times: Int = 1, at now: Duration, random: inout RandomSource) {
        let start = max(now, lastSent[question].map { $0 + Self.renewalGap } ?? now)
        let earliest = start + .milliseconds(Self.firstDelay.lowerBound)
        let due = start + random.duration(in: Self.firstDelay)
        if let running = renewals[question] {
            renewals[question]?.earliest = min(running.earliest, earliest)
            renewals[question]?.due = min(running.due, due)
            renewals[question]?.remaining = max(running.remaining, times)
        } else {
            lastOrder += 1
            let gap = Self.firstGap(of: question)
            renewals[question] = Series(earliest: earliest, due: due, gap: gap, remaining: times, order: lastOrder)
        }
        nextDeadline = min(nextDeadline ?? due, due)
    }

    /// A repetition brought what the first transmission should have: packets get lost here.
    ///
    /// The next repetition would come after two seconds (RFC 6762 section 5.2). Halfway there one question for records of
    /// any type of the name goes out, once a series, which was not sent yet. Each comes 100 ms later than it
    /// could: whose answer got lost waits for up to that much longer, and must keep silent for a second after it.
    mutating func supplement(_ question: Question, at now: Duration) {
        guard question.type != .any, let running = series[question], running.gap == Self.firstGap * 4 else { return }
        let other = Question(question.name, .any)
        let due = running.due - Self.firstGap + Self.spread
        guard due > now, series[other] == nil, lastSent[other] == nil else { return }
        series[question]?.earliest += Self.spread * 2
        series[question]?.due += Self.spread * 2
        lastOrder += 1
        series[other] = Series(
            earliest: due,
            due: due,
            gap: running.gap,
            remaining: 1,
            order: lastOrder,
            isSupplement: true
        )
        nextDeadline = min(nextDeadline ?? due, due)
    }

    /// Begins every series anew that would send nothing within a second: the link, or who is on it, is another one now.
    mutating func restart(at now: Duration, random: inout RandomSource) {
        for (question, running) in series where running.due > now + Self.firstGap {
            series[question] = nil
            query(question, times: running.remaining, at: now, random: &random)
        }
    }

    /// Ends a question, because it was answered or nobody wants it any more.
    mutating func cancel(_ question: Question) {
        renewals[question] = nil
        endSeries(question)
    }

    /// Ends a series alone: records that run out are still queried.
    mutating func endSeries(_ question: Question) {
        guard let ended = series.removeValue(forKey: question), ended.gap == Self.firstGap * 4 else { return }
        let other = Question(question.name, .any)
        if series[other]?.isSupplement == true { series[other] = nil }
    }

    /// Ends a series after so many more transmissions.
    mutating func limit(_ question: Question, to times: Int) {
        if let running = series[question] { series[question]?.remaining = min(running.remaining, times) }
    }

    /// Duplicate question suppression (RFC 6762 section 7.3): ours counts as sent, if it was due within 1 s.
    mutating func observe(_ question: Question, at now: Duration) {
        let planned = [series[question], renewals[question]].compactMap { $0?.due }.min()
        guard let planned, planned <= now + Self.firstGap else { return }
        markSent(question, at: now)
    }

    /// Removes and returns the questions of the packet that is due, if one is; each further group has its own packet.
    mutating func due(at now: Duration) -> [[Question]] {
        guard let deadline = nextDeadline, deadline <= now else { return [] }
        defer {
            let next = earliest(series.values.lazy.map(\.due).min(), renewals.values.lazy.map(\.due).min())
            nextDeadline = next.map { max($0, heldUntil ?? $0) }
        }
        refill(at: now)
        let isDue = series.values.contains { $0.due <= now } || renewals.values.contains { $0.due <= now }
        guard isDue else { return [] }
        if let lastPacket, now < lastPacket + Self.batch {
            heldUntil = lastPacket + Self.batch
            return []
        }
        var questions: [Question] = []
        var alone: [[Question]] = []
        for (question, planned) in ready(at: now) {
            guard tokens >= 1 else {
                heldUntil = now + .milliseconds(100)
                break
            }
            guard !planned.isResponseTriggered || responseTriggered.spend(ResponseTriggeredLimit.size(of: question))
            else {
                // What is not paid for counts as sent, so that the rest of the series goes on.
                lastSent[question] = now
                series[question] = planned.next(at: now)
                continue
            }
            markSent(question, at: now)
            tokens -= 1
            if isSentAlone(question, planned), alone.count < Self.maximumAlone,
                !planned.isResponseTriggered || responseTriggered.spend(ResponseTriggeredLimit.surcharge(of: question))
            {
                alone.append([question])
            } else {
                questions.append(question)
            }
        }
        let groups = (questions.isEmpty ? [] : [questions]) + alone
        if !groups.isEmpty { lastPacket = now }
        if lastSent.count > 64 { lastSent = lastSent.filter { now - $0.value < Self.firstGapOfUnique } }
        return groups
    }

    /// The second query for what one host has, or of the list of types: some devices read packets of one question only.
    private func isSentAlone(_ question: Question, _ planned: Series) -> Bool {
        planned.gap == Self.firstGap(of: question) * 2
            && (question.type != .ptr || question.name == ServiceName.enumeration)
    }

    /// What may join a packet, each question once.
    ///
    /// First transmissions go before retransmissions, which unresolvable announcements multiply.
    private func ready(at now: Duration) -> [(question: Question, planned: Series)] {
        let urgent = renewals.filter { $0.value.earliest <= now }
        var ready: [(question: Question, planned: Series)] = urgent.map { ($0.key, $0.value) }
        for (question, planned) in series where planned.earliest <= now && urgent[question] == nil {
            ready.append((question, planned))
        }
        ready.sort { ($0.planned.gap, $0.planned.order) < ($1.planned.gap, $1.planned.order) }
        return ready
    }

    /// Goes on with whatever would have been sent within a second.
    private mutating func markSent(_ question: Question, at now: Duration) {
        lastSent[question] = now
        if let planned = series[question], planned.due <= now + Self.firstGap {
            series[question] = planned.next(at: now)
        }
        if let planned = renewals[question], planned.due <= now + Self.firstGap {
            renewals[question] = planned.next(at: now)
        }
    }

    private mutating func refill(at now: Duration) {
        heldUntil = nil
        responseTriggered.advance(to: now)
        if let refilled {
            tokens = min(tokens + Double(rate) * max(0, (now - refilled) / .seconds(1)), Double(rate))
        }
        refilled = now
    }
}
