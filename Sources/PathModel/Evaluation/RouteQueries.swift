// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Netlink

/// What connect(2) finds for a socket that is bound to no address: the route, and the address packets come from.
struct RouteChoice {
    /// Where packets go.
    let destination: IPAddress
    /// The table entry that packets match, with all its nexthops.
    var entry: RouteAnswer
    /// The kernel's decision for one packet.
    var decision: RouteAnswer
    /// The source of the look-up that found the entry; `nil` for one without.
    var soughtFrom: IPAddress?
    /// Whether a datagram that no connect(2) went before uses another route, or none.
    var datagramsDiffer = false
    /// The VRF that the route leads into, and the route to it; `entry` is that of the VRF's own table.
    var leak: Leak?

    /// An object, because the other members are copied often.
    final class Leak {
        let vrf: Link
        let entry: RouteAnswer

        init(into vrf: Link, by entry: RouteAnswer) {
            self.vrf = vrf
            self.entry = entry
        }
    }

    /// Whether the kernel alternates between the nexthops, so that the next packet uses another one.
    var alternates = false

    /// The nexthops: a nexthop object in compatibility mode 0 has none in the entry (rule S31), and of a redirect the entry
    /// knows nothing (rule S20).
    var nexthops: [RouteNexthop] {
        var nexthops = entry.nexthops.isEmpty ? decision.nexthops : entry.nexthops
        guard let redirect, let index = nexthops.firstIndex(where: { $0.index == redirect.index }) else {
            return nexthops
        }
        nexthops[index].gateway = redirect.gateway
        return nexthops
    }

    /// The nexthop that an ICMP redirect made of the entry's.
    ///
    /// Of several nexthops by one interface the kernel does not say which one it replaced.
    var redirect: RouteNexthop? {
        guard decision.exception?.isRedirect == true, let chosen = decision.nexthops.first, chosen.gateway != nil else {
            return nil
        }
        let alike = entry.nexthops.filter { $0.index == chosen.index }
        return alike.count == 1 && alike[0].gateway != chosen.gateway ? chosen : nil
    }
    /// The address packets come from; `nil` where the kernel has none.
    var source: IPAddress? { soughtFrom ?? decision.preferredSource ?? entry.preferredSource }
}

/// Why connect(2) fails.
struct RouteRefusal: Error, Equatable {
    /// What the kernel says.
    var failure: RouteFailure
    /// The source address that is refused, where packets without one are not.
    var source: IPAddress?
    /// The name of the VRF whose table refuses, where a route of another table leads there.
    var vrf: String?
}

/// Queries the forwarding table on behalf of one monitor, and counts the lookups.
struct RouteQueries {
    let classifier: InterfaceClassifier
    let table: any ForwardingTable
    let mark: UInt32
    let uid: UInt32?
    /// The interface of the monitor (rule S29).
    let bound: Int?
    /// What the packets in question are, where a rule selects by it (rule S20).
    private(set) var transport: Transport?
    private(set) var lookups = 0
    private var foreign: [IPAddress: Bool] = [:]
    /// Whether the reverse path filter drops what comes in.
    private var filtered: [RouteQuery: Bool] = [:]
    /// Addresses whose routes count although their prefixes may be long (rule S3).
    private(set) var restsOn: Set<IPAddress> = []
    /// The neighbours that the answers rest on.
    var neighbors = NeighborDependencies()
    /// Links that the answers count as down though the last message about them does not.
    private(set) var outdatedLinks: Set<Int> = []

    init(classifier: InterfaceClassifier, table: any ForwardingTable, mark: UInt32, uid: UInt32?, bound: Int?) {
        self.classifier = classifier
        self.table = table
        self.mark = mark
        self.uid = uid
        self.bound = bound
        transport = table.selectsByTransport ? .https : nil
    }

    /// Looks up where packets to an address go, whose routes count whatever the length of their prefixes (rule S3).
    mutating func connect(restingOn address: IPAddress, by index: Int?) -> Result<RouteChoice, RouteRefusal> {
        restsOn.insert(address)
        return connect(address, by: index)
    }

    /// Looks up where packets to a name server go.
    mutating func connect(toServer address: IPAddress, by index: Int?, as packets: Transport) -> RouteChoice? {
        let result = querying(as: transport == nil ? nil : packets) { $0.connect(restingOn: address, by: index) }
        guard let choice = try? result.get() else { return nil }
        // An IPv6 router that does not answer is passed over for a shorter prefix.
        if address.family == .ipv6 { neighbors.rivals.formUnion(choice.nexthops.compactMap(\.router)) }
        return choice
    }

    /// Whether packets to a name server at a loopback address stay on this machine, which a rule may prevent; a monitor's own
    /// interface is not that of the C library's sockets.
    mutating func staysHere(toServer address: IPAddress, as packets: Transport) -> Bool {
        var query = query(address, .entry, by: ownBound, mark: nil)
        query.outputInterface = ownBound
        if transport != nil { query.transport = packets }
        switch lookup(query) {
        case .success(let answer): return answer.type == .local
        // It cannot be looked up, as where a recording lacks the answer.
        case .failure(.other): return true
        case .failure: return false
        }
    }

    /// Looks up packets of another transport.
    mutating func querying<Answer>(as kind: Transport?, _ questions: (inout RouteQueries) -> Answer) -> Answer {
        let usual = transport
        transport = kind
        defer { transport = usual }
        return questions(&self)
    }

    mutating func lookup(
        _ destination: IPAddress,
        _ kind: RouteQuery.Kind,
        from source: IPAddress? = nil,
        by index: Int? = nil,
        mark: UInt32? = nil
    ) -> Result<RouteAnswer, RouteFailure> {
        lookup(query(destination, kind, from: source, by: index, mark: mark))
    }

    /// Looks up where a packet goes, and notes links that are out of date.
    private mutating func lookup(_ query: RouteQuery) -> Result<RouteAnswer, RouteFailure> {
        lookups += 1
        let result = table.lookup(query)
        guard case .success(let answer) = result else { return result }
        for nexthop in answer.nexthops where !nexthop.flags.isDisjoint(with: [.dead, .linkDown]) {
            if classifier.state.links[nexthop.index]?.isUsable == true { outdatedLinks.insert(nexthop.index) }
        }
        return result
    }

    private func query(
        _ destination: IPAddress,
        _ kind: RouteQuery.Kind,
        from source: IPAddress? = nil,
        by index: Int?,
        mark: UInt32?
    ) -> RouteQuery {
        RouteQuery(
            destination,
            kind: kind,
            source: source,
            outputInterface: index ?? bound,
            mark: mark ?? self.mark,
            uid: uid,
            transport: transport
        )
    }

    /// What filters and policies make of packets of this process; of others, or of marked ones, it is unknown.
    func output(
        of transport: Transport,
        from source: IPAddress?,
        to destination: IPAddress,
        by index: Int
    ) -> OutputAnswer {
        guard isOwn else { return .unknown }
        return table.output(of: transport, from: source, to: destination, by: index)
    }

    /// The default routes of a table, in the kernel's order.
    func defaultRoutes(_ family: AddressFamily, table: UInt32) -> [RouteAnswer] {
        self.table.defaultRoutes(family, table: table)
    }

    /// Looks up where marked packets go that are bound to nothing.
    mutating func lookupUnbound(_ destination: IPAddress, mark: UInt32) -> Result<RouteAnswer, RouteFailure> {
        lookup(RouteQuery(destination, kind: .entry, mark: mark, uid: uid))
    }
}

extension RouteQueries {
    /// Whether the packets in question are those of this process.
    private var isOwn: Bool { mark == 0 && uid == nil && bound == ownBound }

    /// The interface that sockets of this process are bound to from the start.
    private var ownBound: Int? {
        classifier.policy.boundInterface.flatMap { classifier.state.link(named: $0)?.index }
    }

    /// What a tunnel makes of packets.
    func answer(of tunnel: Link, to destination: IPAddress) -> TunnelAnswer {
        table.tunnel(tunnel, to: destination, isOwn: isOwn)
    }

    /// Looks up where packets that a tunnel sends to its other end go.
    mutating func lookupOuter(to remote: IPAddress, by index: Int?, mark: UInt32) -> Result<RouteAnswer, RouteFailure> {
        restsOn.insert(remote)
        return lookup(RouteQuery(remote, kind: .entry, outputInterface: index, mark: mark))
    }

    /// Looks up where a tunnel's own packets go; `nil` when the kernel does not report its other end.
    mutating func lookupOuter(of tunnel: Link) -> Result<RouteAnswer, RouteFailure>? {
        guard let remote = tunnel.tunnelRemote else { return nil }
        restsOn.insert(remote)
        return lookup(
            RouteQuery(
                remote,
                kind: .entry,
                source: tunnel.tunnelLocal,
                outputInterface: tunnel.lower,
                mark: tunnel.tunnelMark ?? 0
            )
        )
    }
}

// MARK: - One destination

extension RouteQueries {
    /// Does what connect(2) does, without a packet (rule S20).
    ///
    /// IPv4 looks up without a source, uses the preferred one, and looks up again from that: the second answer counts
    /// (`ip_route_connect`). IPv6 looks up again only when the first answer is an error, from the address that it
    /// chooses among all (`ip6_dst_lookup_tail`).
    mutating func connect(
        _ destination: IPAddress,
        by index: Int? = nil,
        mark: UInt32? = nil
    ) -> Result<RouteChoice, RouteRefusal> {
        let result =
            destination.family == .ipv4
            ? connectIPv4(destination, by: index, mark: mark) : connectIPv6(destination, by: index, mark: mark)
        if case .success(let choice) = result {
            // Without ARP only an entry that somebody made leads to the router.
            neighbors.rivals.formUnion(choice.nexthops.filter(classifier.isWithoutResolution).compactMap(\.router))
        }
        guard index == nil, bound == nil, case .success(let choice) = result, choice.nexthops.count == 1,
            let vrf = classifier.state.links[choice.nexthops[0].index], vrf.kind == "vrf", vrf.isUsable
        else { return result }
        return connect(destination, into: vrf, after: choice, mark: mark)
    }

    /// Follows a route that leads to a VRF: its packets are routed again by the VRF's table.
    private mutating func connect(
        _ destination: IPAddress,
        into vrf: Link,
        after outer: RouteChoice,
        mark: UInt32?
    ) -> Result<RouteChoice, RouteRefusal> {
        let inner =
            destination.family == .ipv4
            ? connectIPv4(destination, by: vrf.index, mark: mark) : connectIPv6(destination, by: vrf.index, mark: mark)
        switch inner {
        case .success(var choice):
            choice.entry.prefixLength = max(choice.entry.prefixLength, outer.entry.prefixLength)
            choice.entry.metric = outer.entry.metric
            choice.leak = RouteChoice.Leak(into: vrf, by: outer.entry)
            // The source is chosen by the first lookup.
            choice.soughtFrom = outer.source ?? choice.soughtFrom
            return .success(choice)
        case .failure(var refusal):
            refusal.vrf = vrf.name
            return .failure(refusal)
        }
    }

    private mutating func connectIPv4(
        _ destination: IPAddress,
        by index: Int?,
        mark: UInt32?
    ) -> Result<RouteChoice, RouteRefusal> {
        let first: RouteAnswer
        switch lookup(destination, .decision, by: index, mark: mark) {
        case .success(let answer): first = answer
        case .failure(let failure): return .failure(RouteRefusal(failure: failure))
        }
        let source = first.preferredSource
        let entry: RouteAnswer
        switch lookup(destination, .entry, from: source, by: index, mark: mark) {
        case .success(let answer): entry = answer
        case .failure(let failure): return .failure(RouteRefusal(failure: failure, source: source))
        }
        var choice = RouteChoice(destination: destination, entry: entry, decision: first, soughtFrom: source)
        let isAlike = first.shares(entry.nexthops)
        if isAlike || entry.nexthops.isEmpty { return .success(choice) }
        switch lookup(destination, .decision, from: source, by: index, mark: mark) {
        case .success(let decision): choice.decision = decision
        case .failure(let failure): return .failure(RouteRefusal(failure: failure, source: source))
        }
        let redirected = choice.decision.exception?.isRedirect == true ? choice.decision.nexthops : []
        choice.datagramsDiffer = entry.type == .unicast && !first.shares(choice.nexthops + redirected)
        return .success(choice)
    }

    private mutating func connectIPv6(
        _ destination: IPAddress,
        by index: Int?,
        mark: UInt32?
    ) -> Result<RouteChoice, RouteRefusal> {
        var entry = lookup(destination, .entry, by: index, mark: mark)
        var source: IPAddress?
        if case .failure(let failure) = entry, failure != .familyUnsupported {
            source = chosenSource(for: destination, by: index, mark: mark)
            guard let source else { return .failure(RouteRefusal(failure: failure)) }
            entry = lookup(destination, .entry, from: source, by: index, mark: mark)
            if case .failure(let again) = entry {
                return .failure(RouteRefusal(failure: again, source: again == failure ? nil : source))
            }
        }
        do throws(RouteFailure) {
            let decision = try lookup(destination, .decision, from: source, by: index, mark: mark).get()
            return .success(
                RouteChoice(destination: destination, entry: try entry.get(), decision: decision, soughtFrom: source)
            )
        } catch {
            return .failure(RouteRefusal(failure: error, source: source))
        }
    }

    /// The route of connections by a nexthop of a multipath IPv4 route whose address is not refused as `source` is.
    private mutating func otherNexthop(of destination: IPAddress, than source: IPAddress) -> RouteChoice? {
        guard bound == nil, let nexthops = try? lookup(destination, .entry).get().nexthops, nexthops.count > 1 else {
            return nil
        }
        for nexthop in nexthops {
            guard let decision = try? lookup(destination, .decision, by: nexthop.index).get(),
                let other = decision.preferredSource, other != source,
                let entry = try? lookup(destination, .entry, from: other).get()
            else { continue }
            return RouteChoice(destination: destination, entry: entry, decision: decision, soughtFrom: other)
        }
        return nil
    }

    /// Whether the table has no route for packets from an address.
    mutating func isRefused(_ destination: IPAddress, from source: IPAddress) -> Bool {
        guard case .failure(let failure) = lookup(destination, .entry, from: source) else { return false }
        return failure.isExplicit || failure == .noRoute
    }

    /// What keeps replies to packets that come from `own` and leave by an interface from the sockets in question; `nil` where
    /// they are received.
    mutating func obstacle(
        toReplies own: IPAddress,
        from remote: IPAddress,
        by index: Int,
        isBound: Bool = false,
        _ transport: Transport = .https
    ) -> ReasonSubject.Obstacle? {
        // The route back of ordinary packets is their own.
        let isSpecial = isBound || bound != nil || mark != 0 || uid != nil
        if isSpecial, isFiltered(own, from: remote, by: index, transport) { return .reversePathFilter(own) }
        guard bound == nil else { return nil }
        let link = classifier.state.links[index]
        if let vrf = link?.kind == "vrf" ? link : link.flatMap(classifier.vrf) {
            return table.acceptsFromVRFs(transport) ? nil : .repliesStay(in: vrf.name)
        }
        return isForeign(own) ? .noLocalTable(own) : nil
    }

    /// Whether strict reverse path filtering (`rp_filter` 1) drops what comes to one of this machine's addresses.
    ///
    /// The kernel looks up the route back without the user and interface that packets left with, and without the mark, unless
    /// `src_valid_mark` says so and a rule restores it. IPv6 has no such filter.
    private mutating func isFiltered(
        _ own: IPAddress,
        from remote: IPAddress,
        by index: Int,
        _ kind: Transport
    ) -> Bool {
        guard own.family == .ipv4, remote.family == .ipv4 else { return false }
        let query = RouteQuery(
            own,
            kind: .decision,
            source: remote,
            inputInterface: index,
            mark: mark,
            transport: transport == nil ? nil : kind
        )
        if let known = filtered[query] { return known }
        lookups += 1
        let isFiltered = table.lookup(query) == .failure(.blackhole)
        filtered[query] = isFiltered
        return isFiltered
    }

    /// Whether what comes to one of this machine's addresses is not for this machine, since no rule leads to the table of
    /// local addresses.
    private mutating func isForeign(_ own: IPAddress) -> Bool {
        if let known = foreign[own] { return known }
        lookups += 1
        let isForeign =
            switch table.lookup(RouteQuery(own, kind: .entry)) {
            case .success(let answer): answer.type == .unicast
            case .failure(let failure): failure == .noRoute
            }
        foreign[own] = isForeign
        return isForeign
    }

    /// More sources than this are not tried one by one.
    private static let mostSources = 4

    /// The address that the kernel chooses for IPv6 packets that no route matches as long as they have none; `nil` when
    /// it makes no difference.
    private mutating func chosenSource(for destination: IPAddress, by index: Int?, mark: UInt32?) -> IPAddress? {
        let selection = SourceSelection(classifier.state, for: destination, by: index ?? bound)
        let candidates = selection.candidates.prefix(Self.mostSources)
        guard candidates.count > 1 else { return selection.best }
        let fates = candidates.map { lookup(destination, .entry, from: $0, by: index, mark: mark) }
        let failures = fates.compactMap { fate in if case .failure(let failure) = fate { failure } else { nil } }
        if failures.count == fates.count, Set(failures).count == 1 { return selection.best }
        // Among equals the kernel's order decides, which connect(2) shows, of its caller's packets only.
        switch table.connect(query(destination, .decision, by: index, mark: mark)) {
        case .source(let source): return source
        case .refused: return zip(candidates, fates).first { (try? $1.get()) == nil }?.0
        case nil: return selection.best
        }
    }
}

// MARK: - The Internet

extension RouteQueries {
    /// Finds the route of the family that stands for the Internet (rule S20).
    mutating func findRoute(_ family: AddressFamily) -> RouteFinding {
        var poll = RoutePoll(family, probes: classifier.policy.probes[family] ?? [])
        for address in poll.addresses {
            var result = connect(address)
            if family == .ipv4, case .failure(let refusal) = result, let source = refusal.source,
                let other = otherNexthop(of: address, than: source)
            {
                result = .success(other)
            }
            if let finding = poll.record(result) { return finding }
            if restsOn.isDisjoint(with: poll.addresses) { restsOn.formUnion(poll.addresses) }
        }
        return poll.finding
    }

    /// Whether the Internet can be reached when bound to an interface (rule S16), with as few questions as possible.
    mutating func findRoute(
        _ family: AddressFamily,
        by index: Int,
        like finding: RouteFinding?,
        mark: UInt32? = nil
    ) -> RouteChoice? {
        var probes = RoutePoll(family, probes: classifier.policy.probes[family] ?? []).addresses
        var limit = RoutePoll.longestPrefix(family)
        if case .found(let choice, let isFullTable) = finding {
            probes = [choice.destination] + probes.filter { $0 != choice.destination }
            if isFullTable { limit = family.bitWidth }
        }
        for probe in probes {
            switch connect(probe, by: index, mark: mark) {
            case .success(let choice) where choice.entry.prefixLength <= limit:
                return choice.entry.type == .unicast ? choice : nil
            case .success: continue
            // A route to the probe may refuse; without any route all fail alike.
            case .failure(let refusal) where [.blackhole, .prohibited].contains(refusal.failure): continue
            case .failure: return nil
            }
        }
        return nil
    }
}

extension RouteAnswer {
    /// Whether one of its nexthops is among others.
    fileprivate func shares(_ others: [RouteNexthop]) -> Bool {
        nexthops.contains { own in others.contains { $0.isSameNexthop(as: own) } }
    }
}

extension RouteNexthop {
    /// Whether both lead to the same router by the same interface.
    func isSameNexthop(as other: RouteNexthop) -> Bool { index == other.index && gateway == other.gateway }
}
