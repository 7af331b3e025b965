# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""The same cuts as nwpath reports them, with and without traffic, and as NetworkManager does."""
import contextlib, random, time

import judge, measure
from cases import SETTLING, between
from judge import Fault
from networkmanager import NetworkManager
from service import Service, Watch
from topology import PREFIXES, destinations

MOST_ROUNDS = 3
EXAMINATION = 60  # seconds between examinations without a reason, which is the default of diagnosis.interval
REQUEST = 30  # seconds, more than the 20 after which NetworkManager gives a request up
RECOVERY = 120  # seconds


def share(number, count):
    """Where in an interval the cut of this number is: at random within its part of it, so that all parts occur."""
    return (number + random.random()) / count


def cut_once(lab, traffic, periodic, manager, fault):
    """Seconds from a cut beyond the gateway to each report of it."""
    watches, most = [Watch(traffic), Watch(periodic)], lab.options.wait
    begin = time.time()

    def left():
        return max(0, begin + most - time.time())

    def is_stall(event):
        return event["event"] == "traffic.stalled" and fault.explains(event["traffic"])

    with lab.world.beyond():
        stall = watches[0].first(is_stall, left())
        verdicts = [watch.first(judge.is_named, left()) for watch in watches]
        limited = manager.first(lambda word: word != "full", begin, left())
        end = time.time()
    for service, watch in zip((traffic, periodic), watches):
        lab.evidence("beside", service, watch, begin=begin, end=end, connectivity=manager.changes)
    return {"stalled": between(begin, stall), "named": between(begin, verdicts[0]),
            "periodic": between(begin, verdicts[1]), "limited": limited and limited - begin,
            "wrong": len(judge.wrong(watches[0].events(), fault))}


def recover(traffic, periodic, manager, mended):
    """Waits until nobody reports the last cut any longer."""
    if manager.changes[-1][1] != "full":
        manager.must_be_full(mended)
    for service in (traffic, periodic):
        measure.until(lambda: not judge.standing(service.events()), RECOVERY, "the end of a verdict", 0.2)
    time.sleep(SETTLING)


def beside(lab):
    """Each cut at a random moment of the longer interval."""
    world, options = lab.world, lab.options
    rounds, found = min(options.rounds, MOST_ROUNDS), []
    fault = Fault("path", [world.plan.gateway], PREFIXES)
    with contextlib.ExitStack() as stack:
        manager = stack.enter_context(NetworkManager(world, options.interval))
        manager.reach_interval()
        traffic = stack.enter_context(Service(world, diagnosis=True))
        periodic = stack.enter_context(Service(world, diagnosis=True, traffic=False))
        stack.enter_context(world.client(destinations(8), each=5))
        time.sleep(SETTLING)
        for number in range(rounds):
            time.sleep(share(number, rounds) * max(options.interval, EXAMINATION))
            found.append(cut_once(lab, traffic, periodic, manager, fault))
            recover(traffic, periodic, manager, time.time())
        manager.must_be_unchanged()
        codes = [" ".join(judge.codes(service.events())) for service in (traffic, periodic)]
        version = manager.version()
    usual = "" if options.interval == 300 else ", not 300"
    checks = f"{version}, connectivity; interval {options.interval} s{usual}"
    for what, key, note in (("nwpath reports", "stalled", "traffic.stalled"), ("nwpath names", "named", codes[0]),
                            ("without traffic", "periodic", f"{codes[1]}; interval {EXAMINATION} s"),
                            ("NetworkManager", "limited", checks)):
        lab.row("beside, 40 connections", what, [one[key] for one in found], note=note,
                wrong=sum(one["wrong"] for one in found) if key == "stalled" else None)


GROUPS = {"beside": beside}
