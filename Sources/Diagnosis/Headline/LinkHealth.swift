// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import PathModel

/// What was read of one link at one time.
public struct LinkSample: Hashable, Sendable {
    public var name: String
    /// Whether it is a network card with a cable: other links use the counters of damaged frames for other things.
    public var isCable: Bool
    /// Whether packets of the default path pass it now.
    public var isUsed: Bool
    public var hasCarrier: Bool
    /// What both ends of the cable negotiated; `nil` when unknown.
    public var wired: WiredFacts?
    /// `nil` where they could not be read.
    public var counters: LinkCounters?
    /// `nil` for links that are no Wi-Fi client, or are not associated.
    public var radio: RadioCounters?

    public init(
        _ name: String,
        isCable: Bool = false,
        isUsed: Bool = true,
        hasCarrier: Bool = true,
        wired: WiredFacts? = nil,
        counters: LinkCounters? = nil,
        radio: RadioCounters? = nil
    ) {
        self.name = name
        self.isCable = isCable
        self.isUsed = isUsed
        self.hasCarrier = hasCarrier
        self.wired = wired
        self.counters = counters
        self.radio = radio
    }
}

/// Finds out from counters that are read once a minute which links damage, drop or hardly receive packets.
///
/// Pure: readings and times in, verdicts out. A fault begins when two readings of ten minutes show it, with enough packets.
/// It ends when, ten minutes after it was last shown, as many packets as would have had twenty bad ones have less than a
/// tenth of the share that begins it. Neither a pause nor a reading that failed ends it; ten minutes without a carrier do.
/// What is said of a fault that lasts, and a lower severity, is renewed every ten minutes at most.
public struct LinkHealth: Hashable, Sendable {
    /// What counts for a fault.
    static let window = Duration.seconds(600)
    /// What sentences sum up.
    static let memory = Duration.seconds(3600)

    private var records: [Int: LinkRecord] = [:]

    public init() {}

    /// What was read last of each link, by index; counters and speed that could not be read are of the reading before.
    public var samples: [Int: LinkSample] { records.mapValues(\.latest) }

    /// The faults that stand, in the order of the indexes of their links.
    public var verdicts: [Verdict] {
        records.sorted { $0.key < $1.key }.flatMap { $0.value.verdicts }
    }

    /// Applies a reading of all links, by index; those that are missing are gone.
    public mutating func apply(_ samples: [Int: LinkSample], at now: Duration) {
        records = records.filter { samples[$0.key] != nil }
        for (index, sample) in samples {
            guard records[index]?.latest.isCable == sample.isCable else {
                records[index] = LinkRecord(sample, at: now)
                continue
            }
            records[index]?.apply(sample, at: now)
        }
    }
}

/// What is remembered of one link.
private struct LinkRecord: Hashable {
    private(set) var latest: LinkSample
    /// When the latest counters were read.
    private var read: Duration
    private var intervals: [LinkInterval] = []
    private var standing: [VerdictCode: StandingFault] = [:]
    private var withoutCarrier: Duration?
    /// How many readings in a row showed less speed than both ends offer.
    private var slowReadings = 0
    private var signals: [TimedSignal] = []

    init(_ sample: LinkSample, at now: Duration) {
        (latest, read) = (sample, now)
        countSlowReadings()
    }

    mutating func apply(_ sample: LinkSample, at now: Duration) {
        let earlier = latest
        latest = sample
        latest.wired = sample.wired ?? earlier.wired
        withoutCarrier = sample.hasCarrier ? nil : withoutCarrier ?? now
        if let since = withoutCarrier, now - since >= LinkHealth.window {
            (standing, intervals, slowReadings) = ([:], [], 0)
        }
        countSlowReadings()
        if let radio = sample.radio, let growth = earlier.radio.flatMap({ radio.growth(since: $0) }) {
            updateSignal(growth, at: now)
        }
        latest.counters = sample.counters ?? earlier.counters
        if sample.name != earlier.name { rename() }
        guard sample.counters != nil else { return }
        latest.counters?.mac = sample.counters?.mac ?? earlier.counters?.mac
        if let old = earlier.counters, latest.counters?.hasSameQueue(as: old) == false { forgetQueue() }
        if let growth = earlier.counters.flatMap({ latest.counters?.growth(since: $0) }) {
            intervals.append(LinkInterval(growth, of: latest, from: read, to: now))
            intervals.removeAll { now - $0.start > LinkHealth.memory }
            for rule in CounterRule.all { update(rule, at: now) }
        }
        read = now
    }

    /// What a queue dropped that is gone says nothing about the one in its stead.
    private mutating func forgetQueue() {
        standing[.linkQueueDrops] = nil
        for index in intervals.indices { intervals[index].counts[.linkQueueDrops] = nil }
    }

    /// Writes the verdicts again, with the new name.
    private mutating func rename() {
        standing[.linkWeakSignal] = nil
        for rule in CounterRule.all {
            let figures = LinkFigures(latest, intervals, of: rule.code, share: 0)
            standing[rule.code]?.rename(rule.verdict(figures))
        }
    }

    private mutating func update(_ rule: CounterRule, at now: Duration) {
        guard rule.applies(latest) else { return standing[rule.code] = nil }
        guard let count = intervals.last?.counts[rule.code] else { return }
        let recent = intervals.drop { now - $0.start > LinkHealth.window }.compactMap { $0.counts[rule.code] }
        let sum = recent.reduce(PacketCount(), +)
        if count.bad > 0, sum.bad >= rule.fewest, sum.share >= rule.share, recent.count(where: { $0.bad > 0 }) >= 2 {
            let verdict = rule.verdict(LinkFigures(latest, intervals, of: rule.code, share: sum.share))
            standing[rule.code, default: StandingFault(verdict, at: now)].show(verdict, sum, at: now)
        } else if standing[rule.code]?.isOver(after: count, share: rule.share, at: now) == true {
            standing[rule.code] = nil
        }
    }

    private mutating func countSlowReadings() {
        guard latest.isCable, latest.hasCarrier, let wired = latest.wired else { return }
        slowReadings = wired.offered.map { $0 > wired.megabits } ?? false ? slowReadings + 1 : 0
    }

    /// A weak signal alone is no fault: packets must get lost by it, in two of three readings.
    private mutating func updateSignal(_ growth: RadioCounters, at now: Duration) {
        let reading = SignalReading(growth)
        signals = signals.suffix(4) + [TimedSignal(reading: reading, time: now)]
        let recent = signals.filter { now - $0.time < LinkHealth.window }.map(\.reading)
        if reading == .bad, recent.suffix(3).count(where: { $0 == .bad }) >= 2 {
            let verdict = Verdict.weakSignal(latest.name, growth)
            standing[.linkWeakSignal, default: StandingFault(verdict, at: now)].show(verdict, PacketCount(), at: now)
        } else if let fault = standing[.linkWeakSignal] {
            let isGood = recent.count == 5 && recent.allSatisfy { $0 == .good }
            if isGood || now - fault.shown >= LinkHealth.memory { standing[.linkWeakSignal] = nil }
        }
    }

    var verdicts: [Verdict] {
        var verdicts = VerdictCode.allCases.compactMap { standing[$0]?.verdict }
        if slowReadings >= 2, let wired = latest.wired, let offered = wired.offered {
            verdicts.append(.slowLink(latest.name, wired.megabits, offered: offered))
        }
        // What nothing passes does not make the connection worse.
        if !latest.isUsed {
            verdicts.indices.forEach { verdicts[$0].severity = min(verdicts[$0].severity, .warning) }
        }
        return verdicts
    }
}

/// What was counted from one reading to the next.
struct LinkInterval: Hashable {
    let start: Duration
    let end: Duration
    let counters: LinkCounters
    /// What it says of each fault, by the duplex and the queue of that time.
    var counts: [VerdictCode: PacketCount]

    init(_ growth: LinkCounters, of sample: LinkSample, from start: Duration, to end: Duration) {
        (self.start, self.end, counters) = (start, end, growth)
        let counts = CounterRule.all.compactMap { rule in rule.count(growth, sample).map { (rule.code, $0) } }
        self.counts = Dictionary(counts) { first, _ in first }
    }
}

/// How many packets were bad, of how many.
struct PacketCount: Hashable {
    var bad: UInt64 = 0
    var total: UInt64 = 0

    var share: Double { Double(bad) / Double(max(total, 1)) }

    static func + (left: PacketCount, right: PacketCount) -> PacketCount {
        PacketCount(bad: left.bad &+ right.bad, total: left.total &+ right.total)
    }
}

/// A fault that began, with what was said of it last.
private struct StandingFault: Hashable {
    private(set) var verdict: Verdict
    /// When the verdict was written.
    private var written: Duration
    /// When it was last shown.
    private(set) var shown: Duration
    private var share = 0.0
    /// What was counted since then.
    private var later = PacketCount()

    init(_ verdict: Verdict, at now: Duration) { (self.verdict, written, shown) = (verdict, now, now) }

    mutating func show(_ new: Verdict, _ count: PacketCount, at now: Duration) {
        (shown, share, later) = (now, count.share, PacketCount())
        guard new.severity > verdict.severity || now - written >= LinkHealth.window else { return }
        (verdict, written) = (new, now)
    }

    /// Applies new words; the severity is that of what was shown.
    mutating func rename(_ new: Verdict) {
        let severity = verdict.severity
        verdict = new
        verdict.severity = severity
    }

    /// Adds what was counted without showing the fault.
    mutating func isOver(after count: PacketCount, share limit: Double, at now: Duration) -> Bool {
        later = later + count
        guard Double(later.total) * share >= 20, now - shown >= LinkHealth.window else { return false }
        guard later.share >= limit / 10 else { return true }
        later = PacketCount()
        verdict.severity = min(verdict.severity, .warning)
        return false
    }
}

private struct TimedSignal: Hashable {
    let reading: SignalReading
    let time: Duration
}

/// What a reading of a Wi-Fi client shows.
private enum SignalReading: Hashable {
    case good
    case bad
    case unknown

    init(_ growth: RadioCounters) {
        guard let signal = growth.signal, (-100 ... -1).contains(signal) else {
            self = .unknown
            return
        }
        // A few dB are a movement of the hand.
        let isStrong = signal > RadioCounters.weakSignal + 4
        switch growth.loss {
        case .nothing?: self = .good
        case .retries? where signal <= RadioCounters.weakSignal: self = .bad
        case .packets? where signal <= RadioCounters.weakSignal: self = .bad
        default: self = isStrong ? .good : .unknown
        }
    }
}

extension RadioCounters {
    /// In dBm.
    fileprivate static let weakSignal = -75

    /// What gets lost between the station and its access point.
    enum Loss {
        case nothing
        /// Time, for packets that are sent again.
        case retries
        case packets
    }

    /// What the counters show to get lost; `nil` when too few packets were sent to say.
    var loss: Loss? {
        if let beaconLosses, beaconLosses > 0 { return .packets }
        guard let sent, sent >= 50 else { return nil }
        if let failures, Double(failures) >= 0.02 * Double(sent) { return .packets }
        return retries.map { Double($0) >= 0.5 * Double(sent) ? .retries : .nothing }
    }
}
