// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing
public import Netlink

/// Follows a packet from the rules to the name servers and finds the first element that does not work.
///
/// Pure: queries only the given forwarding table, and sends no packet.
public struct Explainer<Table: ForwardingTable> {
    let facts: ExplanationFacts
    let table: Table
    let transport: Transport?
    private var bound: Int?

    /// Packet filters are tested with a `transport`, and with datagrams too where it is TCP port 443; `nil` leaves them out.
    public init(_ facts: ExplanationFacts, table: Table, transport: Transport? = .https) {
        self.facts = facts
        self.table = table
        self.transport = transport
        bound = facts.classifier.policy.boundInterface.flatMap { facts.classifier.state.link(named: $0)?.index }
    }

    var interfaces: InterfaceClassifier { facts.classifier }
    var state: KernelState { interfaces.state }

    /// Explains how packets of a family leave for the Internet, by the probes of the policy (rule S20).
    ///
    /// With a name, the result of its lookup replaces the name servers.
    /// - Returns: `nil` when the policy has no probe of the family.
    public func explainInternet(_ family: AddressFamily, names: NameQuestion = .general) -> Explanation? {
        guard let first = interfaces.policy.probes[family]?.first else { return nil }
        var queries = makeQueries()
        switch queries.findRoute(family) {
        case .found(let choice, _):
            return explain(.success(byLiveNexthop(choice, with: &queries)), to: choice.destination, names: names)
        case .refused(let refusal, let probe): return explain(.failure(refusal), to: probe ?? first, names: names)
        }
    }

    /// The probe stands for all destinations, of which others use a nexthop that works (rule S31).
    private func byLiveNexthop(_ choice: RouteChoice, with queries: inout RouteQueries) -> RouteChoice {
        let isLive = interfaces.isLive
        guard !choice.decision.nexthops.contains(where: isLive), let nexthop = choice.nexthops.first(where: isLive),
            let decision = try? queries.lookup(choice.destination, .decision, by: nexthop.index).get()
        else { return choice }
        var choice = choice
        choice.decision = decision
        choice.soughtFrom = decision.preferredSource ?? choice.soughtFrom
        return choice
    }

    /// Explains how packets get to one address; those to a link-local one may be bound to an interface.
    public func explain(
        _ destination: IPAddress,
        by interface: String? = nil,
        names: NameQuestion = .unneeded
    ) -> Explanation {
        guard let interface else { return explain(connect(to: destination), to: destination, names: names) }
        guard let link = state.link(named: interface) else {
            var chain = ExplanationChain()
            for element in [ExplanationElement.rule, .table, .route, .nexthop] { chain.unknown(element, "not reached") }
            chain.fail(.link, nil, ReasonText(.noInterface, ReasonSubject(interface: interface)))
            return Explanation(
                family: destination.family,
                destination: destination,
                steps: chain.complete,
                isAbsent: false,
                interface: nil
            )
        }
        var bound = self
        bound.bound = link.index
        return bound.explain(bound.connect(to: destination), to: destination, names: names)
    }

    func makeQueries() -> RouteQueries {
        RouteQueries(classifier: interfaces, table: table, mark: facts.mark, uid: facts.uid, bound: bound)
    }

    /// What connect(2) to one address finds.
    private func connect(to destination: IPAddress) -> Result<RouteChoice, RouteRefusal> {
        var queries = makeQueries()
        return queries.connect(destination)
    }

    private func explain(
        _ finding: Result<RouteChoice, RouteRefusal>,
        to destination: IPAddress,
        names: NameQuestion
    ) -> Explanation {
        var chain = ExplanationChain()
        let boundName = bound.flatMap { state.links[$0]?.name }
        var packet = RuleMatches.Packet(
            to: destination,
            mark: facts.mark,
            uid: facts.uid,
            vrfTable: vrfTable,
            bound: boundName
        )
        switch finding {
        case .success(let choice): packet.from = choice.soughtFrom
        case .failure(let refusal): packet.from = refusal.source
        }
        let matches = RuleMatches(facts.rules, for: packet)
        switch finding {
        case .success(let choice):
            var answer = choice.entry
            // Without rules of one's own the kernel holds the local table in the main one, and names that.
            if answer.table == 254, [.local, .broadcast].contains(answer.type) { answer.table = 255 }
            let outer = choice.leak?.entry ?? answer
            explainRule(matches, outer, &chain)
            chain.fine(.table, RouteText.name(ofTable: outer.table))
            var line = RouteText.line(outer, to: destination, links: state.links)
            if let vrf = choice.leak?.vrf {
                line += "; in the VRF \(vrf.name): \(RouteText.line(answer, to: destination, links: state.links))"
            }
            chain.fine(.route, line)
            follow(choice, answer, to: destination, &chain)
        case .failure(let refusal): explain(refusal, to: destination, matches, &chain)
        }
        explainNames(names, &chain)
        return Explanation(
            family: destination.family,
            destination: destination,
            steps: chain.complete,
            isAbsent: chain.isBroken && isAbsent(destination.family, finding),
            interface: chain.interface
        )
    }

    /// Names the rule that led to an answer, or those that may have.
    private func explainRule(_ matches: RuleMatches, _ answer: RouteAnswer, _ chain: inout ExplanationChain) {
        let candidates = matches.candidates(for: answer)
        guard let first = candidates.first else {
            return chain.unknown(.rule, "unknown which rule selects this table")
        }
        if first.isCertain { return chain.fine(.rule, matches.text(of: first.rule)) }
        chain.unknown(.rule, matches.text(of: candidates))
    }

    /// The table of the VRF that the packets are bound to.
    private var vrfTable: UInt32? {
        guard let link = bound.flatMap({ state.links[$0] }) else { return nil }
        return link.vrfTable ?? facts.classifier.vrf(of: link)?.vrfTable
    }

    /// Whether the machine has neither a route nor an address of the family.
    private func isAbsent(_ family: AddressFamily, _ finding: Result<RouteChoice, RouteRefusal>) -> Bool {
        switch finding {
        case .failure(let refusal) where [.noRoute, .familyUnsupported].contains(refusal.failure):
            !state.addresses.values.joined().contains { $0.value.address.family == family && $0.isRoutable }
        default: false
        }
    }

    // MARK: - Names

    private func explainNames(_ names: NameQuestion, _ chain: inout ExplanationChain) {
        let dns = interfaces.facts.dns
        let servers = dns.used.map(\.description).joined(separator: ", ")
        let source = dns.isWithoutServer ? "none configured in \(dns.source)" : dns.source
        let origin = source.isEmpty ? servers : "\(servers) (\(source))"
        switch names {
        case .unneeded: chain.fine(.dns, "not needed for an address")
        case .answered(let name): chain.fine(.dns, "\(name) resolves; servers \(origin)")
        case .failed(let name, let reason):
            chain.fail(
                .dns,
                "\(name): \(reason); servers \(origin)",
                fault: "\(name): \(reason)",
                hint: "check the spelling and the name servers: `getent ahosts \(name)`"
            )
        case .general:
            var queries = makeQueries()
            let state = DNSEvaluator(interfaces: interfaces, strandedTunnels: []).evaluate(with: &queries)
            if state.isUsable {
                chain.fine(.dns, origin)
            } else {
                chain.fail(
                    .dns,
                    origin,
                    fault: state.unusableText,
                    hint: dns.source.isEmpty || dns.isWithoutServer
                        ? "configure name servers" : "check the name servers in \(dns.source)"
                )
            }
        }
    }
}
