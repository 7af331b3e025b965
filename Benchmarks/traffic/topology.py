# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""The network of Tests/Lab with eight servers behind four prefixes per family and a second uplink, and its faults."""
import contextlib, json, os, pathlib, re, signal, subprocess, sys

from faults import FAULTS
from loads import narrowed
from network import Line, Machine, Network, Plan

LOAD = str(pathlib.Path(__file__).with_name("load.py"))
PREFIXES = ["198.51.100.0/24", "192.0.2.0/24", "198.18.7.0/24", "198.19.5.0/24"]
PREFIXES6 = [f"2001:db8:a{number}::/48" for number in range(1, 5)]
SERVERS, ADDRESSES_EACH = 8, 13
SECOND, SECOND_GATEWAY = "10.79.0.10", "10.79.0.1"


def addresses_of(server, six=False):
    """Thirteen addresses of one server; two servers share a prefix."""
    prefix = (PREFIXES6 if six else PREFIXES)[server // 2]
    first = 10 + 100 * (server % 2)
    if six:
        return [prefix.replace("::/48", f"::{first + number}") for number in range(ADDRESSES_EACH)]
    return [prefix.replace("0/24", str(first + number)) for number in range(ADDRESSES_EACH)]


def destinations(count=SERVERS, six=False):
    """The first addresses of all servers, then the second ones, and so on; neighbours are in different prefixes."""
    order = [0, 2, 4, 6, 1, 3, 5, 7]
    return [addresses_of(server, six)[number] for number in range(ADDRESSES_EACH) for server in order][:count]


class Load:
    """A client on the device; what it reports is the truth."""

    def __init__(self, world, words):
        world.device.enter()
        self.process = subprocess.Popen([sys.executable, "-B", LOAD, *map(str, words)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def report(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def send(self, number):
        self.process.send_signal(number)

    def close(self):
        self.process.kill()
        self.process.communicate()


class World(Network):
    """Device, switch, two routers, provider, Internet; ends with this process."""

    def __init__(self):
        self.processes, self.line = [], None
        super().__init__(Plan())
        os.chmod(self.folder, 0o755)
        for server in range(SERVERS):
            self.serve(addresses_of(server) + addresses_of(server, six=True))

    def __exit__(self, *what):
        for process in self.processes:
            process.kill()
            process.communicate()
        self.second.close()
        super().__exit__(*what)

    def connect(self):
        super().connect()
        self.second = Machine()
        self.second.set("ipv4/ip_forward", 1)
        for machine, near, far, end in ((self.second, "lan1", self.device, "eth1"),
                                        (self.second, "wan1", self.provider, "down1")):
            machine.batch([f"link add {near} type veth peer name {end} netns /proc/{os.getpid()}/fd/{far.descriptor}",
                           f"link set {near} up"])
        self.second.batch([f"addr add {SECOND_GATEWAY}/24 dev lan1", "addr add 198.18.1.2/30 dev wan1",
                           "route add default via 198.18.1.1"])
        plan = self.plan
        self.provider.batch(["addr add 198.18.1.1/30 dev down1", "link set down1 up",
                             "route add 10.79.0.0/24 via 198.18.1.2"]
                            + [f"route add {prefix} via {plan.anchors[0]}" for prefix in PREFIXES]
                            + [f"route add {prefix} via {plan.anchors6[0]}" for prefix in PREFIXES6])
        self.internet.batch([f"route add local {prefix} dev lo" for prefix in PREFIXES + PREFIXES6])
        self.device.batch([f"addr add {SECOND}/24 dev eth1"])
        self.device.set("ipv4/ip_local_port_range", "1024 65535")
        for machine in (self.device, self.router, self.second, self.provider, self.internet):
            machine.set("ipv4/conf/all/rp_filter", 0)
            machine.set("ipv4/conf/default/rp_filter", 0)

    def serve(self, addresses):
        self.internet.enter()
        words = [sys.executable, "-B", LOAD, "serve", *addresses]
        process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.processes.append(process)
        if process.stdout.readline() != "ready\n":
            raise RuntimeError("a server does not start")

    @contextlib.contextmanager
    def client(self, addresses, action="hold", **options):
        words = [word for key, value in options.items() for word in (f"--{key}", value)]
        client = Load(self, [action, *addresses, *words])
        try:
            yield client
        finally:
            client.close()
            # What a killed client leaves behind would be sent again for minutes.
            self.device.run("ss", "-K", "state", "fin-wait-1", "state", "last-ack", "state", "closing")

    def delayed(self, milliseconds):
        """From now on each packet beyond the router takes so long each way, through a process."""
        next(self.slowed(lambda: milliseconds / 1000))

    def sockets(self):
        """`ss -tinoO` of the device: a line each."""
        return self.device.run("ss", "-HtinoO").stdout.splitlines()

    def total(self, name):
        """The sum of a number that `ss` prints of all connections."""
        return sum(map(int, re.findall(rf"\b{name}:(\d+)", "\n".join(self.sockets()))))

    def segments(self, wanted=lambda peer: True):
        """Data segments sent and sent again, over the connections to the peers that are wanted."""
        out = again = 0
        for line in self.sockets():
            if wanted(line.split()[4]):
                found = re.search(r"retrans:\d+/(\d+)", line)
                again += int(found[1]) if found else 0
                found = re.search(r"data_segs_out:(\d+)", line)
                out += int(found[1]) if found else 0
        return out, again

    def slowest(self):
        """The longest smoothed round trip, in ms."""
        return max((float(value) for value in re.findall(r" rtt:([\d.]+)", "\n".join(self.sockets()))), default=0)

    # Faults: each is in place within its context.

    @contextlib.contextmanager
    def dropped(self, rules):
        """Forwarded packets that the provider drops."""
        self.provider.filter("cut", "inet", "forward", rules)
        try:
            yield
        finally:
            self.provider.unfilter("cut", "inet")

    def beyond(self):
        return self.dropped(["drop"])

    def without_six(self):
        return self.dropped(["meta nfproto ipv6 drop"])

    def without(self, address):
        return self.dropped([f"ip {side} {address} drop" for side in ("saddr", "daddr")])

    def lossy(self, address, share):
        """A share of what is sent to an address is lost."""
        return self.dropped([f"ip daddr {address} numgen random mod 10000 < {round(share * 10000)} drop"])

    @contextlib.contextmanager
    def gateway(self):
        """The gateway's cable at the switch is unplugged; the device's is not."""
        self.switch.ip("link set port-router down")
        try:
            yield
        finally:
            self.switch.ip("link set port-router up")

    @contextlib.contextmanager
    def stopped(self, processes):
        for process in processes:
            process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            for process in processes:
                process.send_signal(signal.SIGCONT)

    @contextlib.contextmanager
    def uplink_replaced(self):
        """The default route leads through the second router; the first stays, and nothing is lost."""
        self.device.batch(["link set eth1 up", f"route replace default via {SECOND_GATEWAY} dev eth1"])
        try:
            yield
        finally:
            self.device.batch([f"route replace default via {self.plan.gateway} dev eth0", "link set eth1 down"])

    @contextlib.contextmanager
    def uplink_lost(self):
        """The first interface goes with its address, the second comes."""
        self.device.batch([f"addr del {self.plan.own}/24 dev eth0", "link set eth0 down", "link set eth1 up",
                           f"route add default via {SECOND_GATEWAY} dev eth1 metric 50"])
        try:
            yield
        finally:
            self.device.batch([f"route del default via {SECOND_GATEWAY} dev eth1 metric 50", "link set eth1 down"])
            self.connect_device()

    @contextlib.contextmanager
    def both_uplinks(self):
        """The last two prefixes are reached through the second router."""
        routes = [f"{prefix} via {SECOND_GATEWAY} dev eth1" for prefix in PREFIXES[2:]]
        self.device.batch(["link set eth1 up"] + [f"route add {route}" for route in routes])
        try:
            yield
        finally:
            self.device.batch([f"route del {route}" for route in routes] + ["link set eth1 down"])

    def one_of_two(self):
        """One of two networks: nothing passes beyond the second router."""
        return self.dropped(["iif down1 drop", "oif down1 drop"])

    @contextlib.contextmanager
    def faulty(self, name):
        """A fault of Tests/Lab."""
        FAULTS[name].inject(self)
        try:
            yield
        finally:
            FAULTS[name].heal(self)

    def queue(self, megabits, size):
        """The uplink carries so many Mbit/s, behind queues of so many bytes."""
        return contextlib.contextmanager(narrowed)(self, megabits, size)
