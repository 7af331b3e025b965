// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing

extension RuleEvaluator {
    func performanceFaults(_ evidence: Evidence) -> [Verdict] {
        let performance = evidence.performance
        return [
            loss(evidence), latency(performance), jitter(performance),
            performance.load.flatMap(queue), performance.load.flatMap(throughput), silentEcho(evidence),
        ].compactMap(\.self)
    }

    /// Loss at the gateway explains loss at the anchors; loss at one anchor alone is its own.
    private func loss(_ evidence: Evidence) -> Verdict? {
        let performance = evidence.performance
        // Connections that lose nothing show that echo requests alone are limited.
        guard !isRefuted(performance) else { return nil }
        let trains = performance.anchors.filter { $0.received > 0 }
        // A router that answers some echo requests only, and forwards everything, loses nothing.
        let isCarried = trains.contains { $0.loss < budgets.loss / 2 }
        if let gateway = performance.gateway, gateway.received > 0, gateway.loss >= budgets.loss, !isCarried {
            let measured = evidence.gateways.first { $0.answersEcho.value == true }
            let interface = measured?.interface ?? evidence.mainLink?.interface ?? "the link"
            var verdict = Verdict(
                .linkLoss,
                .degraded,
                say: "\(Figures.tenths(gateway.loss)) % of the packets on \(interface) are lost already to the gateway",
                action: "check the cable or the radio, and the counters in `ip -s link show \(interface)`",
                evidence: [.init("loss_percent", Figures.tenths(gateway.loss))]
            )
            verdict.lostShare = gateway.loss / 100
            return verdict
        }
        guard let least = trains.map(\.loss).min(), least >= budgets.loss else { return nil }
        var verdict = Verdict(
            .performanceLoss,
            .degraded,
            trains.count > 1 ? .likely : .possible,
            say: "\(Figures.tenths(least)) % of the packets are lost beyond the gateway"
                + (performance.gateway == nil ? "" : "; almost none on the link"),
            action: "report it to the provider, with the time of day",
            evidence: [.init("loss_percent", Figures.tenths(least))]
        )
        verdict.lostShare = least / 100
        return verdict
    }

    /// Whether so few of the connections needed a second SYN that the loss of echo requests cannot be that of the path.
    private func isRefuted(_ performance: PerformanceEvidence) -> Bool {
        let trains = performance.anchors.filter { $0.received > 0 } + [performance.gateway].compactMap(\.self)
        guard trains.allSatisfy({ $0.isEcho || $0.received == $0.sent }) else { return false }
        let share = (trains.map(\.loss).max() ?? 0) / 100
        let (made, repeated) = performance.connections.reduce((0, 0)) { ($0.0 + $1.made, $0.1 + $1.repeated) }
        guard made > 0, share > 0 else { return false }
        // The chance of as few or fewer, if each were lost with that share.
        var (term, sum) = ((0..<made).reduce(1.0) { product, _ in product * (1 - share) }, 0.0)
        for count in 0...repeated {
            sum += term
            guard count < made, share < 1 else { break }
            term *= Double(made - count) / Double(count + 1) * share / (1 - share)
        }
        return sum < 0.02
    }

    private func latency(_ performance: PerformanceEvidence) -> Verdict? {
        let trains = performance.anchors.filter { $0.received > 0 }
        guard let least = trains.map(\.median).min(), least > budgets.roundTrip else { return nil }
        return Verdict(
            .performanceHighLatency,
            .degraded,
            trains.count > 1 ? .likely : .possible,
            say: "the round trip to the Internet takes \(Figures.text(least)); "
                + "expected are at most \(Figures.text(budgets.roundTrip))",
            action: "check for a VPN, a satellite link, or a full queue",
            evidence: .duration("median", least)
        )
    }

    private func jitter(_ performance: PerformanceEvidence) -> Verdict? {
        let trains = performance.anchors.filter { $0.received > 0 }
        guard let steadiest = trains.min(by: { $0.spread < $1.spread }), steadiest.spread > budgets.jitter,
            steadiest.spread * 10 > steadiest.median * 3
        else { return nil }
        return Verdict(
            .performanceJitter,
            .warning,
            trains.count > 1 ? .likely : .possible,
            say: "round trips vary by \(Figures.text(steadiest.spread)) around \(Figures.text(steadiest.median))",
            action: "check for heavy traffic on the line, or a weak radio link",
            evidence: .duration("spread", steadiest.spread)
        )
    }

    private func queue(_ load: PerformanceEvidence.Load) -> Verdict? {
        guard let idle = load.idle, let loaded = load.loaded, loaded - idle > .milliseconds(100),
            let rate = load.roundTripsPerMinute, rate < budgets.roundTripsPerMinute
        else { return nil }
        return Verdict(
            .performanceBufferbloat,
            .degraded,
            say: "latency grows from \(Figures.text(idle)) to \(Figures.text(loaded)) under load "
                + "(\(rate) round trips per minute)",
            action: "switch on CAKE or FQ-CoDel at the router",
            evidence: [.init("rpm", rate)] + .duration("idle", idle) + .duration("loaded", loaded)
        )
    }

    private func throughput(_ load: PerformanceEvidence.Load) -> Verdict? {
        var parts: [String] = []
        if let floor = budgets.down, let down = load.down, down < floor {
            parts.append("\(Figures.tenths(down)) Mbit/s arrive of \(Figures.tenths(floor))")
        }
        if let floor = budgets.up, let up = load.up, up < floor {
            parts.append("\(Figures.tenths(up)) Mbit/s leave of \(Figures.tenths(floor))")
        }
        guard !parts.isEmpty else { return nil }
        let measured = [("down_mbps", load.down), ("up_mbps", load.up)]
        return Verdict(
            .performanceLowThroughput,
            .degraded,
            say: "the line is slow: \(Figures.list(parts))",
            action: "measure again without other traffic, then report it to the provider",
            evidence: measured.compactMap { name, rate in rate.map { Verdict.Fact(name, Figures.tenths($0)) } }
        )
    }

    /// Unanswered ICMP echo is no fault while anything else answers.
    private func silentEcho(_ evidence: Evidence) -> Verdict? {
        let alive = evidence.reach.flatMap(\.anchors).filter { $0.isReachable == true }
        let echoes = alive.compactMap(\.echo.value)
        let isLimited = isRefuted(evidence.performance)
        guard isLimited || !echoes.isEmpty && !echoes.contains(true) else { return nil }
        return Verdict(
            .icmpFiltered,
            .info,
            say: isLimited ? "the rate of ICMP echo is limited; TCP loses nothing" : "ICMP echo is filtered; TCP works",
            action: "nothing; `ping` is no valid test here"
        )
    }
}
