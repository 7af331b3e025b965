# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""A machine and a router, each a network namespace of a stock kernel, and the Internet behind the router.

The router is an ordinary kernel, so that LACP, WireGuard, hostapd and others have a real peer; what passes it is answered
and recorded by the oracle's wire. A step changes something and then holds nwpath against packets.
"""
import calendar, contextlib, json, os, re, shlex, signal, subprocess, sys, time

for folder in ("Oracle", "Lab"):
    sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), folder))
from judgement import LATENCY, Seen, Step, answer, brief, judge, judge_path, latency, truth  # noqa: E402
from machine import CLONE_NEWNET, LIBC, Machine, call  # noqa: E402
from measure import destinations  # noqa: E402
from published import Daemon, Tool  # noqa: E402
from sender import Flow, Sender  # noqa: E402
from wire import Wire  # noqa: E402

CLONE_NEWNS, MS_REC, MS_PRIVATE, MS_BIND = 0x00020000, 16384, 1 << 18, 4096
TRIED = 3
NAME_SERVER = "8.8.4.4"
# An emulated kernel on a busy machine: how long a connection, a start, a step may take.
ANSWER, START, HOLD = 0.7, 60, 3.0
SETTLED = 0.5


class SceneError(Exception):
    """A scenario that cannot be set up."""


class Scene:
    """One scenario's world; what its steps found is in `records`."""

    def __init__(self, name, folder, binary, report, radios=(), slow=1.0):
        self.name, self.folder, self.binary, self.report, self.radios = name, folder, binary, report, list(radios)
        self.user, self.prefix, self.daemon, self.was, self.slow = 0, [], None, None, slow
        self.changed, self.position, self.programs = time.time(), 0, []
        os.makedirs(folder)
        call(LIBC.unshare(CLONE_NEWNS))
        call(LIBC.mount(None, b"/", None, MS_REC | MS_PRIVATE, None))
        self.home = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        self.system = os.open("/sys", os.O_PATH | os.O_CLOEXEC)
        self.wire = Wire()
        self.make_router()
        self.machine = Machine()
        self.machine.set("ipv6/conf/default/router_solicitations", 0)
        # /sys shows the network namespace of who mounted it.
        call(LIBC.mount(b"sysfs", b"/sys", b"sysfs", 0, None))
        call(LIBC.mount(b"cgroup2", b"/sys/fs/cgroup", b"cgroup2", 0, None))
        with open(f"{folder}/resolv.conf", "w") as file:
            file.write(f"nameserver {NAME_SERVER}\n")
        call(LIBC.mount(f"{folder}/resolv.conf".encode(), b"/etc/resolv.conf", None, MS_BIND, None))
        self.sender = Sender(self.user, ANSWER * slow)
        self.monitor = self.start("machine", "ip", "-ts", "-o", "monitor", "link", "address", "route", "rule")

    def make_router(self):
        self.router = Machine()
        for key in ("ipv4/ip_forward", "ipv6/conf/all/forwarding", "ipv6/conf/all/keep_addr_on_down",
                    "ipv6/conf/default/keep_addr_on_down"):
            self.router.set(key, 1)
        internet = f"/proc/{os.getpid()}/fd/{self.wire.descriptor}"
        self.router.batch([f"link add up0 index 90 type veth peer name internet index 91 netns {internet}", "link set up0 up",
                           "address add 192.0.2.2/24 dev up0", "address add 2001:db8:fe::2/64 dev up0 nodad",
                           "route add default via 192.0.2.1", "route add default via 2001:db8:fe::1 dev up0"])
        self.wire.add_port("internet")

    # What scenarios are made of

    def here(self, *lines):
        """Commands on the machine; neighbouring ones of ip(8) in one run of it. The moment before is that of the change."""
        self.changed = time.time()
        self.play(self.machine, lines)

    def there(self, *lines):
        """Commands on the router."""
        self.changed = time.time()
        self.play(self.router, lines)

    @staticmethod
    def play(machine, lines):
        batch = []
        for line in lines:
            if re.match(r"ip (link|address|route|neigh|vrf|rule) ", line):
                batch.append(line.removeprefix("ip "))
                continue
            if batch:
                machine.batch(batch)
                batch = []
            word, _, rest = line.partition(" ")
            if word == "sysctl":
                machine.set(*rest.split("="))
            else:
                machine.run(*shlex.split(line))
        if batch:
            machine.batch(batch)

    def start(self, where, *words, log=None):
        """A program that goes on, also at "home", where radios come from; its output is in the scenario's folder."""
        if where == "home":
            call(LIBC.setns(self.home, CLONE_NEWNET))
        else:
            getattr(self, where).enter()
        output = open(f"{self.folder}/{log or os.path.basename(words[0])}", "a")
        program = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        self.programs.append(program)
        return program

    def kill(self, program, how=signal.SIGTERM):
        """Ends a program: a change too."""
        self.changed = time.time()
        program.send_signal(how)
        try:
            program.wait(5)
        except subprocess.TimeoutExpired:
            program.kill()
            program.wait()

    def cable(self, number=0, address=True, default=True, metric=None):
        """e0 on the machine, f0 on the router (10.1.0.1, 2001:db8:1::1); e1 and f1 have the next networks."""
        self.cables(number)
        net, device = number + 1, f"f{number}"
        self.there(f"ip link set {device} up", *self.gateway(device, net))
        self.here(f"ip link set e{number} up", *(self.address(f"e{number}", net) if address else ()),
                  *(self.default(f"e{number}", net, metric) if default else ()))

    def cables(self, *numbers):
        """Cables without anything: their ends are down."""
        router = f"/proc/{os.getpid()}/fd/{self.router.descriptor}"
        self.here(*(f"ip link add e{n} index {10 + n} type veth peer name f{n} index {50 + n} netns {router}"
                    for n in numbers))

    def switch(self, *numbers):
        """Cables into one switch, which is the router too: sw0."""
        self.cables(*numbers)
        self.there("ip link add sw0 type bridge", *(f"ip link set f{n} master sw0 up" for n in numbers), "ip link set sw0 up",
                   *self.gateway("sw0", 1))

    @staticmethod
    def gateway(device, net=1):
        return [f"ip address add 10.{net}.0.1/24 dev {device}", f"ip address add 2001:db8:{net}::1/64 dev {device} nodad"]

    @staticmethod
    def address(device, net=1):
        return [f"ip address add 10.{net}.0.2/24 dev {device}", f"ip address add 2001:db8:{net}::2/64 dev {device} nodad"]

    @staticmethod
    def default(device, net=1, metric=None, table=None):
        end = (f" metric {metric}" if metric else "") + (f" table {table}" if table else "")
        return [f"ip route add default via 10.{net}.0.1 dev {device}{end}",
                f"ip route add default via 2001:db8:{net}::1 dev {device}{end}"]

    def wait(self, condition, what, seconds=30):
        """Waits for something that takes a moment; the next step's change is that it came."""
        end = time.monotonic() + seconds * self.slow
        self.changed = time.time()
        while not condition():
            if time.monotonic() > end:
                raise SceneError(f"waited {seconds} s in vain for {what}")
            time.sleep(0.1)
            self.changed = time.time()

    def says(self, pattern, *words, where="machine"):
        """Whether the output of a command matches."""
        return re.search(pattern, getattr(self, where).run(*words, check=False).stdout) is not None

    def at_home(self, *words):
        """A command in the guest's first network namespace, where radios come from, with its /sys."""
        call(LIBC.setns(self.home, CLONE_NEWNET))
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode != 0:
            raise SceneError(f"{' '.join(words)}: {done.stdout} {done.stderr}")
        return done.stdout

    def named(self, address):
        """The names of the interfaces there that have a hardware address."""
        return re.findall(rf"^\d+: ([^:@]+).* {address} ", self.at_home("ip", "-o", "link"), re.MULTILINE)

    def logged(self, pattern):
        """Whether a record of the log since the last step matches, as `event: message`."""
        return any(re.search(pattern, f"{record['event']}: {record['message']}") for record in self.events())

    def process(self, where):
        """The process id of a program in a namespace, for what names a namespace by one."""
        return self.start(where, "sleep", "infinity").pid

    def rfkill(self):
        """The number of the switch of the scenario's first radio."""
        base = f"/proc/self/fd/{self.system}/class/rfkill"
        for entry in os.listdir(base):
            try:
                with open(f"{base}/{entry}/name") as file:
                    if file.read().strip() == self.radios[0][0]:
                        return entry.removeprefix("rfkill")
            except FileNotFoundError:
                # The radio of another scenario that just ended.
                continue
        raise SceneError(f"no switch of {self.radios[0][0]}")

    def hardware(self, where, device):
        """The hardware address of an interface."""
        return json.loads(getattr(self, where).run("ip", "-j", "link", "show", "dev", device).stdout)[0]["address"]

    # What nwpath says

    def as_user(self, capabilities=None):
        """How the service and the commands run: as root, with all capabilities unless they are named."""
        if capabilities is None:
            return list(self.prefix)
        grant = ",".join(["-all"] + [f"+{name}" for name in capabilities])
        return [*self.prefix, "setpriv", "--no-new-privs", "--bounding-set", grant, "--inh-caps", grant]

    def serve(self, configuration="", prefix=(), capabilities=None, since_start=False):
        """Starts the service, in `ip vrf exec` or the like where a prefix says so.

        since_start: the first step sees the events of the start too.
        """
        self.prefix = list(prefix)
        self.machine.enter()
        self.daemon = Daemon(self, self.binary, "service", capabilities, None, configuration, START * self.slow)
        self.tool = Tool(self, self.binary, capabilities, START * self.slow)
        time.sleep(SETTLED)
        self.position = 0 if since_start else max(record["seq"] for record in self.events())
        self.was = answer(self.daemon.status())

    def events(self):
        """The records of the log since the last call."""
        with open(f"{self.daemon.folder}/events.jsonl") as file:
            return [record for record in map(json.loads, file) if record["seq"] > self.position]

    def monitored(self):
        """What `ip monitor` printed: (time, line)."""
        with open(f"{self.folder}/ip") as file:
            found = [re.match(r"\[(\d+)-(\d+)-(\d+)T(\d+):(\d+):([\d.]+)\] ?(.*)", line) for line in file]
        return [(calendar.timegm(tuple(int(match[n]) for n in range(1, 6)) + (0,)) + float(match[6]), match[7])
                for match in found if match]

    # A step

    def send(self, device=None):
        """Connections to destinations of each family and a query: how many got through, by family, and what went wrong."""
        flows = [Flow("tcp", to, 443, device) for family in (4, 6) for to in destinations(family)[:TRIED]]
        flows.append(Flow("udp", NAME_SERVER, 53, device))
        self.wire.clear()
        sent = self.sender.send(flows)
        arrived = {(frame.destination, frame.dport) for frame in self.wire.frames}
        works = [one for one in sent if one.answered and (one.flow.destination, one.flow.port) in arrived]
        counts = {family: sum(one.flow.protocol == "tcp" and (":" in one.flow.destination) == (family == "6") for one in works)
                  for family in "46"}
        errors = {one.error or "no answer" for one in sent if one not in works}
        return counts, any(one.flow.port == 53 for one in works), sorted(errors)

    def look(self, device, view):
        """One round: packets, and the status at once."""
        counts, names, errors = self.send(device)
        status = self.daemon.status()
        if view:
            status = status | {"path": next(one["path"] for one in self.daemon.get("/api/v1/paths")["paths"]
                                            if one["monitor"] == view)}
            names = None
        return Seen(counts, TRIED, errors, names, status, changed=self.changed)

    def step(self, label, works="46", hold=HOLD, device=None, view=None, settle=0.3, **asked):
        """Holds nwpath against packets until both agree or for as long as is allowed, and reports what is wrong.

        device: what packets are bound to, as `ip vrf exec` binds them. view: another path than the default one.
        """
        step = Step(label, works, **asked)
        time.sleep(settle)
        end = time.monotonic() + hold * self.slow
        while True:
            seen = self.look(device, view)
            if not judge_path(step, seen) or time.monotonic() > end:
                break
            time.sleep(0.2)
        for last in (False, True):
            seen = self.complete(step, seen, view)
            wrong = judge(step, seen, LATENCY * self.slow)
            if not wrong or last:
                break
            time.sleep(0.5)
        if view is None:
            self.was = answer(seen.status)
        # What comes while `nwpath why` runs is the next step's.
        self.position = max(self.position, seen.status.get("seq", 0))
        sent, said = brief(seen)
        self.report({"record": "step", "scenario": self.name, "label": label, "sent": sent, "said": said, "wrong": wrong,
                     "latency": latency(step, seen) if seen.flipped and truth(seen) == works else None,
                     "details": self.details(seen)})

    def complete(self, step, seen, view):
        """What `nwpath why`, the interfaces and the log say."""
        self.machine.enter()
        flipped = self.was is not None and bool(self.was) != bool(step.works) and view is None
        whys = [] if view or step.why == "" else [self.tool.why()]
        interfaces = {name: self.daemon.get(f"/api/v1/interfaces/{name}") for name, _, _ in step.facts}
        return seen._replace(whys=whys, interfaces=interfaces, events=self.events(), monitored=self.monitored(),
                             flipped=flipped)

    def details(self, seen):
        path, lines = seen.status["path"], []
        lines.append(f"path: {path.get('message')} hint: {path.get('hint')} warnings: {path.get('warnings')}")
        lines += [f"why: {why['verdict']}: {why['message']}" for why in seen.whys]
        lines += [f"errors: {seen.errors}"] if seen.errors else []
        return lines + [f"{record['time'][11:22]} {record['severity']} {record['event']}: {record['message']}"
                        for record in seen.events]

    def close(self):
        """Ends the service; an error in words if it did not end well."""
        if self.daemon:
            ended = self.daemon.process.poll()
            if ended is not None:
                raise SceneError(f"the service ended by itself with {ended}: {self.daemon.process.stderr.read()}")
            if not self.daemon.stop():
                raise SceneError("the service does not end")
