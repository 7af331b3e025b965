// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing

extension RuleEvaluator {
    func reachFaults(_ evidence: Evidence) -> [Verdict] {
        let tested = evidence.reach.filter { $0.isAlive != nil }
        // Of several uplinks one works, so that all anchors may be behind the dead one.
        let shared = Set(evidence.uplinks.filter(\.answers).map(\.family))
        let dead = tested.filter { $0.isAlive == false && !shared.contains($0.family) }
        let flows = [flowsLost(evidence)].compactMap(\.self) + deadUplinks(evidence)
        guard !dead.isEmpty else { return flows }
        guard dead.count == tested.count else { return dead.map(oneFamily) + flows }
        // Both families end somewhere; the fault with more evidence stands for both.
        let loop = dead.lazy.compactMap(looping).first
        let hole = dead.lazy.compactMap(blackhole).first
        if let fault = loop ?? hole { return [fault] }
        // What answers beyond the gateway shows that it is not the line.
        let isReported = dead.contains { $0.unreachableFrom != nil }
        let families = Set(dead.map(\.family))
        if !isReported,
            let server = evidence.answeringServers.first(where: {
                $0.resolvesNewNames && !evidence.isNear($0.address) && !$0.address.isPrivate
                    && !evidence.isOnLink($0.address) && families.contains($0.address.family)
            })
        {
            return [silentAnchors(dead, beside: server.address)]
        }
        if !isReported,
            let router = evidence.answeringServers.first(where: { $0.resolvesNewNames && evidence.isRouter($0.address) }
            )
        {
            return [blocked(by: router.address)]
        }
        return [down(dead, evidence.gateways)]
    }

    /// Interfaces that share the packets of a family with one that works; one that carries neither family is one fault.
    private func deadUplinks(_ evidence: Evidence) -> [Verdict] {
        let dead = evidence.uplinks.filter { uplink in
            !uplink.answers && evidence.uplinks.contains { $0.family == uplink.family && $0.answers }
        }
        var interfaces: [String] = []
        for uplink in dead where !interfaces.contains(uplink.interface) { interfaces.append(uplink.interface) }
        return interfaces.map { interface in
            let families = dead.filter { $0.interface == interface }
            let works = evidence.uplinks.first { $0.family == families[0].family && $0.answers }?.interface ?? ""
            let gateways = families.compactMap(\.gateway).map { "\($0)" }
            return Verdict(
                .uplinkDown,
                .degraded,
                .likely,
                family: families.count == 1 ? families[0].family : nil,
                about: interface,
                say: "nothing beyond the gateway answers by \(interface)"
                    + (gateways.isEmpty ? "" : " (\(Figures.list(gateways)))")
                    + ", which shares connections with \(works); \(works) works",
                action: "check the router and the line of \(interface), or take it out of the default route",
                evidence: gateways.isEmpty ? [] : [.init("gateways", gateways.joined(separator: " "))]
            )
        }
    }

    /// Some flows get no answer at all and others lose nothing: one of several parallel links drops everything.
    private func flowsLost(_ evidence: Evidence) -> Verdict? {
        let dead = Set(evidence.reach.filter { $0.isAlive == false }.map(\.family))
        // One that got no answer at all is filtered or down; one host that answers some only is itself overloaded.
        let tried = evidence.queries.filter {
            $0.answered > 0 && $0.obstacle == nil && !dead.contains($0.address.family)
        }
        guard Set(tried.filter { $0.answered < $0.flows }.map(\.address)).count > 1 else { return nil }
        let (flows, answered) = (tried.map(\.flows).reduce(0, +), tried.map(\.answered).reduce(0, +))
        let loss = (evidence.performance.anchors.filter { $0.received > 0 }.map(\.loss).min() ?? 0) / 100
        let share = Double(flows - answered) / Double(max(flows, 1))
        // A flow has two packets at least: random loss hits both of few.
        guard flows >= 6, flows - answered >= 2, share > 0.1 + 4 * loss * loss else { return nil }
        let families = Set(tried.filter { $0.answered < $0.flows }.map(\.address.family))
        var verdict = Verdict(
            .upstreamFlowsLost,
            .degraded,
            .likely,
            family: families.count == 1 ? families.first : nil,
            say: "\(flows - answered) of \(flows) new connections get no answer, each from a port of its own, and the "
                + "others lose nothing: one of several parallel links beyond the gateway drops everything",
            action: "report to the provider: one leg of a bundle or of equal routes (ECMP) is dead",
            evidence: [.init("flows", flows), .init("answered", answered)]
        )
        verdict.lostShare = share
        return verdict
    }

    private func silentAnchors(_ dead: [ReachEvidence], beside server: IPAddress) -> Verdict {
        let anchors = dead.flatMap(\.anchors)
        let names = Set(anchors.map(\.name)).sorted()
        return Verdict(
            .targetDown,
            .warning,
            .likely,
            about: names.joined(separator: " "),
            say:
                "none of the tested hosts answers (\(Figures.list(names))), but the name server \(server) does, which is "
                + "beyond the gateway too",
            action: "test other hosts: `diagnosis.anchors`; these are down or blocked"
        )
    }

    private func blocked(by router: IPAddress) -> Verdict {
        Verdict(
            .gatewayBlocksHost,
            .broken,
            .possible,
            about: router,
            say:
                "the gateway \(router) reaches the Internet, since it resolves new names, but forwards nothing for this "
                + "machine",
            action: "check the router: a filter or parental control for this machine, or a full session table"
        )
    }

    private func oneFamily(_ reach: ReachEvidence) -> Verdict {
        Verdict(
            reach.family == .ipv4 ? .ipv4Broken : .ipv6Broken,
            .broken,
            reach.anchors.count > 1 ? .likely : .possible,
            family: reach.family,
            say: "\(reach.family.name) does not get beyond the gateway\(end(of: reach)); "
                + "\(reach.family.other.name) works",
            action: reach.family == .ipv4
                ? "ask the provider, and check the router's NAT"
                : "ask the provider, or disable IPv6 until it works: every connection tries it first",
            evidence: hops(of: reach)
        )
    }

    private func looping(_ reach: ReachEvidence) -> Verdict? {
        guard let router = reach.loopAt else { return nil }
        return Verdict(
            .upstreamLoop,
            .broken,
            family: nil,
            say: "packets loop beyond the gateway: \(router) reports that their hop limit was exceeded",
            action: "report to the provider: a routing loop at \(router)",
            evidence: hops(of: reach)
        )
    }

    private func blackhole(_ reach: ReachEvidence) -> Verdict? {
        guard reach.unreachableFrom == nil, let last = reach.hops.last, last.distance > 1 else { return nil }
        return Verdict(
            .upstreamBlackhole,
            .broken,
            reach.anchors.count > 1 ? .likely : .possible,
            say: "packets are lost after hop \(last.distance) (\(last.address)), beyond the gateway",
            action: "report to the provider: no reply comes from beyond \(last.address)",
            evidence: hops(of: reach)
        )
    }

    private func down(_ dead: [ReachEvidence], _ gateways: [GatewayEvidence]) -> Verdict {
        let isUnseen = !gateways.isEmpty && !gateways.contains(where: \.isSeen)
        let speaker = dead.lazy.compactMap(\.unreachableFrom).first
        let anchors = dead.map(\.anchors.count).max() ?? 0
        return Verdict(
            .wanDown,
            .broken,
            speaker != nil ? .certain : anchors > 1 ? .likely : .possible,
            say: speaker.map { "\($0) reports that the Internet is unreachable" }
                ?? (isUnseen
                    ? "neither the gateway nor anything beyond it answers"
                    : "the gateway is reachable, but nothing beyond it answers"),
            action: "check \(isUnseen ? "the router, then " : "")the modem and the provider",
            // Both families have the same path; one of them is enough.
            evidence: dead.lazy.map(hops).first { !$0.isEmpty } ?? []
        )
    }

    private func end(of reach: ReachEvidence) -> String {
        if let loop = reach.loopAt { return ", packets loop at \(loop)" }
        if let speaker = reach.unreachableFrom { return ", according to \(speaker)" }
        guard let last = reach.hops.last, last.distance > 1 else { return "" }
        return ", packets are lost after hop \(last.distance) (\(last.address))"
    }

    private func hops(of reach: ReachEvidence) -> [Verdict.Fact] {
        reach.hops.isEmpty
            ? [] : [.init("hops", reach.hops.map { "\($0.distance):\($0.address)" }.joined(separator: " "))]
    }
}
