# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""Servers of the lab: pages, encrypted pages, name servers, echo; all on one event loop of one thread."""
import asyncio, base64, hashlib, socket, ssl, struct, threading, time


class Servers:
    """Everything that answers beyond what a kernel answers by itself."""

    def __init__(self, network):
        from network import listen

        plan = network.plan
        self.loop = asyncio.new_event_loop()
        self.skew = 0
        self.advertisers = []
        self.names = {plan.gateway: NameServer(plan), plan.server: NameServer(plan)}
        right, wrong, stale = (self._context(f"{network.folder}/{name}") for name in ("right", "wrong", "stale"))
        stream, datagram = socket.SOCK_STREAM, socket.SOCK_DGRAM
        work = []
        for host in plan.anchors + plan.anchors6:
            work += [self._pages(listen(network.internet, host, 80, stream), anchor),
                     self._pages(listen(network.internet, host, 443, stream), anchor, right),
                     self._pages(listen(network.internet, host, 8443, stream), anchor, wrong),
                     self._pages(listen(network.internet, host, 9443, stream), anchor, stale),
                     self._echo(listen(network.internet, host, 7007, datagram))]
        for machine, host in [(network.router, plan.gateway), (network.internet, plan.server)]:
            work += [self._names(listen(machine, host, 53, datagram), self.names[host]),
                     self._name_stream(listen(machine, host, 53, stream), self.names[host])]
        work.append(self._time(listen(network.internet, plan.server, 123, datagram)))
        for port, answer, context in [(8080, portal, None), (8081, impostor, None), (8443, anchor, wrong)]:
            work.append(self._pages(listen(network.router, "0.0.0.0", port, stream), answer, context))
        self.loop.run_until_complete(self._start(work))
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()

    def stop(self):
        asyncio.run_coroutine_threadsafe(self._end(), self.loop).result(10)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()

    def advertise(self, machine, interface, prefix, lifetime=1800, portal=None):
        """Lets a machine answer router solicitations, with a prefix of 64 bits and where a portal is asked."""
        machine.enter()
        made = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
        index = socket.if_nametoindex(interface)
        everybody = socket.inet_pton(socket.AF_INET6, "ff02::2") + struct.pack("@I", index)
        made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, everybody)
        made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_UNICAST_HOPS, 255)
        made.setblocking(False)
        option = struct.pack("!BBBBIII", 3, 4, 64, 0xC0, 86400, 14400, 0) + socket.inet_pton(socket.AF_INET6, prefix)
        if portal:
            length = (len(portal) + 2 + 7) // 8
            option += struct.pack(f"!BB{8 * length - 2}s", 37, length, portal.encode())
        answer = struct.pack("!BBHBBHII", 134, 0, 0, 64, 0, lifetime, 0, 0) + option

        def hear():
            question, asker = made.recvfrom(2048)
            if question[:1] == b"\x85":
                made.sendto(answer, asker)

        self.advertisers.append(made)
        self.loop.call_soon_threadsafe(self.loop.add_reader, made, hear)

    def lease(self, machine, interface, server, router):
        """Lets a machine offer an address to whoever asks for DHCP servers."""
        machine.enter()
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, interface.encode())
        made.bind(("", 67))
        made.setblocking(False)
        options = (b"\x35\x01\x02" + b"\x36\x04" + socket.inet_aton(server) + b"\x03\x04" + socket.inet_aton(router)
                   + b"\x01\x04\xff\xff\xff\x00\xff")

        def hear():
            question = made.recv(2048)
            if question[:1] == b"\x01" and b"\x35\x01\x01" in question[240:]:
                answer = b"\x02" + question[1:16] + socket.inet_aton(server)[:3] + b"\x63" + question[20:240] + options
                made.sendto(answer, ("255.255.255.255", 68))

        self.advertisers.append(made)
        self.loop.call_soon_threadsafe(self.loop.add_reader, made, hear)

    def answer_multicast(self, machine, interface, address):
        """Lets a machine speak multicast DNS (RFC 6762): it has a web server, and a name for its address."""
        machine.enter()
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(("", 5353))
        index = socket.if_nametoindex(interface)
        member = struct.pack("@4s4si", socket.inet_aton("224.0.0.251"), bytes(4), index)
        made.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, member)
        made.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, struct.pack("@4s4si", bytes(4), bytes(4), index))
        made.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 255)
        made.setblocking(False)
        reverse = ".".join(reversed(address.split("."))) + ".in-addr.arpa"
        records = b"".join(wire_name(owner) + struct.pack("!HHIH", 12, 1, 120, len(wire_name(target))) + wire_name(target)
                           for owner, target in [("_services._dns-sd._udp.local", "_http._tcp.local"),
                                                 (reverse, "peer.local")])

        def hear():
            question, asker = made.recvfrom(9000)
            if len(question) < 12 or question[2] & 0x80:
                return
            answer = struct.pack("!HHHHH", 0x8400, 0, 2, 0, 0) + records
            if asker[1] == 5353:
                made.sendto(b"\0\0" + answer, ("224.0.0.251", 5353))
            else:
                made.sendto(question[:2] + answer, asker)

        self.advertisers.append(made)
        self.loop.call_soon_threadsafe(self.loop.add_reader, made, hear)

    def fall_silent(self):
        """Ends what `advertise`, `lease` and `answer_multicast` began."""
        done = threading.Event()

        def end():
            for made in self.advertisers:
                self.loop.remove_reader(made)
                made.close()
            self.advertisers = []
            done.set()

        self.loop.call_soon_threadsafe(end)
        done.wait()

    @staticmethod
    async def _end():
        """Lets nobody wait any more, so that nothing is left when the loop stops."""
        waiting = asyncio.all_tasks() - {asyncio.current_task()}
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)

    @staticmethod
    async def _start(work):
        for server in work:
            await server

    @staticmethod
    def _context(base):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(f"{base}.pem", f"{base}.key")
        return context

    async def _pages(self, listener, answer, context=None):
        async def serve(reader, writer):
            try:
                head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 5)
                writer.write(answer(head))
                await writer.drain()
                if head.startswith(b"GET /mute"):
                    await asyncio.wait_for(reader.read(), 30)
            except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, asyncio.CancelledError, TimeoutError,
                    OSError, ssl.SSLError):
                pass
            writer.close()

        await asyncio.start_server(serve, sock=listener, ssl=context)

    async def _echo(self, made):
        class Echo(asyncio.DatagramProtocol):
            def connection_made(self, transport):
                self.transport = transport

            def datagram_received(self, data, address):
                self.transport.sendto(data, address)

        await asyncio.get_running_loop().create_datagram_endpoint(Echo, sock=made)

    async def _time(self, made):
        """A time server whose clock is `skew` seconds ahead."""
        servers = self

        class Time(asyncio.DatagramProtocol):
            def connection_made(self, transport):
                self.transport = transport

            def datagram_received(self, data, address):
                if len(data) < 48 or data[0] & 7 != 3:
                    return
                now = int((time.time() + servers.skew + 2208988800) * 2**32)
                answer = struct.pack("!BBBbII4sQ8sQQ", 0x24, 2, 4, -20, 0, 0, b"LAB ", now, data[40:48], now, now)
                self.transport.sendto(answer, address)

        await asyncio.get_running_loop().create_datagram_endpoint(Time, sock=made)

    async def _names(self, made, server):
        class Names(asyncio.DatagramProtocol):
            def connection_made(self, transport):
                self.transport = transport

            def datagram_received(self, data, address):
                answer = server.answer(data, 512)
                if answer:
                    loop = asyncio.get_running_loop()
                    loop.call_later(server.delay, self.transport.sendto, answer, address)

        await asyncio.get_running_loop().create_datagram_endpoint(Names, sock=made)

    async def _name_stream(self, listener, server):
        async def serve(reader, writer):
            try:
                length = struct.unpack("!H", await asyncio.wait_for(reader.readexactly(2), 5))[0]
                answer = server.answer(await asyncio.wait_for(reader.readexactly(length), 5), 65535)
                if answer:
                    writer.write(struct.pack("!H", len(answer)) + answer)
                    await writer.drain()
            except (asyncio.IncompleteReadError, asyncio.CancelledError, TimeoutError, OSError):
                pass
            writer.close()

        await asyncio.start_server(serve, sock=listener)


# Pages


def field(head, name):
    for line in head.decode("latin-1").split("\r\n")[1:]:
        key, _, value = line.partition(":")
        if key.lower() == name:
            return value.strip()
    return None


def page(status, *fields, body=b""):
    lines = [f"HTTP/1.1 {status}", *fields, f"Content-Length: {len(body)}", "Connection: close"]
    if status.startswith("204"):
        lines.remove("Content-Length: 0")
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


def anchor(head):
    """204, and the challenge back; a few paths answer otherwise."""
    path = head.split(b" ", 2)[1]
    if path == b"/mute":
        return b""
    if path == b"/fail":
        return page("500 Internal Server Error")
    key = field(head, "sec-websocket-key")
    if path == b"/live" and key:
        digest = hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
        accept = base64.b64encode(digest).decode()
        lines = ["HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade",
                 f"Sec-WebSocket-Accept: {accept}"]
        return ("\r\n".join(lines) + "\r\n\r\n").encode()
    challenge = field(head, "x-nwpath-challenge")
    return page("204 No Content", *([f"X-NWPath-Response: response {challenge}"] if challenge else []))


def portal(_):
    """A hotel that wants a room number."""
    return page("302 Found", "Location: http://login.portal.test/room")


def impostor(_):
    """A proxy with a page of its own."""
    return page("200 OK", "Content-Type: text/html", body=b"<p>hello</p>")


# Names


def wire_name(text):
    return b"".join(bytes([len(label)]) + label.encode() for label in text.split(".")) + b"\0"


class NameServer:
    """Knows the anchors, a zone of wildcards, and a large text; `mode` says how it lies."""

    def __init__(self, plan):
        self.plan = plan
        self.mode = "right"
        self.delay = 0

    def answer(self, query, limit):
        if self.mode == "dead" or len(query) < 17:
            return None
        end = 12
        labels = []
        while end < len(query) and query[end]:
            labels.append(query[end + 1:end + 1 + query[end]].decode("latin-1").lower())
            end += 1 + query[end]
        kind = struct.unpack("!H", query[end + 1:end + 3])[0]
        question = query[12:end + 5]
        name = ".".join(labels)
        code, records = self.look_up(name, kind)
        if records is None:
            return None
        body = b"".join(b"\xc0\x0c" + struct.pack("!HHIH", kind, 1, 60, len(data)) + data for data in records)
        flags = 0x8180 | code
        if 12 + len(question) + len(body) > limit:
            flags, body, records = flags | 0x0200, b"", []
        return query[:2] + struct.pack("!HHHHH", flags, 1, len(records), 0, 0) + question + body

    def look_up(self, name, kind):
        plan, domain = self.plan, self.plan.domain
        v4 = {f"a.{domain}": plan.anchors[0], f"b.{domain}": plan.anchors[1]}
        v6 = {f"a.{domain}": plan.anchors6[0], f"b.{domain}": plan.anchors6[1]}
        if self.mode == "servfail" or name == f"broken.{domain}":
            return 2, []
        if self.mode == "deaf to AAAA" and kind == 28:
            return 0, None
        if not name:
            return 0, [b"\x01a\x00"] if kind == 2 else []
        if self.mode == "lying" and name in v4 and kind == 1:
            return 0, [socket.inet_aton("192.0.2.66")]
        if name.endswith(f".p.{domain}"):
            return 0, [socket.inet_aton(plan.anchors[0])] if kind == 1 else []
        if name == plan.portal:
            return 0, [socket.inet_aton(plan.gateway)] if kind == 1 else []
        if name in v4:
            found = {1: [socket.inet_aton(v4[name])], 28: [socket.inet_pton(socket.AF_INET6, v6[name])]}
            return 0, found.get(kind, [])
        if name == f"big.{domain}" and self.mode != "without large text":
            return 0, [(b"\xc8" + b"x" * 200) * 15] if kind == 16 else []
        if self.mode == "rewriting" and kind == 1:
            return 0, [socket.inet_aton("192.0.2.99")]
        return 3, []
