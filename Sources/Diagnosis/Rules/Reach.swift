// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing

extension RuleEvaluator {
    func reachFaults(_ evidence: Evidence) -> [Verdict] {
        let tested = evidence.reach.filter { $0.isAlive != nil }
        let dead = tested.filter { $0.isAlive == false }
        guard !dead.isEmpty else { return [] }
        guard dead.count == tested.count else { return dead.map(oneFamily) }
        // Both families end somewhere; the fault with more evidence stands for both.
        let loop = dead.lazy.compactMap(looping).first
        let hole = dead.lazy.compactMap(blackhole).first
        return [loop ?? hole ?? down(dead, evidence.gateways)]
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
