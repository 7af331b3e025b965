# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""The machine of the corpus, the network that it is on, and what happens to it.

All of it is made inside namespaces of network, mounts, processes and host name that `record` has entered, so it ends
with the first process of them.
"""
import json, os, pathlib, signal, socket, subprocess, sys, time

HERE = pathlib.Path(__file__).resolve().parent
PLACE = pathlib.Path("/run/corpus")
BINARY = PLACE / "nwpath"
CONFIGURATION = pathlib.Path("/etc/nwpath/nwpath.yaml")
LOG = pathlib.Path("/var/log/nwpath/events.jsonl")
SOCKET = "/run/nwpath/api.sock"
ROUTERS = ("192.0.2.1", "192.0.2.2")
ANCHOR, SERVER = "198.51.100.80", "198.51.100.53"

# Whatever goes by the clock is rare. A veth counts for plumbing of containers unless it is required.
SETTINGS = f"""\
log: {{level: debug}}
debounce: {{quiet: 300ms, cap: 3s}}
audit_interval: 10m
interfaces:
  eth0: {{required: true}}
monitors:
  wired: {{required_type: wiredEthernet}}
  wireless: {{required_type: wifi}}
views:
  marked: {{mark: 0x7}}
probes:
  active:
    gateway: {{target: gateway, interval: 1h, threshold: 1}}
    names: {{method: dns, target: example.test, interval: 1h, threshold: 1}}
    page: {{target: "http://{ANCHOR}/generate_204", expect_status: [204], interval: 1h, threshold: 1}}
mdns:
  census_interval: 1h
  watched: [_ipp._tcp/Office Printer, _ssh._tcp]
diagnosis:
  enabled: true
  anchors: [{{name: a, host: example.test, addr4: {ANCHOR}}}]
  ca: {PLACE}/pem
  budgets: {{rtt_ms: 5000, jitter_ms: 5000, loss_pct: 90}}
"""

BUS = f"""<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>system</type><listen>unix:path={PLACE}/bus</listen><auth>EXTERNAL</auth><policy context="default">
<allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy></busconfig>
"""

# By one family, which has the addresses of both: which of two is heard first is chance.
AVAHI = """[server]
host-name=printer
use-ipv4=no
use-ipv6=yes
allow-interfaces=eth1
[publish]
publish-a-on-ipv6=yes
publish-workstation=no
publish-hinfo=no
[rlimits]
"""


SERVICES = ["Office Printer", "Shell"]
PROBES = ["gateway", "names", "page"]
# How long nothing is told before a chapter is over; a headline is told when it has stood for a second.
QUIET = 1.3


class CorpusError(Exception):
    """Why there is no corpus, in one line."""


def run(*words, check=True, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=60, **options)
    if check and done.returncode != 0:
        raise CorpusError(f"{' '.join(map(str, words))}: {(done.stderr or done.stdout).strip()}")
    return done


def takes_connections(path):
    """Whether somebody listens at a unix socket, which may be there before."""
    with socket.socket(socket.AF_UNIX) as connection:
        return connection.connect_ex(str(path)) == 0


def until(condition, what, seconds=45):
    """Waits for a state, never for a time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise CorpusError(f"waited {seconds} s in vain for {what}")
        time.sleep(0.05)


class World:
    """The machine with one cable, and at its other end a router, a host of the Internet and a host with services."""

    def __init__(self, binary):
        self.processes = []
        self.furnish(binary)
        self.lay_cable()
        self.populate()

    def furnish(self, binary):
        """The folders that a daemon of root uses by default, empty, and files of /etc that it reads."""
        run("hostname", "corpus")
        run("mount", "--make-rprivate", "/")
        program = os.open(binary, os.O_RDONLY)
        for folder in ("/run", "/var/log", "/var/lib"):
            run("mount", "-t", "tmpfs", "none", folder)
        for folder in (PLACE / "etc", PLACE / "work", PLACE / "none", "/run/avahi-daemon", "/var/log/nwpath",
                       "/var/lib/nwpath", "/run/nwpath", "/run/lock"):
            os.makedirs(folder)
        BINARY.touch()
        run("mount", "--bind", f"/proc/self/fd/{program}", BINARY, pass_fds=[program])
        os.close(program)
        run("sh", "-c", f"cp -a /etc/. {PLACE}/etc 2>/dev/null; rm -rf {PLACE}/etc/nwpath; mkdir -p {PLACE}/etc/nwpath")
        run("mount", "--bind", PLACE / "etc", "/etc")
        files = {"resolv.conf": f"nameserver {SERVER}\nsearch example.test\n", "hosts": "127.0.0.1 localhost\n",
                 "nsswitch.conf": "hosts: files dns\n", "nwpath/nwpath.yaml": SETTINGS}
        for name, text in files.items():
            (PLACE / "etc" / name).unlink(missing_ok=True)
            (PLACE / "etc" / name).write_text(text)
        run("sh", "-c", "rm -f /etc/avahi/services/*")
        run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
            "-keyout", PLACE / "key", "-out", PLACE / "pem", "-subj", "/CN=x", "-days", "2",
            "-addext", "subjectAltName=DNS:example.test")

    def lay_cable(self):
        run("ip", "netns", "add", "far")
        for setting in ("all/accept_dad", "default/accept_dad", "default/accept_ra", "default/router_solicitations"):
            for inside in ([], self.far()):
                run(*inside, "sysctl", "-qw", f"net.ipv6.conf.{setting.replace('/', '.')}=0")
        run("sysctl", "-qw", "net.ipv4.ping_group_range=0 65535", check=False)
        self.ip("link set lo up",
                "link add eth0 index 10 address 02:00:5e:00:00:0a type veth peer name eth1 index 20 "
                "address 02:00:5e:00:00:14 netns far")
        self.ip("link set lo up", "link set eth1 up", *(f"address add {router}/24 dev eth1" for router in ROUTERS),
                "address add 2001:db8::1/64 dev eth1 nodad", f"address add {ANCHOR}/32 dev lo",
                f"address add {SERVER}/32 dev lo", inside=self.far())

    def know_routers(self):
        """Puts both routers into the neighbour table for good; when they are asked is chance otherwise."""
        self.ip(*(f"neigh replace {router} lladdr 02:00:5e:00:00:14 dev eth0 nud permanent" for router in ROUTERS))

    def far(self):
        return ["nsenter", "--net=/run/netns/far"]

    def ip(self, *lines, inside=()):
        run(*inside, "ip", "-batch", "-", input="\n".join(lines) + "\n")

    def populate(self):
        """Servers of the far end: names, pages, and avahi with two services."""
        self.start([*self.far(), "dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv",
                    "--no-hosts", f"--listen-address={SERVER}", "--bind-interfaces", "--user=root", "--group=root",
                    "--pid-file=", "--address=/example.test/" + ANCHOR])
        self.start([*self.far(), sys.executable, "-B", HERE / "pages.py", PLACE / "pem", PLACE / "key"])
        (PLACE / "bus.conf").write_text(BUS)
        (PLACE / "avahi.conf").write_text(AVAHI)
        self.start(["dbus-daemon", "--nofork", f"--config-file={PLACE}/bus.conf"])
        until(lambda: takes_connections(PLACE / "bus"), "the message bus")
        self.start([*self.far(), *self.bus(), "avahi-daemon", "--no-drop-root", "--no-rlimits", "--no-chroot", "-f",
                    PLACE / "avahi.conf"])
        self.printer = self.publish("Office Printer", "_ipp._tcp", 631, "ty=Laser 9", "rp=printers/office", "Color=T")
        self.shell = self.publish("Shell", "_ssh._tcp", 22)
        for port in (53, 80, 443):
            until(lambda: f":{port}" in run(*self.far(), "ss", "-Hltn", f"sport = :{port}").stdout, f"port {port}")

    def bus(self):
        return ["env", f"DBUS_SYSTEM_BUS_ADDRESS=unix:path={PLACE}/bus"]

    def publish(self, name, kind, port, *text):
        return self.start([*self.far(), *self.bus(), "avahi-publish", "-f", "-s", name, kind, port, *text])

    def start(self, words, output=subprocess.DEVNULL):
        process = subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=output,
                                   stderr=subprocess.STDOUT)
        self.processes.append(process)
        return process


def ask(route, method="GET", body=None):
    """An answer through the unix socket, which may do everything: the status and the document."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(20)
        connection.connect(SOCKET)
        connection.sendall(f"{method} {route} HTTP/1.0\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n".encode())
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    head, _, body = answer.partition(b"\r\n\r\n")
    status = int(head.split()[1])
    return status, json.loads(body) if body[:1] in (b"{", b"[") else body.decode()


class Story:
    """What happens, in chapters; each ends when everything that it brings about is told."""

    def __init__(self, world):
        self.world = world
        self.chapters = []  # name, number of lines of the log at its end

    def lines(self):
        return LOG.read_text().splitlines() if LOG.exists() else []

    def events(self):
        """What was told in this chapter: the names of the events with what they are about."""
        begin = self.chapters[-1][1] if self.chapters else 0
        return [json.loads(line) for line in self.lines()[begin:]]

    def settle(self, name, *conditions):
        """Waits for each condition, for the end of an examination, and until nothing more is told."""
        for place, condition in enumerate(conditions, 1):
            until(condition, f"condition {place} of {len(conditions)} of the chapter {name!r}")
        seen, since = len(self.lines()), time.monotonic()
        while time.monotonic() - since < QUIET:
            time.sleep(0.05)
            if len(self.lines()) != seen or self.diagnosis()["running"]:
                seen, since = len(self.lines()), time.monotonic()
        self.chapters.append((name, seen))

    def diagnosis(self):
        return ask("/api/v1/diagnosis")[1]

    def examine(self):
        """Lets the diagnosis examine the machine as it is now, and waits for the result."""
        until(lambda: not self.diagnosis()["running"], "the end of an examination")
        until(lambda: ask("/api/v1/diagnosis", "POST")[0] == 202, "an examination")
        until(lambda: not self.diagnosis()["running"], "the end of an examination")

    def probed(self):
        """Whether each probe of the configuration was run since the path last changed.

        Those that the service adds, such as one for each name server, run only where there is a path for them.
        """
        since = [one["time"] for one in self.events() if one["event"] in ("path.changed", "config.reloaded")][-1]
        probes = ask("/api/v1/probes")[1]["probes"]
        return all(probe["last"] and probe["last"]["time"] > since and not probe["running"]
                   for probe in probes if probe["name"] in PROBES)

    def services(self):
        return sorted(service["name"] for service in ask("/api/v1/services")[1]["services"])

    def play(self, output):
        """Everything but the end; the daemon prints to a file. Yields when there is something to be looked at."""
        world = self.world
        self.daemon = world.start([BINARY, "serve"], output=output)
        until(lambda: os.path.exists(SOCKET) or self.daemon.poll() is not None, "the unix socket of the daemon")
        if self.daemon.poll() is not None:
            said = (PLACE / "output").read_text().strip().splitlines()
            raise CorpusError(f"`serve` ended with {self.daemon.returncode}: {said[-1] if said else 'it said nothing'}")
        until(lambda: ask("/-/ready")[0] == 200, "the daemon to be ready")
        yield "start"
        self.settle("start", self.when("verdict.raised"), self.when("probe.failed", times=3),
                    self.when("census.completed"))
        world.ip("link set eth0 up", "address add 192.0.2.10/24 dev eth0",
                 "address add 2001:db8::10/64 dev eth0 nodad")
        world.know_routers()
        self.settle("up", lambda: self.services() == SERVICES, self.when("verdict.raised"),
                    self.when("verdict.cleared"), self.when("headline.changed"), self.when("census.completed"))
        yield "up"
        world.ip("route add default via 192.0.2.1")
        self.settle("route", self.when("path.changed"), self.when("verdict.cleared"),
                    self.when("probe.recovered", times=3), self.online, self.probed)
        world.ip("route replace default via 192.0.2.2")
        self.settle("replace", self.when("path.changed"), self.probed)
        world.ip("link set eth1 down", inside=world.far())
        self.settle("lost", self.when("path.changed"), self.when("verdict.raised"),
                    self.when("headline.changed"), lambda: self.services() == [],
                    self.when("probe.failed", times=3), self.probed)
        yield "lost"
        world.ip("link set eth1 up", inside=world.far())
        self.settle("recovery", self.when("path.changed"), self.when("verdict.cleared"), self.online,
                    lambda: self.services() == SERVICES, self.when("probe.recovered", times=3), self.probed,
                    self.when("services.found"))
        world.shell.send_signal(signal.SIGTERM)
        self.settle("goodbye", self.when("service.removed"), self.when("service_type.removed"))
        self.reload()
        yield "end"

    def when(self, event, times=1):
        return lambda: sum(one["event"] == event for one in self.events()) >= times

    def online(self):
        told = [one for one in self.events() if one["event"] == "headline.changed"]
        return bool(told) and told[-1]["headline"]["state"] == "online"

    def reload(self):
        """Another threshold, a mistake, and the old threshold again."""
        self.answers = []
        for settings in (SETTINGS.replace("threshold: 1", "threshold: 2"), "mdns: {enabeld: true}\n", SETTINGS):
            CONFIGURATION.write_text(settings)
            self.answers.append(ask("/-/reload", "POST"))
        self.examine()
        self.settle("reload", self.when("config.reloaded", times=2), self.when("config.rejected"))

    def stop(self):
        self.daemon.send_signal(signal.SIGTERM)
        code = self.daemon.wait(20)
        self.chapters.append(("stop", len(self.lines())))
        return code

