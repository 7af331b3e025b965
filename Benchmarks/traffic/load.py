#!/usr/bin/env python3
# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""Connections to measure with, on one epoll: servers, clients that hold connections, clients that do not.

    load.py serve ADDRESS...          echo at port 7000, discard at 7001, never read at 7002, answer and close at 7003
    load.py hold ADDRESS... [--each N] [--interval SECONDS] [--timeout SECONDS] [--kind echo|bulk|unread]
                                      N connections to each address, each with a small request per interval
    load.py short ADDRESS... --rate N open, request, answer, close, N times a second

A client prints one JSON object for each line of standard input, and ends with it: `answers`, `open`, `errors`, `last`
(the last answer of each destination), `gaps` (destination, last answer before and first one after a silence), and
`silence` (the longest time without an answer of any of them).
"""
import argparse, errno, json, resource, select, socket, sys, time

ECHO, DISCARD, UNREAD, ONCE = range(7000, 7004)
REQUEST, BLOCK = b"x" * 64, b"x" * 65536
GAP = 0.5  # seconds without an answer that are recorded
TICK = 0.01
OUTSTANDING = 4000


def family(address):
    return socket.AF_INET6 if ":" in address else socket.AF_INET


class Server:
    """Serves all ports of its addresses."""

    def __init__(self, addresses):
        self.poll, self.listeners, self.clients = select.epoll(), {}, {}
        for address in addresses:
            for port in (ECHO, DISCARD, UNREAD, ONCE):
                self.listen(address, port)

    def listen(self, address, port):
        made = socket.socket(family(address), socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.setsockopt(socket.SOL_IP, 15, 1)  # IP_FREEBIND: the whole prefix is local
        if port == UNREAD:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
        made.bind((address, port))
        made.listen(4096)
        self.listeners[made.fileno()] = (made, port)
        self.poll.register(made, select.EPOLLIN)

    def accept(self, listener, port):
        for _ in range(256):
            try:
                client, _ = listener.accept()
            except OSError:
                return
            client.setblocking(False)
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.clients[client.fileno()] = (client, port)
            if port != UNREAD:
                self.poll.register(client, select.EPOLLIN)

    def answer(self, descriptor):
        client, port = self.clients[descriptor]
        try:
            data = client.recv(len(BLOCK))
            if data and port != DISCARD:
                client.send(data)
            is_over = not data or port == ONCE
        except BlockingIOError:
            return
        except OSError:
            is_over = True
        if is_over:
            del self.clients[descriptor]
            client.close()

    def run(self):
        self.poll.register(sys.stdin, select.EPOLLIN)
        print("ready", flush=True)
        while True:
            for descriptor, _ in self.poll.poll():
                if descriptor == 0:
                    return  # whoever started it has ended
                if descriptor in self.listeners:
                    self.accept(*self.listeners[descriptor])
                elif descriptor in self.clients:
                    self.answer(descriptor)


class Truth:
    """What was answered, by destination; the reference that reports are compared with."""

    def __init__(self, addresses):
        self.answers = self.errors = 0
        self.last, self.gaps, self.latest, self.silence = dict.fromkeys(addresses), [], None, 0.0

    def answered(self, address, now):
        last = self.last[address]
        if last is not None and now - last > GAP:
            self.gaps.append((address, last, now))
        self.last[address] = now
        self.silence = max(self.silence, now - (self.latest or now))
        self.latest = now
        self.answers += 1

    def report(self, count):
        if not sys.stdin.readline():
            return False
        text = {"answers": self.answers, "open": count, "errors": self.errors, "last": self.last, "gaps": self.gaps,
                "silence": self.silence}
        print(json.dumps(text), flush=True)
        return True


def connect(address, port):
    made = socket.socket(family(address), socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    code = made.connect_ex((address, port))
    if code not in (0, errno.EINPROGRESS):
        made.close()
        raise OSError(code, "connect")
    return made


class Holder:
    """Connections that stay, each with one request at a time."""

    def __init__(self, options):
        self.options, self.truth, self.poll = options, Truth(options.addresses), select.epoll()
        self.port = {"echo": ECHO, "bulk": DISCARD, "unread": UNREAD}[options.kind]
        self.slots = [[None, address, 0.0] for _ in range(options.each) for address in options.addresses]
        self.by_descriptor, self.next, self.opened = {}, 0, 0

    def open(self, slot, now):
        """A slot is its socket, its destination, and since when it waits (0: it does not)."""
        try:
            slot[0] = connect(slot[1], self.port)
        except OSError:
            self.truth.errors += 1
            return
        slot[2] = now
        self.by_descriptor[slot[0].fileno()] = slot
        self.poll.register(slot[0], select.EPOLLIN | select.EPOLLOUT)

    def close(self, slot):
        if slot[0] is not None:
            del self.by_descriptor[slot[0].fileno()]
            slot[0].close()
            slot[0], slot[2] = None, 0.0

    def due(self, slot, now):
        limit = self.options.timeout
        if slot[0] is not None and limit and slot[2] and now - slot[2] > limit:
            self.truth.errors += 1
            self.close(slot)
        if slot[0] is None:
            self.open(slot, now)
        elif not slot[2] and self.port == ECHO:
            try:
                slot[0].send(REQUEST)
                slot[2] = now
            except OSError:
                self.truth.errors += 1
                self.close(slot)

    def ready(self, slot, events, now):
        try:
            if events & select.EPOLLOUT:
                slot[2] = 0.0
                if self.port == ECHO:
                    self.poll.modify(slot[0], select.EPOLLIN)
                    return
                slot[0].send(BLOCK)
                self.truth.answered(slot[1], now)
            if events & ~select.EPOLLOUT:
                if not slot[0].recv(4096):
                    raise ConnectionResetError
                slot[2] = 0.0
                self.truth.answered(slot[1], now)
        except BlockingIOError:
            return
        except OSError:
            self.truth.errors += 1
            self.close(slot)

    def run(self):
        self.poll.register(sys.stdin, select.EPOLLIN)
        begin, done, count = time.monotonic(), 0, len(self.slots)
        while True:
            for descriptor, events in self.poll.poll(TICK):
                if descriptor == 0:
                    if not self.truth.report(len(self.by_descriptor)):
                        return
                elif descriptor in self.by_descriptor:
                    self.ready(self.by_descriptor[descriptor], events, time.time())
            now = time.time()
            # Opened over time, as many per tick as the queues of the listeners hold.
            while self.opened < count and self.opened < (time.monotonic() - begin) * self.options.opening:
                self.open(self.slots[self.opened], now)
                self.opened += 1
            wanted = int((time.monotonic() - begin) / self.options.interval * count)
            # One that was stopped for long does not catch up.
            done = max(done, wanted - count)
            for number in range(done, wanted):
                if number % count < self.opened:
                    self.due(self.slots[number % count], now)
            done = wanted


class Shorts:
    """Connections that come and go."""

    def __init__(self, options):
        self.options, self.truth, self.poll = options, Truth(options.addresses), select.epoll()
        self.by_descriptor = {}

    def open(self, address):
        try:
            made = connect(address, ONCE)
        except OSError:
            self.truth.errors += 1
            return
        self.by_descriptor[made.fileno()] = (made, address)
        self.poll.register(made, select.EPOLLOUT)

    def ready(self, descriptor, events):
        made, address = self.by_descriptor[descriptor]
        try:
            if events & select.EPOLLOUT:
                made.send(REQUEST)
                self.poll.modify(made, select.EPOLLIN)
                return
            if made.recv(4096):
                self.truth.answered(address, time.time())
                return
        except OSError:
            self.truth.errors += 1
        del self.by_descriptor[descriptor]
        made.close()

    def run(self):
        self.poll.register(sys.stdin, select.EPOLLIN)
        begin, done, addresses = time.monotonic(), 0, self.options.addresses
        while True:
            for descriptor, events in self.poll.poll(TICK):
                if descriptor != 0:
                    self.ready(descriptor, events)
                elif not self.truth.report(len(self.by_descriptor)):
                    return
            wanted = int((time.monotonic() - begin) * self.options.rate)
            while done < wanted:
                if len(self.by_descriptor) < OUTSTANDING:
                    self.open(addresses[done % len(addresses)])
                done += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["serve", "hold", "short"])
    parser.add_argument("addresses", nargs="+")
    parser.add_argument("--each", type=int, default=5)
    parser.add_argument("--interval", type=float, default=0.2)
    parser.add_argument("--timeout", type=float, default=0,
                        help="reopen a connection without an answer (default: never)")
    parser.add_argument("--opening", type=float, default=2000, help="connections opened per second (default 2000)")
    parser.add_argument("--kind", choices=["echo", "bulk", "unread"], default="echo")
    parser.add_argument("--rate", type=float, default=1000)
    options = parser.parse_intermixed_args()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    if options.action == "serve":
        return Server(options.addresses).run()
    (Holder if options.action == "hold" else Shorts)(options).run()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
