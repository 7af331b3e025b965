#!/usr/bin/env python3
# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""Programs of a user, which measure the truth: names, pages, streams, WebSockets, datagrams.

Run as a program on the device with a list of tasks (JSON) as its argument, it prints one line of JSON for each round:
{name: [whether it worked, seconds, why not]}. Nothing of nwpath is used.
"""
import asyncio, base64, json, os, secrets, socket, sys, time

LIMIT = 3.0
SLOW = 1.0


def tasks_of(world):
    """What is measured in a world: [name, kind, arguments], by family where a program uses one."""
    plan, tasks = world.plan, []
    service = plan.service_name
    families = [(family, there) for family, there in (("4", plan.v4), ("6", plan.v6)) if there]
    served = plan.public["service"], plan.public6["service"]
    tasks.append(["name", "name", [service]])
    if plan.zones:
        tasks += [["large name", "name", [f"many.{plan.domain}"]], ["absent name", "absent", [f"w.nx.{plan.domain}"]]]
    tasks.append(["page", "curl", ["200", f"http://{service}/"]])
    tasks.append(["secure page", "curl", ["200", f"https://{service}/"]])
    tasks.append(["peer", "ping", ["1", plan.peer if plan.v4 else plan.peer6]])
    if plan.proxy != "required":
        tasks.append(["websocket", "websocket", [service, 80]])
    for family, _ in families:
        public = plan.public if family == "4" else plan.public6
        address = served[family == "6"]
        tasks.append([f"bulk{family}", "bulk", [address, 9000]])
        tasks.append([f"quic{family}", "quic", [address, 443]])
        for key in plan.anchors if plan.proxy != "required" else []:
            name = f"{key}.{plan.domain}"
            literal = f"[{public[key]}]" if family == "6" else public[key]
            for scheme, port in (("https", 443), ("http", 80)):
                tasks.append([f"{scheme}{family} {key}", "curl", [
                    "204", "--noproxy", "*", "-" + family, "--resolve", f"{name}:{port}:{literal}",
                    f"{scheme}://{name}/generate_204"]])
    for key in plan.anchors if plan.proxy == "required" else []:
        tasks.append([f"https {key}", "curl", ["204", f"https://{key}.{plan.domain}/generate_204"]])
    if world.destination:
        tasks += destination_tasks(world)
    return tasks


def destination_tasks(world):
    """The program that a user has for the destination which nwpath gets."""
    where = world.destination
    if where.startswith("ws"):
        host = where.split("/")[2]
        path = "/" + where.split("/", 3)[3] if where.count("/") > 2 else "/"
        return [["destination", "websocket", [host, 443 if where.startswith("wss") else 80, path,
                                              where.startswith("wss")]]]
    if where.startswith("http"):
        return [["destination", "curl", ["", where]]]
    host, _, port = where.rpartition(":") if where.count(":") == 1 or "]" in where else (where, "", "")
    if not port:
        return [["destination", "ping", ["3", where]]]
    return [["destination", "connect", [host.strip("[]"), int(port)]]]


async def name(host):
    return await output("getent", "ahosts", host)


async def absent(host):
    """A name that does not exist must not have an address."""
    try:
        out = await output("getent", "ahosts", host)
    except OSError:
        return
    raise OSError(f"there is {out.decode().split()[0]}")


async def curl(status, *words):
    """A page, with a status where it is known which one is right."""
    out = await output("curl", "-sS", "-f", "-o", "/dev/null", "-w", "%{http_code}", "--max-time", str(LIMIT), *words)
    if status and out.decode() != status:
        raise OSError(f"status {out.decode()} instead of {status}")


async def ping(count, host):
    await output("ping", "-c", count, "-i", "0.3", "-W", "1", host)


async def output(*words):
    """The output of a program; what it said as an exception when it failed."""
    pipe = asyncio.subprocess.PIPE
    program = await asyncio.create_subprocess_exec(*words, stdout=pipe, stderr=pipe)
    try:
        out, error = await program.communicate()
    except asyncio.CancelledError:
        program.kill()
        await program.wait()
        raise
    if program.returncode:
        raise OSError(f"exit {program.returncode} {error.decode(errors='replace').strip()[-100:]}")
    return out


async def connect(host, port):
    _, writer = await asyncio.open_connection(host, port)
    writer.close()


async def bulk(address, port):
    """100 kB up, then 100 kB down."""
    reader, writer = await asyncio.open_connection(address, port)
    try:
        writer.write(b"u" * 100_000)
        await writer.drain()
        await reader.readexactly(100_000)
    finally:
        writer.transport.abort()


async def websocket(host, port, path="/live", secure=False):
    """Opens a WebSocket, and sends a text that must come back."""
    if secure:
        import ssl
        context = ssl.create_default_context(cafile="/etc/ssl/certs/ca-certificates.crt")
        reader, writer = await asyncio.open_connection(host, port, ssl=context)
    else:
        reader, writer = await asyncio.open_connection(host, port, happy_eyeballs_delay=0.25)
    try:
        key = base64.b64encode(os.urandom(16)).decode()
        writer.write(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                     f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        if b" 101 " not in head.split(b"\r\n")[0]:
            raise OSError(head.split(b"\r\n")[0].decode())
        text, mask = b"what comes back", os.urandom(4)
        writer.write(bytes([0x81, 0x80 | len(text)]) + mask + bytes(byte ^ mask[i % 4] for i, byte in enumerate(text)))
        echo = await reader.readexactly(2 + len(text))
        if echo[2:] != text:
            raise OSError("another text came back")
    finally:
        writer.transport.abort()


async def quic(address, port):
    """A client of QUIC: an Initial packet of 1200 bytes, sent again like a real one's, until version negotiation."""
    loop, done = asyncio.get_running_loop(), asyncio.get_running_loop().create_future()
    source = secrets.token_bytes(8)

    class Client(asyncio.DatagramProtocol):
        def datagram_received(self, data, _):
            if data[:1] >= b"\x80" and data[1:5] == bytes(4) and data[6:6 + data[5]] == source and not done.done():
                done.set_result(None)

        def error_received(self, error):
            if not done.done():
                done.set_exception(error)

    transport, _ = await loop.create_datagram_endpoint(Client, remote_addr=(address, port))
    head = b"\xc0\x1a\x2a\x3a\x4a\x08" + secrets.token_bytes(8) + b"\x08" + source
    try:
        for pause in (0.3, 0.6, 1.2, LIMIT):
            transport.sendto(head + bytes(1200 - len(head)))
            try:
                return await asyncio.wait_for(asyncio.shield(done), pause)
            except TimeoutError:
                pass
    finally:
        done.cancel()
        transport.abort()


KINDS = {"name": name, "absent": absent, "curl": curl, "bulk": bulk, "websocket": websocket, "quic": quic,
         "connect": connect, "ping": ping}


async def measure(label, kind, words):
    start = time.monotonic()
    try:
        await asyncio.wait_for(KINDS[kind](*words), LIMIT)
        return label, [True, round(time.monotonic() - start, 2), ""]
    except (TimeoutError, OSError, asyncio.IncompleteReadError, socket.gaierror) as error:
        return label, [False, round(time.monotonic() - start, 2), str(error) or type(error).__name__]


async def main():
    tasks, rounds = json.loads(sys.argv[1]), int(sys.argv[2])
    for _ in range(rounds):
        found = dict(await asyncio.gather(*(measure(*task) for task in tasks)))
        print(json.dumps(found), flush=True)
    os._exit(0)  # without waiting for look-ups of the C library that still run


if __name__ == "__main__":
    asyncio.run(main())
