# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""What refuses behind the forwarding table: nftables, IPsec policies, chains that set a mark."""
from steps import ADMIN, BOTH, V, V4, V6, W4, one, pair

ELSEWHERE = "a mark that leads to another interface"
BEHIND = "without privileges: behind the output hook, or by a mark"


def table(rules, family="inet", kind="filter", hook="output", priority="0", name="t", policy=""):
    """One table with one chain."""
    policy = f"policy {policy};" if policy else ""
    return (f"nft table {family} {name} {{ chain c {{ type {kind} hook {hook} priority {priority}; {policy} "
            f"{'; '.join(rules)}{';' if rules else ''} }}; }}")


def nftables():
    found = []
    blocks = {
        "drop all": ["drop"],
        "drop all of an uplink": ["oifname v0 drop"],
        "reject all": ["oifname v0 reject"],
        "reject with reset": ["meta l4proto tcp oifname v0 reject with tcp reset"],
        "drop tcp": ["meta l4proto tcp drop"],
        "drop tcp to 443": ["tcp dport 443 drop"],
        "reject tcp to 443": ["tcp dport 443 reject"],
        "drop udp": ["meta l4proto udp drop"],
        "drop udp to 53": ["udp dport 53 drop"],
        "drop udp to 443": ["udp dport 443 drop"],
        "drop of the user": ["meta skuid {user} drop"],
        "drop of another user": ["meta skuid 2000 drop"],
        "drop tcp to 25": ["tcp dport 25 drop"],
        "drop to one host": ["ip daddr 1.1.1.1 drop"],
        "counter only": ["counter"],
        "jump to what drops": ["ip protocol tcp drop", "counter"],
    }
    for name, rules in blocks.items():
        found += pair(f"nftables/{name}", V4, [table(rules)], ["nft delete table inet t"])
    found += pair("nftables/dual stack, drop all", V, [table(["drop"])], ["nft delete table inet t"])
    found += one("nftables/dual stack, v4 dropped", V, [table(["drop"], family="ip")])
    found += one("nftables/dual stack, v6 dropped", V, [table(["meta l4proto != icmpv6 drop"], family="ip6")])
    found += one("nftables/policy drop", V4, [table(["oifname lo accept"], policy="drop")])
    found += one("nftables/policy drop, 443 and 53 accepted", V4, [
        table(["oifname lo accept", "tcp dport 443 accept", "udp dport { 53, 443 } accept"], policy="drop")])
    found += one("nftables/policy drop, 53 accepted", V4, [table(["oifname lo accept", "udp dport 53 accept"], policy="drop")])
    found += one("nftables/postrouting drop", V4, [table(["oifname v0 drop"], hook="postrouting")], limit=BEHIND)
    found += one("nftables/egress drop", V4, ["nft table netdev t { chain c { type filter hook egress device v0 priority 0; "
                                            "ip protocol tcp drop; }; }"])
    found += one("nftables/input drop of answers", V4, [table(["iifname v0 drop"], hook="input")])
    found += one("nftables/two uplinks, the better one dropped", BOTH, [table(["oifname v0 drop"])])
    for name, rules in (("drop all", ["drop"]), ("drop tcp to 443", ["tcp dport 443 drop"]),
                        ("reject tcp to 443", ["tcp dport 443 reject"]), ("drop udp to 53", ["udp dport 53 drop"]),
                        ("counter only", ["counter"]), ("drop of another user", ["meta skuid 2000 drop"])):
        found += pair(f"nftables/privileged, {name}", V4, [table(rules)], ["nft delete table inet t"], capabilities=ADMIN)
    found += one("nftables/privileged, postrouting drop", V4, [table(["oifname v0 drop"], hook="postrouting")],
                 capabilities=ADMIN)
    found += one("nftables/privileged, policy drop", V4, [table(["oifname lo accept"], policy="drop")], capabilities=ADMIN)
    return found


def marks():
    """A chain of type route sets a mark, and the packet is routed again."""
    found = []
    other = ["ip route add default via 10.2.0.1 dev w0 table 77", "ip rule add pref 50 fwmark 7 lookup 77"]
    refused = ["ip rule add pref 50 fwmark 7 prohibit"]
    marking = table(["meta mark set 7"], family="ip", kind="route", priority="-150")
    found += pair("mark/all by the other uplink", V4 + W4 + other, [marking], ["nft delete table ip t"])
    found += pair("mark/all refused", V4 + refused, [marking], ["nft delete table ip t"], limit=BEHIND)
    found += one("mark/tcp to 443 by the other uplink", V4 + W4 + other,
                 [table(["tcp dport 443 meta mark set 7"], family="ip", kind="route", priority="-150")])
    found += one("mark/tcp to 443 refused", V4 + refused,
                 [table(["tcp dport 443 meta mark set 7"], family="ip", kind="route", priority="-150")])
    found += one("mark/filter chain does not route again", V4 + W4 + other,
                 [table(["meta mark set 7"], family="ip", kind="filter")])
    found += one("mark/of another user", V4 + refused,
                 [table(["meta skuid 1000 meta mark set 7"], family="ip", kind="route", priority="-150")])
    found += one("mark/privileged, all refused", V4 + refused, [marking], capabilities=ADMIN)
    found += one("mark/privileged, all by the other uplink", V4 + W4 + other, [marking], capabilities=ADMIN, limit=ELSEWHERE)
    found += one("mark/v6 refused", V + ["ip -6 rule add pref 50 fwmark 7 prohibit"],
                 [table(["meta l4proto { tcp, udp } meta mark set 7"], family="ip6", kind="route", priority="-150")],
                 limit=BEHIND)
    return found


def policies():
    found = []
    every = "src 0.0.0.0/0 dst 0.0.0.0/0"
    every6 = "src ::/0 dst ::/0"
    for capabilities, name in (((), ""), (ADMIN, "privileged, ")):
        found += pair(f"ipsec/{name}block", V4, [f"ip xfrm policy add dir out {every} action block"],
                      [f"ip xfrm policy del dir out {every}"], capabilities=capabilities)
        found += pair(f"ipsec/{name}default block", V4, ["ip xfrm policy setdefault out block"],
                      ["ip xfrm policy setdefault out accept"], capabilities=capabilities)
        found += one(f"ipsec/{name}no security association", V4, [
            f"ip xfrm policy add dir out {every} tmpl src 10.1.0.2 dst 10.1.0.9 proto esp mode tunnel"],
            capabilities=capabilities, limit="a policy without a state")
    found += one("ipsec/v6 block", V6, [f"ip xfrm policy add dir out {every6} action block"])
    found += one("ipsec/v6 block, dual stack", V, [f"ip xfrm policy add dir out {every6} action block"])
    found += one("ipsec/default block, dual stack", V, ["ip xfrm policy setdefault out block"])
    found += one("ipsec/block of tcp", V4, [f"ip xfrm policy add dir out {every} proto tcp action block"])
    found += one("ipsec/block of tcp to 443", V4, [f"ip xfrm policy add dir out {every} proto tcp dport 443 action block"])
    found += one("ipsec/block of udp to 53", V4, [f"ip xfrm policy add dir out {every} proto udp dport 53 action block"])
    found += one("ipsec/block to one network", V4, ["ip xfrm policy add dir out src 0.0.0.0/0 dst 198.51.100.0/24 action block"])
    found += one("ipsec/block from the address", V4, ["ip xfrm policy add dir out src 10.1.0.2/32 dst 0.0.0.0/0 action block"])
    found += one("ipsec/block of what comes in", V4, [f"ip xfrm policy add dir in {every} action block"])
    found += one("ipsec/block, allowed before it", V4, [
        f"ip xfrm policy add dir out {every} priority 20 action block",
        f"ip xfrm policy add dir out {every} proto tcp priority 10 action allow",
        f"ip xfrm policy add dir out {every} proto udp priority 10 action allow"])
    found += one("ipsec/disabled on the uplink", V4 + ["sysctl ipv4/conf/v0/disable_policy=1", "sysctl ipv4/conf/v0/disable_xfrm=1"],
                 [f"ip xfrm policy add dir out {every} action block"])
    return found


def situations():
    return [situation._replace(audit=2) for situation in nftables() + marks() + policies()]
