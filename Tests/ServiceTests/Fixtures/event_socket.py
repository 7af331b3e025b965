# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""A WebSocket client that is not ours (websockets, from PyPI) beside the real service.

Usage: event_socket.py CHECK DIRECTORY [PORT]. The directory has the service's api.sock and events.jsonl; with a port the
client connects to 127.0.0.1. Exits with 0 when the check holds. It makes the file `DIRECTORY/open` when it listens, and
prints each message that it got.
"""
import pathlib
import subprocess
import sys
import time

from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect, unix_connect

check, directory = sys.argv[1], pathlib.Path(sys.argv[2])
port = sys.argv[3] if len(sys.argv) > 3 else None
ROUTE = "/api/v1/events/ws"


def listen(query="", **options):
    options = {"subprotocols": ["nwpath.v1"], "max_size": None, "compression": None, **options}
    if port:
        return connect(f"ws://127.0.0.1:{port}{ROUTE}{query}", **options)
    return unix_connect(str(directory / "api.sock"), f"ws://localhost{ROUTE}{query}", **options)


def receive(socket):
    """The next message, which is printed too."""
    message = socket.recv(timeout=60)
    print(message)
    return message


def log():
    return (directory / "events.jsonl").read_text().split("\n")[:-1]


def until(condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "not within a minute"
        time.sleep(0.01)


def tell():
    (directory / "open").touch()


def follow():
    """Every line of the log from the second on, as it is there, while it grows."""
    with listen("?since=1") as socket:
        assert socket.subprotocol == "nwpath.v1"
        tell()
        got = []
        while not any('"status":"satisfied"' in line and "path.changed" in line for line in got):
            message = receive(socket)
            assert isinstance(message, str)
            got.append(message)
    lines = log()
    assert got == lines[1:1 + len(got)], (got, lines)


def resume():
    """Two connections, one after the other, get each line once."""
    lines = log()
    seen = []
    while len(seen) < len(lines):
        with listen(f"?since={len(seen)}") as socket:
            seen += [receive(socket) for _ in range(min(2, len(lines) - len(seen)))]
    assert seen == lines, (seen, lines)


def refused():
    """What cannot be is an HTTP answer, before any upgrade."""
    cases = [({"origin": "http://evil.example"}, "", 403, "origin-not-allowed"), ({}, "?since=99999", 410, "since-too-old"),
             ({}, "?since=beef.1", 410, "since-too-old"), ({}, "?since=x", 400, "bad-parameter"), ({}, "?limit=1", 400, "bad-p")]
    if port:
        cases.append(({"additional_headers": {"Host": "evil.example"}}, "", None, "host-not-allowed"))
    for options, query, status, problem in cases:
        try:
            with listen(query, **options):
                raise AssertionError(f"{query} {options} was accepted")
        except InvalidStatus as refusal:
            answer = refusal.response
            # Two Host fields are a bad request; websockets always sends its own.
            assert answer.status_code == (status or 400), (query, answer.status_code)
            assert status is None or problem.encode() in answer.body, (query, answer.body)
    with listen(origin=f"http://{'127.0.0.1:' + port if port else 'localhost'}"):
        pass


def closed():
    """The service says goodbye with a code when it stops."""
    with listen() as socket:
        tell()
        messages = []
        try:
            while True:
                messages.append(receive(socket))
        except ConnectionClosed as end:
            assert end.rcvd is not None and end.rcvd.code == 1001 and end.rcvd.reason == "daemon_stopping", end
        assert '"event":"stream.closed"' in messages[-1], messages[-1]


def spoken():
    """Pings are answered; messages are not taken, and too long ones not even read."""
    with listen() as socket:
        assert socket.ping(b"nwpath").wait(60)
    for message, code in (("hello", 1003), (b"\0", 1003), ("x" * 100_000, 1009)):
        with listen() as socket:
            try:
                socket.send(message)
                while True:
                    receive(socket)
            except ConnectionClosed as end:
                assert end.rcvd is not None and end.rcvd.code == code, (code, end)


def stalled():
    """Clients that read nothing cost a bounded queue, are dropped, and take nothing from one that reads."""
    import socket as sockets
    pid = int(sys.argv[4])
    clients = []
    for number in range(30):
        # Half of them fall behind what happens, half do not even read what has happened.
        query = "" if number % 2 else "?since=1"
        raw = sockets.socket()
        raw.setsockopt(sockets.SOL_SOCKET, sockets.SO_RCVBUF, 4096)
        raw.connect(("127.0.0.1", int(port)))
        raw.sendall(f"GET {ROUTE}{query} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode())
        assert b" 101 " in raw.recv(20)
        clients.append(raw)

    def resident():
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0])

    def metric(name):
        words = ["curl", "-s", "--unix-socket", directory / "api.sock", "http://localhost/metrics"]
        text = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        return float(text.split(name + '{transport="websocket"} ')[1].split("\n")[0])

    before, most = resident(), 0
    with listen() as reader:
        tell()
        last, looked = None, time.monotonic()
        end = looked + 120
        while True:
            # One that looked around after each message would fall behind itself.
            if time.monotonic() - looked > 0.5:
                most = max(most, resident())
                if metric("nwpath_event_stream_clients") == 1:
                    break
                looked = time.monotonic()
                assert looked < end, "they are still there"
            message = receive(reader)
            number = int(message.split('"seq":')[1].split(",")[0])
            assert last is None or number == last + 1, (last, number, message[:200])
            last = number
    # Those that fell behind; the kernel gives up some that read nothing before.
    assert metric("nwpath_event_stream_dropped_total") > 0
    # Queues of all clients share their events: far less than 30 times the bound of 1 MiB.
    assert most - before < 16 * 1024, f"{before} KiB before, {most} KiB at most"
    print(f"{before} KiB before, {most} KiB at most")


globals()[check]()
