# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""Name servers: can a query leave?"""
from steps import V, V4, V6, address4, address6, gateway4, one, pair, up


def server_routes():
    found = []
    for number, base, server, ip in ((4, V4, "198.51.100.53", "ip"), (6, V6, "2001:db8:53::53", "ip -6")):
        named = base + [f"resolver nameserver {server}"]
        for kind in ("unreachable", "blackhole", "prohibit"):
            found += pair(f"names/v{number} server {kind}", named, [f"{ip} route add {kind} {server}"],
                          [f"{ip} route del {kind} {server}"])
        found += one(f"names/v{number} server's network {kind}", named, [
            f"{ip} route add {kind} {'198.51.100.0/24' if number == 4 else '2001:db8:53::/48'}"])
        found += one(f"names/v{number} to rule prohibit", named, [f"{ip} rule add pref 50 to {server} prohibit"])
        found += pair(f"names/v{number} udp 53 rule prohibit", named, [f"{ip} rule add pref 50 ipproto udp dport 53 prohibit"],
                      [f"{ip} rule del pref 50"])
        found += one(f"names/v{number} source rule prohibit", named, [
            f"{ip} rule add pref 50 from {'10.1.0.2' if number == 4 else '2001:db8:1::2'} prohibit"])
        found += one(f"names/v{number} source rule to the server", named, [
            f"{ip} rule add pref 50 from {'10.1.0.2' if number == 4 else '2001:db8:1::2'} to {server} unreachable"])
        found += one(f"names/v{number} server by the other uplink without carrier", named + up("w0") + (
            address4 if number == 4 else address6)("w0") + [
            f"{ip} route add {server} via {gateway4('w0') if number == 4 else '2001:db8:2::1'} dev w0"], ["far w0 down"])
        found += one(f"names/v{number} server route without default", up("v0") + (address4 if number == 4 else address6)("v0")
                     + [f"resolver nameserver {server}"],
                     [f"{ip} route add {server} via {gateway4('v0') if number == 4 else '2001:db8:1::1'} dev v0"])
        found += one(f"names/v{number} default blackholed, server route stays", named + [
            f"{ip} route add {server} via {gateway4('v0') if number == 4 else '2001:db8:1::1'} dev v0"],
            [f"{ip} route add blackhole default metric 1"])
    return found


def resolvers():
    found = []
    found += one("names/on the link", V4, ["resolver nameserver 10.1.0.53"])
    found += one("names/on the link, no default", up("v0") + address4("v0"), ["resolver nameserver 10.1.0.53"])
    found += one("names/loopback with a server", V4 + ["listen 127.0.0.1"], ["resolver nameserver 127.0.0.1"])
    found += one("names/loopback without a server", V4, ["resolver nameserver 127.0.0.1"])
    found += one("names/loopback ::1 with a server", V + ["listen ::1"], ["resolver nameserver ::1"])
    found += one("names/loopback ::1 without a server", V, ["resolver nameserver ::1"])
    found += one("names/loopback server of another address", V4 + ["listen 127.0.0.53"], ["resolver nameserver 127.0.0.1"])
    found += one("names/loopback server starts", V4 + ["resolver nameserver 127.0.0.1"], ["listen 127.0.0.1"])
    found += one("names/loopback server behind a redirect, as Docker has it", V4 + ["listen 127.0.0.11 5300"], [
        "nft table ip t { chain c { type nat hook output priority -100; ip daddr 127.0.0.11 udp dport 53 "
        "dnat to 127.0.0.11:5300; }; }", "resolver nameserver 127.0.0.11"])
    found += one("names/own address with a server", V4 + ["listen 10.1.0.2"], ["resolver nameserver 10.1.0.2"])
    found += one("names/own address without a server", V4, ["resolver nameserver 10.1.0.2"])
    found += one("names/no lines", V4, ["resolver options ndots:1"])
    found += one("names/no lines, a server on loopback", V4 + ["listen 127.0.0.1"], ["resolver search example.test"])
    found += one("names/the second can be reached", V4 + ["ip route add unreachable 198.51.100.1"],
                 ["resolver nameserver 198.51.100.1|nameserver 198.51.100.2"])
    found += one("names/v6 server on a v4 machine", V4, ["resolver nameserver 2001:db8:53::53"])
    found += one("names/v4 server on a v6 machine", V6, ["resolver nameserver 198.51.100.53"])
    found += one("names/link-local server", V6, ["resolver nameserver fe80::53%v0"])
    found += one("names/link-local server on a link that is down", V6, ["resolver nameserver fe80::53%w0"])
    found += one("names/link-local server without a scope", V6, ["resolver nameserver fe80::53"])
    found += one("names/mapped server", V4, ["resolver nameserver ::ffff:198.51.100.53"])
    found += one("names/default without an address", up("v0") + ["resolver nameserver 198.51.100.53"],
                 ["ip route add default dev v0"])
    found += one("names/default by lo", ["resolver nameserver 198.51.100.53"], ["ip route add default dev lo"])
    found += one("names/v6 default without an address", up("v0") + ["resolver nameserver 2001:db8:53::53"],
                 ["ip -6 route add default dev v0"])
    found += one("names/v6 default by lo", ["resolver nameserver 2001:db8:53::53"], ["ip -6 route add default dev lo"])
    found += one("names/server is an address of lo", V4 + ["ip address add 198.51.100.53/32 dev lo"],
                 ["resolver nameserver 198.51.100.53"])
    found += one("names/local route at the server", V4 + ["resolver nameserver 198.51.100.53"],
                 ["ip route add local 198.51.100.53 dev lo"])
    found += one("names/gateway as server, silent", V4 + ["resolver nameserver 10.1.0.1", "send"],
                 ["silence 10.1.0.1", "ip neigh flush dev v0", "send", "sleep 0.4"])
    found += one("names/server by a source route", up("v0") + address6("v0") + ["resolver nameserver 2001:db8:53::53"],
                 ["ip -6 route add default from 2001:db8:1::/64 via 2001:db8:1::1 dev v0"])
    found += one("names/carrier lost", V + ["resolver nameserver 198.51.100.53"], ["far v0 down"])
    found += one("names/link-local v4 server, link scope source", up("v0") + ["ip address add 169.254.7.7/16 dev v0"],
                 ["resolver nameserver 169.254.7.1"])
    return found


def situations():
    return server_routes() + resolvers()
