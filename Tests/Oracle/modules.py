# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""Links that few test machines can make: bonds, teams, VRFs, WireGuard. The kernel lab's guests have their modules."""
from steps import ADMIN, V, V4, W, address4, address6, default4, default6, one, pair, up

BOTH_DEAD = ["far v0 down", "far w0 down"]
BOTH_BACK = ["far v0 up", "far w0 up"]
OPTIONS = "without privileges: the options of a team"
PEER = "wg wg0 peer " + "A" * 42 + "E="


def addressed(device):
    return address4(device) + address6(device) + default4(device) + default6(device)


def bond(options):
    return ([f"ip link add bond0 index 20 address 02:20:00:00:00:01 type bond {options}", "ip link set v0 master bond0",
             "ip link set w0 master bond0"] + up("bond0", "v0", "w0") + addressed("bond0"))


def bonds():
    found, needs = [], {"needs": ("bond",)}
    monitored, blind = bond("mode active-backup miimon 50"), bond("mode active-backup")
    found += pair("bond/one port loses carrier", monitored, ["far v0 down"], ["far v0 up"], **needs)
    found += pair("bond/both ports lose carrier", monitored, BOTH_DEAD, BOTH_BACK, **needs)
    found += one("bond/its ports leave", monitored, ["ip link set v0 nomaster", "ip link set w0 nomaster"], **needs)
    found += one("bond/down", monitored, ["ip link set bond0 down"], **needs)
    found += pair("bond/unmonitored, both ports lose carrier", blind, BOTH_DEAD, BOTH_BACK, **needs)
    found += pair("bond/unmonitored, the active port loses carrier", blind, ["far v0 down"],
                  ["ip link set bond0 type bond active_slave w0"], **needs)
    found += one("bond/unmonitored, the active port goes down", blind, ["ip link set v0 down"], **needs)
    found += one("bond/unmonitored, the other port loses carrier", blind, ["far w0 down"], **needs)
    return found


def team(*options):
    return (["ip link add team0 index 21 address 02:21:00:00:00:01 type team",
             *(f"teamnl team0 {option}" for option in options), "ip link set v0 master team0", "ip link set w0 master team0"]
            + up("v0", "w0", "team0") + addressed("team0"))


def teams():
    found, needs = [], {"needs": ("team",)}
    turns = team("setoption mode roundrobin")
    found += pair("team/both ports lose carrier", turns, BOTH_DEAD, BOTH_BACK, **needs)
    # In this mode the ports keep their own addresses, and a daemon gives them the team's.
    backup = ([f"ip link set {port} address 02:21:00:00:00:01" for port in ("v0", "w0")]
              + team("setoption mode activebackup") + ["teamnl team0 setoption activeport 10"])
    found += one("team/the other port loses carrier", backup, ["far w0 down"], **needs)
    # The mode and the active port are for those with CAP_NET_ADMIN.
    for name, options in (("", {"limit": OPTIONS}), ("privileged, ", {"capabilities": ADMIN})):
        found += one(f"team/{name}without a mode", team(), [], **needs, **options)
        found += one(f"team/{name}the active port loses carrier and nobody changes it", backup, ["far v0 down"], **needs,
                     **options)
    return found


def vrfs():
    found, needs = [], {"needs": ("vrf",)}
    create = ["ip link add red index 22 type vrf table 10", "ip link set red up"]
    # The kernel drops IPv6 addresses with the change of master.
    move = ["ip link set v0 master red"] + address6("v0") + default4("v0", table="table 10") + default6("v0", table="table 10")
    leak = ["ip route add default dev red", "ip -6 route add default dev red"]
    accept = ["sysctl ipv4/tcp_l3mdev_accept=1", "sysctl ipv4/udp_l3mdev_accept=1"]
    found += pair("vrf/the uplink moves into it", V + create, move,
                  ["ip link set v0 nomaster"] + address6("v0") + default4("v0") + default6("v0"), **needs)
    found += one("vrf/the uplink moves into it beside another", V + W + create, move, **needs)
    found += one("vrf/a default that leads into it, answers do not come in", V + create + move, leak, **needs)
    found += one("vrf/a default that leads into it", accept + V + create + move, leak, **needs)
    found += one("vrf/a default that leads into it loses carrier", accept + V + create + move + leak, ["far v0 down"], **needs)
    return found


def wireguard():
    found, needs = [], {"needs": ("wireguard",)}
    tunnel = ["ip link add wg0 index 23 type wireguard", "ip link set wg0 up", "ip address add 10.7.0.2/32 dev wg0",
              "ip address add 2001:db8:7::2/128 dev wg0"]
    default = ["ip route add default dev wg0 metric 1", "ip -6 route add default dev wg0 metric 1"]
    undo = [step.replace(" add ", " del ") for step in default]
    found += one("wireguard/not the default", V + tunnel, [], **needs)
    for name, peers in (("without a peer", []), ("a peer without an endpoint", [f"{PEER} allowed-ips 0.0.0.0/0,::/0"]),
                        ("not among the allowed addresses", [f"{PEER} endpoint 10.1.0.9:51820 allowed-ips 10.7.0.0/24"])):
        found += pair(f"wireguard/default, {name}", V + tunnel + peers, default, undo, **needs)
    found += one("wireguard/default of IPv4 alone without a peer", V4 + tunnel, default[:1], **needs)
    return found


def situations():
    return bonds() + teams() + vrfs() + wireguard()
