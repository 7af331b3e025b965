# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""Holds what nwpath says against what packets did, and against what a scenario asks for beyond that. Pure."""
import calendar, collections, json, re, time

# How long after the kernel's message an event may come, in seconds; emulation alone makes it vary by a second.
LATENCY = 2.0

# What a step asks for. works: the families whose packets must get through, "46" to "" - what the scenario is about, so
# another truth makes the scenario invalid. reason: reasons of which one must be given. interface, kind: the first interface
# and its type. says, never: patterns that the status or `nwpath why` must or must not match. why: what `nwpath why` must
# say, "ok" or "broken"; by default what packets do. facts: (interface, member, pattern). events: patterns, each for the
# event and message of one record since the change. quiet: patterns that no such record may match. marks: the kernel's
# message from which on the event counts; by default the first since the change.
Step = collections.namedtuple("Step", "label works reason interface kind says never why facts events quiet marks", defaults=(
    "46", (), None, None, (), (), None, (), (), (), None))

# What was seen. counts: by family, how many of `tried` destinations were connected to. names: whether a name server
# answered. status: of the API. whys: documents of `nwpath why`. interfaces: documents by name. events: records since the
# change at `changed`. monitored: (time, line) of `ip monitor`. flipped: whether the answer had to change.
Seen = collections.namedtuple("Seen", "counts tried errors names status whys interfaces events changed monitored flipped",
                              defaults=((), None, (), 0.0, (), False))


def truth(seen):
    """The families whose packets get through: "46", "4", "6", "", with ~ for a family that does in part."""
    return "".join(family if seen.counts[family] == seen.tried else f"~{family}" for family in "46" if seen.counts[family])


def answer(status):
    path = status["path"]
    return "".join(family for family in "46" if path[f"supports_ipv{family}"])


def text(seen):
    """Everything that a person would read."""
    path = seen.status["path"]
    return " ".join([json.dumps([path.get(member) for member in ("unsatisfied_reason", "message", "hint", "warnings")]),
                     json.dumps(seen.status.get("headline")), json.dumps(seen.status.get("problems")),
                     json.dumps(seen.whys)])


def judge_path(step, seen):
    """What is wrong about the published path: (what, right, said) each. The truth of packets comes first."""
    found, path = [], seen.status["path"]
    if truth(seen) != step.works:
        return [("scenario", f"IPv{step.works or ' nothing'} gets through", f"{truth(seen) or 'nothing'} {list(seen.errors)}")]
    if answer(seen.status) != step.works:
        found.append(("families", step.works or "none", answer(seen.status) or "none"))
    if (path["status"] == "satisfied") != bool(step.works):
        found.append(("status", "satisfied" if step.works else "unsatisfied", path["status"]))
    if seen.names is not None and path["supports_dns"] != seen.names:
        found.append(("names", "resolved" if seen.names else "not resolved", f"supports_dns {path['supports_dns']}"))
    if step.reason and path["unsatisfied_reason"] not in step.reason:
        found.append(("reason", " or ".join(step.reason), path["unsatisfied_reason"]))
    first = (path["interfaces"] or [{"name": None, "type": None}])[0]
    for what, right, said in (("interface", step.interface, first["name"]), ("type", step.kind, first["type"])):
        if right is not None and right != said:
            found.append((what, right, said))
    return found


def judge_words(step, seen):
    """What is wrong about words, members of interfaces and `nwpath why`."""
    said, found = text(seen), []
    found += [("words", pattern, "not there") for pattern in step.says if not re.search(pattern, said, re.IGNORECASE)]
    for pattern in step.never:
        if match := re.search(pattern, said, re.IGNORECASE):
            found.append(("words", f"not {pattern}", match[0]))
    for name, member, pattern in step.facts:
        value = seen.interfaces.get(name)
        for part in filter(None, member.split(".")):
            value = value.get(part) if isinstance(value, dict) else None
        if not re.fullmatch(pattern, json.dumps(value)):
            found.append((f"{name}'s {member}", pattern, json.dumps(value)))
    right = step.why or ("ok" if step.works else "broken")
    for why in seen.whys:
        if (why["verdict"] == "broken") != (right == "broken"):
            found.append(("why", right, f"{why['verdict']}: {why['message']}"))
    return found


def judge_events(step, seen, allowed):
    """What is wrong about the log since the change."""
    found, lines = [], [f"{record['event']}: {record['message']}" for record in seen.events]
    for pattern in step.events:
        if not any(re.search(pattern, line, re.IGNORECASE) for line in lines):
            found.append(("event", pattern, "none since the change"))
    found += [("event", f"no {pattern}", line) for pattern in step.quiet for line in lines
              if re.search(pattern, line, re.IGNORECASE)]
    if seen.flipped:
        late = latency(step, seen)
        if late is None:
            found.append(("event", "path.changed", "none since the change"))
        elif late > allowed:
            found.append(("event", f"path.changed within {allowed:.0f} s of the kernel's message", f"{late:.1f} s after it"))
    return found


def latency(step, seen):
    """Seconds from the kernel's message to the first change of the path that is right, or None without one."""
    marked = [moment for moment, line in seen.monitored
              if moment >= seen.changed and (step.marks is None or re.search(step.marks, line))]
    began = marked[0] if marked else seen.changed
    changes = [seconds(record["time"]) for record in seen.events
               if record["event"] == "path.changed" and answer(record) == step.works]
    return max(0.0, changes[0] - began) if changes else None


def seconds(text):
    """The seconds since 1970 of a time of the log (UTC)."""
    whole, _, part = text.rstrip("Z").partition(".")
    return calendar.timegm(time.strptime(whole, "%Y-%m-%dT%H:%M:%S")) + float(f"0.{part or 0}")


def judge(step, seen, allowed=LATENCY):
    """Everything that is wrong; where packets do not do what the scenario says, that alone."""
    found = judge_path(step, seen)
    if any(what == "scenario" for what, _, _ in found):
        return found
    # An answer that did not change sent no event.
    return found + judge_words(step, seen) + judge_events(step, seen._replace(flipped=seen.flipped and not found), allowed)


def brief(seen):
    """The truth and the answer, for a row of the table."""
    path = seen.status["path"]
    sent = f"{truth(seen) or 'nothing'}{' dns' if seen.names else ''}"
    links = ",".join(f"{one['name']}:{one['type']}" for one in path["interfaces"])
    said = path["status"] if path["status"] == "satisfied" else path["unsatisfied_reason"] or path["status"]
    return sent, " ".join(part for part in (said, answer(seen.status), "dns" if path["supports_dns"] else "", links) if part)
