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
    mutating func followTunnels(with survey: inout RouteSurvey) {
        for other in others where judge.isTunnel(other.link) { _ = underlay(of: other.link, with: &survey) }
        let stranded = strandedTunnels
        others.removeAll { stranded.contains($0.link.index) }
        for way in openWays {
            var first: (UnsatisfiedReason, ReasonSubject)?
            for leg in way.live {
                guard let link = judge.state.links[leg.index], judge.isTunnel(link),
                    case .broken(let reason, let subject) = underlay(of: link, with: &survey)
                else { continue }
                first = first ?? (reason, subject)
                way.live.removeAll { $0 == leg }
                way.dead.append(leg)
            }
            guard let (reason, subject) = first else { continue }
            way.warnings.insert(.degraded)
            if way.live.isEmpty { outcomes[way.family] = .stranded(way, reason, subject) }
        }
    }

    /// The interface that carries a tunnel's own packets.
    ///
    /// The kernel tells it for kinds that name their other end, stand on a link or mark their packets. For others, such
    /// as a VPN program behind `tun`, it is the best other interface that reaches the Internet.
    mutating func underlay(of tunnel: Link, with survey: inout RouteSurvey) -> Underlay {
        if let known = underlays[tunnel.index] { return known }
        // A tunnel that leads to itself ends here.
        underlays[tunnel.index] = .unknown
        let found = findUnderlay(of: tunnel, with: &survey)
        underlays[tunnel.index] = found
        return found
    }

    private mutating func findUnderlay(of tunnel: Link, with survey: inout RouteSurvey) -> Underlay {
        if let answer = survey.askOuter(of: tunnel) { return follow(answer, of: tunnel, with: &survey) }
        let below = tunnel.standsOn.flatMap { judge.state.links[$0] } ?? markedUnderlay(of: tunnel, with: &survey)
        if let below { return follow(below, of: tunnel, with: &survey) }
        // What a serial line or a modem carries is no packet of another interface.
        if tunnel.kind == "ppp" || tunnel.hardwareType == Self.pointToPoint { return .unknown }
        let inUse = openWays.flatMap(\.live).compactMap { judge.state.links[$0.index] }
        if let below = (others.map(\.link) + inUse).first(where: { !judge.isTunnel($0) }) { return .link(below) }
        return unusedUnderlay(of: tunnel, with: &survey)
    }

    /// `ARPHRD_PPP`.
    private static let pointToPoint: UInt16 = 512

    /// What the route to a tunnel's other end means.
    private mutating func follow(
        _ answer: Result<RouteAnswer, RouteFailure>,
        of tunnel: Link,
        with survey: inout RouteSurvey
    ) -> Underlay {
        guard let found = try? answer.get(), found.type == .unicast else {
            return brokenInterface(below: tunnel, of: carriers())
        }
        let legs = found.legs.filter { $0.index != tunnel.index }
        let leg = legs.first(where: isLive) ?? legs.first
        guard let below = leg.flatMap({ judge.state.links[$0.index] }), !judge.isLoopback(below) else {
            return brokenInterface(below: tunnel, of: carriers())
        }
        return follow(below, of: tunnel, with: &survey)
    }

    private mutating func follow(_ below: Link, of tunnel: Link, with survey: inout RouteSurvey) -> Underlay {
        if let shortcoming = below.shortcoming {
            return .broken(shortcoming.reason, ReasonSubject(interface: below.name, obstacle: .lower(of: tunnel.name)))
        }
        return judge.isTunnel(below) ? underlay(of: below, with: &survey) : .link(below)
    }

    /// Interfaces that may carry tunnels: hardware, and others with addresses that are not the machine's own networks.
    private func carriers() -> [ReasonCandidate] {
        reasonCandidates().filter { candidate in
            guard let link = judge.state.links[candidate.index], !judge.isTunnel(link) else { return false }
            return candidate.tier == 0 || link.kind != "bridge" && judge.state.routableInterfaces.contains(link.index)
        }
    }

    /// Says which interface keeps a tunnel's packets from leaving.
    private func brokenInterface(below tunnel: Link, of candidates: [ReasonCandidate]) -> Underlay {
        guard let best = candidates.min(by: { $0.precedes($1) }), let shortcoming = best.shortcoming,
            let link = judge.state.links[best.index]
        else { return .broken(.noDefaultRoute, ReasonSubject(obstacle: .lower(of: tunnel.name))) }
        return .broken(shortcoming.reason, ReasonSubject(interface: link.name, obstacle: .lower(of: tunnel.name)))
    }

    /// Where the other end is not known and no other interface reaches the Internet: those that have a default route are
    /// what the tunnel ran over; without any, an interface that works may be.
    private func unusedUnderlay(of tunnel: Link, with survey: inout RouteSurvey) -> Underlay {
        var candidates = carriers()
        var preferred: [ReasonCandidate] = []
        for candidate in candidates where judge.state.routableInterfaces.contains(candidate.index) {
            let choices = AddressFamily.allCases.compactMap { survey.survey($0, by: candidate.index, like: nil) }
            let isRouted = choices.contains { $0.legs.contains { $0.index == candidate.index } }
            if isRouted { preferred.append(candidate) }
        }
        if !preferred.isEmpty { candidates = preferred }
        guard !candidates.isEmpty, candidates.allSatisfy({ $0.shortcoming != nil }) else { return .unknown }
        return brokenInterface(below: tunnel, of: candidates)
    }

    private func markedUnderlay(of tunnel: Link, with survey: inout RouteSurvey) -> Link? {
        guard let mark = tunnel.tunnelMark, mark != 0 else { return nil }
        for way in openWays {
            guard let answer = survey.askUnbound(way.probe, mark: mark) else { continue }
            let leg = answer.legs.first { $0.index != tunnel.index && isLive($0) }
            if let below = leg.flatMap({ judge.state.links[$0.index] }) { return below }
        }
        return nil
    }
}
