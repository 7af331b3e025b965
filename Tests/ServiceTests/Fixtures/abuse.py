# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""Abuses the service's HTTP endpoint and asks an honest question all the while.

Usage: abuse.py SOCKET PORT PID NAME. Prints one JSON object: how honest requests fared through the unix socket, which
has room of its own, and through the TCP port under attack; memory and descriptors before, at most, and afterwards.
"""
import json
import os
import random
import resource
import socket
import sys
import time

path, port, pid, name = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
REQUEST = b"GET /api/v1/status HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


def resident():
    with open(f"/proc/{pid}/smaps_rollup") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("Rss:"))


def descriptors():
    return len(os.listdir(f"/proc/{pid}/fd"))


def ask(over_tcp):
    """Asks once; the status code (0 without an answer) and how many milliseconds it took."""
    client = socket.socket(socket.AF_INET if over_tcp else socket.AF_UNIX)
    client.settimeout(5)
    started = time.monotonic()
    answer = b""
    try:
        client.connect(("127.0.0.1", port) if over_tcp else path)
        client.sendall(REQUEST)
        while True:
            part = client.recv(65536)
            if not part:
                break
            answer += part
    except OSError:
        pass
    client.close()
    words = answer.split(b" ", 2)
    return (int(words[1]) if len(words) > 1 else 0), (time.monotonic() - started) * 1000


class Watch:
    """Collects what honest clients see."""

    def __init__(self):
        self.unix, self.tcp, self.milliseconds, self.most, self.held = [], [], [], 0, 0

    def look(self, over_tcp=True):
        status, milliseconds = ask(False)
        self.unix.append(status)
        self.milliseconds.append(milliseconds)
        if over_tcp:
            self.tcp.append(ask(True)[0])
        self.most, self.held = max(self.most, resident()), max(self.held, descriptors())


def connect():
    client = socket.socket()
    client.setblocking(False)
    try:
        client.connect(("127.0.0.1", port))
    except BlockingIOError:
        pass
    return client


def send(client, text):
    try:
        client.send(text)
    except OSError:
        pass


def slowloris(watch, clients):
    clients += [connect() for _ in range(1000)]
    time.sleep(0.2)
    for client in clients:
        send(client, b"GET /api/v1/status HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
    end = time.monotonic() + 3
    while time.monotonic() < end:
        for client in clients:
            send(client, b"a")
        watch.look()


def headers(watch, clients):
    clients += [connect() for _ in range(100)]
    time.sleep(0.1)
    for client in clients:
        send(client, b"GET / HTTP/1.1\r\nHost: localhost\r\n")
    line = b"X-Endless: " + b"a" * 1000 + b"\r\n"
    end = time.monotonic() + 2
    while time.monotonic() < end:
        for client in clients:
            send(client, line)
        watch.look()


def readers(watch, clients):
    for _ in range(200):
        client = connect()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        clients.append(client)
    time.sleep(0.1)
    for client in clients:
        send(client, b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n" * 50)
    end = time.monotonic() + 2
    while time.monotonic() < end:
        watch.look()


def connections(watch, clients):
    count = min(10_000, hard - 200)
    for index in range(count):
        clients.append(connect())
        if index % 500 == 499:
            watch.look()
    end = time.monotonic() + 1
    while time.monotonic() < end:
        watch.look()


def garbage(watch, clients):
    random.seed(1)
    lines = [b"GET / HTTP/1.1\r\nHost: localhost\r\nno colon here\r\n\r\n", b"\0\0\0\0\r\n\r\n", b"GET\r\n\r\n",
             b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", b"GET /" + b"a" * 30_000 + b" HTTP/1.1\r\n\r\n",
             b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
             b"GET / HTTP/1.1\r\nHost: localhost\r\nX : a\r\n\r\n", b"GET / HTTP/1.1\r\nHost: localhost\r\nX: a\rb\r\n\r\n",
             b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"b" * 60_000 + b"\r\n\r\n"]
    end = time.monotonic() + 2
    while time.monotonic() < end:
        batch = [connect() for _ in range(100)]
        for client in batch:
            send(client, random.choice(lines) if random.random() < 0.8 else os.urandom(500))
        watch.look()
        for client in batch:
            client.close()


calm = sorted(ask(False)[1] for _ in range(20))[10]
before = resident(), descriptors()
watch, clients = Watch(), []
globals()[name](watch, clients)
attacked = len(clients)
for client in clients:
    client.close()
end = time.monotonic() + 15
while time.monotonic() < end and descriptors() > before[1]:
    time.sleep(0.05)
last = ask(True)[0]
while time.monotonic() < end and descriptors() > before[1]:
    time.sleep(0.05)
ordered = sorted(watch.milliseconds)
print(json.dumps({
    "attackers": attacked, "asked": len(watch.unix), "unix": sorted(set(watch.unix)), "tcp": sorted(set(watch.tcp)),
    "calm": calm, "median": ordered[len(ordered) // 2], "p99": ordered[int(len(ordered) * 0.99)], "last": last,
    "resident": [before[0], watch.most, resident()], "descriptors": [before[1], watch.held, descriptors()],
}))
