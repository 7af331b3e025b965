// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing

extension RuleEvaluator {
    func nameServerFaults(_ evidence: Evidence) -> [Verdict] {
        guard let servers = evidence.dns.value else { return [] }
        guard !servers.isEmpty else {
            return [
                Verdict(
                    .dnsNoConfig,
                    .broken,
                    say: "no name server is configured",
                    action: "check /etc/resolv.conf and the DHCP client"
                )
            ]
        }
        // A server beyond a path that has a fault of its own is neither dead nor alive.
        let deadFamilies = Set(evidence.reach.filter { $0.isAlive == false }.map(\.family))
        let tested = servers.filter {
            $0.isAlive != nil && ($0.isAlive == true || !deadFamilies.contains($0.address.family))
        }
        let alive = tested.filter { $0.isAlive == true }
        let hosts = evidence.destination?.hosts.flatMap { found in
            found.addresses?.isDisjoint(with: found.expected) == true ? wrongHostsFile(found) : nil
        }
        let own = [hosts, evidence.lookup.flatMap { lookupFault($0, servers) }].compactMap(\.self)
        guard !tested.isEmpty else { return own }
        func placed(_ verdict: Verdict?, _ servers: [NameServerEvidence]) -> Verdict? {
            guard var verdict else { return nil }
            verdict.domain = domain(of: servers, evidence)
            return verdict
        }
        guard !alive.isEmpty else { return [placed(unreachable(tested), tested)].compactMap(\.self) }
        let silent = tested.filter { $0.isAlive == false }
        return own + silent.compactMap { placed(dead($0, of: servers.count, alive: alive.count), [$0]) }
            + [searching(alive)].compactMap(\.self)
            + [failing(alive), slow(alive), withoutIPv6(alive), rewriting(alive), lying(alive), withoutTCP(alive)]
            .compactMap { placed($0, alive) }
    }

    /// Whose the servers are: this machine's own, the router's, another host's on the link, or somebody's on the Internet.
    private func domain(of servers: [NameServerEvidence], _ evidence: Evidence) -> FaultDomain {
        let faulty = servers.contains { !isInOrder($0) } ? servers.filter { !isInOrder($0) } : servers
        let domains = Set(
            faulty.map { server -> FaultDomain in
                if server.address.isLoopback { return .host }
                if evidence.isRouter(server.address) { return .gateway }
                return evidence.isOnLink(server.address) ? .link : .remote
            }
        )
        return domains.count == 1 ? domains.first ?? .unknown : .provider
    }

    private func isInOrder(_ server: NameServerEvidence) -> Bool {
        if server.isAlive != true || server.isFailing || server.ipv6 == .silent || server.stream == .silent {
            return false
        }
        if case .answered(let addresses) = server.nonexistent, !addresses.isEmpty { return false }
        if case .answered(let addresses) = server.known, !server.expected.isEmpty {
            return !addresses.isDisjoint(with: server.expected)
        }
        return server.known != .noSuchName
    }

    /// What the C library makes of a name that a server answers rightly.
    private func lookupFault(_ lookup: LookupEvidence, _ servers: [NameServerEvidence]) -> Verdict? {
        let isAnswered = servers.contains { server in
            guard server.isAlive == true, case .answered(let addresses) = server.known else { return false }
            return !addresses.isDisjoint(with: lookup.expected)
        }
        guard isAnswered, !lookup.expected.isEmpty else { return nil }
        if lookup.hostsLine != nil, lookup.addresses?.isDisjoint(with: lookup.expected) == true {
            return wrongHostsFile(lookup)
        }
        if lookup.addresses == nil, let sources = lookup.sourcesWithoutDNS {
            return Verdict(
                .dnsNotUsed,
                .broken,
                say:
                    "programs find no name: the line `\(sources)` of /etc/nsswitch.conf has no `dns`, although name servers "
                    + "answer",
                action: "add `dns` to the line `hosts:` of /etc/nsswitch.conf",
                evidence: [.init("name", lookup.name)]
            )
        }
        return nil
    }

    private func wrongHostsFile(_ lookup: LookupEvidence) -> Verdict {
        func list(_ addresses: Set<IPAddress>?) -> String { Figures.list((addresses ?? []).sorted().map { "\($0)" }) }
        return Verdict(
            .dnsHostsFile,
            .broken,
            about: lookup.name,
            say: "\(lookup.hostsLine ?? "/etc/hosts") gives \(lookup.name) the address \(list(lookup.addresses)); "
                + "name servers answer \(list(lookup.expected))",
            action: "correct or remove the line of \(lookup.name) in /etc/hosts"
        )
    }

    private func names(_ servers: [NameServerEvidence]) -> String { Figures.list(servers.map { "\($0.address)" }) }

    /// Such as `10.0.0.1 answers`, or `10.0.0.1 and 10.0.0.2 answer`.
    private func answering(_ servers: [NameServerEvidence]) -> String {
        "\(names(servers)) \(servers.count == 1 ? "answers" : "answer")"
    }

    private func unreachable(_ servers: [NameServerEvidence]) -> Verdict {
        let option = servers[0].isQueriedOverTCP ? "+tcp " : ""
        return Verdict(
            .dnsUnreachable,
            .broken,
            servers.count > 1 ? .certain : .likely,
            say: servers.count > 1
                ? "no name server answers: \(names(servers))" : "the name server \(names(servers)) does not answer",
            action: "try `dig \(option)@\(servers[0].address) example.com`; use another name server"
        )
    }

    private func dead(_ server: NameServerEvidence, of count: Int, alive: Int) -> Verdict {
        Verdict(
            .dnsServerDead,
            .degraded,
            family: server.address.family,
            about: server.address,
            say: "the name server \(server.address) does not answer; \(alive) of \(count) do",
            action: "remove \(server.address) from the configuration: programs wait 5 s for it"
        )
    }

    /// Names without a dot are looked up in each domain of the list, and so are those that do not exist.
    private func searching(_ servers: [NameServerEvidence]) -> Verdict? {
        let silent = servers.filter { !$0.silentDomains.isEmpty }
        guard let domains = silent.first?.silentDomains, silent.count == servers.count else { return nil }
        let names = Figures.list(domains)
        return Verdict(
            .dnsSearchDead,
            .degraded,
            .likely,
            about: names,
            say: "the search domain \(names) gets no answer, though other names do: "
                + "lookups of short names wait for seconds",
            action: "remove \(names) from the line `search` of /etc/resolv.conf, or from the DHCP server"
        )
    }

    private func failing(_ servers: [NameServerEvidence]) -> Verdict? {
        let failing = servers.filter(\.isFailing)
        guard let first = failing.first, case .failed(let code) = first.ipv4 else { return nil }
        return Verdict(
            .dnsServfail,
            failing.count == servers.count ? .broken : .degraded,
            say: "\(answering(failing)) every query with \(code)",
            action: "check the log of the server: it cannot reach other servers, or DNSSEC validation fails"
        )
    }

    /// Slow means that all servers are; otherwise programs query the next one.
    private func slow(_ servers: [NameServerEvidence]) -> Verdict? {
        let delays = servers.compactMap { server in
            server.latency.map { $0 - (server.roundTrip ?? .zero) }
        }
        guard delays.count == servers.count, let least = delays.min(), least > .milliseconds(300) else { return nil }
        return Verdict(
            .dnsSlow,
            .degraded,
            say: "name servers take \(Figures.text(least)) per query, not counting the round trip",
            action: "use another name server",
            evidence: [.init("seconds", Figures.tenths(least / .seconds(1)))]
        )
    }

    private func withoutIPv6(_ servers: [NameServerEvidence]) -> Verdict? {
        let deaf = servers.filter { server in
            guard case .answered = server.ipv4 else { return false }
            return server.ipv6 == .silent
        }
        guard !deaf.isEmpty else { return nil }
        return Verdict(
            .dnsAAAATimeout,
            .degraded,
            say: "\(answering(deaf)) A queries but not AAAA queries: each lookup takes seconds",
            action: "use another name server, or `options timeout:1 attempts:1` in /etc/resolv.conf"
        )
    }

    private func rewriting(_ servers: [NameServerEvidence]) -> Verdict? {
        for server in servers {
            guard case .answered(let addresses) = server.nonexistent, let address = addresses.min() else { continue }
            return Verdict(
                .dnsNXRewrite,
                .warning,
                say: "\(server.address) answers \(address) for a name that does not exist",
                action: "use another name server: this one invents addresses for names that do not exist"
            )
        }
        return nil
    }

    private func lying(_ servers: [NameServerEvidence]) -> Verdict? {
        for server in servers {
            let wildcard = Set([server.wildcard].compactMap(\.self))
            for (answer, right) in [(server.known, server.expected), (server.ipv4, wildcard)] where !right.isEmpty {
                switch answer {
                case .answered(let addresses) where addresses.isDisjoint(with: right):
                    return wrong(server, addresses.min().map { "\($0)" } ?? "nothing", right)
                case .noSuchName: return wrong(server, "that there is no such name", right)
                default: continue
                }
            }
        }
        return nil
    }

    private func wrong(_ server: NameServerEvidence, _ answer: String, _ right: Set<IPAddress>) -> Verdict {
        Verdict(
            .dnsWrongAnswer,
            .broken,
            say: "\(server.address) answers \(answer) for a name whose address is "
                + Figures.list(right.sorted().map { "\($0)" }),
            action: "use another name server: this one, or a device on the path to it, changes answers"
        )
    }

    private func withoutTCP(_ servers: [NameServerEvidence]) -> Verdict? {
        let tested = servers.filter { $0.stream != .notAsked && !$0.isFailing }
        guard !tested.isEmpty, tested.allSatisfy({ $0.stream == .silent }) else { return withoutLargeAnswers(servers) }
        return Verdict(
            .dnsTCPBlocked,
            .degraded,
            say: "\(answering(tested)) over UDP but not over TCP, so large answers are lost",
            action: "open TCP port 53 in the firewall",
            evidence: large(tested)
        )
    }

    /// Connections are made, and what fills several packets is lost on them.
    private func withoutLargeAnswers(_ servers: [NameServerEvidence]) -> Verdict? {
        let tested = servers.filter { ![.notAsked, .missing].contains($0.textByStream) && !$0.isFailing }
        guard !tested.isEmpty, tested.allSatisfy({ $0.textByStream == .silent }) else { return nil }
        return Verdict(
            .dnsTCPBlocked,
            .degraded,
            .likely,
            say: "large answers of \(names(tested)) are lost over TCP; small ones arrive",
            action: "check for a firewall or tunnel that drops large packets",
            evidence: large(tested)
        )
    }

    /// The result of a large text over UDP, if one was queried.
    private func large(_ servers: [NameServerEvidence]) -> [Verdict.Fact] {
        let words = servers.compactMap { server -> String? in
            switch server.textByDatagram {
            case .notAsked, .missing: nil
            case .silent: "lost"
            case .cut: "cut"
            case .whole(let count): "\(count) bytes"
            }
        }
        return words.isEmpty ? [] : [.init("large_answer_by_udp", words.joined(separator: " "))]
    }
}
