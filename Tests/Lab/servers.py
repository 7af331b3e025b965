# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""Servers of the lab: pages, encrypted pages, name servers, echo; all on one event loop of one thread."""
import asyncio, base64, hashlib, socket, ssl, struct, threading


class Servers:
    """Everything that answers beyond what a kernel answers by itself."""

    def __init__(self, network):
        from network import listen

        plan = network.plan
        self.loop = asyncio.new_event_loop()
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
        for port, answer, context in [(8080, portal, None), (8081, impostor, None), (8443, anchor, wrong)]:
            work.append(self._pages(listen(network.router, "0.0.0.0", port, stream), answer, context))
        self.loop.run_until_complete(self._start(work))
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()

    def stop(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()

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
            except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError, OSError, ssl.SSLError):
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
            except (asyncio.IncompleteReadError, TimeoutError, OSError):
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
        if self.mode == "lying" and name in v4 and kind == 1:
            return 0, [socket.inet_aton("192.0.2.66")]
        if name.endswith(f".p.{domain}"):
            return 0, [socket.inet_aton(plan.anchors[0])] if kind == 1 else []
        if name in v4:
            found = {1: [socket.inet_aton(v4[name])], 28: [socket.inet_pton(socket.AF_INET6, v6[name])]}
            return 0, found.get(kind, [])
        if name == f"big.{domain}":
            return 0, [(b"\xc8" + b"x" * 200) * 15] if kind == 16 else []
        if self.mode == "rewriting" and kind == 1:
            return 0, [socket.inet_aton("192.0.2.99")]
        return 3, []
