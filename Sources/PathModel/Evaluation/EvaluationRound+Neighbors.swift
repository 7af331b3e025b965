// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Netlink

/// Where the kernel chooses by what it knows of neighbours (rules S53, S54).
extension EvaluationRound {
    /// Keeps the nexthops that the neighbour states allow, and records the neighbours that decide.
    mutating func considerNeighbors(of choice: inout RouteChoice, with queries: inout RouteQueries) {
        guard choice.entry.type == .unicast, choice.entry.prefixLength == 0 else { return }
        let family = choice.destination.family
        let defaults = queries.defaultRoutes(family, table: choice.entry.table).filter { $0.type == .unicast }
        guard family == .ipv4 else {
            noteLapsed(defaults)
            // The entry is one of the defaults.
            if defaults.count > 1 || choice.nexthops.count > 1 {
                queries.neighbors.rivals.formUnion(keys(of: defaults + [choice.entry]))
            }
            return excludeSilentNexthops(of: &choice)
        }
        // Bound packets use the first one.
        guard queries.bound == nil else { return }
        let equals = defaults.filter { route in
            route.metric == choice.entry.metric && !route.nexthops.allSatisfy { $0.flags.contains(.dead) }
        }
        guard equals.count > 1, let rotation = EqualDefaults(equals.map(\.nexthops)) else { return }
        queries.neighbors.rivals.formUnion(keys(of: equals))
        let selected = rotation.selected { classifier.state.neighborState($0) }
        choice.alternates = selected.count > 1
        if choice.alternates { choice.datagramsDiffer = false }
        choice.entry.nexthops = selected.flatMap { equals[$0].nexthops }
    }

    /// IPv6 skips a nexthop whose router is known not to answer while there is another (`rt6_score_route`).
    private func excludeSilentNexthops(of choice: inout RouteChoice) {
        guard choice.entry.nexthops.count > 1 else { return }
        let isSilent = choice.entry.nexthops.map { nexthop in
            nexthop.router.map { classifier.state.neighborState($0) } == .failed
        }
        guard isSilent.contains(false) else { return }
        for position in isSilent.indices where isSilent[position] {
            choice.entry.nexthops[position].flags.insert(.dead)
        }
    }

    /// A route of a router advertisement that ran out stays in the table for up to half a minute, unused; when its router
    /// speaks again meanwhile, nothing is announced (rule S28).
    mutating func noteLapsed(_ defaults: [RouteAnswer]) {
        keepsLapsed = keepsLapsed || defaults.contains(where: \.hasLapsed)
    }

    /// Whether a default route has no router on a link where each destination has to answer itself (rule S52).
    func isOnLinkDefault(_ nexthop: RouteNexthop, of answer: RouteAnswer, _ family: AddressFamily) -> Bool {
        guard nexthop.gateway == nil, let link = classifier.state.links[nexthop.index] else { return false }
        return answer.prefixLength <= RoutePoll.longestPrefix(family)
            && link.flags.isDisjoint(with: [.noARP, .pointToPoint, .loopback])
    }

    /// Whether destinations beyond such a link did not answer when packets went there, and none did; `bound` is the interface
    /// that packets are bound to.
    func isUnanswered(_ nexthop: RouteNexthop, of uplink: Uplink, bound: Int?, with queries: inout RouteQueries) -> Bool
    {
        let (family, index) = (uplink.family, nexthop.index)
        guard isOnLinkDefault(nexthop, of: uplink.answer, family) else { return false }
        let servers = classifier.facts.dns.servers + (classifier.facts.dns.upstream ?? [])
        let destinations = [uplink.probe] + servers.map(\.address.address.unmapped)
        // Where packets do not match the default route, but a longer prefix: what answers there says nothing of others.
        var nearer = (classifier.state.addresses[index] ?? []).map {
            IPPrefix($0.value.address, length: $0.value.prefixLength)
        }
        let keys = Set(destinations.filter { $0.family == family && !$0.isLoopback })
            .filter { address in !nearer.contains { $0.contains(address) } }
            .map { NeighborKey(index: index, address: $0) }
        queries.neighbors.rivals.formUnion(keys)
        func isReached(_ address: IPAddress) -> Bool {
            guard !nearer.contains(where: { $0.contains(address) }) else { return false }
            switch queries.connect(restingOn: address, by: bound) {
            case .success(let choice) where choice.entry.prefixLength > uplink.answer.prefixLength:
                nearer.append(IPPrefix(address, length: choice.entry.prefixLength))
                return false
            case .success(let choice): return choice.nexthops.contains { $0.index == index }
            // It cannot be looked up, as where a recording lacks the answer.
            case .failure(let refusal): return if case .other = refusal.failure { true } else { false }
            }
        }
        var answers: [Bool] = []
        for key in keys {
            guard let answer = classifier.state.hasAnswered(key), isReached(key.address) else { continue }
            answers.append(answer)
        }
        guard answers.contains(false), !answers.contains(true) else { return false }
        return !queries.table.neighbors(on: index).contains { other in
            other.address.family == family && other.answeredLately && isReached(other.address)
        }
    }

    private func keys(of routes: [RouteAnswer]) -> [NeighborKey] { routes.flatMap { $0.nexthops.compactMap(\.router) } }
}

/// IPv4 defaults of one metric, among which the kernel selects one whose router answers (`fib_select_default`).
///
/// One that was just confirmed is selected, or one without an entry; else those that once answered alternate, and
/// without such, all. The kernel does not expose its last selection: where it ends up from any start
/// is the same.
struct EqualDefaults {
    /// The routers in the kernel's order; `nil` is a route without one, which is passed over.
    private let routers: [NeighborKey?]

    /// Compares routes of one table and metric that are not dead; `nil` where the kernel selects the first one.
    init?(_ routes: [[RouteNexthop]]) {
        // A multipath route, or one without a router, is used as it is when it comes first.
        guard let first = routes.first, first.count == 1, first[0].gateway != nil else { return nil }
        routers = routes.map { $0.first?.router }
    }

    /// Which of the routes packets use, one after the other, while neighbours are in these states.
    func selected(_ state: (NeighborKey) -> NeighborState) -> [Int] {
        let states = routers.map { $0.map(state) }
        var selected: Set<Int> = []
        for start in -1..<routers.count {
            var last = start
            // After as many packets as there are routes, where it began is forgotten.
            for packet in 0...(2 * routers.count + 2) {
                let position = Self.next(after: &last, states)
                if packet > routers.count { selected.insert(position) }
            }
        }
        return selected.sorted()
    }

    /// The route of the next packet, by the one of the last.
    private static func next(after last: inout Int, _ states: [NeighborState?]) -> Int {
        var resort = -1
        var order = -1
        for (position, state) in states.enumerated() {
            guard let state else { continue }
            order += 1
            let isTrusted = state == .reachable || state == .none
            let isValid = !isTrusted && state != .incomplete && state != .failed
            if isTrusted || isValid && order != last {
                last = order
                return position
            }
            if isValid || resort < 0 && order > last && state != .incomplete { resort = order }
        }
        last = resort
        return resort < 0 ? 0 : states.indices.filter { states[$0] != nil }[resort]
    }
}

extension Neighbor {
    /// Whether it was there a short time ago: after 45 s at most the kernel no longer relies on that (NUD_REACHABLE).
    fileprivate var answeredLately: Bool {
        [.reachable, .stale, .delay, .probe].contains(state) && confirmed.map { $0 < .seconds(45) } ?? false
    }
}

extension RouteNexthop {
    /// The router as a neighbour.
    var router: NeighborKey? { gateway.map { NeighborKey(index: index, address: $0) } }
}
