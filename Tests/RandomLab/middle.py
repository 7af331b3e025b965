# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""What stands in the composed networks beside cables: NAT, forwarders, ICMP policing, VPN, proxy, firewalls."""
import os, socket, subprocess, time

import labpath  # noqa: F401
from network import listen, tunnel


def install(world):
    """Everything that the plan has."""
    plan = world.plan
    translate(world)
    if plan.nat64:
        translate_families(world)
    if plan.forwarder:
        forward_names(world)
    if plan.policing != "none":
        police(world)
    if plan.proxy:
        offer_proxy(world)
    if plan.vpn:
        Tunnel(world)
    if plan.firewall:
        load(world.device, FIREWALLS[plan.firewall](world))
    if plan.multicast and plan.v4:
        world.servers.answer_multicast(world.neighbor, "eth0", plan.peer)
    if plan.leases and plan.v4:
        world.servers.lease(world.gateway, "lan0", plan.gateway, plan.gateway)
    if plan.leases == 2:  # a failover pair: both servers offer the same
        world.servers.lease(world.neighbor, "eth0", plan.peer, plan.gateway)
    if plan.advertised:
        world.servers.advertise(world.gateway, "lan0", f"{plan.lan6}::")


def load(machine, text):
    """Loads tables of nftables, in which a line may close a chain and its table."""
    machine.run("nft", "-f", "-", input=text.replace("} }", "}\n}\n"))


def translate(world):
    """Masquerades IPv4 at the edge, once more at the provider for CGNAT, and at each other line."""
    plan = world.plan
    if plan.nat and plan.v4:
        masquerade(world.edge, "lan0" if world.edge is world.gateway else "down0")
        if plan.cgnat:
            masquerade(world.provs[0], f"down{plan.routers - 1}")
    for router in (world.alternative, world.standby):
        if router:
            masquerade(router, "lan0")


def masquerade(machine, below):
    load(machine, f"""
        table ip nat {{ chain postrouting {{ type nat hook postrouting priority srcnat;
            iifname "{below}" masquerade; }} }}""")


def translate_families(world):
    """NAT64 at the edge by tayga, for name servers that do DNS64."""
    edge, folder = world.edge, world.folder
    world.write(f"{folder}/tayga.conf", "tun-device nat64\nipv4-addr 192.168.255.1\n"
                f"prefix {world.plan.translated}/96\n"
                f"dynamic-pool 192.168.255.0/24\ndata-dir {folder}\nipv6-addr {world.plan.transit6}:f8::1\n")
    edge.run("tayga", "--mktun", "--config", f"{folder}/tayga.conf")
    edge.batch(["link set nat64 up", "addr add 192.168.255.254/32 dev nat64", "route add 192.168.255.0/24 dev nat64",
                f"route add {world.plan.translated}/96 dev nat64"])
    Program(world, edge, ["tayga", "--nodetach", "--config", f"{folder}/tayga.conf"])
    masquerade(edge, "nat64")


def forward_names(world):
    """A DNS forwarder on the gateway, dnsmasq."""
    plan = world.plan
    listening = [address for address, there in ((plan.gateway, plan.v4), (plan.gateway6, plan.v6)) if there]
    upstream = [plan.public["names"], plan.second_names] if not plan.v6 or plan.dice.chance("upstream IPv4", 0.7) else [
        plan.public6["names"], plan.second_names6]
    world.upstream = upstream
    words = ["dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv", "--no-hosts", "--user=root",
             "--group=root", "--bind-interfaces", "--log-facility=/dev/null", "--pid-file=", "--cache-size=150"]
    words += [f"--listen-address={address}" for address in listening] + [f"--server={address}" for address in upstream]
    world.forwarder = Program(world, world.gateway, words, "u", 53)


def police(world):
    """Echo requests are limited by the gateway or the provider, or dropped wholesale: what many networks do."""
    kind = world.plan.policing
    at = {"gateway": world.gateway, "provider": world.provs[0], "dropped": world.edge}[kind]
    rules = []
    for hook in ("input", "forward"):
        for match in ("icmp type echo-request", "icmpv6 type echo-request"):
            if kind == "dropped":
                rules.append((hook, f"{match} drop"))
            elif hook == ("input" if kind == "gateway" else "forward"):
                rules.append((hook, f"{match} limit rate over 5/second burst 5 packets drop"))
    for hook in ("input", "forward"):
        at.filter(f"policing-{hook}", "inet", hook, [rule for where, rule in rules if where == hook])


def offer_proxy(world):
    """An HTTP proxy on the gateway; where it is required, the web is closed otherwise."""
    plan, folder = world.plan, world.folder
    world.write(f"{folder}/tinyproxy.conf", f"User root\nGroup root\nPort 3128\nListen {plan.gateway}\nTimeout 20\n"
                f"LogFile \"{folder}/tinyproxy.log\"\nMaxClients 100\nAllow {plan.lan}.0/24\n")
    resolver = f"{folder}/proxy-resolv.conf"
    world.write(resolver, f"nameserver {plan.public['names']}\n")
    script = f'mount --bind {resolver} /etc/resolv.conf && exec "$@"'
    words = ["unshare", "--mount", "sh", "-c", script, "sh", "tinyproxy", "-d", "-c", f"{folder}/tinyproxy.conf"]
    world.proxy = Program(world, world.gateway, words, "t", 3128)
    url = f"http://{plan.gateway}:3128"
    world.environment = {"http_proxy": url, "https_proxy": url, "HTTPS_PROXY": url}
    if plan.proxy == "required":
        world.gateway.filter("proxy", "inet", "forward", ["iifname lan0 tcp dport { 80, 443 } drop"])


class Tunnel:
    """A VPN of the whole traffic: a tunnel whose packets are carried as UDP to a server at the service host."""

    PORT = 51820

    def __init__(self, world):
        self.world, plan = world, world.plan
        self.remote = plan.public["service"]
        world.vpn, self.working = self, True
        self.near, self.far = tunnel(world.device, "tun0"), tunnel(world.service, "tun0")
        world.ending.callback(os.close, self.near)
        world.ending.callback(os.close, self.far)
        world.device.batch([
            "addr add 10.99.0.2/24 dev tun0", "addr add fd99::2/64 dev tun0 nodad", "link set tun0 mtu 1380 up",
            f"route add {self.remote}/32 via {plan.gateway}", "route add 0.0.0.0/1 dev tun0",
            "route add 128.0.0.0/1 dev tun0", "route add ::/1 dev tun0", "route add 8000::/1 dev tun0"])
        world.service.set("ipv4/ip_forward", 1)
        world.service.set("ipv6/conf/all/forwarding", 1)
        world.service.batch(["addr add 10.99.0.1/24 dev tun0", "addr add fd99::1/64 dev tun0 nodad",
                             "link set tun0 mtu 1380 up"])
        for family in ("ip", "ip6"):
            load(world.service, f"""table {family} nat {{ chain postrouting {{
                type nat hook postrouting priority srcnat; iifname "tun0" masquerade; }} }}""")
        self.client = listen(world.device, "0.0.0.0", 0, socket.SOCK_DGRAM)
        self.server = listen(world.service, self.remote, self.PORT, socket.SOCK_DGRAM)
        for made in (self.client, self.server):
            world.ending.callback(made.close)
        self.peer = None
        world.servers.pump(self.near, self.up)
        world.servers.pump(self.far, self.down)
        world.servers.pump(self.client.fileno(), lambda packet: self.working and os.write(self.near, packet))
        world.servers.loop.call_soon_threadsafe(world.servers.loop.add_reader, self.server, self.receive)
        world.servers.pumps.append(self.server)
        if plan.vpn == "kill switch":
            world.device.filter("kill", "inet", "output", [
                "oifname { lo, tun0 } accept", f"ip daddr {{ {self.remote}, {plan.lan}.0/24 }} accept",
                f"ip6 daddr {{ {plan.lan6}::/64, fe80::/10 }} accept",
                "icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert, nd-router-solicit } accept",
                "udp dport { 67, 547 } accept", "drop"])

    def up(self, packet):
        if self.working:
            self.client.sendto(packet, (self.remote, self.PORT))

    def down(self, packet):
        if self.peer and self.working:
            self.server.sendto(packet, self.peer)

    def receive(self):
        packet, self.peer = self.server.recvfrom(65536)
        if self.working:
            os.write(self.far, packet)


# Local firewalls, each of which allows what a desktop needs


def ufw(world):
    hooks = []
    for family in ("ip", "ip6"):
        icmp = ("icmp type { destination-unreachable, time-exceeded, parameter-problem, echo-request } accept"
                if family == "ip" else "meta l4proto ipv6-icmp accept")
        hooks.append(f"""table {family} filter {{
            chain ufw-before-input {{ iifname "lo" accept; ct state related,established accept; ct state invalid drop;
                {icmp}; udp sport 67 udp dport 68 accept; udp dport 5353 accept; jump ufw-user-input; }}
            chain ufw-user-input {{ tcp dport 22 accept; }}
            chain ufw-before-output {{ oifname "lo" accept; ct state related,established accept;
                jump ufw-user-output; }}
            chain ufw-user-output {{ }}
            chain ufw-track-output {{ meta l4proto tcp ct state new accept; meta l4proto udp ct state new accept; }}
            chain INPUT {{ type filter hook input priority filter; policy drop; jump ufw-before-input; }}
            chain FORWARD {{ type filter hook forward priority filter; policy drop; }}
            chain OUTPUT {{ type filter hook output priority filter; policy accept; jump ufw-before-output;
                jump ufw-track-output; }} }}""")
    return "\n".join(hooks)


def firewalld(world):
    name = world.plan.interface
    return f"""table inet firewalld {{
        chain mangle_PREROUTING {{ type filter hook prerouting priority mangle + 10; policy accept;
            jump mangle_PREROUTING_ZONES; }}
        chain mangle_PREROUTING_ZONES {{ iifname "{name}" return; }}
        chain filter_PREROUTING {{ type filter hook prerouting priority filter + 10; policy accept;
            icmpv6 type {{ nd-router-advert, nd-neighbor-solicit }} accept; }}
        chain filter_INPUT {{ type filter hook input priority filter + 10; policy accept;
            ct state {{ established, related }} accept; ct status dnat accept; iifname "lo" accept;
            ct state invalid drop; jump filter_INPUT_ZONES; reject with icmpx type admin-prohibited; }}
        chain filter_INPUT_ZONES {{ meta l4proto {{ icmp, ipv6-icmp }} accept; tcp dport 22 ct state new accept;
            udp dport 5353 accept; ip6 daddr fe80::/64 udp dport 546 accept; }}
        chain filter_FORWARD {{ type filter hook forward priority filter + 10; policy accept;
            ct state {{ established, related }} accept; ct state invalid drop;
            reject with icmpx type admin-prohibited; }}
        chain filter_OUTPUT {{ type filter hook output priority filter + 10; policy accept;
            ct state {{ established, related }} accept; oifname "lo" accept; jump filter_OUTPUT_POLICIES_pre;
            jump filter_OUTPUT_POLICIES_post; }}
        chain filter_OUTPUT_POLICIES_pre {{ }}
        chain filter_OUTPUT_POLICIES_post {{ }}
        }}"""


def docker(world):
    return """table ip nat {
        chain DOCKER { iifname "docker0" return; }
        chain PREROUTING { type nat hook prerouting priority dstnat; policy accept; fib daddr type local jump DOCKER; }
        chain OUTPUT { type nat hook output priority -100; policy accept;
            ip daddr != 127.0.0.0/8 fib daddr type local jump DOCKER; }
        chain POSTROUTING { type nat hook postrouting priority srcnat; policy accept;
            oifname != "docker0" ip saddr 172.17.0.0/16 masquerade; } }
        table ip filter {
        chain DOCKER { }
        chain DOCKER-ISOLATION-STAGE-1 { iifname "docker0" oifname != "docker0" jump DOCKER-ISOLATION-STAGE-2; return; }
        chain DOCKER-ISOLATION-STAGE-2 { oifname "docker0" drop; return; }
        chain DOCKER-USER { return; }
        chain FORWARD { type filter hook forward priority filter; policy drop; jump DOCKER-USER;
            jump DOCKER-ISOLATION-STAGE-1; oifname "docker0" ct state related,established accept;
            oifname "docker0" jump DOCKER; iifname "docker0" accept; } }"""


def hardened(world):
    """Output is dropped by default; what a desktop needs is allowed."""
    return """table inet hardened {
        set services { type inet_service; flags interval;
            elements = { 22, 53, 80, 81, 443, 853, 3128, 7007, 8443, 9000-9010, 9443, 10443 };
        }
        chain input { type filter hook input priority 0; policy drop; iif "lo" accept;
            ct state established,related accept; ct state invalid drop;
            icmp type { echo-request, destination-unreachable, time-exceeded } accept; meta l4proto ipv6-icmp accept;
            udp dport { 68, 546, 5353 } accept; }
        chain forward { type filter hook forward priority 0; policy drop; }
        chain output { type filter hook output priority 0; policy drop; oif "lo" accept;
            ct state established,related accept; meta l4proto { icmp, ipv6-icmp } accept; tcp dport @services accept;
            udp dport { 53, 67, 123, 443, 547, 3478, 5353, 7007, 33434-33534, 51820 } accept; udp dport 9 accept; } }"""


FIREWALLS = {"ufw": ufw, "firewalld": firewalld, "docker": docker, "hardened": hardened}


class Program:
    """A program on a machine, which ends with the world; ready once it has a socket (`t` or `u`) at a port."""

    def __init__(self, world, machine, words, kind=None, port=None):
        machine.enter()
        words = ["setpriv", "--pdeathsig", "TERM"] + words
        nowhere = subprocess.DEVNULL
        self.process = subprocess.Popen(words, stdin=nowhere, stdout=nowhere, stderr=nowhere)
        world.ending.callback(self.end)
        deadline = time.monotonic() + 5
        while port and not machine.run("ss", f"-Hln{kind}", f"sport = :{port}").stdout:
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{words[3]} does not start")
            time.sleep(0.01)

    def end(self):
        self.process.terminate()
        try:
            self.process.wait(2)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
