// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Diagnosis
internal import LinuxIO
internal import Netlink
internal import PathModel
internal import Probes

/// What an examination knows, and the tasks that it wants started; checks change it, without a socket or a timer.
struct ExaminationState {
    let order: ExaminationOrder
    let kernel: any KernelSource
    var facts = KernelFacts()
    /// The packet filters of this machine; `nil` where they may not be read.
    var filter: PacketFilter?
    var evidence = Evidence()
    /// Queued by checks; the examiner starts and removes them.
    var tasks: [CheckTask] = []
    var bytes = (sent: 0, received: 0)
    /// Whether the destination's name is being looked up.
    var isLookingUp = false
    var hasRequestedPage = false
    /// APIs of captive portals that were queried.
    var portals: Set<PageAddress> = []
    var roundTrips: [IPAddress: Duration] = [:]
    /// The name servers that got a short query over a connection, by their index.
    var briefQueries: Set<Int> = []
    /// The anchors whose HTTPS servers offer HTTP/3.
    var quicAnchors: Set<String> = []
    /// What a packet socket saw of the queries that were sent again, and the hosts that it recorded; `nil` without one.
    var witness: (result: WitnessResult, hosts: Set<IPAddress>)?
    /// The local ports of those that got no answer, by the index of the query.
    var silentPorts: [Int: Set<UInt16>] = [:]
    /// The counter of the reverse path filter before those.
    var reversePathDrops = 0
    /// The addresses of the hosts of a load test, and how many names are still looked up.
    var load = (addresses: [String: ScopedAddress](), lookups: 0)

    init(_ order: ExaminationOrder, kernel: any KernelSource) {
        self.order = order
        self.kernel = kernel
    }

    // MARK: - Tasks

    /// Queues a probe; with a `family` its packets count as those of it, of which a packet filter may drop some.
    mutating func run<Result>(
        _ layer: Layer,
        _ probe: any Probe<Result>,
        family: AddressFamily? = nil,
        record: @escaping (inout ExaminationState, Result, ProbeTraffic) -> Void
    ) {
        tasks.append(
            CheckTask(layer: layer) { context in
                ProbeRunner(probe, loop: context.loop) { result, traffic in
                    context.finish { state in
                        state.count(sent: traffic.bytesSent, received: traffic.bytesReceived)
                        if let family { state.count(family, attempts: traffic.packets, refused: traffic.refused) }
                        record(&state, result, traffic)
                    }
                }
            }
        )
    }

    /// Queues a train of packets, which count as those of its family unless `isCounted` is false.
    mutating func send(
        _ layer: Layer,
        _ train: PacketTrain,
        isCounted: Bool = true,
        record: @escaping (inout ExaminationState, TrainResult, ProbeTraffic) -> Void
    ) {
        run(layer, train) { state, result, traffic in
            // The kernel reports no drop of an ICMPv6 echo request by a filter (ping_v6_sendmsg).
            let isReported = train.kind != .echo || train.family == .ipv4
            let attempts = isReported ? traffic.packets : result.received
            if isCounted { state.count(train.family, attempts: attempts, refused: traffic.refused) }
            record(&state, result, traffic)
        }
    }

    /// Queues an attempt of a probe as `probes.active` configures it.
    mutating func attempt(
        _ layer: Layer,
        _ definition: ProbeDefinition,
        record: @escaping (inout ExaminationState, ProbeResult) -> Void
    ) {
        tasks.append(
            CheckTask(layer: layer) { context in
                ProbeAttempt(definition, context: ProbeContext(), loop: context.loop, pages: context.pages) { result in
                    context.finish { state in
                        state.count(sent: result.sent, received: result.received)
                        if case .page(let page) = definition.target, let address = definition.address?.address {
                            state.recordConnection(result, to: address, page.port)
                        }
                        record(&state, result)
                    }
                }
            }
        )
    }

    /// Queues a look-up of a name by the C library.
    mutating func lookUp(
        _ layer: Layer,
        _ name: String,
        limit: Duration,
        record: @escaping (inout ExaminationState, HostLookupResult) -> Void
    ) {
        tasks.append(
            CheckTask(layer: layer) { context in
                HostLookup(name, limit: limit, loop: context.loop) { result in
                    context.finish { state in record(&state, result) }
                }
            }
        )
    }

    // MARK: - Counts

    mutating func count(sent: Int, received: Int) {
        bytes.sent += sent
        bytes.received += received
    }

    /// Counts packets that were handed to the kernel, and those that a local filter refused.
    mutating func count(_ family: AddressFamily, attempts: Int, refused: Int) {
        guard let index = evidence.sending.firstIndex(where: { $0.family == family }) else { return }
        evidence.sending[index].attempts += attempts
        evidence.sending[index].refused += refused
    }

    /// Records that a layer could not be tested, because this machine lacks what a socket needs.
    mutating func record(shortage: String, at layer: Layer) {
        evidence.gaps[layer] = shortage
        evidence.shortage = shortage
    }

    // MARK: - Facts

    /// Reads the kernel's facts and begins the evidence with them.
    mutating func readKernel(at now: Duration) throws(NetlinkError) {
        facts = try KernelFactsReader(kernel: kernel, policy: order.policy, targets: order.targets).read(at: now)
        evidence.links = facts.links.map { link in
            var evidence = LinkEvidence(link, facts.addresses[link.index] ?? [])
            evidence.isTunnel = facts.tunnels.contains(link.index)
            return evidence
        }
        evidence.sending = facts.routes.map { route in
            var sending = SendEvidence(route.family)
            sending.route = route.route
            return sending
        }
        evidence.gateways = facts.routes.flatMap { route in
            route.nexthops.compactMap { nexthop in
                nexthop.gateway.flatMap { gateway in
                    facts.link(nexthop.index).map { GatewayEvidence(gateway, on: $0.name) }
                }
            }
        }
        evidence.gateways += gatewaysBelowTunnels()
        let servers = order.servers.map { servers in
            servers.map { server in
                var evidence = NameServerEvidence(server.address.address)
                evidence.isQueriedOverTCP = server.isQueriedOverTCP
                return evidence
            }
        }
        evidence.dns = servers.map { .known($0) } ?? .unknown(because: "name servers unknown")
        filter = kernel.packetFilter(after: filter)
        if let rules = filter?.users, !rules.isEmpty {
            let users = UserNames()
            evidence.blockedUsers = rules.compactMap { rule in
                users[rule.user].map { Evidence.BlockedUser(name: $0, chain: rule.chain) }
            }
        }
        evidence.onLink = Set((order.servers ?? []).map(\.address.address).filter(isOnLink))
    }

    /// The gateways of the devices that the packets of tunnels may leave by.
    private func gatewaysBelowTunnels() -> [GatewayEvidence] {
        let used = facts.routes.flatMap(\.nexthops)
        guard !used.isEmpty, used.allSatisfy({ facts.tunnels.contains($0.index) }) else { return [] }
        var found: [GatewayEvidence] = []
        for family in [AddressFamily.ipv4, .ipv6] {
            let anchors = order.targets.anchors.compactMap { $0.address(family) }
            guard let address = anchors.first ?? order.policy.probes[family]?.first else { continue }
            for link in facts.links where !facts.tunnels.contains(link.index) && link.flags.contains(.up) {
                let query = RouteQuery(address, kind: .decision, outputInterface: link.index)
                guard case .success(let answer) = kernel.lookup(query) else { continue }
                for gateway in answer.nexthops.filter({ $0.index == link.index }).compactMap(\.gateway) {
                    var entry = GatewayEvidence(gateway, on: link.name)
                    entry.carriesTunnel = true
                    found.append(entry)
                }
            }
        }
        return found
    }

    func isOnLink(_ address: IPAddress) -> Bool {
        guard case .success(let answer) = kernel.lookup(RouteQuery(address, kind: .decision)) else { return false }
        return answer.type == .unicast && answer.nexthops.allSatisfy { $0.gateway == nil }
    }

    var hasCarrier: Bool { evidence.links.contains { $0.isUp && $0.hasCarrier } }

    /// The certificates that a host's must verify against: of an anchor, those that the configuration names.
    func authorities(of host: ProbeHost) -> String? {
        let isAnchor = order.targets.anchors.contains { anchor in
            switch host {
            case .name(let name): anchor.host?.lowercased() == name.lowercased()
            case .address(let address): [anchor.ipv4, anchor.ipv6].contains(address.address)
            }
        }
        return isAnchor ? order.targets.authorities : nil
    }

    /// How an anchor sends packets back; `nil` when it does not.
    ///
    /// Of echo requests many routers answer so many a second only.
    func kind(of anchor: ReachEvidence.Anchor, prefersEcho: Bool = true) -> TrainKind? {
        if prefersEcho, anchor.echo.value == true { return .echo }
        if let port = order.targets.echoPort, anchor.datagrams.value == true { return .datagram(port: port) }
        return anchor.echo.value == true ? .echo : nil
    }

    /// Whether a device that is no tunnel has a router of its own on the path to an address.
    func leads(_ link: Link, to address: IPAddress) -> Bool {
        guard !facts.tunnels.contains(link.index), link.flags.contains(.up) else { return false }
        let query = RouteQuery(address, kind: .decision, outputInterface: link.index)
        guard case .success(let answer) = kernel.lookup(query) else { return false }
        return answer.nexthops.contains { $0.index == link.index && $0.gateway != nil }
    }
}

/// The names of users by their numbers (passwd(5)); those of directories are not queried.
struct UserNames {
    private var names: [UInt32: String] = [:]

    init(_ text: String? = ProcFile.text("/etc/passwd")) {
        for line in (text ?? "").split(separator: "\n") {
            let fields = line.split(separator: ":", omittingEmptySubsequences: false)
            guard fields.count > 2, let number = UInt32(fields[2]) else { continue }
            names[number] = names[number] ?? String(fields[0])
        }
    }

    subscript(number: UInt32) -> String? { names[number] }
}

extension TrainResult {
    /// Whether anything came back; not known when nothing could be sent.
    var answered: Assessment<Bool> {
        if received == 0, let advice { return .unknown(because: advice) }
        return .known(received > 0)
    }
}

extension ProbeResult {
    /// Why nothing was found out; `nil` when something was.
    var gap: String? {
        if case .notAssessed(let advice) = outcome { advice } else { shortage }
    }
}

/// Labels that were never queried before.
enum RandomLabel {
    /// Twelve letters.
    static func make() -> String {
        String(decoding: (0..<12).map { _ in UInt8.random(in: UInt8(ascii: "a")...UInt8(ascii: "z")) }, as: UTF8.self)
    }
}
