// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Netlink

/// A route to the Internet with the state of its legs.
///
/// An object, because it is handed from step to step; it does not change any more once it is the outcome of a family.
final class WayOut {
    /// What connect(2) finds.
    var choice: RouteChoice
    /// Legs that work, in the kernel's order.
    var live: [RouteLeg] = []
    var dead: [RouteLeg] = []
    /// The address packets come from, once it is known.
    var source: IPAddress?
    /// The addresses of packets that take other legs.
    var otherSources: [IPAddress] = []
    var warnings: Set<PathWarning> = []
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
    case open(WayOut)
    /// There is a live leg, but no address to come from.
    case noSource(WayOut, SourceJudge.Verdict)
    /// The kernel would send into dead legs.
    case dead(WayOut)
    /// The gateways do not answer, and that counts.
    case silent(WayOut)
    /// A packet filter or an IPsec policy refuses connections.
    case filtered(WayOut, OutputObstacle)
    /// Packets would leave by tunnels whose own packets do not.
    case stranded(WayOut, UnsatisfiedReason, ReasonSubject)
    /// Packets would leave by interfaces that do not count here.
    case forbidden(WayOut, demand: String)
    /// No route, or one that says no.
    case refused(RouteRefusal)

    var openWay: WayOut? {
        if case .open(let way) = self { way } else { nil }
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
