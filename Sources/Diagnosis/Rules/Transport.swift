// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing

extension RuleEvaluator {
    func transportFaults(_ evidence: Evidence) -> [Verdict] {
        evidence.reach.flatMap(ports) + [datagrams(evidence)].compactMap(\.self)
            + evidence.transport.packetSizes.compactMap(packetSize)
    }

    /// A port that fails at every anchor while another one works is filtered on the path.
    private func ports(_ reach: ReachEvidence) -> [Verdict] {
        let anchors = reach.anchors.filter { $0.isReachable == true && !$0.ports.isEmpty }
        guard !anchors.isEmpty, anchors.contains(where: { $0.ports.values.contains(.connected) }) else { return [] }
        return Set(anchors.flatMap(\.ports.keys)).sorted().compactMap { port in
            let outcomes = Set(anchors.compactMap { $0.ports[port] })
            guard outcomes.count == 1, let outcome = outcomes.first, outcome != .connected else { return nil }
            let isSilent = outcome == .silent
            let fate = isSilent ? "dropped" : "refused"
            return Verdict(
                isSilent ? .transportPortBlocked : .transportPortReset,
                .broken,
                anchors.count > 1 ? .likely : .possible,
                family: reach.family,
                about: port,
                say: "\(reach.family.name) connections to TCP port \(port) are \(fate) on the path, "
                    + "for all targets; other ports work",
                action: "ask the operator of the firewall to open TCP port \(port)",
                evidence: [.init("port", Int(port)), .init("anchors", anchors.count)]
            )
        }
    }

    private func datagrams(_ evidence: Evidence) -> Verdict? {
        let alive = evidence.reach.flatMap(\.anchors).filter { $0.isReachable == true }
        let echoes = alive.compactMap(\.datagrams.value)
        // An answer of a time server proves that UDP works; no answer proves nothing.
        guard !echoes.isEmpty, !echoes.contains(true), evidence.transport.timeAnswers.value != true,
            alive.contains(where: { $0.ports.values.contains(.connected) })
        else { return nil }
        return Verdict(
            .transportUDPBlocked,
            .degraded,
            echoes.count > 1 ? .likely : .possible,
            say: "UDP is dropped on the path; TCP works",
            action: "ask the operator of the firewall to allow outgoing UDP: QUIC, calls, VPNs and time need it"
        )
    }

    private func packetSize(_ size: TransportEvidence.PacketSize) -> Verdict? {
        guard size.largest < size.linkMTU else { return nil }
        let facts: [Verdict.Fact] = [.init("largest_bytes", size.largest), .init("link_mtu", size.linkMTU)]
        if !size.isAnnounced && size.transferStalls.value == true {
            let segment = size.largest - (size.family == .ipv4 ? 40 : 60)
            return Verdict(
                .pmtuBlackhole,
                .broken,
                family: size.family,
                say: "\(size.family.name) packets above \(size.largest) bytes are lost without an ICMP error",
                action: "clamp the TCP segment size to \(segment) at the router, or let ICMP \"too big\" through",
                evidence: facts
            )
        }
        // What else keeps full packets back is not known to hurt anybody.
        guard size.isAnnounced || size.transferStalls.value == false else { return nil }
        return Verdict(
            .pmtuReduced,
            .info,
            family: size.family,
            say: "\(size.family.name) packets up to \(size.largest) bytes pass; "
                + (size.isAnnounced
                    ? "path MTU discovery works" : "larger ones are lost, but TCP works"),
            action: "nothing",
            evidence: facts
        )
    }
}
