// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Diagnosis
internal import LinuxIO
internal import Netlink
internal import PathModel
internal import Probes

extension Check {
    /// Queries that got no answer: first what this machine does with their packets, then further flows, each from a local
    /// port of its own, while a packet socket shows whether packets leave and replies arrive.
    ///
    /// Up to six TCP connections to a port of an anchor, six pairs of datagrams to one that sends them back, three queries
    /// to a name server; two of each where nothing of the family gets an answer.
    static let recheck = Check(.recheck) { $0.recheck() }

    /// What the packet socket saw of those that still got no answer.
    static let witness = Check(.depth) { $0.applyWitness() }
}

extension ExaminationState {
    /// How long a flow is waited for: the SYN is sent again after a second.
    private static let timeout = Duration.milliseconds(1300)
    /// No socket closes while the packet socket is open: what comes later has nowhere to go.
    private static let recording = Duration.milliseconds(1200)
    private static let (mostFlows, fewFlows) = (6, 2)
    /// How many flows all queries have together.
    private static let allFlows = 64

    fileprivate mutating func recheck() {
        for index in evidence.sending.indices where evidence.sending[index].route.value == .missing {
            evidence.sending[index].promise = promise(of: evidence.sending[index].family)
        }
        collect()
        guard !evidence.queries.isEmpty else { return }
        findObstacles()
        let open = evidence.queries.indices.filter { evidence.queries[$0].obstacle == nil }
        let found = open.filter { isSilent(evidence.queries[$0]) }
        // Of anchors there may be many.
        let silent =
            found.filter { !evidence.queries[$0].isAboutAnchor } + found.filter { evidence.queries[$0].isAboutAnchor }
        guard !silent.isEmpty else { return }
        var seen: Set<IPAddress> = []
        let hosts = silent.map { evidence.queries[$0].address }.filter { seen.insert($0).inserted }
            .prefix(PacketWitness.mostHosts)
        reversePathDrops = InputObstacle.reversePathDrops()
        run(.local, PacketWitness(Array(hosts), limit: Self.recording)) { state, result, _ in
            state.witness = (result, Set(hosts))
        }
        let most = max(1, Self.allFlows / silent.count)
        for index in silent.prefix(Self.allFlows) { tryFlows(index, most) }
        if Set(hosts).count == 1, let host = hosts.first { compare(host, most) }
    }

    /// Tries as many flows to an anchor that answers: what loses some to both is no fault of one host.
    private mutating func compare(_ host: IPAddress, _ most: Int) {
        let others = evidence.reach.first { $0.family == host.family }?.anchors.filter { $0.address != host } ?? []
        for anchor in others {
            guard let port = anchor.ports.filter({ $0.value == .connected }).keys.min() else { continue }
            evidence.queries.append(QueryEvidence(.anchor(anchor.name), anchor.address, .tcp(port)))
            return tryFlows(evidence.queries.count - 1, most)
        }
    }

    /// Why there should be a route of a family: what the network offers, or a lasting address where the other family leaves.
    private func promise(of family: AddressFamily) -> String? {
        let offers = evidence.links.flatMap { $0.dhcp.value ?? [] }
        guard family == .ipv6 || !offers.contains(where: \.prefersIPv6Only) else { return nil }
        for link in evidence.links where link.isUp && link.hasCarrier {
            if family == .ipv4, let router = link.dhcp.value?.lazy.compactMap(\.router).first {
                return "DHCP offers the router \(router) on \(link.interface)"
            }
            if family == .ipv6, let router = link.routers.value?.first {
                return "the router \(router.source) announces itself on \(link.interface)"
            }
        }
        // A private IPv4 address may be for the link alone, unless a name server beyond it is configured.
        let server = (order.servers ?? []).map(\.address.address).first { server in
            guard server.family == family, !server.isLoopback else { return false }
            if case .failure = kernel.lookup(RouteQuery(server, kind: .decision)) { return true }
            return false
        }
        let carrying = Set(facts.routes.flatMap(\.nexthops).map(\.index))
        for link in facts.links where carrying.contains(link.index) && !facts.tunnels.contains(link.index) {
            let held = (facts.addresses[link.index] ?? []).first { entry in
                entry.address.family == family && entry.isRoutable && entry.prefixLength < (family == .ipv4 ? 31 : 127)
                    && (!entry.address.isPrivate || family == .ipv4 && server != nil)
                    && !entry.flags.contains(.deprecated)
            }
            if let held { return "\(link.name) has the address \(held.address)" }
        }
        let isAlone = (order.servers ?? []).allSatisfy { $0.address.address.family == family }
        return isAlone ? server.map { "the name server \($0) is configured" } : nil
    }

    // MARK: - What got no answer

    private mutating func collect() {
        for reach in evidence.reach {
            // Two hosts are enough where nothing answers.
            for anchor in reach.isAlive == true ? reach.anchors[...] : reach.anchors.prefix(2) {
                for (port, outcome) in anchor.ports.sorted(by: { $0.key < $1.key }) where outcome != .connected {
                    evidence.queries.append(QueryEvidence(.anchor(anchor.name), anchor.address, .tcp(port)))
                }
                if let port = order.targets.echoPort, anchor.datagrams.value == false {
                    evidence.queries.append(QueryEvidence(.anchor(anchor.name), anchor.address, .udp(port)))
                }
                if anchor.echo.value == false {
                    evidence.queries.append(QueryEvidence(.anchor(anchor.name), anchor.address, .echo))
                }
            }
        }
        for path in evidence.destination?.paths ?? [] where [.silent, .refused].contains(path.connection.value) {
            let port = evidence.destination?.port ?? ExaminationState.usualPorts[0]
            evidence.queries.append(QueryEvidence(.destination, path.address.address, .tcp(port)))
        }
        for (server, found) in zip(order.servers ?? [], evidence.dns.value ?? []) where found.isAlive != true {
            let port = server.port ?? 53
            let kind = server.isQueriedOverTCP ? QueryProtocol.tcp(port) : .udp(port)
            evidence.queries.append(QueryEvidence(.nameServer, found.address, kind))
        }
        for (server, found) in zip(order.servers ?? [], evidence.dns.value ?? [])
        where found.isAlive == true && found.stream == .silent {
            evidence.queries.append(QueryEvidence(.nameServer, found.address, .tcp(server.port ?? 53)))
        }
    }

    private func isSilent(_ query: QueryEvidence) -> Bool {
        switch (query.target, query.kind) {
        case (.anchor, .tcp(let port)): anchor(query)?.ports[port] == .silent
        case (.anchor, .udp): anchor(query)?.datagrams.value == false
        // Filters against ping are usual; the packet socket shows replies to what was sent before.
        case (.anchor, .echo): false
        case (.nameServer, _):
            evidence.dns.value?.first { $0.address == query.address }?.isAlive == false
        case (.destination, _):
            evidence.destination?.paths.first { $0.address.address == query.address }?.connection.value == .silent
        }
    }

    private func anchor(_ query: QueryEvidence) -> ReachEvidence.Anchor? {
        evidence.reach.flatMap(\.anchors).first { $0.address == query.address }
    }

    private mutating func change(_ query: QueryEvidence, _ body: (inout ReachEvidence.Anchor) -> Void) {
        for index in evidence.reach.indices {
            for number in evidence.reach[index].anchors.indices
            where evidence.reach[index].anchors[number].address == query.address {
                body(&evidence.reach[index].anchors[number])
            }
        }
    }

    private mutating func change(server address: IPAddress, _ body: (inout NameServerEvidence) -> Void) {
        guard case .known(var servers) = evidence.dns else { return }
        for index in servers.indices where servers[index].address == address { body(&servers[index]) }
        evidence.dns = .known(servers)
    }

    // MARK: - This machine

    private mutating func findObstacles() {
        let paths: LocalPaths
        do {
            paths = try LocalPaths(kernel, order.policy, filter: filter, at: KernelClock().boot)
        } catch {
            return
        }
        for index in evidence.queries.indices {
            let query = evidence.queries[index]
            if let obstacle = paths.obstacle(to: scoped(query), query.kind) { block(index, obstacle) }
        }
    }

    private func scoped(_ query: QueryEvidence) -> ScopedAddress {
        let server = query.target == .nameServer ? order.servers?.first { $0.address.address == query.address } : nil
        let path = evidence.destination?.paths.first { $0.address.address == query.address }
        return server?.address ?? (query.target == .destination ? path?.address : nil) ?? ScopedAddress(query.address)
    }

    private func isOnlyOverTCP(_ server: IPAddress) -> Bool {
        evidence.dns.value?.first { $0.address == server }?.isQueriedOverTCP == true
    }

    /// Records that a query says nothing of the network.
    private mutating func block(_ index: Int, _ obstacle: LocalObstacle) {
        evidence.queries[index].obstacle = obstacle
        let query = evidence.queries[index]
        switch (query.target, query.kind) {
        case (.anchor, .tcp(let port)): change(query) { $0.ports[port] = .blocked }
        case (.anchor, .udp): change(query) { $0.datagrams = .unknown(because: obstacle.text) }
        case (.anchor, .echo): change(query) { $0.echo = .unknown(because: obstacle.text) }
        case (.nameServer, .tcp) where !isOnlyOverTCP(query.address):
            change(server: query.address) { $0.forgetStream() }
        case (.nameServer, _): change(server: query.address) { $0.obstacle = obstacle }
        case (.destination, _):
            change(destination: query.address) {
                $0.connection = .known(.blocked)
                $0.obstacle = obstacle
            }
        }
    }

    private mutating func change(destination address: IPAddress, _ body: (inout DestinationEvidence.Path) -> Void) {
        guard var destination = evidence.destination else { return }
        for index in destination.paths.indices where destination.paths[index].address.address == address {
            body(&destination.paths[index])
        }
        evidence.destination = destination
    }

    // MARK: - Further flows

    private mutating func tryFlows(_ index: Int, _ most: Int) {
        let query = evidence.queries[index]
        let isAlive = evidence.reach.first { $0.family == query.address.family }?.isAlive != false
        let count = min(isAlive ? Self.mostFlows : Self.fewFlows, most)
        switch query.kind {
        case .tcp(let port): for _ in 0..<count { connect(index, port) }
        case .udp(let port) where query.target == .nameServer:
            for _ in 0..<min(count, 3) { queryNames(index, port) }
        case .udp(let port): for _ in 0..<count { sendDatagrams(index, port) }
        case .echo: break
        }
    }

    private mutating func connect(_ index: Int, _ port: UInt16) {
        let query = evidence.queries[index]
        let probe = TCPConnect(to: SocketAddress(scoped(query), port: port), limit: Self.timeout)
        run(.transport, probe) { state, result, traffic in
            guard result.isAssessed else { return }
            state.record(traffic, index)
            let isRefused = result.reason == .refused
            guard result.isSuccess || isRefused else { return }
            state.evidence.queries[index].answered += 1
            switch query.target {
            case .nameServer: return
            case .destination:
                state.change(destination: query.address) { $0.connection = .known(isRefused ? .refused : .connected) }
                guard result.isSuccess, let destination = state.order.destination else { return }
                state.request(destination, at: state.scoped(query))
            case .anchor: break
            }
            state.change(query) {
                if $0.ports[port] != .connected { $0.ports[port] = isRefused ? .refused : .connected }
            }
        }
    }

    /// Records a flow, and its port unless nothing was sent or anything came back.
    private mutating func record(_ traffic: ProbeTraffic, _ index: Int) {
        evidence.queries[index].flows += 1
        guard traffic.packets == 0 || traffic.refused < traffic.packets else { return }
        silentPorts[index, default: []].formUnion(traffic.silentPorts)
    }

    private mutating func sendDatagrams(_ index: Int, _ port: UInt16) {
        let query = evidence.queries[index]
        let pace = Duration.milliseconds(100)
        let train = PacketTrain(
            .datagram(port: port),
            to: scoped(query),
            count: 2,
            pace: pace,
            timeout: Self.timeout - pace
        )
        send(.transport, train) { state, result, traffic in
            guard result.advice == nil else { return }
            state.record(traffic, index)
            guard result.received > 0 else { return }
            state.evidence.queries[index].answered += 1
            state.change(query) { $0.datagrams = .known(true) }
        }
    }

    private mutating func queryNames(_ index: Int, _ port: UInt16) {
        let query = evidence.queries[index]
        let server = SocketAddress(scoped(query), port: port)
        let plan = NamePlan(order.targets)
        let probe = DNSServerProbe(server, plan.questions.map(\.question), limit: Self.timeout)
        run(.dns, probe, family: query.address.isLoopback ? nil : query.address.family) { state, result, traffic in
            guard !result.isUnreachable, !result.isDelayed, traffic.shortage == nil else { return }
            state.record(traffic, index)
            guard result.replies.contains(where: { $0 != .silent }) else { return }
            state.evidence.queries[index].answered += 1
            state.change(server: query.address) { if $0.isAlive == false { plan.fill(&$0, from: result, nil) } }
        }
    }

    // MARK: - What was seen

    fileprivate mutating func applyWitness() {
        guard let witness, witness.result.isComplete else { return }
        let drops = InputObstacle.reversePathDrops() - reversePathDrops
        // Packets of a policy leave as others.
        let hasPolicies = (try? SecurityPolicies.outputCount()).map { $0 > 0 } ?? true
        let filter = kernel.packetFilter(after: self.filter)
        for index in evidence.queries.indices where evidence.queries[index].obstacle == nil {
            let query = evidence.queries[index]
            guard query.answered == 0, isSilent(query), let ports = silentPorts[index], !ports.isEmpty,
                witness.hosts.contains(query.address), let link = outputLink(query.address)
            else { continue }
            let family = query.address.family
            let returned = witness.result.returned.filter { flow in
                query.isAbout(flow) && ports.contains(flow.ownPort) && !isPort(flow.interface)
            }
            if !returned.isEmpty {
                block(index, InputObstacle.find(family, reversePathDrops: drops))
            } else if !hasPolicies, let filter, !filter.mayLeadElsewhere(family),
                !witness.result.sent.contains(where: query.isAbout), isSending(query, by: link)
            {
                let hint = "`nft list ruleset`, `tc filter show`: check what is sent"
                block(index, LocalObstacle(.outputFilter, "a packet filter of this machine", hint: hint))
            }
        }
    }

    /// The interface that packets leave by; `nil` for this machine's own addresses.
    private func outputLink(_ address: IPAddress) -> Link? {
        guard !address.isLoopback, case .success(let answer) = kernel.lookup(RouteQuery(address, kind: .decision)),
            answer.type == .unicast, let nexthop = answer.nexthops.first
        else { return nil }
        return facts.link(nexthop.index)
    }

    /// Whether an interface is a port of a bridge, bond or team, which may drop what arrives there.
    private func isPort(_ index: Int) -> Bool {
        guard let link = try? kernel.link(index: index), let master = link.master else { return false }
        return (try? kernel.link(index: master))?.vrfTable == nil
    }

    /// Whether the kernel knows the hardware address of the next hop, without which packets wait, and other packets leave.
    private func isSending(_ query: QueryEvidence, by link: Link) -> Bool {
        guard link.sender != nil,
            case .success(let answer) = kernel.lookup(RouteQuery(query.address, kind: .decision)),
            let nexthop = answer.nexthops.first, nexthop.index == link.index,
            let entry = (try? kernel.neighbor(nexthop.gateway ?? query.address, index: nexthop.index)) ?? nil,
            [.reachable, .stale, .delay, .probe, .permanent].contains(entry.state)
        else { return false }
        let routers = evidence.gateways.filter { $0.interface == link.name }
        return routers.contains { $0.isAnswering || $0.hardwareAddresses.value?.isEmpty == false }
            || evidence.reach.contains { $0.family == query.address.family && $0.isAlive == true }
            || witness?.result.sent.contains { $0.interface == link.index } == true
    }
}

extension QueryEvidence {
    fileprivate var isAboutAnchor: Bool { if case .anchor = target { true } else { false } }

    /// Whether a flow goes where the query does.
    fileprivate func isAbout(_ flow: WitnessResult.Flow) -> Bool {
        guard flow.host == address, let transport = Transport(kind) else { return false }
        return flow.transport == transport.number && flow.port == transport.port
    }
}
