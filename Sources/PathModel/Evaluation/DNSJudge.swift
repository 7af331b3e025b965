// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Netlink

/// Judges whether a name server can be asked (rule S35); no packet is sent.
struct DNSJudge {
    let interfaces: InterfaceJudge
    /// Tunnels whose own packets do not leave.
    let strandedTunnels: Set<Int>
    private var facts: DNSConfiguration { interfaces.facts.dns }

    /// The servers and the verdict; questions stop at the first server that can be reached.
    func judge(with survey: inout RouteSurvey) -> DNSState {
        let facts = facts
        let servers = facts.upstream ?? facts.servers
        var isUsable = false
        let hasStub = facts.upstream != nil
        if !hasStub || facts.servers.contains(where: isListening) {
            isUsable = servers.contains { canReach($0, with: &survey, isUpstream: hasStub) }
        }
        return DNSState(servers: servers, search: facts.search, source: facts.source, isUsable: isUsable)
    }

    /// Whether something on this machine answers at the server's address.
    private func isListening(_ server: DNSServer) -> Bool {
        let address = server.address.address
        return !address.isLoopback || facts.servedHere.contains(address)
    }

    private func canReach(
        _ server: DNSServer,
        with survey: inout RouteSurvey,
        isUpstream: Bool
    ) -> Bool {
        let address = server.address.address.unmapped
        // Nobody tells which upstream servers on loopback have a listener: the stub found them, so they count.
        if address.isLoopback || address.isUnspecified { return isUpstream || isListening(server) }
        var index = server.interfaceIndex
        if let scope = server.address.scope {
            // A name, or a number as getaddrinfo(3) takes it; nobody is asked over an interface that is gone.
            let state = interfaces.state
            guard let link = state.link(named: scope) ?? Int(scope).flatMap({ state.links[$0] }) else { return false }
            index = link.index
        }
        // connect(2) refuses a link-local IPv6 address without an interface (EINVAL).
        if address.family == .ipv6, address.isLinkLocal, index == nil { return false }
        guard let choice = survey.connect(toServer: address, by: index) else { return false }
        switch choice.entry.type {
        case .local: return facts.servedHere.contains(address)
        case .unicast: return isOpen(choice, with: &survey)
        default: return false
        }
    }

    /// Whether a question would leave: by a link that works, from an address that an answer can come to.
    private func isOpen(_ choice: RouteChoice, with queries: inout RouteSurvey) -> Bool {
        let chosen = choice.decision.legs.first(where: isLive)
        guard let leg = chosen ?? choice.legs.first(where: isLive) else { return false }
        let family = choice.destination.family
        let isNear = leg.gateway == nil && choice.entry.prefixLength > RoutePoll.longestPrefix(family)
        let sources = SourceJudge(interfaces: interfaces)
        guard let source = choice.source else { return family == .ipv6 && sources.hasSource(leg.index, family: .ipv6) }
        let hop = NeighborKey(index: leg.index, address: leg.gateway ?? choice.destination)
        let state = interfaces.state.neighborState(hop)
        let verdict = sources.evaluate(source, by: leg.index, family: family, isNear: isNear, hop: state)
        if verdict.needsResolvedHop { queries.neighbors.rivals.insert(hop) }
        guard verdict.isUsable else { return false }
        if queries.output(of: .dns, to: choice.destination, by: leg.index).isRefused { return false }
        if let link = interfaces.state.links[leg.index], interfaces.isTunnel(link),
            case .refused = queries.answer(of: link, to: choice.destination)
        {
            return false
        }
        return queries.obstacle(toReplies: source, by: leg.index, .dns) == nil
    }

    private func isLive(_ leg: RouteLeg) -> Bool {
        interfaces.isLive(leg) && !strandedTunnels.contains(leg.index)
    }
}
