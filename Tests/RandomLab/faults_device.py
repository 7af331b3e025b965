# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""Faults of the device itself: its firewall, routes, addresses, resolver, ports."""
import socket

from faults import dropped, fault


def device(world):
    return world.device


def single(plan):
    return plan.uplinks == "one" and not plan.vpn


def plain(plan):
    return not plan.vpn and not plan.proxy


NEIGHBORS = "icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } accept"

# Firewall

dropped("output drops everything", "host", device, "output", lambda world: ["oif != lo drop"], "firewall.local")
dropped("output rejects everything", "host", device, "output", lambda world: [
    NEIGHBORS, "oif != lo reject with icmpx type admin-prohibited"], "firewall.local")
dropped("output drops port 443", "host", device, "output", lambda world: ["tcp dport 443 drop"], "firewall.local",
        when=plain)
dropped("output rejects port 443", "host", device, "output", lambda world: [
    "tcp dport 443 reject with tcp reset"], "firewall.local", when=plain)
dropped("output drops UDP", "host", device, "output", lambda world: [
    "oif != lo meta l4proto udp drop"], "firewall.local", when=lambda plan: not plan.vpn)
dropped("input drops answers of name servers", "host", device, "input", lambda world: ["udp sport 53 drop"],
        "firewall.local", when=lambda plan: not plan.proxy)
dropped("input drops everything new and old", "host", device, "input", lambda world: [
    "icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert, nd-router-advert } accept", "iif != lo drop"],
    "firewall.local")


@fault("output drops one user", "host", "firewall.local")
def one_user(world):
    world.client_user = 65534
    world.device.filter("fault-output", "inet", "output", ["oif != lo meta skuid 65534 drop"])


# Routes


def outside(plan):
    return [server for server in plan.name_servers if server not in (plan.gateway, plan.gateway6)]


@fault("black hole for name servers", "host", "route.blackhole", when=lambda plan: outside(plan) and plain(plan))
def black_hole_for_servers(world):
    for server in outside(world.plan):
        world.device.ip(f"route add blackhole {server}/{128 if ':' in server else 32}")


@fault("unreachable route to an anchor", "host", "route.blackhole", when=plain)
def unreachable_anchor(world):
    plan = world.plan
    world.device.batch(([f"route add unreachable {plan.public['a']}/32"] if plan.v4 else [])
                       + ([f"route add unreachable {plan.public6['a']}/128"] if plan.v6 else []))


def family_of(world):
    """One family of the device."""
    plan = world.plan
    return plan.dice.pick("family of the fault", ["4"] * plan.v4 + ["6"] * plan.v6)


@fault("default route discards", "host", "route.blackhole", when=single)
def discarding(world):
    kind = world.plan.dice.pick("discarding", ["blackhole", "unreachable", "prohibit"])
    family = family_of(world)
    world.device.run("ip", f"-{family}", "route", "del", "default")
    world.device.ip(f"-{family} route add {kind} default")


@fault("one default route is lost", "host", "route.no-default ipv4.broken ipv6.broken",
       when=lambda plan: single(plan) and plan.families == "dual")
def lost_default(world):
    family = family_of(world)
    world.device.run("ip", f"-{family}", "route", "del", "default")


@fault("all default routes are lost", "host", "route.no-default", when=single)
def no_default(world):
    for family in ["4"] * world.plan.v4 + ["6"] * world.plan.v6:
        world.device.run("ip", f"-{family}", "route", "del", "default")


@fault("wrong static neighbour", "host", "gateway.static-entry gateway.unresolved gateway.arp-conflict",
       "host link gateway",
       when=lambda plan: plan.uplinks == "one")
def wrong_neighbor(world):
    plan = world.plan
    for address in [plan.gateway] * plan.v4 + [plan.gateway6, "fe80::1"] * plan.v6:
        world.device.ip(f"neigh replace {address} lladdr 02:00:5e:10:20:30 dev {plan.interface} nud permanent")


# Addresses and the link


@fault("interface is down", "host", "link.admin-down", "host link", when=lambda plan: plan.uplinks == "one")
def interface_down(world):
    world.device.ip(f"link set {world.plan.interface} down")


@fault("IPv4 address is lost", "host", "addr.none route.no-default ipv4.broken", "host link gateway",
       when=lambda plan: plan.v4 and single(plan))
def address_lost(world):
    world.device.ip(f"addr del {world.plan.own}/24 dev {world.plan.interface}")


@fault("address is link-local", "host", lambda world: "addr.linklocal-only" if world.plan.leases
       else "addr.linklocal-only link.isolated", "host link gateway",
       when=lambda plan: plan.families == "v4" and single(plan))
def automatic_address(world):
    name = world.plan.interface
    world.device.batch([f"addr flush dev {name} scope global", f"addr add 169.254.7.7/16 dev {name}"])


@fault("MTU is 1200", "host", "link.mtu-too-small", "host link", when=lambda plan: plan.uplinks == "one")
def small_mtu(world):
    world.device.ip(f"link set {world.plan.interface} mtu 1200")


# The resolver


@fault("nsswitch without dns", "host", "dns.no-config dns.not-used", when=lambda plan: not plan.proxy)
def no_dns(world):
    world.write(world.order, "hosts: files\n")


@fault("resolv.conf is empty", "host", "dns.no-config", when=lambda plan: not plan.proxy)
def no_servers(world):
    world.set_servers([])


@fault("name servers that nobody has", "host", "dns.unreachable", "host remote provider",
       when=lambda plan: not plan.proxy)
def wrong_servers(world):
    world.set_servers([world.plan.free if world.plan.v4 else f"{world.plan.lan6}::dead"])


@fault("local ports are exhausted", "host", "host.resources", when=lambda plan: True)
def no_ports(world):
    world.device.set("ipv4/ip_local_port_range", "40000 40015")
    world.device.enter()
    for port in range(40000, 40016):
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
            made = socket.socket(socket.AF_INET6, kind)
            made.bind(("::", port))
            world.ending.callback(made.close)


# Tunnels and second uplinks


@fault("VPN is dead", "host", "route.dead-tunnel", "host provider remote", when=lambda plan: plan.vpn)
def dead_tunnel(world):
    world.vpn.working = False


def dead_line(world, which):
    """One of two uplinks ends at its router: that one does not answer, does not forward, or has no line."""
    plan = world.plan
    router, port = (world.gateway, "lan0") if which == "first" else (world.alternative, "lan0")
    kind = plan.dice.pick("how a line is dead", ["silent", "no forwarding", "no line"])
    if kind == "silent":
        router.ip(f"link set {port} down")
    elif kind == "no forwarding":
        router.filter("fault-forward", "inet", "forward", ["drop"])
    else:
        router.ip(f"link set {'up9' if which == 'second' else 'up0'} down")


PATH = ("gateway.unresolved gateway.not-forwarding wan.down upstream.blackhole link.no-carrier link.isolated "
        "ipv4.broken ipv6.broken uplink.down")


@fault("first of two uplinks is dead", "gateway", PATH, "link gateway provider",
       when=lambda plan: plan.uplinks != "one")
def first_dead(world):
    dead_line(world, "first")


@fault("second of two uplinks is dead", "gateway", PATH + " perf.loss", "link gateway provider",
       when=lambda plan: plan.uplinks == "multipath")
def second_dead(world):
    dead_line(world, "second")


# Settings that lead elsewhere


@fault("default route to a host that is off", "host", "route.wrong-gateway gateway.unresolved", "host link gateway",
       when=lambda plan: single(plan) and plan.v4)
def absent_gateway(world):
    world.device.batch([f"route replace default via {world.plan.free}"])


@fault("default route to a host that is no router", "host", "route.wrong-gateway gateway.not-forwarding wan.down "
       "ipv4.broken", "host link gateway provider", when=lambda plan: single(plan) and plan.v4)
def wrong_gateway(world):
    world.device.batch([f"route replace default via {world.plan.peer}"])


@fault("proxy of the environment is dead", "host", "proxy.down proxy.unreachable http.proxy", "host gateway remote",
       when=lambda plan: plan.v4 and not plan.proxy and not plan.vpn)
def dead_proxy(world):
    url = f"http://{world.plan.peer}:3128"
    world.environment = {"http_proxy": url, "https_proxy": url, "HTTPS_PROXY": url}


@fault("first search domain is dead", "host", "dns.search-dead dns.slow dns.unreachable", "host remote",
       when=lambda plan: not plan.proxy)
def dead_search(world):
    plan = world.plan
    for server in world.servers.names.values():
        server.silent_zone = f"dead.{plan.domain}"
    world.write(world.resolver, f"search dead.{plan.domain}\noptions ndots:4\n"
                + "".join(f"nameserver {server}\n" for server in plan.name_servers))


@fault("IPv6 address is lost", "host", "addr.none route.no-default ipv6.broken", "host link gateway",
       when=lambda plan: plan.v6 and not plan.has_ula and single(plan))
def address6_lost(world):
    world.device.ip(f"addr del {world.plan.own6}/64 dev {world.plan.interface}")


@fault("source address of another network", "host", "route.asymmetric", "host gateway", when=lambda plan: (
    single(plan) and plan.v4 and not plan.nat))
def foreign_source(world):
    """The preferred source of the default route is an address to which nobody has a route back."""
    plan = world.plan
    world.device.batch([f"addr add 10.222.0.10/32 dev {plan.interface}",
                        f"route replace default via {plan.gateway} src 10.222.0.10"])
