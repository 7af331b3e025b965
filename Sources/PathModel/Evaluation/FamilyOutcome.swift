// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Netlink

/// A route to the Internet with the state of its nexthops.
///
/// An object, because it is handed from step to step; it does not change any more once it is the outcome of a family.
final class Uplink {
    /// What connect(2) finds.
    var choice: RouteChoice
    /// Nexthops that work, in the kernel's order.
    var live: [RouteNexthop] = []
    var dead: [RouteNexthop] = []
    /// The address packets come from, once it is known.
    var source: IPAddress?
    /// The addresses of packets that use other nexthops.
    var otherSources: [IPAddress] = []
    /// The addresses of packets that are bound to the interface of one of several nexthops.
    var boundSources: [Int: IPAddress] = [:]
    var warnings: Set<PathWarning> = []
    /// Whether all nexthops are without a router, and no destination is known to answer on their links.
    var isUnanswered = false
    /// What ends unless it is refreshed.
    var expiries: [Expiry] = []

    init(_ choice: RouteChoice) {
        self.choice = choice
    }

    var family: AddressFamily { choice.destination.family }
    var probe: IPAddress { choice.destination }
    var answer: RouteAnswer { choice.entry }

    var namedIndex: Int? { (live.first ?? dead.first)?.index }
}

enum FamilyOutcome {
    case open(Uplink)
    /// There is a live nexthop, but no address to come from.
    case noSource(Uplink, SourceEvaluator.Verdict)
    /// The kernel would send into dead nexthops.
    case dead(Uplink)
    /// The gateways do not answer, and that counts.
    case silent(Uplink)
    /// A packet filter or an IPsec policy refuses connections.
    case filtered(Uplink, OutputObstacle)
    /// Packets would leave by tunnels whose own packets do not.
    case stranded(Uplink, UnsatisfiedReason, ReasonSubject)
    /// Packets would leave by interfaces that do not count here.
    case forbidden(Uplink, requirement: String)
    /// No route, or one that says no.
    case refused(RouteRefusal)

    var openUplink: Uplink? {
        if case .open(let uplink) = self { uplink } else { nil }
    }
}

struct PerFamily<Value> {
    private var ipv4: Value?
    private var ipv6: Value?

    subscript(family: AddressFamily) -> Value? {
        get { family == .ipv4 ? ipv4 : ipv6 }
        set { if family == .ipv4 { ipv4 = newValue } else { ipv6 = newValue } }
    }
}
