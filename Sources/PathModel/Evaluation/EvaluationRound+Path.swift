// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Netlink

extension EvaluationRound {
    /// Puts the answers together.
    mutating func path(with survey: inout RouteSurvey) -> Path {
        let ways = openWays
        let inUse = interfacesInUse(ways)
        var path = Path()
        path.interfaces = (inUse + others.map(\.link)).map(judge.pathInterface)
        path.ipv4 = ways.first { $0.family == .ipv4 }.flatMap(familyPath)
        path.ipv6 = ways.first { $0.family == .ipv6 }.flatMap(familyPath)
        path.dns = DNSJudge(state: judge.state, facts: judge.facts.dns).judge(with: &survey)
        guard let first = inUse.first else {
            (path.reason, path.subject) = unsatisfiedReason()
            path.status = canConnect ? .requiresConnection : .unsatisfied
            return path
        }
        path.status = .satisfied
        path.reason = nil
        let warnings = ways.reduce(into: Set<PathWarning>()) { $0.formUnion($1.warnings) }
        path.warnings = PathWarning.allCases.filter(warnings.contains)
        var payer = first
        for link in inUse where judge.isTunnel(link) {
            guard let below = underlay(of: link, inUse: inUse, with: &survey) else { continue }
            if link.index == first.index { payer = below }
            let type = judge.type(of: below)
            if !path.underlyingTypes.contains(type) { path.underlyingTypes.append(type) }
        }
        let cost = CostJudge(judge: judge)
        let own = judge.decision(for: first)
        path.isExpensive = own?.isExpensive ?? cost.isExpensive(payer)
        path.isConstrained = own?.isConstrained ?? cost.isConstrained(payer)
        path.isUltraConstrained = own?.isUltraConstrained ?? cost.isUltraConstrained(payer)
        return path
    }

    /// The interfaces in use: for both families first, then for IPv4, then for IPv6 (rule S17).
    private func interfacesInUse(_ ways: [WayOut]) -> [Link] {
        var found: [(key: (group: Int, rank: Int, index: Int), link: Link)] = []
        for way in ways {
            for leg in way.live {
                if let place = found.firstIndex(where: { $0.link.index == leg.index }) {
                    // IPv4 comes first, so that only IPv6 can make it both.
                    if way.family == .ipv6 && found[place].key.group == 1 { found[place].key.group = 0 }
                } else if let link = judge.state.links[leg.index] {
                    found.append(((way.family == .ipv4 ? 1 : 2, judge.type(of: link).rank, link.index), link))
                }
            }
        }
        return found.sorted { $0.key < $1.key }.map(\.link)
    }

    /// How packets of one family leave, in words for others (rule S34).
    private func familyPath(_ way: WayOut) -> FamilyPath? {
        guard let source = way.source else { return nil }
        var interfaces: [PathInterface] = []
        var gateways: [Gateway] = []
        for leg in way.live {
            guard let link = judge.state.links[leg.index] else { continue }
            if !interfaces.contains(where: { $0.index == link.index }) { interfaces.append(judge.pathInterface(link)) }
            guard let address = leg.gateway else { continue }
            let gateway = Gateway(
                address: ScopedAddress(address, scope: link.name),
                interface: link.name,
                family: way.family,
                metric: way.answer.metric,
                isReachable: judge.state.isReachable(NeighborKey(index: link.index, address: address))
            )
            if !gateways.contains(gateway) { gateways.append(gateway) }
        }
        return FamilyPath(interfaces: interfaces, gateways: gateways, source: source)
    }

    /// The interface that carries a tunnel's own packets (rule S18).
    ///
    /// The kernel tells it for kinds that stand on a link or mark their packets. For others, such as a VPN program
    /// behind `tun`, it is the best other interface that reaches the Internet.
    private func underlay(
        of tunnel: Link,
        inUse: [Link],
        with survey: inout RouteSurvey
    ) -> Link? {
        var link = tunnel
        for _ in 0..<4 {
            guard judge.isTunnel(link) else { return link }
            if let below = link.standsOn.flatMap({ judge.state.links[$0] }) {
                link = below
            } else if let below = markedUnderlay(of: link, with: &survey) {
                link = below
            } else {
                return (others.map(\.link) + inUse).first { !judge.isTunnel($0) }
            }
        }
        return nil
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

    /// Whether something can be brought up on demand, or is being brought up (rule S23).
    private var canConnect: Bool {
        if judge.facts.isConnecting && !view.isConstrained && view.bound == nil { return true }
        return judge.facts.devices.contains { index, device in
            guard device.phase == .connecting || device.phase == .activatable else { return false }
            guard let link = judge.state.links[index] else {
                return !view.isConstrained && view.monitor.outputInterface == nil
            }
            return view.unmetDemand(of: link) == nil && view.covers(link)
        }
    }
}
