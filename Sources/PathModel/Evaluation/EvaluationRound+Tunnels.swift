// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Netlink

/// What carries a tunnel's own packets (rule S18).
enum Underlay {
    case link(Link)
    /// They do not leave this machine.
    case broken(UnsatisfiedReason, ReasonSubject)
    /// Nobody tells.
    case unknown
}

extension EvaluationRound {
    /// Closes the ways by tunnels whose own packets do not leave.
    mutating func followTunnels(with queries: inout RouteSurvey) {
        for other in others where classifier.isTunnel(other.link) { _ = underlay(of: other.link, with: &queries) }
        let stranded = strandedTunnels
        others.removeAll { stranded.contains($0.link.index) }
        for uplink in openWays {
            var first: (UnsatisfiedReason, ReasonSubject)?
            for leg in uplink.live {
                guard let link = classifier.state.links[leg.index], classifier.isTunnel(link),
                    let (reason, subject) = fault(of: link, to: uplink.probe, with: &queries)
                else { continue }
                first = first ?? (reason, subject)
                uplink.live.removeAll { $0 == leg }
                uplink.dead.append(leg)
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
        with queries: inout RouteSurvey
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
    /// The kernel tells it for kinds that name their other end, stand on a link or mark their packets. For others, such
    /// as a VPN program behind `tun`, it is the best other interface that reaches the Internet.
    mutating func underlay(of tunnel: Link, with queries: inout RouteSurvey) -> Underlay {
        if let known = underlays[tunnel.index] { return known }
        // A tunnel that leads to itself ends here.
        underlays[tunnel.index] = .unknown
        let found = findUnderlay(of: tunnel, with: &queries)
        underlays[tunnel.index] = found
        return found
    }

    private mutating func findUnderlay(of tunnel: Link, with queries: inout RouteSurvey) -> Underlay {
        if let remote = tunnel.tunnelRemote, let answer = queries.askOuter(of: tunnel) {
            return follow(answer, to: remote, of: tunnel, with: &queries)
        }
        let below = tunnel.standsOn.flatMap { classifier.state.links[$0] } ?? markedUnderlay(of: tunnel, with: &queries)
        if let below { return follow(below, of: tunnel, with: &queries) }
        // What a serial line or a modem carries is no packet of another interface.
        if tunnel.kind == "ppp" || tunnel.hardwareType == Self.pointToPoint { return .unknown }
        let inUse = openWays.flatMap(\.live).compactMap { classifier.state.links[$0.index] }
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
        with queries: inout RouteSurvey
    ) -> Underlay {
        guard let found = try? answer.get(), found.type == .unicast else {
            return brokenInterface(below: tunnel, to: remote, of: carriers())
        }
        let legs = found.legs.filter { $0.index != tunnel.index }
        let leg = legs.first(where: isLive) ?? legs.first
        guard let below = leg.flatMap({ classifier.state.links[$0.index] }), !classifier.isLoopback(below) else {
            return brokenInterface(below: tunnel, to: remote, of: carriers())
        }
        return follow(below, of: tunnel, with: &queries)
    }

    private mutating func follow(_ below: Link, of tunnel: Link, with queries: inout RouteSurvey) -> Underlay {
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
        guard let best = candidates.min(by: { $0.precedes($1) }), let shortcoming = best.shortcoming,
            let link = classifier.state.links[best.index]
        else {
            let obstacle = remote.map { ReasonSubject.Obstacle.remote($0, of: tunnel.name) } ?? .lower(of: tunnel.name)
            return .broken(.noDefaultRoute, ReasonSubject(obstacle: obstacle))
        }
        return .broken(shortcoming.reason, classifier.subject(link, obstacle: .lower(of: tunnel.name)))
    }

    /// Where the other end is not known and no other interface reaches the Internet: those that have a default route are
    /// what the tunnel ran over; without any, an interface that works may be.
    private func unusedUnderlay(of tunnel: Link, with queries: inout RouteSurvey) -> Underlay {
        var candidates = carriers()
        var preferred: [ReasonCandidate] = []
        for candidate in candidates where classifier.state.routableInterfaces.contains(candidate.index) {
            let choices = AddressFamily.allCases.compactMap { queries.survey($0, by: candidate.index, like: nil) }
            let isRouted = choices.contains { $0.legs.contains { $0.index == candidate.index } }
            if isRouted { preferred.append(candidate) }
        }
        if !preferred.isEmpty { candidates = preferred }
        guard !candidates.isEmpty, candidates.allSatisfy({ $0.shortcoming != nil }) else { return .unknown }
        return brokenInterface(below: tunnel, of: candidates)
    }

    private func markedUnderlay(of tunnel: Link, with queries: inout RouteSurvey) -> Link? {
        guard let mark = tunnel.tunnelMark, mark != 0 else { return nil }
        for uplink in openWays {
            guard let answer = queries.askUnbound(uplink.probe, mark: mark) else { continue }
            let leg = answer.legs.first { $0.index != tunnel.index && isLive($0) }
            if let below = leg.flatMap({ classifier.state.links[$0.index] }) { return below }
        }
        return nil
    }
}
