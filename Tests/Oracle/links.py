# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""Ordinary changes: links, addresses, routes, nexthop objects, devices made of others."""
from steps import (BOTH, V, V4, V6, address4, address6, default4, default6, family, one,
                   pair, up, uplink, uplink4, uplink6)

BRIDGE = ["ip link add br0 index 20 address 02:20:00:00:00:01 type bridge", "ip link set b0 master br0"] + up("b0", "br0")
MACVLAN = up("v0") + ["ip link add mv0 index 21 address 02:21:00:00:00:01 link v0 type macvlan mode bridge"] + up("mv0")
VXLAN = uplink4("v0") + [
    "ip link add vx0 index 22 address 02:22:00:00:00:01 type vxlan id 7 remote 10.1.0.9 dstport 4789 dev v0"] + up("vx0")

DROPS = "a device that drops what it is given"
UNTIL_RESOLVED = "a port of a bridge works as long as the neighbour entry of its router from before"


def ordinary():
    found = one("ordinary/nothing at all", [], []) + one("ordinary/dual stack", V, []) + one("ordinary/v4 only", V4, [])
    found += one("ordinary/v6 only", V6, []) + one("ordinary/two uplinks", BOTH, [])
    found += one("ordinary/families by different uplinks", V4 + uplink6("w0"), [])
    for name, base in (("one uplink", V), ("two uplinks", BOTH)):
        found += pair(f"ordinary/carrier, {name}", base, ["far v0 down"], ["far v0 up"])
        found += pair(f"ordinary/admin down, {name}", base, ["ip link set v0 down"], ["ip link set v0 up"])
        found += pair(f"ordinary/v4 address, {name}", base, ["ip address del 10.1.0.2/24 dev v0"],
                      address4("v0") + default4("v0"))
        found += pair(f"ordinary/v6 address, {name}", base, ["ip address del 2001:db8:1::2/64 dev v0"], address6("v0"))
        found += pair(f"ordinary/both defaults, {name}", base, ["ip route del default dev v0", "ip -6 route del default dev v0"],
                      default4("v0") + default6("v0"))
        found += one(f"ordinary/renamed, {name}", base, ["ip link set v0 down", "ip link set v0 name uplink0",
                                                       "ip link set uplink0 up", "ip route add default via 10.1.0.1 "
                                                       "dev uplink0 metric 100"])
        found += one(f"ordinary/link deleted, {name}", base, ["ip link del v0"])
        found += one(f"ordinary/all addresses flushed, {name}", base, ["ip address flush dev v0"])
    found += one("ordinary/the second loses carrier", BOTH, ["far w0 down"])
    found += one("ordinary/ignore_routes_with_linkdown, carrier lost", BOTH + [
        "sysctl ipv4/conf/v0/ignore_routes_with_linkdown=1", "sysctl ipv6/conf/v0/ignore_routes_with_linkdown=1"],
        ["far v0 down"])
    found += one("ordinary/ignore_routes_with_linkdown set after carrier was lost", BOTH + ["far v0 down"], [
        "sysctl ipv4/conf/v0/ignore_routes_with_linkdown=1", "sysctl ipv6/conf/v0/ignore_routes_with_linkdown=1"])
    found += one("ordinary/ignore_routes_with_linkdown for all", BOTH + ["far v0 down"], [
        "sysctl ipv4/conf/all/ignore_routes_with_linkdown=1", "sysctl ipv6/conf/all/ignore_routes_with_linkdown=1"])
    found += one("ordinary/metric turned round", BOTH, ["ip route add default via 10.2.0.1 dev w0 metric 50",
                                                      "ip -6 route add default via 2001:db8:2::1 dev w0 metric 50"])
    found += one("ordinary/gateway replaced", V, ["ip route replace default via 10.1.0.9 dev v0 metric 100"])
    found += one("ordinary/ipv6 disabled", V, ["sysctl ipv6/conf/all/disable_ipv6=1"])
    found += one("ordinary/ipv6 disabled on the uplink", V, ["sysctl ipv6/conf/v0/disable_ipv6=1"])
    found += one("ordinary/default without an address", up("v0"), ["ip route add default dev v0"])
    found += one("ordinary/default without an address, lo has one", up("v0") + ["ip address add 192.0.2.1/32 dev lo"],
                 ["ip route add default dev v0"])
    found += one("ordinary/default by lo", V, ["ip route add default dev lo metric 1"])
    found += one("ordinary/default by lo alone", [], ["ip route add default dev lo"])
    found += one("ordinary/v6 default by lo", V6, ["ip -6 route add default dev lo metric 1"])
    found += one("ordinary/local default", V4, ["ip route add local default dev lo table local"])
    found += one("ordinary/onlink gateway", up("v0") + address4("v0"), ["ip route add default via 172.16.0.1 dev v0 onlink"])
    found += one("ordinary/default on the link", up("v0") + address4("v0"), ["ip route add default dev v0"])
    found += one("ordinary/v6 default on the link", up("v0") + address6("v0"), ["ip -6 route add default dev v0"])
    found += one("ordinary/v4 by a v6 gateway", up("v0") + address4("v0"), ["ip route add default via inet6 fe80::1 dev v0"])
    found += one("ordinary/host address and onlink gateway, as clouds have it",
                 up("v0") + ["ip address add 10.1.0.2/32 dev v0"], ["ip route add default via 10.1.0.1 dev v0 onlink"])
    found += one("ordinary/second address preferred", V, ["ip address add 10.1.0.7/24 dev v0",
                                                        "ip route replace default via 10.1.0.1 dev v0 metric 100 src 10.1.0.7"])
    found += one("ordinary/address borrowed from lo", up("v0") + ["ip address add 192.0.2.1/32 dev lo"],
                 ["ip route add default via 10.1.0.1 dev v0 onlink"])
    found += one("ordinary/source of the other uplink", BOTH, ["ip route replace default via 10.1.0.1 dev v0 metric 100 src 10.2.0.2"])
    for name, base in (("one uplink", V), ("two uplinks", BOTH)):
        found += pair(f"ordinary/dormant, {name}", base,
                      ["ip link set v0 mode dormant", "far v0 down", "far v0 up"], ["ip link set v0 state up"])
    found += one("ordinary/dormant without an address", V, ["ip link set v0 mode dormant", "far v0 down", "far v0 up",
                                                          "ip address flush dev v0"])
    found += one("ordinary/dormant, the router gone", V, ["ip link set v0 mode dormant", "far v0 down"])
    found += one("ordinary/mtu", V, ["ip link set v0 mtu 1280"])
    found += one("ordinary/deprecated address", V, ["ip address change 2001:db8:1::2/64 dev v0 preferred_lft 0"])
    found += one("ordinary/v4 link-local source", up("v0") + ["ip address add 169.254.7.7/16 dev v0"],
                 ["ip route add default via 169.254.7.1 dev v0"])
    found += one("ordinary/v4 link-local without a route", up("v0"), ["ip address add 169.254.7.7/16 dev v0"])
    found += one("ordinary/v4 of host scope", up("v0") + ["ip address add 10.1.0.2/24 dev v0 scope host"],
                 ["ip route add default via 10.1.0.1 dev v0"])
    found += one("ordinary/v4 of link scope", up("v0") + ["ip address add 10.1.0.2/24 dev v0 scope link"],
                 ["ip route add default via 10.1.0.1 dev v0"])
    found += one("ordinary/unique local source", up("v0") + ["ip address add fd00:1::2/64 dev v0 nodad"],
                 ["ip -6 route add default via fd00:1::1 dev v0"])
    found += one("ordinary/v6 link-local source alone", up("v0"), ["ip -6 route add default via fe80::1 dev v0"])
    found += one("ordinary/v6 by a link-local gateway", up("v0") + address6("v0"),
                 ["ip -6 route add default via fe80::1 dev v0"])
    return found


def refusing_routes():
    found = []
    for number in (4, 6):
        ip, v, w, both, host, prefix = family(number)
        for kind in ("unreachable", "blackhole", "prohibit", "throw"):
            found += pair(f"refusing route/v{number} {kind} before the default", v, [f"{ip} route add {kind} default metric 1"],
                          [f"{ip} route del {kind} default metric 1"])
            found += one(f"refusing route/v{number} {kind} behind the default", v,
                         [f"{ip} route add {kind} default metric 4000"])
            found += one(f"refusing route/v{number} {kind} is what remains", v + [f"{ip} route add {kind} default metric 4000"],
                         [f"{ip} route del default dev v0"])
        found += one(f"refusing route/v{number} in a table by rule", both,
                     [f"{ip} route add unreachable default table 77", f"{ip} rule add pref 50 lookup 77"])
        found += one(f"refusing route/v{number} throw in a table by rule", both,
                     [f"{ip} route add throw default table 77", f"{ip} rule add pref 50 lookup 77"])
    found += one("refusing route/both families", V, ["ip route add prohibit default metric 1",
                                                   "ip -6 route add prohibit default metric 1"])
    return found


def several_legs():
    found = []
    two = up("v0", "w0") + address4("v0") + address4("w0") + address6("v0") + address6("w0")
    legs = "nexthop via 10.1.0.1 dev v0 nexthop via 10.2.0.1 dev w0"
    legs6 = "nexthop via 2001:db8:1::1 dev v0 nexthop via 2001:db8:2::1 dev w0"
    found += one("legs/v4 two uplinks", two, [f"ip route add default {legs}"])
    found += one("legs/v6 two uplinks", two, [f"ip -6 route add default {legs6}"])
    for number, ip, route in ((4, "ip", legs), (6, "ip -6", legs6)):
        base = two + [f"{ip} route add default {route}"]
        found += pair(f"legs/v{number} one loses carrier", base, ["far v0 down"], ["far v0 up"])
        found += one(f"legs/v{number} one goes down", base, ["ip link set v0 down"])
        found += one(f"legs/v{number} both lose carrier", base, ["far v0 down", "far w0 down"])
        found += one(f"legs/v{number} one link is deleted", base, ["ip link del w0"])
        found += one(f"legs/v{number} a leg is silent", base,
                     ["silence " + ("10.1.0.1" if number == 4 else "2001:db8:1::1"), "send", "sleep 0.4"])
        found += one(f"legs/v{number} hashed by ports", base + [f"sysctl ipv{number}/fib_multipath_hash_policy=1"], [])
    found += one("legs/v4 one uplink, two gateways", V4, ["ip route replace default metric 100 nexthop via 10.1.0.1 dev v0 "
                                                        "nexthop via 10.1.0.9 dev v0"])
    found += one("legs/v4 uneven", two, ["ip route add default nexthop via 10.1.0.1 dev v0 weight 3 "
                                        "nexthop via 10.2.0.1 dev w0 weight 1"])
    found += one("legs/v4 a rule refuses one source", two + [f"ip route add default {legs}"],
                 ["ip rule add pref 50 from 10.1.0.2 prohibit"])
    hop, hop6 = "ip nexthop add id 7 via 10.1.0.1 dev v0", "ip nexthop add id 8 via 2001:db8:1::1 dev v0"
    found += pair("nexthop/v4 object", two, [hop, "ip route add default nhid 7"], ["ip nexthop del id 7"])
    found += pair("nexthop/v6 object", two, [hop6, "ip -6 route add default nhid 8"], ["ip nexthop del id 8"])
    found += one("nexthop/v4 replaced", two + [hop, "ip route add default nhid 7"],
                 ["ip nexthop replace id 7 via 10.2.0.1 dev w0"])
    found += one("nexthop/v4 turns into a blackhole", two + [hop, "ip route add default nhid 7"],
                 ["ip nexthop replace id 7 blackhole"])
    group = [hop, "ip nexthop add id 9 via 10.2.0.1 dev w0", "ip nexthop add id 100 group 7/9", "ip route add default nhid 100"]
    found += one("nexthop/v4 group", two, group)
    found += one("nexthop/v4 group, one leg deleted", two + group, ["ip nexthop del id 7"])
    found += one("nexthop/v4 group, one leg without carrier", two + group, ["far v0 down"])
    found += one("nexthop/v4 group deleted", two + group, ["ip nexthop del id 100"])
    found += one("nexthop/v4 group, compatibility off", two + ["sysctl ipv4/nexthop_compat_mode=0"] + group, [])
    found += one("nexthop/v4 object, compatibility off", two + ["sysctl ipv4/nexthop_compat_mode=0", hop],
                 ["ip route add default nhid 7"])
    found += one("nexthop/v6 object, compatibility off", two + ["sysctl ipv4/nexthop_compat_mode=0", hop6],
                 ["ip -6 route add default nhid 8"])
    found += one("nexthop/v4 by a v6 object", two + ["ip nexthop add id 11 via fe80::1 dev v0"], ["ip route add default nhid 11"])
    return found


def compound_devices():
    found = []
    bridge = BRIDGE + address4("br0") + address6("br0") + default4("br0") + default6("br0")
    found += one("bridge/uplink", BRIDGE, address4("br0") + default4("br0"))
    found += pair("bridge/port loses carrier", bridge, ["far b0 down"], ["far b0 up"])
    guest = ["ip link add c0 type veth peer name c1", "ip link set c0 master br0"] + up("c0", "c1")
    unplugged = bridge + guest + ["send", "far b0 down"]
    found += one("bridge/port loses carrier beside a guest", bridge + guest + ["send"], ["far b0 down"],
                 limit="behind which port a router was that the bridge forgot")
    found += one("bridge/port loses carrier beside a guest, undone", unplugged, ["far b0 up", "send"])
    found += one("bridge/port loses carrier beside a guest, which goes", unplugged, ["ip link set c1 down"])
    found += one("bridge/a guest goes", bridge + guest + ["send"], ["ip link set c1 down"])
    found += one("bridge/port leaves", bridge, ["ip link set b0 nomaster"])
    found += one("bridge/port goes down", bridge, ["ip link set b0 down"])
    found += one("bridge/down", bridge, ["ip link set br0 down"])
    found += one("bridge/without a port", ["ip link add br0 index 20 address 02:20:00:00:00:01 type bridge"] + up("br0"),
                 address4("br0") + default4("br0"))
    found += one("bridge/uplink becomes a port", V4 + ["ip link add br0 index 20 address 02:20:00:00:00:01 type bridge"]
                 + up("br0"), ["ip link set v0 master br0"], limit=UNTIL_RESOLVED)
    found += one("bridge/uplink becomes a port, second uplink", BOTH + [
        "ip link add br0 index 20 address 02:20:00:00:00:01 type bridge"] + up("br0"), ["ip link set v0 master br0"],
        limit=UNTIL_RESOLVED)
    found += one("bridge/address moves from the port to the bridge", V4 + [
        "ip link add br0 index 20 address 02:20:00:00:00:01 type bridge"] + up("br0"), [
        "ip link set v0 master br0", "ip address flush dev v0", "ip address add 10.1.0.2/24 dev br0",
        "ip route add default via 10.1.0.1 dev br0"])
    found += one("bridge/containers come", bridge + up("v0"), [
        f"ip link add c{number} type veth peer name d{number}" for number in range(4)] + [
        f"ip link set c{number} master br0 up" for number in range(4)])
    macvlan = MACVLAN + address4("mv0", 5) + ["ip route add default via 10.1.0.1 dev mv0"]
    found += one("macvlan/uplink", MACVLAN, address4("mv0", 5) + ["ip route add default via 10.1.0.1 dev mv0"], needs=("macvlan",))
    found += pair("macvlan/lower link loses carrier", macvlan, ["far v0 down"], ["far v0 up"], needs=("macvlan",))
    found += one("macvlan/lower link goes down", macvlan, ["ip link set v0 down"], needs=("macvlan",))
    found += one("macvlan/deleted", macvlan + uplink4("w0", 200), ["ip link del mv0"], needs=("macvlan",))
    vxlan = VXLAN + ["ip address add 10.4.0.2/24 dev vx0"]
    found += one("vxlan/default by it", vxlan, ["ip route add default via 10.4.0.1 dev vx0 metric 1"], needs=("vxlan",))
    found += one("vxlan/lower uplink is cut", vxlan + ["ip route add default via 10.4.0.1 dev vx0 metric 1"],
                 ["ip link set vx0 down"], needs=("vxlan",))
    by_vxlan = ["ip route add default via 10.4.0.1 dev vx0 metric 1"]
    for name, base in (("bound to the uplink", vxlan), ("bound to nothing", [
            step.replace(" dev v0", "") if "vxlan" in step else step for step in vxlan])):
        found += pair(f"vxlan/{name}, the outer packets lose carrier", base + by_vxlan, ["far v0 down"], ["far v0 up"],
                      needs=("vxlan",))
        found += one(f"vxlan/{name}, the outer packets' uplink goes down", base + by_vxlan, ["ip link set v0 down"],
                     needs=("vxlan",))
        found += one(f"vxlan/{name}, the outer packets' uplink fails beside another", base + by_vxlan + uplink4("w0", 200),
                     ["far v0 down"], needs=("vxlan",))
    found += one("vxlan/its other end is refused", vxlan + by_vxlan, ["ip route add prohibit 10.1.0.9"], needs=("vxlan",))
    tun = ["tun tun0", "ip address add 10.5.0.2/32 dev tun0"]
    found += one("tun/default by it", V + tun, ["ip route add default dev tun0 metric 1"], needs=("tun",))
    found += one("tun/both families", V + tun + ["ip address add 2001:db8:5::2/128 dev tun0"], [
        "ip route add default dev tun0 metric 1", "ip -6 route add default dev tun0 metric 1"], needs=("tun",))
    found += one("tun/halves", V + tun, ["ip route add 0.0.0.0/1 dev tun0", "ip route add 128.0.0.0/1 dev tun0"], needs=("tun",))
    found += one("tun/its program ends", V + tun + ["ip route add default dev tun0 metric 1"], ["untun tun0"], needs=("tun",))
    found += one("tun/goes down", V + tun + ["ip route add default dev tun0 metric 1"], ["ip link set tun0 down"], needs=("tun",))
    found += one("tun/as wg-quick has it", V + tun + ["ip route add default dev tun0 table 51820"], [
        "ip rule add pref 49 lookup main suppress_prefixlength 0",
        "ip rule add pref 50 not fwmark 51820 lookup 51820"], needs=("tun",))
    found += one("tun/its address goes", V + tun + ["ip route add default dev tun0 metric 1"],
                 ["ip address del 10.5.0.2/32 dev tun0"], needs=("tun",))
    found += one("tun/without an address", V4 + ["tun tun0"], ["ip route add default dev tun0 metric 1"], needs=("tun",))
    found += one("tun/alone", tun, ["ip route add default dev tun0"], needs=("tun",))
    ifb = ["ip link add ifb0 type ifb"] + up("ifb0") + ["ip address add 10.6.0.2/24 dev ifb0"]
    found += one("ifb/default by a device that drops", V4 + ifb, ["ip route add default dev ifb0 metric 1"], needs=("ifb",), limit=DROPS)
    found += one("ifb/not the default", V + ifb, [], needs=("ifb",))
    dummy = ["ip link add dummy0 type dummy"] + up("dummy0") + ["ip address add 10.6.0.2/24 dev dummy0"]
    found += one("dummy/default by it", V4 + dummy, ["ip route add default dev dummy0 metric 1"], needs=("dummy",), limit=DROPS)
    found += one("dummy/not the default", V + dummy, [], needs=("dummy",))
    return found


def odd_sources():
    """IPv6 addresses that no packet of the uplink may have, or that are not ready."""
    found = []
    lonely = up("v0") + ["ip address add 2001:db8:8::8/128 dev lo"]
    default = ["ip -6 route add default via fe80::1 dev v0"]
    found += one("odd source/v6 on lo", lonely, default)
    found += one("odd source/v6 on lo, no link-local", ["ip link set v0 addrgenmode none"] + lonely, default)
    found += one("odd source/v6 on lo, link-local goes", lonely + default, ["ip -6 address flush dev v0 scope link"])
    found += one("odd source/v6 on lo, on-link default, no link-local", ["ip link set v0 addrgenmode none"] + lonely,
                 ["ip -6 route add default dev v0"])
    found += one("odd source/v6 on lo named by the route, no link-local", ["ip link set v0 addrgenmode none"] + lonely,
                 ["ip -6 route add default via fe80::1 dev v0 src 2001:db8:8::8"])
    found += one("odd source/v6 on the other uplink", up("v0", "w0") + address6("w0"), default)
    found += one("odd source/v6 on the other uplink, no link-local", ["ip link set v0 addrgenmode none"] + up("v0", "w0")
                 + address6("w0"), default)
    found += one("odd source/v6 own, no link-local", ["ip link set v0 addrgenmode none"] + V6, [])
    found += pair("odd source/use_oif_addrs_only", up("v0", "w0") + address6("w0") + default,
                  ["sysctl ipv6/conf/all/use_oif_addrs_only=1"], ["sysctl ipv6/conf/all/use_oif_addrs_only=0"],
                  audit=2)
    found += one("odd source/use_oif_addrs_only of the uplink", up("v0", "w0") + address6("w0") + default,
                 ["sysctl ipv6/conf/v0/use_oif_addrs_only=1"], audit=2)
    found += one("odd source/DAD failed", ["sysctl ipv6/conf/all/accept_dad=1", "sysctl ipv6/conf/v0/accept_dad=1",
                                         "duplicate 2001:db8:1::2"] + up("v0") + ["sleep 1.5"],
                 ["ip address add 2001:db8:1::2/64 dev v0", "ip -6 route add default via fe80::1 dev v0", "sleep 0.8"])
    found += one("odd source/DAD failed beside IPv4", V4 + [
        "sysctl ipv6/conf/all/accept_dad=1", "sysctl ipv6/conf/v0/accept_dad=1", "duplicate 2001:db8:1::2"],
        ["ip address add 2001:db8:1::2/64 dev v0", "ip -6 route add default via fe80::1 dev v0", "sleep 1.5"])
    found += one("odd source/tentative", ["sysctl ipv6/conf/all/accept_dad=1", "sysctl ipv6/conf/v0/accept_dad=1",
                                        "sysctl ipv6/conf/v0/dad_transmits=60"] + up("v0"),
                 ["ip address add 2001:db8:1::2/64 dev v0", "ip -6 route add default via fe80::1 dev v0"])
    found += one("odd source/optimistic", ["sysctl ipv6/conf/all/accept_dad=1", "sysctl ipv6/conf/v0/accept_dad=1",
                                         "sysctl ipv6/conf/v0/dad_transmits=60", "sysctl ipv6/conf/v0/optimistic_dad=1",
                                         "sysctl ipv6/conf/v0/use_optimistic=1"] + up("v0"),
                 ["ip address add 2001:db8:1::2/64 dev v0 optimistic", "ip -6 route add default via fe80::1 dev v0"])
    known = BOTH + ["send"]
    found += one("odd source/v6 of another interface, router known", known, ["ip address flush dev v0"])
    found += one("odd source/v6 of another interface, router permanent",
                 known + ["ip neigh change 2001:db8:1::1 dev v0 nud permanent"], ["ip address flush dev v0"])
    found += one("odd source/v6 of another interface, router forgotten", known + ["ip address flush dev v0"],
                 ["ip neigh del 2001:db8:1::1 dev v0"])
    found += one("odd source/two addresses, one deprecated", V6 + ["ip address add 2001:db8:1::7/64 dev v0 nodad"],
                 ["ip address change 2001:db8:1::7/64 dev v0 preferred_lft 0"])
    found += one("odd source/unique local beside global", V6, ["ip address add fd00:1::2/64 dev v0 nodad"])
    found += one("odd source/v4 all on lo, v6 none", up("v0") + ["ip address add 192.0.2.1/32 dev lo"],
                 ["ip route add default via 10.1.0.1 dev v0 onlink src 192.0.2.1"])
    return found


def situations():
    return ordinary() + refusing_routes() + several_legs() + compound_devices() + odd_sources()
