# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""The HTTP endpoint: many streams, and requests beside nginx that serves the same bytes."""
import calendar, contextlib, json, pathlib, re, shutil, subprocess, tempfile, time

import measure
from measure import Failed, GENERATORS, Nwpath, PORT, ip

# Ratios are to the second one: nginx as Debian configures it. The third opens no file again.
NAMES = ("nwpath", "nginx", "nginx, files kept open")
KINDS = (("sse", "SSE"), ("ws", "WebSocket"))
PORTS = dict(zip(NAMES, range(PORT, PORT + 3)))
SETTINGS = {NAMES[1]: "sendfile on; tcp_nopush on;",
            NAMES[2]: "sendfile on; tcp_nopush on; open_file_cache max=100; open_file_cache_valid 60s;"}


class Roomy(Nwpath):
    """The service with room for many clients."""

    def start(self):
        configuration = self.directory / "nwpath.yaml"
        configuration.write_text("limits:\n  max_connections: 8192\n  max_streams: 8000\n")
        words = [self.binary, "serve", "--config", configuration, "--listen", f"unix:{self.socket}",
                 "--listen", f"127.0.0.1:{PORT}", "--log-file", self.log, "--state-dir", self.directory / "state",
                 "--no-mdns", "--debounce", "0"]
        with open(self.directory / "stderr", "wb") as errors:
            self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors)


@contextlib.contextmanager
def clients(kind, count, changes=0):
    """`count` open streams; the lines that the generator prints come from its output."""
    words = [str(GENERATORS / "streams"), kind, str(count), str(PORT), str(changes)]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        if process.stdout.readline() != "open\n":
            raise Failed(f"streams {kind}: {process.stderr.read().strip()}")
        yield process
    finally:
        process.kill()
        process.communicate()


def wall_ns(text):
    """Nanoseconds since 1970 of a time in the log."""
    seconds, _, fraction = text.rstrip("Z").partition(".")
    return calendar.timegm(time.strptime(seconds, "%Y-%m-%dT%H:%M:%S")) * 10**9 + int(fraction.ljust(9, "0"))


def idle_streams(bench):
    """Idle clients of each kind, of a service each, at the same time."""
    count, watched = bench.scaled(5_000, 50), []
    with contextlib.ExitStack() as stack:
        for kind, title in KINDS:
            measure.enter_new_namespace()
            nwpath = stack.enter_context(Roomy())
            measure.drain(nwpath)
            before = measure.memory(nwpath.pid)[0]
            stack.enter_context(clients(kind, count))
            measure.drain(nwpath)
            watched.append((kind, title, nwpath, before, measure.cpu(nwpath.pid), time.monotonic()))
        # After two rounds of pings every client has been written to.
        yield max(bench.idle_seconds, 30)
        for kind, title, nwpath, before, used, begin in watched:
            share = (measure.cpu(nwpath.pid) - used) / (time.monotonic() - begin) * 100
            each = (measure.memory(nwpath.pid)[0] - before) * 1024 / count
            # A WebSocket has libwslay's buffer of 4 KiB besides.
            bench.record(f"memory of one of {count:,} idle {title} clients", "KiB", {"nwpath": each},
                         most=16 if kind == "sse" else None)
            bench.record(f"CPU, {count:,} idle {title} clients", "%", {"nwpath": share}, most=1)


def broadcast(bench, kind, title):
    """Changes of the default route, half a second apart and too few to be told as flapping, which waits.

    The time of each is that of its line in the log.
    """
    count, changes = bench.scaled(1_000, 20), 5
    measure.enter_new_namespace()
    with Roomy() as nwpath:
        with clients(kind, count, changes) as streams:
            measure.drain(nwpath)
            known = len(nwpath.path_changes())
            arrivals = []
            for number in range(changes):
                ip(f"route replace default via 10.1.1.{number + 1} dev v0 metric 100")
                line = streams.stdout.readline().split()
                if len(line) != 2:
                    raise Failed(f"{title}: {streams.stderr.read().strip()}")
                arrivals.append([int(word) for word in line])
                time.sleep(0.5)
        lines = [wall_ns(event["time"]) for event in nwpath.path_changes()[known:known + changes]]
        for line, (first, last) in zip(lines, arrivals):
            bench.record(f"log line to the first of {count:,} {title} clients", "ms", {"nwpath": (first - line) / 1e6})
            bench.record(f"log line to the last of {count:,} {title} clients", "ms", {"nwpath": (last - line) / 1e6},
                         most=20)


def streams(bench):
    """What idle streams cost, and how soon everybody knows of a change."""
    if bench.baseline:
        return
    measure.more_descriptors()
    yield from idle_streams(bench)
    yield measure.OTHERS
    for _ in range(bench.rounds):
        for kind, title in KINDS:
            broadcast(bench, kind, title)


class Nginx:
    """nginx with one worker and without a log: nwpath serves on one thread, and logs no requests, as well."""

    def __init__(self, name, bodies):
        self.name, self.bodies = name, bodies

    def __enter__(self):
        program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
        if not program:
            raise Failed("no nginx; install nginx-light")
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="nwpath-bench-"))
        self.directory.chmod(0o755)
        locations = ""
        for number, (route, (kind, body)) in enumerate(self.bodies.items()):
            (self.directory / f"{number}").write_bytes(body)
            locations += (f"location = {route} {{ alias {self.directory}/{number}; types {{}} default_type '{kind}'; }}\n")
        (self.directory / "nginx.conf").write_text(
            f"daemon off; worker_processes 1; pid {self.directory}/pid; error_log {self.directory}/error.log;\n"
            "events { worker_connections 1024; }\n"
            f"http {{ access_log off; keepalive_requests 100000000; {SETTINGS[self.name]}\n"
            + "".join(f"{name}_temp_path {self.directory}/{name};\n"
                      for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
            + f"server {{ listen 127.0.0.1:{PORTS[self.name]}; {locations} }} }}\n")
        self.process = subprocess.Popen([program, "-c", self.directory / "nginx.conf", "-e", self.directory / "error.log"],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        measure.until(lambda: (self.directory / "pid").exists(), 10, "nginx")
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)


def load(port, route, seconds):
    """(requests per second, p99 in ms) of wrk with 64 connections that are kept."""
    text = measure.run("wrk", "--latency", "-t1", "-c64", f"-d{seconds}s", f"http://127.0.0.1:{port}{route}")
    rate = re.search(r"^Requests/sec:\s+(\S+)", text, re.M)
    tail = re.search(r"^\s+99%\s+([\d.]+)(us|ms|s)$", text, re.M)
    if not rate or not tail or re.search(r"Non-2xx|Socket errors", text):
        raise Failed(f"wrk on {route}: {text.strip()[-200:]}")
    return float(rate[1]), float(tail[1]) * {"us": 0.001, "ms": 1, "s": 1000}[tail[2]]


def http(bench):
    """Requests over 64 connections, in turns with nginx that serves the same bytes from files."""
    if bench.baseline:
        return
    seconds = max(1, round(2 * bench.scale))
    routes = ("/api/v1/status", "/metrics")
    for number in range(bench.rounds):
        measure.enter_new_namespace()
        with Roomy() as nwpath:
            bodies = {}
            for route in routes:
                kind = "application/json" if "api" in route else "text/plain; version=0.0.4; charset=utf-8"
                status, body = nwpath.get(route)
                if status != 200:
                    raise Failed(f"{route}: {status}")
                bodies[route] = (kind, body.encode())
            json.loads(bodies[routes[0]][1])
            with Nginx(NAMES[1], bodies), Nginx(NAMES[2], bodies):
                for port in PORTS.values():
                    load(port, routes[0], 1)
                for route in routes:
                    turns = NAMES if number % 2 else NAMES[::-1]
                    found = {name: load(PORTS[name], route, seconds) for name in turns}
                    size = len(bodies[route][1])
                    bench.record(f"{route}, {size / 1024:.0f} KiB", "requests/s",
                                 {name: value[0] for name, value in found.items()}, names=NAMES, least=1.0)
                    bench.record(f"{route}, p99", "ms", {name: value[1] for name, value in found.items()},
                                 names=NAMES, ratio=1.5)
