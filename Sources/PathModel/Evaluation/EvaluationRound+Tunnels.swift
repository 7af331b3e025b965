// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Netlink

/// What carries a tunnel's own packets (rule S18).
enum Underlay {
    case link(Link)
    /// They do not leave this machine.
    case broken(UnsatisfiedReason, ReasonSubject)
    /// It is not known.
    case unknown
}

extension EvaluationRound {
    /// Closes the routes by tunnels whose own packets do not leave.
    mutating func followTunnels(with queries: inout RouteQueries) {
        for other in others where classifier.isTunnel(other.link) { _ = underlay(of: other.link, with: &queries) }
        let stranded = strandedTunnels
        others.removeAll { stranded.contains($0.link.index) }
        for uplink in openUplinks {
            var first: (UnsatisfiedReason, ReasonSubject)?
            for nexthop in uplink.live {
                guard let link = classifier.state.links[nexthop.index], classifier.isTunnel(link),
                    let (reason, subject) = fault(of: link, to: uplink.probe, with: &queries)
                else { continue }
                first = first ?? (reason, subject)
                uplink.live.removeAll { $0 == nexthop }
                uplink.dead.append(nexthop)
            }
            guard let (reason, subject) = first else { continue }
            uplink.warnings.insert(.degraded)
            if uplink.live.isEmpty { outcomes[uplink.family] = .stranded(uplink, reason, subject) }
        }
    }

    /// Why packets to a destination do not leave by a tunnel.
    mutating func fault(
        of tunnel: Link,
        to destination: IPAddress,
        with queries: inout RouteQueries
    ) -> (UnsatisfiedReason, ReasonSubject)? {
        switch queries.answer(of: tunnel, to: destination) {
        case .refused(let refusal):
            return (.noPeer, ReasonSubject(interface: tunnel.name, obstacle: .tunnel(refusal)))
        case .sent(let remote, let index, let mark):
            let answer = queries.lookupOuter(to: remote, by: index, mark: mark)
            let found = follow(answer, to: remote, of: tunnel, with: &queries)
            guard case .broken(let reason, let subject) = found else {
                underlays[tunnel.index] = found
                return nil
            }
            if underlays[tunnel.index] == nil { underlays[tunnel.index] = found }
            return (reason, subject)
        case .unknown: break
        }
        guard case .broken(let reason, let subject) = underlay(of: tunnel, with: &queries) else { return nil }
        return (reason, subject)
    }

    /// The interface that carries a tunnel's own packets.
    ///
    /// The kernel reports it for kinds that name their other end, stand on a link or mark their packets. For others, such
    /// as a VPN program behind `tun`, it is the best other interface that reaches the Internet.
    mutating func underlay(of tunnel: Link, with queries: inout RouteQueries) -> Underlay {
        if let known = underlays[tunnel.index] { return known }
        // A tunnel that leads to itself ends here.
        underlays[tunnel.index] = .unknown
        let found = findUnderlay(of: tunnel, with: &queries)
        underlays[tunnel.index] = found
        return found
    }

    private mutating func findUnderlay(of tunnel: Link, with queries: inout RouteQueries) -> Underlay {
        // Its packets leave from the network namespace that it was made in.
        if tunnel.isLowerElsewhere { return .unknown }
        if let remote = tunnel.tunnelRemote, let answer = queries.lookupOuter(of: tunnel) {
            return follow(answer, to: remote, of: tunnel, with: &queries)
        }
        if let below = tunnel.standsOn.flatMap({ classifier.state.links[$0] }) {
            return follow(below, of: tunnel, with: &queries)
        }
        if let found = markedUnderlay(of: tunnel, with: &queries) { return found }
        if isTranslator(tunnel) { return underlay(ofTranslator: tunnel, with: &queries) }
        // What a serial line or a modem carries is no packet of another interface.
        if tunnel.kind == "ppp" || tunnel.hardwareType == Self.pointToPoint { return .unknown }
        let inUse = openUplinks.flatMap(\.live).compactMap { classifier.state.links[$0.index] }
        if let below = (others.map(\.link) + inUse).first(where: { !classifier.isTunnel($0) }) { return .link(below) }
        return unusedUnderlay(of: tunnel, with: &queries)
    }

    /// `ARPHRD_PPP`.
    private static let pointToPoint: UInt16 = 512

    /// What the route to a tunnel's other end means.
    private mutating func follow(
        _ answer: Result<RouteAnswer, RouteFailure>,
        to remote: IPAddress,
        of tunnel: Link,
        with queries: inout RouteQueries
    ) -> Underlay {
        guard let found = try? answer.get(), found.type == .unicast else {
            return brokenInterface(below: tunnel, to: remote, of: carriers())
        }
        let nexthops = found.nexthops.filter { $0.index != tunnel.index }
        let nexthop = nexthops.first(where: isLive) ?? nexthops.first
        guard let below = nexthop.flatMap({ classifier.state.links[$0.index] }), !classifier.isLoopback(below) else {
            return brokenInterface(below: tunnel, to: remote, of: carriers())
        }
        return follow(below, of: tunnel, with: &queries)
    }

    private mutating func follow(_ below: Link, of tunnel: Link, with queries: inout RouteQueries) -> Underlay {
        if let fault = classifier.fault(of: below) {
            let subject = classifier.subject(fault.port ?? below, obstacle: .lower(of: tunnel.name))
            return .broken(fault.problem.reason, subject)
        }
        return classifier.isTunnel(below) ? underlay(of: below, with: &queries) : .link(below)
    }

    /// Interfaces that may carry tunnels: hardware, and others with addresses that are not the machine's own networks.
    private func carriers() -> [ReasonCandidate] {
        reasonCandidates().filter { candidate in
            guard let link = classifier.state.links[candidate.index], !classifier.isTunnel(link) else { return false }
            return candidate.tier == 0
                || link.kind != "bridge" && classifier.state.routableInterfaces.contains(link.index)
        }
    }

    /// Says which interface keeps a tunnel's packets from leaving.
    private func brokenInterface(
        below tunnel: Link,
        to remote: IPAddress? = nil,
        of candidates: [ReasonCandidate]
    ) -> Underlay {
        guard let best = candidates.min(by: { $0.precedes($1) }), let unusableReason = best.unusableReason,
            let link = classifier.state.links[best.index]
        else {
            let obstacle = remote.map { ReasonSubject.Obstacle.remote($0, of: tunnel.name) } ?? .lower(of: tunnel.name)
            return .broken(.noDefaultRoute, ReasonSubject(obstacle: obstacle))
        }
        return .broken(unusableReason.reason, classifier.subject(link, obstacle: .lower(of: tunnel.name)))
    }

    /// Where the other end is not known and no other interface reaches the Internet: the tunnel ran over an interface that has
    /// or had a default route, or has a route that somebody made, to the VPN's server perhaps.
    ///
    /// Nothing is concluded as long as one of them works, and without any: a program in another network namespace may serve
    /// the tunnel, as it does where `/proc` shows it. No program serves an L2TP session, which the kernel gives no kind: any interface may carry it.
    private func unusedUnderlay(of tunnel: Link, with queries: inout RouteQueries) -> Underlay {
        if tunnel.kind == nil, hasOtherInterface { return .unknown }
        var carrying: [ReasonCandidate] = []
        let isCutOff = holds(queries.table) {
            carrying = carriers().filter { candidate in
                tunnel.kind == nil
                    || classifier.memory.everAvailable.contains(candidate.index)
                    || queries.table.carriesRoutes(candidate.index)
            }
            return !carrying.isEmpty && !carrying.contains(where: \.works) && !hasOtherTunnel(than: tunnel, queries)
        }
        guard isCutOff, tunnel.kind != "tun" || queries.table.program(of: tunnel) != .elsewhere else { return .unknown }
        return brokenInterface(below: tunnel, of: carrying)
    }

    /// Whether something that closes a tunnel is so, and still is once the routes are read again that it rests on.
    private func holds(_ table: any ForwardingTable, _ condition: () -> Bool) -> Bool {
        condition() && (!table.refreshCarriers() || condition())
    }

    /// Whether an interface works and has an address, be it a bridge, in a VRF, or one that is ignored.
    private var hasOtherInterface: Bool {
        classifier.state.routableInterfaces.contains { index in
            guard let link = classifier.state.links[index] else { return false }
            return !classifier.isLoopback(link) && !classifier.isTunnel(link) && classifier.isUsable(link)
        }
    }

    /// Whether another tunnel or a serial line works and has a route that somebody made.
    private func hasOtherTunnel(than tunnel: Link, _ queries: RouteQueries) -> Bool {
        classifier.state.links.values.contains { link in
            switch underlays[link.index] {
            // It is known, or being found out for this one.
            case .broken?, .unknown?: return false
            case .link?, nil: break
            }
            return link.index != tunnel.index && classifier.isTunnel(link) && classifier.isUsable(link)
                && queries.table.carriesRoutes(link.index)
        }
    }

    /// The route of packets that carry the tunnel's mark, which the kernel reports, or which the rules exempt that lead all
    /// others into the tunnel; `nil` without a mark.
    private mutating func markedUnderlay(of tunnel: Link, with queries: inout RouteQueries) -> Underlay? {
        guard let uplink = openUplinks.first(where: { $0.live.contains { $0.index == tunnel.index } }) else {
            return nil
        }
        let own = tunnel.tunnelMark.flatMap { $0 == 0 ? nil : [$0] }
        let marks = own ?? queries.table.marksExempt(fromTable: uplink.answer.table, uplink.family)
        var (live, dead): (Link?, Link?)
        var failure: RouteFailure?
        for mark in marks {
            for probe in AddressFamily.allCases.compactMap({ classifier.policy.probes[$0]?.first }) {
                let found = queries.lookupUnbound(probe, mark: mark)
                if case .failure(let reason) = found, reason.isExplicit { failure = failure ?? reason }
                guard let answer = try? found.get(), answer.type == .unicast else { continue }
                let nexthops = answer.nexthops.filter { $0.index != tunnel.index }
                live = live ?? nexthops.first(where: isLive).flatMap { classifier.state.links[$0.index] }
                dead = dead ?? nexthops.first.flatMap { classifier.state.links[$0.index] }
            }
        }
        if let below = live ?? dead { return follow(below, of: tunnel, with: &queries) }
        let (table, sources) = (queries.table, SourceEvaluator(interfaces: classifier))
        let passing = AddressFamily.allCases.filter { family in !marks.allSatisfy { table.refuses(mark: $0, family) } }
        let isRefused = passing.count < AddressFamily.allCases.count
        guard !marks.isEmpty, own == nil || isRefused else { return nil }
        // The server may be behind a route of its own, unless a rule refuses all packets with the mark.
        let isWithoutRoute = holds(table) {
            let mayCarry = carriers().contains { candidate in
                // The kernel's own route leads to a server on the link, too.
                candidate.works
                    && passing.contains {
                        table.carriesRoutes(candidate.index, $0)
                            || own != nil && sources.hasSource(candidate.index, family: $0)
                    }
            }
            return !mayCarry && (passing.isEmpty || !hasOtherTunnel(than: tunnel, queries))
        }
        guard isWithoutRoute else { return own == nil ? .unknown : nil }
        return withoutRoute(below: tunnel, isRefused ? failure?.reason ?? .noDefaultRoute : .noDefaultRoute)
    }

    /// Whether a tunnel carries IPv4 packets over IPv6, by the addresses that are set aside for that (RFC 7335).
    private func isTranslator(_ tunnel: Link) -> Bool {
        let range = IPPrefix(.v4(0xC000_0000), length: 29)
        return classifier.state.addresses[tunnel.index]?.contains { range.contains($0.value.address) } ?? false
    }

    /// What carries the IPv6 packets of a translator (CLAT) or of a tunnel to the provider (DS-Lite), which have neither mark
    /// nor interface of the monitor.
    private mutating func underlay(ofTranslator tunnel: Link, with queries: inout RouteQueries) -> Underlay {
        guard classifier.state.hasRoutableAddress(.ipv6) else {
            return withoutRoute(below: tunnel, .noDefaultRoute, .ipv6)
        }
        var failure: RouteFailure?
        for probe in classifier.policy.probes[.ipv6] ?? [] {
            switch queries.lookupOuter(to: probe, by: nil, mark: 0) {
            case .success(let answer) where answer.type == .unicast:
                let nexthops = answer.nexthops.filter { $0.index != tunnel.index }
                let chosen = nexthops.first(where: isLive) ?? nexthops.first
                let below = chosen.flatMap { classifier.state.links[$0.index] }
                return below.map { follow($0, of: tunnel, with: &queries) } ?? .unknown
            case .success: return .unknown
            case .failure(let reason): failure = failure ?? reason
            }
        }
        guard let failure else { return .unknown }
        // The prefix of the translator may have a route of its own.
        let isWithoutRoute = holds(queries.table) {
            !carriers().contains { $0.works && queries.table.carriesRoutes($0.index, .ipv6) }
        }
        return isWithoutRoute ? withoutRoute(below: tunnel, failure.reason, .ipv6) : .unknown
    }

    /// Says that an interface works, and no route leads out by it.
    private func withoutRoute(
        below tunnel: Link,
        _ reason: UnsatisfiedReason = .noDefaultRoute,
        _ family: AddressFamily? = nil
    ) -> Underlay {
        let carriers = carriers()
        guard let best = carriers.min(by: { $0.precedes($1) }), best.works,
            let link = classifier.state.links[best.index]
        else { return brokenInterface(below: tunnel, of: carriers) }
        var subject = classifier.subject(link, obstacle: .lower(of: tunnel.name))
        subject.family = family
        return .broken(reason, subject)
    }
}
