// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Netlink
import PathModel

/// Routes and rules that answer as the kernel's forwarding table does, without a kernel.
struct FakeTable: ForwardingTable {
    struct Route {
        var prefix: IPPrefix
        var table: UInt32 = 254
        var type: RouteType = .unicast
        var metric: UInt32 = 0
        var nexthops: [RouteNexthop] = []
        var source: IPAddress?
        var expiresIn: Double?
        var nexthopID: UInt32?
        /// A nexthop object in compatibility mode 0: entries tell its number only.
        var hidesLegs = false
        /// Only packets from here match (`from` of an IPv6 route).
        var origin: IPPrefix?
    }

    struct Rule {
        var priority: UInt32
        var table: UInt32 = 254
        var failure: RouteFailure?
        var family: AddressFamily?
        var mark: UInt32?
        var isMarkInverted = false
        var uids: ClosedRange<UInt32>?
        var outputInterface: Int?
        /// Matches of this length or shorter do not count (`suppress_prefixlength`).
        var suppressedLength: Int?
        /// Only packets from here match.
        var origin: IPPrefix?
        /// Only such packets match (`ipproto`, `dport`); a number of 0 is any protocol, a port of 0 any port.
        var transport: Transport?

        func matches(_ query: RouteQuery) -> Bool {
            if let transport {
                guard let asked = query.transport, [0, asked.number].contains(transport.number),
                    [0, asked.port].contains(transport.port)
                else { return false }
            }
            if let family, query.destination.family != family { return false }
            if let origin, !origin.covers(query.source) { return false }
            if let mark, (query.mark == mark) == isMarkInverted { return false }
            if let uids, !uids.contains(query.uid ?? 0) { return false }
            if let outputInterface, query.outputInterface != outputInterface { return false }
            return true
        }
    }

    var routes: [Route] = []
    var rules: [Rule] = [Rule(priority: 32766)]
    /// Whether a rule leads to the table of local addresses.
    var leadsToLocal = true
    /// What the kernel chooses source addresses from.
    var state = KernelState()
    /// Answers that stand before everything else.
    var fixed: [IPAddress: RouteFailure] = [:]
    /// The same for every destination of a family.
    var refusals: [AddressFamily: RouteFailure] = [:]
    /// What the kernel learned of destinations: the router of a redirect, and the path MTU.
    var redirects: [IPAddress: IPAddress] = [:]
    var pathMTUs: [IPAddress: Int] = [:]
    /// Interfaces by which the reverse path filter drops what comes in.
    var reverseFiltered: Set<Int> = []
    /// What becomes of packets behind the table.
    var output = OutputAnswer.open
    /// Whether sockets that are bound to nothing receive what arrives in a VRF.
    var acceptsFromVRFs = false
    let log = QueryLog()

    func output(of: Transport, from: IPAddress?, to: IPAddress, by: Int) -> OutputAnswer { output }

    /// What the kernel knows of neighbours on any link.
    var neighbors: [Neighbor] = []

    func neighbors(on index: Int) -> [Neighbor] { neighbors }

    /// What tunnels make of packets, by interface index.
    var tunnels: [Int: TunnelAnswer] = [:]

    func tunnel(_ tunnel: Link, to destination: IPAddress, isOwn: Bool) -> TunnelAnswer {
        tunnels[tunnel.index] ?? .unknown
    }

    /// Where the programs run that serve tunnels, by interface index.
    var programs: [Int: TunnelProgram] = [:]

    func program(of tunnel: Link) -> TunnelProgram { programs[tunnel.index] ?? .unknown }

    func acceptsFromVRFs(_ transport: Transport) -> Bool { acceptsFromVRFs }

    func lookup(_ query: RouteQuery) -> Result<RouteAnswer, RouteFailure> {
        log.queries.append(query)
        if let input = query.inputInterface, reverseFiltered.contains(input) { return .failure(.blackhole) }
        if let failure = fixed[query.destination] ?? refusals[query.destination.family] { return .failure(failure) }
        if leadsToLocal, query.outputInterface == nil, let holder = holder(of: query.destination) {
            let length = query.destination.family.bitWidth
            var answer = RouteAnswer(
                type: .local,
                table: 255,
                prefixLength: length,
                nexthops: [RouteNexthop(index: holder)]
            )
            answer.preferredSource = query.destination
            return .success(answer)
        }
        if let bound = query.outputInterface, state.links[bound] == nil { return .failure(.noSuchInterface) }
        for rule in rules.sorted(by: { $0.priority < $1.priority }) where rule.matches(query) {
            if let failure = rule.failure { return .failure(failure) }
            guard let route = best(in: rule, for: query) else { continue }
            switch route.type {
            case .unreachable: return .failure(.unreachable)
            case .prohibit: return .failure(.prohibited)
            case .blackhole: return .failure(.blackhole)
            case .throw: continue
            default: return .success(answer(route, query))
            }
        }
        return .failure(query.outputInterface == nil ? .noRoute : .unreachable)
    }

    var selectsByTransport: Bool { rules.contains { $0.transport != nil } }

    func marksExempt(fromTable number: UInt32, _ family: AddressFamily) -> [UInt32] {
        rules.filter { $0.table == number && $0.isMarkInverted }.compactMap(\.mark)
    }

    func refuses(mark: UInt32, _ family: AddressFamily) -> Bool {
        let asked = rules.filter { $0.family == nil || $0.family == family }.sorted { $0.priority < $1.priority }
        let first = asked.first { rule in rule.mark.map { ($0 == mark) != rule.isMarkInverted } ?? true }
        return first?.failure != nil
    }

    func carriesRoutes(_ index: Int, _ family: AddressFamily?) -> Bool {
        if let outdated = log.carriers { return outdated.contains(index) }
        // The prefixes of the interface's own addresses are the kernel's.
        let own = (state.addresses[index] ?? []).map { IPPrefix($0.value.address, length: $0.value.prefixLength) }
        return routes.contains { route in
            !own.contains(route.prefix) && (family == nil || family == route.prefix.address.family)
                && route.nexthops.contains { $0.index == index }
        }
    }

    func refreshCarriers() -> Bool {
        defer { log.carriers = nil }
        return log.carriers != nil
    }

    func defaultRoutes(_ family: AddressFamily, table: UInt32) -> [RouteAnswer] {
        routes.filter { $0.prefix.length == 0 && $0.prefix.address.family == family && $0.table == table }
            .map { answer($0, RouteQuery($0.prefix.address, kind: .entry)) }
    }

    /// The interface that has an address.
    func holder(of address: IPAddress) -> Int? {
        state.addresses.values.joined().first { $0.value.address == address }?.value.index
    }

    private func best(in rule: Rule, for query: RouteQuery) -> Route? {
        routes.filter { route in
            if let left = route.expiresIn, left <= 0 { return false }
            guard route.table == rule.table, route.prefix.contains(query.destination) else { return false }
            if let limit = rule.suppressedLength, route.prefix.length <= limit { return false }
            if let origin = route.origin, !origin.covers(query.source) { return false }
            guard let bound = query.outputInterface, route.type == .unicast else { return true }
            if state.links[bound]?.kind == "vrf" {
                return route.nexthops.contains { state.links[$0.index]?.master == bound }
            }
            return route.nexthops.contains { $0.index == bound }
        }.min { (-$0.prefix.length, $0.metric) < (-$1.prefix.length, $1.metric) }
    }

    private func answer(_ route: Route, _ query: RouteQuery) -> RouteAnswer {
        var nexthops = route.nexthops.map { nexthop in
            var nexthop = nexthop
            if state.links[nexthop.index]?.carrier == false { nexthop.flags.insert(.linkDown) }
            return nexthop
        }
        var answer = RouteAnswer(
            type: route.type,
            table: route.table,
            prefixLength: route.prefix.length,
            metric: route.metric,
            nexthopID: route.nexthopID,
            expiresIn: route.expiresIn
        )
        if query.kind == .decision {
            let bound = query.outputInterface.flatMap { state.links[$0] }.flatMap { $0.kind == "vrf" ? nil : $0.index }
            nexthops = Array((nexthops.filter { bound == nil || $0.index == bound }).prefix(1))
            answer.prefixLength = query.destination.family.bitWidth
            answer.preferredSource =
                query.source ?? route.source ?? source(for: nexthops.first?.index, family: query.destination.family)
            if let router = redirects[query.destination], !nexthops.isEmpty { nexthops[0].gateway = router }
            answer.nexthops = nexthops
            answer.mtu = pathMTUs[query.destination]
            let isRedirect = redirects[query.destination] != nil
            if isRedirect || answer.mtu != nil {
                answer.exception = RouteException(isRedirect: isRedirect, expiresIn: 300)
            }
        } else {
            answer.preferredSource = route.source
            answer.nexthops = route.hidesLegs ? [] : nexthops
        }
        return answer
    }

    /// The leg's own address, then anybody's for IPv4, then `::1` for IPv6.
    private func source(for nexthop: Int?, family: AddressFamily) -> IPAddress? {
        let usable = { (held: HeldAddress) -> Bool in
            let flags = held.value.flags
            return held.value.address.family == family && held.isRoutable
                && (!flags.contains(.tentative) || flags.contains(.optimistic))
        }
        let own = nexthop.flatMap { state.addresses[$0] }?.filter(usable) ?? []
        if let best = own.first(where: { !$0.value.flags.contains(.deprecated) }) ?? own.first {
            return best.value.address
        }
        if family == .ipv6 { return .v6(1) }
        return state.addresses.sorted { $0.key < $1.key }.flatMap(\.value).first(where: usable)?.value.address
    }
}

extension IPPrefix {
    /// Whether packets from the address match a selector; without an address none do.
    fileprivate func covers(_ source: IPAddress?) -> Bool {
        source.map { $0.family == address.family && contains($0) } ?? false
    }
}

/// The questions a table was asked.
final class QueryLog {
    var queries: [RouteQuery] = []
    /// The interfaces that carried routes when they were read; `nil` where those of now are known.
    var carriers: Set<Int>?

    /// Those about packets that leave: what comes in has neither a user nor a mark.
    func leaving(_ world: World) -> [RouteQuery] {
        queries.filter { query in
            !world.state.addresses.values.joined().contains { $0.value.address == query.destination }
        }
    }
}
