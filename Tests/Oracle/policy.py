# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""Rules, tables, routes by source, long matches, full tables."""
from steps import (PROBES4, PROBES6, V4, V6, W4, W6, address4, address6, default6, family,
                   gateway4, gateway6, one, pair, up, uplink4)


def rules_from_a_source():
    found = []
    for number in (4, 6):
        ip, v, w, both, host, prefix = family(number)
        for kind in ("prohibit", "unreachable", "blackhole"):
            found += pair(f"source rule/v{number} {kind} from the address", v, [f"{ip} rule add pref 50 from {host} {kind}"],
                          [f"{ip} rule del pref 50"])
            found += pair(f"source rule/v{number} {kind} from the prefix, two uplinks", both,
                          [f"{ip} rule add pref 50 from {prefix} {kind}"], [f"{ip} rule del pref 50"])
        found += one(f"source rule/v{number} prohibit from an address nobody has", v,
                     [f"{ip} rule add pref 50 from {'192.0.2.9' if number == 4 else '2001:db8:99::9'} prohibit"])
        found += one(f"source rule/v{number} prohibit from the second uplink's address", both,
                     [f"{ip} rule add pref 50 from {'10.2.0.2' if number == 4 else '2001:db8:2::2'} prohibit"])
        found += one(f"source rule/v{number} prohibit not from the address", v,
                     [f"{ip} rule add pref 50 not from {host} prohibit"])
        found += one(f"source rule/v{number} prohibit not from another prefix", v,
                     [f"{ip} rule add pref 50 not from {'192.0.2.0/24' if number == 4 else '2001:db8:99::/64'} prohibit"])
    return found


def tables_by_source():
    found = []
    for number in (4, 6):
        ip, v, w, both, host, prefix = family(number)
        gateway = gateway4 if number == 4 else gateway6
        another = "10.1.0.9" if number == 4 else "2001:db8:1::9"
        rule, undo = f"{ip} rule add pref 50 from {host} lookup 77", f"{ip} rule del pref 50"
        ways = {
            "unreachable": f"{ip} route add unreachable default table 77",
            "blackhole": f"{ip} route add blackhole default table 77",
            "prohibit": f"{ip} route add prohibit default table 77",
            "throw": f"{ip} route add throw default table 77",
            "another gateway": f"{ip} route add default via {another} dev v0 table 77",
            "the other uplink": f"{ip} route add default via {gateway('w0')} dev w0 table 77",
            "on-link by the other uplink": f"{ip} route add default dev w0 table 77",
        }
        for name, way in ways.items():
            found += pair(f"source table/v{number} {name}", both + [way], [rule], [undo])
            found += one(f"source table/v{number} {name}, route arrives", both + [rule], [way])
        found += one(f"source table/v{number} empty", both, [rule])
        found += pair(f"source table/v{number} by an uplink without carrier", both + [ways["the other uplink"], rule],
                      ["far w0 down"], ["far w0 up"])
        found += pair(f"source table/v{number} by an uplink that is down", both + [ways["the other uplink"], rule],
                      ["ip link set w0 down"], ["ip link set w0 up"])
        found += one(f"source table/v{number} nothing in main", up("v0") + (address4 if number == 4 else address6)("v0")
                     + [rule], [f"{ip} route add default via {gateway('v0')} dev v0 table 77"])
        found += one(f"source table/v{number} preferred source of the route has a refusing rule",
                     v + [f"ip address add {'10.1.0.7/24' if number == 4 else '2001:db8:1::7/64'} dev v0"
                          + ("" if number == 4 else " nodad"),
                          f"{ip} rule add pref 50 from {'10.1.0.7' if number == 4 else '2001:db8:1::7'} prohibit"],
                     [f"{ip} route replace default via {gateway('v0')} dev v0 metric 100 "
                      f"src {'10.1.0.7' if number == 4 else '2001:db8:1::7'}"])
    return found


def routes_by_source():
    """IPv6 source-specific routes, as OpenWrt and multihomed networks have them."""
    bare = up("v0") + address6("v0")
    two = bare + up("w0") + address6("w0")
    v_from = "ip -6 route add default from 2001:db8:1::/64 via 2001:db8:1::1 dev v0"
    w_from = "ip -6 route add default from 2001:db8:2::/64 via 2001:db8:2::1 dev w0"
    found = []
    found += pair("source route/one uplink", bare, [v_from], [v_from.replace(" add ", " del ")])
    found += pair("source route/two uplinks", two, [v_from, w_from], [v_from.replace(" add ", " del ")])
    found += one("source route/two uplinks, the first loses carrier", two + [v_from, w_from], ["far v0 down"])
    found += one("source route/two uplinks, the first loses its address", two + [v_from, w_from],
                 ["ip address del 2001:db8:1::2/64 dev v0"])
    found += one("source route/prefix of nobody", bare,
                 ["ip -6 route add default from 2001:db8:99::/64 via 2001:db8:1::1 dev v0"])
    found += one("source route/beside a default", two + default6("w0", 50), [v_from])
    found += one("source route/unreachable from the prefix beside a default", V6,
                 ["ip -6 route add unreachable default from 2001:db8:1::/64 metric 10"])
    found += one("source route/address arrives later", up("v0") + [
        "ip address add 2001:db8:9::2/64 dev v0 nodad",
        "ip -6 route add default from 2001:db8:1::/64 via 2001:db8:9::1 dev v0"], address6("v0"))
    found += one("source route/dual stack", bare + uplink4("w0"), [v_from])
    found += one("source route/host prefix", bare,
                 ["ip -6 route add default from 2001:db8:1::2/128 via 2001:db8:1::1 dev v0"])
    found += one("source route/in a table by rule from", bare + [
        "ip -6 rule add pref 60 from 2001:db8:1::/64 lookup 88"],
        ["ip -6 route add default via 2001:db8:1::1 dev v0 table 88"])
    found += one("source route/unreachable default, then from", bare + [
        "ip -6 route add unreachable default metric 4294967295"], [v_from])
    found += one("source route/refused by rule before it", bare + [v_from],
                 ["ip -6 rule add pref 40 from 2001:db8:1::/64 prohibit"])
    found += one("source route/by link-local gateway", bare,
                 ["ip -6 route add default from 2001:db8:1::/64 via fe80::1 dev v0"])
    return found


def chosen_sources():
    """IPv6 chooses a source when the first look-up is an error, and looks up again from it."""
    base = V6 + W6 + ["ip -6 route add default via 2001:db8:2::1 dev w0 table 100",
                      "ip -6 rule add pref 51 from 2001:db8:1::/64 lookup 100"]
    change = ["ip -6 route add unreachable default metric 40"]
    found = one("chosen source/has a rule", base, change)
    found += one("chosen source/another rule's", base + ["ip -6 rule del pref 51", "ip -6 rule add pref 51 from 2001:db8:2::/64 "
                                                     "lookup 100"], change)
    for name, step in (
            ("a newer address", "ip address add 2001:db8:7::2/64 dev v0 nodad"),
            ("a newer address of the other uplink", "ip address add 2001:db8:7::2/64 dev w0 nodad"),
            ("an address by advertisement", "advertise v0 fe80::a 1800 prefix=2001:db8:7::"),
            ("an address of the other uplink by advertisement", "advertise w0 fe80::a 1800 prefix=2001:db8:7::"),
            ("a deprecated address", "ip address change 2001:db8:1::2/64 dev v0 preferred_lft 0"),
            ("an address of lo", "ip address add 2001:db8:8::8/128 dev lo"),
            ("a unique local address", "ip address add fd00:1::2/64 dev v0 nodad")):
        found += one(f"chosen source/{name}", base + ["sleep 0.1", step], change)
    found += one("chosen source/addresses in another order", up("v0") + ["ip address add 2001:db8:7::2/64 dev v0 nodad"]
                 + address6("v0") + ["ip address add 2001:db8:9::2/64 dev v0 nodad"] + base[2:], change)
    return found


def other_rules():
    found = []
    for number in (4, 6):
        ip, v, w, both, host, prefix = family(number)
        gateway = gateway4 if number == 4 else gateway6
        for kind in ("prohibit", "unreachable", "blackhole"):
            found += pair(f"rule/v{number} {kind} for all", v, [f"{ip} rule add pref 50 {kind}"], [f"{ip} rule del pref 50"])
        table = [f"{ip} route add default via {gateway('w0')} dev w0 table 77"]
        found += pair(f"rule/v{number} table for all", both + table, [f"{ip} rule add pref 50 lookup 77"],
                      [f"{ip} rule del pref 50"])
        found += pair(f"rule/v{number} iif lo to a table", both + table, [f"{ip} rule add pref 50 iif lo lookup 77"],
                      [f"{ip} rule del pref 50"])
        found += one(f"rule/v{number} iif of an uplink does not matter", both,
                     [f"{ip} rule add pref 50 iif v0 prohibit"])
        found += one(f"rule/v{number} oif refuses bound packets only", both, [f"{ip} rule add pref 50 oif v0 prohibit"])
        found += one(f"rule/v{number} fwmark refuses marked packets only", both,
                     [f"{ip} rule add pref 50 fwmark 7 prohibit"])
        found += pair(f"rule/v{number} as wg-quick has it", both + table, [
            f"{ip} rule add pref 49 lookup main suppress_prefixlength 0",
            f"{ip} rule add pref 50 not fwmark 51820 lookup 77"], [f"{ip} rule del pref 50", f"{ip} rule del pref 49"])
        found += one(f"rule/v{number} suppressor alone", v, [f"{ip} rule add pref 50 lookup main suppress_prefixlength 0"])
        found += one(f"rule/v{number} main suppressed and removed", v, [
            f"{ip} rule add pref 50 lookup main suppress_prefixlength 0", f"{ip} rule del pref 32766"])
        found += one(f"rule/v{number} goto past main", v, [f"{ip} rule add pref 50 goto 40000",
                                                         f"{ip} rule add pref 40000 lookup 99"])
        found += one(f"rule/v{number} main removed", v, [f"{ip} rule del pref 32766"])
        found += pair(f"rule/v{number} local removed", v, [f"{ip} rule del pref 0"], [f"{ip} rule add pref 0 lookup local"])
        found += one(f"rule/v{number} to halves",
                     v, [f"{ip} rule add pref 50 to {half} prohibit" for half in
                         (("0.0.0.0/1", "128.0.0.0/1") if number == 4 else ("::/1", "8000::/1"))])
        found += one(f"rule/v{number} to one host", v, [
            f"{ip} rule add pref 50 to {'1.1.1.1' if number == 4 else '2606:4700:4700::1111'} prohibit"])
        found += one(f"rule/v{number} for another user", v, [f"{ip} rule add pref 50 uidrange 1000-2000 prohibit"],
                     needs=("other users",))
        found += pair(f"rule/v{number} for every user", v, [f"{ip} rule add pref 50 uidrange 0-{{user}} prohibit"],
                      [f"{ip} rule del pref 50"])
        found += pair(f"rule/v{number} a table for every user", both + table,
                      [f"{ip} rule add pref 50 uidrange 0-{{user}} lookup 77"], [f"{ip} rule del pref 50"])
        found += pair(f"rule/v{number} tcp refused", v, [f"{ip} rule add pref 50 ipproto tcp prohibit"],
                      [f"{ip} rule del pref 50"])
        found += pair(f"rule/v{number} tcp to 443 refused", v, [f"{ip} rule add pref 50 ipproto tcp dport 443 prohibit"],
                      [f"{ip} rule del pref 50"])
        found += pair(f"rule/v{number} tcp to 443 by the other uplink", both + table,
                      [f"{ip} rule add pref 50 ipproto tcp dport 443 lookup 77"], [f"{ip} rule del pref 50"])
        found += one(f"rule/v{number} tcp to 25 refused", v, [f"{ip} rule add pref 50 ipproto tcp dport 25 prohibit"])
        found += one(f"rule/v{number} tcp to 1-1023 by the other uplink", both + table,
                     [f"{ip} rule add pref 50 ipproto tcp dport 1-1023 lookup 77"])
        found += pair(f"rule/v{number} udp refused", v, [f"{ip} rule add pref 50 ipproto udp prohibit"],
                      [f"{ip} rule del pref 50"])
        found += one(f"rule/v{number} udp to 53 refused", v, [f"{ip} rule add pref 50 ipproto udp dport 53 unreachable"])
        found += one(f"rule/v{number} udp to 53 by the other uplink", both + table,
                     [f"{ip} rule add pref 50 ipproto udp dport 53 lookup 77"])
        found += one(f"rule/v{number} icmp refused", v,
                     [f"{ip} rule add pref 50 ipproto {'icmp' if number == 4 else 'ipv6-icmp'} prohibit"])
        found += one(f"rule/v{number} dport without protocol", v, [f"{ip} rule add pref 50 dport 443 prohibit"])
        found += one(f"rule/v{number} sport of nobody", v, [f"{ip} rule add pref 50 ipproto tcp sport 22 prohibit"])
        found += one(f"rule/v{number} from and dport", both + table,
                     [f"{ip} rule add pref 50 from {host} ipproto tcp dport 443 lookup 77"])
        found += one(f"rule/v{number} all refused but tcp to 443", both, [
            f"{ip} rule add pref 50 ipproto tcp dport 443 lookup main", f"{ip} rule add pref 51 prohibit"])
    return found


def long_matches():
    """Routes at addresses that are looked up say nothing about the others."""
    found = []
    for number, probes, long, middle in ((4, PROBES4, 32, 24), (6, PROBES6, 128, 48)):
        ip, v, w, both, host, prefix = family(number)

        def network(probe):
            return ".".join(probe.split(".")[:3]) + ".0/24" if number == 4 else probe.split("::")[0] + "::/48"
        for kind in ("blackhole", "unreachable", "prohibit"):
            for count in (2, len(probes)):
                routes = [f"{ip} route add {kind} {probe}" for probe in probes[:count]]
                found += pair(f"long match/v{number} {kind} at {count} resolvers", v, routes,
                              [route.replace(" add ", " del ") for route in routes])
        found += one(f"long match/v{number} blackholes of /{middle}", v,
                     [f"{ip} route add blackhole {network(probe)}" for probe in probes])
        found += one(f"long match/v{number} throw at resolvers", v, [f"{ip} route add throw {probe}" for probe in probes])
        found += one(f"long match/v{number} own addresses on lo", v,
                     [f"ip address add {probe}/{long} dev lo" for probe in probes[:3]])
        found += one(f"long match/v{number} own address on the uplink", v,
                     [f"ip address add {probes[0]}/{long} dev v0" + ("" if number == 4 else " nodad")])
        found += one(f"long match/v{number} resolvers by the other uplink", both,
                     [f"{ip} route add {probe} via {gateway4('w0') if number == 4 else gateway6('w0')} dev w0"
                      for probe in probes])
        found += one(f"long match/v{number} resolvers alone, no default",
                     up("v0") + (address4 if number == 4 else address6)("v0"),
                     [f"{ip} route add {probe} via {gateway4('v0') if number == 4 else gateway6('v0')} dev v0"
                      for probe in probes])
        found += one(f"long match/v{number} blackholed default, resolvers reached", v,
                     [f"{ip} route add blackhole default metric 1"]
                     + [f"{ip} route add {probe} via {gateway4('v0') if number == 4 else gateway6('v0')} dev v0"
                        for probe in probes])
        found += one(f"long match/v{number} local resolvers and a gone default", v,
                     [f"ip address add {probe}/{long} dev lo" for probe in probes[:3]]
                     + [f"{ip} route del default"])
    return found


FULL6 = ["2001:4860::/32", "2400:cb00::/32", "2606:2800::/32", "2a00:1450::/32", "2c0f:fb50::/32", "2801:80::/32",
         "2606:4700::/32", "2620:fe::/48", "2620:119::/40"]


def full_tables():
    found = []
    bare = up("v0") + address4("v0")
    add = ["many add {n}.0.0.0/9 via 10.1.0.1 dev v0", "many add {n}.128.0.0/9 via 10.1.0.1 dev v0"]
    delete = [line.replace(" add ", " del ") for line in add]
    found += pair("full table/v4", bare, add, delete)
    found += one("full table/v4 beside a default that goes", V4 + add, ["ip route del default"])
    found += one("full table/v4 moves to the other uplink", bare + up("w0") + address4("w0") + add,
                 [line.replace(" add ", " replace ").replace("10.1.0.1 dev v0", "10.2.0.1 dev w0") for line in add])
    found += one("full table/v4 turns into a blackhole", bare + add,
                 ["many replace blackhole {n}.0.0.0/9", "many replace blackhole {n}.128.0.0/9"])
    found += one("full table/v4 loses carrier", bare + add, ["far v0 down"])
    found += one("full table/v4 half of it withdrawn", bare + add, delete[:1])
    found += one("full table/v4 of /16 around the destinations only", bare, [
        f"ip route add {network} via 10.1.0.1 dev v0" for network in
        ("23.45.0.0/16", "93.184.0.0/16", "142.250.0.0/16", "185.199.0.0/16", "52.95.0.0/16", "203.0.0.0/16",
         "1.1.0.0/16", "8.8.0.0/16", "9.9.0.0/16", "208.67.0.0/16")])
    bare6 = up("v0") + address6("v0")
    add6 = [f"ip -6 route add {prefix} via 2001:db8:1::1 dev v0" for prefix in FULL6]
    delete6 = [line.replace(" add ", " del ") for line in add6]
    found += pair("full table/v6", bare6, add6, delete6)
    found += one("full table/v6 beside a default that goes", V6 + add6, ["ip -6 route del default"])
    halves = ["ip route add 0.0.0.0/1 via 10.2.0.1 dev w0", "ip route add 128.0.0.0/1 via 10.2.0.1 dev w0"]
    found += pair("halves/v4 of a VPN", V4 + W4, halves, [line.replace(" add ", " del ") for line in halves])
    found += one("halves/v4 without a default", up("v0", "w0") + address4("v0") + address4("w0"), halves)
    found += one("halves/v4 of a VPN that loses carrier", V4 + W4 + halves, ["far w0 down"])
    thirds = ["ip -6 route add 2000::/3 via 2001:db8:2::1 dev w0"]
    found += pair("halves/v6 2000::/3", V6 + W6, thirds, [line.replace(" add ", " del ") for line in thirds])
    halves6 = ["ip -6 route add ::/1 via 2001:db8:2::1 dev w0", "ip -6 route add 8000::/1 via 2001:db8:2::1 dev w0"]
    found += pair("halves/v6 of a VPN", V6 + W6, halves6, [line.replace(" add ", " del ") for line in halves6])
    found += one("halves/v4 blackholed", V4, ["ip route add blackhole 0.0.0.0/1", "ip route add blackhole 128.0.0.0/1"])
    found += one("halves/v4 eighths", up("v0") + address4("v0"),
                 [f"ip route add {n * 32}.0.0.0/3 via 10.1.0.1 dev v0" for n in range(7)])
    return found


def situations():
    return (rules_from_a_source() + tables_by_source() + routes_by_source() + chosen_sources() + other_rules() + long_matches()
            + full_tables())
