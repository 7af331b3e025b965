// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import CNetlink

extension Link {
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
        while attributes.advance() { take(attributes) }
        guard !attributes.isMalformed, !name.isEmpty else { return nil }
        // A link is not below itself, and an index of another namespace means nothing here.
        if lower == index || isLowerElsewhere { lower = nil }
    }

    private mutating func take(_ attribute: borrowing AttributeReader) {
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
        case IFLA_AF_SPEC: takeFamilies(attribute.payload)
        case IFLA_CARRIER: carrier = attribute.byte != 0
        case IFLA_CARRIER_CHANGES: carrierChanges = attribute.word
        case IFLA_LINKINFO: takeInformation(attribute.payload)
        case IFLA_PROP_LIST: takeProperties(attribute.payload)
        case IFLA_PARENT_DEV_NAME: parentDevice = attribute.text
        case IFLA_PARENT_DEV_BUS_NAME: parentBus = attribute.text
        default: break
        }
    }

    /// Reads the nested `IFLA_PROP_LIST`.
    private mutating func takeProperties(_ nested: Span<UInt8>) {
        var attributes = AttributeReader(nested)
        while attributes.advance() {
            guard attributes.kind == IFLA_ALT_IFNAME, !attributes.payload.isEmpty else { continue }
            alternativeNames.append(attributes.text)
        }
    }

    /// Reads the nested `IFLA_AF_SPEC`, by address family.
    private mutating func takeFamilies(_ nested: Span<UInt8>) {
        var families = AttributeReader(nested)
        while families.advance() {
            guard families.kind == Self.inet6 else { continue }
            var attributes = AttributeReader(families.payload)
            while attributes.advance() {
                let place = Self.disableIPv6 * 4
                guard attributes.kind == IFLA_INET6_CONF, attributes.payload.count >= place + 4 else { continue }
                isIPv6Disabled = attributes.payload.host32(at: place) != 0
            }
        }
    }

    /// `AF_INET6`.
    private static let inet6 = 10
    /// `DEVCONF_DISABLE_IPV6` of linux/ipv6.h, whose types clash with those of the C library.
    private static let disableIPv6 = 26

    /// Reads the nested `IFLA_LINKINFO`.
    private mutating func takeInformation(_ nested: Span<UInt8>) {
        var attributes = AttributeReader(nested)
        while attributes.advance() {
            switch attributes.kind {
            case IFLA_INFO_KIND: kind = attributes.text
            case IFLA_INFO_SLAVE_KIND: portKind = attributes.text
            case IFLA_INFO_DATA: takeTunnel(attributes.payload)
            default: break
            }
        }
    }

    /// Reads the mark and the ends of a tunnel's own packets; the kernel tells its kind first.
    private mutating func takeTunnel(_ nested: Span<UInt8>) {
        guard let numbers = TunnelAttributes(kind) else { return }
        var attributes = AttributeReader(nested)
        while attributes.advance() {
            switch attributes.kind {
            case numbers.mark where attributes.word != 0: tunnelMark = attributes.word
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
