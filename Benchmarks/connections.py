# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""NWConnection of the product Network beside the same work with blocking sockets, all against one peer written in C."""
import contextlib, pathlib, subprocess

import measure
from measure import GENERATORS

# Ratios are to the second one.
NAMES, BESIDE_PYTHON = ("nwpath", "sockets"), ("nwpath", "Python", "sockets")
PYTHON = pathlib.Path(__file__).parent / "sockets.py"


def program():
    """A program that stands on the library."""
    return measure.built("Connections", "connections")


@contextlib.contextmanager
def peer():
    """The other end; gives the ports that take, echo and give."""
    process = subprocess.Popen([GENERATORS / "peer", "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield process.stdout.readline().split()
    finally:
        process.communicate()


def enter_new_namespace():
    measure.enter_new_namespace()
    # 100,000 connections in a row leave as many ports in TIME_WAIT; on loopback they are free again after a second.
    measure.run("sysctl", "-qw", "net.ipv4.ip_local_port_range=1024 65535")


def connections(bench):
    """What NWConnection costs on loopback."""
    if bench.baseline:
        return
    measure.more_descriptors()
    client = program()
    megabytes, count = bench.scaled(1_000, 50), bench.scaled(10_000, 100)
    work = (("sends", 0, megabytes, "64 KiB at a time, sent", NAMES, {"least": 0.7}),
            ("receives", 2, megabytes, "64 KiB at a time, received", NAMES, {}),
            ("setup", 1, count, "connection set-up", BESIDE_PYTHON, {"ratio": 2}),
            ("waits", 1, count, "connection set-up, another thread waits", NAMES, {}),
            ("latency", 1, count, "64 bytes and their echo", NAMES, {"ratio": 2}))
    programs = {"nwpath": client, "Python": PYTHON, "sockets": GENERATORS / "peer"}
    for number in range(bench.rounds):
        for action, kind, amount, title, names, limit in work:
            enter_new_namespace()
            with peer() as ports:
                found = {name: float(measure.run(programs[name], action, ports[kind], amount))
                         for name in (names if number % 2 == 0 else names[::-1])}
            if kind == 1:
                bench.record(title, "µs", found, names=names, **limit)
            else:
                bench.record(title, "MiB/s", {name: amount / seconds for name, seconds in found.items()}, names=names,
                             **limit)
    enter_new_namespace()
    with peer() as ports:
        seconds, each = map(float, measure.run(client, "open", ports[1], count).split())
        bench.record(f"{count:,} connections opened", "s", {"nwpath": seconds}, names=NAMES)
        bench.record(f"memory of one of {count:,}", "KiB", {"nwpath": each}, names=NAMES)
    cycles = bench.scaled(100_000, 1_000)
    enter_new_namespace()
    with peer() as ports:
        early, late, before, after = map(float, measure.run(client, "cycles", ports[1], cycles).split())
        bench.record(f"VmRSS after {cycles // 10:,} connections that came and went", "MiB", {"nwpath": early}, names=NAMES)
        bench.record(f"VmRSS after {cycles:,}", "MiB", {"nwpath": late}, names=NAMES)
        bench.record(f"descriptors more after {cycles:,}", "", {"nwpath": after - before}, most=0, names=NAMES)
