# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""The benchmarks: one function each, one network namespace per round."""
import contextlib, math, os, signal, time

import connections, discovery, endpoint, measure, page, peers
from measure import Failed, IpMonitor, Nwpath, generate, ip


def percentile(values, share):
    """The smallest value that is not below `share` of all (nearest rank)."""
    return sorted(values)[max(0, math.ceil(len(values) * share) - 1)]


def listeners(bench, number, nwpath, monitor):
    """Both programs, or `ip monitor` alone; who joins the kernel's groups first alternates from round to round."""
    both = [monitor] if bench.baseline else [nwpath, monitor]
    return both if number % 2 == 0 else both[::-1]


def load_cost(bench, number, debounce, program, *words, output="null", connectivity=None):
    """Runs one generator with both programs beside each other; what each used, in CPU seconds, by name."""
    with contextlib.ExitStack() as stack:
        running = [stack.enter_context(listener)
                   for listener in listeners(bench, number, Nwpath(debounce, connectivity=connectivity), IpMonitor(output))]
        with measure.Load(running, program, *words) as load:
            yield running, load.finish()[0]


def routes(bench):
    """Unrelated route changes: what listening costs a program that has started some time ago.

    At 1,000/s the rounds run at the same time, each in its namespace, for as long as one audit period; the others follow
    one after the other.
    """
    # The generator adds a hundred and deletes them: an even number of hundreds leaves nothing.
    slow, count = 200 * bench.scaled(150), 200 * bench.scaled(500)

    def record(title, changes, load):
        used, lost = load.finish()
        bench.record(f"CPU, {title}", "s/100,000",
                     {name: seconds / changes * 100_000 for name, seconds in used.items()}, ratio=0.01)
        bench.record(f"messages lost, {title}", "", lost)

    with contextlib.ExitStack() as stack:
        pairs = []
        for number in range(bench.rounds):
            measure.enter_new_namespace()
            pairs.append((measure.namespace(), [stack.enter_context(each)
                                                for each in listeners(bench, number, Nwpath(connectivity="off"), IpMonitor())]))
            stack.callback(os.close, pairs[-1][0])
        yield bench.settling_seconds
        loads = []
        for namespace, running in pairs:
            measure.enter_namespace(namespace)
            loads.append(stack.enter_context(measure.Load(running, "routes", "churn", 4, slow, 1_000, "u0", "v0", 0)))
        yield slow / 1_000
        for load in loads:
            record("IPv4 /24, 1,000/s", slow, load)
        yield measure.OTHERS
        for namespace, running in pairs:
            measure.enter_namespace(namespace)
            for title, family, rate in (("IPv6 /64, 20,000/s", 6, 20_000), ("IPv4 /24, full speed", 4, 0)):
                with measure.Load(running, "routes", "churn", family, count, rate, "u0", "v0", 0) as load:
                    record(title, count, load)


def observe(sources, count, limit_ms):
    """Latencies in microseconds, from just before the change is handed to the kernel; changes never seen apart.

    A source is the word that a line has which tells of the change, and where lines come: a path, a pipe or a socket.
    The machine rests 20 ms between changes: after some 10 ms its caches hold nothing of before, as in life.
    """
    open_ones = [source.fileno() for _, source in sources if hasattr(source, "fileno")]
    words = [word for event, source in sources
             for word in (event, source.fileno() if hasattr(source, "fileno") else source)]
    lines = generate("latency", count, 20_000, limit_ms, "v0", *words, pass_fds=open_ones).split("\n")[:-1]
    found = []
    for place in range(len(sources)):
        seen = [int(line.split()[place + 1]) / 1000 for line in lines]
        known = [value for value in seen if value >= 0]
        if not known:
            raise Failed(f"'{sources[place][0]}': none of {count} default-route changes was told of")
        found.append((known, len(seen) - len(known)))
    return found


def latency(bench):
    """A change of the default route until a line tells of it: of both programs side by side, and of each alone.

    What is compared is read in the same way: a file by inotify, or a pipe, with which the event stream's socket counts.
    The kernel wakes first who came first, so each program is first for half of the changes that both hear.
    """
    alone_count, count, few = bench.scaled(80, 25), bench.scaled(200, 50), bench.scaled(100, 25)
    titles = {"file": "JSON line in a file", "pipe": "JSON line in a pipe", "stream": "SSE client"}

    def monitor(output):
        return IpMonitor("file" if output == "file" else "pipe")

    def nwpath(output, debounce="0"):
        return Nwpath(debounce, "pipe" if output == "pipe" else "file")

    def listen(programs, output, changes, limit_ms=2000):
        """Starts programs one after the other; what was seen of each, by its name."""
        measure.enter_new_namespace()
        with contextlib.ExitStack() as stack:
            running, sources = [stack.enter_context(program) for program in programs], []
            for each in running:
                if each.name == "ip monitor":
                    sources.append(("default", each.process.stdout or each.log))
                else:
                    lines = stack.enter_context(each.stream()) if output == "stream" else each.process.stdout
                    sources.append(('"path.changed"', lines or each.log))
            return dict(zip([each.name for each in running], observe(sources, changes, limit_ms)))

    def record(title, *runs, ratio=None, most=None):
        seen = {name: sum((run[name][0] for run in runs if name in run), []) for run in runs for name in run}
        missed = {name: sum(run[name][1] for run in runs if name in run) for name in seen}
        for label, share, limits in (("p50", 0.5, {"ratio": ratio}), ("p99", 0.99, {"most": most})):
            values = {name: percentile(known, share) for name, known in seen.items()}
            bench.record(f"{title}, {label}", "us", values, **limits)
        total = max(len(known) + missed[name] for name, known in seen.items())
        bench.record(f"{title}, changes not seen", f"of {total}", missed, most=0)

    for number in range(bench.rounds):
        for output, title in titles.items():
            alone = [[monitor(output)]] if bench.baseline else [[monitor(output)], [nwpath(output)]]
            turns = [listen(programs, output, alone_count) for programs in (alone if number % 2 == 0 else alone[::-1])]
            record(f"{title}, each alone", *turns)
            if bench.baseline:
                continue
            orders = [monitor(output), nwpath(output)], [nwpath(output), monitor(output)]
            record(f"{title}, side by side", *(listen(programs, output, count // 2) for programs in orders),
                   ratio=3 if output == "stream" else 2, most=5000)
    # Once: each change waits for the debounce.
    if not bench.baseline:
        record("JSON line in a file, default debounce", listen([nwpath("file", None)], "file", few, 3000), most=120_000)


def storm(bench):
    """Default-route changes inside a storm of other route changes: what is told of them."""
    count, changes = bench.scaled(100_000), bench.scaled(150, 15)
    for number in range(bench.rounds):
        measure.enter_new_namespace()
        words = ("routes", "churn", 4, count, 0, "u0", "v0", changes)
        for running, used in load_cost(bench, number, "0", *words, output="file"):
            final = ip("route show default").split()[2]
            told = {each.name: each.gateways() for each in running}
            order = {each: [int(part[2]) * 1000 + int(part[3]) for part in (g.split(".") for g in told[each])]
                     for each in told}
            overruns = {each.name: each.overruns() for each in running}
            lost = {each.name: each.dropped() for each in running}
            bench.record("default changes reported", f"of {changes}", {each: len(set(told[each])) for each in told})
            bench.record("reported out of order", "", {each: sum(a > b for a, b in zip(order[each], order[each][1:]))
                                                   for each in order}, most=0)
            bench.record("wrong end state", "0 or 1", {each: int(told[each][-1:] != [final]) for each in told}, most=0)
            bench.record("messages lost", "", lost)
            bench.record("overruns reported", "", overruns)
            bench.record("loss not reported", "0 or 1",
                         {each: int(lost[each] > 0 and overruns[each] == 0) for each in lost}, most=0)
            bench.record("CPU, storm", "s", used)


def overrun(bench):
    """Both programs are stopped while the kernel says more than any buffer holds; then they go on."""
    flaps = bench.scaled(20_000, 5_000)
    for number in range(bench.rounds):
        measure.enter_new_namespace()
        with contextlib.ExitStack() as stack:
            running = [stack.enter_context(each)
                       for each in listeners(bench, number, Nwpath("0"), IpMonitor("file"))]
            for each in running:
                os.kill(each.pid, signal.SIGSTOP)
            try:
                generate("links", "flap", "u0", flaps, 0)
                generate("routes", "churn", 4, 15, 0, "u0", "v0", 15)
            finally:
                for each in running:
                    os.kill(each.pid, signal.SIGCONT)
            final, begin, right = ip("route show default").split()[2], time.monotonic(), {}
            while len(right) < len(running) and time.monotonic() < begin + 3:
                for each in running:
                    if each.name not in right and each.gateways()[-1:] == [final]:
                        right[each.name] = (time.monotonic() - begin) * 1000
                time.sleep(0.02)
            # `ip monitor` has been seen to end at an overrun; nwpath must not, and `pid` says so when it does.
            alive = [each for each in running if isinstance(each, Nwpath) or each.process.poll() is None]
            lost = {each.name: each.dropped() for each in alive}
            told = {each.name: each.overruns() for each in alive}
            bench.record("right again after (3,000: never)", "ms",
                         {each.name: right.get(each.name, 3_000) for each in running}, most=1_500)
            bench.record("messages lost", "", lost)
            bench.record("overruns reported", "", told)
            bench.record("loss not reported", "0 or 1",
                         {each: int(lost[each] > 0 and told[each] == 0) for each in lost}, most=0)


def flaps(bench):
    """A link without routes goes down and up: what listening costs."""
    count = bench.scaled(10_000)
    for number in range(bench.rounds):
        measure.enter_new_namespace()
        for running, used in load_cost(bench, number, None, "links", "flap", "u0", count, 2_000):
            bench.record("CPU, link flaps", "s/100,000",
                         {name: seconds / count * 100_000 for name, seconds in used.items()}, ratio=1.5)
            bench.record("messages lost, link flaps", "", {each.name: each.dropped() for each in running})


def started():
    """Milliseconds from exec to the first status and to the first snapshot line."""
    class Unready(Nwpath):
        def ready(self):
            pass
    begin = time.monotonic()
    with Unready() as nwpath:
        status = snapshot = None
        while status is None or snapshot is None:
            if status is None and nwpath.answers():
                status = time.monotonic()
            if snapshot is None and nwpath.log.exists() and b'"path.snapshot"' in nwpath.log.read_bytes():
                snapshot = time.monotonic()
            if time.monotonic() > begin + 60:
                raise Failed("no status or no path.snapshot line within 60 s")
            time.sleep(0.0003)
    return (status - begin) * 1000, (snapshot - begin) * 1000


def start(bench):
    """From exec to the first answer, on a machine with many routes and on one with many interfaces.

    Nothing stands beside it: `ip monitor` reads no state when it starts.
    """
    if bench.baseline:
        return
    amount, links = bench.scaled(1_000_000), bench.scaled(5_000)
    cases = [("few routes", 100), (f"{amount:,} routes", 100), (f"{links:,} interfaces", 500)]
    for title, most in cases:
        measure.enter_new_namespace(six="routes" in title)
        if title.startswith(f"{amount:,}"):
            generate("routes", "load", 4, amount, "u0")
        if "interfaces" in title:
            generate("links", "make", links // 2)
        for _ in range(max(bench.rounds, 5)):
            for what, value in zip(("status", "snapshot line"), started()):
                bench.record(f"first {what}, {title}", "ms", {"nwpath": value}, most=most)
        ip("link set u0 down", check=False)
        ip("link delete group 77", check=False)


def idle(bench):
    """Memory with few and with many routes, and how often a quiet network wakes the process."""
    amount = bench.scaled(1_000_000)
    with contextlib.ExitStack() as stack:
        measure.enter_new_namespace()
        running = [stack.enter_context(each) for each in listeners(bench, 0, Nwpath(connectivity="off"), IpMonitor())]
        yield bench.settling_seconds
        before = {each.name: measure.wakeups(each.pid) for each in running}
        cpu = {each.name: measure.cpu(each.pid) for each in running}
        begin = time.monotonic()
        yield bench.idle_seconds
        seconds = time.monotonic() - begin
        bench.record("wake-ups, idle", "per s",
                     {each.name: (measure.wakeups(each.pid) - before[each.name]) / seconds for each in running}, most=0.2)
        bench.record("CPU, idle", "ms per s",
                     {each.name: (measure.cpu(each.pid) - cpu[each.name]) / seconds * 1000 for each in running})
        few = {each.name: measure.memory(each.pid) for each in running}
        yield measure.OTHERS
        generate("routes", "load", 4, amount, "u0")
        measure.drain(*running)
        for index, kind in enumerate(("VmRSS", "RssAnon")):
            most = 16 if kind == "VmRSS" else None
            bench.record(f"{kind}, few routes", "MiB", {each: few[each][index] for each in few}, most=most)
            bench.record(f"{kind}, {amount:,} routes", "MiB",
                         {each.name: measure.memory(each.pid)[index] for each in running}, most=most)
        ip("link set u0 down")


def containers(bench):
    """Container-like links come and go on a bridge: no path event may come of it."""
    count = bench.scaled(200, 10)
    for number in range(bench.rounds):
        measure.enter_new_namespace()
        ip("link add br0 type bridge")
        ip("address add 172.18.0.1/16 dev br0")
        ip("link set br0 up")
        with measure.Peer() as peer:
            # The router does not answer: what tests find out of it is no event of containers.
            for running, used in load_cost(bench, number, None, "links", "containers", count, "br0", peer, connectivity="off"):
                time.sleep(1.5)  # longer than the debounce cap, so that a late event would be in the log
                for each in running:
                    if isinstance(each, Nwpath):
                        bench.record("path events", "", {each.name: len(each.path_changes())}, most=0)
                bench.record("CPU, container cycles", "s/1,000",
                             {name: seconds / count * 1000 for name, seconds in used.items()})


ALL = {each.__name__: each for each in (routes, latency, storm, overrun, flaps, start, idle, containers,
                                    discovery.mdns, discovery.hostile, endpoint.streams, endpoint.http, connections.connections,
                                    peers.peers, page.page)}
# These mostly wait, and do so at the same time: what counts is each program's own CPU time, memory and wake-ups.
TOGETHER = ("hostile", "page", "streams", "routes", "idle")
# What is compiled before anything is measured.
PROGRAMS = {"connections": connections.program, "peers": peers.program}
