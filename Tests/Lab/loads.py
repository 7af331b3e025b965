# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""Load tests in the lab: a server to load, and lines that are too narrow or have too long a queue."""
import os

from faults import fault, steps_of
from network import _flow

# What is too little, and what lines carry that are too narrow or wide enough, in Mbit/s.
FLOOR, NARROW, WIDE = 5, 3, 10


def server_of_loads(network):
    """Writes what nginx needs beside the first anchor (a large page, one that takes everything, a small one) and the
    configuration that loads them; the command that serves."""
    plan, folder, base = network.plan, f"{network.folder}/load", f"{network.folder}/right"
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/large", "wb") as file:
        file.truncate(64 << 20)
    places = "".join(f"  {kind}_temp_path {folder}/{kind};\n"
                     for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    listen = "".join(f"    listen {host}:8444 ssl;\n" for host in (plan.anchors[0], f"[{plan.anchors6[0]}]"))
    with open(f"{folder}/nginx.conf", "w") as file:
        file.write(f"daemon off;\nmaster_process off;\npid {folder}/pid;\nerror_log {folder}/log;\n"
                   f"events {{ }}\nhttp {{\n  access_log off;\n{places}  server {{\n{listen}"
                   f"    ssl_certificate {base}.pem;\n    ssl_certificate_key {base}.key;\n    root {folder};\n"
                   "    client_max_body_size 0;\n    location = /small { return 200 small; }\n"
                   "    location = /slurp { return 200; }\n  }\n}\n")
    pages = {key: f"https://{plan.hosts[0]}:8444/{path}"
             for key, path in (("download", "large"), ("upload", "slurp"), ("small", "small"))}
    targets = dict(network.targets, nq=pages, budgets={"down_mbps": FLOOR, "up_mbps": FLOOR})
    with open(f"{folder}/nwpath.yaml", "w") as file:
        for key, value in [("dns", {"resolv_conf": network.resolver}), ("diagnosis", targets)]:
            file.write(f"{key}: {_flow(value)}\n")
    network.load = f"{folder}/nwpath.yaml"
    return ["nginx", "-e", "stderr", "-p", folder, "-c", f"{folder}/nginx.conf"]


def loading(name, codes=None, notes=""):
    """Declares a fault of a network that is asked under load; steps get the network and break and heal."""

    def declare(steps):
        @fault(name, codes, notes=notes)
        def served(network):
            senders, key = (network.device, network.internet), "ipv4/tcp_congestion_control"
            before = [machine.get(key) for machine in senders]
            with network.internet.running(server_of_loads(network), "t", 8444):
                for machine in senders:
                    machine.set(key, "reno")  # fills queues, which some others avoid
                yield from steps(network)
                for machine, control in zip(senders, before):
                    machine.set(key, control)
            network.load = None

        return served

    return declare


def narrowed(network, megabits, queue):
    """Steps of a fault: the way out carries so many Mbit/s each way, behind queues of so many bytes."""
    ends = [(network.router, "wan0"), (network.provider, "down0")]
    for machine, name in ends:
        machine.run("tc", "qdisc", "add", "dev", name, "root", "tbf", "rate", f"{megabits}mbit", "burst", "16k", "limit",
                    str(queue))
    yield
    for machine, name in ends:
        machine.run("tc", "qdisc", "del", "dev", name, "root")


@loading("healthy-under-load", "")
def healthy(network):
    yield


@loading("narrow-in-budget", "")
def narrow(network):
    yield from narrowed(network, WIDE, 50_000)


@loading("perf.bufferbloat")
def bloated(network):
    yield from narrowed(network, WIDE, 1_000_000)


@loading("perf.low-throughput")
def slow(network):
    yield from narrowed(network, NARROW, 16_000)


@loading("addr.duplicate-under-load", "addr.duplicate")
def twice(network):
    yield from steps_of("addr.duplicate", network)


@loading("captive.portal-under-load", "captive.portal")
def portal(network):
    yield from steps_of("captive.portal", network)

