# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""Simulated hosts for `churn.py`: simple, honest responders by RFC 6762, IPv4 only, all in one process."""
import functools, random, socket, struct

GROUP, PORT = "224.0.0.251", 5353
A, PTR, TXT, SRV, NSEC, ANY = 1, 12, 16, 33, 47, 255
FLUSH = 0x8000
ENUMERATION = "_services._dns-sd._udp.local"
LONGEST = 1400


def read_name(data, at):
    """A name as text, and where it ends."""
    labels, end, jumps = [], None, 0
    while (length := data[at]) != 0:
        if length >= 0xC0:
            end, at, jumps = end or at + 2, (length & 0x3F) << 8 | data[at + 1], jumps + 1
            if jumps > 50:
                raise ValueError("a loop of pointers")
            continue
        labels.append(data[at + 1:at + 1 + length].decode(errors="replace"))
        at += 1 + length
    return ".".join(labels), end or at + 1


@functools.lru_cache(maxsize=64)
def parse(data):
    """(flags, questions, records of all sections); a record is (name, type, class, lifetime, data without pointers)."""
    _, flags, *counts = struct.unpack_from(">6H", data)
    at, questions, records = 12, [], []
    for _ in range(counts[0]):
        name, at = read_name(data, at)
        questions.append((name, *struct.unpack_from(">HH", data, at)))
        at += 4
    for _ in range(sum(counts[1:])):
        name, at = read_name(data, at)
        kind, group, lifetime, length = struct.unpack_from(">HHIH", data, at)
        at += 10
        body = data[at:at + length]
        if kind == PTR:
            body = read_name(data, at)[0]
        elif kind == SRV:
            body = (struct.unpack_from(">H", data, at + 4)[0], read_name(data, at + 6)[0])
        records.append((name, kind, group, lifetime, body))
        at += length
    return flags, questions, records


class Message:
    """A response under construction, with compressed names."""

    def __init__(self):
        self.data, self.offsets, self.counts = bytearray(12), {}, [0, 0]

    def name(self, text):
        while text:
            if text in self.offsets:
                self.data += struct.pack(">H", 0xC000 | self.offsets[text])
                return
            self.offsets[text] = len(self.data)
            label, _, text = text.partition(".")
            self.data += bytes([len(label)]) + label.encode()
        self.data.append(0)

    def add(self, record, section, lifetime=None):
        name, kind, group, own, body = record
        self.name(name)
        self.data += struct.pack(">HHI", kind, group, own if lifetime is None else lifetime)
        at = len(self.data)
        self.data += b"\0\0"
        if kind == PTR:
            self.name(body)
        elif kind == SRV:
            self.data += struct.pack(">HHH", 0, 0, body[0])
            self.name(body[1])
        elif kind == NSEC:
            self.name(name)
            self.data += body
        else:
            self.data += body
        struct.pack_into(">H", self.data, at, len(self.data) - at - 2)
        self.counts[section] += 1

    def finished(self):
        struct.pack_into(">6H", self.data, 0, 0, 0x8400, 0, self.counts[0], 0, self.counts[1])
        return bytes(self.data)


class Service:
    """One instance; `version` makes its port and its text."""

    def __init__(self, name, kind, host):
        self.name, self.kind, self.host, self.version, self.is_living = name, kind, host, 0, False
        self.ready = 0.0

    @property
    def instance(self):
        return f"{self.name}.{self.kind}.local"

    @property
    def port(self):
        return 2000 + self.version

    def pointer(self):
        return (self.kind + ".local", PTR, 1, self.host.lifetime, self.instance)

    def unique(self):
        text = f"v={self.version}".encode()
        return [(self.instance, SRV, 1 | FLUSH, self.host.lifetime, (self.port, self.host.name)),
                (self.instance, TXT, 1 | FLUSH, self.host.lifetime, bytes([len(text)]) + text)]

    def denial(self):
        return (self.instance, NSEC, 1 | FLUSH, self.host.lifetime, b"\0\5\0\0\x80\0\x40")


class Host:
    """A responder on a socket of its own; a lifetime for all its records but the enumeration of types."""

    def __init__(self, number, address, lifetime, kinds, clock, seed):
        self.number, self.address, self.lifetime, self.clock = number, address, lifetime, clock
        self.name = f"churn-{number}.local"
        self.services = [Service(f"h{number}s{index}", kind, self) for index, kind in enumerate(kinds)]
        self.last, self.waiting, self.random, self.ready = {}, {}, random.Random(seed), 0.0
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(("", PORT))
        membership = socket.inet_aton(GROUP) + socket.inet_aton(address)
        self.socket.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, membership)
        self.socket.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(address))
        self.socket.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 255)
        self.socket.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, 0)
        self.socket.setblocking(False)

    def living(self):
        return [service for service in self.services if service.is_living]

    def location(self):
        return (self.name, A, 1 | FLUSH, self.lifetime, socket.inet_aton(self.address))

    def denial(self):
        return (self.name, NSEC, 1 | FLUSH, self.lifetime, b"\0\1\x40")

    def answers(self, name, kind):
        """Records that answer a question, and those that go with them; names are compared without case."""
        name = name.lower()
        if name == ENUMERATION and kind in (PTR, ANY):
            kinds = dict.fromkeys(service.kind for service in self.living())
            return [(ENUMERATION, PTR, 1, 4500, each + ".local") for each in kinds], []
        if name == self.name and self.living():
            return ([self.location()], []) if kind in (A, ANY) else ([self.denial()], [self.location()])
        answers, more = [], []
        for service in self.living():
            if name == service.kind + ".local" and kind in (PTR, ANY):
                answers.append(service.pointer())
                more += service.unique() + [self.location(), self.denial()]
            elif name == service.instance:
                found = [record for record in service.unique() if kind in (record[1], ANY)]
                answers += found or [service.denial()]
                more += [self.location(), self.denial()]
        return answers, more

    # ---- Asked

    def readable(self):
        try:
            data, source = self.socket.recvfrom(9000)
            flags, questions, records = parse(data)
        except (OSError, ValueError, IndexError, struct.error):
            return
        if flags & 0x8000 or not self.living():
            return
        known = {(name.lower(), kind, body): lifetime for name, kind, _, lifetime, body in records}
        if source in self.waiting:
            # What follows a truncated query.
            self.waiting[source][1].update(known)
            self.waiting[source][0].extend(questions)
            return
        if not questions:
            return
        found = [record for name, kind, _ in questions for record in self.answers(name, kind)[0]]
        if not found:
            return
        self.waiting[source] = (list(questions), known)
        is_shared = any(not record[2] & FLUSH for record in found)
        if flags & 0x0200:
            delay = self.random.uniform(0.4, 0.5)
        else:
            delay = self.random.uniform(0.02, 0.12) if is_shared else self.random.uniform(0, 0.01)
        self.clock.after(delay, lambda: self.answer(source))

    def answer(self, source):
        questions, known = self.waiting.pop(source)
        now, everybody, alone = self.clock.now(), ([], []), ([], [])
        for name, kind, group in questions:
            answers, more = self.answers(name, kind)
            for record in answers:
                if known.get((record[0].lower(), record[1], record[4]), 0) >= record[3] / 2:
                    continue
                age = now - self.last.get(record, -1e9)
                if source[1] != PORT or (group & 0x8000 and age < record[3] / 4):
                    target = alone
                elif age >= 1:
                    target = everybody
                else:
                    continue
                target[0].append(record)
                target[1].extend(each for each in more if each[0] in (record[0], record[4], self.name))
        self.send(*everybody)
        self.send(*alone, to=source)

    # ---- Told

    def send(self, answers, more=(), to=(GROUP, PORT), lifetime=None):
        """Sends records in as few packets as they need; each once."""
        message, written = Message(), set()
        for section, records in ((0, answers), (1, more)):
            for record in records:
                if record in written:
                    continue
                if len(message.data) > LONGEST - 150:
                    self.transmit(message, to)
                    message = Message()
                written.add(record)
                message.add(record, section, lifetime)
                if to[0] == GROUP:
                    self.last[record] = self.clock.now()
        self.transmit(message, to)

    def transmit(self, message, to):
        if sum(message.counts):
            try:
                self.socket.sendto(message.finished(), to)
            except OSError:
                pass  # The link is down.

    def announce(self, services):
        """Everything about services, with what they run on."""
        services = [service for service in services if service.is_living]
        if not services:
            return
        records = [(ENUMERATION, PTR, 1, 4500, service.kind + ".local") for service in services]
        for service in services:
            records += [service.pointer(), *service.unique()]
        self.send(records + [self.location()], [self.denial()])

    def say_goodbye(self, service):
        self.send([service.pointer(), *service.unique()], lifetime=0)
