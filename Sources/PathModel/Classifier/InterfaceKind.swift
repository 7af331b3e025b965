// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Netlink

/// What the kinds of virtual links mean for a path.
enum InterfaceKind {
    /// Kinds that container runtimes, test beds and traffic shapers make by the dozen.
    static let plumbing: Set<String> = [
        "veth", "netkit", "bridge", "ifb", "dummy", "vxlan", "geneve", "nlmon", "vcan", "vxcan", "netdevsim",
        "openvswitch",
        "vsockmon",
    ]

    /// Kinds that carry packets inside packets.
    static let tunnels: Set<String> = [
        "tun", "wireguard", "ipip", "sit", "gre", "gretap", "ip6gre", "ip6gretap", "ip6tnl", "vti", "vti6", "xfrm",
        "erspan", "ip6erspan", "ppp", "gtp", "bareudp", "vxlan", "geneve", "l2tpeth", "ovpn", "amt", "fou",
    ]

    /// Kinds that are as good as the ports below them.
    static func isAggregate(_ kind: String) -> Bool {
        switch kind {
        case "bond", "team", "bridge", "hsr", "openvswitch", "batadv", "lag": true
        default: false
        }
    }

    /// Kinds whose own carrier does not say whether a port is left to send by.
    static func dependsOnPorts(_ kind: String) -> Bool {
        switch kind {
        case "bond", "team", "hsr", "batadv": true
        default: false
        }
    }

    /// Kinds that have several ports so that one may fail.
    static func isRedundant(_ kind: String) -> Bool {
        switch kind {
        case "bond", "team", "hsr": true
        default: false
        }
    }

    /// How likely a port of a bridge leads to its router, from 0 for hardware and what stands on it to 2 for the ends of
    /// virtual machines.
    static func uplinkRank(_ port: Link) -> Int {
        guard let kind = port.kind else { return 0 }
        if isAggregate(kind) || isStacked(kind) { return 0 }
        if ["vxlan", "gretap", "ip6gretap", "geneve"].contains(kind) { return 0 }
        return ["tun", "dummy", "ifb"].contains(kind) ? 2 : 1
    }

    /// Kinds that stand on one other link.
    static func isStacked(_ kind: String) -> Bool {
        switch kind {
        case "vlan", "macvlan", "macvtap", "ipvlan", "ipvtap", "macsec", "virt_wifi", "dsa": true
        default: false
        }
    }

    /// Kinds and hardware that never carry Internet packets themselves.
    static func isNetworkless(_ link: Link) -> Bool {
        switch link.kind {
        case "vrf", "nlmon", "vcan", "vxcan", "can", "vsockmon": true
        default: [280, 804, 805, 824, 826].contains(link.hardwareType)
        }
    }

    /// Whether the link carries packets inside packets of another interface.
    static func isTunnel(_ link: Link) -> Bool {
        if let kind = link.kind { return tunnels.contains(kind) }
        // tunl0, sit0 and the like: ARPHRD_TUNNEL, TUNNEL6, SIT, IPGRE, IP6GRE; ARPHRD_PPP.
        return [512, 768, 769, 776, 778, 823].contains(link.hardwareType)
    }
}
