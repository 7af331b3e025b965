// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Netlink

extension EvaluationRound {
    /// An interface in use, classified once for all that is to be said of it.
    private struct Used {
        let link: Link
        let interface: PathInterface
        /// For both families before IPv4 before IPv6.
        var group: Int
    }

    mutating func path(with queries: inout RouteQueries) -> PathFields {
        let uplinks = openUplinks
        let inUse = interfacesInUse(uplinks)
        var path = PathFields()
        path.interfaces.reserveCapacity(inUse.count + others.count)
        for used in inUse { path.interfaces.append(used.interface) }
        for other in others where other.receives { path.interfaces.append(classifier.pathInterface(other.link)) }
        for uplink in uplinks {
            let found = familyPath(uplink, inUse)
            if uplink.family == .ipv4 { path.ipv4 = found } else { path.ipv6 = found }
        }
        path.dns = DNSEvaluator(interfaces: classifier, strandedTunnels: strandedTunnels).evaluate(with: &queries)
        guard let first = inUse.first else {
            (path.reason, path.subject) = unsatisfiedReason()
            path.status = canConnect ? .requiresConnection : .unsatisfied
            if datagramsLeave(with: &queries) { path.warnings = [.datagramsDiffer] }
            return path
        }
        path.status = .satisfied
        path.reason = nil
        for uplink in uplinks where !uplink.warnings.isEmpty { path.warnings += uplink.warnings }
        if !path.warnings.isEmpty { path.warnings = PathWarning.allCases.filter(path.warnings.contains) }
        var payer = first.link
        var type = first.interface.type
        for used in inUse where classifier.isTunnel(used.link) {
            guard case .link(let below) = underlay(of: used.link, with: &queries) else { continue }
            let typeBelow = classifier.type(of: below)
            if used.link.index == first.link.index { (payer, type) = (below, typeBelow) }
            if !path.underlyingTypes.contains(typeBelow) { path.underlyingTypes.append(typeBelow) }
        }
        let cost = CostEvaluator(classifier: classifier)
        let own = classifier.decision(for: first.link)
        path.isExpensive = own?.isExpensive ?? cost.isExpensive(payer, type)
        path.isConstrained = own?.isConstrained ?? cost.isConstrained(payer)
        path.isUltraConstrained = own?.isUltraConstrained ?? cost.isUltraConstrained(payer)
        return path
    }

    /// Whether datagrams leave although connections do not: where a rule refuses these, or, of IPv4, where no connect(2) went
    /// before, and packets from their source are refused.
    private func datagramsLeave(with queries: inout RouteQueries) -> Bool {
        for family in AddressFamily.allCases where queries.transport != nil {
            guard case .refused(_, let probe?) = findings[family] else { continue }
            for transport in [Transport.quic, .dns] {
                let nexthops = try? queries.querying(as: transport) { $0.connect(probe) }.get().nexthops
                if nexthops?.contains(where: isLive) ?? false { return true }
            }
        }
        guard case .refused(let refusal) = outcomes[.ipv4], refusal.source != nil,
            case .refused(_, let probe?) = findings[.ipv4], let answer = try? queries.lookup(probe, .decision).get()
        else { return false }
        return answer.type == .unicast && answer.nexthops.contains(where: isLive)
    }

    /// The interfaces in use: for both families first, then for IPv4, then for IPv6 (rule S17).
    private func interfacesInUse(_ uplinks: [Uplink]) -> [Used] {
        var found: [Used] = []
        for uplink in uplinks {
            for nexthop in uplink.live {
                if let position = found.firstIndex(where: { $0.interface.index == nexthop.index }) {
                    // IPv4 comes first, so that only IPv6 can make it both.
                    if uplink.family == .ipv6 && found[position].group == 1 { found[position].group = 0 }
                } else if let link = classifier.state.links[nexthop.index] {
                    let group = uplink.family == .ipv4 ? 1 : 2
                    found.append(Used(link: link, interface: classifier.pathInterface(link), group: group))
                }
            }
        }
        guard found.count > 1 else { return found }
        return found.sorted { left, right in
            (left.group, left.interface.type.rank, left.interface.index)
                < (right.group, right.interface.type.rank, right.interface.index)
        }
    }

    /// How packets of one family leave, in words for others (rule S34).
    private func familyPath(_ uplink: Uplink, _ inUse: [Used]) -> FamilyPath? {
        guard let source = uplink.source else { return nil }
        var interfaces: [PathInterface] = []
        var gateways: [Gateway] = []
        for nexthop in uplink.live {
            guard let interface = inUse.first(where: { $0.interface.index == nexthop.index })?.interface else {
                continue
            }
            if !interfaces.contains(where: { $0.index == nexthop.index }) { interfaces.append(interface) }
            guard let address = nexthop.gateway else { continue }
            let gateway = Gateway(
                address: ScopedAddress(address, scope: interface.name),
                interface: interface.name,
                family: uplink.family,
                metric: uplink.answer.metric,
                isReachable: nexthop.router.flatMap(classifier.state.isReachable)
            )
            if !gateways.contains(gateway) { gateways.append(gateway) }
        }
        return FamilyPath(
            interfaces: interfaces,
            gateways: gateways,
            source: source,
            otherSources: uplink.otherSources,
            isOnLink: uplink.live.allSatisfy { isOnLinkDefault($0, of: uplink.answer, uplink.family) },
            isUnanswered: uplink.isUnanswered
        )
    }

    /// Whether something could be activated, or is being activated (rule S23).
    private var canConnect: Bool {
        if classifier.facts.isConnecting && !view.isConstrained && view.bound == nil { return true }
        return classifier.facts.devices.contains { index, device in
            guard device.phase == .connecting || device.phase == .activatable else { return false }
            guard let link = classifier.state.links[index] else {
                return !view.isConstrained && view.monitor.outputInterface == nil
            }
            return view.unmetRequirement(of: link) == nil && view.covers(link)
        }
    }
}
