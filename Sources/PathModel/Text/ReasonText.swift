// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing
internal import Netlink

/// Puts a reason into words and says what mends it.
public struct ReasonText: Hashable, Sendable {
    /// The cause as a clause, such as `eth0 has no carrier`.
    public let clause: String
    /// What to do about it; `nil` when there is nothing but to wait.
    public let hint: String?

    /// Explains why a path is not satisfied.
    public init(_ reason: UnsatisfiedReason, _ subject: ReasonSubject? = nil) {
        clause = Self.clause(reason, subject ?? ReasonSubject())
        hint = Self.hint(reason, subject ?? ReasonSubject())
    }

    private static func clause(_ reason: UnsatisfiedReason, _ subject: ReasonSubject) -> String {
        let interface = subject.interface ?? "the interface"
        let family = subject.family.map { "\($0.label) " } ?? ""
        switch subject.obstacle {
        case .lower(let upper):
            guard let lower = subject.interface else { return "\(upper) has no route to its remote end" }
            var below = ReasonSubject(interface: lower)
            below.radio = subject.radio
            below.family = subject.family
            if reason.isOfRoute { return "\(upper) runs over \(lower): \(clause(reason, below))" }
            let bare = clause(reason, below)
            return "\(upper) runs over \(lower), which \(bare.drop { $0 != " " }.dropFirst())"
        case .remote(let remote, let tunnel): return "\(tunnel) has no route to its remote end \(remote)"
        case .source(let source):
            return "\(clause(reason, subject.unobstructed)) for packets from \(source)"
        case .heldDown: return "\(interface) is held down by a program (protodown)"
        case .ipv6Disabled:
            return "\(clause(reason, subject.unobstructed)), and IPv6 is disabled on \(interface)"
        case .tooSmallForIPv6(let mtu):
            return "\(clause(reason, subject.unobstructed)), and the MTU of \(interface), \(mtu), is too small for IPv6"
        case .loopback: return "the \(family)default route points back to this machine, via \(interface)"
        case .port(let master):
            return "the \(family)default route uses \(interface), a port of \(master), which receives all replies"
        case .noPorts: return "\(interface) has no ports"
        case .noActivePort: return "\(interface) has no active port"
        case .noTeamMode: return "the team \(interface) has no mode, so that it drops all packets"
        case .notForwarding(let bridge, let state):
            return "\(bridge) runs over \(interface), whose spanning tree state is \(state)"
        case .duplicate(let address): return "\(address) on \(interface) is also used by another machine"
        case .noLinkLocal: return "\(interface) has no link-local address, which neighbour discovery needs"
        case .output(let obstacle): return "\(obstacle.name) refuses \(family)connections via \(interface)"
        case .repliesStay(let vrf):
            return "replies arrive in the VRF \(vrf), and sockets outside of it do not receive them"
        case .inVRF(let vrf): return "\(interface) is in the VRF \(vrf), which only programs bound to it use"
        case .noRouteInVRF(let vrf): return "the \(family)default route leads into the VRF \(vrf), which has none"
        case .tunnel(.noPeer): return "no peer of \(interface) has \(family)allowed addresses for the Internet"
        case .tunnel(.noEndpoint): return "the peer of \(interface) has no endpoint"
        case .tunnel(.noPolicy): return "\(interface) has no IPsec policy and state for \(family)packets"
        case .noLocalTable(let address):
            return "no rule selects the table local, so replies to \(address) are dropped"
        case .reversePathFilter(let address):
            return "replies to \(address) via \(interface) are dropped by its reverse path filter"
        case .noARP:
            return
                "ARP is off on \(interface), so that packets do not carry the hardware address of the \(family)gateway"
        case .hardware, nil: break
        }
        return switch reason {
        case .noInterface: subject.interface.map { "there is no interface \($0)" } ?? "there is no network interface"
        case .linkDown: "\(interface) is administratively down"
        case .noCarrier:
            "\(interface) \(subject.radio == nil ? "has no carrier" : "is not associated with an access point")"
        case .portNotForwarding: "\(interface) does not forward"
        case .dormant:
            "\(interface) "
                + (subject.radio.map { "is associated with \(network($0)) but not authorized" }
                    ?? "is waiting for authentication")
        case .wifiAuthenticationFailed:
            "\(interface) is rejected by \(network(subject.radio)): wrong passphrase or credentials"
        case .noAddress: "\(interface) has no address"
        case .dadPending: "\(interface) is checking its address for duplicates"
        case .configuring: "\(interface) is up and waiting for an address"
        case .noDefaultRoute: "no \(family)default route"
        case .routeUnreachable: "the \(family)default route is of type unreachable"
        case .routeProhibited: "the \(family)default route or a rule is of type prohibit"
        case .routeBlackhole: "the \(family)default route is a black hole"
        case .preferredRouteLinkDown:
            "the kernel prefers the \(family)default route via \(interface), which is down"
                + (subject.alternative.map { ", over the one via \($0)" } ?? "")
        case .noSourceAddress:
            "\(interface) has \(family.isEmpty ? "a " : "an ")\(family)default route but no address to send from"
        case .rfkillWifi: "Wi-Fi is disabled by rfkill"
        case .rfkillWwan: "cellular is disabled by rfkill"
        case .policy: "the configuration requires \(requirement(subject.requirement))"
        case .gatewayUnreachable: "the \(family)gateway on \(interface) does not answer"
        case .noPeer: "\(interface) has no peer for \(family)packets"
        case .blockedByFirewall: "a packet filter refuses \(family)connections via \(interface)"
        }
    }

    private static func network(_ radio: ReasonSubject.Radio?) -> String { radio?.network ?? "the access point" }

    private static func requirement(_ text: String?) -> String {
        let words = (text ?? "").split(separator: " ")
        switch (words.first, words.last) {
        case ("require_vpn", _): return "a VPN"
        case ("required_type", let type?): return "an interface of type \(type)"
        case ("prohibited_type", let type?): return "an interface of a type other than \(type)"
        default: return "another interface"
        }
    }

    /// What brings IPv6 back; IPv4 may be what was meant.
    private static func hint(_ reason: UnsatisfiedReason, _ subject: ReasonSubject, withIPv6 mend: String) -> String {
        guard subject.family != .ipv6, let bare = hint(reason, subject.unobstructed) else { return mend }
        return "\(bare); for IPv6 \(mend)"
    }

    /// Where the programs that connect to Wi-Fi write.
    private static let journal = "journalctl -u wpa_supplicant -u iwd -u NetworkManager"

    private static func hint(_ reason: UnsatisfiedReason, _ subject: ReasonSubject) -> String? {
        let interface = subject.interface ?? "INTERFACE"
        let option = subject.family == .ipv6 ? "ip -6" : "ip"
        switch subject.obstacle {
        case .lower(let tunnel):
            guard subject.interface == nil else { break }
            return "`ip -d link show \(tunnel)` shows the remote end, `ip route get` the route to it"
        case .remote(let remote, _): return "`ip route get \(remote)`, then add a route to it past the tunnel"
        case .source(let source):
            return "`\(option) rule show`, `\(option) route show table all`: "
                + "check which rule applies to packets from \(source)"
        case .heldDown:
            return "`ip -d link show \(interface)` shows why, `ip link set \(interface) protodown off` clears it"
        case .ipv6Disabled:
            return hint(reason, subject, withIPv6: "`sysctl net.ipv6.conf.\(interface).disable_ipv6=0`")
        case .tooSmallForIPv6: return hint(reason, subject, withIPv6: "`ip link set \(interface) mtu 1280`")
        case .loopback: return "`\(option) route del default dev \(interface)`, then add one via a gateway"
        case .port(let master): return "move the addresses and routes of \(interface) to \(master)"
        case .noActivePort: return "`cat /proc/net/bonding/\(interface)`"
        case .noTeamMode: return "start its daemon: `teamd -d -t \(interface) -c CONFIGURATION`"
        case .noPorts: return "`ip link set PORT master \(interface)`"
        case .notForwarding(_, .listening), .notForwarding(_, .learning):
            return "wait for twice the forward delay; `bridge -d link show dev \(interface)`"
        case .notForwarding: return "`bridge -d link show dev \(interface)`: find out what blocks the port"
        case .duplicate: return "change the address on one of the two: `ip address show dev \(interface) dadfailed`"
        case .noLinkLocal:
            return "`ip address add fe80::1/64 dev \(interface)`; "
                + "see also `sysctl net.ipv6.conf.\(interface).addr_gen_mode`"
        case .output(let obstacle): return obstacle.hint
        case .repliesStay(let vrf):
            return "`sysctl net.ipv4.tcp_l3mdev_accept=1 net.ipv4.udp_l3mdev_accept=1`, or `ip vrf exec \(vrf) PROGRAM`"
        case .inVRF(let vrf): return "`ip vrf exec \(vrf) PROGRAM`, or monitor it as a view with `oif: \(vrf)`"
        case .noRouteInVRF(let vrf): return "`\(option) route add default via GATEWAY vrf \(vrf)`"
        case .tunnel(.noPeer):
            return "`wg show \(interface) allowed-ips`, then `wg set \(interface) peer KEY allowed-ips …`"
        case .tunnel(.noEndpoint): return "`wg set \(interface) peer KEY endpoint HOST:PORT`"
        case .tunnel(.noPolicy): return "`ip xfrm policy`, `ip xfrm state`"
        case .noLocalTable: return "`\(option) rule add pref 0 lookup local`"
        case .reversePathFilter: return "`sysctl net.ipv4.conf.all.rp_filter=2`, or the same for \(interface)"
        case .noARP:
            return "`ip link set \(interface) arp on`, or `ip neighbor replace GATEWAY lladdr ADDRESS dev \(interface)`"
        case .hardware: return "use the Wi-Fi switch or key of the device: `rfkill list`"
        case nil: break
        }
        switch reason {
        case .noInterface: return "check the driver and `ip link`"
        case .linkDown: return "`ip link set \(interface) up`"
        case .portNotForwarding: return "`bridge -d link show dev \(interface)`"
        case .noCarrier:
            return subject.radio == nil
                ? "check the cable, the switch port or the access point"
                : "check the access point and who connects to it: `iw dev \(interface) link`, `\(journal)`"
        case .dormant where subject.radio == nil:
            return "check 802.1X or the Wi-Fi password: `journalctl -u wpa_supplicant`"
        case .dormant, .wifiAuthenticationFailed: return "check the Wi-Fi passphrase: `\(journal)`"
        case .noAddress: return "check DHCP and router advertisements: `ip address show dev \(interface)`"
        case .dadPending, .configuring: return nil
        case .noDefaultRoute: return "`\(option) route show default`, then `\(option) route add default via GATEWAY`"
        case .routeUnreachable, .routeProhibited, .routeBlackhole:
            return "find it with `\(option) route show table all` and `\(option) rule show`, and remove it"
        case .preferredRouteLinkDown:
            let name = subject.family == .ipv6 ? "ipv6" : "ipv4"
            let twin = subject.family == .ipv6 ? "ipv4" : "ipv6"
            return "`sysctl net.\(name).conf.all.ignore_routes_with_linkdown=1` (and the same for \(twin)), or "
                + "`ip link set \(interface) down`"
        case .noSourceAddress: return "add an address: `ip address add ADDRESS/LENGTH dev \(interface)`"
        case .rfkillWifi: return "`rfkill unblock wifi`"
        case .rfkillWwan: return "`rfkill unblock wwan`"
        case .policy:
            return subject.requirement == "require_vpn"
                ? "start the VPN" : "change the monitor, or bring up a matching interface"
        case .gatewayUnreachable: return "check the router: `ip neighbor show dev \(interface)`"
        case .noPeer: return "`wg show \(interface)`, `ip xfrm policy`"
        case .blockedByFirewall: return OutputObstacle.filter([]).hint
        }
    }
}

extension ReasonSubject {
    fileprivate var unobstructed: ReasonSubject {
        var bare = self
        bare.obstacle = nil
        return bare
    }
}

extension UnsatisfiedReason {
    /// Whether a route is at fault, or that there is none.
    fileprivate var isOfRoute: Bool {
        [.noDefaultRoute, .routeUnreachable, .routeProhibited, .routeBlackhole].contains(self)
    }
}

extension AddressFamily {
    /// `IPv4` or `IPv6`.
    public var label: String { self == .ipv4 ? "IPv4" : "IPv6" }
}

extension OutputObstacle {
    /// What refuses, as far as it is known.
    var name: String {
        switch self {
        case .ipsecPolicy: "an IPsec policy"
        case .filter: "a packet filter"
        }
    }

    /// The same with the chains, where those are few.
    package var fullName: String {
        guard case .filter(let chains) = self, (1...3).contains(chains.count) else { return name + " of this machine" }
        return "the packet filter \(chains.map { "\($0)" }.joined(separator: " or ")) of this machine"
    }

    /// What to inspect.
    package var hint: String {
        switch self {
        case .ipsecPolicy: "`ip xfrm policy`"
        case .filter(let chains) where (1...3).contains(chains.count):
            chains.map { "`nft list chain \($0)`" }.joined(separator: ", ")
        case .filter: "`nft list ruleset`, `iptables-save`"
        }
    }
}
