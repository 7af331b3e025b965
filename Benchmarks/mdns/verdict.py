# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""Compares what observers told with what really happened, from the log of a run of `churn.py`."""
import bisect, collections, json, statistics, struct

from hosts import PTR, SRV, parse

# A service may be expected so long after it was first announced, its host's or the observer's link came back.
SETTLED, AFTER_FLAP, AFTER_BLIND, TELLING = 3.0, 2.1, 4.0, 2.0
LIFETIMES, FLAPS = (10, 20, 120, 4500), (0.2, 2, 20)


def less(whole, gaps):
    """Pieces of an interval that no gap covers."""
    begin, end = whole
    pieces = []
    for first, last in sorted(gaps):
        if last <= begin or first >= end:
            continue
        if first > begin:
            pieces.append((begin, first))
        begin = max(begin, last)
    return pieces + [(begin, end)] if begin < end else pieces


def touches(begin, end, gaps):
    return any(first < end and last > begin for first, last in gaps)


class Truth:
    """Lives of one service, what it said in them, and when it could not be heard."""

    def __init__(self, events, end):
        self.lives, self.versions, self.silent, down = [], [], [], None
        for event in events:
            time, kind = event["t"], event["k"]
            if kind == "announce":
                self.lives.append([time, end, "end"])
            if kind in ("announce", "change"):
                self.versions.append((time, event["port"], event["text"]))
            elif kind in ("goodbye", "crash"):
                self.lives[-1][1:] = time, kind
            elif kind == "down":
                down = (time, event["seconds"])
            elif kind == "up":
                self.silent.append((down[0], time + AFTER_FLAP, down[1]))
        self.lifetime = events[0]["ttl"]

    def quiet(self):
        return [(begin, end) for begin, end, _ in self.silent]


class Heard:
    """What responses reached one observer: pointers, goodbyes and locations by service; and what it asked itself."""

    def __init__(self):
        self.pointers, self.goodbyes, self.locations = (collections.defaultdict(list) for _ in range(3))
        self.count, self.asked = 0, []

    def question(self, time, data):
        """An own query: the types it asks for, and the services it lists as known."""
        _, questions, records = parse(data)
        types = {name.partition(".")[0] for name, kind, _ in questions if kind == PTR}
        self.asked.append((time, types, {body.partition(".")[0] for _, kind, _, _, body in records if kind == PTR}))

    def askings(self, service, begin, end):
        """How often a service was asked for by its type."""
        kind = f"_churn{service.partition('s')[2]}"
        return sum(begin < time < end and kind in types and service not in known for time, types, known in self.asked)

    def packet(self, time, data):
        self.count += 1
        try:
            flags, _, records = parse(data)
        except (ValueError, IndexError, struct.error):
            return
        for name, kind, _, lifetime, body in records if flags & 0x8000 else ():
            if kind == PTR and isinstance(body, str) and body.startswith("h"):
                (self.pointers if lifetime else self.goodbyes)[body.partition(".")[0]].append(time)
            elif kind == SRV and lifetime:
                self.locations[name.partition(".")[0]].append((time, body[0]))


def between(times, begin, end):
    """The first time in an interval, or `None`."""
    at = bisect.bisect_left(times, begin)
    return times[at] if at < len(times) and times[at] <= end else None


def read(folder, count):
    events = [json.loads(line) for line in open(folder / "events.jsonl")]
    wire, heard, at = (folder / "wire.bin").read_bytes(), [Heard() for _ in range(count)], 0
    while at + 12 <= len(wire):
        time, observer, is_sent, length = struct.unpack_from(">dBBH", wire, at)
        at += 12
        if is_sent:
            heard[observer].question(time, wire[at:at + length])
        else:
            heard[observer].packet(time, wire[at:at + length])
        at += length
    return events, heard


class Shown:
    """When one observer showed one service, and with which data."""

    def __init__(self, events, end):
        self.spans, self.data, self.lost, self.resolved = [], [], [], []
        self.twice, self.again, self.unresolved, is_shown = [], 0, 0, False
        for event in events:
            time, what, data = event["t"], event["what"], (event["port"], event["text"])
            if what == "lost":
                if is_shown:
                    self.spans[-1][1] = time
                    self.lost.append((time, event["text"]))
                else:
                    self.twice.append((time, what))
                is_shown = False
                self.data.append((time, None))
            elif what == "found":
                if is_shown:
                    self.twice.append((time, what))
                else:
                    self.spans.append([time, end])
                is_shown = True
            elif what == "unresolved":
                self.unresolved += 1
            elif what in ("resolved", "changed"):
                if self.data and self.data[-1][1] == data:
                    self.again += 1
                self.resolved.append((time, data))
                self.data.append((time, data))

    def at(self, time):
        return any(begin <= time < end for begin, end in self.spans)


class Verdict:
    """The figures of one observer; `evidence` lists each single finding."""

    def __init__(self, truths, heard, blind, late, end):
        self.truths, self.heard, self.blind, self.late, self.end = truths, heard, blind, late, end
        self.evidence, self.found_after = [], []
        self.missing = {"told": [], "untold": []}
        self.false_losses, self.valid, self.wrong, self.wrong_told = collections.Counter(), 0, [], []
        self.twice, self.again, self.unresolved, self.in_flap = 0, 0, 0, collections.Counter()
        self.ghosts = {"goodbye": [], "goodbye unheard": [], **{f"crash {lifetime}": [] for lifetime in LIFETIMES}}
        self.beyond, self.returned, self.stayed, self.excluded = collections.defaultdict(list), 0, 0, 0

    def note(self, what, service, time, **facts):
        self.evidence.append({"what": what, "service": service, "t": time, "ttl": self.truths[service].lifetime,
                              **facts})

    def judge(self, service, events):
        shown, truth = Shown(events, self.end), self.truths[service]
        self.again += shown.again
        self.unresolved += shown.unresolved
        for time, what in shown.twice:
            self.twice += 1
            self.note("twice", service, time, event=what)
        gaps = self.blind + self.late + truth.quiet()
        self.losses(service, truth, shown, gaps)
        for index, (begin, end, how) in enumerate(truth.lives):
            following = truth.lives[index + 1][0] if index + 1 < len(truth.lives) else self.end
            self.presence(service, shown, begin, end, gaps)
            if how != "end" and shown.at(end):
                self.ghost(service, truth, shown, end, how, following)
        self.contents(service, truth, shown, gaps)

    def losses(self, service, truth, shown, gaps):
        for time, reason in shown.lost:
            for begin, end, seconds in truth.silent:
                is_living = any(first < time < last for first, last, _ in truth.lives)
                if begin <= time <= end and is_living and not touches(time, time, self.blind):
                    self.in_flap[seconds] += 1
            for begin, end, _ in truth.lives:
                if begin + SETTLED <= time < end and not touches(time, time + 1e-6, gaps):
                    self.false_losses[truth.lifetime] += 1
                    last = max((each for each in self.heard.pointers[service] if each < time), default=begin)
                    self.valid += time - last < truth.lifetime - 0.05
                    self.note("false loss", service, time, reason=reason, since_pointer=time - last,
                              asked=self.heard.askings(service, last, time))

    def presence(self, service, shown, begin, end, gaps):
        expected = less((begin + SETTLED, end), gaps)
        for piece in expected:
            for first, last in less(piece, shown.spans):
                if last - first < 0.05:
                    continue
                told = between(self.heard.pointers[service], begin, first)
                lost = [time for time, _ in shown.lost if time <= first]
                if lost and told:
                    told = between(self.heard.pointers[service], max(begin, lost[-1]), first)
                self.missing["told" if told else "untold"].append(last - first)
                self.note("missing", service, first, seconds=last - first, told=told and first - told)
        if not shown.at(begin) and end - begin > SETTLED and not touches(begin, begin + SETTLED, gaps):
            first = next((time for time, _ in shown.resolved if begin <= time < end), None)
            if first is not None:
                self.found_after.append(first - begin)

    def ghost(self, service, truth, shown, end, how, following):
        gone = next((time for time, _ in shown.lost if time >= end), None)
        reason = next((reason for time, reason in shown.lost if time >= end), None)
        if gone is None or gone > following:
            if following < self.end:
                self.returned += 1
            else:
                self.stayed += 1
            return
        if touches(end, gone, self.blind + self.late):
            self.excluded += 1
            return
        heard = between(self.heard.goodbyes[service], end, end + 2) if how == "goodbye" else None
        kind = "goodbye" if heard else "goodbye unheard" if how == "goodbye" else f"crash {truth.lifetime}"
        since = gone - (heard or end)
        self.ghosts[kind].append(since)
        last = [each for each in self.heard.pointers[service] if each < gone][-1:]
        if kind != "goodbye" and last:
            self.beyond[truth.lifetime].append(gone - last[0] - truth.lifetime)
        if since > (1.1 if kind == "goodbye" else truth.lifetime + 1):
            self.note("ghost", service, gone, kind=kind, seconds=since, reason=reason,
                      since_pointer=gone - last[0] if last else None)

    def contents(self, service, truth, shown, gaps):
        """Data other than the truth; `told` counts from when the new location reached the observer."""
        for index, (time, port, text) in enumerate(truth.versions):
            end = truth.versions[index + 1][0] if index + 1 < len(truth.versions) else self.end
            life_end = next((last for first, last, _ in truth.lives if first <= time < last), end)
            end = min(end, life_end)
            if end - time < TELLING:
                continue
            wrong = []
            changes = shown.data + [(self.end, None)]
            for (since, data), (until, _) in zip(changes, changes[1:]):
                if data is not None and data != (port, text):
                    wrong.append((max(since, time + TELLING), min(until, end)))
            for first, last in (piece for each in wrong if each[0] < each[1] for piece in less(each, gaps)):
                told = next((at for at, seen in self.heard.locations[service] if time <= at <= last and seen == port),
                            None)
                (self.wrong_told if told and told + TELLING < last else self.wrong).append(last - first)
                self.note("wrong", service, first, seconds=last - first, told=told and first - told)

    def results(self):
        def spread(values):
            values = sorted(values)
            if not values:
                return None
            return {"count": len(values), "least": values[0], "median": statistics.median(values),
                    "p95": values[min(len(values) - 1, int(len(values) * 0.95))], "most": values[-1]}

        def total(values):
            return {"count": len(values), "seconds": sum(values), "longest": max(values, default=0)}
        return {"missing_told": total(self.missing["told"]), "missing_untold": total(self.missing["untold"]),
                "false_losses": dict(self.false_losses), "false_losses_valid": self.valid,
                "losses_in_flaps": dict(self.in_flap), "twice": self.twice,
                "same_again": self.again, "unresolved": self.unresolved, "resolved_after": spread(self.found_after),
                "ghosts": {kind: spread(values) for kind, values in self.ghosts.items()},
                "beyond_lifetime": {str(each): spread(self.beyond[each]) for each in LIFETIMES},
                "returned_before_lost": self.returned, "stayed": self.stayed, "ghosts_excluded": self.excluded,
                "wrong": total(self.wrong), "wrong_told": total(self.wrong_told),
                "packets": {"heard": self.heard.count, "sent": len(self.heard.asked)}}


def judged(folder, names):
    events, heard = read(folder, len(names))
    end = events[-1]["t"]
    services, seen = collections.defaultdict(list), collections.defaultdict(list)
    blind, late, since = [], [], None
    for event in events:
        kind = event["k"]
        if kind == "seen":
            seen[event["o"], event["s"]].append(event)
        elif kind == "blind":
            since = event["t"]
        elif kind == "sighted":
            blind.append((since, event["t"] + AFTER_BLIND))
        elif kind == "late":
            late.append((event["due"] - 0.5, event["t"] + 2))
        elif "s" in event:
            services[event["s"]].append(event)
    truths = {service: Truth(those, end) for service, those in services.items()}
    counts = collections.Counter(event["k"] for event in events)
    results = {"begin": events[0], "end": events[-1], "observers": {},
               "happened": {kind: counts[kind] for kind in ("announce", "change", "goodbye", "crash", "blind", "late")},
               "flaps": counts["down"] // 4, "services": len(services),
               "living_seconds": sum(last - first for truth in truths.values() for first, last, _ in truth.lives)}
    evidence = {}
    for number, name in enumerate(names):
        verdict = Verdict(truths, heard[number], blind, late, end)
        for service in truths:
            verdict.judge(service, seen[number, service])
        results["observers"][name] = verdict.results()
        evidence[name] = sorted(verdict.evidence, key=lambda each: each["t"])
    (folder / "evidence.json").write_text(json.dumps(evidence, indent=1) + "\n")
    results["met"] = is_met(results["observers"][names[0]])
    return results


def is_met(own):
    """No living service lost, nothing told twice, and no ghosts beyond what was heard."""
    goodbye, crash = own["ghosts"]["goodbye"], own["beyond_lifetime"]
    return (own["missing_told"]["count"] == own["twice"] == own["wrong_told"]["count"] == 0 and not own["false_losses"]
            and (not goodbye or goodbye["most"] <= 1.1)
            and all(not each or each["most"] <= 1 for each in crash.values()))


def table(results):
    def spread(value):
        if value is None:
            return "–"
        return f"{value['median']:.2f} [{value['least']:.2f}–{value['most']:.2f}], {value['count']}"

    def total(value):
        return f"{value['count']}: {value['seconds']:.1f} s, longest {value['longest']:.1f}" if value["count"] else "0"
    def counted(values, keys):
        return ", ".join(str(values.get(each, 0)) for each in keys)
    rows = [("false losses (lifetimes 10, 20, 120, 4,500 s)", lambda own: counted(own["false_losses"], LIFETIMES)),
            ("of these, while a record was valid", lambda own: str(own["false_losses_valid"])),
            ("missing though told", lambda own: total(own["missing_told"])),
            ("missing, not told", lambda own: total(own["missing_untold"])),
            ("duplicate events", lambda own: str(own["twice"])),
            ("resolved again with the same data", lambda own: str(own["same_again"])),
            ("wrong data though told", lambda own: total(own["wrong_told"])),
            ("wrong data, not told", lambda own: total(own["wrong"])),
            ("resolved after, s", lambda own: spread(own["resolved_after"])),
            ("resolved after, p95, s", lambda own: f"{(own['resolved_after'] or {}).get('p95', 0):.2f}"),
            ("lost in flaps of a host (0.2, 2, 20 s)", lambda own: counted(own["losses_in_flaps"], FLAPS)),
            ("packets heard, sent", lambda own: f"{own['packets']['heard']}, {own['packets']['sent']}"),
            ("returned before lost, stayed, excluded", lambda own: f"{own['returned_before_lost']}, {own['stayed']}, "
                                                                   f"{own['ghosts_excluded']}")]
    for kind in next(iter(results["observers"].values()))["ghosts"]:
        rows.append((f"ghost after {kind}, s", lambda own, kind=kind: spread(own["ghosts"][kind])))
    for lifetime in map(str, LIFETIMES):
        rows.append((f"ghost beyond its lifetime of {lifetime} s", lambda own, each=lifetime:
                     spread(own["beyond_lifetime"][each])))
    names = list(results["observers"])
    lines = ["| measured | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    lines += [f"| {what} | " + " | ".join(value(own) for own in results["observers"].values()) + " |"
              for what, value in rows]
    happened = ", ".join(f"{kind} {count}" for kind, count in results["happened"].items())
    return "\n".join([*lines, "", f"{results['services']} services, {happened}, flaps {results['flaps']}; "
                      f"CPU {results['end'].get('cpu')}, lost {results['end'].get('lost')}"])
