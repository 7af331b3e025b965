# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""Compares what nwpath said with what the clients measured, and counts."""
import statistics

# Fault domains by their names of today.
DOMAINS = {"me": {"host"}, "link_or_gateway": {"link", "gateway"}, "shared": {"provider"}, "destination": {"remote"}}
SLOW, USUAL = 1.0, 0.6


def effects(baseline, rounds):
    """What clients lost by the fault: those that failed in each round, in some, and those that became slow."""
    dead, flaky, slow = [], [], []
    for name in rounds[0]:
        worked = [found[name][0] for found in rounds]
        took = max(found[name][1] for found in rounds)
        before = baseline.get(name)
        if not any(worked):
            dead.append(name)
        elif not all(worked):
            flaky.append(name)
        elif took > SLOW and (before is None or before[1] < USUAL):
            slow.append(name)
    return dead, flaky, slow


class Result:
    """One network, judged."""

    def __init__(self, world, faults, baseline, rounds, status, document, seconds, complaint=""):
        self.seed, self.features, self.faults = world.plan.seed, world.plan.features(), [each.name for each in faults]
        self.detail = getattr(world, "fault_detail", "")
        self.destination = world.destination
        self.status, self.seconds, self.complaint = status, seconds, complaint
        self.document = document
        self.bytes = document.get("bytes")
        self.verdicts = [verdict["code"] for verdict in document.get("verdicts", [])]
        self.messages = [verdict.get("message", "") for verdict in document.get("verdicts", [])]
        self.domain = document.get("fault_domain", document.get("blame"))
        self.unfit = [name for name, found in baseline.items() if not found[0]]
        self.dead, self.flaky, self.slow = effects(baseline, rounds)
        self.why = {name: rounds[0][name][2] for name in self.dead}
        if self.destination:
            self.effective = any("destination" in names for names in (self.dead, self.flaky, self.slow))
        else:
            self.effective = bool(self.dead or self.flaky or self.slow)
        if self.destination and any(each.random or each.to for each in faults):
            self.effective = bool(self.dead or self.flaky or self.slow)
        self.healthy = all(each.harmless for each in faults)
        self.codes, self.domains = set(), set()
        for each in faults:
            codes, domains = each.expected(world)
            self.codes |= codes
            self.domains |= domains
        self.decide()

    def decide(self):
        """RIGHT, WRONG, NO EFFECT (a fault that nobody feels), or LAB (the network did not work before its fault)."""
        first = self.verdicts[0] if self.verdicts else None
        found = DOMAINS.get(self.domain, {self.domain})
        self.domain_right = bool(found & self.domains)
        self.first_right = first in self.codes
        self.single = len(self.faults) != 1 or len(self.verdicts) == 1
        self.blind = self.status == 0 and bool(self.dead) and (not self.destination or "destination" in self.dead)
        if self.unfit:
            self.verdict, self.reason = "LAB", f"failed before the fault: {', '.join(self.unfit)}"
        elif self.healthy:
            bad = self.dead + self.flaky if not self.destination else [
                name for name in self.dead + self.flaky if name == "destination"]
            if bad:
                self.verdict, self.reason = "LAB", f"healthy, but failed: {', '.join(bad)}"
            elif self.verdicts or self.status not in (0, 3):
                self.verdict, self.reason = "WRONG", "accuses a healthy network"
            else:
                self.verdict, self.reason = "RIGHT", ""
        elif not self.effective:
            self.verdict, self.reason = "NO EFFECT", "says so as well" if not self.verdicts else f"says {first}"
        elif not self.first_right:
            self.verdict = "WRONG"
            self.reason = f"expected {' or '.join(sorted(self.codes))}" + (
                ", says that there are no problems" if self.status == 0 else "")
        else:
            self.verdict, self.reason = "RIGHT", "" if self.single else "more than one verdict"

    def line(self):
        clients = " ".join(self.dead + [f"({name})" for name in self.flaky] + [f"{name}~slow" for name in self.slow])
        should_be = ""
        if not self.healthy and not self.domain_right:
            should_be = f" (should be {'/'.join(sorted(self.domains))})"
        return (f"{self.seed:6} {self.verdict:9} {', '.join(self.faults) or 'healthy'}"
                f"{' ' + self.detail if self.detail else ''} | {self.features} | "
                f"{'to ' + self.destination + ' | ' if self.destination else ''}clients: {clients or 'all work'} | "
                f"says {self.verdicts[0] if self.verdicts else 'nothing'}"
                f"{' + ' + ' '.join(self.verdicts[1:]) if self.verdicts[1:] else ''} | exit {self.status} | "
                f"{self.seconds:.1f} s | {self.bytes} B | {self.domain}"
                f"{should_be}"
                f"{' | ' + self.reason if self.reason else ''}{' | ' + self.complaint if self.complaint else ''}")

    def object(self):
        members = ("seed", "verdict", "reason", "faults", "detail", "features", "destination", "dead", "flaky", "slow",
                   "why", "verdicts", "messages", "status", "seconds", "bytes", "domain", "domain_right", "complaint")
        return {**{name: getattr(self, name) for name in members}, "expected": sorted(self.codes),
                "expected_domains": sorted(self.domains), "document": self.document}


def rate(name, good, of, least=None, most=None):
    """One rate, with its numerator and denominator, and whether it is in order."""
    share = good / of if of else None
    fine = share is None or ((least is None or share >= least) and (most is None or share <= most))
    bound = f" (at least {least:.0%})" if least is not None else f" (at most {most:.0%})" if most is not None else ""
    return fine, f"{'ok ' if fine else 'BAD'} {name}: {good}/{of}" + (f" = {share:.1%}" if of else "") + bound


def summary(results):
    """The rates as lines, and whether all are in order."""
    counted = [each for each in results if each.verdict in ("RIGHT", "WRONG")]
    healthy = [each for each in counted if each.healthy]
    broken = [each for each in counted if not each.healthy]
    one = [each for each in broken if len(each.faults) == 1]
    judged = [each for each in broken if each.verdicts]
    rates = [
        rate("first verdict is the broken element", sum(each.first_right for each in broken), len(broken), least=0.97),
        rate("exactly one verdict for one fault", sum(len(each.verdicts) == 1 for each in one), len(one), least=0.95),
        rate("no problems with a dead client", sum(each.blind for each in broken), len(broken), most=0),
        rate("accusations of healthy networks", sum(bool(each.verdicts) for each in healthy), len(healthy), most=0),
        rate("fault domain is right", sum(each.domain_right for each in judged), len(judged)),
        rate("fault domain unknown", sum(each.domain == "unknown" for each in judged), len(judged), most=0.1)]
    lines = [line for _, line in rates]
    fine = all(good for good, _ in rates)
    for name, group, limit in (("healthy", healthy, 3), ("broken", broken, 6)):
        if group:
            took = [each.seconds for each in group]
            good = max(took) <= limit
            fine = fine and good
            lines.append(f"{'ok ' if good else 'BAD'} seconds of {name} networks: "
                         f"median {statistics.median(took):.1f}, max {max(took):.1f} (at most {limit}; "
                         f"{sum(each > limit for each in took)} longer)")
    others = {name: [each.seed for each in results if each.verdict == name] for name in ("NO EFFECT", "LAB")}
    lines += [f"    {name}: {len(seeds)} ({' '.join(map(str, seeds))})" for name, seeds in others.items() if seeds]
    return fine, lines
