# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""The network of a plan, built of namespaces: a chain of routers from the device to the Internet.

    device - switch (with peer, standby) - homes[0] [- homes[1]] - provs[0] - ... - provs[-1] = core - internet, service

With `ecmp` two legs stand between provs[-2] and the core. A second uplink goes from the device to `alternative`, a
router of its own at the core.
"""
import contextlib, os, shutil, subprocess, tempfile

import labpath  # noqa: F401
import middle
from hosts import Hosts
from machine import CLONE_NEWNET, LIBC, Machine, call
from network import _flow
from plan import DOMAINS

MAC = "00:00:5e:00:01:17"  # the virtual router's (RFC 5798)


class World:
    """A context: built on entry, and everything of it gone on exit."""

    def __init__(self, plan, certificates):
        self.plan, self.certificates = plan, certificates
        self.home = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        self.ending = contextlib.ExitStack()
        self.machines, self.lines, self.cables = [], {}, {}
        self.environment = {}
        self.destination = None   # of a run for one destination
        self.client_user = None   # the uid of the clients, where it is not root

    def __enter__(self):
        try:
            self.ending.callback(self.leave)
            self.folder = tempfile.mkdtemp(prefix="random-lab-")
            self.ending.callback(shutil.rmtree, self.folder, ignore_errors=True)
            self.build()
            self.servers = Hosts(self)
            self.ending.callback(self.servers.stop)
            self.configure()
            middle.install(self)
        except BaseException:
            self.ending.close()
            raise
        return self

    def __exit__(self, *_):
        self.ending.close()

    def leave(self):
        call(LIBC.setns(self.home, CLONE_NEWNET))
        for machine in self.machines:
            machine.close()
        os.close(self.home)

    # Machines and cables

    def machine(self, router=False):
        made = Machine()
        self.machines.append(made)
        self.lines[made] = []
        if router:
            made.set("ipv4/ip_forward", 1)
            made.set("ipv6/conf/all/forwarding", 1)
            made.set("ipv4/fib_multipath_hash_policy", 1)
            made.set("ipv6/fib_multipath_hash_policy", 1)
        return made

    def cable(self, near, near_name, far, far_name):
        """A veth pair; made at once with all others of the near machine."""
        path = f"/proc/{os.getpid()}/fd/{far.descriptor}"
        self.cables.setdefault(near, []).append(f"link add {near_name} type veth peer name {far_name} netns {path}")

    def build(self):
        plan = self.plan
        self.device, self.switch, self.neighbor = self.machine(), self.machine(), self.machine()
        self.homes = [self.machine(router=True) for _ in range(plan.routers)]
        self.provs = [self.machine(router=True) for _ in range(plan.hops)]
        self.legs = [self.machine(router=True) for _ in range(2)] if plan.ecmp else []
        self.internet, self.service = self.machine(), self.machine()
        self.core, self.gateway, self.edge = self.provs[-1], self.homes[0], self.homes[-1]
        self.standby = self.machine(router=True) if plan.vrrp else None
        self.alternative = self.machine(router=True) if plan.uplinks != "one" else None
        self.connect_lan()
        self.connect_chain()
        self.connect_internet()
        if self.alternative:
            self.connect_alternative()
        for near, lines in self.cables.items():
            near.batch(lines)
        for machine, lines in self.lines.items():
            if lines:
                machine.batch(lines)

    def connect_lan(self):
        plan = self.plan
        self.lines[self.switch] += ["link add br0 type bridge mcast_snooping 0", "link set br0 up"]
        ports = [("port-device", self.device, plan.interface), ("port-router", self.gateway, "lan0"),
                 ("port-peer", self.neighbor, "eth0")]
        ports += [("port-standby", self.standby, "lan0")] if self.standby else []
        for port, machine, name in ports:
            self.cable(self.switch, port, machine, name)
            self.lines[self.switch] += [f"link set {port} mtu {plan.mtu} master br0 up"]
        self.lines[self.device] += self.device_lines()
        self.lines[self.neighbor] += [f"link set eth0 mtu {plan.mtu} up"] + self.addresses(
            "eth0", plan.peer, plan.peer6) + self.defaults(plan.gateway, plan.gateway6, "eth0")
        if not plan.vrrp:
            self.lines[self.gateway] += self.gateway_lines()
        else:
            # Both routers have addresses of their own; the master has the virtual ones, by the virtual MAC.
            self.lines[self.gateway] += ["link set lan0 address " + MAC] + self.gateway_lines()
            self.lines[self.standby] += [f"link set lan0 mtu {plan.mtu} up"] + self.addresses(
                "lan0", plan.standby, plan.standby6)

    def addresses(self, name, v4, v6, bits=24):
        plan = self.plan
        return ([f"addr replace {v4}/{bits} dev {name}"] if plan.v4 else []) + (
            [f"addr replace {v6}/64 dev {name} nodad"] if plan.v6 else [])

    def defaults(self, v4, v6, name, metric=0):
        plan = self.plan
        more = f" metric {metric}" if metric else ""
        return ([f"route replace default via {v4} dev {name}{more}"] if plan.v4 else []) + (
            [f"route replace default via {v6} dev {name}{more}"] if plan.v6 else [])

    def gateway_lines(self):
        plan = self.plan
        lines = [f"link set lan0 mtu {plan.mtu} up"] + self.addresses("lan0", plan.gateway, plan.gateway6)
        lines += [f"addr replace {plan.ula}::1/64 dev lan0 nodad"] if plan.has_ula else []
        return lines + (["addr replace fe80::1/64 dev lan0 nodad"] if plan.v6 else [])

    def device_lines(self):
        """The device as its operator wants it."""
        plan, name = self.plan, self.plan.interface
        lines = [f"link set {name} mtu {plan.mtu} up"] + self.addresses(name, plan.own, plan.own6)
        lines += [f"addr replace {plan.ula}::5/64 dev {name} nodad"] if plan.has_ula else []
        if plan.uplinks == "multipath":
            second = self.second_gateways()
            lines += self.second_lines()
            lines += [f"route replace default nexthop via {plan.gateway} dev {name} "
                      f"nexthop via {second[0]} dev {plan.second}"]
            lines += [f"route replace default nexthop via {self.gateway6()} dev {name} "
                      f"nexthop via {second[1]} dev {plan.second}"] if plan.v6 else []
            return lines
        if plan.uplinks == "preferred":
            lines += self.second_lines()
            lines += self.defaults(*self.second_gateways(), plan.second, 600)
        return lines + self.defaults(plan.gateway, self.gateway6(), name, 100 if plan.uplinks == "preferred" else 0)

    def second_lines(self):
        plan = self.plan
        return [f"link set {plan.second} up"] + self.addresses(plan.second, f"{plan.lan_b}.10", f"{plan.lan_b6}::10")

    def gateway6(self):
        return "fe80::1" if self.plan.gateway_is_link_local else self.plan.gateway6

    def second_gateways(self):
        return f"{self.plan.lan_b}.1", f"{self.plan.lan_b6}::1"

    # The chain

    def connect_chain(self):
        """Links of the chain, each with a network of its own; default routes up, explicit ones down."""
        plan = self.plan
        chain = self.homes + self.provs
        self.links = []  # (near, far, near device, far device, near IPv4, far IPv4, near IPv6, far IPv6)
        below = [(None, plan.lan, 24, plan.lan6)] + ([(None, None, 0, plan.ula)] if plan.has_ula else [])
        number = 0
        for index in range(len(chain) - 1):
            near, far = chain[index], chain[index + 1]
            steps = [(near, far)]
            if plan.ecmp and far is self.core:
                steps = [(near, leg, far) for leg in self.legs]
            made = []
            for step in steps:
                pairs = list(zip(step, step[1:]))
                for left, right in pairs:
                    made.append(self.link(number, left, right))
                    number += 1
            self.route_step(near, far, steps, made, below)
            below += [(None, made[0]["net"], 30, made[0]["net6"])]
            if self.standby and far is self.provs[0]:
                link = self.connect_standby()
                below += [(None, link["net"], 30, link["net6"])]

    def link(self, number, near, far):
        plan = self.plan
        start = 4 * number
        link = {"near": near, "far": far, "near_device": f"up{number}", "far_device": f"down{number}",
                "near4": f"{plan.transit}.{start + 2}", "far4": f"{plan.transit}.{start + 1}",
                "near6": f"{plan.transit6}:{number:x}::2", "far6": f"{plan.transit6}:{number:x}::1",
                "net": f"{plan.transit}.{start}/30", "net6": f"{plan.transit6}:{number:x}"}
        self.cable(near, link["near_device"], far, link["far_device"])
        mtu = plan.line_mtu if near is self.edge else 1500
        for machine, name, v4, v6 in ((near, link["near_device"], link["near4"], link["near6"]),
                                      (far, link["far_device"], link["far4"], link["far6"])):
            self.lines[machine] += [f"link set {name} mtu {mtu} up", f"addr add {v4}/30 dev {name}",
                                    f"addr add {v6}/64 dev {name} nodad"]
        self.links.append(link)
        return link

    def route_step(self, near, far, steps, made, below):
        """The routes between two routers of the chain, over one cable or two legs."""
        if len(steps) == 1:
            link = made[0]
            self.lines[near] += [f"route add default via {link['far4']}", f"route add default via {link['far6']}"]
            self.route_down(far, below, link["near4"], link["near6"])
            return
        first, second = made[:2], made[2:]
        for family in "46":
            self.lines[near] += [f"route add default nexthop via {first[0]['far' + family]} nexthop via "
                                 f"{second[0]['far' + family]}"]
        for leg in (first, second):
            self.lines[leg[0]["far"]] += [f"route add default via {leg[1]['far4']}",
                                          f"route add default via {leg[1]['far6']}"]
            self.route_down(leg[0]["far"], below, leg[0]["near4"], leg[0]["near6"])
        for leg in (first, second):
            self.lines[far] += [f"route add {leg[0]['net']} via {leg[1]['near4']}",
                                f"route add {leg[0]['net6']}::/64 via {leg[1]['near6']}"]
        for net, net6 in self.prefixes(far, below):
            if net:
                self.lines[far] += [f"route add {net} nexthop via {first[1]['near4']} nexthop via {second[1]['near4']}"]
            self.lines[far] += [f"route add {net6} nexthop via {first[1]['near6']} nexthop via {second[1]['near6']}"]

    def prefixes(self, machine, below):
        """The networks below, as a machine of the chain sees them: behind NAT the LAN has no IPv4 route."""
        for _, net, bits, net6 in below:
            hidden = bits == 24 and self.plan.nat and machine in self.provs + self.legs
            yield (None if hidden or not net else net if bits == 30 else f"{net}.0/24"), f"{net6}::/64"

    def route_down(self, machine, below, v4, v6):
        for net, net6 in self.prefixes(machine, below):
            self.lines[machine] += [f"route add {net} via {v4}"] if net else []
            self.lines[machine] += [f"route add {net6} via {v6}"]

    def connect_standby(self):
        """The second router of a VRRP pair has an uplink of its own to the provider."""
        link = self.link(59, self.standby, self.provs[0])
        self.lines[self.standby] += [f"route add default via {link['far4']}", f"route add default via {link['far6']}"]
        self.standby_link = link
        return link

    def routes_to_standby(self):
        """The provider's routes to the LAN when the second router has taken over."""
        plan, link = self.plan, self.standby_link
        lines = [f"route replace {plan.lan}.0/24 via {link['near4']}"] if not plan.nat else []
        return lines + [f"route replace {net}::/64 via {link['near6']}" for net in
                        [plan.lan6] + ([plan.ula] if plan.has_ula else [])]

    def connect_internet(self):
        plan = self.plan
        self.cable(self.core, "net0", self.internet, "net0")
        self.cable(self.core, "svc0", self.service, "net0")
        for key, net in plan.nets.items():
            at, name = (self.service, "svc0") if key == "service" else (self.internet, "net0")
            router, router6 = plan.host(net, 1), f"{plan.nets6[key]}::1"
            self.lines[self.core] += [f"addr add {router}/25 dev {name}", f"addr add {router6}/64 dev {name} nodad"]
            self.lines[at] += [f"addr add {plan.public[key]}/25 dev net0",
                               f"addr add {plan.public6[key]}/64 dev net0 nodad"]
        self.lines[self.core] += ["link set net0 up", "link set svc0 up"]
        self.lines[self.internet] += [f"addr add {plan.second_names}/25 dev net0",
                                      f"addr add {plan.second_names6}/64 dev net0 nodad"]
        for at, key in ((self.internet, "names"), (self.service, "service")):
            self.lines[at] += ["link set net0 up", f"route add default via {plan.host(plan.nets[key], 1)}",
                               f"route add default via {plan.nets6[key]}::1"]

    def connect_alternative(self):
        """A second line to the Internet, with a router of its own."""
        plan, router = self.plan, self.alternative
        self.cable(self.device, plan.second, router, "lan0")
        self.cable(router, "up9", self.core, "down9")
        self.lines[router] += ["link set lan0 up", "link set up9 up"]
        self.lines[router] += self.addresses("lan0", f"{plan.lan_b}.1", f"{plan.lan_b6}::1")
        self.lines[router] += [f"addr add {plan.transit}.242/30 dev up9",
                               f"addr add {plan.transit6}:f9::2/64 dev up9 nodad",
                               f"route add default via {plan.transit}.241",
                               f"route add default via {plan.transit6}:f9::1"]
        self.lines[self.core] += [f"addr add {plan.transit}.241/30 dev down9",
                                  f"addr add {plan.transit6}:f9::1/64 dev down9 nodad",
                                  "link set down9 up", f"route add {plan.lan_b6}::/64 via {plan.transit6}:f9::2"]

    # Configuration

    def configure(self):
        plan, folder = self.plan, self.folder
        self.resolver, self.order, self.table = f"{folder}/resolv.conf", f"{folder}/nsswitch.conf", f"{folder}/hosts"
        os.chmod(folder, 0o755)
        self.write(self.order, "passwd: files\ngroup: files\nhosts: files dns\nservices: files\n")
        self.write(self.table, "127.0.0.1 localhost\n::1 localhost\n")
        self.set_servers(plan.name_servers, f"lan.{plan.domain}" if plan.search else None)
        anchors = [{"name": key, "host": f"{key}.{plan.domain}", "addr4": plan.public[key], "addr6": plan.public6[key]}
                   for key in plan.anchors]
        targets = {"anchors": anchors, "udp_echo_port": 7007, "ca": f"{folder}/ca.pem"}
        shutil.copy(f"{self.certificates}/right-ca.pem", f"{folder}/ca.pem")
        if plan.time_server and plan.v4:
            targets["ntp"] = [plan.public["names"]]
        if plan.peers_named:
            targets["peers"] = [plan.peer if plan.v4 else plan.peer6]
        if plan.zones:
            targets["dns"] = {"wildcard": f"p.{plan.domain}", "wildcard_a": plan.public["a"],
                              "nx_zone": f"nx.{plan.domain}", "big_txt": f"big.{plan.domain}"}
        self.configuration = f"{folder}/nwpath.yaml"
        self.write(self.configuration, f"dns: {_flow({'resolv_conf': self.resolver})}\ndiagnosis: {_flow(targets)}\n")

    def set_servers(self, servers, search=None):
        lines = [f"search {search}"] if search else []
        lines += [f"nameserver {server}" for server in servers]
        self.write(self.resolver, "".join(f"{line}\n" for line in lines))

    @staticmethod
    def write(path, text):
        with open(path, "w") as file:
            file.write(text)

    def on_device(self, command):
        """The command, as a program of the device: its resolver's configuration, and the authority that it trusts."""
        places = {"/etc/resolv.conf": self.resolver, "/etc/nsswitch.conf": self.order, "/etc/hosts": self.table,
                  "/etc/ssl/certs/ca-certificates.crt": f"{self.folder}/ca.pem"}
        script = "".join(f"mount --bind {file} {place} && " for place, file in places.items()) + 'exec "$@"'
        return ["unshare", "--mount", "sh", "-c", script, "sh"] + command

    def start(self, command, **more):
        """Starts a program of the device."""
        self.device.enter()
        environment = {**os.environ, **self.environment}
        return subprocess.Popen(self.on_device(command), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                env=environment, **more)


def certify(folder):
    """Certificates for all composed networks: right, of an authority that is not trusted, stale, of another host."""
    def openssl(*words):
        subprocess.run(("openssl",) + words, check=True, capture_output=True)

    names = ",".join(f"DNS:*.{domain}" for domain in DOMAINS)
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout")
    for authority in ("right", "wrong"):
        base = f"{folder}/{authority}"
        openssl("req", "-x509", *key, f"{base}-ca.key", "-out", f"{base}-ca.pem", "-subj",
                f"/CN={authority}", "-days", "2")
    for name, authority, alternative in [("right", "right", names), ("wrong", "wrong", names),
                                         ("other", "right", "DNS:elsewhere.invalid")]:
        openssl("req", "-x509", *key, f"{folder}/{name}.key", "-out", f"{folder}/{name}.pem", "-subj", "/CN=lab",
                "-days", "2", "-CA", f"{folder}/{authority}-ca.pem", "-CAkey", f"{folder}/{authority}-ca.key",
                "-addext", f"subjectAltName={alternative}")
    base = f"{folder}/stale"
    World.write(f"{base}.cnf", f"[ca]\ndefault_ca = lab\n[lab]\ndatabase = {base}.txt\nnew_certs_dir = {folder}\n"
                "policy = any\nrand_serial = yes\ndefault_md = sha256\ncopy_extensions = copy\n"
                "[any]\ncommonName = supplied\n")
    World.write(f"{base}.txt", "")
    openssl("req", "-new", *key, f"{base}.key", "-out", f"{base}.csr", "-subj", "/CN=lab", "-addext",
            f"subjectAltName={names}")
    openssl("ca", "-batch", "-notext", "-config", f"{base}.cnf", "-cert", f"{folder}/right-ca.pem", "-keyfile",
            f"{folder}/right-ca.key", "-in", f"{base}.csr", "-out", f"{base}.pem", "-startdate", "20200101000000Z",
            "-enddate", "20200201000000Z")
