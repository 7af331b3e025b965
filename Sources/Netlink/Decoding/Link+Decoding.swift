// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import CNetlink

extension Link {
    /// `IFLA_TAILROOM`, the last of Linux 6.18, of which this version knows what those that it does not read mean.
    private static let lastKnown = 69

    /// Reads `struct ifinfomsg` and its IFLA_* attributes.
    /// - Returns: `nil` when the bytes are not a whole description of a link.
    init?(decoding body: Span<UInt8>) {
        guard body.count >= 16 else { return nil }
        let index = body.index(at: 4)
        guard index > 0 else { return nil }
        self.init(
            index: index,
            name: "",
            flags: LinkFlags(rawValue: body.host32(at: 8)),
            hardwareType: body.host16(at: 2),
            mtu: 0
        )
        var attributes = AttributeReader(body, from: 16)
        while attributes.advance() { read(attributes) }
        guard !attributes.isMalformed, !name.isEmpty else { return nil }
        // A link is not below itself, and an index of another namespace means nothing here.
        if lower == index || isLowerElsewhere { lower = nil }
    }

    private mutating func read(_ attribute: borrowing AttributeReader) {
        switch attribute.kind {
        case IFLA_IFNAME: name = attribute.text
        case IFLA_ADDRESS: hardwareAddress = attribute.payload.array
        case IFLA_MTU: mtu = Int(attribute.word)
        case IFLA_LINK: lower = attribute.index > 0 ? attribute.index : nil
        case IFLA_LINK_NETNSID: isLowerElsewhere = true
        case IFLA_MASTER: master = attribute.index > 0 ? attribute.index : nil
        case IFLA_OPERSTATE: operationalState = OperationalState(rawValue: attribute.byte) ?? .unknown
        case IFLA_LINKMODE: isDormantMode = attribute.byte == 1
        case IFLA_PROTO_DOWN: isHeldDown = attribute.byte != 0
        case IFLA_AF_SPEC: readFamilies(attribute.payload)
        case IFLA_CARRIER: carrier = attribute.byte != 0
        case IFLA_CARRIER_CHANGES: carrierChanges = attribute.word
        case IFLA_LINKINFO: readInformation(attribute.payload)
        case IFLA_PROP_LIST: readProperties(attribute.payload)
        case IFLA_PARENT_DEV_NAME: parentDevice = attribute.text
        case IFLA_PARENT_DEV_BUS_NAME: parentBus = attribute.text
        case _ where attribute.kind > Self.lastKnown: unknownAttributes.append(attribute.kind)
        default: break
        }
    }

    /// Reads the nested `IFLA_PROP_LIST`.
    private mutating func readProperties(_ nested: Span<UInt8>) {
        var attributes = AttributeReader(nested)
        while attributes.advance() {
            guard attributes.kind == IFLA_ALT_IFNAME, !attributes.payload.isEmpty else { continue }
            alternativeNames.append(attributes.text)
        }
    }

    /// Reads the nested `IFLA_AF_SPEC`, by address family.
    private mutating func readFamilies(_ nested: Span<UInt8>) {
        var families = AttributeReader(nested)
        while families.advance() {
            guard families.kind == Self.inet6 else { continue }
            var attributes = AttributeReader(families.payload)
            while attributes.advance() {
                let offset = Self.disableIPv6 * 4
                guard attributes.kind == IFLA_INET6_CONF, attributes.payload.count >= offset + 4 else { continue }
                isIPv6Disabled = attributes.payload.host32(at: offset) != 0
            }
        }
    }

    /// `AF_INET6`.
    private static let inet6 = 10
    /// `DEVCONF_DISABLE_IPV6` of linux/ipv6.h, whose types clash with those of the C library.
    private static let disableIPv6 = 26

    /// Reads the nested `IFLA_LINKINFO`.
    private mutating func readInformation(_ nested: Span<UInt8>) {
        var attributes = AttributeReader(nested)
        while attributes.advance() {
            switch attributes.kind {
            case IFLA_INFO_KIND: kind = attributes.text
            case IFLA_INFO_SLAVE_KIND: portKind = attributes.text
            case IFLA_INFO_DATA: readKind(attributes.payload)
            case IFLA_INFO_SLAVE_DATA: readPort(attributes.payload)
            default: break
            }
        }
    }

    /// Reads what a link of its kind says of itself; the kernel names the kind first.
    private mutating func readKind(_ nested: Span<UInt8>) {
        switch kind {
        case "bond": readBond(nested)
        case "hsr": readHSR(nested)
        case "vrf": readVRF(nested)
        case "bridge": readBridge(nested)
        default: readTunnel(nested)
        }
    }

    private mutating func readBond(_ nested: Span<UInt8>) {
        var bond = Bond()
        var attributes = AttributeReader(nested)
        while attributes.advance() {
            switch attributes.kind {
            case IFLA_BOND_MODE: bond.mode = attributes.byte
            case IFLA_BOND_ACTIVE_SLAVE: bond.activePort = attributes.index > 0 ? attributes.index : nil
            case IFLA_BOND_MIIMON, IFLA_BOND_ARP_INTERVAL: bond.isMonitored = bond.isMonitored || attributes.word > 0
            case IFLA_BOND_AD_INFO: bond.aggregator = Self.aggregator(attributes.payload)
            default: break
            }
        }
        self.bond = bond
    }

    private static func aggregator(_ nested: Span<UInt8>) -> UInt16? {
        var attributes = AttributeReader(nested)
        while attributes.advance() {
            guard attributes.kind == IFLA_BOND_AD_INFO_AGGREGATOR, attributes.payload.count >= 2 else { continue }
            return attributes.payload.host16(at: 0)
        }
        return nil
    }

    /// `BR_BOOLOPT_MST_ENABLE` of linux/if_bridge.h, whose types clash with those of the C library.
    private static let multipleTrees: UInt32 = 1 << 2

    private mutating func readBridge(_ nested: Span<UInt8>) {
        var attributes = AttributeReader(nested)
        while attributes.advance() {
            if attributes.kind == IFLA_BR_MULTI_BOOLOPT { hasMST = attributes.word & Self.multipleTrees != 0 }
        }
    }

    private mutating func readVRF(_ nested: Span<UInt8>) {
        var attributes = AttributeReader(nested)
        while attributes.advance() {
            if attributes.kind == IFLA_VRF_TABLE { vrfTable = attributes.word }
        }
    }

    private mutating func readHSR(_ nested: Span<UInt8>) {
        var attributes = AttributeReader(nested)
        while attributes.advance() {
            guard [IFLA_HSR_SLAVE1, IFLA_HSR_SLAVE2].contains(attributes.kind), attributes.index > 0 else { continue }
            hsrPorts.append(attributes.index)
        }
    }

    /// Reads what the master says of this port; the kernel names the master's kind first.
    private mutating func readPort(_ nested: Span<UInt8>) {
        var attributes = AttributeReader(nested)
        while attributes.advance() {
            switch (portKind, attributes.kind) {
            case ("bond", IFLA_BOND_SLAVE_MII_STATUS): isBondPortUp = attributes.byte == 0
            case ("bond", IFLA_BOND_SLAVE_AD_AGGREGATOR_ID) where attributes.payload.count >= 2:
                bondAggregator = attributes.payload.host16(at: 0)
            case ("bridge", IFLA_BRPORT_STATE): bridgePortState = BridgePortState(rawValue: attributes.byte)
            default: break
            }
        }
    }

    /// Reads the mark and the ends of a tunnel's own packets; the kernel sends its kind first.
    private mutating func readTunnel(_ nested: Span<UInt8>) {
        guard let numbers = TunnelAttributes(kind) else { return }
        var attributes = AttributeReader(nested)
        while attributes.advance() {
            switch attributes.kind {
            case numbers.mark where attributes.word != 0: tunnelMark = attributes.word
            // IFLA_VXLAN_LINK: this kind has no IFLA_LINK.
            case 3 where kind == "vxlan" && attributes.index > 0: lower = attributes.index
            case _ where numbers.remote.contains(attributes.kind):
                tunnelRemote = Self.end(attributes.payload) ?? tunnelRemote
            case _ where numbers.local.contains(attributes.kind):
                tunnelLocal = Self.end(attributes.payload) ?? tunnelLocal
            default: break
            }
        }
        // A multicast group has many ends.
        if tunnelRemote?.isMulticast == true { tunnelRemote = nil }
        if tunnelLocal?.family != tunnelRemote?.family { tunnelLocal = nil }
    }

    /// An end that is set.
    private static func end(_ payload: Span<UInt8>) -> IPAddress? {
        guard let address = IPAddress(bytes: payload), !address.isUnspecified else { return nil }
        return address
    }
}

/// The numbers of attributes that depend on the kind: linux/if_tunnel.h (IFLA_GRE_*, IFLA_IPTUN_*, IFLA_VTI_*), whose types
/// clash with those of the C library, and linux/if_link.h (IFLA_VXLAN_*, IFLA_GENEVE_*).
private struct TunnelAttributes {
    let mark: Int
    let local: [Int]
    let remote: [Int]

    init?(_ kind: String?) {
        switch kind {
        case "gre", "gretap", "erspan", "ip6gre", "ip6gretap", "ip6erspan": (mark, local, remote) = (20, [6], [7])
        case "ipip", "sit", "ip6tnl": (mark, local, remote) = (20, [2], [3])
        case "vti", "vti6": (mark, local, remote) = (6, [4], [5])
        case "vxlan": (mark, local, remote) = (-1, [4, 17], [2, 16])
        case "geneve": (mark, local, remote) = (-1, [], [2, 7])
        default: return nil
        }
    }
}
