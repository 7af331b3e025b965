# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""Namespaces, the two programs under test, and what the kernel says they cost."""
import ctypes, functools, json, math, os, pathlib, re, resource, shutil, signal, socket, subprocess, tempfile, time

GENERATORS = pathlib.Path(__file__).parent / ".build"
PORT = 18353
BUILD_SECONDS = 1800
LIMIT = 900  # seconds any one step may take
OTHERS = math.inf  # what a benchmark yields to wait until no other one waits for a time


class Failed(Exception):
    """A measurement could not be taken."""


def run(*words, check=True, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=LIMIT, **options)
    if check and done.returncode != 0:
        raise Failed(f"{' '.join(map(str, words))}: {done.stderr.strip() or done.returncode}")
    return done.stdout


def ip(words, check=True):
    return run("ip", *words.split(), check=check)


def generate(program, *words, **options):
    return run(GENERATORS / program, *words, **options)


@functools.cache
def built(package, name):
    """Compiles a package of this folder, and gives the path of its program."""
    words = [os.environ.get("SWIFT", "swift"), "build", "-c", "release", "--package-path",
             str(pathlib.Path(__file__).parent / package)]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=BUILD_SECONDS)
    if done.returncode != 0:
        raise Failed(f"{' '.join(words)}: {done.stdout[-500:]}")
    return run(*words, "--show-bin-path").strip() + f"/{name}"


def namespace():
    """A descriptor of the network namespace that this process is in."""
    return os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)


def enter_namespace(descriptor):
    if os.path.samestat(os.fstat(descriptor), os.stat("/proc/thread-self/ns/net")):
        return
    library = ctypes.CDLL(None, use_errno=True)
    if library.setns(descriptor, 0x40000000) != 0:
        raise Failed(f"setns: {os.strerror(ctypes.get_errno())}")


def enter_new_namespace(*, six=True):
    """Moves this process into a network namespace of its own: uplink v0 with a default route, u0 for other routes."""
    if ctypes.CDLL(None, use_errno=True).unshare(0x40000000) != 0:  # CLONE_NEWNET
        raise Failed(f"unshare: {os.strerror(ctypes.get_errno())}; run as root or under unshare -rn")
    settings = ["accept_dad=0", "router_solicitations=0"] + ([] if six else ["disable_ipv6=1"])
    run("sysctl", "-qw", *(f"net.ipv6.conf.default.{setting}" for setting in settings))
    ip("link set lo up")
    for here, there in (("v0", "v1"), ("u0", "u1")):
        ip(f"link add {here} type veth peer name {there}")
        ip(f"link set {there} up")
        ip(f"link set {here} up")
    ip("address add 10.1.0.2/16 dev v0")
    ip("route add default via 10.1.0.1 dev v0 metric 100")


class Peer:
    """A second namespace, held open by a sleeping process."""

    def __enter__(self):
        self.process = subprocess.Popen(["unshare", "--net", "sleep", str(LIMIT)])
        until(lambda: os.readlink(f"/proc/{self.process.pid}/ns/net") != os.readlink("/proc/self/ns/net"), 5,
              "the peer namespace")
        return self.process.pid

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def more_descriptors():
    """Lets this process and its children open as many files as the system allows."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if most < 16_384:
        raise Failed(f"only {most} open files are allowed; 16384 are needed (ulimit -Hn)")
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def until(condition, seconds, what, period=0.01):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise Failed(f"{what}: not within {seconds} s")
        time.sleep(period)


# ---- What the kernel says about a process

def tree(pid):
    """A process and all its descendants."""
    parents = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                stat = pathlib.Path(entry.path, "stat").read_text()
            except OSError:
                continue
            parents.setdefault(int(stat.rpartition(")")[2].split()[1]), []).append(int(entry.name))
    found = [pid]
    for process in found:
        found += parents.get(process, [])
    return found


def scheduled_ns(pid):
    """Time on a processor of all living threads, in ns (first field of schedstat)."""
    return sum(int(path.read_text().split()[0]) for path in pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat"))


def cpu(pid):
    """CPU seconds of a process tree, exact to the ns where it lives and to 10 ms for children already reaped."""
    total = 0.0
    for process in tree(pid):
        ticks = pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        # The process clock (CPUCLOCK_SCHED of another process) also holds threads that have ended.
        total += max(time.clock_gettime((~process << 3) | 2), scheduled_ns(process) / 1e9)
        total += (int(ticks[13]) + int(ticks[14])) / os.sysconf("SC_CLK_TCK")
    return total


def memory(pid):
    """VmRSS and RssAnon in MiB."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return tuple(int(re.search(rf"^{name}:\s+(\d+) kB", status, re.M)[1]) / 1024 for name in ("VmRSS", "RssAnon"))


def wakeups(pid):
    """Times a thread of the tree went to sleep of its own will and so was woken again."""
    pattern = re.compile(r"^voluntary_ctxt_switches:\s+(\d+)", re.M)
    return sum(int(pattern.search(path.read_text())[1]) for process in tree(pid)
               for path in pathlib.Path(f"/proc/{process}/task").glob("*/status"))


def netlink_sockets(pid):
    """(joined groups, messages dropped) of each netlink socket of a process, from /proc/net/netlink."""
    inodes = set()
    for entry in os.scandir(f"/proc/{pid}/fd"):
        try:
            inodes.add(os.readlink(entry.path))
        except OSError:
            continue
    rows = [line.split() for line in pathlib.Path("/proc/net/netlink").read_text().splitlines()[1:]]
    return [(int(row[3], 16), int(row[8])) for row in rows if f"socket:[{row[9]}]" in inodes]


def busy_seconds():
    """CPU seconds the whole machine has been busy, and seconds stolen from it."""
    words = pathlib.Path("/proc/stat").read_text().split("\n")[0].split()[1:9]
    user, nice, system, _, _, hard, soft, steal = (int(word) / os.sysconf("SC_CLK_TCK") for word in words)
    return user + nice + system + hard + soft, steal


# ---- The programs under test

class Listener:
    """A program that listens to the kernel; its files go to a directory that ends with it."""
    etc = None

    def __enter__(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="nwpath-bench-"))
        try:
            self.start()
            self.ready()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        process = getattr(self, "process", None)
        if process is not None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if process.stdout:
                process.stdout.close()
        shutil.rmtree(self.directory, ignore_errors=True)
        if self.etc:
            shutil.rmtree(self.etc, ignore_errors=True)

    @property
    def pid(self):
        if self.process.poll() is not None:
            tail = (self.directory / "stderr").read_text()[-300:].strip()
            raise Failed(f"{self.name} ended with {self.process.returncode}: {tail}")
        return self.process.pid

    def dropped(self):
        return sum(drops for _, drops in netlink_sockets(self.pid))



def drain(*running):
    """Waits until listeners have worked off what they received: no CPU used for 0.3 s."""
    before, end = [-1.0] * len(running), time.monotonic() + 60
    while time.monotonic() < end:
        now = [cpu(each.pid) for each in running]
        if all(new - old <= 0.001 for new, old in zip(now, before)):
            return
        before = now
        time.sleep(0.3)


class Load:
    """A generator at work, from when the listeners have worked off what was before."""

    def __init__(self, running, program, *words):
        self.running, self.words = running, [str(word) for word in (GENERATORS / program, *words)]

    def __enter__(self):
        drain(*self.running)
        self.before = [(cpu(each.pid), each.dropped()) for each in self.running]
        self.process = subprocess.Popen(self.words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, text=True)
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def finish(self):
        """CPU seconds that each listener used for it, and messages that each lost, by name."""
        errors = self.process.communicate(timeout=LIMIT)[1]
        if self.process.returncode != 0:
            raise Failed(f"{' '.join(self.words)}: {errors.strip() or self.process.returncode}")
        drain(*self.running)
        pairs = list(zip(self.running, self.before))
        return ({each.name: cpu(each.pid) - used for each, (used, _) in pairs},
                {each.name: each.dropped() - lost for each, (_, lost) in pairs})


class IpMonitor(Listener):
    name = "ip monitor"

    def __init__(self, output="null"):
        self.output = output

    @property
    def log(self):
        return self.directory / "out"

    def start(self):
        with open(self.log, "wb") as out, open(self.directory / "stderr", "wb") as errors:
            target = {"null": subprocess.DEVNULL, "pipe": subprocess.PIPE, "file": out}[self.output]
            self.process = subprocess.Popen(["ip", "monitor"], stdout=target, stderr=errors)

    def ready(self):
        until(lambda: any(groups for groups, _ in netlink_sockets(self.pid)), 5, self.name)

    def overruns(self):
        return (self.directory / "stderr").read_text().count("No buffer space")

    def gateways(self):
        """The gateways of the default routes it printed, in order."""
        return re.findall(r"^default via (\S+)", self.log.read_text(), re.M)


class Nwpath(Listener):
    name = "nwpath"
    binary = None

    def __init__(self, debounce=None, output="file", connectivity=None):
        self.debounce, self.output, self.connectivity = debounce, output, connectivity
        self.settings = ""

    @property
    def log(self):
        return self.directory / "events.jsonl"

    @property
    def socket(self):
        return self.directory / "api.sock"

    def start(self):
        words = [self.binary, "serve", "--listen", f"unix:{self.socket}", "--listen", f"127.0.0.1:{PORT}",
                 "--log-file", "-" if self.output == "pipe" else self.log, "--state-dir", self.directory / "state",
                 "--no-mdns", "--config", self.configuration()]
        words += [] if self.debounce is None else ["--debounce", self.debounce]
        words += [] if self.connectivity is None else ["--connectivity", self.connectivity]
        target = subprocess.PIPE if self.output == "pipe" else subprocess.DEVNULL
        with open(self.directory / "stderr", "wb") as errors:
            self.process = subprocess.Popen(self.command(words), stdin=subprocess.DEVNULL, stdout=target, stderr=errors,
                                            env=self.environment())

    def configuration(self):
        """A file with the settings, and with a name server of the namespace instead of this machine's.

        The service watches all directories above resolv.conf, so they are not those where others make files.
        """
        GENERATORS.mkdir(exist_ok=True)
        self.etc = folder = pathlib.Path(tempfile.mkdtemp(prefix="etc-", dir=GENERATORS))
        (folder / "resolv.conf").write_text("nameserver 10.1.0.1\n")
        (folder / "config.yaml").write_text(f"dns: {{resolv_conf: {folder}/resolv.conf}}\n{self.settings}")
        return folder / "config.yaml"

    def command(self, words):
        return words

    def environment(self):
        return None

    def ready(self, seconds=30, period=0.01):
        until(self.answers, seconds, "the first status", period)

    def answers(self):
        try:
            return self.pid > 0 and self.get("/api/v1/status")[0] == 200
        except OSError:
            return False

    def get(self, route):
        """(status, body) of one request over the unix socket."""
        with socket.socket(socket.AF_UNIX) as link:
            link.settimeout(5)
            link.connect(str(self.socket))
            link.sendall(f"GET {route} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
            answer = b"".join(iter(lambda: link.recv(65536), b""))
        head, _, body = answer.partition(b"\r\n\r\n")
        words = head.split(None, 2)
        return (int(words[1]) if len(words) > 1 else 0), body.decode(errors="replace")

    def stream(self):
        """A connected SSE client that has read the response head."""
        link = socket.create_connection(("127.0.0.1", PORT), 5)
        link.sendall(f"GET /api/v1/events HTTP/1.1\r\nHost: localhost:{PORT}\r\n"
                     "Accept: text/event-stream\r\n\r\n".encode())
        head = b""
        while b"\r\n\r\n" not in head:
            part = link.recv(65536)
            if not part:
                break
            head += part
        if b" 200 " not in head.split(b"\r\n")[0]:
            link.close()
            raise Failed(f"event stream refused: {head[:80]!r}")
        link.settimeout(None)
        return link

    def events(self):
        """The complete lines of the log."""
        text = self.log.read_text() if self.log.exists() else ""
        return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]

    def path_changes(self):
        return [event for event in self.events() if event["event"] in ("path.changed", "path.flapping")]

    def overruns(self):
        found = re.search(r"^nwpath_netlink_overruns_total(?:\{[^}]*\})? (\S+)", self.get("/metrics")[1], re.M)
        if not found:
            raise Failed("no nwpath_netlink_overruns_total in /metrics")
        return int(float(found[1]))

    def gateways(self):
        """The IPv4 gateways of the paths it published, in order."""
        return [gateway for event in self.path_changes() if "path" in event
                for gateway in event["path"]["gateways"] if gateway.startswith("10.1.")]
