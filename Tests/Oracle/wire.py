# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""The other end of all cables: it sees every frame, and answers as routers and servers would.

It is one thread in a network namespace of its own. The far ends of the cables have no addresses there: frames are read
raw, and this program answers ARP, neighbour solicitations, TCP handshakes to any address and port, and DNS queries. Each
address that is asked for has a hardware address of its own, so a frame's destination says which gateway it was given to.
"""
import collections, ctypes, errno, os, queue, select, socket, struct, subprocess, threading, zlib

LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNET = 0x40000000
ETH_IP, ETH_ARP, ETH_IP6 = 0x0800, 0x0806, 0x86DD
SYN, PSH, ACK = 0x02, 0x08, 0x10
VXLAN_PORT = 4789

# What was sent: the port where it was seen, the hardware address it came from, the gateway it was given to (None for
# the destination itself or a link without gateways), and the packet's own addresses.
Frame = collections.namedtuple("Frame", "port sender gateway source destination protocol sport dport")


def checksum(data):
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def transport_checksum(source, destination, protocol, segment):
    if len(source) == 4:
        pseudo = source + destination + struct.pack("!BBH", 0, protocol, len(segment))
    else:
        pseudo = source + destination + struct.pack("!II", len(segment), protocol)
    return checksum(pseudo + segment)


def packet(source, destination, protocol, segment, hops=64):
    """An IP packet of either family."""
    if len(source) == 4:
        head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(segment), 0, 0, hops, protocol, 0, source, destination)
        return head[:10] + struct.pack("!H", checksum(head)) + head[12:] + segment
    return struct.pack("!IHBB", 6 << 28, len(segment), protocol, hops) + source + destination + segment


def segment_with_checksum(source, destination, protocol, segment, offset):
    total = transport_checksum(source, destination, protocol, segment)
    return segment[:offset] + struct.pack("!H", total or 0xFFFF) + segment[offset + 2:]


def text(address):
    return socket.inet_ntop(socket.AF_INET if len(address) == 4 else socket.AF_INET6, address)


def binary(address):
    return socket.inet_pton(socket.AF_INET6 if ":" in address else socket.AF_INET, address)


def answer_to(query):
    """The answer of a name server that finds the root's name servers and one address of each name."""
    question = query[12:query.index(0, 12) + 5]
    data = {1: bytes([198, 51, 100, 80]), 2: b"\0"}.get(question[-3])
    record = b"" if data is None else b"\xc0\x0c" + question[-4:] + struct.pack("!IH", 60, len(data)) + data
    return query[:2] + b"\x81\x80" + struct.pack("!HHHH", 1, 1 if record else 0, 0, 0) + question + record


class Wire(threading.Thread):
    """The thread; its public methods are called from others."""

    def __init__(self):
        super().__init__(daemon=True)
        self.frames, self.changed = [], threading.Condition()
        self.holders = {}  # hardware address -> the address that was asked for
        self.silent, self.duplicates = set(), set()
        self.tasks = queue.Queue()
        self.ports, self.sockets = {}, {}  # by descriptor: how to read and reply; by name: the socket, how to send
        self.waker, self.wake = os.pipe()
        self.ready = threading.Event()
        self.start()
        self.ready.wait()

    # In the thread

    def run(self):
        LIBC.unshare(CLONE_NEWNET)
        self.descriptor = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        for key in ("all", "default"):
            with open(f"/proc/sys/net/ipv6/conf/{key}/disable_ipv6", "w") as file:
                file.write("1")
        self.ready.set()
        self.poll = select.epoll()
        self.poll.register(self.waker, select.EPOLLIN)
        while True:
            for descriptor, _ in self.poll.poll():
                if descriptor == self.waker:
                    os.read(self.waker, 1)
                    task, done = self.tasks.get()
                    try:
                        done.append(task())
                    except Exception as error:  # handed to who asked
                        done.append(error)
                    with self.changed:
                        self.changed.notify_all()
                else:
                    self.receive(descriptor)

    def receive(self, descriptor):
        port = self.ports.get(descriptor)
        if port is None:
            return
        name, reading, reply = port
        while True:
            try:
                data = reading()
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno != errno.ENETDOWN:
                    self.poll.unregister(descriptor)
                    del self.ports[descriptor]
                return
            if data:
                self.handle(name, data, reply)

    def open_port(self, name):
        raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_NONBLOCK, socket.htons(3))
        raw.bind((name, 3))

        def reading():
            data, origin = raw.recvfrom(65535)
            return data if origin[2] != socket.PACKET_OUTGOING else None

        def reply(frame):
            try:
                raw.send(frame)
            except OSError:
                pass  # the cable is out
        self.ports[raw.fileno()] = (name, reading, reply)
        self.sockets[name] = (raw, reply)
        self.poll.register(raw.fileno(), select.EPOLLIN)

    # From other threads

    def call(self, task):
        """Runs a task in the thread, hence in its namespace."""
        done = []
        self.tasks.put((task, done))
        os.write(self.wake, b"x")
        with self.changed:
            self.changed.wait_for(lambda: done)
        if isinstance(done[0], Exception):
            raise done[0]
        return done[0]

    def batch(self, lines):
        return self.call(lambda: subprocess.run(["ip", "-force", "-batch", "-"], input="\n".join(lines) + "\n",
                                                capture_output=True, text=True))

    def add_port(self, name):
        self.batch([f"link set {name} up"])
        self.call(lambda: self.open_port(name))

    def add_tunnel(self, name, descriptor):
        """A tun device: packets without frames, read from its descriptor as a VPN's program does."""
        os.set_blocking(descriptor, False)

        def reply(data):
            os.write(descriptor, data)

        def add():
            self.ports[descriptor] = (name, lambda: os.read(descriptor, 65535), reply)
            self.poll.register(descriptor, select.EPOLLIN)
        self.call(add)

    def remove_tunnel(self, descriptor):
        def remove():
            if self.ports.pop(descriptor, None):
                self.poll.unregister(descriptor)
            os.close(descriptor)
        self.call(remove)

    def wait_for(self, condition, seconds):
        with self.changed:
            return self.changed.wait_for(condition, seconds)

    def clear(self):
        with self.changed:
            self.frames = []

    # What a frame means

    def hardware(self, address):
        """The hardware address of whoever holds an address."""
        mac = bytes([2, 4]) + address if len(address) == 4 else bytes([2, 6]) + struct.pack("!I", zlib.crc32(address))
        self.holders[mac] = address
        return mac

    def handle(self, port, data, reply):
        if port.startswith("tun"):
            version = data[0] >> 4
            return self.handle_packet(port, None, None, ETH_IP if version == 4 else ETH_IP6, data, reply)
        destination, sender, kind = data[:6], data[6:12], struct.unpack("!H", data[12:14])[0]
        body = data[14:]

        def framed(kind, payload, own):
            reply(sender + own + struct.pack("!H", kind) + payload)
        if kind == ETH_ARP:
            self.answer_arp(port, sender, body, framed)
        elif kind in (ETH_IP, ETH_IP6):
            self.handle_packet(port, sender, destination, kind, body, lambda answer: framed(kind, answer, destination),
                             framed)

    def answer_arp(self, port, sender, body, framed):
        if len(body) < 28 or struct.unpack("!H", body[6:8])[0] != 1:
            return
        asker, wanted = body[14:18], body[24:28]
        if asker in (b"\0\0\0\0", wanted) or text(wanted) in self.silent:
            return
        own = self.hardware(wanted)
        framed(ETH_ARP, struct.pack("!HHBBH", 1, ETH_IP, 6, 4, 2) + own + wanted + sender + asker, own)

    def handle_packet(self, port, sender, receiver, kind, data, reply, framed=None):
        if kind == ETH_IP:
            if len(data) < 20:
                return
            length, protocol, source, destination = (data[0] & 15) * 4, data[9], data[12:16], data[16:20]
        else:
            if len(data) < 40:
                return
            length, protocol, source, destination = 40, data[6], data[8:24], data[24:40]
        segment = data[length:]
        if protocol == socket.IPPROTO_ICMPV6:
            return self.answer_solicitation(port, source, segment, framed)
        if protocol not in (socket.IPPROTO_TCP, socket.IPPROTO_UDP) or len(segment) < 8:
            return
        if receiver is not None and receiver[0] & 1:
            return
        sport, dport = struct.unpack("!HH", segment[:4])
        if protocol == socket.IPPROTO_UDP and dport == VXLAN_PORT:
            def wrap(frame):
                udp = struct.pack("!HHHH", sport, VXLAN_PORT, 8 + len(segment[8:16]) + len(frame), 0)
                reply(packet(destination, source, protocol, udp + segment[8:16] + frame))
            return self.handle(port, segment[16:], wrap)
        if protocol == socket.IPPROTO_TCP and (len(segment) < 20 or segment[13] & (SYN | ACK) != SYN):
            if dport == 53 and len(segment) >= 20:
                self.answer_stream(source, destination, segment, reply)
            return
        holder = self.holders.get(receiver)
        gateway = text(holder) if holder is not None and holder != destination else None
        frame = Frame(port, sender.hex(":") if sender else port, gateway, text(source), text(destination),
                      "tcp" if protocol == socket.IPPROTO_TCP else "udp", sport, dport)
        with self.changed:
            self.frames.append(frame)
            self.changed.notify_all()
        if protocol == socket.IPPROTO_TCP:
            number = struct.unpack("!I", segment[4:8])[0]
            answer = struct.pack("!HHIIBBHHH", dport, sport, 1, (number + 1) & 0xFFFFFFFF, 0x50, SYN | ACK, 65535, 0, 0)
            reply(packet(destination, source, protocol,
                         segment_with_checksum(destination, source, protocol, answer, 16)))
        elif dport == 53 and len(segment) >= 20:
            body = answer_to(segment[8:])
            answer = struct.pack("!HHHH", dport, sport, 8 + len(body), 0) + body
            reply(packet(destination, source, protocol, segment_with_checksum(destination, source, protocol, answer, 6)))

    @staticmethod
    def answer_stream(source, destination, segment, reply):
        """Answers a DNS query that is one segment of a connection (RFC 1035 section 4.2.2)."""
        sport, dport, number, acknowledged = struct.unpack("!HHII", segment[:12])
        query = segment[(segment[12] >> 4) * 4:]
        if len(query) < 14:
            return
        body = answer_to(query[2:])
        answer = struct.pack("!HHIIBBHHH", dport, sport, acknowledged, (number + len(query)) & 0xFFFFFFFF, 0x50, PSH | ACK,
                             65535, 0, 0) + struct.pack("!H", len(body)) + body
        reply(packet(destination, source, socket.IPPROTO_TCP,
                     segment_with_checksum(destination, source, socket.IPPROTO_TCP, answer, 16)))

    def answer_solicitation(self, port, source, segment, framed):
        """Answers a neighbour solicitation (RFC 4861 section 4.3); one that looks for a duplicate only if there is one."""
        if framed is None or len(segment) < 24 or segment[0] != 135:
            return
        wanted, probing = segment[8:24], not any(source)
        if text(wanted) in self.silent or (probing and text(wanted) not in self.duplicates):
            return
        own = self.hardware(wanted)
        receiver = binary("ff02::1") if probing else source
        flags = 0x20000000 if probing else 0xE0000000
        answer = struct.pack("!BBHI", 136, 0, 0, flags) + wanted + bytes([2, 1]) + own
        answer = segment_with_checksum(wanted, receiver, socket.IPPROTO_ICMPV6, answer, 2)
        framed(ETH_IP6, packet(wanted, receiver, socket.IPPROTO_ICMPV6, answer, hops=255), own)

    def advertise(self, port, router, lifetime, prefix=None, preference="medium", valid=None):
        """Sends a router advertisement (RFC 4861 section 4.2, preference by RFC 4191)."""
        address, group = binary(router), binary("ff02::1")
        own = self.hardware(address)
        flags = {"high": 0x08, "medium": 0, "low": 0x18}[preference]
        message = struct.pack("!BBHBBHII", 134, 0, 0, 64, flags, lifetime, 0, 0) + bytes([1, 1]) + own
        if prefix:
            valid = 7200 if valid is None else valid
            message += struct.pack("!BBBBIII", 3, 4, 64, 0xC0, valid, valid, 0) + binary(prefix)
        message = segment_with_checksum(address, group, socket.IPPROTO_ICMPV6, message, 2)
        frame = b"\x33\x33\0\0\0\1" + own + struct.pack("!H", ETH_IP6)
        frame += packet(address, group, socket.IPPROTO_ICMPV6, message, hops=255)
        self.call(lambda: self.sockets[port][1](frame))
