// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing

extension RuleEvaluator {
    func localFaults(_ evidence: Evidence) -> [Verdict] {
        var found: [Verdict] = []
        let known = evidence.sending.filter { $0.route.value != nil }
        if !known.isEmpty, known.allSatisfy({ $0.route.value == .missing }) {
            found.append(
                Verdict(
                    .routeNoDefault,
                    .broken,
                    say: "there is no default route",
                    action: "`ip route show default`, then `ip route add default via GATEWAY`"
                )
            )
        }
        found += evidence.sending.compactMap(discarding)
        found += evidence.sending.compactMap { lost($0, known) }
        found += filter(evidence)
        found += obstructions(evidence)
        found += evidence.blockedUsers.map(blockedUser)
        found += deadTunnels(evidence)
        found += evidence.sending.compactMap(asymmetry)
        found += evidence.gateways.compactMap { wrongGateway($0, evidence) }
        return found
    }

    /// What this machine lacks for its own sockets: tests that need them found nothing out.
    func shortage(_ evidence: Evidence) -> [Verdict] {
        guard let clause = evidence.shortage else { return [] }
        let action = Verdict.action(onShortage: clause)
        return [Verdict(.hostResources, .degraded, say: "\(clause), so that tests cannot run", action: action)]
    }

    private func discarding(_ sending: SendEvidence) -> Verdict? {
        guard case .discarded(let type, let text)? = sending.route.value else { return nil }
        return Verdict(
            .routeBlackhole,
            .broken,
            family: sending.family,
            say: "the \(sending.family.name) route `\(text)` discards packets (\(type))",
            action: "`\(sending.family.command) route del \(text)`",
            evidence: [.init("route", text)]
        )
    }

    /// A filter that refuses everything is the fault; one that refuses something may be meant.
    private func filter(_ evidence: Evidence) -> [Verdict] {
        let tried = evidence.sending.filter { $0.attempts > 0 }
        let closed = tried.filter { $0.refused == $0.attempts }
        func verdict(_ family: AddressFamily?, _ packets: Int) -> Verdict {
            let what = family.map { "every \($0.name) packet that" } ?? "everything"
            return Verdict(
                .firewallLocal,
                .broken,
                family: family,
                say: "a local firewall rule drops \(what) this machine sends",
                action: "`nft list ruleset`: check the output hook",
                evidence: [.init("refused_sends", packets)]
            )
        }
        if !closed.isEmpty && closed.count == tried.count { return [verdict(nil, closed.map(\.refused).reduce(0, +))] }
        return closed.map { verdict($0.family, $0.refused) }
    }

    /// One that carries neither family is one fault.
    private func deadTunnels(_ evidence: Evidence) -> [Verdict] {
        let dead = evidence.sending.filter { sending in
            sending.tunnel.map { !$0.answers && $0.answersAround } ?? false
        }
        let isWhole = dead.count > 1 && Set(dead.compactMap(\.tunnel?.interface)).count == 1
        return (isWhole ? Array(dead.prefix(1)) : dead).compactMap { sending in
            guard let tunnel = sending.tunnel else { return nil }
            return Verdict(
                .routeDeadTunnel,
                .broken,
                family: isWhole ? nil : sending.family,
                about: tunnel.interface,
                say: "the \(isWhole ? "" : sending.family.name + " ")default route uses the tunnel "
                    + "\(tunnel.interface), which passes no traffic; \(tunnel.device) works",
                action: "restart the VPN, or take \(tunnel.interface) down"
            )
        }
    }

    /// A family without a route that the network or the configuration promised, while the other one has a route.
    private func lost(_ sending: SendEvidence, _ known: [SendEvidence]) -> Verdict? {
        guard sending.route.value == .missing, let promise = sending.promise,
            known.contains(where: { $0.family != sending.family && $0.route.value == .found })
        else { return nil }
        let command = sending.family.command
        return Verdict(
            .routeNoDefault,
            .broken,
            .likely,
            family: sending.family,
            say: "there is no \(sending.family.name) default route, although \(promise); "
                + "\(sending.family.other.name) has one",
            action: "`\(command) route show default`, then `\(command) route add default via GATEWAY`"
        )
    }

    /// What this machine itself does to queries that got no answer, once for each cause.
    private func obstructions(_ evidence: Evidence) -> [Verdict] {
        let closed = Set(evidence.sending.filter { $0.attempts > 0 && $0.refused == $0.attempts }.map(\.family))
        // One without a route has been reported, or is not used.
        let closedRoutes = Set(
            evidence.sending.filter { $0.route.value != nil && $0.route.value != .found }.map(\.family)
        )
        let servers = evidence.dns.value ?? []
        let losesNames = !servers.isEmpty && servers.allSatisfy { $0.obstacle != nil }
        var causes: [LocalObstacle] = []
        var hit: [LocalObstacle: [QueryEvidence]] = [:]
        for query in evidence.queries {
            // The destination has rules of its own.
            guard let obstacle = query.obstacle, query.target != .destination else { continue }
            let isReported =
                switch obstacle.kind {
                case .outputFilter: closed.contains(query.address.family)
                case .inputFilter, .reversePath: false
                case .path: closedRoutes.contains(query.address.family) && !(losesNames && evidence.hasOpenRoute)
                }
            guard !isReported else { continue }
            // Several routes that refuse packets are one fault of this machine.
            let isPath = if case .path = obstacle.kind { true } else { false }
            let first = isPath ? causes.first { if case .path = $0.kind { true } else { false } } : nil
            let cause = first ?? obstacle
            if hit[cause] == nil { causes.append(cause) }
            hit[cause, default: []].append(query)
        }
        return causes.map { cause in
            let queries = hit[cause] ?? []
            let isWhole = losesConnections(queries, evidence, isWhole: true)
            let isBroken = losesNames || losesConnections(queries, evidence, isWhole: false)
            return obstruction(cause, queries, isBroken: isBroken, isWhole: isWhole)
        }
    }

    /// Whether no anchor of a family is left to which connections may be made: by any port (`isWhole`), or for HTTPS.
    private func losesConnections(_ queries: [QueryEvidence], _ evidence: Evidence, isWhole: Bool) -> Bool {
        evidence.reach.contains { reach in
            let blocked = queries.filter { $0.address.family == reach.family && $0.obstacle != nil }
            func isBlocked(_ anchor: ReachEvidence.Anchor, _ port: UInt16) -> Bool {
                blocked.contains { $0.address == anchor.address && $0.kind == .tcp(port) }
            }
            // Where nothing answers, further flows were tried to some of them only.
            let anchors = reach.anchors.filter { anchor in
                reach.isAlive == true || blocked.contains { $0.address == anchor.address }
            }
            let ports = Set(anchors.flatMap(\.ports.keys))
            let lost = ports.filter { port in anchors.allSatisfy { $0.ports[port] == nil || isBlocked($0, port) } }
            return !lost.isEmpty && (lost == ports || !isWhole && lost.contains(443))
        }
    }

    private func blockedUser(_ user: Evidence.BlockedUser) -> Verdict {
        Verdict(
            .firewallLocal,
            .warning,
            about: user.name,
            say:
                "the packet filter \(user.chain) of this machine drops everything that programs of the user \(user.name) send",
            action: "`nft list chain \(user.chain)`"
        )
    }

    private func obstruction(
        _ cause: LocalObstacle,
        _ queries: [QueryEvidence],
        isBroken: Bool,
        isWhole: Bool
    ) -> Verdict {
        let families = Set(queries.map(\.address.family))
        let kinds = Set(queries.map { "\($0.kind)" }).sorted()
        let hosts = Set(queries.map(\.address)).sorted()
        let names = hosts.count > 3 ? "\(hosts.count) hosts" : Figures.list(hosts.map { "\($0)" })
        let code: VerdictCode
        let text: String
        switch cause.kind {
        case .outputFilter:
            code = .firewallLocal
            text = "\(cause.text) drops packets to \(Figures.list(kinds)), before they leave this machine"
        case .inputFilter:
            code = .firewallLocal
            text = "replies from \(names) (\(Figures.list(kinds))) arrive, and \(cause.text) drops them"
        case .reversePath:
            code = .routeReversePath
            text = "replies from \(names) arrive, and \(cause.text) drops them"
        case .path:
            code = .routeBlackhole
            let texts = queries.compactMap(\.obstacle?.text).reduce(into: [String]()) { texts, text in
                if !texts.contains(text) { texts.append(text) }
            }
            text = "packets to \(names) do not leave this machine: \(Figures.list(texts))"
        }
        var verdict = Verdict(
            code,
            isBroken ? .broken : .degraded,
            family: families.count == 1 ? families.first : nil,
            about: kinds.count == 1 && code == .firewallLocal ? kinds[0] : names,
            say: text,
            action: cause.hint ?? "`nwpath why \(hosts[0])`",
            evidence: [.init("targets", hosts.map { "\($0)" }.joined(separator: " ")), .init("queries", queries.count)]
        )
        verdict.isPartial = !isWhole
        return verdict
    }

    private func asymmetry(_ sending: SendEvidence) -> Verdict? {
        if let usual = sending.sources.first, !usual.answers, let other = sending.sources.first(where: \.answers) {
            return wrongSource(usual.address, other.address, sending.family)
        }
        guard sending.sources.first?.answers == true else { return nil }
        let silent = sending.sources.filter { !$0.answers }.map { "\($0.address)" }
        guard !silent.isEmpty else { return nil }
        return Verdict(
            .routeAsymmetric,
            .warning,
            .likely,
            family: sending.family,
            say: "packets from \(Figures.list(silent)) get no reply; those from "
                + "\(sending.sources.first.map { "\($0.address)" } ?? "") do",
            action: "add a rule for each source: `\(sending.family.command) rule add from ADDRESS table TABLE`"
        )
    }

    private func wrongSource(_ usual: IPAddress, _ other: IPAddress, _ family: AddressFamily) -> Verdict {
        Verdict(
            .routeAsymmetric,
            .broken,
            .likely,
            family: family,
            say: "packets from \(usual), which the kernel chooses, get no reply; those from \(other) do",
            action: "`\(family.command) route show default`: change `src`, or remove the address \(usual)"
        )
    }

    /// DHCP offers another router, which is there, and the one in use leads nowhere.
    private func wrongGateway(_ gateway: GatewayEvidence, _ evidence: Evidence) -> Verdict? {
        guard gateway.address.family == .ipv4, evidence.reach(.ipv4)?.isAlive == false,
            let link = evidence.links.first(where: { $0.interface == gateway.interface }), let offers = link.dhcp.value,
            !offers.contains(where: { $0.router == gateway.address }),
            let router = offers.first(where: { $0.router != nil && $0.routerAnswers.value == true })?.router
        else { return nil }
        return Verdict(
            .routeWrongGateway,
            .broken,
            family: .ipv4,
            about: gateway.address,
            say: "the default route points to \(gateway.address), which does not forward packets; "
                + "DHCP offers \(router)",
            action: "`ip route replace default via \(router) dev \(gateway.interface)`"
        )
    }
}
