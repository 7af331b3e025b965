// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
public import Netlink

/// What an explanation is made from, besides the forwarding table itself.
public struct ExplanationFacts: Sendable {
    /// Links and addresses, name servers, and what the operator decided.
    public var classifier: InterfaceClassifier
    /// The policy rules of both families, in any order.
    public var rules: [PolicyRule]
    /// Routes that reject, of all tables.
    public var rejects: [RouteEntry]
    /// Default routes, of all tables, in the kernel's order.
    public var defaults: [RouteEntry]
    public var nexthops: [Nexthop]
    public var neighbors: [NeighborKey: Neighbor]
    /// Those that are being resolved for longer than the kernel solicits: something sends to them, and none answers.
    public var unanswered: Set<NeighborKey> = []
    public var uid: UInt32
    /// The firewall mark of the packets in question.
    public var mark: UInt32
    /// The time since boot.
    public var now: Duration

    /// Whether the router of a default route is being resolved, of a table that packets may be routed by.
    public var isResolvingRouter: Bool {
        defaults.contains { route in
            route.answer.nexthops.contains { $0.router.map { neighbors[$0]?.state == .incomplete } ?? false }
                && isReachable(table: route.answer.table, route.destination.address.family)
        }
    }

    /// The neighbours that are being resolved.
    public var incomplete: Set<NeighborKey> { Set(neighbors.filter { $0.value.state == .incomplete }.keys) }

    /// Whether a rule, or a route into a VRF, leads packets to the Internet to a table, from one of the own addresses.
    private func isReachable(table: UInt32, _ family: AddressFamily) -> Bool {
        let interfaces = classifier
        let state = interfaces.state
        let haveSources = rules.contains { $0.selector.split(separator: " ").contains("from") }
        let own =
            haveSources
            ? state.addresses.values.joined().map(\.value.address).filter { $0.family == family } : []
        let bound = interfaces.policy.boundInterface.flatMap { state.link(named: $0) }
        let vrfTable = bound.flatMap { $0.vrfTable ?? interfaces.vrf(of: $0)?.vrfTable }
        var tables: Set<UInt32> = []
        for destination in interfaces.policy.probes[family] ?? [] {
            for source in [nil] + own.map(Optional.some) {
                var packet = RuleMatches.Packet(to: destination, mark: mark, uid: uid, vrfTable: vrfTable)
                (packet.from, packet.bound) = (source, bound?.name)
                for rule in RuleMatches(rules, for: packet).lookups {
                    if let number = rule.isOfVRFs ? vrfTable : rule.table { tables.insert(number) }
                }
            }
        }
        guard !tables.contains(table) else { return true }
        let leaks = defaults.filter { tables.contains($0.answer.table) }.compactMap(\.answer.onlyInterface)
        return leaks.contains { state.links[$0]?.vrfTable == table }
    }

    public init(
        classifier: InterfaceClassifier,
        rules: [PolicyRule] = [],
        rejects: [RouteEntry] = [],
        defaults: [RouteEntry] = [],
        nexthops: [Nexthop] = [],
        neighbors: [Neighbor] = [],
        uid: UInt32 = 0,
        mark: UInt32 = 0,
        now: Duration = .zero
    ) {
        self.classifier = classifier
        self.rules = rules
        self.rejects = rejects
        self.defaults = defaults
        self.nexthops = nexthops
        let pairs = neighbors.map { (NeighborKey(index: $0.index, address: $0.address), $0) }
        self.neighbors = Dictionary(pairs) { first, _ in first }
        self.uid = uid
        self.mark = mark
        self.now = now
    }
}
