# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""Faults of the remote side: name servers, anchors, and destinations that do not work."""
from faults import dropped, fault


def uses_names(plan):
    return not plan.proxy


SERVERS = "remote provider gateway"


def misled(name, mode, codes, domains=SERVERS, when=uses_names):
    """All name servers of the Internet misbehave."""

    @fault(name, "remote", codes, domains, when)
    def steps(world):
        for server in world.servers.names.values():
            server.mode = mode


def zones(plan):
    return plan.zones and uses_names(plan)


misled("name servers are silent", "dead", "dns.unreachable")
misled("name servers answer SERVFAIL", "servfail", "dns.servfail")
misled("name servers give wrong addresses", "lying", "dns.wrong-answer")
misled("name servers know no name", "NXDOMAIN", "dns.wrong-answer dns.nxdomain dns.servfail")
misled("name servers rewrite NXDOMAIN", "rewriting", "dns.nx-rewrite", when=zones)
misled("name servers ignore AAAA", "deaf to AAAA", "dns.aaaa-timeout")


@fault("name servers are slow", "remote", "dns.slow", SERVERS, when=uses_names)
def slow(world):
    for server in world.servers.names.values():
        server.delay = 1.3


def first_server(plan):
    """Both addresses of the first name server of the Internet."""
    return plan.public["names"], plan.public6["names"]


@fault("first name server is silent", "remote", "dns.server-dead", SERVERS,
       when=lambda plan: uses_names(plan) and not plan.forwarder and plan.name_servers[0] in first_server(plan)
       and not set(plan.name_servers) <= set(first_server(plan)))
def first_server_silent(world):
    world.servers.names["first"].mode = "dead"


dropped("large answers of name servers are lost", "remote", lambda world: world.core, "forward", lambda world: [
    "tcp dport 53 drop"], "dns.tcp-blocked", SERVERS, when=zones)


@fault("an anchor is down", "remote", "target.down", when=lambda plan: not plan.proxy)
def anchor_down(world):
    plan = world.plan
    key = plan.dice.pick("anchor of the fault", plan.anchors)
    world.fault_detail = key
    world.internet.batch([f"addr del {plan.public[key]}/25 dev net0", f"addr del {plan.public6[key]}/64 dev net0"])


@fault("an anchor's web server is down", "remote", "target.down", when=lambda plan: not plan.proxy)
def anchor_closed(world):
    plan = world.plan
    key = plan.dice.pick("anchor of the fault", plan.anchors)
    world.fault_detail = key
    world.internet.filter("fault", "inet", "input", [
        f"ip daddr {plan.public[key]} tcp dport {{ 80, 443 }} reject with tcp reset",
        f"ip6 daddr {plan.public6[key]} tcp dport {{ 80, 443 }} reject with tcp reset"])


# Destinations


def destined(name, to, codes, domains="remote", when=lambda plan: True):
    """A destination that is what it is, in a network in order."""

    @fault(name, "remote", codes, domains, when, to)
    def steps(world):
        pass


def www(world):
    return world.plan.service_name


destined("no such name", lambda world: f"https://nowhere.{world.plan.domain}/", "destination.no-such-name")
destined("name without an address", lambda world: f"http://empty.{world.plan.domain}/", "destination.no-address")
destined("name that is not resolved", lambda world: f"https://broken.{world.plan.domain}/", "destination.unresolved")
destined("closed port", lambda world: f"{www(world)}:81", "destination.port-closed", when=lambda plan: not plan.vpn)
destined("TLS on a port without", lambda world: f"https://{www(world)}:9000/", "destination.tls destination.no-answer")
destined("TLS that hangs", lambda world: f"https://{www(world)}:9001/", "destination.tls destination.no-answer")
destined("untrusted certificate", lambda world: f"https://{www(world)}:8443/", "destination.certificate")
destined("stale certificate", lambda world: f"https://{www(world)}:9443/", "destination.certificate-dates")
destined("certificate of another", lambda world: f"https://{www(world)}:10443/", "destination.certificate")
destined("503", lambda world: f"https://{www(world)}/busy", "destination.status")
destined("404", lambda world: f"http://{www(world)}/absent", "destination.status")
destined("no answer", lambda world: f"http://{www(world)}/mute", "destination.no-answer")
destined("body that stalls", lambda world: f"https://{www(world)}/stall", "destination.no-answer destination.stalled")
destined("no WebSocket", lambda world: f"ws://{www(world)}/", "destination.no-upgrade")

dropped("silent port", "remote", lambda world: world.service, "input", lambda world: ["tcp dport 9000 drop"],
        "destination.port-silent", to=lambda world: f"{www(world)}:9000")
dropped("reset port", "remote", lambda world: world.service, "input", lambda world: [
    "tcp dport 443 reject with tcp reset"], "destination.port-closed", to=lambda world: f"https://{www(world)}/")
dropped("filter of the service host", "remote", lambda world: world.service, "input", lambda world: [
    "tcp dport 443 reject with icmpx type admin-prohibited"], "destination.port-closed destination.unreachable "
    "destination.port-blocked destination.port-silent", to=lambda world: f"https://{www(world)}/")
dropped("service drops ClientHello", "remote", lambda world: world.service, "input", lambda world: [
    "tcp dport 443 @ih,0,8 0x16 drop"], "destination.tls destination.no-answer",
        to=lambda world: f"https://{www(world)}/")
dropped("own firewall blocks the destination", "host", lambda world: world.device, "output", lambda world: [
    f"ip daddr {world.plan.public['service']} tcp dport 443 drop",
    f"ip6 daddr {world.plan.public6['service']} tcp dport 443 drop"], "destination.blocked firewall.local",
    to=lambda world: f"https://{www(world)}/", when=lambda plan: not plan.vpn and not plan.nat64 and not plan.proxy)


@fault("service host is down", "remote", "destination.silent destination.unreachable",
       to=lambda world: f"https://{www(world)}/", when=lambda plan: not plan.vpn)
def service_down(world):
    world.service.ip("link set net0 down")


@fault("one address of the service is dead", "remote", "destination.partly-silent",
       to=lambda world: f"https://{www(world)}/",
       when=lambda plan: plan.families == "dual" and not plan.vpn and not plan.proxy)
def one_address_dead(world):
    world.service.ip(f"addr del {world.plan.public6['service']}/64 dev net0")


@fault("second IPv4 address of the service is dead", "remote", "destination.partly-silent",
       to=lambda world: f"http://{www(world)}/",
       when=lambda plan: plan.v4 and not plan.vpn and not plan.proxy)
def second_address_dead(world):
    plan = world.plan
    for server in world.servers.names.values():
        server.records[plan.service_name] = ([plan.spare, plan.public["service"]], [])


@fault("hosts has a wrong address", "host", "destination.silent destination.unreachable destination.no-route",
       "host", to=lambda world: f"https://{www(world)}/", when=lambda plan: not plan.proxy)
def wrong_hosts(world):
    plan = world.plan
    address = plan.spare if plan.v4 else plan.spare6
    world.write(world.table, f"127.0.0.1 localhost\n{address} {plan.service_name}\n")


@fault("route to the destination is discarded", "host", "destination.route-discarded destination.no-route", "host",
       to=lambda world: f"https://{www(world)}/", when=lambda plan: not plan.vpn and not plan.proxy and not plan.nat64)
def discarded(world):
    plan = world.plan
    kind = plan.dice.pick("discarding", ["blackhole", "unreachable", "prohibit"])
    world.device.batch(([f"route add {kind} {plan.public['service']}/32"] if plan.v4 else [])
                       + ([f"route add {kind} {plan.public6['service']}/128"] if plan.v6 else []))


destined("name server of the zone fails for one name", lambda world: f"http://broken.{world.plan.domain}/",
         "destination.unresolved")
