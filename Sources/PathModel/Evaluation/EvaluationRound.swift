// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Netlink

struct EvaluationRound {
    let classifier: InterfaceJudge
    let view: MonitorView
    let now: Duration
    var outcomes = PerFamily<FamilyOutcome>()
    var findings = PerFamily<RouteFinding>()
    /// Interfaces that are available besides those in use, best first.
    var others: [Available] = []
    var configuringEnd: Duration?
    /// Whether the kernel keeps a default route that ran out.
    var keepsLapsed = false
    /// What carries the tunnels that were looked at.
    var underlays: [Int: Underlay] = [:]

    /// An interface that reaches the Internet when packets are bound to it.
    struct Available {
        let link: Link
        let metric: UInt32
        /// Whether answers to packets that are bound to it are received.
        let receives: Bool
    }

    /// The routes that are open, IPv4 first.
    var openWays: [Uplink] {
        switch (outcomes[.ipv4]?.openWay, outcomes[.ipv6]?.openWay) {
        case (let first?, let second?): [first, second]
        case (let only?, nil), (nil, let only?): [only]
        case (nil, nil): []
        }
    }

    /// Whether a tunnel refuses packets of a family.
    var isRefusedByTunnel: Bool {
        AddressFamily.allCases.contains { family in
            if case .stranded(_, .noPeer, _)? = outcomes[family] { true } else { false }
        }
    }

    /// Tunnels whose own packets do not leave.
    var strandedTunnels: Set<Int> {
        Set(underlays.compactMap { index, underlay in if case .broken = underlay { index } else { nil } })
    }

    /// What ends unless it is refreshed.
    var expiries: [Expiry] {
        (outcomes[.ipv4]?.openWay?.expiries ?? []) + (outcomes[.ipv6]?.openWay?.expiries ?? [])
    }
}

// MARK: - Families

extension EvaluationRound {
    /// Finds out what becomes of unbound packets of each family (rules S20, S21).
    ///
    /// A family without an address to come from is not open (rule S24). The table is asked only to say why, which nobody
    /// needs to know where the other one is.
    mutating func askFamilies(with survey: inout RouteSurvey) {
        for family in AddressFamily.allCases {
            if !openWays.isEmpty, !classifier.state.hasRoutableAddress(family) { continue }
            let finding = survey.survey(family)
            findings[family] = finding
            switch finding {
            case .refused(let refusal, _):
                if family == .ipv6 { noteLapsed(survey.defaultRoutes(.ipv6, table: 254)) }
                outcomes[family] = .refused(refusal)
            case .found(var choice, _):
                considerNeighbors(of: &choice, with: &survey)
                outcomes[family] = outcome(choice, by: nil, with: &survey)
                guard let way = outcomes[family]?.openWay else { continue }
                if survey.transport != nil, datagramsDiffer(from: way, with: &survey) {
                    way.warnings.insert(.datagramsDiffer)
                }
                outcomes[family] = filtered(way, with: survey)
            }
        }
    }

    /// Considers what comes behind the table (rule S55).
    private func filtered(_ uplink: Uplink, with survey: RouteSurvey) -> FamilyOutcome {
        func obstacles(_ transport: Transport) -> [OutputObstacle] {
            uplink.live.compactMap { nexthop in
                let source = uplink.boundSources[nexthop.index] ?? uplink.source
                let output = survey.output(of: transport, from: source, to: uplink.probe, by: nexthop.index)
                guard case .refused(let obstacle) = output else { return nil }
                return obstacle
            }
        }
        let refused = obstacles(.https)
        if let first = refused.first {
            if refused.count == uplink.live.count { return .filtered(uplink, first) }
            uplink.warnings.insert(.degraded)
        }
        if !obstacles(.quic).isEmpty { uplink.warnings.insert(.datagramsRefused) }
        return .open(uplink)
    }

    /// Evaluates nexthops, interfaces, source and gateways of a route.
    mutating func outcome(_ choice: RouteChoice, by index: Int?, with survey: inout RouteSurvey) -> FamilyOutcome {
        let way = Uplink(choice)
        survey.neighbors.gateways.formUnion(choice.legs.compactMap(\.router))
        survey.neighbors.rivals.formUnion(choice.legs.filter(classifier.needsNeighbor).compactMap(\.router))
        for leg in choice.legs {
            if classifier.isLive(leg) { way.live.append(leg) } else { way.dead.append(leg) }
        }
        guard !way.live.isEmpty else {
            return choice.legs.isEmpty ? .refused(RouteRefusal(failure: .noRoute)) : .dead(way)
        }
        if view.makesDemands {
            let demands = way.live.map { leg in
                classifier.state.links[leg.index].flatMap { view.unmetDemand(ofWayBy: $0) }
            }
            if let demand = demands.first ?? nil, !demands.contains(where: { $0 == nil }) {
                return .forbidden(way, demand: demand)
            }
            way.live = zip(way.live, demands).filter { $1 == nil }.map(\.0)
        }
        if index == nil { leaveOutRefusedLegs(of: way, with: &survey) }
        if !way.dead.isEmpty { way.warnings.insert(.degraded) }
        if choice.datagramsDiffer { way.warnings.insert(.datagramsDiffer) }
        chooseLiveLeg(of: way, with: &survey)
        let outcome = finish(way, by: index, with: &survey)
        guard case .open = outcome else { return outcome }
        if let source = way.source,
            let obstacle = survey.obstacle(
                toReplies: source,
                from: way.probe,
                by: way.live[0].index,
                isBound: index != nil
            )
        {
            return .noSource(way, SourceJudge.Verdict(obstacle: obstacle))
        }
        noteOtherSources(of: way, with: &survey)
        return outcome
    }

    /// Whether datagrams to the ports that programs use leave in another way than connections do, or not at all.
    private func datagramsDiffer(from way: Uplink, with survey: inout RouteSurvey) -> Bool {
        [Transport.quic, .dns].contains { transport in
            survey.asking(as: transport) { survey in
                guard let choice = try? survey.connect(way.probe).get(), choice.source == way.choice.source,
                    let alone = try? survey.ask(way.probe, .decision).get()
                else { return true }
                let legs = choice.legs + alone.legs
                return !legs.allSatisfy { leg in way.choice.legs.contains { $0.isSameWay(as: leg) } }
            }
        }
    }

    /// Finds the addresses of packets that take other nexthops of a multipath route (rule S31).
    private func noteOtherSources(of way: Uplink, with queries: inout RouteSurvey) {
        guard way.live.count > 1 else { return }
        for leg in way.live {
            way.boundSources[leg.index] = try? queries.ask(way.probe, .decision, by: leg.index).get().preferredSource
            guard let source = way.boundSources[leg.index], source != way.source, !way.otherSources.contains(source),
                SourceJudge(interfaces: classifier).evaluate(source, by: leg.index, family: way.family).isUsable
            else { continue }
            way.otherSources.append(source)
        }
    }

    /// Leaves out nexthops of an IPv4 multipath route from whose addresses packets are refused while there are others: the
    /// kernel looks up again from the address of the nexthop that it took (rule S20).
    private func leaveOutRefusedLegs(of way: Uplink, with queries: inout RouteSurvey) {
        guard way.family == .ipv4, way.live.count > 1 else { return }
        let isRefused = way.live.map { leg in
            let source = try? queries.ask(way.probe, .decision, by: leg.index).get().preferredSource
            guard let source, source != way.choice.source else { return false }
            return queries.isRefused(way.probe, from: source)
        }
        guard isRefused.contains(false) else { return }
        way.dead += zip(way.live, isRefused).filter(\.1).map(\.0)
        way.live = zip(way.live, isRefused).filter { !$1 }.map(\.0)
    }

    /// Takes the source of a live nexthop: the kernel may still hash the probe onto a dead one (rule S31), or have taken it
    /// because it was one's turn.
    private func chooseLiveLeg(of way: Uplink, with queries: inout RouteSurvey) {
        let chosen = way.choice.decision.legs
        let isLive = chosen.contains { leg in way.live.contains { $0.index == leg.index } }
        if isLive && !way.choice.takesTurns || chosen.isEmpty { return }
        guard let decision = try? queries.ask(way.probe, .decision, by: way.live.first?.index).get() else { return }
        way.choice.decision = decision
        way.choice.soughtFrom = decision.preferredSource ?? way.choice.soughtFrom
    }

    private mutating func finish(
        _ way: Uplink,
        by index: Int?,
        with queries: inout RouteSurvey
    ) -> FamilyOutcome {
        let chosen = way.choice.decision.legs
        let leg = chosen.first { chosen in way.live.contains { $0.index == chosen.index } } ?? way.live[0]
        let source = way.choice.source
        let hop = leg.router.map { classifier.state.neighborState($0) } ?? .none
        let verdict = SourceJudge(interfaces: classifier).evaluate(source, by: leg.index, family: way.family, hop: hop)
        if verdict.needsResolvedHop, let router = leg.router { queries.neighbors.rivals.insert(router) }
        guard let source, verdict.isUsable else { return .noSource(way, verdict) }
        way.source = source
        way.warnings.formUnion(verdict.warnings)
        if let seconds = way.answer.expiresIn ?? way.choice.decision.expiresIn {
            way.expiries.append(Expiry(subject: .route(way.family, index: leg.index), at: now + .seconds(seconds)))
        }
        if let held = verdict.held, let end = held.validUntil {
            way.expiries.append(Expiry(subject: .address(source, index: held.value.index), at: end))
        }
        var silent = 0
        for leg in way.live {
            if let router = leg.router, classifier.state.isReachable(router) == false { silent += 1 }
        }
        if way.live.allSatisfy({ isUnanswered($0, of: way, bound: index, with: &queries) }) {
            way.isUnanswered = true
            silent = way.live.count
        }
        if silent > 0 { way.warnings.insert(.gatewayUnresolved) }
        let isDormant = way.live.contains { classifier.state.links[$0.index]?.operationalState == .dormant }
        if isDormant { way.warnings.insert(.waitsForAuthentication) }
        let isReduced = way.live.contains { classifier.state.links[$0.index].map(classifier.isReduced) ?? false }
        if isReduced { way.warnings.insert(.redundancyLost) }
        if classifier.policy.isGatewayStrict, silent > 0, silent == way.live.count { return .silent(way) }
        return .open(way)
    }

    func isLive(_ leg: RouteLeg) -> Bool { classifier.isLive(leg) }
}

extension InterfaceJudge {
    /// Whether packets leave by the next hop: its link works, and it is neither the machine itself nor a port.
    ///
    /// A port of a bridge or bond sends, but what comes back is the master's, answers to ARP included (rule S15).
    func isLive(_ leg: RouteLeg) -> Bool {
        guard !leg.flags.contains(.dead), let link = state.links[leg.index] else { return false }
        // IPv6 keeps the flag on routes by a link that has its carrier again and is dormant, and takes them all the same.
        if leg.flags.contains(.linkDown), link.operationalState != .dormant { return false }
        return isUsable(link) && !isLoopback(link) && !isEnslaved(link) && brokenPort(of: leg) == nil && !isMute(leg)
    }

    /// Kinds of links whose frames reach a receiver by its hardware address; hardware, and what stands on it, may be a modem.
    private static let framed: Set<String> = ["veth", "bridge", "bond", "team"]

    /// Whether the router of a nexthop is never resolved, as on an Ethernet link without ARP (`ip link set arp off`).
    ///
    /// Both families do without then.
    func isWithoutResolution(_ nexthop: RouteLeg) -> Bool {
        guard nexthop.gateway != nil, let link = state.links[nexthop.index], link.hardwareType == 1,
            link.flags.contains(.noARP), link.flags.isDisjoint(with: [.pointToPoint, .loopback])
        else { return false }
        return link.kind.map(Self.framed.contains) ?? false
    }

    /// Whether packets to the router carry the interface's own hardware address, so that nobody receives them: the kernel fills
    /// that in (`arp_constructor`) where nobody made an entry.
    func isMute(_ nexthop: RouteLeg) -> Bool {
        guard isWithoutResolution(nexthop), let router = nexthop.router else { return false }
        let own = state.links[nexthop.index]?.hardwareAddress
        switch state.neighborState(router) {
        case .none: return true
        case .noARP: return state.hardwareAddress(of: router) == own
        default: return false
        }
    }
}

// MARK: - Interfaces

extension EvaluationRound {
    /// Finds the interfaces that could carry traffic besides those in use (rule S16).
    mutating func askInterfaces(with queries: inout RouteSurvey) {
        var inUse: [Int] = []
        for way in openWays { inUse += way.live.map(\.index) }
        var candidates: [Link] = []
        for index in classifier.state.routableInterfaces where !inUse.contains(index) {
            guard let link = classifier.state.links[index], classifier.isUsable(link), classifier.isEligible(link),
                view.covers(link),
                view.unmetDemand(of: link) == nil
            else { continue }
            candidates.append(link)
        }
        guard !candidates.isEmpty else { return }
        let marks = Set(inUse.compactMap { classifier.state.links[$0]?.tunnelMark }).sorted()
        if candidates.count > PathEvaluator.maximumBoundInterfaces {
            let known = classifier.memory.everAvailable
            candidates.sort {
                (known.contains($0.index) ? 0 : 1, $0.index) < (known.contains($1.index) ? 0 : 1, $1.index)
            }
            candidates.removeLast(candidates.count - PathEvaluator.maximumBoundInterfaces)
        }
        for link in candidates {
            if let found = uplink(link, marks: marks, with: &queries) { others.append(found) }
        }
        let ranks = Dictionary(others.map { ($0.link.index, classifier.type(of: $0.link).rank) }) { first, _ in first }
        others.sort { left, right in
            (left.metric, ranks[left.link.index] ?? 0, left.link.index)
                < (right.metric, ranks[right.link.index] ?? 0, right.link.index)
        }
    }

    /// The interface with the metric of the default route by which it reaches the Internet; `nil` when it does not.
    private func uplink(_ link: Link, marks: [UInt32], with queries: inout RouteSurvey) -> Available? {
        let sources = SourceJudge(interfaces: classifier)
        for family in AddressFamily.allCases where sources.hasSource(link.index, family: family) {
            for mark in [nil] + marks.map(Optional.some) {
                guard let found = boundRoute(family, by: link.index, mark: mark, with: &queries) else { continue }
                let isReceived = found.source.map { receives(to: $0, of: found, by: link.index, with: &queries) }
                return Available(link: link, metric: found.entry.metric, receives: isReceived ?? true)
            }
        }
        return nil
    }

    /// The route of packets that are bound to an interface, when it leads out by that interface.
    private func boundRoute(
        _ family: AddressFamily,
        by index: Int,
        mark: UInt32? = nil,
        with queries: inout RouteSurvey
    ) -> RouteChoice? {
        guard let found = queries.survey(family, by: index, like: findings[family], mark: mark) else { return nil }
        let legs = found.entry.legs
        guard legs.isEmpty || legs.contains(where: { $0.index == index && isLive($0) }) else { return nil }
        guard let source = found.source else { return family == .ipv6 ? found : nil }
        guard SourceJudge(interfaces: classifier).evaluate(source, by: index, family: family).isUsable else {
            return nil
        }
        return queries.obstacle(toReplies: source, from: found.destination, by: index) == nil ? found : nil
    }

    /// Whether replies to packets that are bound to an interface are received: what a tunnel sends is not bound.
    private func receives(
        to source: IPAddress,
        of choice: RouteChoice,
        by index: Int,
        with queries: inout RouteSurvey
    ) -> Bool {
        queries.obstacle(toReplies: source, from: choice.destination, by: index, isBound: true) == nil
    }

    /// For a monitor of some types: the way by its best interface, where unbound packets go elsewhere.
    mutating func askOtherWays(with survey: inout RouteSurvey) {
        guard view.isConstrained else { return }
        let sources = SourceJudge(interfaces: classifier)
        var taken: Set<Int> = []
        for family in AddressFamily.allCases where outcomes[family]?.openWay == nil {
            for other in others where other.receives && sources.hasSource(other.link.index, family: family) {
                let index = other.link.index
                guard var choice = boundRoute(family, by: index, with: &survey) else { continue }
                choice.entry.legs.removeAll { $0.index != index }
                let found = outcome(choice, by: index, with: &survey)
                guard found.openWay != nil else { continue }
                outcomes[family] = found
                taken.insert(index)
                break
            }
        }
        others.removeAll { taken.contains($0.link.index) }
    }
}
