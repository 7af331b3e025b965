// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing

/// A question to the kernel's forwarding table (`RTM_GETROUTE`): where would a packet to `destination` go.
public struct RouteQuery: Hashable, Sendable {
    /// Where the packet would go.
    ///
    /// Nothing is sent there.
    public var destination: IPAddress
    /// The source address it would be bound to.
    public var source: IPAddress?
    /// The interface it would be bound to (`RTA_OIF`).
    public var outputInterface: Int?
    /// The interface it would have come in on (`RTA_IIF`).
    ///
    /// A failure of ``RouteFailure/blackhole`` for an own address means that the reverse path filter drops it.
    public var inputInterface: Int?
    /// The packet's firewall mark (`RTA_MARK`).
    public var mark: UInt32
    /// The user whose packet it would be (`RTA_UID`); `nil` means the caller.
    public var uid: UInt32?
    /// The packet's protocol and port, for rules that select by them; `nil` means those of no packet.
    ///
    /// Of a packet that comes in it is the port that it comes from.
    public var transport: Transport?
    /// Which of the two answers of the kernel is wanted.
    public var kind: Kind

    /// The two answers the kernel can give.
    public enum Kind: Hashable, Sendable {
        /// The matching table entry with all its nexthops (`RTM_F_FIB_MATCH`).
        case entry
        /// The decision for this one packet: the chosen nexthop and the source address.
        case decision
    }

    /// Looks up an unbound, unmarked packet of the caller by default.
    public init(
        _ destination: IPAddress,
        kind: Kind,
        source: IPAddress? = nil,
        outputInterface: Int? = nil,
        inputInterface: Int? = nil,
        mark: UInt32 = 0,
        uid: UInt32? = nil,
        transport: Transport? = nil
    ) {
        self.destination = destination
        self.kind = kind
        self.source = source
        self.outputInterface = outputInterface
        self.inputInterface = inputInterface
        self.mark = mark
        self.uid = uid
        self.transport = transport
    }
}

/// What rules select by with `ipproto` and `dport` (ip-rule(8)).
public struct Transport: Hashable, Sendable {
    /// The IPPROTO_* number: 6 TCP, 17 UDP.
    public var number: UInt8
    /// The port it goes to.
    public var port: UInt16

    public init(number: UInt8, port: UInt16) {
        self.number = number
        self.port = port
    }

    /// A connection to TCP port 443, as most programs make.
    public static let https = Transport(number: 6, port: 443)
    /// A datagram to UDP port 443, as HTTP/3 sends.
    public static let quic = Transport(number: 17, port: 443)
    /// A query to a name server.
    public static let dns = Transport(number: 17, port: 53)
    /// The same over TCP, as with `options use-vc` of resolv.conf(5).
    public static let dnsOverTCP = Transport(number: 6, port: 53)
}

public struct RouteAnswer: Hashable, Sendable {
    /// What is done with such packets (`rtm_type`).
    public var type: RouteType
    /// The table the entry stands in (`RTA_TABLE`); 254 is main.
    public var table: UInt32
    /// The length of the matched prefix; 0 for a default route.
    ///
    /// Always the full width in a `.decision`.
    public var prefixLength: Int
    /// The nexthops; several for multipath.
    ///
    /// Empty for types that do not forward.
    public var nexthops: [RouteNexthop]
    /// The source address: the route's own for an `.entry`, the one a packet would get for a `.decision`.
    public var preferredSource: IPAddress?
    /// `RTA_PRIORITY`; lower wins.
    public var metric: UInt32
    /// The nexthop object behind the route (`RTA_NH_ID`).
    public var nexthopID: UInt32?
    /// Who installed the route (`rtm_protocol`): 2 kernel, 3 boot, 4 static, 9 RA, 16 DHCP.
    public var origin: UInt8
    /// How long the kernel will still use the route, in seconds; `nil` means for ever (`rta_expires`).
    public var expiresIn: Double?
    /// The path MTU that the kernel holds, in bytes: that of the route, or of an exception for the destination (`RTAX_MTU`).
    public var mtu: Int?
    /// What the kernel learned of the one destination (ICMP); only in a `.decision`.
    public var exception: RouteException?
    /// The numbers of the entry's attributes (`RTA_*`) that this version does not know.
    public var unknownAttributes: [Int] = []
    /// The gateway of a route with one nexthop; `nil` where the destination is on the link.
    public var onlyGateway: IPAddress? { nexthops.count == 1 ? nexthops[0].gateway : nil }
    /// The interface of a route with one nexthop.
    public var onlyInterface: Int? { nexthops.count == 1 ? nexthops[0].index : nil }
    /// Whether it ran out, and is still there unused.
    public var hasLapsed: Bool { expiresIn.map { $0 <= 0 } ?? false }

    /// Describes an answer; the defaults are those of a default route in the main table.
    public init(
        type: RouteType = .unicast,
        table: UInt32 = 254,
        prefixLength: Int = 0,
        nexthops: [RouteNexthop] = [],
        preferredSource: IPAddress? = nil,
        metric: UInt32 = 0,
        nexthopID: UInt32? = nil,
        origin: UInt8 = 0,
        expiresIn: Double? = nil
    ) {
        self.type = type
        self.table = table
        self.prefixLength = prefixLength
        self.nexthops = nexthops
        self.preferredSource = preferredSource
        self.metric = metric
        self.nexthopID = nexthopID
        self.origin = origin
        self.expiresIn = expiresIn
    }
}

/// What the kernel learned of a destination by ICMP, which overrides the entry.
public struct RouteException: Hashable, Sendable {
    /// Whether a redirect may have named another router than the entry's (`RTCF_REDIRECTED`; IPv6 does not say so).
    public var isRedirect: Bool
    /// How long it lasts, in seconds; `nil` when unknown.
    public var expiresIn: Double?

    public init(isRedirect: Bool, expiresIn: Double? = nil) {
        self.isRedirect = isRedirect
        self.expiresIn = expiresIn
    }
}

/// What becomes of packets behind the forwarding table.
public enum OutputAnswer: Hashable, Sendable {
    /// No obstacle is known.
    case open
    case refused(OutputObstacle)
    /// It is unknown.
    case unknown

    public var isRefused: Bool { if case .refused = self { true } else { false } }
}

/// What refuses packets behind the forwarding table.
public enum OutputObstacle: Hashable, Sendable {
    case ipsecPolicy
    /// A packet filter, one of these chains; none where they may not be read.
    case filter([PacketFilter.Chain])
}

/// What a tunnel makes of packets that the table sends into it.
public enum TunnelAnswer: Hashable, Sendable {
    case unknown
    /// It sends them to this address, by the interface of a link-local one, in packets with this fwmark.
    case sent(to: IPAddress, by: Int?, mark: UInt32)
    case refused(TunnelRefusal)
}

/// Why a tunnel refuses packets.
public enum TunnelRefusal: Hashable, Sendable {
    /// No peer's allowed addresses contain the destination (`ENOKEY`).
    case noPeer
    /// The peer has no endpoint yet (`EDESTADDRREQ`).
    case noEndpoint
    /// No IPsec policy or state applies to them (`EHOSTUNREACH`).
    case noPolicy
}

/// What connect(2) of a UDP socket gives.
public enum ConnectAnswer: Hashable, Sendable {
    /// Packets come from this address.
    case source(IPAddress)
    /// An error.
    case refused
}

public struct RouteNexthop: Hashable, Sendable {
    /// The interface packets leave by.
    public var index: Int
    /// The router packets are handed to; `nil` when the destination is on the link.
    ///
    /// May be IPv6 for an IPv4 route
    /// (RFC 8950).
    public var gateway: IPAddress?
    /// The RTNH_F_* bits.
    public var flags: NexthopFlags

    /// Describes a live nexthop unless flags say otherwise.
    public init(index: Int, gateway: IPAddress? = nil, flags: NexthopFlags = []) {
        self.index = index
        self.gateway = gateway
        self.flags = flags
    }
}

/// The RTNH_F_* bits of a nexthop, linux/rtnetlink.h.
public struct NexthopFlags: OptionSet, Hashable, Sendable {
    public let rawValue: UInt32
    /// Makes a set from the kernel's bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue }
    /// `RTNH_F_DEAD`: not used.
    public static let dead = NexthopFlags(rawValue: 0x1)
    /// `RTNH_F_ONLINK`: the gateway counts as being on the link.
    public static let onLink = NexthopFlags(rawValue: 0x4)
    /// `RTNH_F_LINKDOWN`: the link has no carrier.
    public static let linkDown = NexthopFlags(rawValue: 0x10)
}

/// What is done with packets that match a route (`rtm_type`, linux/rtnetlink.h).
public enum RouteType: UInt8, Hashable, Sendable, CaseIterable {
    case unspecified = 0
    case unicast = 1
    case local = 2
    case broadcast = 3
    case anycast = 4
    case multicast = 5
    case blackhole = 6
    case unreachable = 7
    case prohibit = 8
    case `throw` = 9
    case nat = 10
    case externalResolver = 11
}

/// Why the kernel would refuse to send the packet.
public enum RouteFailure: Error, Hashable, Sendable {
    /// `ENETUNREACH`: no route matches.
    case noRoute
    /// `EHOSTUNREACH`: an `unreachable` route, or no route for the bound interface.
    case unreachable
    /// `EACCES`: a `prohibit` route or rule.
    case prohibited
    /// `EINVAL`: a `blackhole` route or rule.
    case blackhole
    /// `EAFNOSUPPORT`: the kernel runs without this family.
    case familyUnsupported
    /// `ENODEV`: the bound interface does not exist.
    case noSuchInterface
    /// Another positive errno, such as `EPERM` of a sandbox.
    case other(Int32)

    /// Maps the positive errno of an `RTM_GETROUTE` answer.
    public init(errno: Int32) {
        self =
            switch errno {
            case 101: .noRoute
            case 113: .unreachable
            case 13: .prohibited
            case 22: .blackhole
            case 97: .familyUnsupported
            case 19: .noSuchInterface
            default: .other(errno)
            }
    }
}
