# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""The faults of the lab: how each is put in place and taken back, and the verdicts it must give."""

import json, os, random, socket

from network import listen, tunnel, until

# Packets without which nobody on a link finds anybody.
NEIGHBORS = "icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } accept"


class Fault:
    """Steps that break, steps that heal, what must be told meanwhile, and the destination that is asked for, if any.

    `hidden` are consequences that must be found and be hidden behind what is told.
    """

    def __init__(self, codes, inject, heal, destination, notes, hidden):
        self.codes, self.notes, self.hidden = codes.split(), notes.split(), hidden.split()
        self.inject, self.heal, self.destination = inject, heal, destination


FAULTS = {}


def fault(name, codes=None, to=lambda plan: None, notes="", hidden=""):
    """Declares a fault: a generator that breaks before its `yield` and heals after it; `to` is a destination."""

    def declare(steps):
        running = []

        def inject(network):
            running.append(steps(network))
            next(running[-1])

        def heal(_):
            for _ in running.pop():
                raise RuntimeError(f"{name} heals in more than one step")

        FAULTS[name] = Fault(name if codes is None else codes, inject, heal, to, notes, hidden)
        return steps

    return declare


def filtered(name, machine, family, hook, rules, codes=None, to=lambda plan: None, notes="", **more):
    """A fault that is a packet filter on one machine."""

    @fault(name, codes, to, notes)
    def steps(network):
        at = getattr(network, machine)
        at.filter("lab", family, hook, rules(network.plan), **more)
        yield
        at.unfilter("lab", family)


def steps_of(name, network):
    """The steps of another fault, for one that is more than it."""
    FAULTS[name].inject(network)
    yield
    FAULTS[name].heal(network)


def misled(name, servers, mode, codes=None):
    """A fault that is name servers which misbehave."""

    @fault(name, codes)
    def steps(network):
        plan = network.plan
        chosen = {"all": [plan.gateway, plan.server], "first": [plan.gateway], "second": [plan.server]}[servers]
        for server in chosen:
            network.servers.names[server].mode = mode
        yield
        for server in chosen:
            network.servers.names[server].mode = "right"


# Controls


@fault("healthy", "")
def healthy(network):
    yield


filtered("icmp-filtered", "router", "inet", "prerouting", lambda plan: [
    "icmp type echo-request drop", "icmpv6 type echo-request drop"], codes="", notes="icmp.filtered")
filtered("long-pings-filtered", "provider", "inet", "forward", lambda plan: [
    f"{kind} type echo-request meta length > 1000 drop" for kind in ("icmp", "icmpv6")], codes="", notes="pmtu.reduced")


@fault("pmtu.reduced", "", notes="pmtu.reduced")
def reduced(network):
    network.internet.ip("link set net0 mtu 1400")
    network.provider.ip("link set up0 mtu 1400")
    yield
    network.provider.ip("link set up0 mtu 1500")
    network.internet.ip("link set net0 mtu 1500")
    network.device.batch(["route flush cache"])

# The link


@fault("link.admin-down")
def admin_down(network):
    network.device.ip(f"link set {network.plan.interface} down")
    yield
    network.connect_device()


@fault("link.no-carrier")
def no_carrier(network):
    network.switch.ip("link set port-device down")
    yield
    network.switch.ip("link set port-device up")
    network.connect_device()


@fault("link.flapping")
def flapping(network):
    yield from network.flapping("port-device")
    network.connect_device()


@fault("link.isolated")
def isolated(network):
    network.switch.ip("link set port-device nomaster")
    yield
    network.switch.ip("link set port-device master br0")


@fault("link.mtu-too-small")
def small_mtu(network):
    network.device.ip(f"link set {network.plan.interface} mtu 1200")
    yield
    network.connect_device()


@fault("link.client-isolation")
def client_isolation(network):
    for port in ("port-device", "port-peer"):
        network.switch.ip(f"link set {port} type bridge_slave isolated on")
    yield
    for port in ("port-device", "port-peer"):
        network.switch.ip(f"link set {port} type bridge_slave isolated off")


@fault("mdns.blocked")
def multicast_filter(network):
    network.servers.answer_multicast(network.neighbor, "eth0", network.plan.peer)
    network.switch.filter("lab", "bridge", "forward", ["ip daddr 224.0.0.251 drop", "ip6 daddr ff02::fb drop"])
    yield
    network.switch.unfilter("lab", "bridge")
    network.servers.fall_silent()


@fault("multicast-in-order", "")
def multicast(network):
    network.servers.answer_multicast(network.neighbor, "eth0", network.plan.peer)
    yield
    network.servers.fall_silent()


# Addresses


@fault("addr.none")
def no_address(network):
    network.device.ip(f"addr flush dev {network.plan.interface} scope global")
    yield
    network.connect_device()


@fault("addr.linklocal-only")
def automatic_address(network):
    name = network.plan.interface
    network.device.batch([f"addr flush dev {name} scope global", f"addr add 169.254.7.7/16 dev {name}"])
    yield
    network.device.ip(f"addr del 169.254.7.7/16 dev {name}")
    network.connect_device()


@fault("addr.duplicate")
def duplicate(network):
    network.neighbor.ip(f"addr add {network.plan.own}/32 dev eth0")
    yield
    network.neighbor.ip(f"addr del {network.plan.own}/32 dev eth0")


@fault("addr.dad-failed")
def claimed_by_another(network):
    """Duplicate address detection (RFC 4862 section 5.4), which the lab leaves out everywhere else."""
    plan, name = network.plan, network.plan.interface
    network.neighbor.ip(f"addr add {plan.own6}/128 dev eth0 nodad")
    network.device.set(f"ipv6/conf/{name}/accept_dad", 1)
    network.device.batch([f"addr del {plan.own6}/64 dev {name}", f"addr add {plan.own6}/64 dev {name}"])
    until(lambda: " dadfailed " in network.device.run("ip", "-6", "addr", "show", "dev", name).stdout,
          "the kernel to notice that another host has the address", seconds=10)
    yield
    network.neighbor.ip(f"addr del {plan.own6}/128 dev eth0")
    network.device.ip(f"addr del {plan.own6}/64 dev {name}")
    network.connect_device()
    # Whoever asked meanwhile found the other host.
    for machine in (network.router, network.switch):
        machine.ip(f"neigh flush to {plan.own6}")


@fault("addr.none-with-server", "addr.none")
def no_address_with_server(network):
    network.servers.lease(network.router, "lan0", network.plan.gateway, network.plan.gateway)
    yield from steps_of("addr.none", network)
    network.servers.fall_silent()


@fault("dhcp.rogue")
def rogue_server(network):
    network.servers.lease(network.router, "lan0", network.plan.gateway, network.plan.gateway)
    network.servers.lease(network.neighbor, "eth0", network.plan.peer, network.plan.peer)
    yield
    network.servers.fall_silent()


@fault("dhcp-in-order", "")
def one_server(network):
    network.servers.lease(network.router, "lan0", network.plan.gateway, network.plan.gateway)
    yield
    network.servers.fall_silent()


@fault("ra.rogue")
def rogue_router(network):
    network.servers.advertise(network.router, "lan0", f"{network.plan.lan6}::")
    network.servers.advertise(network.neighbor, "eth0", "2001:db8:666::")
    yield
    network.servers.fall_silent()


@fault("redundant-routers", "")
def redundant_routers(network):
    network.servers.advertise(network.router, "lan0", f"{network.plan.lan6}::")
    network.servers.advertise(network.neighbor, "eth0", f"{network.plan.lan6}::")
    yield
    network.servers.fall_silent()


@fault("thread-border-router", "")
def border_router(network):
    network.servers.advertise(network.router, "lan0", f"{network.plan.lan6}::")
    network.servers.advertise(network.neighbor, "eth0", "fd66:77::", lifetime=0)
    yield
    network.servers.fall_silent()


# The machine itself


@fault("route.no-default")
def no_default(network):
    network.device.batch(["route del default", "route del ::/0"])
    yield
    network.connect_device()


@fault("route.blackhole")
def blackhole(network):
    network.device.ip(f"route add blackhole {network.plan.net}.0/24")
    yield
    network.device.ip(f"route del blackhole {network.plan.net}.0/24")


@fault("route.unreachable", "route.blackhole")
def unreachable(network):
    network.device.batch(["route replace unreachable default", "route del ::/0", "route add unreachable ::/0"])
    yield
    network.device.batch(["route del unreachable default", "route del unreachable ::/0"])
    network.connect_device()


@fault("route.dead-tunnel")
def dead_tunnel(network):
    end = tunnel(network.device, "tun0")  # nobody reads what arrives there
    network.device.batch([
        "addr add 10.99.0.2/24 dev tun0", "addr add fd99::2/64 dev tun0 nodad", "link set tun0 up",
        f"route add default via {network.plan.gateway} metric 100", "route replace default dev tun0",
        "route add ::/0 dev tun0 metric 1"])
    yield
    os.close(end)
    network.connect_device()
    network.device.batch([f"route del default via {network.plan.gateway} metric 100"])


@fault("route.asymmetric")
def asymmetric(network):
    network.device.ip(f"addr add {network.plan.stray}/24 dev {network.plan.interface}")  # nobody has a route back to it
    with listen(network.device, network.plan.stray, 8000, socket.SOCK_STREAM):
        yield
    network.device.ip(f"addr del {network.plan.stray}/24 dev {network.plan.interface}")


@fault("two-addresses", "")
def two_addresses(network):
    network.device.ip(f"addr add {network.plan.own}1/24 dev {network.plan.interface}")
    yield
    network.device.ip(f"addr del {network.plan.own}1/24 dev {network.plan.interface}")


@fault("route.wrong-gateway")
def wrong_gateway(network):
    plan = network.plan
    network.servers.lease(network.router, "lan0", plan.gateway, plan.gateway)
    network.device.batch([f"route replace default via {plan.peer}"])
    yield
    network.servers.fall_silent()
    network.connect_device()


filtered("firewall.local", "device", "inet", "output", lambda plan: ["oif != lo drop"])

# The gateway


@fault("gateway.unresolved")
def gateway_gone(network):
    network.switch.ip("link set port-router down")
    yield
    network.switch.ip("link set port-router up")
    network.router.batch([f"addr replace {network.plan.gateway6}/64 dev lan0 nodad"])


@fault("gateway.arp-conflict")
def gateway_twice(network):
    network.neighbor.ip(f"addr add {network.plan.gateway}/32 dev eth0")
    yield
    network.neighbor.ip(f"addr del {network.plan.gateway}/32 dev eth0")
    network.device.ip(f"neigh flush dev {network.plan.interface}")


filtered("gateway.not-forwarding", "router", "inet", "prerouting", lambda plan: [NEIGHBORS, "drop"])


# Beyond


@fault("captive.portal")
def captive(network):
    network.router.filter("lab", "ip", "prerouting", ["iif lan0 tcp dport 80 redirect to :8080"],
                          kind="nat", priority="-100")
    network.router.filter("walls", "inet", "forward", ["drop"])
    yield
    network.router.unfilter("lab", "ip")
    network.router.unfilter("walls", "inet")


def captive_answer(plan, captive=True):
    return json.dumps({"captive": captive, "user-portal-url": f"https://{plan.portal}/login", "seconds-remaining": 60})


@fault("captive.api", "captive.portal", notes="captive.api")
def announced_by_server(network):
    with network.portal(captive_answer(network.plan)) as place, network.handing_out(f"114,{place}"):
        network.router.filter("walls", "inet", "forward", ["drop"])
        yield
        network.router.unfilter("walls", "inet")


@fault("captive.api-by-router", "captive.portal", notes="captive.api")
def announced_by_router(network):
    with network.portal(captive_answer(network.plan)) as place:
        network.servers.advertise(network.router, "lan0", f"{network.plan.lan6}::", portal=place)
        network.router.filter("walls", "inet", "forward", ["drop"])
        yield
        network.router.unfilter("walls", "inet")
        network.servers.fall_silent()


@fault("portal-that-is-open", "", notes="captive.api")
def open_portal(network):
    with network.portal(captive_answer(network.plan, False)) as place, network.handing_out(f"114,{place}"):
        yield


@fault("portal-that-talks-nonsense", "")
def hostile_portal(network):
    answer = '{"captive": true, "x": ' + "[" * 60000
    with network.portal(answer) as place, network.handing_out(f"114,{place}"):
        yield


@fault("http.intercepted")
def intercepted(network):
    network.router.filter("lab", "ip", "prerouting", ["iif lan0 tcp dport 80 redirect to :8081"],
                          kind="nat", priority="-100")
    yield
    network.router.unfilter("lab", "ip")


@fault("tls.intercepted")
def opened(network):
    network.router.filter("lab", "ip", "prerouting", ["iif lan0 tcp dport 443 redirect to :8443"],
                          kind="nat", priority="-100")
    yield
    network.router.unfilter("lab", "ip")


@fault("wan.down")
def wan_down(network):
    network.router.ip("link set wan0 down")
    yield
    network.connect_router()


@fault("wan.silent", "wan.down")
def silent_line(network):
    network.router.filter("lab", "inet", "forward", ["drop"])
    # A forwarder whose own servers are out of reach.
    network.servers.names[network.plan.gateway].mode = "dead"
    yield
    network.servers.names[network.plan.gateway].mode = "right"
    network.router.unfilter("lab", "inet")


filtered("upstream.blackhole", "provider", "inet", "forward", lambda plan: ["drop"])


@fault("upstream.loop")
def loop(network):
    plan = network.plan
    back = [f"{plan.net}.80/31 via {plan.wan}.2", f"{plan.net6}::80/127 via {plan.wan6}::2"]
    network.provider.batch([f"route add {route}" for route in back])
    yield
    network.provider.batch([f"route del {route}" for route in back])


filtered("ipv6.broken", "provider", "ip6", "forward", lambda plan: ["drop"])
filtered("ipv4.broken", "provider", "ip", "forward", lambda plan: ["drop"])

# Name servers


@fault("dns.no-config")
def no_servers(network):
    network.set_servers([])
    yield
    network.set_servers([network.plan.gateway, network.plan.server])


misled("dns.unreachable", "all", "dead")
misled("dns.server-dead", "first", "dead")
misled("dns.servfail", "all", "servfail")
misled("dns.nx-rewrite", "all", "rewriting")
misled("dns.wrong-answer", "all", "lying")
misled("dns.aaaa-timeout", "all", "deaf to AAAA")


@fault("dns.slow")
def slow(network):
    for server in network.servers.names.values():
        server.delay = 0.6
    yield
    for server in network.servers.names.values():
        server.delay = 0


filtered("dns.tcp-blocked", "router", "inet", "prerouting", lambda plan: ["tcp dport 53 drop"])

filtered("dns.large-answers-lost", "router", "inet", "postrouting", lambda plan: [
    "oif lan0 tcp sport 53 meta length > 1000 drop"], codes="dns.tcp-blocked")
misled("dns-without-large-text", "all", "without large text", codes="")

# Transport and targets

filtered("pmtu.blackhole", "provider", "inet", "forward", lambda plan: ["meta length > 1396 drop"])


@fault("pmtu.blackhole-before-the-servers", "pmtu.blackhole", hidden="dns.tcp-blocked")
def hole_before_servers(network):
    network.set_servers([network.plan.server])
    yield from steps_of("pmtu.blackhole", network)
    network.set_servers([network.plan.gateway, network.plan.server])


@fault("clock.skew")
def skewed(network):
    network.servers.skew = 100
    yield
    network.servers.skew = 0


filtered("transport.port-blocked", "provider", "inet", "forward", lambda plan: ["tcp dport 443 drop"])
filtered("transport.port-reset", "provider", "inet", "forward", lambda plan: ["tcp dport 443 reject with tcp reset"])
filtered("transport.udp-blocked", "provider", "inet", "forward", lambda plan: [
    "udp dport 53 accept", "udp sport 53 accept", "meta l4proto udp drop"])


@fault("target.down")
def target_down(network):
    plan = network.plan
    network.internet.batch([f"addr del {plan.anchors[1]}/24 dev net0", f"addr del {plan.anchors6[1]}/64 dev net0"])
    yield
    network.internet.batch([f"addr add {plan.anchors[1]}/24 dev net0",
                            f"addr add {plan.anchors6[1]}/64 dev net0 nodad"])


# Loss, latency and jitter


def losing(share):
    """Drops some of the packets that are only sent once."""
    return [f"{kind} numgen random mod 100 < {share} drop"
            for kind in ("icmp type echo-request", "icmpv6 type echo-request", "udp dport 7007")]


filtered("link.loss", "router", "inet", "prerouting", lambda plan: losing(15))
filtered("perf.loss", "provider", "inet", "forward", lambda plan: losing(15))
filtered("loss-at-the-gateway-alone", "router", "inet", "input", lambda plan: losing(15), codes="")


@fault("perf.high-latency")
def far_away(network):
    yield from network.slowed(lambda: 0.14)


@fault("perf.jitter")
def unsteady(network):
    yield from network.slowed(lambda: random.uniform(0.002, 0.06))


# Two at a time


@fault("compound.dns-and-ipv6", "dns.servfail ipv6.broken")
def dns_and_ipv6(network):
    for server in network.servers.names.values():
        server.mode = "servfail"
    network.provider.filter("lab", "ip6", "forward", ["drop"])
    yield
    network.provider.unfilter("lab", "ip6")
    for server in network.servers.names.values():
        server.mode = "right"


@fault("compound.port-and-server", "dns.server-dead transport.port-blocked")
def port_and_server(network):
    network.servers.names[network.plan.server].mode = "dead"
    network.provider.filter("lab", "inet", "forward", ["tcp dport 443 drop"])
    yield
    network.provider.unfilter("lab", "inet")
    network.servers.names[network.plan.server].mode = "right"


@fault("compound.portal-and-duplicate", "addr.duplicate captive.portal")
def portal_and_duplicate(network):
    duplicates, portals = duplicate(network), captive(network)
    next(duplicates), next(portals)
    yield
    for steps in (duplicates, portals):
        for _ in steps:
            pass


@fault("compound.wan-and-dns", "upstream.blackhole")
def wan_and_dns(network):
    for server in network.servers.names.values():
        server.mode = "dead"
    network.provider.filter("lab", "inet", "forward", ["drop"])
    yield
    network.provider.unfilter("lab", "inet")
    for server in network.servers.names.values():
        server.mode = "right"


# One destination


def destined(name, to, codes=None):
    """A destination that is what it is, in a network in order."""

    @fault(name, codes, to)
    def steps(network):
        yield


destined("destination.page", lambda plan: f"https://{plan.hosts[0]}/generate_204", codes="")
destined("destination.websocket", lambda plan: f"ws://{plan.hosts[1]}/live", codes="")
destined("destination.no-such-name", lambda plan: f"nowhere.{plan.domain}:22")
destined("destination.no-address", lambda plan: f"http://big.{plan.domain}/")
destined("destination.unresolved", lambda plan: f"https://broken.{plan.domain}/")
destined("destination.unreachable", lambda plan: f"{plan.nowhere}:80")
destined("destination.port-closed", lambda plan: f"{plan.hosts[0]}:81")
destined("destination.tls", lambda plan: f"https://{plan.hosts[0]}:80/")
destined("destination.certificate", lambda plan: f"https://{plan.hosts[0]}:8443/")
destined("destination.certificate-dates", lambda plan: f"https://{plan.hosts[0]}:9443/")
destined("destination.no-answer", lambda plan: f"http://{plan.hosts[0]}/mute")
destined("destination.status", lambda plan: f"http://{plan.hosts[0]}/fail")
destined("destination.no-upgrade", lambda plan: f"ws://{plan.hosts[0]}/generate_204")


@fault("destination.no-route", to=lambda plan: f"http://{plan.nowhere}/")
def thrown(network):
    network.device.ip(f"route add throw {network.plan.nowhere}/32")
    yield
    network.device.ip(f"route del throw {network.plan.nowhere}/32")


@fault("destination.route-discarded", to=lambda plan: f"http://{plan.nowhere}/")
def discarded(network):
    network.device.ip(f"route add prohibit {network.plan.nowhere}/32")
    yield
    network.device.ip(f"route del prohibit {network.plan.nowhere}/32")


filtered("destination.blocked", "device", "ip", "output", lambda plan: [f"ip daddr {plan.nowhere} drop"],
         to=lambda plan: plan.nowhere)
filtered("destination.silent", "provider", "inet", "forward", lambda plan: [
    f"ip daddr {plan.anchors[0]} drop", f"ip6 daddr {plan.anchors6[0]} drop"],
    to=lambda plan: f"https://{plan.hosts[0]}/")
filtered("destination.partly-silent", "provider", "ip6", "forward", lambda plan: [
    f"ip6 daddr {plan.anchors6[0]} drop"], to=lambda plan: f"https://{plan.hosts[0]}/generate_204")
filtered("destination.port-silent", "internet", "inet", "input", lambda plan: ["tcp dport 81 drop"],
         to=lambda plan: f"{plan.hosts[0]}:81")


@fault("destination.far-while-wan-is-down", "wan.down", to=lambda plan: f"https://{plan.anchors[0]}/")
def far_without_wan(network):
    yield from steps_of("wan.down", network)


@fault("destination.near-while-wan-is-down", "", to=lambda plan: plan.peer)
def near_without_wan(network):
    yield from steps_of("wan.down", network)


@fault("destination.name-while-servers-are-dead", "dns.unreachable", to=lambda plan: f"https://{plan.hosts[0]}/")
def name_without_servers(network):
    yield from steps_of("dns.unreachable", network)


@fault("destination.page-behind-portal", "captive.portal", to=lambda plan: f"http://{plan.hosts[0]}/")
def page_behind_portal(network):
    yield from steps_of("captive.portal", network)
