# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""MultipeerConnectivity between two processes, beside a copy of the same file by OpenSSL's own programs over TLS."""
import contextlib, os, subprocess, tempfile, time

import measure
from measure import Peer, ip, run

NAMES = ("nwpath", "openssl")
ADDRESS = "10.66.0.2"


def program():
    """A program that stands on the library."""
    return measure.built("Peers", "peers")


@contextlib.contextmanager
def two_hosts():
    """A second namespace on a cable; gives the words that run a program there."""
    measure.enter_new_namespace()
    with Peer() as pid:
        there = ["nsenter", f"--net=/proc/{pid}/ns/net"]
        ip(f"link add m0 type veth peer name m1 netns {pid}")
        ip("address add 10.66.0.1/24 dev m0")
        ip("link set m0 up")
        for words in ("link set lo up", f"address add {ADDRESS}/24 dev m1", "link set m1 up"):
            run(*there, "ip", *words.split())
        yield there


@contextlib.contextmanager
def running(words, **options):
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def copy_by_openssl(there, path, directory):
    """Seconds that one end takes to send the file, and the other to take all of it."""
    key, certificate = f"{directory}/key.pem", f"{directory}/certificate.pem"
    run("openssl", "req", "-x509", "-newkey", "ed25519", "-nodes", "-subj", "/CN=x", "-keyout", key, "-out", certificate)
    server = ["openssl", "s_server", "-quiet", "-naccept", "1", "-accept", "4433", "-cert", certificate, "-key", key]
    # At the end of its input the server would close.
    taken = subprocess.Popen([*there, *server], stdin=subprocess.PIPE, stdout=open(f"{directory}/copy", "wb"),
                             stderr=subprocess.DEVNULL)
    try:
        time.sleep(0.5)
        begin = time.monotonic()
        with open(path, "rb") as file:
            client = ["openssl", "s_client", "-quiet", "-connect", f"{ADDRESS}:4433"]
            sent = subprocess.Popen(client, stdin=file, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            size = os.path.getsize(path)
            measure.until(lambda: os.path.getsize(f"{directory}/copy") >= size, 60, "the copy by openssl", 0.002)
        seconds = time.monotonic() - begin
        sent.kill()
        sent.wait()
        return seconds
    finally:
        taken.kill()
        taken.wait()


def peers(bench):
    """Two peers on one cable: connecting, and a large file with messages beside it."""
    if bench.baseline:
        return
    peer, megabytes, count = program(), bench.scaled(500, 50), bench.scaled(100, 20)
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
        path = f"{directory}/file"
        run("dd", "if=/dev/urandom", f"of={path}", "bs=1M", f"count={megabytes}")
        environment = {**os.environ, "TMPDIR": directory}
        for _ in range(bench.rounds):
            with two_hosts() as there:
                with running([*there, peer, "host"], env=environment):
                    seconds, _, late = map(float, run(peer, "copy", path).split())
                beside = copy_by_openssl(there, path, directory)
                os.remove(f"{directory}/copy")
                bench.record(f"a file of {megabytes:,} MiB", "MiB/s",
                             {"nwpath": megabytes / seconds, "openssl": megabytes / beside}, names=NAMES, least=0.6)
                bench.record("a message of 1 KiB and its echo meanwhile, p99", "ms", {"nwpath": late}, names=NAMES, most=50)
            with two_hosts() as there:
                with running([*there, peer, "host"], env=environment):
                    times = sorted(map(float, run(peer, "join", count).split()))
                    bench.record("invited, accepted and connected, p95", "ms",
                                 {"nwpath": times[len(times) * 95 // 100]}, names=NAMES, most=1000)
    cycles = bench.scaled(500, 50)
    with two_hosts() as there:
        with running([*there, peer, "host"]):
            early, before, late, after = map(float, run(peer, "sessions", cycles).split())
    bench.record(f"VmRSS after {cycles // 10:,} sessions", "MiB", {"nwpath": early}, names=NAMES)
    bench.record(f"VmRSS after {cycles:,}", "MiB", {"nwpath": late}, names=NAMES)
    bench.record(f"descriptors more after {cycles:,}", "", {"nwpath": after - before}, most=0, names=NAMES)
