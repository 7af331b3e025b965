#!/usr/bin/env python3
# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""An hour of services that come, go, crash and change, on a network that loses packets.

nwpath browse, avahi-browse and python-zeroconf follow the same hosts, each from a port of its own of one bridge;
docs/benchmarks.md tells the method.
"""
import argparse, contextlib, ctypes, heapq, json, os, pathlib, random, re, selectors, shutil, socket, struct
import subprocess, sys, time

sys.path.insert(0, str(pathlib.Path(__file__).parent / "mdns"))
import discovery, measure
from hosts import Host
from verdict import judged, table

HERE = pathlib.Path(__file__).parent
LIFETIMES = (10, 20, 120, 4500)
KINDS = [f"_churn{index}._tcp" for index in range(4)]
NEW_NAMESPACE = 0x40000000
LIBRARY = ctypes.CDLL(None, use_errno=True)


class Clock:
    """Timers of one thread, and when they were late."""

    def __init__(self, log):
        self.queue, self.count, self.log = [], 0, log

    @staticmethod
    def now():
        return time.monotonic()

    def after(self, delay, action):
        self.count += 1
        heapq.heappush(self.queue, (self.now() + delay, self.count, action))

    def left(self):
        return max(0.0, self.queue[0][0] - self.now()) if self.queue else 1.0

    def work(self):
        while self.queue and self.queue[0][0] <= self.now():
            due, _, action = heapq.heappop(self.queue)
            if self.now() - due > 0.3:
                self.log.write("late", due=due)
            action()


class Log:
    """What happened, a JSON object a line, and each packet at an observer's interface."""

    def __init__(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        self.events, self.wire = open(folder / "events.jsonl", "w"), open(folder / "wire.bin", "wb")

    def write(self, what, /, **facts):
        self.events.write(json.dumps({"t": time.monotonic(), "k": what, **facts}) + "\n")

    def packet(self, observer, is_sent, data):
        self.wire.write(struct.pack(">dBBH", time.monotonic(), observer, is_sent, len(data)) + data)

    def close(self):
        self.events.close()
        self.wire.close()


def setns(descriptor):
    if LIBRARY.setns(descriptor, NEW_NAMESPACE) != 0:
        raise measure.Failed("setns: " + os.strerror(ctypes.get_errno()))


def new_namespace():
    """Enters a network namespace of its own; it lives as long as this descriptor and the processes in it."""
    if LIBRARY.unshare(NEW_NAMESPACE) != 0:
        raise measure.Failed("unshare: run as root or under unshare -rn")
    measure.run("sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1", "net.ipv6.conf.default.disable_ipv6=1")
    measure.ip("link set lo up")
    return os.open("/proc/thread-self/ns/net", os.O_RDONLY)


class Network:
    """One bridge in a namespace, and a namespace with v0 for each station."""

    def __init__(self):
        self.switch = new_namespace()
        measure.ip("link add name bridge type bridge stp_state 0 mcast_snooping 0")
        measure.ip("link set bridge up")
        self.stations = {}

    def add(self, name, address):
        """Makes a station and enters its namespace."""
        self.stations[name] = new_namespace()
        setns(self.switch)
        there = f"/proc/{os.getpid()}/fd/{self.stations[name]}"
        measure.ip(f"link add {name} type veth peer name v0 netns {there}")
        measure.ip(f"link set {name} master bridge")
        measure.ip(f"link set {name} up")
        setns(self.stations[name])
        measure.ip(f"address add {address}/16 dev v0")
        measure.ip("link set v0 up")
        measure.ip("route add default via 10.77.0.99 dev v0")

    def lose(self, names, share):
        """Loses packets of multicast DNS between the bridge and stations, each way by itself."""
        setns(self.switch)
        rules = ["table netdev churn {"]
        for name in names:
            for hook in ("ingress", "egress"):
                rules.append(f'chain {name}{hook} {{ type filter hook {hook} device "{name}" priority 0; '
                             f"udp dport 5353 numgen random mod 100 < {share} counter drop; }}")
        measure.run("nft", "-f", "-", input="\n".join(rules + ["}"]))

    def lost(self):
        """How many packets the rules took, by rule."""
        text = measure.run("nft", "list", "table", "netdev", "churn")
        return dict(zip(re.findall(r"chain (\w+)", text), map(int, re.findall(r"counter packets (\d+)", text))))

    def switch_port(self, name, is_up):
        """From the bridge's namespace, where this process is while the run lasts."""
        measure.ip(f"link set {name} {'up' if is_up else 'down'}")


class Observer:
    """A program that follows services: its lines become (what, service, port, text)."""

    def __init__(self, number, name, words, read, env=None):
        self.number, self.name, self.read, self.rest = number, name, read, b""
        self.process = subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, env=env,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        os.set_blocking(self.process.stdout.fileno(), False)

    def readable(self, log):
        data = os.read(self.process.stdout.fileno(), 1 << 20)
        if not data:
            raise measure.Failed(f"{self.name} ended")
        *lines, self.rest = (self.rest + data).split(b"\n")
        for line in lines:
            event = self.read(line.decode())
            if event:
                log.write("seen", o=self.number, what=event[0], s=event[1], port=event[2], text=event[3],
                          more=event[4:])

    def end(self):
        self.process.terminate()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def from_nwpath(line):
    event = json.loads(line)
    service = event["service"]
    reason = event.get("removed", {}).get("reason")
    text = reason or service.get("txt", {}).get("v")
    more = {key: event[key] for key in ("changed", "previous") if key in event}
    return event["event"], service["name"], service.get("port"), text, more, service.get("txt_raw")


def from_avahi(line):
    words = line.split(";")
    if len(words) > 8 and words[0] == "=":
        return "resolved", words[3], int(words[8]), words[9].strip('"').removeprefix("v=")
    return {"+": "found", "-": "lost"}[words[0]], words[3], None, None


def from_zeroconf(line):
    words = line.split()
    if words[0] == "=":
        return "resolved", words[1], int(words[2]), words[3] if len(words) > 3 else None
    return {"+": "found", "-": "lost"}[words[0]], words[1], None, None


class Churn:
    """Draws what happens next from a seed, does it, and tells the log."""

    WEIGHTS = {"goodbye": 30, "crash": 25, "change": 27, "host crash": 6, "flap": 10, "blind": 2}

    def __init__(self, network, hosts, observers, clock, log, seed, end, gap):
        self.network, self.hosts, self.observers, self.clock, self.log = network, hosts, observers, clock, log
        self.end, self.gap, self.random, self.blind_until = end, gap, random.Random(seed), 0.0

    def truth(self, what, services, **facts):
        for service in services:
            self.log.write(what, s=service.name, ttl=service.host.lifetime, port=service.port,
                           text=str(service.version), **facts)

    def announce(self, host, services, what="announce"):
        self.truth(what, services)
        host.announce(services)
        self.clock.after(1.0, lambda: host.announce(services))
        for service in services:
            service.ready = self.clock.now() + 6

    def start(self, service):
        if not service.is_living:
            service.is_living = True
            service.version += self.random.random() < 0.3
            self.announce(service.host, [service])

    def next(self):
        now = self.clock.now()
        if now > self.end - 15:
            return
        self.clock.after(self.random.expovariate(1 / self.gap), self.next)
        if now < self.blind_until:
            return
        what = self.random.choices(list(self.WEIGHTS), list(self.WEIGHTS.values()))[0]
        hosts = [host for host in self.hosts if host.ready <= now]
        if what == "blind":
            self.blind()
        elif what in ("host crash", "flap"):
            hosts = [each for each in hosts if all(s.ready <= now for s in each.services) and len(each.living()) > 1]
            if hosts:
                (self.flap if what == "flap" else self.crash_host)(self.random.choice(hosts))
        else:
            services = [s for host in hosts for s in host.living() if s.ready <= now]
            if services:
                getattr(self, what)(self.random.choice(services))

    def absence(self, lifetime):
        """Mostly so short that some come back before anybody noticed, and some long afterwards."""
        most = {10: 40, 20: 60, 120: 240, 4500: 900 if self.random.random() < 0.3 else 120}[lifetime]
        return self.random.uniform(5, most)

    def goodbye(self, service):
        self.truth("goodbye", [service])
        service.is_living = False
        service.host.say_goodbye(service)
        self.clock.after(0.25, lambda: service.host.say_goodbye(service))
        self.clock.after(self.random.uniform(4, 30), lambda: self.restart([service]))

    def crash(self, service):
        self.truth("crash", [service])
        service.is_living = False
        self.clock.after(self.absence(service.host.lifetime), lambda: self.restart([service]))

    def restart(self, services):
        """Once the link is up, as a program that is started then."""
        host = services[0].host
        if self.clock.now() < max(host.ready, self.blind_until):
            self.clock.after(1.0, lambda: self.restart(services))
            return
        for service in services:
            self.start(service)

    def change(self, service):
        service.version += 1
        self.announce(service.host, [service], "change")

    def crash_host(self, host):
        services = host.living()
        self.truth("crash", services, host=True)
        for service in services:
            service.is_living = False
        self.clock.after(self.absence(host.lifetime), lambda: self.restart(services))

    def flap(self, host):
        seconds = self.random.choice((0.2, 2, 20))
        host.ready = self.clock.now() + seconds + 6
        self.truth("down", host.services, seconds=seconds)
        self.network.switch_port(f"h{host.number}", False)

        def up():
            self.network.switch_port(f"h{host.number}", True)
            self.truth("up", host.services)
            self.clock.after(0.1, lambda: host.announce(host.living()))
            self.clock.after(1.1, lambda: host.announce(host.living()))
        self.clock.after(seconds, up)

    def blind(self):
        """The observers' own links."""
        seconds = self.random.choice((0.2, 2, 20))
        self.blind_until = self.clock.now() + seconds + 8
        self.log.write("blind", seconds=seconds)
        for observer in self.observers:
            self.network.switch_port(f"o{observer.number}", False)

        def up():
            for observer in self.observers:
                self.network.switch_port(f"o{observer.number}", True)
            self.log.write("sighted")
        self.clock.after(seconds, up)


def tap(number):
    """What reaches the observer's interface, after the loss, and what leaves it."""
    link = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
    link.bind(("v0", 3))
    link.setblocking(False)

    def readable(log):
        try:
            data, source = link.recvfrom(9000)
        except OSError:
            return
        if source[1] == 0x0800 and data[9] == 17 and data[22:24] == b"\x14\xe9":
            log.packet(number, source[2] == 4, data[28:])
    return link, readable


def programs(options, avahi):
    """What follows the services: words, how a line is read, and a different environment."""
    python = options.python or HERE.parent / ".build" / "venv" / "bin" / "python3"
    return {"nwpath": ([options.binary, "browse", "--json"], from_nwpath, None),
            "avahi-browse": (["avahi-browse", "-arp"], from_avahi, avahi.env),
            "python-zeroconf": ([python, HERE / "mdns" / "zeroconf_browse.py", "changes"], from_zeroconf, None)}


def follow(options, folder):
    """The run itself."""
    with contextlib.suppress(PermissionError):
        # Who else works on this machine should not make the hosts late; the programs inherit it.
        os.setpriority(os.PRIO_PROCESS, 0, -10)
    log = Log(folder)
    clock, outside = Clock(log), os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    network, observers, taps, hosts = Network(), [], [], []
    avahi = discovery.Avahi()
    with contextlib.ExitStack() as stack:
        stack.callback(setns, outside)
        stack.callback(log.close)
        for index in range(8):
            address = f"10.77.1.{index + 1}"
            network.add(f"h{index}", address)
            hosts.append(Host(index, address, LIFETIMES[index % 4], KINDS, clock, options.seed + index))
        for number, name in enumerate(discovery.NAMES):
            network.add(f"o{number}", f"10.77.0.{number + 1}")
            taps.append(tap(number))
            if name == "avahi-browse":
                stack.enter_context(avahi)
        network.lose([f"o{number}" for number in range(len(discovery.NAMES))], options.loss)
        for number, (name, (words, read, env)) in enumerate(programs(options, avahi).items()):
            setns(network.stations[f"o{number}"])
            observers.append(Observer(number, name, words, read, env))
            stack.callback(observers[-1].end)
        setns(network.switch)
        end = clock.now() + options.minutes * 60
        churn = Churn(network, hosts, observers, clock, log, options.seed, end, options.gap)
        log.write("begin", minutes=options.minutes, seed=options.seed, loss=options.loss, gap=options.gap)
        for host in hosts:
            for service in host.services:
                clock.after(churn.random.uniform(0, 10), lambda service=service: churn.start(service))
        clock.after(20, churn.next)
        turn(clock, log, hosts, observers, taps, end)
        log.write("end", cpu={each.name: measure.cpu(each.process.pid) for each in observers},
                  avahi=measure.cpu(avahi.daemon.pid) + measure.cpu(avahi.bus.pid), own=sum(os.times()[:2]),
                  load=os.getloadavg(), lost=network.lost())


def turn(clock, log, hosts, observers, taps, end):
    selector = selectors.DefaultSelector()
    for link, readable in taps:
        selector.register(link, selectors.EVENT_READ, lambda readable=readable: readable(log))
    for host in hosts:
        selector.register(host.socket, selectors.EVENT_READ, host.readable)
    for each in observers:
        selector.register(each.process.stdout, selectors.EVENT_READ, lambda each=each: each.readable(log))
    while clock.now() < end:
        for key, _ in selector.select(min(clock.left(), 1.0)):
            key.data()
        clock.work()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", metavar="PATH", default="nwpath", help="the nwpath to test (default: nwpath)")
    parser.add_argument("--python", metavar="PATH", help="a Python with zeroconf (default: that of .build/venv)")
    parser.add_argument("--minutes", type=float, default=60, help="how long (default 60)")
    parser.add_argument("--seed", type=int, default=1, help="draws the same events again (default 1)")
    parser.add_argument("--loss", type=int, default=10, help="packets lost each way, in %% (default 10)")
    parser.add_argument("--gap", type=float, default=4, help="mean seconds between two events (default 4)")
    parser.add_argument("--folder", type=pathlib.Path, required=True, help="where the log and all packets go")
    parser.add_argument("--judge", action="store_true", help="judge what a folder has instead of running")
    parser.add_argument("--json", action="store_true", help="print the results as JSON instead of a table")
    options = parser.parse_args()
    if not options.judge and not shutil.which(options.binary):
        parser.error(f"no program at '{options.binary}'; build it and name it with --binary")
    return options


def main():
    options = arguments()
    if not options.judge:
        follow(options, options.folder)
    results = judged(options.folder, discovery.NAMES)
    (options.folder / "results.json").write_text(json.dumps(results, indent=2) + "\n")
    print(json.dumps(results, indent=2) if options.json else table(results))
    return 0 if results["met"] else 1


if __name__ == "__main__":
    sys.exit(main())
