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
    /// What a bond says of itself; `nil` for links of other kinds.
    public var bond: Bond?
    /// Whether this port is up for its bond (`IFLA_BOND_SLAVE_MII_STATUS`); `nil` for links that are no port of a bond.
    public var isBondPortUp: Bool?
    /// What the spanning tree of its bridge lets the port do; `nil` for links that are no port of a bridge.
    public var bridgePortState: BridgePortState?
    /// The 802.3ad aggregator that the port of a bond belongs to.
    public var bondAggregator: UInt16?
    /// Whether a bridge keeps a spanning tree state for each VLAN (`BR_BOOLOPT_MST_ENABLE`).
    public var hasMST: Bool
    /// The indexes of the ports of an HSR or PRP link, which have no `master`.
    public var hsrPorts: [Int]
    /// The number of the routing table of a VRF (`IFLA_VRF_TABLE`); `nil` for links of other kinds.
    public var vrfTable: UInt32?
    /// The fwmark of a tunnel's own packets, where the kind has one (wireguard reports it elsewhere: `nil`).
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
    /// The numbers of its attributes (`IFLA_*`) that this version does not know.
    public var unknownAttributes: [Int] = []

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
        bond: Bond? = nil,
        isBondPortUp: Bool? = nil,
        bridgePortState: BridgePortState? = nil,
        bondAggregator: UInt16? = nil,
        hasMST: Bool = false,
        hsrPorts: [Int] = [],
        vrfTable: UInt32? = nil,
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
        self.bond = bond
        self.isBondPortUp = isBondPortUp
        self.bridgePortState = bridgePortState
        self.bondAggregator = bondAggregator
        self.hasMST = hasMST
        self.hsrPorts = hsrPorts
        self.vrfTable = vrfTable
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

/// How a bond sends (`IFLA_INFO_DATA` of kind `bond`).
public struct Bond: Hashable, Sendable {
    /// The mode: 0 balance-rr, 1 active-backup, 2 balance-xor, 3 broadcast, 4 802.3ad, 5 balance-tlb, 6 balance-alb.
    public var mode: UInt8
    /// The index of the active port, where the mode has one (`IFLA_BOND_ACTIVE_SLAVE`).
    public var activePort: Int?
    /// Whether it tests its ports, by their carrier or by ARP; the default of `ip link add` is that it does not.
    public var isMonitored: Bool
    /// The number of the 802.3ad aggregator in use; `nil` in other modes.
    public var aggregator: UInt16?

    public init(mode: UInt8 = 0, activePort: Int? = nil, isMonitored: Bool = false, aggregator: UInt16? = nil) {
        self.mode = mode
        self.activePort = activePort
        self.isMonitored = isMonitored
        self.aggregator = aggregator
    }

    /// Whether all packets leave by the active port.
    public var sendsByActivePort: Bool { mode == 1 }
}

/// What a bridge lets a port do, as `IFLA_BRPORT_STATE` numbers it (IEEE 802.1D).
public enum BridgePortState: UInt8, Hashable, Sendable, CaseIterable {
    case disabled = 0
    case listening = 1
    case learning = 2
    case forwarding = 3
    case blocking = 4
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
