// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import PathModel

/// One fault that counters show: what is bad, of how many, and how much of it is a fault.
struct CounterRule: Sendable {
    let code: VerdictCode
    /// Fewer in ten minutes are accidents.
    let fewest: UInt64
    /// The share of packets that begins the fault.
    let share: Double
    /// Whether there can be such a fault at all.
    let applies: @Sendable (LinkSample) -> Bool
    /// What the growth of the counters says; `nil` when nothing.
    let growth: @Sendable (LinkCounters, LinkSample) -> PacketCount?
    let verdict: @Sendable (LinkFigures) -> Verdict

    func count(_ growth: LinkCounters, _ sample: LinkSample) -> PacketCount? {
        applies(sample) ? self.growth(growth, sample) : nil
    }

    static let all = [errors, overruns, duplex, queueDrops]

    /// Damaged frames; copper and fibre are specified for less than one of millions.
    private static let errors = CounterRule(code: .linkErrors, fewest: 20, share: 1e-5) { sample in
        sample.isCable && !sample.mayBeDuplex
    } growth: { counters, _ in
        PacketCount(bad: counters.damaged, total: counters.received &+ counters.damaged)
    } verdict: { figures in
        Verdict(
            .linkErrors,
            figures.share >= 0.01 ? .degraded : .warning,
            .likely,
            about: figures.name,
            say: "\(figures.name) received \(figures.counts) frames with errors \(figures.span) "
                + "(\(figures.crcErrors) CRC, \(figures.frameErrors) alignment)",
            action: "replace the cable, then try another port of the switch",
            evidence: figures.facts([
                .init("crc_errors", figures.crcErrors), .init("frame_errors", figures.frameErrors),
            ])
        )
    }

    /// Frames that arrived and found no room in the card.
    private static let overruns = CounterRule(code: .linkOverruns, fewest: 100, share: 1e-3) { sample in
        sample.isCable
    } growth: { counters, _ in
        PacketCount(bad: counters.overruns, total: counters.received &+ counters.overruns)
    } verdict: { figures in
        Verdict(
            .linkOverruns,
            figures.share >= 0.01 ? .degraded : .warning,
            .likely,
            about: figures.name,
            say: "\(figures.name) dropped \(figures.counts) received frames \(figures.span), because this machine "
                + "read them too slowly",
            action:
                "enlarge its receive ring (`ethtool -g \(figures.name)` shows the limit), and spread its interrupts "
                + "over more processors",
            evidence: figures.facts([.init("overruns", figures.count.bad)])
        )
    }

    /// Two ends that disagree about duplex: the one at half duplex counts late collisions, the other one damaged frames.
    private static let duplex = CounterRule(code: .linkDuplex, fewest: 20, share: 1e-4) { sample in
        sample.isCable && (sample.wired == nil || sample.mayBeDuplex)
    } growth: { counters, sample in
        let bad = counters.lateCollisions &+ (sample.mayBeDuplex ? counters.damaged : 0)
        return PacketCount(bad: bad, total: counters.received &+ counters.sent &+ bad)
    } verdict: { figures in
        let setting = figures.duplex.map { "runs at \($0) duplex" } ?? "is in use"
        return Verdict(
            .linkDuplex,
            figures.share >= 0.01 ? .degraded : .warning,
            figures.duplex == "half" ? .likely : .possible,
            about: figures.name,
            say: "\(figures.name) \(setting), and counted \(figures.lateCollisions) late collisions and "
                + "\(figures.damaged) frames with errors \(figures.span): the other end has another duplex, or the "
                + "cable is bad",
            action: "let both ends negotiate (`ethtool -s \(figures.name) autoneg on`), then replace the cable",
            evidence: figures.facts([
                .init("late_collisions", figures.lateCollisions), .init("damaged_frames", figures.damaged),
            ])
        )
    }

    /// Packets that did not fit into the queue of the link.
    private static let queueDrops = CounterRule(code: .linkQueueDrops, fewest: 100, share: 0.02) { sample in
        guard let counters = sample.counters, counters.isQueueKnown else { return true }
        return counters.queue?.isTailDrop == true
    } growth: { counters, _ in
        counters.queue.map { PacketCount(bad: $0.drops, total: $0.sent &+ $0.drops) }
    } verdict: { figures in
        Verdict(
            .linkQueueDrops,
            .warning,
            .certain,
            about: figures.name,
            say: "the queue of \(figures.name)" + (figures.queue.map { " (\($0))" } ?? "")
                + " dropped \(figures.counts) packets \(figures.span)",
            action: figures.isShaped
                ? "raise the rate or the limit of its `tbf` (`tc -s qdisc show dev \(figures.name)` lists it), or send less"
                : "send less, or share the link fairly (`tc qdisc replace dev \(figures.name) root fq_codel`)",
            evidence: figures.facts([.init("queue_drops", figures.count.bad)])
        )
    }
}

extension LinkCounters {
    fileprivate var damaged: UInt64 { crcErrors &+ frameErrors }
}

extension LinkSample {
    /// Whether damaged frames may come of collisions: at half duplex, and at a full duplex that was set by hand, of which
    /// the other end does not know.
    fileprivate var mayBeDuplex: Bool {
        guard let wired else { return false }
        return !wired.isFullDuplex || !wired.isNegotiated && wired.megabits <= 100
    }
}

/// The sums that a sentence needs.
struct LinkFigures {
    let name: String
    let duplex: String?
    let queue: String?
    let isShaped: Bool
    let share: Double
    private(set) var count = PacketCount()
    private(set) var crcErrors: UInt64 = 0
    private(set) var frameErrors: UInt64 = 0
    private(set) var lateCollisions: UInt64 = 0
    private var time = Duration.zero

    /// Sums up what intervals say of a fault; `share` is that of the last ten minutes.
    init(_ sample: LinkSample, _ intervals: [LinkInterval], of code: VerdictCode, share: Double) {
        (name, self.share) = (sample.name, share)
        duplex = sample.wired.map { $0.isFullDuplex ? "full" : "half" }
        queue = sample.counters?.queue?.kind
        isShaped = sample.counters?.queue?.isShaped ?? false
        for interval in intervals {
            guard let count = interval.counts[code] else { continue }
            self.count = self.count + count
            crcErrors &+= interval.counters.crcErrors
            frameErrors &+= interval.counters.frameErrors
            lateCollisions &+= interval.counters.lateCollisions
            time += interval.end - interval.start
        }
    }

    /// Of a rule about duplex.
    var damaged: UInt64 { count.bad &- lateCollisions }

    /// Such as `312 of 1200000`.
    var counts: String { "\(count.bad) of \(count.total)" }

    /// Such as `within 12 minutes`.
    var span: String {
        let minutes = max(1, Int((time / .seconds(60)).rounded()))
        return minutes >= 59 ? "within an hour" : "within \(minutes == 1 ? "a minute" : "\(minutes) minutes")"
    }

    func facts(_ facts: [Verdict.Fact]) -> [Verdict.Fact] {
        facts + [.init("packets", count.total), .init("window_seconds", Int((time / .seconds(1)).rounded()))]
    }
}

extension Verdict {
    /// A cable that carries less than both ends offer.
    static func slowLink(_ name: String, _ megabits: Int, offered: Int) -> Verdict {
        Verdict(
            .linkSpeed,
            .warning,
            .likely,
            about: name,
            say: "\(name) runs at \(megabits) Mbit/s, although both ends offer \(offered)",
            action: "replace the cable (all four pairs must be connected), then try another port of the switch",
            evidence: [.init("megabits_per_second", megabits), .init("offered_megabits_per_second", offered)]
        )
    }

    /// A client that is too far from its access point.
    static func weakSignal(_ name: String, _ growth: RadioCounters) -> Verdict {
        var symptoms: [String] = []
        var facts: [Verdict.Fact] = growth.signal.map { [.init("signal_dbm", $0)] } ?? []
        if let sent = growth.sent, sent > 0 {
            if let retries = growth.retries {
                symptoms.append("\(retries) retries for \(sent) packets")
                facts.append(.init("retries", retries))
            }
            if let failures = growth.failures, failures > 0 {
                symptoms.append("\(failures) of \(sent) packets were not acknowledged")
                facts.append(.init("failures", failures))
            }
            facts.append(.init("packets", sent))
        }
        if let losses = growth.beaconLosses, losses > 0 {
            symptoms.append("beacons lost \(losses == 1 ? "once" : "\(losses) times")")
            facts.append(.init("beacon_losses", losses))
        }
        return Verdict(
            .linkWeakSignal,
            growth.loss == .packets ? .degraded : .warning,
            .likely,
            about: name,
            say: "\(name) receives its access point at \(growth.signal ?? 0) dBm: \(symptoms.joined(separator: ", "))",
            action: "move closer to the access point, or add one",
            evidence: facts
        )
    }
}
