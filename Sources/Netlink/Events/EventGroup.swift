// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CNetlink

/// The multicast groups of rtnetlink(7) that matter to a path (RTNLGRP_*).
public enum EventGroup: UInt32, Hashable, Sendable, CaseIterable {
    case link = 1
    case neighbor = 3
    case ipv4Address = 5
    case ipv4Route = 7
    case ipv4Rule = 8
    case ipv6Address = 9
    case ipv6Route = 11
    case ipv6Rule = 19
    case routerDNS = 20
    case ipv4Settings = 24
    case ipv6Settings = 25
    case nexthop = 32

    /// The kernel's name in small letters, as metrics label it, such as `ipv4_ifaddr`.
    public var name: String {
        switch self {
        case .link: "link"
        case .neighbor: "neigh"
        case .ipv4Address: "ipv4_ifaddr"
        case .ipv4Route: "ipv4_route"
        case .ipv4Rule: "ipv4_rule"
        case .ipv6Address: "ipv6_ifaddr"
        case .ipv6Route: "ipv6_route"
        case .ipv6Rule: "ipv6_rule"
        case .routerDNS: "nd_useropt"
        case .ipv4Settings: "ipv4_netconf"
        case .ipv6Settings: "ipv6_netconf"
        case .nexthop: "nexthop"
        }
    }

    /// The group that a datagram was sent to, from the bit mask in the sender's address.
    init?(mask: UInt32) {
        guard mask.nonzeroBitCount == 1 else { return nil }
        self.init(rawValue: UInt32(mask.trailingZeroBitCount) + 1)
    }
}
