// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
public import Netlink

/// What an explanation is made from, besides the forwarding table itself.
public struct ExplanationFacts: Sendable {
    /// Links and addresses, name servers, and what the operator decided.
    public var judge: InterfaceJudge
    /// The policy rules of both families, in any order.
    public var rules: [PolicyRule]
    /// Routes that reject, of all tables.
    public var rejects: [RouteEntry]
    /// Default routes, of all tables, in the kernel's order.
    public var defaults: [RouteEntry]
    public var nexthops: [Nexthop]
    public var neighbors: [NeighborKey: Neighbor]
    public var uid: UInt32
    /// The firewall mark of the packets in question.
    public var mark: UInt32
    /// The time since boot.
    public var now: Duration

    /// Whether the router of a default route is being resolved, so that it is known soon whether it answers.
    public var isResolvingRouter: Bool {
        defaults.contains { route in
            route.answer.legs.contains { $0.router.map { neighbors[$0]?.state == .incomplete } ?? false }
        }
    }

    public init(
        judge: InterfaceJudge,
        rules: [PolicyRule] = [],
        rejects: [RouteEntry] = [],
        defaults: [RouteEntry] = [],
        nexthops: [Nexthop] = [],
        neighbors: [Neighbor] = [],
        uid: UInt32 = 0,
        mark: UInt32 = 0,
        now: Duration = .zero
    ) {
        self.judge = judge
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
