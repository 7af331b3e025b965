# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""Sends real packets as the daemon's user does, and says what the kernel answered."""
import collections, ctypes, errno, json, os, select, socket, struct, time

# A way to send: protocol "tcp", "udp" (connected) or "datagram" (not connected), where to, bound to which interface.
Flow = collections.namedtuple("Flow", "protocol destination port interface", defaults=(None,))
# What became of it: the error's name or None, the local port, and whether there was an answer.
Sent = collections.namedtuple("Sent", "flow error port source answered")

# How long an answer is waited for.
ANSWER = 0.35
QUERY = struct.pack("!HHHHHH", 0x4E57, 0x0100, 1, 0, 0, 0) + b"\x06oracle\x04test\0" + struct.pack("!HH", 1, 1)


def error_name(code):
    return errno.errorcode.get(code, str(code))


def open_socket(flow):
    family = socket.AF_INET6 if ":" in flow.destination else socket.AF_INET
    kind = socket.SOCK_STREAM if flow.protocol == "tcp" else socket.SOCK_DGRAM
    one = socket.socket(family, kind | socket.SOCK_NONBLOCK)
    if flow.interface:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, flow.interface.encode())
    if flow.protocol == "datagram":
        one.bind(("::" if family == socket.AF_INET6 else "0.0.0.0", 0))
    return one


def target(flow):
    """The address with its scope, which a name may carry."""
    address, _, scope = flow.destination.partition("%")
    return (address, flow.port, 0, socket.if_nametoindex(scope) if scope else 0) if ":" in address else (address, flow.port)


def start(flow):
    """Sends. Returns the socket, the error and whether an answer is awaited."""
    try:
        one = open_socket(flow)
    except OSError as error:
        return None, error_name(error.errno), False
    try:
        if flow.protocol == "datagram":
            one.sendto(QUERY, target(flow))
        else:
            one.connect(target(flow))
            if flow.protocol == "udp":
                one.send(QUERY)
    except BlockingIOError:
        pass
    except OSError as error:
        return one, error_name(error.errno), False
    return one, None, flow.protocol == "tcp" or flow.port == 53


def send(flows, seconds=ANSWER):
    """Sends all at once and waits for the answers."""
    opened = [list(start(flow)) + [flow, False] for flow in flows]
    poll = select.poll()
    waiting = {}
    for entry in opened:
        if entry[0] is not None and entry[2]:
            poll.register(entry[0], select.POLLOUT if entry[3].protocol == "tcp" else select.POLLIN)
            waiting[entry[0].fileno()] = entry
    end = time.monotonic() + seconds
    while waiting and time.monotonic() < end:
        for descriptor, _ in poll.poll(max(1, (end - time.monotonic()) * 1000)):
            entry = waiting.pop(descriptor)
            poll.unregister(descriptor)
            code = entry[0].getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            entry[1] = error_name(code) if code else entry[1]
            entry[4] = code == 0
    results = []
    for one, error, _, flow, answered in opened:
        source, port = ("", 0)
        if one is not None:
            try:
                source, port = one.getsockname()[:2]
            except OSError:
                pass
            if flow.protocol == "tcp":
                one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            one.close()
        results.append(Sent(flow, error, port, source, answered))
    return results


class Sender:
    """A process without privileges, forked in the namespace of the world, that sends what it is told to."""

    def __init__(self, user, seconds=ANSWER):
        here, there = socket.socketpair()
        self.process = os.fork()
        if self.process == 0:
            here.close()
            try:
                drop_privileges(user)
                self.serve(there, seconds)
            finally:
                os._exit(0)
        there.close()
        self.stream = here.makefile("rw")

    @staticmethod
    def serve(stream, seconds):
        lines = stream.makefile("rw")
        for line in lines:
            results = send([Flow(*flow) for flow in json.loads(line)], seconds)
            lines.write(json.dumps(results) + "\n")
            lines.flush()

    def send(self, flows):
        self.stream.write(json.dumps(flows) + "\n")
        self.stream.flush()
        return [Sent(Flow(*flow), *rest) for flow, *rest in json.loads(self.stream.readline())]


def drop_privileges(user):
    """Becomes the user, or stays the one there is without any capability."""
    libc = ctypes.CDLL(None, use_errno=True)
    if user:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
        return
    header, data = struct.pack("Ii", 0x20080522, 0), struct.pack("IIIIII", 0, 0, 0, 0, 0, 0)
    libc.capset(header, data)
