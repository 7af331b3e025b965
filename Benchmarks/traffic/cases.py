# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""The measurements: each gets the lab and adds rows."""
import contextlib, functools, json, random, time

import judge, measure
from judge import Fault
from service import Service, Watch, moment
from topology import PREFIXES, PREFIXES6, SECOND_GATEWAY, destinations

SETTLING, TIMEOUT = 6, 20  # seconds: before a fault, and until a report is given up
RATIOS = (0.005, 0.01, 0.02, 0.05)
ROUTE_CHANGES = 20


class Lab:
    """The options of a run, its network, and its rows."""

    def __init__(self, world, options):
        self.world, self.options, self.rows = world, options, []

    def row(self, *words, **more):
        self.rows.append(judge.row(*words, **more))
        print(judge.table(self.rows[-1:]).splitlines()[-1], flush=True, file=self.options.progress)

    def evidence(self, name, service, watch, **more):
        """Keeps what belongs to a result: records, sockets, and the document of now."""
        if self.options.evidence:
            with open(self.options.evidence, "a") as file:
                file.write(json.dumps({"case": name, "time": time.time(), **more, "events": watch.events(),
                                       "document": service.traffic(), "sockets": self.world.sockets()[:80]}) + "\n")


# ---- Cuts

def answers_after(clients, begin):
    """The last answer before a silence that began then, and the first one after it, over all silences."""
    gaps = [gap[1:] for client in clients for gap in client.report()["gaps"] if gap[1] <= begin + 0.3 < gap[2]]
    return (max(last for last, _ in gaps), min(first for _, first in gaps)) if gaps else (None, None)


def cut_once(lab, service, clients, make, fault, name):
    """One cut and its mend; seconds by what they are."""
    watch = Watch(service)

    def reported(kind, seconds):
        return watch.first(lambda event: event["event"] == kind and fault.explains(event["traffic"]), seconds)

    time.sleep(random.random())
    begin = time.time()
    with make():
        stall = reported("traffic.stalled", TIMEOUT)
        verdict = watch.first(judge.is_named, lab.options.named)
        lab.evidence(name, service, watch, begin=begin)
    end = time.time()
    resumed = stall and reported("traffic.resumed", 2 * TIMEOUT)
    with contextlib.suppress(measure.Failed):
        measure.until(lambda: answers_after(clients, begin)[1], TIMEOUT, "an answer", 0.2)
    time.sleep(1)
    last, first = answers_after(clients, begin)
    events = watch.events()
    bad = judge.wrong(events, fault)
    lab.evidence(name, service, watch, begin=begin, end=end, last=last, first=first)
    beside = [event for event in judge.accusations(events) if event not in bad and not fault.explains(event["traffic"])]
    return {"reported": between(begin, stall), "since the last answer": between(last, stall),
            "named": between(begin, verdict), "first answer": first and first - end, "resumed": between(end, resumed),
            "since the first answer": between(first, resumed), "wrong": len(bad), "beside": len(beside)}


def between(begin, event):
    return moment(event) - begin if event and begin else None


def cut(lab, name, each, count, make, fault, families, around=contextlib.nullcontext):
    """A kind of cut, as many times as there are rounds."""
    world, found = lab.world, []
    with around(), contextlib.ExitStack() as stack:
        service = stack.enter_context(Service(world, diagnosis=True))
        clients = [stack.enter_context(world.client(destinations(count, six), each=each)) for six in families]
        time.sleep(SETTLING)
        before = Watch(service)
        for _ in range(lab.options.rounds):
            found.append(cut_once(lab, service, clients, make, fault, name))
            time.sleep(SETTLING)
        codes = judge.codes(before.events())
    wrong, beside = sum(one["wrong"] for one in found), sum(one["beside"] for one in found)
    losses = judge.losses(before.events())
    notes = {"reported": f"and {beside} of affected destinations" + ", ".join(["", *losses]), "named": " ".join(codes),
             "since the last answer": "reported", "first answer": "after the mend", "resumed": "after the mend",
             "since the first answer": "resumed"}
    for what in ("reported", "since the last answer", "named", "first answer", "resumed", "since the first answer"):
        lab.row(name, what, [one[what] for one in found], note=notes[what], wrong=wrong if what == "reported" else None)


def cut_of(kind, each, count, lab):
    """A kind of cut by its name."""
    world, plan = lab.world, lab.world.plan
    everything = Fault("path", [plan.gateway], PREFIXES)
    one, six = Fault("destination", [plan.gateway], PREFIXES[:1]), Fault("path", [plan.gateway6], PREFIXES6)
    second = Fault("path", [SECOND_GATEWAY], PREFIXES[2:])
    make, fault, families, *around = {
        "beyond": (world.beyond, everything, [False]), "gateway": (world.gateway, everything, [False]),
        "prefix": (lambda: world.without(PREFIXES[0]), one, [False]),
        "uplink": (world.one_of_two, second, [False], world.both_uplinks),
        "ipv6": (world.without_six, six, [False, True])}[kind]
    cut(lab, f"cut {kind}, {each * count} connections", each, count, make, fault, families, *around)


CUTS = {f"cuts:{kind}-{each * count}": functools.partial(cut_of, kind, each, count)
        for each, count in ((5, 8), (1, 3)) for kind in ("beyond", "gateway", "prefix", "uplink", "ipv6")
        if (kind, count) != ("uplink", 3)}  # that uplink alone would have but one destination


def cuts(lab):
    for case in CUTS.values():
        case(lab)


# ---- The faults of Tests/Lab that connections of this machine meet

# What the kernel itself refuses is reported as a change of the path, what is lost as a stall.
SEEN = ("link.admin-down", "link.no-carrier", "link.isolated", "addr.none", "route.no-default", "route.unreachable",
        "route.dead-tunnel", "route.wrong-gateway", "firewall.local", "gateway.unresolved", "gateway.not-forwarding",
        "captive.portal", "wan.down", "wan.silent", "upstream.blackhole", "ipv4.broken", "ipv6.broken",
        "compound.dns-and-ipv6", "compound.portal-and-duplicate", "compound.wan-and-dns")


def fault_once(lab, service, name):
    """A fault and its end: seconds to the first report, to a verdict, and from the end until all is well."""
    def is_report(event):
        return event["event"] in ("path.changed", "traffic.stalled", "gateway.unresolved")

    def is_over(event):
        return event["event"] == "headline.changed" and event["headline"]["state"] == "online"

    watch, begin = Watch(service), time.time()
    with lab.world.faulty(name):
        report = watch.first(is_report, TIMEOUT)
        verdict = watch.first(judge.is_named, lab.options.named)
        codes, lost = judge.codes(watch.events()), report is None
        lab.evidence(name, service, watch, begin=begin)
    watch, end = Watch(service), time.time()
    over = watch.first(is_over, 2 * TIMEOUT)
    with contextlib.suppress(measure.Failed):
        measure.until(lambda: not judge.standing(service.events()), 2 * TIMEOUT, "an end of all verdicts", 0.2)
    time.sleep(SETTLING)
    lab.evidence(f"{name}, healed", service, watch, end=end)
    return {"reported": between(begin, report), "named": between(begin, verdict), "well again": between(end, over),
            "codes": codes, "by": "" if lost else report["event"]}


def faults(lab, names=SEEN):
    """Each fault, as many times as there are rounds, beside forty connections of each family."""
    with contextlib.ExitStack() as stack:
        service = stack.enter_context(Service(lab.world, diagnosis=True))
        for six in (False, True):
            stack.enter_context(lab.world.client(destinations(six=six), each=5, timeout=2))
        time.sleep(SETTLING)
        for name in names:
            found = [fault_once(lab, service, name) for _ in range(lab.options.rounds)]
            notes = {"reported": " ".join(sorted({one["by"] for one in found})), "well again": "after its end",
                     "named": " ".join(sorted({code for one in found for code in one["codes"]}))}
            for what, note in notes.items():
                lab.row(name, what, [one[what] for one in found], note=note)


# ---- What is nobody's fault

def quiet(lab, name, fault=judge.NOTHING, disturbance=None, note=None, lossy=(), after=5):
    """Nothing may be accused but `fault` and loss of `lossy` while the context `disturbance` is in place, and after."""
    with Service(lab.world, diagnosis=True) as service:
        time.sleep(SETTLING)
        watch, states = Watch(service), {}
        with disturbance() if disturbance else contextlib.nullcontext() as inside:
            for _ in range(round(lab.options.seconds)):
                time.sleep(1)
                document = service.traffic() or {"state": "no document"}
                states[document["state"]] = states.get(document["state"], 0) + 1
            said = note(inside) if note else ""
            lab.evidence(name, service, watch)
        time.sleep(after)
        events = watch.events()
        lab.evidence(name, service, watch)
    bad, alarms = judge.wrong(events, fault), judge.alarms(events)
    right = [event for event in judge.accusations(events) if event not in bad]
    missed = int(fault.required and not right)
    notes = [said, f"{len(right)} right" if right else "", ", ".join(judge.losses(events)),
             " ".join(f"{state}:{count}" for state, count in states.items()), " ".join(judge.codes(events)),
             " ".join(alarms)]
    wrong = len(bad) + len(judge.wrong_losses(events, lossy)) + len(alarms)
    lab.row("no accusation", name, [lab.options.seconds], wrong=wrong, missed=missed,
            note="; ".join(filter(None, notes)))


def loss_of_one(lab):
    with lab.world.client(destinations()):
        quiet(lab, "1 % loss to one server", lossy=PREFIXES[:1],
              disturbance=lambda: lab.world.lossy(destinations()[0], 0.01))


def dead_server(lab):
    with lab.world.client(destinations(100), each=1):
        quiet(lab, "1 dead server of 100", disturbance=lambda: lab.world.without(destinations()[0]))


def dead_server_of_eight(lab):
    with lab.world.client(destinations()):
        quiet(lab, "1 dead server of 8", disturbance=lambda: lab.world.without(destinations()[0]))


def dead_prefix(lab):
    with lab.world.client(destinations()):
        quiet(lab, "all servers of a prefix dead", Fault("destination", [lab.world.plan.gateway], PREFIXES[:1]),
              lambda: lab.world.without(PREFIXES[0]))


def stopped_peers(lab):
    with lab.world.client(destinations()):
        quiet(lab, "peers stopped", disturbance=lambda: lab.world.stopped(lab.world.processes))


def zero_windows(lab):
    with lab.world.client(destinations(), kind="unread"):
        quiet(lab, "zero windows", note=lambda _: f"{sum('persist' in line for line in lab.world.sockets())} probing")


def short_connections(lab):
    with contextlib.ExitStack() as stack:
        half = lab.options.rate / 2
        clients = [stack.enter_context(lab.world.client(destinations(), "short", rate=half)) for _ in range(2)]
        begin = time.time()
        quiet(lab, "short connections", note=lambda _: "{:.0f}/s, {} errors".format(
            sum(client.report()["answers"] for client in clients) / (time.time() - begin),
            sum(client.report()["errors"] for client in clients)))


def uplink_replaced(lab):
    with lab.world.client(destinations()):
        quiet(lab, "uplink replaced", disturbance=lab.world.uplink_replaced)


def uplink_lost(lab):
    """The old connections are dead; new ones, opened after 2 s, are not. So again when the first uplink is back."""
    with lab.world.client(destinations(), timeout=2):
        old = Fault("path", [lab.world.plan.gateway], PREFIXES, required=False)
        quiet(lab, "uplink lost, another one comes", old, lab.world.uplink_lost, after=15)


def bulk(lab):
    """10 Mbit/s behind 1 MB, which is 0.8 s, filled by what does not avoid queues."""
    world, key = lab.world, "ipv4/tcp_congestion_control"
    before = world.device.get(key)
    world.device.set(key, "reno")
    try:
        with world.client(destinations()), world.queue(10, 1_000_000):
            quiet(lab, "bulk through a deep queue",
                  disturbance=lambda: world.client(destinations(2), each=1, kind="bulk"),
                  note=lambda _: "round trips up to {:.0f} ms; kernel {}/{}, dsack {}".format(
                      world.slowest(), *world.segments()[::-1], world.total("dsack_dups")))
    finally:
        world.device.set(key, before)


def stopped_client(lab):
    with lab.world.client(destinations()) as client:
        quiet(lab, "client stopped", disturbance=lambda: lab.world.stopped([client.process]))


def nothing_wrong(lab):
    """On a machine that is too busy the answers themselves stop; then a stall is none that is wrong."""
    with lab.world.client(destinations()) as client:
        quiet(lab, "no disturbance", note=lambda _: f"longest silence {client.report()['silence']:.2f} s")


def no_accusation(lab):
    for case in QUIET:
        case(lab)
    print("A clock cannot be set in a network namespace: no step of the clock was tried.", file=lab.options.progress)


# ---- Loss

def group_ratio(document, destination):
    """The ratio of a group, and of its path; None without it."""
    for path in document["paths"] if document else []:
        for group in path["groups"]:
            if group["destination"] == destination:
                return group["retransmit_ratio"], path["retransmit_ratio"]
    return None, None


def loss(lab):
    """Beside what the kernel counts for the same connections; all begin with the loss in place."""
    world = lab.world
    for share in RATIOS:
        with world.lossy(PREFIXES[0], share), Service(world) as service:
            time.sleep(2)
            with world.client(destinations(), each=20, interval=0.2):
                time.sleep(20)
                document = service.traffic()
                out, again = world.segments(lambda peer: peer.startswith(PREFIXES[0][:-4]))
                all_out, all_again = world.segments()
        lost, path = group_ratio(document, PREFIXES[0])
        other, _ = group_ratio(document, PREFIXES[1])
        note = f"kernel {again}/{out} = {100 * again / max(1, out):.2f} %"
        lab.row(f"loss {share:.1%}", "of the group", [lost and 100 * lost], unit="%", note=note)
        lab.row(f"loss {share:.1%}", "of the path", [path and 100 * path], unit="%",
                note=f"kernel {all_again}/{all_out} = {100 * all_again / max(1, all_out):.2f} %")
        lab.row(f"loss {share:.1%}", "of an untouched group", [None if other is None else 100 * other], unit="%")


# ---- What it costs

def path_latency(lab, service):
    """Milliseconds from a change of the default route to its record."""
    found, world = [], lab.world
    world.device.ip("link set eth1 up")
    time.sleep(3)
    for number in range(ROUTE_CHANGES):
        watch = Watch(service)
        begin = time.time()
        route = f"{world.plan.gateway} dev eth0" if number % 2 else f"{SECOND_GATEWAY} dev eth1"
        world.device.ip(f"route replace default via {route}")
        event = watch.first(lambda event: event["event"] == "path.changed", 5)
        found.append((moment(event) - begin) * 1000 if event else None)
        time.sleep(0.5)
    world.device.ip("link set eth1 down")
    return found


def cost(lab):
    for count, interval in ((0, 0.2), (250, 0.2), (10_000, 10), (100_000, 60)):
        if count <= lab.options.connections:
            cost_of(lab, count, interval)


def cost_of(lab, count, interval):
    world, name = lab.world, f"{count:,} connections"
    # No process may open more files than the system allows it.
    parts = -(-count // 16_000)
    with contextlib.ExitStack() as stack:
        service = stack.enter_context(Service(world))
        where = destinations(80 if count > 1000 else 10)
        clients = [stack.enter_context(world.client(where, each=count // parts // len(where), interval=interval))
                   for _ in range(parts)]
        time.sleep(SETTLING + count / 2000)
        pid, seconds = service.pid, lab.options.seconds
        begin, awake = measure.cpu(pid), measure.wakeups(pid)
        time.sleep(seconds)
        used, woken = measure.cpu(pid) - begin, measure.wakeups(pid) - awake
        document, is_open = service.traffic() or {}, sum(client.report()["open"] for client in clients)
        age = time.time() - moment({"time": document["sampled"]}) if document.get("sampled") else float("nan")
        lab.row(name, "CPU", [100 * used / seconds], unit="% of a core",
                note=f"reports {document.get('connections')} of {is_open}, read {age:.0f} s ago")
        lab.row(name, "wake-ups", [woken / seconds], unit="/s")
        lab.row(name, "RSS", [measure.memory(pid)[0]], unit="MiB")
        lab.row(name, "path latency", path_latency(lab, service), unit="ms")


QUIET = (nothing_wrong, loss_of_one, dead_server, dead_server_of_eight, dead_prefix, stopped_peers, zero_windows,
         short_connections, uplink_replaced, uplink_lost, bulk, stopped_client)
ALL = {"cuts": cuts, "faults": faults, "quiet": no_accusation, "loss": loss, "cost": cost}
SINGLE = {**CUTS, **{f"faults:{name}": functools.partial(faults, names=[name]) for name in SEEN},
          **{f"quiet:{case.__name__}": case for case in QUIET}}
