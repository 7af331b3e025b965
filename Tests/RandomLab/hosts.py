# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""Servers of the composed networks: anchors, name servers, and a service host that is no anchor."""
import asyncio, base64, hashlib, os, socket, ssl, struct, threading

import labpath  # noqa: F401
from network import listen
from servers import NameServer, Servers, anchor, field, page

BULK = 100_000


class Zone(NameServer):
    """A name server of the Internet: `records` by name, and how it fails (`mode`, `delay`)."""

    def __init__(self, plan):
        self.plan, self.mode, self.delay = plan, "right", 0
        self.dns64, self.silent_zone = plan.nat64, None
        self.records = {}
        for key in plan.anchors:
            self.records[f"{key}.{plan.domain}"] = ([plan.public[key]], [plan.public6[key]])
        both = plan.service_families == "both"
        self.records[plan.service_name] = ([plan.public["service"]], [plan.public6["service"]] if both else [])
        self.records[f"old.{plan.domain}"] = ([plan.public["service"]], [])
        self.records[f"many.{plan.domain}"] = ([plan.host(plan.nets["service"], 60 + index) for index in range(40)], [])
        self.records[f"empty.{plan.domain}"] = ([], [])

    def look_up(self, name, kind):
        domain = self.plan.domain
        if self.silent_zone and name.endswith(self.silent_zone):
            return 0, None
        if self.mode == "servfail" or name == f"broken.{domain}":
            return 2, []
        if self.mode == "deaf to AAAA" and kind == 28:
            return 0, None
        if self.mode == "NXDOMAIN":
            return 3, []
        if name.endswith(f".p.{domain}"):
            return 0, self.of_kind(kind, [self.plan.public["a"]], [])
        if name in self.records:
            v4, v6 = self.records[name]
            if self.mode == "lying":
                v4, v6 = ["192.0.2.6"] * bool(v4), ["2001:db8:dead::6"] * bool(v6)
            return 0, self.of_kind(kind, v4, v6)
        if name == f"big.{domain}":
            return 0, [(b"\xc8" + b"x" * 200) * 15] if kind == 16 else []
        if self.mode == "rewriting" and kind in (1, 28):
            return 0, self.of_kind(kind, [self.plan.host(self.plan.nets["c"], 99)], [])
        return 3, []

    def of_kind(self, kind, v4, v6):
        if kind == 1:
            return [socket.inet_aton(address) for address in v4]
        if kind == 28:
            if self.dns64 and not v6:
                return [socket.inet_pton(socket.AF_INET6, self.plan.translated)[:12] + socket.inet_aton(address)
                        for address in v4]
            return [socket.inet_pton(socket.AF_INET6, address) for address in v6]
        return []


class Hosts(Servers):
    """All servers of one network, on one event loop of one thread; those of ../Lab that fit are reused."""

    def __init__(self, world):
        self.world, plan = world, world.plan
        self.loop = asyncio.new_event_loop()
        self.skew, self.advertisers, self.pumps = 0, [], []
        self.names = {key: Zone(plan) for key in ("first", "second")}
        self.contexts = {name: self._context(f"{world.certificates}/{name}")
                         for name in ("right", "wrong", "stale", "other")}
        self.behaviour = {}  # how the service host answers: "status", "stall", "mute"
        stream, datagram = socket.SOCK_STREAM, socket.SOCK_DGRAM
        work = []
        for key in plan.anchors:
            for address in (plan.public[key], plan.public6[key]):
                work += [self._pages(listen(world.internet, address, 80, stream), anchor),
                         self._pages(listen(world.internet, address, 443, stream), anchor, self.contexts["right"]),
                         self._quic(listen(world.internet, address, 443, datagram)),
                         self._echo(listen(world.internet, address, 7007, datagram))]
        for key, addresses in [("first", (plan.public["names"], plan.public6["names"])),
                               ("second", (plan.second_names, plan.second_names6))]:
            for address in addresses:
                work += [self._names(listen(world.internet, address, 53, datagram), self.names[key]),
                         self._name_stream(listen(world.internet, address, 53, stream), self.names[key])]
        work.append(self._time(listen(world.internet, plan.public["names"], 123, datagram)))
        self.service_sockets(work)
        self.loop.run_until_complete(self._start(work))
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()

    def service_sockets(self, work):
        world, plan = self.world, self.world.plan
        stream, datagram = socket.SOCK_STREAM, socket.SOCK_DGRAM
        ports = [(80, None), (443, "right"), (8443, "wrong"), (9443, "stale"), (10443, "other")]
        for address in (plan.public["service"], plan.public6["service"]):
            for port, name in ports:
                context = self.contexts[name] if name else None
                work.append(self._service(listen(world.service, address, port, stream), context))
            work += [self._bulk(listen(world.service, address, 9000, stream)),
                     self._quic(listen(world.service, address, 443, datagram)),
                     self._hush(listen(world.service, address, 9001, stream))]

    def add_pages(self, machine, address, port, answer, context=None):
        """A further web server, while the others run."""
        made = listen(machine, address, port, socket.SOCK_STREAM)
        work = self._pages(made, answer, self.contexts[context] if context else None)
        asyncio.run_coroutine_threadsafe(work, self.loop).result(5)

    def pump(self, descriptor, deliver):
        """Calls `deliver` with each packet that can be read from a descriptor, until the end."""

        def carry():
            try:
                deliver(os.read(descriptor, 65536))
            except OSError:
                pass

        self.pumps.append(descriptor)
        self.loop.call_soon_threadsafe(self.loop.add_reader, descriptor, carry)

    def stop(self):
        self.fall_silent()
        super().stop()
        for descriptor in self.pumps:
            self.loop.remove_reader(descriptor)
        self.loop.close()

    async def _name_stream(self, listener, server):
        """Answers all queries of a connection: programs send those for both kinds of addresses over one."""

        async def serve(reader, writer):
            try:
                while True:
                    length = struct.unpack("!H", await asyncio.wait_for(reader.readexactly(2), 5))[0]
                    answer = server.answer(await asyncio.wait_for(reader.readexactly(length), 5), 65535)
                    if answer:
                        await asyncio.sleep(server.delay)
                        writer.write(struct.pack("!H", len(answer)) + answer)
                        await writer.drain()
            except (asyncio.IncompleteReadError, asyncio.CancelledError, TimeoutError, OSError):
                pass
            writer.close()

        await asyncio.start_server(serve, sock=listener)

    async def _quic(self, made):
        """Answers each long header of an unknown version with version negotiation (RFC 9000 section 17.2.1)."""

        class Negotiator(asyncio.DatagramProtocol):
            def connection_made(self, transport):
                self.transport = transport

            def datagram_received(self, data, address):
                if len(data) < 1200 or not data[0] & 0x80:
                    return
                first = data[6:6 + data[5]]
                rest = data[6 + data[5]:]
                second = rest[1:1 + rest[0]]
                answer = (b"\x80" + bytes(4) + bytes([len(second)]) + second + bytes([len(first)]) + first
                          + struct.pack("!II", 1, 0x6b3343cf))
                self.transport.sendto(answer, address)

        await asyncio.get_running_loop().create_datagram_endpoint(Negotiator, sock=made)

    async def _bulk(self, listener):
        """Receives 100 kB, and sends 100 kB."""

        async def serve(reader, writer):
            try:
                await asyncio.wait_for(reader.readexactly(BULK), 10)
                writer.write(b"d" * BULK)
                await asyncio.wait_for(writer.drain(), 10)
            except (asyncio.IncompleteReadError, asyncio.CancelledError, TimeoutError, OSError):
                pass
            writer.close()

        await asyncio.start_server(serve, sock=listener)

    async def _hush(self, listener):
        """Accepts connections and never sends a byte."""

        async def serve(reader, writer):
            try:
                await asyncio.wait_for(reader.read(), 20)
            except (asyncio.CancelledError, TimeoutError, OSError):
                pass
            writer.close()

        await asyncio.start_server(serve, sock=listener)

    async def _service(self, listener, context):
        """Pages of the service host, and a WebSocket that echoes."""

        async def serve(reader, writer):
            try:
                head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 5)
                path = head.split(b" ", 2)[1].split(b"?")[0]
                key = field(head, "sec-websocket-key")
                mode = self.behaviour.get("pages")
                if path == b"/mute" or mode == "mute":
                    await asyncio.wait_for(reader.read(), 20)
                elif path == b"/stall" or mode == "stall":
                    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 20000\r\nConnection: close\r\n\r\n<html>")
                    await writer.drain()
                    await asyncio.wait_for(reader.read(), 20)
                elif path == b"/busy" or mode == "busy":
                    writer.write(page("503 Service Unavailable", body=b"<p>later</p>"))
                elif path == b"/absent":
                    writer.write(page("404 Not Found"))
                elif path == b"/live" and key:
                    await self._websocket(reader, writer, key)
                else:
                    writer.write(page("200 OK", "Content-Type: text/html", body=b"<p>" + b"w" * 8000 + b"</p>"))
                await writer.drain()
            except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, asyncio.CancelledError, TimeoutError,
                    OSError, ssl.SSLError):
                pass
            writer.close()

        await asyncio.start_server(serve, sock=listener, ssl=context)

    @staticmethod
    async def _websocket(reader, writer, key):
        digest = hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
        lines = ["HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade",
                 f"Sec-WebSocket-Accept: {base64.b64encode(digest).decode()}"]
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
        first, second = await asyncio.wait_for(reader.readexactly(2), 5)
        mask = await reader.readexactly(4)
        body = await reader.readexactly(second & 0x7f)
        writer.write(bytes([first, len(body)]) + bytes(byte ^ mask[index % 4] for index, byte in enumerate(body)))
