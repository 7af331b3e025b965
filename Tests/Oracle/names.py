# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""Name servers: can a query leave?"""
from steps import ADMIN, V, V4, V6, address4, address6, gateway4, one, pair, up


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


def redirect(address, port, far=None):
    """An output rule that leads queries to an address elsewhere."""
    return (f"nft table ip r {{ chain c {{ type nat hook output priority -100; ip daddr {address} udp dport 53 "
            f"dnat to {far or address}:{port}; }}; }}")


def dropped(hook, protocol="udp"):
    return f"nft table inet f {{ chain c {{ type filter hook {hook} priority 0; {protocol} dport 53 drop; }}; }}"


def own_servers():
    """A server at an address of this machine: sockets, redirects, rules and filters between it and the programs."""
    found = []
    for number, base, address, other in ((4, V4, "10.1.0.2", "127.0.0.1"), (6, V6, "2001:db8:1::2", "::1")):
        own, anyone, ip = base + [f"resolver nameserver {address}"], *(("0.0.0.0", "ip") if number == 4 else ("::", "ip -6"))
        found += one(f"names/v{number} own server starts", own, [f"listen {address}"])
        found += one(f"names/v{number} own server ends", own + [f"listen {address}"], [f"unlisten {address}"])
        found += one(f"names/v{number} own server ends and returns", own + [f"listen {address}"],
                     [f"unlisten {address}", "sleep 0.3", f"listen {address}"])
        found += one(f"names/v{number} own address comes with a server", up("v0") + [
            f"resolver nameserver {address}", f"listen {anyone}"], (address4 if number == 4 else address6)("v0"))
        for server in (address, other):
            named = base + [f"resolver nameserver {server}"]
            found += one(f"names/v{number} {server} by TCP alone", named, [f"listen {server} 53 tcp"])
            found += one(f"names/v{number} {server} by TCP alone, use-vc", base + [
                f"resolver nameserver {server}|options use-vc"], [f"listen {server} 53 tcp"])
            found += one(f"names/v{number} {server} by UDP alone, use-vc", base + [
                f"resolver nameserver {server}|options use-vc"], [f"listen {server}"])
            for device in ("v0", "lo"):
                found += one(f"names/v{number} {server}, socket bound to {device}", named, [
                    f"listen {anyone} 53 device={device}"])
            for rule in ("unreachable", "prohibit", "blackhole"):
                found += pair(f"names/v{number} {server} rule {rule} before local", named + [f"listen {server}"], [
                    f"{ip} rule add pref 1 lookup local", f"{ip} rule del pref 0", f"{ip} rule add pref 0 to {server} {rule}"],
                    [f"{ip} rule del pref 0 to {server}"])
    return found


def kinds_of_sockets():
    found = []
    for server in ("10.1.0.2", "127.0.0.1"):
        named = V + [f"resolver nameserver {server}"]
        found += one(f"names/{server}, [::]", named, ["listen ::"])
        found += one(f"names/{server}, [::] V6ONLY", named, ["listen :: 53 v6only"])
        found += one(f"names/{server}, mapped", named, [f"listen ::ffff:{server}"])
        found += one(f"names/{server} led out by a rule", named + [f"listen {server}"], [
            "ip rule add pref 1 lookup local", "ip rule del pref 0", f"ip rule add pref 0 to {server} lookup 127",
            "ip route add default via 10.1.0.1 dev v0 table 127"])
    found += one("names/0.0.0.0 with a server", V4 + ["listen 127.0.0.1"], ["resolver nameserver 0.0.0.0"])
    found += one("names/0.0.0.0 without a server", V4, ["resolver nameserver 0.0.0.0"])
    return found


def filters_and_files():
    found = []
    for server in ("10.1.0.2", "127.0.0.1"):
        for hook in ("input", "output"):
            for protocol, options in (("udp", ""), ("tcp", "|options use-vc")):
                found += one(
                    f"names/{server} {hook} drops {protocol} 53", V4 + [
                        f"listen {server}{' 53 tcp' if protocol == 'tcp' else ''}",
                        f"resolver nameserver {server}{options}"],
                    [dropped(hook, protocol)], audit=1)
        found += one(f"names/{server} behind a redirect", V4 + [
            f"listen {server} 5300", f"resolver nameserver {server}"], [redirect(server, 5300)], audit=1)
        found += one(f"names/{server} socket, a redirect to nothing", V4 + [
            f"listen {server}", f"resolver nameserver {server}"], [redirect(server, 5300)], audit=1)
    far = ["resolver nameserver 198.51.100.53|options use-vc"]
    for number, rule in (("udp", "udp"), ("tcp", "tcp")):
        found += pair(f"names/use-vc {number} 53 rule prohibit", V4 + far, [
            f"ip rule add pref 50 ipproto {rule} dport 53 prohibit"], ["ip rule del pref 50"])
        found += one(f"names/use-vc {number} 53 dropped", V4 + far, [dropped("output", rule)],
                     capabilities=ADMIN, audit=1)
    found += one("names/use-vc set", V4 + ["ip rule add pref 50 ipproto udp dport 53 prohibit",
                                           "resolver nameserver 198.51.100.53"], far)
    found += one("names/file must not be read", V4 + ["resolver nameserver 198.51.100.53"], ["mode 600"])
    found += one("names/file may be read again", V4 + ["resolver nameserver 198.51.100.53", "mode 600"], ["mode 644"])
    return found


def situations():
    return server_routes() + resolvers() + own_servers() + kinds_of_sockets() + filters_and_files()
