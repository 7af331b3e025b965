# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""Tunnels: WireGuard, L2TP, IPsec. The router is their other end."""
import os

from . import scenario

# wg-quick's: all but the tunnel's own packets by a table of its own.
FULL_TUNNEL = ("wg set wg0 fwmark 51820", "ip route add default dev wg0 table 51820", "ip route add ::/0 dev wg0 table 51820",
               "ip rule add not fwmark 51820 table 51820", "ip rule add table main suppress_prefixlength 0",
               "ip -6 rule add not fwmark 51820 table 51820", "ip -6 rule add table main suppress_prefixlength 0")
ENDPOINT = "198.51.100.1"


def wireguard(scene, endpoint="10.1.0.1", allowed="0.0.0.0/0,::/0"):
    """wg0 on both ends. Returns the public key of the router."""
    public = {}
    for where in ("machine", "router"):
        machine = getattr(scene, where)
        private = machine.run("wg", "genkey").stdout
        public[where] = machine.run("wg", "pubkey", input=private).stdout.strip()
        with open(f"{scene.folder}/{where}.key", "w", opener=private_file) as file:
            file.write(private)
    scene.there("ip link add wg0 type wireguard", f"ip address add {ENDPOINT}/32 dev lo",
                f"wg set wg0 listen-port 51820 private-key {scene.folder}/router.key peer {public['machine']} "
                "allowed-ips 10.9.0.2/32,fd00:9::2/128", "ip link set wg0 up", "ip address add 10.9.0.1/24 dev wg0",
                "ip address add fd00:9::1/64 dev wg0 nodad")
    scene.here("ip link add wg0 type wireguard",
               f"wg set wg0 private-key {scene.folder}/machine.key peer {public['router']} allowed-ips {allowed} "
               f"endpoint {endpoint}:51820 persistent-keepalive 5", "ip address add 10.9.0.2/32 dev wg0",
               "ip address add fd00:9::2/128 dev wg0 nodad", "ip link set wg0 up")
    return public["router"]


def private_file(path, flags):
    return os.open(path, flags, 0o600)


@scenario("wireguard/full tunnel as wg-quick makes it", needs=("wireguard",))
def _(scene):
    scene.cable()
    wireguard(scene)
    scene.serve()
    scene.here(*FULL_TUNNEL)
    scene.step("full tunnel", hold=6, interface="wg0", never=(r"wg0: carrier, operational state unknown",))
    scene.there("ip link set f0 down")
    scene.step("the underlay's cable is pulled", "", says=(r"\be0\b",),
               never=(r"wg0: carrier, operational state unknown",))
    scene.there("ip link set f0 up")
    scene.step("plugged in again", hold=8)
    scene.here("ip address del 10.1.0.2/24 dev e0")
    scene.step("the underlay loses the family of the endpoint", "")


@scenario("wireguard/refused by allowed-ips", needs=("wireguard",))
def _(scene):
    scene.cable(metric=100)
    wireguard(scene, allowed="10.9.0.0/24,fd00:9::/64")
    scene.serve()
    scene.step("split tunnel", interface="e0")
    scene.here("ip route add default dev wg0")
    scene.step("IPv4 by wg0, whose peer is not allowed it", "6", hold=8, says=(r"\bwg0\b",), why="broken")
    scene.here("ip route add ::/0 dev wg0 metric 1")
    scene.step("IPv6 too", "", hold=8, says=(r"\bwg0\b",))


@scenario("wireguard/refused without a peer or an endpoint", needs=("wireguard",))
def _(scene):
    scene.cable(metric=100)
    peer = wireguard(scene)
    scene.serve()
    scene.here("ip route add default dev wg0", "ip route add ::/0 dev wg0 metric 1")
    scene.step("full tunnel to an endpoint on the link", hold=6, interface="wg0")
    scene.here(f"wg set wg0 peer {peer} remove", "ip route del default dev wg0", "ip route add default dev wg0")
    scene.step("no peer", "", hold=8, says=(r"\bwg0\b",))
    # The router's next handshake would tell the endpoint.
    scene.there("ip link del wg0")
    scene.here(f"wg set wg0 peer {peer} allowed-ips 0.0.0.0/0,::/0", "ip route del default dev wg0",
               "ip route add default dev wg0")
    scene.step("a peer without an endpoint", "", hold=8, says=(r"\bwg0\b",))


@scenario("wireguard/the endpoint cannot be reached", needs=("wireguard",))
def _(scene):
    scene.cable(metric=100)
    wireguard(scene, endpoint=ENDPOINT)
    host = f"{ENDPOINT} via 10.1.0.1 dev e0"
    scene.here(f"ip route add {host}")
    scene.serve()
    scene.here("ip route add default dev wg0", "ip route add ::/0 dev wg0 metric 1")
    scene.step("full tunnel", hold=6, interface="wg0")
    scene.here(f"ip route del {host}", f"ip route add unreachable {ENDPOINT}")
    scene.step("the endpoint's route is unreachable", "", hold=8, says=(r"198\.51\.100\.1",))
    scene.here(f"ip route del unreachable {ENDPOINT}", f"ip route add {host}")
    scene.step("mended", hold=8)
    scene.here(f"ip route del {host}")
    scene.step("the endpoint's route leads into the tunnel", "", hold=8, says=(r"198\.51\.100\.1",))


@scenario("l2tp/Ethernet over a cable", needs=("l2tp_eth",))
def _(scene):
    scene.cable(default=False)
    for where, own, other in ((scene.here, 2, 1), (scene.there, 1, 2)):
        where(f"ip l2tp add tunnel tunnel_id 7 peer_tunnel_id 7 encap udp local 10.1.0.{own} remote 10.1.0.{other} "
              "udp_sport 1701 udp_dport 1701", "ip l2tp add session name l2tp0 tunnel_id 7 session_id 7 peer_session_id 7",
              "ip link set l2tp0 up")
    scene.there(*scene.gateway("l2tp0", 5))
    scene.here(*scene.address("l2tp0", 5), *scene.default("l2tp0", 5))
    scene.serve()
    scene.step("a tunnel", interface="l2tp0", kind="other")
    scene.there("ip link set f0 down")
    scene.step("the cable below is pulled", "", says=(r"\be0\b",))
    scene.there("ip link set f0 up")
    scene.step("plugged in again")


ESP = "src {0} dst {1} proto esp spi {2} reqid 7 mode tunnel if_id 9 flag af-unspec enc aes 0x{3} auth sha256 0x{4}"


def security(scene, with_policies=True):
    """xfrm0 on both ends: states both ways, and policies."""
    for where, own, other in ((scene.here, "10.1.0.2", "10.1.0.1"), (scene.there, "10.1.0.1", "10.1.0.2")):
        lines = ["ip link add xfrm0 type xfrm dev lo if_id 9", "ip link set xfrm0 up"]
        for source, target, number in (("10.1.0.2", "10.1.0.1", 1001), ("10.1.0.1", "10.1.0.2", 1002)):
            lines.append("ip xfrm state add " + ESP.format(source, target, number, "11" * 16, "22" * 32))
        for direction, source, target in (("out", own, other), ("in", other, own), ("fwd", other, own)):
            for every in ("0.0.0.0/0", "::/0"):
                lines.append(f"ip xfrm policy add src {every} dst {every} dir {direction} if_id 9 tmpl src {source} "
                             f"dst {target} proto esp reqid 7 mode tunnel")
        where(*(line for line in lines if with_policies or "policy" not in line))


@scenario("xfrm/interface without a state or a policy", needs=("xfrm_interface", "esp4"))
def _(scene):
    scene.cable(metric=100)
    security(scene)
    scene.there("ip address add 10.9.0.1/24 dev xfrm0", "ip address add fd00:9::1/64 dev xfrm0 nodad")
    scene.here("ip address add 10.9.0.2/24 dev xfrm0", "ip address add fd00:9::2/64 dev xfrm0 nodad",
               "ip route add default dev xfrm0", "ip route add ::/0 dev xfrm0 metric 1")
    scene.serve()
    scene.step("states and policies", interface="xfrm0", hold=6)
    scene.here("ip xfrm policy flush", "ip route del default dev xfrm0", "ip route add default dev xfrm0")
    scene.step("no policy", "", hold=8, says=(r"\bxfrm0\b",))


@scenario("wireguard/each family by an interface of its own", needs=("wireguard",))
def _(scene):
    scene.cable(metric=100)
    wireguard(scene)
    scene.serve()
    scene.here("ip route add 10.1.0.1 dev e0 metric 1", "ip route add default dev wg0")
    scene.step("IPv4 by wg0 without a router, IPv6 by e0 with one", hold=6, interface="wg0",
               never=(r"wg0 to 2001:db8:1::1",))


@scenario("seg6/the segment of the default route cannot be reached", extra=True)
def _(scene):
    segment = "2001:db8:99::1"
    scene.cable()
    scene.there("sysctl ipv6/conf/all/seg6_enabled=1", "sysctl ipv6/conf/f0/seg6_enabled=1",
                f"ip -6 route add {segment}/128 encap seg6local action End.DT6 table 254 dev f0")
    scene.here("ip sr tunsrc set 2001:db8:1::2", f"ip -6 route add {segment}/128 via 2001:db8:1::1 dev e0",
               "ip -6 route del default",
               f"ip -6 route add default encap seg6 mode encap segs {segment} via 2001:db8:1::1 dev e0")
    scene.serve()
    scene.step("the router takes the segment off")
    scene.there(f"ip -6 route del {segment}/128")
    scene.step("the segment cannot be reached", "4")
