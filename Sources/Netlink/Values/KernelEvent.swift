// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing

/// What one notification of the kernel says.
///
/// Events are triggers and hints: the state is read again (rule S2).
public enum KernelEvent: Hashable, Sendable {
    /// A link was made or changed (`RTM_NEWLINK`, `AF_UNSPEC`).
    case link(Link)
    /// Something of a link changed, but the message does not describe the link: wireless extensions send the flags and
    /// `IFLA_WIRELESS` alone at each association and scan (`RTM_NEWLINK` without `IFLA_MTU`, `AF_UNSPEC`).
    case linkHint(index: Int)
    /// A link is gone (`RTM_DELLINK`, `AF_UNSPEC`).
    case linkRemoved(index: Int, name: String)
    /// A bridge port changed (`RTM_NEWLINK`/`RTM_DELLINK`, `AF_BRIDGE`): never says that the link is gone (rule S7).
    case bridgePort(index: Int, master: Int?)
    /// An address was added or changed (`RTM_NEWADDR`).
    case address(InterfaceAddress)
    /// An address is gone (`RTM_DELADDR`).
    case addressRemoved(InterfaceAddress)
    /// A route with a short prefix was added, replaced or removed.
    case route(RouteNotice)
    /// A policy rule was added or removed.
    case rule(family: AddressFamily, removed: Bool)
    case nexthop(id: UInt32, removed: Bool)
    case neighbor(Neighbor, removed: Bool)
    /// A bridge learnt behind which port a hardware address is, or forgot it (`AF_BRIDGE`).
    case bridgeEntry(BridgeEntry, removed: Bool)
    /// A per-interface or global setting such as `ignore_routes_with_linkdown` changed (`RTM_NEWNETCONF`).
    case settings(family: AddressFamily?, index: Int)
    /// A router advertisement contained DNS servers (RDNSS, RFC 8106).
    case routerDNS(index: Int, servers: [IPAddress], lifetime: UInt32)

    public var concernsRules: Bool { if case .rule = self { true } else { false } }

    /// Whether it is about neighbours alone.
    public var concernsNeighbors: Bool {
        switch self {
        case .neighbor, .bridgeEntry: true
        default: false
        }
    }

    /// Whether links or addresses may be other ones.
    public var concernsLinks: Bool {
        switch self {
        case .link, .linkRemoved, .address, .addressRemoved: true
        default: false
        }
    }

    /// Whether routes may have come or gone with it, some of which the kernel does not announce.
    public var concernsRoutes: Bool {
        switch self {
        case .link, .linkRemoved, .address, .addressRemoved, .route, .nexthop, .settings: true
        case .linkHint, .bridgePort, .bridgeEntry, .rule, .neighbor, .routerDNS: false
        }
    }
}

/// The header of a route notification: enough for a cause, never enough for a decision.
public struct RouteNotice: Hashable, Sendable {
    public var family: AddressFamily
    /// The length of its prefix; the kernel filter lets only those pass that may stand for the Internet (rule S3).
    public var prefixLength: Int
    public var table: UInt32
    public var removed: Bool

    public init(family: AddressFamily, prefixLength: Int, table: UInt32, removed: Bool) {
        self.family = family
        self.prefixLength = prefixLength
        self.table = table
        self.removed = removed
    }
}

/// One entry of the neighbour table (ARP, RFC 826; ND, RFC 4861).
public struct Neighbor: Hashable, Sendable {
    public var index: Int
    public var address: IPAddress
    /// The NUD_* state.
    public var state: NeighborState
    /// Its hardware address; empty while unresolved.
    public var hardwareAddress: [UInt8]
    /// Whether the entry says that the neighbour is a router (`NTF_ROUTER`).
    public var isRouter: Bool
    /// How long ago the neighbour was last confirmed (`ndm_confirmed` of `NDA_CACHEINFO`); `nil` when not reported.
    public var confirmed: Duration?
    /// Whether another program vouches for the entry (`extern_valid`), so that the kernel never calls it failed.
    public var isExternallyValidated = false
    /// The index of the bridge port behind which it is, where that was requested.
    public var port: Int?

    public init(
        index: Int,
        address: IPAddress,
        state: NeighborState,
        hardwareAddress: [UInt8] = [],
        isRouter: Bool = false,
        confirmed: Duration? = nil
    ) {
        self.index = index
        self.address = address
        self.state = state
        self.hardwareAddress = hardwareAddress
        self.isRouter = isRouter
        self.confirmed = confirmed
    }
}

/// One entry of a bridge's forwarding table: behind which port a hardware address is.
public struct BridgeEntry: Hashable, Sendable {
    /// The index of the bridge (`NDA_MASTER`).
    public var bridge: Int
    public var port: Int
    public var hardwareAddress: [UInt8]

    public init(bridge: Int, port: Int, hardwareAddress: [UInt8]) {
        self.bridge = bridge
        self.port = port
        self.hardwareAddress = hardwareAddress
    }
}

/// The NUD_* states, linux/neighbour.h.
public enum NeighborState: UInt16, Hashable, Sendable, CaseIterable {
    case none = 0x00
    case incomplete = 0x01
    case reachable = 0x02
    case stale = 0x04
    case delay = 0x08
    case probe = 0x10
    case failed = 0x20
    case noARP = 0x40
    case permanent = 0x80

    /// Whether packets are sent without a resolution first (`NUD_VALID`).
    public var hasHardwareAddress: Bool { self != .none && self != .incomplete && self != .failed }
}

/// One policy rule (`RTM_GETRULE`, ip-rule(8)).
public struct PolicyRule: Hashable, Sendable {
    public var family: AddressFamily
    /// Lower is evaluated first (`FRA_PRIORITY`).
    public var priority: UInt32
    /// What it does: 1 look up `table`, 2 go to a rule, 6 blackhole, 7 unreachable, 8 prohibit (`FR_ACT_*`).
    public var action: UInt8
    /// The table it looks up; 255 local, 254 main, 253 default.
    public var table: UInt32
    /// The packets it applies to, in the words of ip-rule(8), such as `fwmark 0x1 oif eth0`; `all` without a selector.
    public var selector: String
    /// The numbers of its attributes that this version does not know, which may restrict it to some packets.
    public var unknownAttributes: [Int]

    /// Whether it selects by the protocol or the ports of packets.
    public var selectsByTransport: Bool {
        selector.split(separator: " ").contains { ["ipproto", "sport", "dport"].contains($0) }
    }

    /// Whether it matches on the mark of packets.
    public var readsMark: Bool { selector.split(separator: " ").contains("fwmark") }

    /// The mark of packets that it applies to, or does not apply to when `isInverted`; `nil` where it matches on none, or on
    /// more than the mark.
    public var mark: (value: UInt32, isInverted: Bool)? {
        let words = selector.split(separator: " ")
        let isInverted = words.first == "not"
        guard words.count == (isInverted ? 3 : 2), words[words.count - 2] == "fwmark",
            let digits = words[words.count - 1].split(separator: "/").first, digits.hasPrefix("0x"),
            let value = UInt32(digits.dropFirst(2), radix: 16), value != 0
        else { return nil }
        return (value, isInverted)
    }

    /// Describes a rule.
    public init(
        family: AddressFamily,
        priority: UInt32,
        action: UInt8,
        table: UInt32,
        selector: String,
        unknownAttributes: [Int] = []
    ) {
        self.family = family
        self.priority = priority
        self.action = action
        self.table = table
        self.selector = selector
        self.unknownAttributes = unknownAttributes
    }
}
