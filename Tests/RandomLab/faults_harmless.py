# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""What is unusual and breaks nothing: half of the healthy networks have one of these, and no verdict is right."""
import random

import labpath  # noqa: F401
from faults import fault
from faults_path import delayed, straight
from world import MAC


def harmless(name, when=lambda plan: True):
    return fault(name, "none", "", "none", when)


@harmless("rule for another user")
def another_user(world):
    world.device.filter("fault", "inet", "output", ["meta skuid 12345 drop"])


@harmless("blocked prefixes", when=lambda plan: plan.v4)
def blocked_prefixes(world):
    world.device.filter("fault", "inet", "output", ["ip daddr { 45.155.0.0/16, 185.220.100.0/22 } drop",
                                                    "tcp dport { 25, 137-139, 445 } reject"])


@harmless("private prefixes are unreachable", when=lambda plan: plan.v4 and not plan.cgnat and not plan.vpn)
def private_prefixes(world):
    world.device.batch([f"route add unreachable {net}" for net in (
        "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")])


@harmless("failover of two routers", when=lambda plan: (
    plan.vrrp and not plan.forwarder and not plan.proxy and plan.policing != "gateway"))
def failover(world):
    plan = world.plan
    world.gateway.ip("link set lan0 down")
    world.standby.batch(["link set lan0 down", f"link set lan0 address {MAC}", f"link set lan0 mtu {plan.mtu} up"]
                        + world.addresses("lan0", plan.gateway, plan.gateway6)
                        + (["addr replace fe80::1/64 dev lan0 nodad"] if plan.v6 else []))
    world.provs[0].batch(world.routes_to_standby())


@harmless("second uplink is dead and not in use", when=lambda plan: plan.uplinks == "preferred")
def unused_uplink(world):
    world.alternative.filter("fault", "inet", "forward", ["drop"])


@harmless("anchors do not answer echo requests")
def silent_anchors(world):
    world.internet.filter("fault", "inet", "input", [f"{kind} type echo-request drop" for kind in ("icmp", "icmpv6")])


@harmless("routers do not report")
def silent_routers(world):
    for router in world.provs + world.legs:
        router.filter("fault", "inet", "output", ["icmp type time-exceeded drop", "icmpv6 type time-exceeded drop"])


@harmless("provider passes few UDP ports", when=straight)
def few_ports(world):
    world.provs[0].filter("fault", "inet", "forward", [
        "udp dport { 53, 123, 443, 7007 } accept", "udp sport { 53, 123, 443, 7007 } accept", "meta l4proto udp drop"])


@harmless("gateway limits new connections", when=straight)
def limited(world):
    world.gateway.filter("fault", "inet", "forward", [
        "tcp flags & (syn|ack) == syn limit rate over 60/second burst 120 packets drop"])


@harmless("further IPv6 address", when=lambda plan: plan.v6 and plan.uplinks == "one")
def temporary_address(world):
    world.device.ip(f"addr add {world.plan.lan6}::7a:31 dev {world.plan.interface} nodad")


@harmless("hosts that are off", when=lambda plan: plan.v4)
def switched_off(world):
    world.device.run("ping", "-c", "1", "-W", "0.1", world.plan.free, check=False)
    world.device.run("ping", "-c", "1", "-W", "0.1", world.plan.cameras, check=False)


@harmless("60 ms", when=lambda plan: straight(plan) and plan.hops >= 2 and not plan.ecmp)
def far(world):
    delayed(world, lambda: 0.03 + random.uniform(0, 0.002))


@harmless("packets of the provider are marked", when=straight)
def marked(world):
    world.provs[0].filter("fault", "inet", "forward", ["ip dscp set cs1", "ip6 dscp set cs1"], priority="-150")
