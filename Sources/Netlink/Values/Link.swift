// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing

/// One network interface as the kernel describes it in `RTM_NEWLINK` with `ifi_family` `AF_UNSPEC`.
public struct Link: Hashable, Sendable {
    /// The kernel's number of the interface, 1 or more; a rename keeps it.
    public var index: Int
    /// The interface name, at most 15 bytes (`IFLA_IFNAME`).
    public var name: String
    /// Its other names, at most 127 bytes each, in the kernel's order (`IFLA_ALT_IFNAME`).
    public var alternativeNames: [String]
    /// The IFF_* bits.
    public var flags: LinkFlags
    /// The ARPHRD_* hardware type: 1 Ethernet, 772 loopback, 519 raw IP, 512 PPP.
    public var hardwareType: UInt16
    /// `IFLA_CARRIER`; `nil` when the message lacks it.
    public var carrier: Bool?
    /// `IFLA_OPERSTATE` (RFC 2863).
    public var operationalState: OperationalState
    /// `IFLA_LINKMODE` is `IF_LINK_MODE_DORMANT`: a supplicant decides when the link is up.
    public var isDormantMode: Bool
    /// `IFLA_PROTO_DOWN`: a program, such as one for redundant switches, keeps the carrier off.
    public var isHeldDown: Bool
    /// Whether the sysctl `disable_ipv6` of the interface is set (in `IFLA_AF_SPEC`); a change of it is not announced.
    public var isIPv6Disabled: Bool
    /// The largest packet, in bytes (`IFLA_MTU`).
    public var mtu: Int
    /// The index of the bridge, bond, team or VRF that this link is a port of (`IFLA_MASTER`).
    public var master: Int?
    /// The index of the link below (`IFLA_LINK`), when it is in the same namespace.
    public var lower: Int?
    /// Whether the peer or lower link lives in another namespace (`IFLA_LINK_NETNSID` is present).
    public var isLowerElsewhere: Bool
    /// The kind of a virtual link, such as `veth`, `bridge`, `tun`; `nil` for hardware (`IFLA_INFO_KIND`).
    public var kind: String?
    /// The kind of the master seen from the port, such as `bridge` or `bond` (`IFLA_INFO_SLAVE_KIND`).
    public var portKind: String?
    /// The fwmark of a tunnel's own packets, where the kind has one (wireguard tells it elsewhere: `nil`).
    public var tunnelMark: UInt32?
    /// The address that a tunnel's own packets go to; `nil` where there are several, or somebody else sends them.
    public var tunnelRemote: IPAddress?
    /// The address they come from, where the tunnel has one.
    public var tunnelLocal: IPAddress?
    /// The hardware address; empty for links without one (`IFLA_ADDRESS`).
    public var hardwareAddress: [UInt8]
    /// How often the carrier changed since the link was made (`IFLA_CARRIER_CHANGES`).
    public var carrierChanges: UInt32
    /// The bus of the device behind the link, such as `usb` or `virtio` (`IFLA_PARENT_DEV_BUS_NAME`).
    public var parentBus: String?
    /// The name of the device behind the link (`IFLA_PARENT_DEV_NAME`).
    public var parentDevice: String?

    /// Describes a link; everything but index and name has the value of a plain, unconnected Ethernet device.
    public init(
        index: Int,
        name: String,
        alternativeNames: [String] = [],
        flags: LinkFlags = [],
        hardwareType: UInt16 = 1,
        carrier: Bool? = nil,
        operationalState: OperationalState = .unknown,
        isDormantMode: Bool = false,
        isHeldDown: Bool = false,
        isIPv6Disabled: Bool = false,
        mtu: Int = 1500,
        master: Int? = nil,
        lower: Int? = nil,
        isLowerElsewhere: Bool = false,
        kind: String? = nil,
        portKind: String? = nil,
        tunnelMark: UInt32? = nil,
        tunnelRemote: IPAddress? = nil,
        tunnelLocal: IPAddress? = nil,
        hardwareAddress: [UInt8] = [],
        carrierChanges: UInt32 = 0,
        parentBus: String? = nil,
        parentDevice: String? = nil
    ) {
        self.index = index
        self.name = name
        self.alternativeNames = alternativeNames
        self.flags = flags
        self.hardwareType = hardwareType
        self.carrier = carrier
        self.operationalState = operationalState
        self.isDormantMode = isDormantMode
        self.isHeldDown = isHeldDown
        self.isIPv6Disabled = isIPv6Disabled
        self.mtu = mtu
        self.master = master
        self.lower = lower
        self.isLowerElsewhere = isLowerElsewhere
        self.kind = kind
        self.portKind = portKind
        self.tunnelMark = tunnelMark
        self.tunnelRemote = tunnelRemote
        self.tunnelLocal = tunnelLocal
        self.hardwareAddress = hardwareAddress
        self.carrierChanges = carrierChanges
        self.parentBus = parentBus
        self.parentDevice = parentDevice
    }

    /// The longest alternative name, in bytes.
    public static let longestName = 127

    /// The name, and the alternative ones behind it.
    public var names: [String] { [name] + alternativeNames }

    /// Whether the interface is called so, by its name or by an alternative one.
    public func isNamed(_ name: String) -> Bool { self.name == name || alternativeNames.contains(name) }
}

/// The IFF_* bits of a link, netdevice(7).
public struct LinkFlags: OptionSet, Hashable, Sendable {
    public let rawValue: UInt32
    /// Makes a set from the kernel's bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue }
    /// `IFF_UP`: the administrator wants it up.
    public static let up = LinkFlags(rawValue: 0x1)
    /// `IFF_BROADCAST`.
    public static let broadcast = LinkFlags(rawValue: 0x2)
    /// `IFF_LOOPBACK`.
    public static let loopback = LinkFlags(rawValue: 0x8)
    /// `IFF_POINTOPOINT`.
    public static let pointToPoint = LinkFlags(rawValue: 0x10)
    /// `IFF_RUNNING`; late on bridges, so never a criterion.
    public static let running = LinkFlags(rawValue: 0x40)
    /// `IFF_NOARP`.
    public static let noARP = LinkFlags(rawValue: 0x80)
    /// `IFF_MULTICAST`.
    public static let multicast = LinkFlags(rawValue: 0x1000)
    /// `IFF_LOWER_UP`: the carrier, for messages without `IFLA_CARRIER`.
    public static let lowerUp = LinkFlags(rawValue: 0x10000)
    /// `IFF_DORMANT`.
    public static let dormant = LinkFlags(rawValue: 0x20000)
}

/// The operational state of RFC 2863, as `IFLA_OPERSTATE` numbers it.
public enum OperationalState: UInt8, Hashable, Sendable, CaseIterable {
    case unknown = 0
    case notPresent = 1
    case down = 2
    case lowerLayerDown = 3
    case testing = 4
    case dormant = 5
    case up = 6
}
