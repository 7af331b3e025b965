// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing
internal import LinuxIO
public import Netlink
public import PathModel

/// The forwarding table of a kernel.
///
/// Lookups are sent each time. What an answer rests on beside them (default routes, rules, whether packets are
/// refused) is kept until ``outdate(by:)`` or ``outdate()`` says that it may have changed, so that all who share
/// the table read it once. Confined to one thread.
public final class KernelTable: ForwardingTable {
    private let source: any KernelSource
    private var defaults: [DefaultsKey: [RouteAnswer]] = [:]
    /// Those of which something may have become since they were read.
    private var staleDefaults: Set<DefaultsKey> = []
    /// Those that the last answer needed; others are forgotten.
    private var queriedDefaults: Set<DefaultsKey> = []
    private var knownRules: [PolicyRule]?
    private var rulesMatchTransport = false
    /// The interfaces with routes that the kernel did not make itself.
    private var carrying: [AddressFamily: Set<Int>]?
    /// Whether anything was announced since they were read.
    private var isCarryingStale = false
    /// Whether there are too many routes to read them after each change of one.
    private var hasManyRoutes = false
    private var acceptsFromVRFs: [Transport: Bool] = [:]
    /// What tunnels make of packets; not those that they refuse, which are found out each time.
    private var tunnels: [Packet: TunnelAnswer] = [:]
    /// After which audit a datagram was sent into a tunnel that accepted it.
    private var accepted: [Packet: Int] = [:]
    /// Where the programs run that serve tunnels, with the names that these had; until an audit.
    private var programs: [Int: (name: String, program: TunnelProgram)] = [:]
    private var mayReadPeers = true
    private var audits = 0
    private var answers: [Packet: KnownOutput] = [:]
    /// The chains as they were read last; `nil` where they may not be read.
    private var filter: PacketFilter?
    private var isFilterRead = false
    /// What rules leave as it is, where the chains may not be read.
    private var kept: [AddressFamily: KeptHeader] = [:]
    /// Packets that a rule let go when they were tried, until the rules are known to be other ones, and after which audit;
    /// unbound ones until routes are.
    private var released: [Packet: Int] = [:]

    private struct Packet: Hashable {
        let transport: Transport
        let destination: IPAddress
        /// The interface that it is bound to.
        var index: Int?
    }

    /// What becomes of packets from an address: a rule may be for it.
    private struct KnownOutput {
        let source: IPAddress?
        let answer: OutputAnswer
    }

    private struct DefaultsKey: Hashable {
        let family: AddressFamily
        let table: UInt32
    }

    /// How many routes of a table are read.
    static let most = 10_000

    /// Queries `source`; packet filters that were read before are read again only if they changed since.
    public init(_ source: any KernelSource, filter: PacketFilter? = nil) {
        self.source = source
        self.filter = filter
    }

    /// Applies what the kernel announced.
    public func outdate(by batch: EventBatch) {
        let concernsRoutes = batch.notices.contains(where: \.event.concernsRoutes)
        let concernsRules = batch.notices.contains(where: \.event.concernsRules)
        isCarryingStale = isCarryingStale || batch.notices.contains { !$0.event.concernsNeighbors }
        if concernsRoutes {
            outdateDefaultRoutes()
            if !hasManyRoutes || batch.notices.contains(where: \.event.concernsLinks) { carrying = nil }
        }
        for notice in batch.notices
        where !tunnels.isEmpty || !accepted.isEmpty || !answers.isEmpty || !released.isEmpty || !programs.isEmpty {
            forget(after: notice.event)
        }
        if concernsRules { knownRules = nil }
        if concernsRoutes || concernsRules { outdateAnswers() }
    }

    /// Anything may have changed.
    public func outdate() {
        outdateDefaultRoutes()
        knownRules = nil
        carrying = nil
        acceptsFromVRFs = [:]
        tunnels = [:]
        programs = [:]
        mayReadPeers = true
        audits += 1
        outdateOutput()
    }

    /// Routes, and what happens to a tunnel itself, change what becomes of packets that it is given; names and addresses of
    /// an interface change what filters make of packets.
    private func forget(after event: KernelEvent) {
        let index: Int?
        switch event {
        case .route, .nexthop: index = nil
        case .link(let link): index = link.index
        case .linkRemoved(let removed, _):
            index = removed
            programs[removed] = nil
            released = released.filter { $0.key.index != removed }
        case .address(let address), .addressRemoved(let address): index = address.index
        default: return
        }
        if let index { answers = answers.filter { $0.key.index != index } }
        tunnels = tunnels.filter { index != nil && $0.key.index != index }
        accepted = accepted.filter { index != nil && $0.key.index != index }
    }

    /// Whether what is kept beside lookups is the same whatever became of routes that were just announced.
    ///
    /// A single default route decides nothing that lookups do not say, and dumps miss none of those that are announced: what
    /// is removed may still be in them.
    var restsOnLookups: Bool {
        tunnels.isEmpty && accepted.isEmpty && staleDefaults.isEmpty
            && defaults.values.allSatisfy { $0.count <= 1 && !$0.contains(where: \.hasLapsed) }
    }

    /// Everything that rests on routes may be another one.
    func outdateRoutes() {
        outdateDefaultRoutes()
        tunnels = [:]
        accepted = [:]
        outdateAnswers()
    }

    /// Routes are other ones, by which marked packets go too.
    private func outdateAnswers() {
        released = released.filter { $0.key.index != nil }
        answers = reroutes ? [:] : answers.filter { $0.value.answer != .unknown }
    }

    /// Whether what becomes of packets behind the table may rest on routes: so it may where the chains may not be read.
    var reroutes: Bool { filter.map { $0.reroutes(.ipv4) || $0.reroutes(.ipv6) } ?? isFilterRead }

    /// Packet filters or IPsec policies may be other ones.
    func outdateOutput() {
        answers = [:]
        isFilterRead = false
    }

    /// IPsec policies are other ones.
    func outdatePolicies() {
        outdateOutput()
        if filter != nil { released = [:] }
    }

    /// Default routes may have come, gone or run out.
    func outdateDefaultRoutes() { staleDefaults = Set(defaults.keys) }

    /// Looks up where a packet would go.
    public func lookup(_ query: RouteQuery) -> Result<RouteAnswer, RouteFailure> {
        source.lookup(query)
    }

    /// What connect(2) of a UDP socket gives.
    public func connect(_ query: RouteQuery) -> ConnectAnswer? { source.connect(query) }

    /// What packet filters and IPsec policies make of packets of this process.
    public func output(
        of transport: Transport,
        from source: IPAddress?,
        to destination: IPAddress,
        by index: Int
    ) -> OutputAnswer {
        let packet = Packet(transport: transport, destination: destination, index: index)
        if let known = answers[packet], known.source == source { return known.answer }
        let answer = answer(to: packet)
        answers[packet] = KnownOutput(source: source, answer: answer)
        return answer
    }

    private func readFilter() {
        guard !isFilterRead else { return }
        let old = filter?.generation
        filter = source.packetFilter(after: filter)
        if let filter, filter.generation != 0, filter.generation != old { released = [:] }
        kept = [:]
        if filter == nil { for family in AddressFamily.allCases { kept[family] = source.keptHeader(family) } }
        isFilterRead = true
    }

    /// Whether no rule is known to do this to packets of a family.
    private func isWithout(_ effect: FilterEffects, _ family: AddressFamily) -> Bool {
        if let filter { return !filter.may(effect, family) }
        return kept[family]?.contains(effect == .release ? .dontFragment : .hopLimit) ?? false
    }

    /// A day of audits: so often at most something may leave that is not to, where nobody knows when the rules change.
    static let auditsUntilRetry = 2880

    /// Tries a packet, unless a rule let it go or may do so, or may lead it to this machine.
    private func test(_ packet: Packet) -> OutputVerdict {
        let family = packet.destination.family
        let isReleased = released[packet].map { audits - $0 < Self.auditsUntilRetry } ?? false
        let sends = isWithout(.release, family) && !isReleased && !mayLeadHere(packet)
        let verdict = source.output(of: packet.transport, to: packet.destination, by: packet.index, sends: sends)
        if verdict == .released { released[packet] = audits }
        return filter?.mayMistake(verdict, of: packet.transport, family) ?? false ? .unknown : verdict
    }

    private func answer(to packet: Packet) -> OutputAnswer {
        readFilter()
        let family = packet.destination.family
        switch test(packet) {
        case .open:
            let mayBeRerouted =
                filter?.reroutes(family) ?? false && rules.contains { $0.family == family && $0.readsMark }
            return mayBeRerouted ? reroutedAnswer(to: packet) : .open
        case .filtered where filter?.mayRefuseBoundOnly ?? false: return .unknown
        case .unknown, .released: return .unknown
        case .blocked: return .refused(.ipsecPolicy)
        case .filtered: return .refused(.filter(filter?.chains(family) ?? []))
        }
    }

    /// So many destinations of rules are looked up at most.
    static let mostDestinations = 1000

    /// Whether a rule may lead a packet to this machine itself, where a program could pass it on.
    ///
    /// By the loopback interface none comes that is bound to another one.
    private func mayLeadHere(_ packet: Packet) -> Bool {
        let family = packet.destination.family
        let all = filter.map { $0.destinations.union($0.legacyDestinations) } ?? []
        let destinations = all.filter { $0.family == family }
        guard destinations.count <= Self.mostDestinations else { return true }
        return destinations.contains { destination in
            if destination.isUnspecified { return true }
            let indices: [Int?] = destination.isLoopback ? [packet.index] : [packet.index, nil]
            return indices.contains { index in
                let query = RouteQuery(destination, kind: .decision, outputInterface: index)
                guard case .success(let answer) = source.lookup(query) else { return false }
                // Of broadcast and multicast this machine gets a copy.
                return answer.type != .unicast
            }
        }
    }

    /// The answer where a chain may mark packets, and rules match on marks: what is bound to an interface goes there, whatever
    /// a mark means.
    private func reroutedAnswer(to packet: Packet) -> OutputAnswer {
        let unbound = Packet(transport: packet.transport, destination: packet.destination)
        // By the loopback interface it would meet what copies packets there, and learn nothing; by which other one it leaves
        // is not known.
        guard !mayReturn(packet), test(unbound) == .filtered else { return .unknown }
        return .refused(.filter(filter?.chains(packet.destination.family) ?? []))
    }

    /// Whether a rule may lead a marked packet back to this machine.
    private func mayReturn(_ packet: Packet) -> Bool {
        let family = packet.destination.family
        return rules.contains { rule in
            guard rule.family == family, rule.readsMark else { return false }
            guard let mark = rule.mark?.value else { return true }
            let query = RouteQuery(packet.destination, kind: .decision, mark: mark, transport: packet.transport)
            guard case .success(let answer) = source.lookup(query) else { return false }
            // The loopback interface is the first of each network namespace.
            return answer.type == .local || answer.onlyInterface == 1
        }
    }

    private var rules: [PolicyRule] {
        if let knownRules { return knownRules }
        let rules = (try? source.rules())?.values ?? []
        knownRules = rules
        rulesMatchTransport = rules.contains(where: \.selectsByTransport)
        return rules
    }

    public var selectsByTransport: Bool {
        if knownRules == nil { _ = rules }
        return rulesMatchTransport
    }

    /// The marks of `not fwmark MARK lookup TABLE`, as wg-quick(8) has it, and of `fwmark MARK lookup main` before a rule that
    /// leads all packets to the table.
    public func marksExempt(fromTable number: UInt32, _ family: AddressFamily) -> [UInt32] {
        // The tables default and main.
        guard ![253, 254].contains(number) else { return [] }
        let rules = rules.filter { $0.family == family }
        let last = rules.filter { $0.table == number }.map(\.priority).max() ?? 0
        let marks = rules.compactMap { rule in
            rule.mark.flatMap { mark in
                let isExempt =
                    mark.isInverted ? rule.table == number : [253, 254].contains(rule.table) && rule.priority < last
                return isExempt && rule.action == 1 ? mark.value : nil
            }
        }
        return Array(Set(marks).sorted().prefix(4))
    }

    /// Whether the first rule that packets with a mark may match, but for that of the table local, is `blackhole`,
    /// `unreachable` or `prohibit` for all of them.
    public func refuses(mark: UInt32, _ family: AddressFamily) -> Bool {
        let first = rules.first { rule in
            guard rule.family == family, rule.table != 255 else { return false }
            // With a mask it may apply to other marks as well.
            guard let own = rule.mark, !rule.selector.contains("/") else { return true }
            return (own.value == mark) != own.isInverted
        }
        guard let first, (6...8).contains(first.action), first.unknownAttributes.isEmpty else { return false }
        return first.mark.map { $0.value == mark && !$0.isInverted } ?? (first.selector == "all")
    }

    /// More routes than this are read again at audits and when links or addresses change, not after each change of a route.
    private static let many = 1000

    public func carriesRoutes(_ index: Int, _ family: AddressFamily?) -> Bool {
        (carrying ?? readCarriers()).contains { (family == nil || family == $0.key) && $0.value.contains(index) }
    }

    /// The kernel does not report routes with long prefixes (rule S3), so anything that it reports may have come with one.
    public func refreshCarriers() -> Bool {
        guard carrying != nil, isCarryingStale else { return false }
        _ = readCarriers()
        return true
    }

    private func readCarriers() -> [AddressFamily: Set<Int>] {
        var carrying: [AddressFamily: Set<Int>] = [:]
        var count = 0
        for family in AddressFamily.allCases {
            _ = try? source.routes(family, type: .unicast, limit: Self.most) { entry in
                carrying[family, default: []].formUnion(entry.answer.carriers)
                count += 1
                return false
            }
        }
        self.carrying = carrying
        isCarryingStale = false
        hasManyRoutes = count > Self.many
        return carrying
    }

    public func neighbors(on index: Int) -> [Neighbor] { (try? source.neighbors(index: index))?.values ?? [] }

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
        guard isWithout(.writeHopLimit, packet.destination.family) else { return .unknown }
        let refusal = source.tunnelRefusal(of: packet.destination)
        // A route that vanished meanwhile fails as an xfrm interface does.
        guard let refusal, (refusal == .noPolicy) == (tunnel.kind == "xfrm") else {
            accepted[packet] = audits
            return .unknown
        }
        return .refused(refusal)
    }

    /// In which network namespace the program runs that serves a tunnel; found out at audits, and when it is renamed.
    public func program(of tunnel: Link) -> TunnelProgram {
        if let known = programs[tunnel.index], known.name == tunnel.name { return known.program }
        let program = source.tunnelProgram(named: tunnel.name)
        programs[tunnel.index] = (tunnel.name, program)
        return program
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
        queriedDefaults.insert(key)
        if let known = defaults[key], known.count <= 1 || !staleDefaults.contains(key) { return known }
        return read(key)
    }

    /// Reads what was not read for the last answer.
    /// - Returns: Whether another answer may follow from it.
    func readDefaultRoutes() -> Bool {
        defaults = defaults.filter { queriedDefaults.contains($0.key) }
        queriedDefaults = []
        return staleDefaults.filter { defaults[$0] != nil }.map { key in
            let routes = read(key)
            return routes.count > 1 || routes.contains { $0.hasLapsed }
        }.contains(true)
    }

    private func read(_ key: DefaultsKey) -> [RouteAnswer] {
        let dump = try? source.defaultRoutes(key.family, table: key.table, index: nil, limit: Self.most)
        let routes = dump?.values.map(\.answer) ?? []
        defaults[key] = routes
        // Half a dump is read again.
        if dump?.isConsistent == true { staleDefaults.remove(key) } else { staleDefaults.insert(key) }
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
