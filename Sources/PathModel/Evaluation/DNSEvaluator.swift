// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Netlink

/// Decides whether a name server can be queried (rule S35); no packet is sent.
struct DNSEvaluator {
    let interfaces: InterfaceClassifier
    /// Tunnels whose own packets do not leave.
    let strandedTunnels: Set<Int>
    private var facts: DNSConfiguration { interfaces.facts.dns }

    /// The servers and the verdict; queries stop at the first server that can be reached.
    func evaluate(with queries: inout RouteQueries) -> DNSState {
        let facts = facts
        let upstream = facts.upstream
        let isUsable = facts.servers.contains { server in
            guard canReach(server, with: &queries) else { return false }
            guard let upstream, facts.stubs.contains(server.destination) else { return true }
            return upstream.contains { !$0.isForDomainsOnly && canReach($0, isUpstream: true, with: &queries) }
        }
        return DNSState(
            servers: facts.used,
            search: facts.search,
            source: facts.source,
            isUsable: isUsable,
            problem: problem(isUsable: isUsable)
        )
    }

    private func problem(isUsable: Bool) -> DNSProblem? {
        if let error = facts.unreadable { return .unreadable(source: facts.source, error: error) }
        guard !isUsable else { return nil }
        guard let upstream = facts.upstream else {
            return facts.isWithoutServer ? .noServer(source: facts.source) : nil
        }
        if upstream.isEmpty { return .noUpstream(stub: facts.source) }
        return upstream.allSatisfy(\.isForDomainsOnly) ? .domainsOnly(stub: facts.source) : nil
    }

    /// Whether a query to it would be answered as far as this machine knows; `isUpstream` says that a stub queries it, and not
    /// the C library.
    private func canReach(
        _ server: DNSServer,
        isUpstream: Bool = false,
        with queries: inout RouteQueries
    ) -> Bool {
        let address = server.destination
        let transport: Transport = server.isQueriedOverTCP ? .dnsOverTCP : .dns
        if address.isLoopback {
            // It is not known which upstream servers on loopback have a listener: the stub found them, so they count.
            return isUpstream
                || facts.servedHere.contains(address) && queries.staysHere(toServer: address, as: transport)
        }
        var index = server.interfaceIndex
        if let scope = server.address.scope {
            // A name, or a number as getaddrinfo(3) accepts it; nothing is sent over an interface that is gone.
            let state = interfaces.state
            guard let link = state.link(named: scope) ?? Int(scope).flatMap({ state.links[$0] }) else { return false }
            index = link.index
        }
        // connect(2) refuses a link-local IPv6 address without an interface (EINVAL).
        if address.family == .ipv6, address.isLinkLocal, index == nil { return false }
        guard let choice = queries.connect(toServer: address, by: index, as: transport) else { return false }
        switch choice.entry.type {
        case .local:
            // Of another port, or another transport than that of the C library's queries, nothing is known.
            return facts.servedHere.contains(address) || isUpstream && (server.port != nil || facts.usesTCP)
        case .unicast: return isOpen(choice, transport, with: &queries)
        default: return false
        }
    }

    /// Whether a query would leave: by a link that works, from an address that an answer can come to.
    private func isOpen(_ choice: RouteChoice, _ transport: Transport, with queries: inout RouteQueries) -> Bool {
        let chosen = choice.decision.nexthops.first(where: isLive)
        guard let nexthop = chosen ?? choice.nexthops.first(where: isLive) else { return false }
        let family = choice.destination.family
        let isNear = nexthop.gateway == nil && choice.entry.prefixLength > RoutePoll.longestPrefix(family)
        let sources = SourceEvaluator(interfaces: interfaces)
        guard let source = choice.source else {
            return family == .ipv6 && sources.hasSource(nexthop.index, family: .ipv6)
        }
        let hop = NeighborKey(index: nexthop.index, address: nexthop.gateway ?? choice.destination)
        let state = interfaces.state.neighborState(hop)
        let verdict = sources.evaluate(source, by: nexthop.index, family: family, isNear: isNear, hop: state)
        if verdict.needsResolvedHop { queries.neighbors.rivals.insert(hop) }
        guard verdict.isUsable else { return false }
        let output = queries.output(of: transport, from: source, to: choice.destination, by: nexthop.index)
        if output.isRefused { return false }
        if let link = interfaces.state.links[nexthop.index], interfaces.isTunnel(link),
            case .refused = queries.answer(of: link, to: choice.destination)
        {
            return false
        }
        return queries.obstacle(toReplies: source, from: choice.destination, by: nexthop.index, transport) == nil
    }

    private func isLive(_ nexthop: RouteNexthop) -> Bool {
        interfaces.isLive(nexthop) && !strandedTunnels.contains(nexthop.index)
    }
}
