# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""Plays causes of outages to Prometheus and Alertmanager with the files of dashboards/ and counts what is posted.

Usage: rehearse.py DIRECTORY-OF-RULES SCRATCH [SPEED [CAUSE…]]

SPEED (60 unless given, 1 is real) divides all durations. Each cause is a host of its own: good for 3 minutes, broken
for 12, good for 20. One line a cause: the notifications, the seconds from the fault to the first and from the mend to the
last all-clear. Exit 1 unless each cause was told once, by the alert that is expected, and its end once."""
import collections
import contextlib
import http.server
import json
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time

rules, scratch = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
SPEED = float(sys.argv[3]) if len(sys.argv) > 3 else 60
GOOD, BROKEN, AFTER = 180, 720, 1200
STATES = [
    "online", "connected", "checking", "slow", "degraded", "dns_broken", "login_needed", "no_internet", "local_only",
    "offline",
]
PROBES = {"web": "http", "names": "dns", "six": "tcp"}

Verdict = collections.namedtuple("Verdict", "code layer severity")
WAY_OUT = "NwpathWayOutBroken"


class Cause:
    """What a daemon shows while something is broken."""

    def __init__(self, told, state="online", delay=0, verdict=None, probes="", reason=None, lag=0, **more):
        # delay: until the headline knows; lag: from the mend until it knows.
        self.told, self.state, self.delay, self.verdict = told, state, delay, verdict
        self.probes, self.reason, self.lag, self.more = probes.split(), reason, lag, more


CAUSES = {
    "cable": Cause(WAY_OUT, "offline", 0, Verdict("link.no-carrier", "link", "broken"), "web names six", "no_carrier",
                   stalled="ipv4"),
    "no-default": Cause(
        WAY_OUT, "local_only", 0, Verdict("route.no-default", "local", "broken"), "web names six", "no_default_route"),
    "gateway": Cause(
        WAY_OUT, "local_only", 5, Verdict("gateway.unresolved", "gateway", "broken"), "web names six", gateway=0,
        stalled="ipv4"),
    "upstream": Cause(
        WAY_OUT, "no_internet", 15, Verdict("wan.down", "wan", "broken"), "web names six", lag=30, stalled="ipv4"),
    "upstream-probes": Cause(WAY_OUT, "no_internet", 60, None, "web names six", lag=10, stalled="ipv4"),
    # Nothing is tested beyond the gateway: only the connections show it, or the verdict on them.
    "upstream-traffic": Cause("NwpathTrafficStalled", "connected", stalled="ipv4"),
    "upstream-verdict": Cause(
        "NwpathNetworkBroken", "connected", 0, Verdict("traffic.stalled", "wan", "broken"), stalled="ipv4", lag=10),
    "loss": Cause("NwpathTrafficLoss", loss=True),
    "portal": Cause(
        WAY_OUT, "login_needed", 15, Verdict("captive.portal", "captive", "broken"), "web six", portal=1, lag=30),
    "dns": Cause(WAY_OUT, "dns_broken", 15, Verdict("dns.unreachable", "dns", "broken"), "names", lag=30),
    "ipv6": Cause("NwpathNetworkBroken", "slow", 15, Verdict("ipv6.broken", "wan", "broken"), "six", lag=30,
                  stalled="ipv6"),
    "ipv6-lost": Cause("NwpathPathIPv6Lost", "online", 0, None, "six", ipv6=0),
    "daemon": Cause("NwpathDown", dead=True),
    # Nobody writes meanwhile; the headline of such a host knows of the mend late.
    "silent": Cause("NwpathSilent", "no_internet", 5, Verdict("wan.down", "wan", "broken"), "web", "no_carrier", 300),
    "slow": Cause("NwpathNetworkDegraded", "slow", 15, Verdict("perf.high-latency", "performance", "degraded"), lag=30,
                  slow=True, loss=True),
    # Every eighth scrape fails while the cable is pulled.
    "gaps": Cause(WAY_OUT, "offline", 0, Verdict("link.no-carrier", "link", "broken"), "web", "no_carrier", gaps=True),
}
for number in range(3):
    CAUSES[f"site-{number}"] = Cause(
        "NwpathFleetPathsDown", "offline", 4 * number, CAUSES["cable"].verdict, "web", "no_carrier")
chosen = {name: cause for name, cause in CAUSES.items() if len(sys.argv) < 5 or name in sys.argv[4:]}


def site(name):
    return "site" if name.startswith("site-") else name


started = 0.0  # The moment from which the causes count; everything before is good.


def virtual():
    return (time.time() - started) * SPEED if started else -1


def spent(now, begin, end):
    """How much of a stretch of time is over."""
    return max(0, min(now, end) - begin)


class Exporter(http.server.BaseHTTPRequestHandler):
    scrapes = collections.Counter()

    def do_GET(self):
        # On a busy machine a scrape gives up before it is answered.
        with contextlib.suppress(ConnectionError):
            self.answer()

    def answer(self):
        name = self.path.strip("/")
        cause, now = CAUSES[name], virtual()
        broken = GOOD <= now < GOOD + BROKEN
        self.scrapes[name] += broken
        if broken and (cause.more.get("dead") or cause.more.get("gaps") and self.scrapes[name] % 8 == 2):
            return self.send_error(503)
        body = "\n".join(self.lines(cause, now, broken)).encode() + b"\n"
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write(body)

    def lines(self, cause, now, broken):
        known = GOOD + cause.delay <= now < GOOD + BROKEN + cause.lag
        state = cause.state if known else "online"
        down = cause.reason is not None and broken
        yield from (f'nwpath_headline{{state="{each}"}} {int(each == state)}' for each in STATES)
        away = spent(now, GOOD + cause.delay, GOOD + BROKEN + cause.lag)
        times = collections.Counter(online=now + 1000 - away)
        times[cause.state] += away
        for each, seconds in times.items():
            yield f'nwpath_headline_seconds_total{{state="{each}"}} {seconds}'
        monitor = 'monitor="default"'
        yield f"nwpath_path_satisfied{{{monitor}}} {int(not down)}"
        if cause.reason:
            yield f'nwpath_path_unsatisfied_reason{{{monitor},reason="{cause.reason}"}} {int(down)}'
        lost = spent(now, GOOD, GOOD + BROKEN) if cause.reason else 0
        for status, seconds in (("satisfied", now + 1000 - lost), ("unsatisfied", lost)):
            yield f'nwpath_path_status_seconds_total{{{monitor},status="{status}"}} {seconds}'
        yield f"nwpath_path_supports_ipv6{{{monitor}}} {int(not down and not (broken and 'ipv6' in cause.more))}"
        yield f"nwpath_path_supports_dns{{{monitor}}} {int(not down)}"
        yield f'nwpath_path_interface_info{{{monitor},device="eth0",rank="0"}} 1'
        yield f'nwpath_interface_up{{device="eth0"}} {int(not (broken and cause.reason == "no_carrier"))}'
        yield 'nwpath_interface_required{device="eth0"} 1'
        if not down:
            reachable = int(not (broken and "gateway" in cause.more))
            yield f'nwpath_gateway_reachable{{device="eth0",family="ipv4",gateway="192.0.2.1"}} {reachable}'
        for family in ("ipv4", "ipv6"):
            labels = f'device="eth0",gateway="{"192.0.2.1" if family == "ipv4" else "fe80::1"}",family="{family}",range="public"'
            # What was not answered is sent again for a while after the mend.
            again = cause.more.get("stalled") == family and GOOD <= now < GOOD + BROKEN + 60
            lossy = broken and cause.more.get("loss") and family == "ipv4"
            yield f"nwpath_traffic_stalled{{{labels}}} {int(again and broken)}"
            yield f"nwpath_traffic_connections{{{labels}}} 12"
            yield f"nwpath_traffic_unanswered{{{labels}}} {12 if again and broken else 0}"
            yield f"nwpath_traffic_retransmit_ratio{{{labels}}} {0.3 if again else 0.08 if lossy else 0.001}"
        yield f"nwpath_path_captive_portal{{{monitor}}} {int(broken and 'portal' in cause.more)}"
        # Names of services come back a while after the network.
        found = not (cause.reason and GOOD + 120 <= now < GOOD + BROKEN + 240)
        yield f'nwpath_mdns_watched_service_up{{service_type="_ipp._tcp",service_name=""}} {int(found)}'
        for probe, method in PROBES.items():
            labels = f'probe="{probe}",method="{method}"'
            fails = probe in cause.probes
            attempts, failures = (now + 1000) // 10, (spent(now, GOOD, GOOD + BROKEN) // 10 if fails else 0)
            yield f"nwpath_probe_attempts_total{{{labels}}} {attempts}"
            yield f'nwpath_probe_failures_total{{{labels},reason="timeout"}} {failures}'
            yield f"nwpath_probe_success{{{labels}}} {int(not (fails and broken))}"
            late = spent(now, GOOD, GOOD + BROKEN) // 10 if cause.more.get("slow") else 0
            for bound, count in (("0.1", attempts - late), ("1.0", attempts - failures), ("+Inf", attempts - failures)):
                yield f'nwpath_probe_duration_seconds_bucket{{{labels},le="{bound}"}} {max(0, count)}'
        verdict = cause.verdict
        if verdict and GOOD + cause.delay + 5 <= now < GOOD + BROKEN + max(cause.lag, 20):
            labels = f'code="{verdict.code}",layer="{verdict.layer}"'
            yield f"nwpath_verdict{{{labels}}} 1"
            text = f'severity="{verdict.severity}",say="something is wrong",action="is it on?"'
            yield f"nwpath_verdict_text_info{{{labels},{text}}} 1"

    def log_message(self, *_):
        pass


posts = []  # Of each alert in each notification: moment, status, labels, description.


class Webhook(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        for alert in json.loads(self.rfile.read(int(self.headers["Content-Length"])))["alerts"]:
            posts.append((virtual(), alert["status"], alert["labels"], alert["annotations"]["description"]))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


def hasten(text):
    milliseconds = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
    pattern = r"(?<![\w.])(\d+)([smhd])\b"
    return re.sub(pattern, lambda found: f"{round(int(found[1]) * milliseconds[found[2]] / SPEED)}ms", text)


def write(name, change=lambda text: text):
    (scratch / name).write_text(change(hasten((rules / name).read_text("utf-8"))), "utf-8")


def scrape_configs(text):
    """The example's, with a target for each cause in place of the one."""
    jobs = [
        f'  - {{job_name: {name}, metrics_path: /{name}, static_configs: [{{targets: ["localhost:8353"], '
        f"labels: {{job: nwpath, instance: {name}, site: {site(name)}}}}}]}}\n" for name in chosen if name != "silent"
    ]
    return text[:text.index("scrape_configs:")] + "scrape_configs:\n" + "".join(jobs)


def agent_config(text):
    for old, new in (("job_name: nwpath", "job_name: nwpath\n    metrics_path: /silent"), ("edge-1", "silent"),
                     ("north", "silent"), ("centre.example", "localhost"),
                     ("queue_config: {", f"queue_config: {{batch_send_deadline: {round(5_000 / SPEED)}ms, ")):
        text = text.replace(old, new)
    return text


def main():
    global started
    write("nwpath-alerts.yml")
    write("nwpath-recording.yml")
    write("alertmanager.yml")
    write("prometheus.yml", scrape_configs)
    write("prometheus-agent.yml", agent_config)
    for port, handler in ((8353, Exporter), (5001, Webhook)):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", port), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
    log = open(scratch / "log", "w")

    def run(*words):
        return subprocess.Popen(words, stdout=log, stderr=log)

    running = [
        run("prometheus-alertmanager", f"--config.file={scratch}/alertmanager.yml", f"--storage.path={scratch}/am",
            "--web.listen-address=127.0.0.1:9093", "--cluster.listen-address="),
        run("prometheus", f"--config.file={scratch}/prometheus.yml", f"--storage.tsdb.path={scratch}/tsdb",
            "--web.listen-address=127.0.0.1:9090", "--web.enable-remote-write-receiver",
            f"--query.lookback-delta={round(300_000 / SPEED)}ms"),
    ]
    try:
        agent = None
        if "silent" in chosen:
            agent = run("prometheus", "--enable-feature=agent", f"--config.file={scratch}/prometheus-agent.yml",
                        f"--storage.agent.path={scratch}/agent", "--web.listen-address=127.0.0.1:9095")
            running.append(agent)
        time.sleep(3)
        started = time.time()
        for moment, number in ((GOOD, signal.SIGSTOP), (GOOD + BROKEN, signal.SIGCONT), (GOOD + BROKEN + AFTER, None)):
            time.sleep(max(0, started + moment / SPEED - time.time()))
            if agent and number:
                agent.send_signal(number)
    finally:
        for process in running:
            process.kill()
            process.wait()
    sys.exit(report())


def report():
    bad = 0
    for name in dict.fromkeys(site(name) for name in chosen):
        causes = [cause for key, cause in chosen.items() if site(key) == name]
        mine = [post for post in posts if post[2].get("site", post[2].get("instance")) == name]
        firing = [post for post in mine if post[1] == "firing"]
        resolved = [post for post in mine if post[1] == "resolved"]
        told, ended = [[post[2]["alertname"] for post in kind] for kind in (firing, resolved)]
        right = told == ended == [causes[0].told]
        bad += not right
        first = f"{firing[0][0] - GOOD:.0f} s" if firing else "never"
        last = f"{resolved[-1][0] - GOOD - BROKEN:.0f} s" if resolved else "never"
        print(f"{'ok ' if right else 'BAD'} {name}: told {told} after {first}, ended {ended} after {last}")
        if firing:
            print(f"    {firing[0][3]}")
    others = [post[2] for post in posts if not post[2].get("site")]
    if others:
        bad += 1
        print(f"BAD without a site: {others}")
    return bad > 0


main()
