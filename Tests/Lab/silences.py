# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""Faults that look alike until queries are sent again on other flows, or until this machine is examined itself."""
from faults import fault, filtered

TLS = "@ih,0,8 0x16"

filtered("gateway.blocks-host", "router", "inet", "forward", lambda plan: ["drop"])
filtered("transport.tcp-blocked", "router", "inet", "forward", lambda plan: ["meta l4proto tcp drop"])
filtered("transport.tls-blocked", "provider", "inet", "forward", lambda plan: [f"tcp dport 443 {TLS} drop"])
filtered("transport.tls-reset", "provider", "inet", "forward", lambda plan: [
    f"tcp dport 443 {TLS} reject with tcp reset"], codes="transport.tls-blocked")
filtered("firewall.local-port", "device", "inet", "output", lambda plan: ["tcp dport 443 drop"], codes="firewall.local")
filtered("firewall.local-reject", "device", "inet", "output", lambda plan: [
    "tcp dport 443 reject with tcp reset"], codes="firewall.local")
filtered("firewall.local-input", "device", "inet", "input", lambda plan: ["udp sport 53 drop"], codes="firewall.local")
filtered("icmp-policed", "provider", "inet", "forward", lambda plan: [
    f"{kind} type echo-request limit rate over 5/second burst 5 packets drop" for kind in ("icmp", "icmpv6")]
    + ["udp dport 7007 drop"], codes="", notes="icmp.filtered")


@fault("route.blackhole-servers", "route.blackhole")
def servers_in_a_hole(network):
    for server in (network.plan.gateway, network.plan.server):
        network.device.ip(f"route add blackhole {server}/32")
    network.set_servers([network.plan.server])
    yield
    network.set_servers([network.plan.gateway, network.plan.server])
    for server in (network.plan.gateway, network.plan.server):
        network.device.ip(f"route del blackhole {server}/32")


@fault("route.no-default-ipv4", "route.no-default")
def without_ipv4(network):
    network.device.ip(f"route del default via {network.plan.gateway}")
    yield
    network.connect_device()


@fault("gateway.static-entry")
def static_entry(network):
    plan = network.plan
    network.device.ip(f"neigh replace {plan.gateway} lladdr 02:00:00:00:00:99 nud permanent dev {plan.interface}")
    yield
    network.device.ip(f"neigh del {plan.gateway} dev {plan.interface}")


@fault("dns.not-used")
def without_dns(network):
    with open(network.order, "w") as file:
        file.write("hosts: files\n")
    yield
    with open(network.order, "w") as file:
        file.write("hosts: files dns\n")


@fault("upstream.flows-lost")
def half_of_all_flows(network):
    """Of two parallel links, by a hash over the ports, one drops everything."""
    network.provider.filter("lab", "inet", "forward", [
        "meta l4proto { tcp, udp } jhash th sport . th dport mod 2 == 0 drop"])
    yield
    network.provider.unfilter("lab", "inet")


@fault("proxy.unreachable")
def dead_proxy(network):
    """The environment names a proxy on a host that has none."""
    network.environment = [f"{scheme}_proxy=http://{network.plan.gateway}:3128" for scheme in ("http", "https")]
    yield
    network.environment = []
