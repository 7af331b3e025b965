# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""Routers by advertisement, and neighbours that answer no more."""
from steps import V, V4, V6, W4, W6, address4, address6, default4, default6, one, pair, up

FIRST = "advertise v0 fe80::a {lifetime} prefix=2001:db8:1::"
SECOND = "advertise w0 fe80::b {lifetime} prefix=2001:db8:2::"


def advertised(*lines, lifetime=1800):
    return [line.format(lifetime=lifetime) for line in lines]


def routers():
    found = []
    two = up("v0", "w0") + ["sleep 0.1"]
    found += one("router/one", two, advertised(FIRST))
    found += one("router/two", two, advertised(FIRST, SECOND))
    found += one("router/two, the second preferred", two, advertised(FIRST, SECOND + " preference=high"))
    found += one("router/two, the first of low preference", two, advertised(FIRST + " preference=low", SECOND))
    found += one("router/withdrawn", two + advertised(FIRST, SECOND), advertised(FIRST, lifetime=0))
    found += one("router/the only one withdrawn", two + advertised(FIRST), advertised(FIRST, lifetime=0))
    found += one("router/promise runs out", two + advertised(FIRST, lifetime=1), ["sleep 1.2"])
    found += one("router/promise runs out, a second is there", two + advertised(FIRST, lifetime=1) + advertised(SECOND),
                 ["sleep 1.2"])
    found += one("router/promise runs out and is renewed", two + advertised(FIRST, lifetime=1) + ["sleep 1.2"],
                 advertised(FIRST))
    found += one("router/prefix runs out", two + advertised(FIRST + " valid=1"), ["sleep 1.3"],
                 limit="what the interface had before the daemon started")
    found += one("router/without a prefix", two, ["advertise v0 fe80::a 1800"])
    for name, dying in (("the first", "fe80::a"), ("the second", "fe80::b"), ("both", "fe80::a fe80::b")):
        flush = [f"ip neigh flush dev {device}" for device in ("v0", "w0")]
        found += one(f"router/{name} dies", two + advertised(FIRST, SECOND) + ["send"],
                     [f"silence {dying}"] + flush + ["send", "sleep 0.4", "send"])
        found += one(f"router/{name} dies, neighbour ages", two + advertised(FIRST, SECOND) + ["send"],
                     [f"silence {dying}", "sleep 0.7", "send", "sleep 1.5", "send", "sleep 0.3"])
    found += one("router/dies and comes back", two + advertised(FIRST, SECOND) + [
        "silence fe80::a", "ip neigh flush dev v0", "send", "sleep 0.4"], ["speak fe80::a"] + advertised(FIRST) + ["send"])
    found += one("router/the only one dies", two + advertised(FIRST) + ["send"],
                 ["silence fe80::a", "ip neigh flush dev v0", "send", "sleep 0.4"])
    found += one("router/two on one link, the first dies", up("v0") + ["sleep 0.1"] + advertised(FIRST) + [
        "advertise v0 fe80::c 1800", "send"], ["silence fe80::a", "ip neigh flush dev v0", "send", "sleep 0.4"])
    found += one("router/preferred one dies", two + advertised(FIRST, SECOND + " preference=high") + ["send"],
                 ["silence fe80::b", "ip neigh flush dev w0", "send", "sleep 0.4"])
    found += one("router/first loses carrier", two + advertised(FIRST, SECOND), ["far v0 down"])
    found += one("router/first link goes down", two + advertised(FIRST, SECOND), ["ip link set v0 down"])
    found += one("router/entry marked failed", two + advertised(FIRST, SECOND) + ["silence fe80::a"],
                 ["ip neigh replace fe80::a dev v0 nud failed"])
    return found


def equal_defaults():
    """Two defaults of one metric: the kernel chooses by what it knows of the neighbours."""
    found = []
    four = up("v0", "w0") + address4("v0") + address4("w0") + default4("v0") + [
        "ip route append default via 10.2.0.1 dev w0 metric 100"]
    six = up("v0", "w0") + address6("v0") + address6("w0") + default6("v0") + [
        "ip -6 route append default via 2001:db8:2::1 dev w0 metric 100"]
    same = up("v0") + address4("v0") + default4("v0") + ["ip route append default via 10.1.0.9 dev v0 metric 100"]
    for name, base, first, second in (("v4", four, "10.1.0.1", "10.2.0.1"), ("v6", six, "2001:db8:1::1", "2001:db8:2::1"),
                                      ("v4 one link", same, "10.1.0.1", "10.1.0.9")):
        found += one(f"equal metric/{name}", base, [])
        found += one(f"equal metric/{name}, the first loses carrier", base, ["far v0 down"])
        found += one(f"equal metric/{name}, used and the first loses carrier", base + ["send"], ["far v0 down", "send"])
        found += one(f"equal metric/{name}, the first is silent", base + ["send"],
                     [f"silence {first}", "ip neigh flush dev v0", "send", "sleep 0.4", "send"])
        found += one(f"equal metric/{name}, the second is silent", base + ["send"],
                     [f"silence {second}", "ip neigh flush dev w0", "ip neigh flush dev v0", "send", "sleep 0.4"])
        found += one(f"equal metric/{name}, both are silent", base + ["send"],
                     [f"silence {first} {second}", "ip neigh flush dev v0", "ip neigh flush dev w0", "send", "sleep 0.4"])
        found += one(f"equal metric/{name}, silent and back", base + [
            f"silence {first}", "ip neigh flush dev v0", "send", "sleep 0.4"],
            [f"speak {first}", "ip neigh flush dev v0", "send"])
    return found


def silent_gateways():
    found = []
    for number, base, both, gateway, second in ((4, V4, V4 + W4, "10.1.0.1", "10.2.0.1"),
                                               (6, V6, V6 + W6, "2001:db8:1::1", "2001:db8:2::1")):
        dying = [f"silence {gateway}", "ip neigh flush dev v0", "send", "sleep 0.4"]
        found += one(f"silent gateway/v{number} never answered", base[:-1] + [f"silence {gateway}"],
                     base[-1:] + ["send", "sleep 0.4"])
        found += pair(f"silent gateway/v{number} dies", base + ["send"], dying,
                      [f"speak {gateway}", "ip neigh flush dev v0", "send", "sleep 0.1"])
        found += one(f"silent gateway/v{number} dies, a worse default is there", both + ["send"], dying)
        found += one(f"silent gateway/v{number} of the worse default dies", both + ["send"],
                     [f"silence {second}", "ip neigh flush dev w0", "send", "sleep 0.4"])
        found += one(f"silent gateway/v{number} entry marked failed", base + ["send"],
                     [f"silence {gateway}", f"ip neigh replace {gateway} dev v0 nud failed"])
        found += one(f"silent gateway/v{number} permanent entry", base + [f"silence {gateway}"],
                     [f"permanent {gateway} v0"])
    found += one("silent gateway/dual stack, v4's dies", V + ["send"],
                 ["silence 10.1.0.1", "ip neigh flush dev v0", "send", "sleep 0.4"])
    found += one("silent gateway/dual stack, v6's dies", V + ["send"],
                 ["silence 2001:db8:1::1", "ip neigh flush dev v0", "send", "sleep 0.4"])
    return found


def situations():
    return routers() + equal_defaults() + silent_gateways()
