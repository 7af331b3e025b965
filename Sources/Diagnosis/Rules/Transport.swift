// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing

extension RuleEvaluator {
    func transportFaults(_ evidence: Evidence) -> [Verdict] {
        let connections = evidence.reach.filter { isWithoutTCP($0, evidence) }
        let others = evidence.reach.filter { !connections.contains($0) }
        return withoutTCP(connections, evidence) + portsOfBoth(others, evidence)
            + [datagrams(evidence), withoutTLS(evidence), withoutQUIC(evidence)].compactMap(\.self)
            + packetSizes(evidence)
    }

    /// Holes of both families are one fault.
    private func packetSizes(_ evidence: Evidence) -> [Verdict] {
        let found = evidence.transport.packetSizes.compactMap { packetSize($0, evidence) }
        let holes = found.filter { $0.code == .pmtuBlackhole }
        guard holes.count == 2, var whole = holes.first else { return found }
        let sizes = evidence.transport.packetSizes.map { "\($0.family.name) packets above \($0.largest)" }
        whole.family = nil
        let isTowardsUs = holes.allSatisfy { $0.evidence.contains(.init("direction", "received")) }
        whole.say =
            "\(Figures.list(sizes)) bytes are lost without an ICMP error"
            + (isTowardsUs ? ", towards this machine" : "")
        return [whole] + found.filter { $0.code != .pmtuBlackhole }
    }

    /// Whether no connection of a family gets beyond the gateway, while other packets do.
    private func isWithoutTCP(_ reach: ReachEvidence, _ evidence: Evidence) -> Bool {
        let anchors = reach.anchors.filter { $0.ports.values.contains { $0 != .blocked } }
        guard !anchors.isEmpty, reach.isAlive == true || hasRemoteNames(reach.family, evidence) else { return false }
        let outcomes = anchors.flatMap(\.ports.values).filter { $0 != .blocked }
        // Of several flows none got through; a name server beyond the gateway may be queried over TCP as well.
        let servers = (evidence.dns.value ?? []).filter {
            $0.address.family == reach.family && !evidence.isNear($0.address)
        }
        return Set(anchors.flatMap(\.ports.keys)).count > 1 && outcomes.allSatisfy { $0 == .silent }
            && !servers.contains { if case .answered = $0.stream { true } else { false } }
    }

    private func hasRemoteNames(_ family: AddressFamily, _ evidence: Evidence) -> Bool {
        (evidence.dns.value ?? []).contains {
            $0.isAlive == true && $0.address.family == family && !evidence.isNear($0.address)
        }
    }

    private func withoutTCP(_ families: [ReachEvidence], _ evidence: Evidence) -> [Verdict] {
        guard !families.isEmpty else { return [] }
        let isWhole = families.count == evidence.reach.filter { $0.isAlive != nil }.count
        func verdict(_ family: AddressFamily?, _ reach: [ReachEvidence]) -> Verdict {
            let flows = evidence.queries.filter { query in
                guard case .tcp = query.kind else { return false }
                return family == nil || query.address.family == family
            }.map(\.flows).reduce(0, +)
            let others = reach.flatMap(\.anchors).contains { $0.datagrams.value == true } ? "UDP" : "ICMP"
            return Verdict(
                .transportTCPBlocked,
                .broken,
                reach.flatMap(\.anchors).count > 1 ? .likely : .possible,
                family: family,
                say: "no \(family.map { $0.name + " " } ?? "")TCP connection gets beyond the gateway; "
                    + "\(others) does",
                action: "check the firewall of the router, then ask the provider: TCP packets are dropped",
                evidence: flows > 0 ? [.init("flows", flows), .init("answered", 0)] : []
            )
        }
        return isWhole ? [verdict(nil, families)] : families.map { verdict($0.family, [$0]) }
    }

    /// QUIC gets no answer from any host that offers it; of others that answer datagrams, two are needed.
    private func withoutQUIC(_ evidence: Evidence) -> Verdict? {
        let tested = evidence.transport.quic
        let isOffered = tested.contains(where: \.isOffered)
        guard tested.count > (isOffered ? 0 : 1), tested.allSatisfy(\.isSilent) else { return nil }
        return Verdict(
            .transportQUICBlocked,
            .warning,
            isOffered && tested.count > 1 ? .likely : .possible,
            about: 443,
            say: "QUIC is dropped on the path (UDP port 443); other UDP and TCP work",
            action: "allow outgoing UDP port 443 at the firewall: browsers lose time before they use TCP",
            evidence: [.init("hosts", tested.count)]
        )
    }

    /// Handshakes fail at all hosts while plain requests are answered: who sees the packets drops encrypted ones.
    private func withoutTLS(_ evidence: Evidence) -> Verdict? {
        let failed = evidence.connectedHandshakes
        guard let first = failed.first, evidence.application.certificates.isEmpty,
            evidence.portal.checks.contains(where: \.isGenuine)
        else { return nil }
        let anchors = Set(failed.map(\.anchor)).count
        return Verdict(
            .transportTLSBlocked,
            .broken,
            anchors > 1 ? .likely : .possible,
            say: "TLS handshakes with all tested hosts are \(first.isSilent ? "dropped" : "reset"); "
                + "connections and plain HTTP work",
            action: "check for a filter of the router or provider that blocks TLS",
            evidence: [.init("hosts", anchors)]
        )
    }

    /// The same port in both families is one fault.
    private func portsOfBoth(_ families: [ReachEvidence], _ evidence: Evidence) -> [Verdict] {
        let found = families.flatMap { ports($0, evidence) }
        return found.compactMap { fault in
            let twins = found.filter { $0.code == fault.code && $0.subject == fault.subject }
            guard twins.count == 2, let first = twins.first, let port = fault.subject else { return fault }
            guard fault == first else { return nil }
            var whole = fault
            whole.family = nil
            whole.say =
                "connections to TCP port \(port) are \(fault.code == .transportPortBlocked ? "dropped" : "refused") on the "
                + "path, for all targets, by IPv4 and IPv6; other ports work"
            return whole
        }
    }

    /// A port that fails at every anchor while another one works is filtered on the path.
    private func ports(_ reach: ReachEvidence, _ evidence: Evidence) -> [Verdict] {
        let anchors = reach.anchors.filter { $0.isReachable == true && !$0.ports.isEmpty }
        let others = (evidence.dns.value ?? []).contains {
            guard case .answered = $0.stream else { return false }
            return $0.address.family == reach.family && !evidence.isNear($0.address)
        }
        let isConnected = anchors.contains { $0.ports.values.contains(.connected) }
        guard !anchors.isEmpty, others || isConnected else { return [] }
        return Set(anchors.flatMap(\.ports.keys)).sorted().compactMap { port in
            let outcomes = Set(anchors.compactMap { $0.ports[port] }.filter { $0 != .blocked })
            guard outcomes.count == 1, let outcome = outcomes.first, outcome != .connected else { return nil }
            // Refused, it may be closed.
            guard isConnected || outcome == .silent else { return nil }
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

    private func packetSize(_ size: TransportEvidence.PacketSize, _ evidence: Evidence) -> Verdict? {
        guard size.largest < size.linkMTU else { return nil }
        var facts: [Verdict.Fact] = [.init("largest_bytes", size.largest), .init("link_mtu", size.linkMTU)]
        // What a server sends of its certificates, or a name server of a long text, fills packets; a request that fills
        // some is the other direction.
        let losesHandshakes =
            evidence.application.certificates.isEmpty
            && evidence.connectedHandshakes.contains { $0.isSilent && $0.family == size.family }
        let losesAnswers = evidence.answeringServers.contains { server in
            guard server.address.family == size.family, case .answered = server.stream else { return false }
            return server.textByStream == .silent
        }
        let isTowardsUs = size.transferStalls.value == false && (losesHandshakes || losesAnswers)
        if !size.isAnnounced && (size.transferStalls.value == true || isTowardsUs) {
            facts.append(.init("direction", isTowardsUs ? "received" : "sent"))
            let segment = size.largest - (size.family == .ipv4 ? 40 : 60)
            return Verdict(
                .pmtuBlackhole,
                .broken,
                family: size.family,
                say: "\(size.family.name) packets above \(size.largest) bytes are lost without an ICMP error"
                    + (isTowardsUs ? ", towards this machine" : ""),
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

extension Evidence {
    /// The handshakes that failed although connections to the same port are made.
    fileprivate var connectedHandshakes: [ApplicationEvidence.Handshake] {
        application.failedHandshakes.filter { failed in
            reach(failed.family)?.anchors.contains { $0.name == failed.anchor && $0.ports[failed.port] == .connected }
                == true
        }
    }
}
