# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""Discovery of services by multicast DNS: nwpath, avahi-browse and python-zeroconf on one simulated network."""
import contextlib, ctypes, os, pathlib, re, selectors, signal, subprocess, tempfile, time

import measure
from measure import Failed, ip, until

NAMES = ("nwpath", "avahi-browse", "python-zeroconf")
HERE = pathlib.Path(__file__).parent
MOST_SECONDS = 8


def enter_new_namespace():
    """v0 for the programs, v1 for the simulated hosts; IPv4 only, so that every program does the same work."""
    if ctypes.CDLL(None, use_errno=True).unshare(0x40000000) != 0:
        raise Failed("unshare: run as root or under unshare -rn")
    measure.run("sysctl", "-qw", "net.ipv6.conf.default.disable_ipv6=1")
    ip("link set lo up")
    ip("link add v0 type veth peer name v1")
    ip("link set v1 up")
    ip("link set v0 up")
    ip("address add 10.77.0.1/16 dev v0")
    ip("route add default via 10.77.0.2 dev v0")


class Simulator:
    """The simulated hosts; after the end `wire` lists what was on the wire: (seconds, direction, bytes)."""

    def __init__(self, services, hosts, types, additionals=True, loss=0, seed=1):
        self.words = [measure.GENERATORS / "services", "v1", services, hosts, types, int(additionals), loss, seed]

    def __enter__(self):
        self.process = subprocess.Popen([str(word) for word in self.words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        if self.process.stdout.readline() != "ready\n":
            raise Failed("the service simulator did not start")
        return self

    def __exit__(self, *_):
        if self.process.stdin.closed:
            return
        text = self.process.communicate("", timeout=30)[0]
        lines = [line.split() for line in text.splitlines()]
        self.wire = [(int(stamp) / 1e9, direction, int(size)) for stamp, direction, size in lines]

    def traffic(self, end):
        """(packets, bytes) until a time, both ways."""
        sizes = [size for stamp, _, size in self.wire if stamp <= end]
        return len(sizes), sum(sizes)


class Reading:
    """What one program found: when, and at which cost."""

    def __init__(self, total):
        self.total, self.seen, self.cpu, self.rss, self.rest = total, {}, 0.0, 0.0, b""
        self.begin = self.end = time.monotonic()

    def after(self, share):
        """Seconds until that share of all services was resolved; `None` when it never was."""
        needed = max(1, -(-self.total * share // 100))
        times = sorted(self.seen.values())
        return times[needed - 1] - self.begin if len(times) >= needed else None


def high_water(pid):
    """The most memory a process had, in MiB."""
    found = re.search(r"^VmHWM:\s+(\d+) kB", pathlib.Path(f"/proc/{pid}/status").read_text(), re.M)
    return int(found[1]) / 1024 if found else 0.0


def follow(words, name_of, total, seconds, *, grace=0.0, beside=(), env=None):
    """Runs a program and stamps each line that names a service; until it ends, or all are found and `grace` passed.

    `beside` are processes whose CPU and memory count as the program's.
    """
    before = sum(measure.cpu(pid) for pid in beside)
    with tempfile.TemporaryFile() as errors:
        reading = Reading(total)
        process = subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=errors, env=env)
        selector, end = selectors.DefaultSelector(), time.monotonic() + seconds
        selector.register(process.stdout, selectors.EVENT_READ)
        chunks = []
        while (left := end - time.monotonic()) > 0:
            if not selector.select(min(left, 0.05)):
                with contextlib.suppress(OSError):
                    reading.rss = max(reading.rss, high_water(process.pid))
                if stamped(chunks, name_of, reading) >= total:
                    end = min(end, max(reading.seen.values()) + grace)
                continue
            data = os.read(process.stdout.fileno(), 1 << 20)
            if not data:
                break
            # Lines are read later: this program must not compete for the processor while it matters.
            chunks.append((time.monotonic(), data))
        stamped(chunks, name_of, reading)
        with contextlib.suppress(OSError):
            reading.rss = max(reading.rss, high_water(process.pid))
        reading.rss += sum(high_water(pid) for pid in beside)
        # Not by `process`: that would first take the status of one that ended by itself, and with it its usage.
        os.kill(process.pid, signal.SIGTERM)
        # One that waits for its output to be read would never end.
        process.stdout.close()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        reading.cpu = usage.ru_utime + usage.ru_stime + sum(measure.cpu(pid) for pid in beside) - before
        reading.end = time.monotonic()
        if not reading.seen:
            errors.seek(0)
            raise Failed(f"{words[0]} found nothing: {errors.read()[-300:].decode(errors='replace').strip()}")
    return reading


def stamped(chunks, name_of, reading):
    """Works off chunks of output; a line counts from when its last byte was read."""
    for stamp, data in chunks:
        *lines, reading.rest = (reading.rest + data).split(b"\n")
        for line in lines:
            name = name_of(line)
            if name is not None:
                reading.seen.setdefault(name, stamp)
    chunks.clear()
    return len(reading.seen)


SERVICE = re.compile(rb"Bench(?: |\\032|\\\\032)service(?: |\\032|\\\\032)(\d{5})")


def with_nwpath(total, seconds, grace):
    def name_of(line):
        found = SERVICE.search(line) if b'"service.added"' in line else None
        return found and found[1]
    words = [measure.Nwpath.binary, "services", "--direct", "--watch", "--json", "--interface", "v0"]
    return follow(words, name_of, total, seconds, grace=grace)


def with_nwpath_once(total, seconds):
    """The one-shot command: when it ends, and how many services its list has."""
    names = set()

    def name_of(line):
        names.update(SERVICE.findall(line))
        return b"list"
    words = [measure.Nwpath.binary, "services", "--direct", "--once", "--json", "--interface", "v0"]
    reading = follow(words, name_of, 1 << 30, seconds)
    return reading, len(names)


class Avahi:
    """avahi-daemon on a bus of its own, with its own view of /run/avahi-daemon."""

    BUS = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>system</type><listen>{bus}</listen><auth>EXTERNAL</auth><policy context="default">
<allow send_destination='*' eavesdrop='true'/><allow eavesdrop='true'/><allow own='*'/></policy></busconfig>"""
    SETTINGS = """[server]
host-name=bench-host
use-ipv4=yes
use-ipv6=no
allow-interfaces=v0
[publish]
disable-publishing=yes
[rlimits]
"""

    def __enter__(self):
        self.scratch = tempfile.TemporaryDirectory(prefix="nwpath-bench-")
        place = pathlib.Path(self.scratch.name)
        bus = f"unix:path={place}/bus"
        (place / "bus.conf").write_text(self.BUS.format(bus=bus))
        (place / "avahi.conf").write_text(self.SETTINGS)
        self.env = {**os.environ, "DBUS_SYSTEM_BUS_ADDRESS": bus}
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": self.env}
        self.bus = subprocess.Popen(["dbus-daemon", "--nofork", f"--config-file={place}/bus.conf"], **quiet)
        until((place / "bus").exists, 10, "the bus")
        script = ("mkdir -p /run/avahi-daemon && mount -t tmpfs none /run/avahi-daemon && "
                  f"exec avahi-daemon --no-drop-root --no-rlimits --no-chroot -f {place}/avahi.conf")
        self.daemon = subprocess.Popen(["unshare", "--mount", "sh", "-c", script], **quiet)
        until(self.answers, 20, "avahi-daemon", 0.05)
        time.sleep(0.3)
        return self

    def answers(self):
        words = ["dbus-send", "--system", "--print-reply", "--dest=org.freedesktop.Avahi", "/",
                 "org.freedesktop.Avahi.Server.GetState"]
        done = subprocess.run(words, capture_output=True, text=True, env=self.env)
        return done.returncode == 0 and "int32 2" in done.stdout

    def __exit__(self, *_):
        for process in (self.daemon, self.bus):
            process.terminate()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.scratch.cleanup()


def with_avahi(total, seconds, grace):
    def name_of(line):
        found = SERVICE.search(line) if line.startswith(b"=") else None
        return found and found[1]
    with Avahi() as avahi:
        return follow(["avahi-browse", "-arp"], name_of, total, seconds, grace=grace, env=avahi.env,
                      beside=(avahi.daemon.pid, avahi.bus.pid))


def with_zeroconf(total, seconds, grace):
    python = HERE.parent / ".build" / "venv" / "bin" / "python3"
    def name_of(line):
        found = SERVICE.search(line)
        return found and found[1]
    return follow([python, HERE / "mdns" / "zeroconf_browse.py"], name_of, total, seconds, grace=grace)


PROGRAMS = {"nwpath": with_nwpath, "avahi-browse": with_avahi, "python-zeroconf": with_zeroconf}
# title, services, hosts, types, additionals, loss in %
CASES = [("10 services", 10, 5, 4, True, 0), ("100 services", 100, 20, 10, True, 0),
         ("1,000 services", 1000, 100, 20, True, 0), ("3,000 services", 3000, 300, 20, True, 0),
         ("1,000 without additionals", 1000, 100, 20, False, 0), ("1,000 with 10 % loss", 1000, 100, 20, True, 10)]


def one(name, case, seed):
    """One program on a network of its own."""
    _, services, hosts, types, additionals, loss = case
    enter_new_namespace()
    seconds = 4.0 if loss else MOST_SECONDS
    with Simulator(services, hosts, types, additionals, loss, seed) as simulator:
        reading = PROGRAMS[name](services, seconds, 0.6)
    # Who never finds all is charged with what it sent until the end.
    last = max(reading.seen.values()) if len(reading.seen) == services else reading.end
    return reading, simulator.traffic(last), simulator.traffic(reading.end)


def mdns(bench):
    """Every service of every type on a network without earlier queries.

    The other programs, which mostly wait, and `--once` have one round, but for the case with limits.
    """
    if bench.baseline:
        return
    names = ["nwpath"] + [name for name in NAMES[1:] if name not in bench.without]
    for case in CASES:
        title, services, _, _, _, loss = case
        if bench.scale < 1 and services > 3000 * bench.scale + 10:
            continue
        for number in range(bench.rounds):
            is_judged = title == "1,000 services"
            turns = names if number % 2 == 0 else names[::-1]
            found = {}
            for name in turns if is_judged or number == 0 else names[:1]:
                # What the others found counts, whatever becomes of one.
                with bench.failing(f"{title}: {name}"):
                    found[name] = one(name, case, number + 1)

            def record(what, unit, value, most=None):
                values = {name: value(*each) for name, each in found.items()}
                bench.record(f"{title}: {what}", unit, {k: v for k, v in values.items() if v is not None}, most=most,
                             names=NAMES)

            record("first resolved", "s", lambda reading, *_: reading.after(0))
            for share in (50, 99):
                record(f"{share} % resolved", "s", lambda reading, *_: reading.after(share))
            if loss:
                record("not resolved within 4 s", "%",
                       lambda reading, *_: 100 * (1 - len(reading.seen) / services), 1)
            else:
                record("all resolved", "s", lambda reading, *_: reading.after(100), 0.5 if is_judged else None)
                record("not resolved", f"of {services}", lambda reading, *_: services - len(reading.seen), 0)
            record("packets until then", "", lambda _, wire, __: wire[0], 330 if is_judged else None)
            record("bytes until then", "kB", lambda _, wire, __: wire[1] / 1000, 235 if is_judged else None)
            record("packets in all", "", lambda _, __, wire: wire[0])
            record("bytes in all", "kB", lambda _, __, wire: wire[1] / 1000)
            record("CPU", "s", lambda reading, *_: reading.cpu, 0.15 if is_judged else None)
            record("VmHWM", "MiB", lambda reading, *_: reading.rss, 20 if is_judged else None)
            enter_new_namespace()
            if loss or (number > 0 and not is_judged):
                continue
            with Simulator(*case[1:5], 0, number + 1) as simulator:
                reading, listed = with_nwpath_once(services, MOST_SECONDS)
            packets, size = simulator.traffic(reading.end)
            for what, unit, value, most in (
                    ("settled (--once)", "s", reading.end - reading.begin, None),
                    ("missing from --once", f"of {services}", services - listed, 0),
                    ("packets, --once", "", packets, None), ("bytes, --once", "kB", size / 1000, None),
                    ("CPU, --once", "s", reading.cpu, 0.15 if is_judged else None),
                    ("VmHWM, --once", "MiB", reading.rss, 20 if is_judged else None)):
                bench.record(f"{title}: {what}", unit, {"nwpath": value}, most=most, names=NAMES)


def hostile(bench):
    """10,000 bad packets per second of twelve kinds, then one honest service; nwpath alone."""
    if bench.baseline:
        return
    seconds = bench.scaled(20, 5)
    enter_new_namespace()
    words = [measure.Nwpath.binary, "services", "--direct", "--watch", "--json", "--interface", "v0"]
    # Read through a handle of its own: one that is shared with the child would move where it writes.
    with (tempfile.NamedTemporaryFile() as sink, open(sink.name, "rb") as output,
          tempfile.TemporaryFile() as errors):
        process, flood = subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=sink,
                                          stderr=errors), None
        try:
            time.sleep(1)
            flood = subprocess.Popen([str(measure.GENERATORS / "hostile"), "v1", "10000", str(seconds)],
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            before, begin = measure.cpu(process.pid), time.monotonic()
            line = flood.stdout.readline().split()
            if len(line) != 4:
                raise Failed("the flood broke off")
            packets = int(line[1])
            spent = (measure.cpu(process.pid) - before) / (time.monotonic() - begin)
            announced, resolved = int(flood.stdout.readline().split()[1]) / 1e9, None
            tail = b""
            while resolved is None and time.monotonic() < announced + 10 and process.poll() is None:
                data = tail + output.read()
                tail = data[-4096:]
                if b"Bench service 00000" in data:
                    resolved = time.monotonic() - announced
                time.sleep(0.005)
            yield max(0.0, announced + 10 - time.monotonic())
            if process.poll() is not None:
                errors.seek(0)
                raise Failed(f"nwpath ended with {process.returncode}: {errors.read()[-300:]}")
            before, begin = measure.cpu(process.pid), time.monotonic()
            yield 5
            idle = (measure.cpu(process.pid) - before) / (time.monotonic() - begin)
            memory = high_water(process.pid)
            sent, received = map(int, flood.communicate("", timeout=30)[0].split()[1:])
        finally:
            process.kill()
            process.wait()
            if flood is not None:
                flood.kill()
                flood.wait()
    rows = [("bad packets sent", "1/s", packets / seconds, None), ("CPU while flooded", "processors", spent, None),
            ("VmHWM", "MiB", memory, 64), ("honest service resolved after (10: never)", "s", resolved or 10, 1),
            ("CPU 10 s later", "processors", idle, 0.02), ("bytes sent per byte received", "", received / sent, 1)]
    for what, unit, value, most in rows:
        bench.record(what, unit, {"nwpath": value}, most=most, names=NAMES)
