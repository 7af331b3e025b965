// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Netlink

struct EvaluationRound {
    let classifier: InterfaceClassifier
    let view: MonitorView
    let now: Duration
    var outcomes = PerFamily<FamilyOutcome>()
    var findings = PerFamily<RouteFinding>()
    /// Interfaces that are available besides those in use, best first.
    var others: [Available] = []
    var configuringEnd: Duration?
    /// Whether the kernel keeps a default route that ran out.
    var keepsLapsed = false
    /// What carries the tunnels evaluated so far.
    var underlays: [Int: Underlay] = [:]

    /// An interface that reaches the Internet when packets are bound to it.
    struct Available {
        let link: Link
        let metric: UInt32
        /// Whether answers to packets that are bound to it are received.
        let receives: Bool
    }

    /// The routes that are open, IPv4 first.
    var openUplinks: [Uplink] {
        switch (outcomes[.ipv4]?.openUplink, outcomes[.ipv6]?.openUplink) {
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
        (outcomes[.ipv4]?.openUplink?.expiries ?? []) + (outcomes[.ipv6]?.openUplink?.expiries ?? [])
    }
}

// MARK: - Families

extension EvaluationRound {
    /// Finds out what becomes of unbound packets of each family (rules S20, S21).
    ///
    /// A family without an address to come from is not open (rule S24). The table is queried for the reason, which is
    /// not needed where the other one is open.
    mutating func evaluateFamilies(with queries: inout RouteQueries) {
        for family in AddressFamily.allCases {
            if !openUplinks.isEmpty, !classifier.state.hasRoutableAddress(family) { continue }
            let finding = queries.findRoute(family)
            findings[family] = finding
            switch finding {
            case .refused(let refusal, _):
                if family == .ipv6 { noteLapsed(queries.defaultRoutes(.ipv6, table: 254)) }
                outcomes[family] = .refused(refusal)
            case .found(var choice, _):
                considerNeighbors(of: &choice, with: &queries)
                outcomes[family] = outcome(choice, by: nil, with: &queries)
                guard let uplink = outcomes[family]?.openUplink else { continue }
                if queries.transport != nil, datagramsDiffer(from: uplink, with: &queries) {
                    uplink.warnings.insert(.datagramsDiffer)
                }
                outcomes[family] = filtered(uplink, with: queries)
            }
        }
    }

    /// Considers what comes behind the table (rule S55).
    private func filtered(_ uplink: Uplink, with queries: RouteQueries) -> FamilyOutcome {
        func obstacles(_ transport: Transport) -> [OutputObstacle] {
            uplink.live.compactMap { nexthop in
                let source = uplink.boundSources[nexthop.index] ?? uplink.source
                let output = queries.output(of: transport, from: source, to: uplink.probe, by: nexthop.index)
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
    mutating func outcome(_ choice: RouteChoice, by index: Int?, with queries: inout RouteQueries) -> FamilyOutcome {
        let uplink = Uplink(choice)
        queries.neighbors.gateways.formUnion(choice.nexthops.compactMap(\.router))
        queries.neighbors.rivals.formUnion(choice.nexthops.filter(classifier.needsNeighbor).compactMap(\.router))
        for nexthop in choice.nexthops {
            if classifier.isLive(nexthop) { uplink.live.append(nexthop) } else { uplink.dead.append(nexthop) }
        }
        guard !uplink.live.isEmpty else {
            return choice.nexthops.isEmpty ? .refused(RouteRefusal(failure: .noRoute)) : .dead(uplink)
        }
        if view.hasRequirements {
            let requirements = uplink.live.map { nexthop in
                classifier.state.links[nexthop.index].flatMap { view.unmetRequirement(ofRouteBy: $0) }
            }
            if let requirement = requirements.first ?? nil, !requirements.contains(where: { $0 == nil }) {
                return .forbidden(uplink, requirement: requirement)
            }
            uplink.live = zip(uplink.live, requirements).filter { $1 == nil }.map(\.0)
        }
        if index == nil { excludeRefusedNexthops(of: uplink, with: &queries) }
        if !uplink.dead.isEmpty { uplink.warnings.insert(.degraded) }
        if choice.datagramsDiffer { uplink.warnings.insert(.datagramsDiffer) }
        chooseLiveNexthop(of: uplink, with: &queries)
        let outcome = finish(uplink, by: index, with: &queries)
        guard case .open = outcome else { return outcome }
        if let source = uplink.source,
            let obstacle = queries.obstacle(
                toReplies: source,
                from: uplink.probe,
                by: uplink.live[0].index,
                isBound: index != nil
            )
        {
            return .noSource(uplink, SourceEvaluator.Verdict(obstacle: obstacle))
        }
        noteOtherSources(of: uplink, with: &queries)
        return outcome
    }

    /// Whether datagrams to the ports that programs use use another route than connections do, or none.
    private func datagramsDiffer(from uplink: Uplink, with queries: inout RouteQueries) -> Bool {
        [Transport.quic, .dns].contains { transport in
            queries.querying(as: transport) { queries in
                guard let choice = try? queries.connect(uplink.probe).get(), choice.source == uplink.choice.source,
                    let alone = try? queries.lookup(uplink.probe, .decision).get()
                else { return true }
                let nexthops = choice.nexthops + alone.nexthops
                return !nexthops.allSatisfy { nexthop in
                    uplink.choice.nexthops.contains { $0.isSameNexthop(as: nexthop) }
                }
            }
        }
    }

    /// Finds the addresses of packets that use other nexthops of a multipath route (rule S31).
    private func noteOtherSources(of uplink: Uplink, with queries: inout RouteQueries) {
        guard uplink.live.count > 1 else { return }
        for nexthop in uplink.live {
            uplink.boundSources[nexthop.index] = try? queries.lookup(uplink.probe, .decision, by: nexthop.index).get()
                .preferredSource
            guard let source = uplink.boundSources[nexthop.index], source != uplink.source,
                !uplink.otherSources.contains(source),
                SourceEvaluator(interfaces: classifier).evaluate(source, by: nexthop.index, family: uplink.family)
                    .isUsable
            else { continue }
            uplink.otherSources.append(source)
        }
    }

    /// Leaves out nexthops of an IPv4 multipath route from whose addresses packets are refused while there are others: the
    /// kernel looks up again from the address of the selected nexthop (rule S20).
    private func excludeRefusedNexthops(of uplink: Uplink, with queries: inout RouteQueries) {
        guard uplink.family == .ipv4, uplink.live.count > 1 else { return }
        let isRefused = uplink.live.map { nexthop in
            let source = try? queries.lookup(uplink.probe, .decision, by: nexthop.index).get().preferredSource
            guard let source, source != uplink.choice.source else { return false }
            return queries.isRefused(uplink.probe, from: source)
        }
        guard isRefused.contains(false) else { return }
        uplink.dead += zip(uplink.live, isRefused).filter(\.1).map(\.0)
        uplink.live = zip(uplink.live, isRefused).filter { !$1 }.map(\.0)
    }

    /// Uses the source of a live nexthop: the kernel may still hash the probe onto a dead one (rule S31), or have
    /// alternated to one.
    private func chooseLiveNexthop(of uplink: Uplink, with queries: inout RouteQueries) {
        let chosen = uplink.choice.decision.nexthops
        let isLive = chosen.contains { nexthop in uplink.live.contains { $0.index == nexthop.index } }
        if isLive && !uplink.choice.alternates || chosen.isEmpty { return }
        guard let decision = try? queries.lookup(uplink.probe, .decision, by: uplink.live.first?.index).get() else {
            return
        }
        uplink.choice.decision = decision
        uplink.choice.soughtFrom = decision.preferredSource ?? uplink.choice.soughtFrom
    }

    private mutating func finish(
        _ uplink: Uplink,
        by index: Int?,
        with queries: inout RouteQueries
    ) -> FamilyOutcome {
        let chosen = uplink.choice.decision.nexthops
        let nexthop = chosen.first { chosen in uplink.live.contains { $0.index == chosen.index } } ?? uplink.live[0]
        let source = uplink.choice.source
        let hop = nexthop.router.map { classifier.state.neighborState($0) } ?? .none
        let verdict = SourceEvaluator(interfaces: classifier).evaluate(
            source,
            by: nexthop.index,
            family: uplink.family,
            hop: hop
        )
        if verdict.needsResolvedHop, let router = nexthop.router { queries.neighbors.rivals.insert(router) }
        guard let source, verdict.isUsable else { return .noSource(uplink, verdict) }
        uplink.source = source
        uplink.warnings.formUnion(verdict.warnings)
        if let seconds = uplink.answer.expiresIn ?? uplink.choice.decision.expiresIn {
            uplink.expiries.append(
                Expiry(subject: .route(uplink.family, index: nexthop.index), at: now + .seconds(seconds))
            )
        }
        if let held = verdict.held, let end = held.validUntil {
            uplink.expiries.append(Expiry(subject: .address(source, index: held.value.index), at: end))
        }
        var silent = 0
        for nexthop in uplink.live {
            if let router = nexthop.router, classifier.state.isReachable(router) == false { silent += 1 }
        }
        if uplink.live.allSatisfy({ isUnanswered($0, of: uplink, bound: index, with: &queries) }) {
            uplink.isUnanswered = true
            silent = uplink.live.count
        }
        if silent > 0 { uplink.warnings.insert(.gatewayUnresolved) }
        let isDormant = uplink.live.contains { classifier.state.links[$0.index]?.operationalState == .dormant }
        if isDormant { uplink.warnings.insert(.waitsForAuthentication) }
        let isReduced = uplink.live.contains { classifier.state.links[$0.index].map(classifier.isReduced) ?? false }
        if isReduced { uplink.warnings.insert(.redundancyLost) }
        if classifier.policy.isGatewayStrict, silent > 0, silent == uplink.live.count { return .silent(uplink) }
        return .open(uplink)
    }

    func isLive(_ nexthop: RouteNexthop) -> Bool { classifier.isLive(nexthop) }
}

extension InterfaceClassifier {
    /// Whether packets leave by the next hop: its link works, and it is neither the machine itself nor a port.
    ///
    /// A port of a bridge or bond sends, but what comes back is the master's, answers to ARP included (rule S15).
    func isLive(_ nexthop: RouteNexthop) -> Bool {
        guard !nexthop.flags.contains(.dead), let link = state.links[nexthop.index] else { return false }
        // IPv6 keeps the flag on routes by a link that has its carrier again and is dormant, and uses them anyway.
        if nexthop.flags.contains(.linkDown), link.operationalState != .dormant { return false }
        return isUsable(link) && !isLoopback(link) && !isEnslaved(link) && brokenPort(of: nexthop) == nil
            && !isMute(nexthop)
    }

    /// Kinds of links whose frames reach a receiver by its hardware address; hardware, and what stands on it, may be a modem.
    private static let framed: Set<String> = ["veth", "bridge", "bond", "team"]

    /// Whether the router of a nexthop is never resolved, as on an Ethernet link without ARP (`ip link set arp off`).
    ///
    /// Both families do without then.
    func isWithoutResolution(_ nexthop: RouteNexthop) -> Bool {
        guard nexthop.gateway != nil, let link = state.links[nexthop.index], link.hardwareType == 1,
            link.flags.contains(.noARP), link.flags.isDisjoint(with: [.pointToPoint, .loopback])
        else { return false }
        return link.kind.map(Self.framed.contains) ?? false
    }

    /// Whether packets to the router carry the interface's own hardware address, so that nobody receives them: the kernel fills
    /// that in (`arp_constructor`) where nobody made an entry.
    func isMute(_ nexthop: RouteNexthop) -> Bool {
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
    mutating func findOtherInterfaces(with queries: inout RouteQueries) {
        var inUse: [Int] = []
        for uplink in openUplinks { inUse += uplink.live.map(\.index) }
        var candidates: [Link] = []
        for index in classifier.state.routableInterfaces where !inUse.contains(index) {
            guard let link = classifier.state.links[index], classifier.isUsable(link), classifier.isEligible(link),
                view.covers(link),
                view.unmetRequirement(of: link) == nil
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
    private func uplink(_ link: Link, marks: [UInt32], with queries: inout RouteQueries) -> Available? {
        let sources = SourceEvaluator(interfaces: classifier)
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
        with queries: inout RouteQueries
    ) -> RouteChoice? {
        guard let found = queries.findRoute(family, by: index, like: findings[family], mark: mark) else { return nil }
        let nexthops = found.entry.nexthops
        guard nexthops.isEmpty || nexthops.contains(where: { $0.index == index && isLive($0) }) else { return nil }
        guard let source = found.source else { return family == .ipv6 ? found : nil }
        guard SourceEvaluator(interfaces: classifier).evaluate(source, by: index, family: family).isUsable else {
            return nil
        }
        return queries.obstacle(toReplies: source, from: found.destination, by: index) == nil ? found : nil
    }

    /// Whether replies to packets that are bound to an interface are received: what a tunnel sends is not bound.
    private func receives(
        to source: IPAddress,
        of choice: RouteChoice,
        by index: Int,
        with queries: inout RouteQueries
    ) -> Bool {
        queries.obstacle(toReplies: source, from: choice.destination, by: index, isBound: true) == nil
    }

    /// For a monitor of some types: the route by its best interface, where unbound packets go elsewhere.
    mutating func findOtherUplinks(with queries: inout RouteQueries) {
        guard view.isConstrained else { return }
        let sources = SourceEvaluator(interfaces: classifier)
        var selected: Set<Int> = []
        for family in AddressFamily.allCases where outcomes[family]?.openUplink == nil {
            for other in others where other.receives && sources.hasSource(other.link.index, family: family) {
                let index = other.link.index
                guard var choice = boundRoute(family, by: index, with: &queries) else { continue }
                choice.entry.nexthops.removeAll { $0.index != index }
                let found = outcome(choice, by: index, with: &queries)
                guard found.openUplink != nil else { continue }
                outcomes[family] = found
                selected.insert(index)
                break
            }
        }
        others.removeAll { selected.contains($0.link.index) }
    }
}
