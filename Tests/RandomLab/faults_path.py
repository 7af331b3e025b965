# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""Faults of the path: the link, the gateway, the provider."""
import threading

import labpath  # noqa: F401
from faults import dropped, fault
from network import Line
from servers import portal


def single(plan):
    return plan.uplinks == "one"


def straight(plan):
    """Packets go to the Internet as they are, neither by a tunnel nor by a proxy nor by a second line."""
    return plan.uplinks == "one" and not plan.vpn and not plan.proxy


def gateway(world):
    return world.gateway


def provider(world):
    """A router of the provider, which the seed chooses."""
    return world.provs[world.plan.dice.of("broken hop").randrange(len(world.provs))]


# The link


@fault("no carrier", "link", "link.no-carrier", when=single)
def no_carrier(world):
    world.switch.ip("link set port-device down")


@fault("isolated port", "link", "link.isolated gateway.unresolved", "link gateway", when=single)
def isolated(world):
    world.switch.ip("link set port-device nomaster")


@fault("loss on the link", "link", "link.loss perf.loss traffic.loss", "link gateway", when=straight)
def link_loss(world):
    share = world.plan.dice.pick("share of loss", [5, 10, 15, 20, 30, 40])
    world.fault_detail = f"{share} %"
    world.switch.filter("fault", "bridge", "forward", [
        f'{side} "port-device" numgen random mod 100 < {share} drop' for side in ("iifname", "oifname")])


@fault("flapping carrier", "link", "link.flapping link.no-carrier", when=single)
def flapping(world):
    ended = threading.Event()

    def flap():
        while not ended.wait(0.7):
            world.switch.ip("link set port-device down")
            ended.wait(0.5)
            world.switch.ip("link set port-device up")

    thread = threading.Thread(target=flap)
    thread.start()

    def end():
        ended.set()
        thread.join()

    world.ending.callback(end)


@fault("client isolation", "link", "link.client-isolation", when=lambda plan: single(plan) and plan.peers_named)
def client_isolation(world):
    for port in ("port-device", "port-peer"):
        world.switch.ip(f"link set {port} type bridge_slave isolated on")


# The gateway

NEIGHBORS = "icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } accept"


@fault("gateway is dead", "gateway", "gateway.unresolved link.isolated", "gateway link", when=single)
def gateway_dead(world):
    world.gateway.ip("link set lan0 down")


@fault("gateway answers ARP only", "gateway", "gateway.not-forwarding", when=single)
def deaf(world):
    world.gateway.filter("fault", "inet", "prerouting", [NEIGHBORS, "iifname lan0 drop"])


@fault("gateway does not forward", "gateway", "gateway.not-forwarding wan.down", "gateway provider",
       when=lambda plan: straight(plan))
def no_forwarding(world):
    world.gateway.filter("fault", "inet", "forward", ["drop"])


@fault("gateway has no line", "provider", "wan.down gateway.not-forwarding upstream.blackhole", "gateway provider",
       when=single)
def no_line(world):
    index = len(world.homes) - 1
    world.edge.ip(f"link set {world.links[index]['near_device']} down")


@fault("session table is full", "gateway", "gateway.not-forwarding wan.down upstream.blackhole", "gateway provider",
       when=straight)
def table_full(world):
    world.edge.filter("fault", "inet", "forward", ["ct state new drop"])


def all_at_gateway(plan):
    return all(server in (plan.gateway, plan.gateway6) for server in plan.name_servers)


@fault("DNS forwarder is dead", "gateway", lambda world: "dns.unreachable" if all_at_gateway(world.plan)
       else "dns.server-dead dns.unreachable", when=lambda plan: plan.forwarder and not plan.vpn and not plan.proxy)
def forwarder_dead(world):
    world.forwarder.end()


@fault("two hosts have the gateway's address", "link", "gateway.arp-conflict", "link gateway",
       when=lambda plan: plan.v4 and straight(plan))
def arp_conflict(world):
    world.neighbor.batch([f"addr add {world.plan.gateway}/32 dev eth0"])
    world.device.ip(f"neigh flush dev {world.plan.interface}")


@fault("two hosts have the device's address", "link", "addr.duplicate", "host link",
       when=lambda plan: plan.v4 and straight(plan))
def address_conflict(world):
    world.neighbor.batch([f"addr add {world.plan.own}/32 dev eth0"])
    world.neighbor.run("ping", "-c", "1", "-W", "1", "-I", world.plan.own, world.plan.gateway, check=False)


dropped("gateway drops TCP", "gateway", gateway, "forward", lambda world: ["meta l4proto tcp drop"],
        "transport.tcp-blocked transport.port-blocked gateway.not-forwarding", "gateway provider", when=straight)


@fault("gateway blocks this host", "gateway", "wan.down gateway.not-forwarding", "gateway host", when=straight)
def blocked(world):
    """By its MAC address: a parental control. The peer gets through."""
    mac = world.device.run("ip", "-br", "link", "show", world.plan.interface).stdout.split()[2]
    world.gateway.filter("fault", "inet", "forward", [f"iifname lan0 ether saddr {mac} drop"])


@fault("master of two routers is dead", "gateway", "gateway.unresolved link.isolated", "gateway link",
       when=lambda plan: plan.vrrp)
def master_dead(world):
    world.gateway.ip("link set lan0 down")


# The provider


@fault("black hole at a hop", "provider", "upstream.blackhole wan.down", when=straight)
def black_hole(world):
    provider(world).filter("fault", "inet", "forward", ["drop"])


@fault("loop", "provider", "upstream.loop upstream.blackhole", when=lambda plan: straight(plan) and not plan.ecmp)
def loop(world):
    plan = world.plan
    link = [each for each in world.links if each["far"] is world.core][0]
    back = []
    for key, net in plan.nets.items():
        for half in (0, 64):
            back.append(f"route add {plan.host(net, half)}/26 via {link['near4']}")
        back += [f"route add {plan.nets6[key]}::/65 via {link['near6']}"]
    world.core.batch(back)


@fault("a router reports unreachable", "provider", "upstream.blackhole wan.down", when=straight)
def unreachable(world):
    at, plan = provider(world), world.plan
    if at is world.core:
        lines = [f"route add unreachable {plan.host(net, half)}/26" for net in plan.nets.values() for half in (0, 64)]
        lines += [f"route add unreachable {net}::/65" for net in plan.nets6.values()]
        at.batch(lines)
        return
    for prefix in ("0.0.0.0/1", "128.0.0.0/1"):
        at.ip(f"route add unreachable {prefix} metric 1")
    at.ip("-6 route add unreachable default metric 1")


@fault("loss at the provider", "provider", "perf.loss traffic.loss", when=straight)
def loss(world):
    share = world.plan.dice.pick("share of loss", [5, 10, 15, 20, 30, 40])
    world.fault_detail = f"{share} %"
    provider(world).filter("fault", "inet", "forward", [f"numgen random mod 100 < {share} drop"])


dropped("provider drops TCP", "provider", provider, "forward", lambda world: ["meta l4proto tcp drop"],
        "transport.tcp-blocked transport.port-blocked", when=straight)
dropped("provider drops port 443", "provider", provider, "forward", lambda world: ["tcp dport 443 drop"],
        "transport.port-blocked", when=straight)
dropped("provider resets port 443", "provider", provider, "forward", lambda world: [
    "tcp dport 443 reject with tcp reset"], "transport.port-reset", when=straight)
dropped("provider drops UDP", "provider", provider, "forward", lambda world: [
    "udp dport 53 accept", "udp sport 53 accept", "meta l4proto udp drop"], "transport.udp-blocked", when=straight)
dropped("provider drops QUIC", "provider", provider, "forward", lambda world: ["udp dport 443 drop"],
        "transport.udp-blocked transport.quic-blocked", when=straight)
dropped("ClientHello is dropped", "provider", provider, "forward", lambda world: [
    "tcp dport 443 @ih,0,8 0x16 drop"], "transport.tls-blocked transport.port-blocked", when=straight)
dropped("ClientHello is reset", "provider", provider, "forward", lambda world: [
    "tcp dport 443 @ih,0,8 0x16 reject with tcp reset"], "transport.tls-blocked transport.port-reset",
        when=straight)
dropped("IPv4 is dead", "provider", provider, "forward", lambda world: ["drop"], "ipv4.broken", family="ip",
        when=lambda plan: straight(plan) and plan.families == "dual")
dropped("IPv6 is dead", "provider", provider, "forward", lambda world: ["drop"], "ipv6.broken", family="ip6",
        when=lambda plan: straight(plan) and plan.families == "dual")
dropped("large packets up are lost", "provider", provider, "forward", lambda world: [
    f'iifname "down*" meta length > {min(1350, world.plan.line_mtu - 60)} drop'], "pmtu.blackhole",
    when=lambda plan: straight(plan))
dropped("large packets down are lost", "provider", lambda world: world.core, "forward", lambda world: [
    'iifname { "net0", "svc0" } meta length > 1350 drop'], "pmtu.blackhole", when=straight)


@fault("one leg is dead", "provider", "upstream.flows-lost perf.loss upstream.blackhole",
       when=lambda plan: plan.ecmp and straight(plan))
def leg_dead(world):
    world.legs[world.plan.dice.of("leg").randrange(2)].filter("fault", "inet", "forward", ["drop"])


def delayed(world, delay):
    """Replaces the cable to the core by a line that carries each packet over after `delay()` seconds."""
    link = [each for each in world.links if each["far"] is world.core][0]
    plan, near, far = world.plan, link["near"], link["far"]
    line = Line(world.servers.loop, near, far, delay)
    world.ending.callback(line.close)
    for machine, last in ((near, 2), (far, 1)):
        machine.batch([f"addr add {plan.transit}.{248 + last}/30 dev line0",
                       f"addr add {plan.transit6}:f7::{last}/64 dev line0 nodad", "link set line0 mtu 1500 up"])
    near.batch([f"route replace default via {plan.transit}.249", f"route replace default via {plan.transit6}:f7::1"])
    for family, via in (("-4", f"{plan.transit}.250"), ("-6", f"{plan.transit6}:f7::2")):
        for net in far.run("ip", family, "route", "show", "dev", link["far_device"]).stdout.splitlines():
            if " via " in net or net.startswith("via"):
                far.ip(f"{family} route replace {net.split()[0]} via {via}")


@fault("400 ms", "provider", "perf.high-latency", when=lambda plan: straight(plan) and plan.hops >= 2 and not plan.ecmp)
def far_away(world):
    delayed(world, lambda: 0.2)


@fault("captive portal", "gateway", "captive.portal", "gateway provider", when=lambda plan: plan.v4 and straight(plan))
def captive(world):
    world.servers.add_pages(world.gateway, "0.0.0.0", 8080, portal)
    world.gateway.filter("portal", "ip", "prerouting", ["iifname lan0 tcp dport 80 redirect to :8080"], kind="nat",
                         priority="-100")
    world.gateway.filter("walls", "inet", "forward", ["udp dport 53 accept", "udp sport 53 accept", "drop"])


@fault("proxy of the gateway is dead", "gateway", "proxy.down proxy.unreachable http.proxy", "gateway host remote",
       when=lambda plan: plan.proxy)
def proxy_dead(world):
    world.proxy.end()


@fault("web pages are replaced", "provider", "http.intercepted captive.portal", "gateway provider",
       when=lambda plan: plan.v4 and straight(plan))
def intercepted(world):
    from servers import impostor
    world.servers.add_pages(world.gateway, "0.0.0.0", 8081, impostor)
    world.gateway.filter("portal", "ip", "prerouting", ["iifname lan0 tcp dport 80 redirect to :8081"], kind="nat",
                         priority="-100")


