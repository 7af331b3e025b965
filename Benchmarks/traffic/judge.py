# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""What records accuse, whether rightly, and the rows that come of it."""
import statistics


class Fault:
    """What a report of a fault must say, or may if it is not `required`: a scope, and what is affected."""

    def __init__(self, scope=None, gateways=(), destinations=(), required=True):
        self.scope, self.gateways, self.destinations, self.required = scope, gateways, destinations, required

    def explains(self, traffic):
        """Whether the accusation is the fault itself."""
        if traffic["scope"] != self.scope:
            return False
        return self.affects(traffic["gateway"]) if self.scope == "path" else self.covers(traffic)

    def covers(self, traffic):
        """Whether the accusation is of a destination that the fault affects."""
        return (traffic["scope"] == "destination" and traffic["destination"] in self.destinations
                and self.affects(traffic["gateway"]))

    def affects(self, gateway):
        return gateway in self.gateways


NOTHING = Fault(required=False)


def accusations(events):
    return [event for event in events if event["event"] == "traffic.stalled"]


def wrong(events, fault=NOTHING):
    """The stalls that were reported, and are none."""
    return [event for event in accusations(events)
            if not fault.explains(event["traffic"]) and not fault.covers(event["traffic"])]


def wrong_losses(events, lossy=()):
    """The loss that was reported of a path, or of a destination that is not among the `lossy` ones."""
    return [event for event in events
            if event["event"] == "traffic.lossy" and event["traffic"]["destination"] not in lossy]


def is_named(event):
    """Whether a record says where the fault is; that connections stall is no place."""
    if event["event"] == "headline.changed":
        return not (event["headline"]["cause"] or "traffic.").startswith("traffic.")
    return event["event"] == "verdict.raised"


def alarms(events):
    """The states of the connection as a whole that say that it is not well."""
    states = [event["headline"]["state"] for event in events if event["event"] == "headline.changed"]
    return [state for state in states if state not in ("online", "connected", "checking")]


def losses(events):
    """Each report of loss, in short."""
    found = [event["traffic"] for event in events if event["event"] == "traffic.lossy"]
    return [f"lossy {one['destination'] or one['gateway']} {one['retransmit_ratio']:.3f}" for one in found]


def codes(events):
    return sorted({event["verdict"]["code"] for event in events if event["event"] == "verdict.raised"})


def standing(events):
    """The verdicts that are not cleared yet: code, family, subject."""
    found = set()
    for event in events:
        if event["event"].startswith("verdict."):
            verdict = tuple(event["verdict"][key] for key in ("code", "family", "subject"))
            (found.add if event["event"] == "verdict.raised" else found.discard)(verdict)
    return found


def quantile(values, share):
    """The nearest rank."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * share // 100) - 1)]


def row(name, what, values, unit="s", wrong=None, missed=None, note=""):
    """A row of output; values that are None were missed."""
    found = [value for value in values if value is not None]
    gone = len(values) - len(found) if missed is None else missed
    summary = {"median": statistics.median(found), "p95": quantile(found, 95), "max": max(found)} if found else {}
    return {"name": name, "what": what, "unit": unit, "n": len(found), **summary, "missed": gone, "wrong": wrong,
            "note": note, "values": found}


def figure(value):
    if value is None:
        return "–"
    return str(value) if isinstance(value, (int, str)) else f"{value:.3f}" if abs(value) < 100 else f"{value:,.0f}"


def table(rows):
    head = ["name", "what", "unit", "n", "median", "p95", "max", "missed", "wrong", "note"]
    lines = [head] + [[figure(each.get(key)) for key in head] for each in rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    text = ["| " + " | ".join(word.ljust(width) for word, width in zip(line, widths)) + " |" for line in lines]
    text.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(text)
