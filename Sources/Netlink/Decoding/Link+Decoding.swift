// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

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
        case IFLA_CARRIER: carrier = attribute.byte != 0
        case IFLA_CARRIER_CHANGES: carrierChanges = attribute.word
        case IFLA_LINKINFO: takeInformation(attribute.payload)
        case IFLA_PARENT_DEV_NAME: parentDevice = attribute.text
        case IFLA_PARENT_DEV_BUS_NAME: parentBus = attribute.text
        default: break
        }
    }

    /// Reads the nested `IFLA_LINKINFO`.
    private mutating func takeInformation(_ nested: Span<UInt8>) {
        var attributes = AttributeReader(nested)
        while attributes.advance() {
            switch attributes.kind {
            case IFLA_INFO_KIND: kind = attributes.text
            case IFLA_INFO_SLAVE_KIND: portKind = attributes.text
            case IFLA_INFO_DATA: takeTunnelMark(attributes.payload)
            default: break
            }
        }
    }

    /// Reads the mark of a tunnel's own packets; its number depends on the kind, which the kernel tells first.
    private mutating func takeTunnelMark(_ nested: Span<UInt8>) {
        // IFLA_GRE_FWMARK, IFLA_IPTUN_FWMARK and IFLA_VTI_FWMARK of linux/if_tunnel.h, whose other types clash with
        // those of the C library.
        let wanted: Int
        switch kind {
        case "gre", "gretap", "erspan", "ip6gre", "ip6gretap", "ip6erspan": wanted = 20
        case "ipip", "sit", "ip6tnl": wanted = 20
        case "vti", "vti6": wanted = 6
        default: return
        }
        var attributes = AttributeReader(nested)
        while attributes.advance() {
            if attributes.kind == wanted && attributes.word != 0 { tunnelMark = attributes.word }
        }
    }
}
