// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing
internal import LinuxIO
public import Netlink
public import PathModel

/// The forwarding table of a kernel.
///
/// Look-ups are asked each time. What an answer rests on beside them (default routes, rules, whether packets are
/// refused) is kept until ``outdate(by:)`` or ``outdate()`` says that something may have become of it, so that everybody
/// who shares the table asks for it once. Confined to one thread.
public final class KernelTable: ForwardingTable {
    private let source: any KernelSource
    private var defaults: [DefaultsKey: [RouteAnswer]] = [:]
    /// Those of which something may have become since they were read.
    private var staleDefaults: Set<DefaultsKey> = []
    /// Those that the last answer asked for; others are forgotten.
    private var askedDefaults: Set<DefaultsKey> = []
    private var rulesAskForTransport: Bool?
    private var acceptsFromVRFs: [Transport: Bool] = [:]
    /// What tunnels make of packets; not those that they refuse, which are found out each time.
    private var tunnels: [Packet: TunnelAnswer] = [:]
    /// After which audit a datagram was sent into a tunnel that accepted it.
    private var accepted: [Packet: Int] = [:]
    private var mayReadPeers = true
    private var audits = 0
    private var answers: [Packet: OutputAnswer] = [:]
    /// The chains as they were read last; `nil` where they may not be read.
    private var filter: PacketFilter?
    private var isFilterRead = false
    /// The families whose packets keep their TTL or hop limit, where the chains may not be read.
    private var keepingHopLimit: Set<AddressFamily> = []
    /// Packets that were let out although a multicast group is refused: they are not sent again and again.
    private var letOut: Set<Packet> = []
    /// What became of packets that left, and under which rules: as long as these stay, and the routes, none is sent.
    private var sent: [Packet: (generation: UInt32, verdict: OutputVerdict)] = [:]

    private struct Packet: Hashable {
        let transport: Transport
        let destination: IPAddress
        let index: Int
    }

    private struct DefaultsKey: Hashable {
        let family: AddressFamily
        let table: UInt32
    }

    /// How many routes of a table are read.
    private static let most = 10_000

    /// Asks `source`.
    public init(_ source: any KernelSource) {
        self.source = source
    }

    /// Takes notice of what the kernel told.
    public func outdate(by batch: EventBatch) {
        let concernsRoutes = batch.notices.contains(where: \.event.concernsRoutes)
        let concernsRules = batch.notices.contains(where: \.event.concernsRules)
        if concernsRoutes { outdateDefaultRoutes() }
        for notice in batch.notices where !tunnels.isEmpty || !accepted.isEmpty { forgetTunnels(after: notice.event) }
        if concernsRules { rulesAskForTransport = nil }
        // Marked packets go by the same routes.
        if !sent.isEmpty, concernsRoutes || concernsRules { forgetSent() }
    }

    /// Anything may have changed.
    public func outdate() {
        outdateDefaultRoutes()
        rulesAskForTransport = nil
        acceptsFromVRFs = [:]
        tunnels = [:]
        mayReadPeers = true
        audits += 1
        answers = [:]
        isFilterRead = false
    }

    /// Routes, and what happens to a tunnel itself, change what becomes of packets that it is given.
    private func forgetTunnels(after event: KernelEvent) {
        let index: Int?
        switch event {
        case .route, .nexthop: index = nil
        case .link(let link): index = link.index
        case .linkRemoved(let removed, _): index = removed
        case .address(let address), .addressRemoved(let address): index = address.index
        default: return
        }
        tunnels = tunnels.filter { index != nil && $0.key.index != index }
        accepted = accepted.filter { index != nil && $0.key.index != index }
    }

    /// Everything that rests on routes may be another one.
    func outdateRoutes() {
        outdateDefaultRoutes()
        tunnels = [:]
        accepted = [:]
        forgetSent()
    }

    private func forgetSent() {
        for packet in sent.keys { answers[packet] = nil }
        sent = [:]
    }

    /// Default routes may have come, gone or run out.
    func outdateDefaultRoutes() { staleDefaults = Set(defaults.keys) }

    /// Asks where a packet would go.
    public func lookup(_ query: RouteQuery) -> Result<RouteAnswer, RouteFailure> {
        source.lookup(query)
    }

    /// What connect(2) of a UDP socket gives.
    public func connect(_ query: RouteQuery) -> ConnectAnswer? { source.connect(query) }

    /// What packet filters and IPsec policies make of packets of this process.
    public func output(of transport: Transport, to destination: IPAddress, by index: Int) -> OutputAnswer {
        let packet = Packet(transport: transport, destination: destination, index: index)
        if let known = answers[packet] { return known }
        let answer = answer(to: packet)
        answers[packet] = answer
        return answer
    }

    private func readFilter() {
        guard !isFilterRead else { return }
        filter = source.packetFilter(after: filter)
        keepingHopLimit = filter == nil ? Set(AddressFamily.allCases.filter { source.keepsHopLimit($0) }) : []
        isFilterRead = true
    }

    private func answer(to packet: Packet) -> OutputAnswer {
        readFilter()
        let family = packet.destination.family
        switch tryOut(packet) {
        case .open, .doubtful: return .open
        case .unknown: return .unknown
        case .blocked: return .refused(.ipsecPolicy)
        case .filtered: return .refused(.filter(filter?.chains(family) ?? []))
        }
    }

    private func tryOut(_ packet: Packet) -> OutputVerdict {
        let family = packet.destination.family
        func verdict(_ effort: OutputEffort) -> OutputVerdict {
            source.output(of: packet.transport, to: packet.destination, by: packet.index, effort: effort)
        }
        // What is meant to stay on this machine, or to end at the first router, would go further.
        guard filter.map({ !$0.releases(family) }) ?? keepingHopLimit.contains(family) else { return verdict(.unsent) }
        guard let filter, filter.isBehindOutput(family) else {
            let verdict = verdict(letOut.remove(packet) == nil ? .whereInDoubt : .nothing)
            if verdict == .doubtful { letOut.insert(packet) }
            return verdict
        }
        if let sent = sent[packet], sent.generation == filter.generation { return sent.verdict }
        let verdict = verdict(.packet)
        sent[packet] = (filter.generation, verdict)
        return verdict
    }

    public var asksForTransport: Bool {
        if let known = rulesAskForTransport { return known }
        let read = (try? source.rules())?.values.contains { $0.asksForTransport } ?? false
        rulesAskForTransport = read
        return read
    }

    /// After how many audits a datagram is sent again into a tunnel that accepted one.
    private static let repeatAudits = 10

    /// What a tunnel makes of packets: by the peers of WireGuard with `CAP_NET_ADMIN`, else by a datagram of this process.
    public func tunnel(_ tunnel: Link, to destination: IPAddress, isOwn: Bool) -> TunnelAnswer {
        guard tunnel.kind == "wireguard" || tunnel.kind == "xfrm" else { return .unknown }
        let packet = Packet(transport: .quic, destination: destination, index: tunnel.index)
        if let known = tunnels[packet] { return known }
        if tunnel.kind == "wireguard", mayReadPeers {
            if let answer = source.wireGuardAnswer(of: tunnel.index, for: destination) {
                if case .refused = answer { return answer }
                tunnels[packet] = answer
                return answer
            }
            mayReadPeers = false
        }
        return isOwn ? tryOut(packet, into: tunnel) : .unknown
    }

    /// Sends a datagram into a tunnel: what is refused does not leave; what leaves is not sent again at every audit.
    private func tryOut(_ packet: Packet, into tunnel: Link) -> TunnelAnswer {
        if let audit = accepted[packet], audits - audit < Self.repeatAudits { return .unknown }
        readFilter()
        // What should end at the first router would go further.
        let family = packet.destination.family
        guard filter.map({ !$0.releases(family) }) ?? keepingHopLimit.contains(family) else { return .unknown }
        let refusal = source.tunnelRefusal(of: packet.destination)
        // A route that vanished meanwhile fails as an xfrm interface does.
        guard let refusal, (refusal == .noPolicy) == (tunnel.kind == "xfrm") else {
            accepted[packet] = audits
            return .unknown
        }
        return .refused(refusal)
    }

    /// Whether sockets that are bound to nothing receive what arrives in a VRF; read at audits.
    public func acceptsFromVRFs(_ transport: Transport) -> Bool {
        if let known = acceptsFromVRFs[transport] { return known }
        let read = source.acceptsFromVRFs(transport)
        acceptsFromVRFs[transport] = read
        return read
    }

    /// The default routes of a table; none of one that is too long to be read.
    ///
    /// Where there was one at most, what is known is given at once, and read again after the answer: a single route decides
    /// nothing that the kernel's own answer does not say.
    public func defaultRoutes(_ family: AddressFamily, table: UInt32) -> [RouteAnswer] {
        let key = DefaultsKey(family: family, table: table)
        askedDefaults.insert(key)
        if let known = defaults[key], known.count <= 1 || !staleDefaults.contains(key) { return known }
        return read(key)
    }

    /// Reads what was not read for the last answer.
    /// - Returns: Whether another answer may follow from it.
    func readDefaultRoutes() -> Bool {
        defaults = defaults.filter { askedDefaults.contains($0.key) }
        askedDefaults = []
        return staleDefaults.filter { defaults[$0] != nil }.map { key in
            let routes = read(key)
            return routes.count > 1 || routes.contains { $0.hasLapsed }
        }.contains(true)
    }

    private func read(_ key: DefaultsKey) -> [RouteAnswer] {
        let dump = try? source.defaultRoutes(key.family, table: key.table, index: nil, limit: Self.most)
        let routes = dump?.values.map(\.answer) ?? []
        defaults[key] = routes
        staleDefaults.remove(key)
        return routes
    }
}

extension KernelSource {
    /// The entry of a neighbour, with the port of the bridge behind which it is; one that cannot be read is as unknown as
    /// one that is not there.
    func entry(of key: NeighborKey, over bridge: Int?) -> Neighbor? {
        guard var entry = (try? neighbor(key.address, index: key.index)) ?? nil else { return nil }
        if let bridge, !entry.hardwareAddress.isEmpty {
            entry.port = (try? bridgePort(of: entry.hardwareAddress, bridge: bridge)) ?? nil
        }
        return entry
    }
}
