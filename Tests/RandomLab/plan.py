# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""What a seed composes: families, addresses, hosts on the path, name servers, middleboxes. Nothing is built here.

Every choice has a generator of its own, made of the seed and the name of the choice, so that a new feature does not
change the networks of old seeds where it is absent.
"""
import random, shutil

INTERFACES = ["eth0", "eth1", "enp7s0", "wlp3s0", "end0", "eno1", "enx0050b6a1b2c3", "wlan0"]
DOMAINS = ["anchor.test", "probe.example", "lab.example.net"]
FIREWALLS = ["ufw", "firewalld", "docker", "hardened"]

# Programs without which a feature is left out.
NEEDS = {"forwarder": "dnsmasq", "proxy": "tinyproxy", "nat64": "tayga"}


def missing():
    """The features that are left out on this machine, with the program that is absent."""
    return {feature: program for feature, program in NEEDS.items() if not shutil.which(program)}


class Dice:
    """Choices by a seed, each independent of all others."""

    def __init__(self, seed):
        self.seed = seed

    def of(self, name):
        return random.Random(f"{self.seed} {name}")

    def chance(self, name, probability):
        return self.of(name).random() < probability

    def pick(self, name, choices):
        return self.of(name).choice(choices)

    def weighted(self, name, **weights):
        return self.of(name).choices(list(weights), list(weights.values()))[0]


class Plan:
    """The network of a seed. `without` are features for which a program is absent."""

    def __init__(self, seed, without=()):
        self.seed, self.dice = seed, Dice(seed)
        self.without = without
        self.choose_families()
        self.choose_path()
        self.choose_middleboxes()
        self.choose_names()
        self.choose_addresses()

    # Choices

    def choose_families(self):
        dice = self.dice
        kind = dice.weighted("families", dual=60, v4=20, v6=8, nat64=12)
        if kind == "nat64" and "nat64" in self.without:
            kind = "v6"
        self.families = kind
        self.v4, self.v6 = kind in ("dual", "v4"), kind != "v4"
        self.nat64 = kind == "nat64"
        self.domain = dice.pick("domain", DOMAINS)
        self.interface = dice.pick("interface", INTERFACES)
        self.second = dice.pick("second interface", [name for name in INTERFACES if name != self.interface])
        self.mtu = int(dice.weighted("mtu", **{"1500": 80, "1492": 10, "1420": 10}))
        self.line_mtu = min(self.mtu, int(dice.weighted("line mtu", **{"1500": 70, "1492": 20, "1420": 10})))

    def choose_path(self):
        dice = self.dice
        self.routers = 2 if dice.chance("two routers", 0.2) else 1
        self.nat = dice.chance("nat", 0.85)
        self.hops = dice.of("hops").randint(1, 3)
        self.cgnat = self.nat and dice.chance("cgnat", 0.2)
        self.ecmp = self.hops >= 2 and dice.chance("ecmp", 0.35)
        self.uplinks = dice.weighted("uplinks", one=80, preferred=12, multipath=8)
        if not self.v4:
            self.uplinks = "one"
        self.vrrp = self.uplinks == "one" and self.routers == 1 and dice.chance("vrrp", 0.08)
        self.gateway_is_link_local = dice.chance("link-local gateway", 0.6)

    def choose_middleboxes(self):
        dice = self.dice
        self.policing = dice.weighted("policing", none=70, gateway=10, provider=10, dropped=10)
        self.firewall = dice.pick("firewall kind", FIREWALLS) if dice.chance("firewall", 0.4) else None
        self.vpn = None
        if self.families == "dual" and self.uplinks == "one" and dice.chance("vpn", 0.12):
            self.vpn = "kill switch" if dice.chance("kill switch", 0.5) else "plain"
        self.proxy = None
        if "proxy" not in self.without and not self.vpn and self.v4 and dice.chance("proxy", 0.07):
            self.proxy = "required" if dice.chance("proxy required", 0.5) else "offered"
        self.multicast = dice.chance("multicast DNS", 0.3)
        self.leases = dice.of("leases").choice([0, 0, 0, 0, 0, 1, 1, 1, 1, 2]) if self.v4 else 0
        self.advertised = self.v6 and dice.chance("router advertisements", 0.5)

    def choose_names(self):
        dice = self.dice
        self.forwarder = "forwarder" not in self.without and dice.chance("forwarder", 0.75)
        self.zones = dice.chance("zones", 0.7)
        self.time_server = dice.chance("time server", 0.3)
        self.peers_named = dice.chance("peers", 0.4)
        self.anchor_count = dice.of("anchors").randint(2, 3)
        self.service_families = "v4" if self.nat64 and dice.chance("old service", 0.5) else "both"
        self.search = dice.chance("search domain", 0.3)

    # Addresses

    def choose_addresses(self):
        of = self.dice.of("addresses")
        kind = of.randrange(3)
        if kind == 0:
            self.lan = f"192.168.{of.randrange(256)}"
        elif kind == 1:
            self.lan = f"10.{of.randrange(100)}.{of.randrange(256)}"
        else:
            self.lan = f"172.{of.randrange(16, 32)}.{of.randrange(256)}"
        site = of.randrange(0x100, 0xffff)
        self.lan6 = f"2001:db8:{site:x}:{of.randrange(1, 0xff):x}"
        self.ula = f"fd{of.randrange(256):02x}:{of.randrange(0xffff):x}:{of.randrange(0xffff):x}:1"
        self.has_ula = self.v6 and of.random() < 0.25
        host = of.sample(range(10, 240), 8)
        last = of.choice([1, 1, 254])
        self.gateway, self.own = f"{self.lan}.{last}", f"{self.lan}.{host[0]}"
        self.peer, self.standby = f"{self.lan}.{host[1]}", f"{self.lan}.{host[2]}"
        self.free, self.cameras = f"{self.lan}.{host[3]}", f"{self.lan}.{host[4]}"
        self.gateway6, self.own6 = f"{self.lan6}::1", f"{self.lan6}::{host[0]:x}:{of.randrange(1, 0xffff):x}"
        self.peer6, self.standby6 = f"{self.lan6}::{host[1]:x}", f"{self.lan6}::{host[2]:x}"
        self.lan_b, self.lan_b6 = f"10.{of.randrange(100, 160)}.{of.randrange(256)}", f"2001:db8:{site ^ 1:x}:b"
        base = of.randrange(0, 60)
        self.transit = "100.{}.{}".format(of.randrange(64, 128), base) if self.cgnat else f"198.18.{base}"
        self.transit6 = f"2001:db8:{of.randrange(1, 0xf0):x}"
        nets = [f"{net}.{half}" for net in ("192.0.2", "198.51.100", "203.0.113") for half in (0, 128)]
        of.shuffle(nets)
        self.nets = {"names": nets[0], "service": nets[1], "a": nets[2], "b": nets[3], "c": nets[4]}
        self.nets6 = {key: f"2001:db8:f{index:x}0:{of.randrange(0xffff):x}" for index, key in enumerate(self.nets)}
        number = {key: of.randrange(10, 120) for key in self.nets}
        self.public = {key: self.host(net, number[key]) for key, net in self.nets.items()}
        self.public6 = {key: f"{net}::{number[key]:x}" for key, net in self.nets6.items()}
        self.spare = self.host(self.nets["service"], 9)
        self.spare6 = f"{self.nets6['service']}::9"
        self.second_names = self.host(self.nets["names"], 8)
        self.second_names6 = f"{self.nets6['names']}::8"
        self.anchors = ["a", "b", "c"][:self.anchor_count]
        # 64:ff9b::/96 is not for addresses of documentation (RFC 6052).
        self.translated = f"2001:db8:{of.randrange(0xfa00, 0xfaff):x}:64::"
        self.service_name = f"www.{self.domain}"
        self.choose_servers()

    @staticmethod
    def host(net, number):
        start, low = net.rsplit(".", 1)
        return f"{start}.{int(low) + number}"

    def choose_servers(self):
        """The lines of resolv.conf: the gateway's forwarder, servers of the Internet, or both."""
        of = self.dice.of("name servers")
        inside = [address for address, there in ((self.gateway, self.v4), (self.gateway6, self.v6)) if there]
        outside = [address for address, there in ((self.public["names"], self.v4), (self.public6["names"], self.v6),
                                                  (self.second_names, self.v4), (self.second_names6, self.v6)) if there]
        if self.forwarder:
            chosen = of.choice([inside[:1], inside, inside[:1] + outside[:1], inside[:1] + outside[:2]])
        else:
            chosen = outside[:of.choice([1, 2, 2, 3])]
        self.name_servers = chosen[:3]

    def features(self):
        """A line that says what the network has."""
        words = [self.families, self.interface, f"{self.routers} router" + "s" * (self.routers > 1),
                 f"{self.hops} hops", f"{len(self.name_servers)} name servers", f"{self.anchor_count} anchors"]
        words += [f"mtu {self.mtu}/{self.line_mtu}"] if min(self.mtu, self.line_mtu) < 1500 else []
        words += ["nat" if self.nat else "routed"] if self.v4 else []
        for word in ("cgnat", "ecmp", "vrrp", "forwarder", "multicast", "advertised", "zones"):
            words += [word] if getattr(self, word) else []
        words += [f"uplinks {self.uplinks}"] if self.uplinks != "one" else []
        words += [f"icmp {self.policing}"] if self.policing != "none" else []
        words += [f"firewall {self.firewall}"] if self.firewall else []
        words += [f"vpn {self.vpn}"] if self.vpn else []
        words += [f"proxy {self.proxy}"] if self.proxy else []
        words += [f"{self.leases} dhcp"] if self.leases else []
        return ", ".join(words)
