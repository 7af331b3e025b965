# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""How a fault is declared, and which ones a seed gets.

A fault is a function of a world that breaks it; what must end before the world does goes to `world.ending`. It declares
the element that is broken, the codes of which the first verdict must have one, and the fault domains that are right
(host, link, gateway, provider, remote). Codes and domains may depend on the world.
"""
import hashlib

FAULTS = {}


class Fault:
    def __init__(self, name, element, codes, domains, when, to, break_it):
        self.name, self.element, self.codes, self.domains = name, element, codes, domains
        self.when, self.to, self.break_it = when, to, break_it

    @property
    def harmless(self):
        return self.element == "none"

    @property
    def random(self):
        """Whether it hits some packets and not others, so that what works once may fail the next time."""
        return any(word in self.name for word in ("loss", "flapping", "leg ", "two hosts", "two uplinks"))

    def expected(self, world):
        codes = self.codes(world) if callable(self.codes) else self.codes
        domains = self.domains(world) if callable(self.domains) else self.domains
        return set(codes.split()), set(domains.split())


def fault(name, element, codes, domains=None, when=lambda plan: True, to=None):
    """Declares a fault; `when` says which plans it fits, `to` is a destination without which it makes no sense."""

    def declare(break_it):
        FAULTS[name] = Fault(name, element, codes, domains or element, when, to, break_it)
        return break_it

    return declare


def dropped(name, element, where, hook, rules, codes, domains=None, family="inet", when=lambda plan: True, to=None):
    """A fault that is a packet filter: `where` gives its machine, `rules` the rules."""

    @fault(name, element, codes, domains, when, to)
    def steps(world):
        where(world).filter("fault-" + hook, family, hook, rules(world))


def rank(seed, name):
    """New faults change only the seeds that they win."""
    return hashlib.sha256(f"{seed} {name}".encode()).digest()


def choose(plan, healthy=None):
    """The destination or nothing, and the faults of a seed."""
    dice = plan.dice
    to_destination = dice.chance("destination", 0.25)
    fine = dice.chance("healthy", 1 / 3) if healthy is None else healthy
    kinds = [each for each in FAULTS.values() if each.when(plan) and (each.to is None or to_destination)]
    if fine:
        unusual = [each for each in kinds if each.harmless]
        unusual.sort(key=lambda each: rank(plan.seed, each.name))
        return to_destination, unusual[:1] if dice.chance("unusual", 0.5) else []
    kinds = [each for each in kinds if not each.harmless]
    ordered = sorted(kinds, key=lambda each: rank(plan.seed, each.name))
    if to_destination and dice.chance("fault of the destination", 0.7):
        ordered = [each for each in ordered if each.to] + ordered
    chosen = ordered[:1]
    if dice.chance("two faults", 0.12) and not chosen[0].to:
        chosen += [each for each in ordered[1:] if each.element != chosen[0].element and not each.to][:1]
    return to_destination, chosen


def choose_destination(world, faults):
    """What is diagnosed when a run has a destination: that of its fault, or one that works."""
    plan = world.plan
    for each in faults:
        if each.to:
            return each.to(world)
    name = plan.service_name
    return plan.dice.pick("destination kind", [
        f"https://{name}/", f"http://{name}/", f"ws://{name}/live", f"{name}:9000", f"wss://{name}/live",
        f"https://a.{plan.domain}/generate_204"])
