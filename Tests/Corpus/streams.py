# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""Readers of the event streams: each collects what comes, frame by frame, until the server ends it."""
import base64, http.client, re, socket, struct, threading

from world import SOCKET


class Reader(threading.Thread):
    """Collects the frames of one stream; `head` is its status line with the header fields."""

    def __init__(self, route, **fields):
        super().__init__(daemon=True)
        self.route, self.fields, self.head, self.frames, self.end = route, fields, "", [], ""
        self.start()

    def run(self):
        try:
            self.read()
        except (OSError, ValueError, http.client.HTTPException) as error:
            self.end = f"{type(error).__name__}: {error}"


class TextReader(Reader):
    """Server-sent events or JSON lines, over TCP."""

    def read(self):
        connection = http.client.HTTPConnection("127.0.0.1", 8353, timeout=60)
        connection.request("GET", self.route, headers=self.fields)
        answer = connection.getresponse()
        self.head = "\n".join([f"{answer.status} {answer.reason}", *map(": ".join, answer.getheaders())]) + "\n"
        separator = b"\n\n" if "event-stream" in (answer.getheader("Content-Type") or "") else b"\n"
        pending = b""
        while data := answer.read1(65536):
            *whole, pending = (pending + data).split(separator)
            self.frames += [frame.decode() for frame in whole]
        self.end = "the last chunk" + (f" after {pending!r}" if pending else "")


class SocketReader(Reader):
    """A WebSocket, through the unix socket; pings are answered, and only texts are kept."""

    def read(self):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(60)
            connection.connect(SOCKET)
            key = base64.b64encode(b"nwpath of corpus").decode()
            fields = ["Host: localhost", "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13",
                      "Sec-WebSocket-Protocol: nwpath.v1", f"Sec-WebSocket-Key: {key}"]
            connection.sendall("\r\n".join([f"GET {self.route} HTTP/1.1", *fields, "", ""]).encode())
            stream = connection.makefile("rb")
            lines = iter(stream.readline, b"\r\n")
            self.head = "".join(line.decode().replace("\r\n", "\n") for line in lines)
            while True:
                kind, payload = self.frame(stream)
                if kind == 1:
                    self.frames.append(payload.decode())
                elif kind == 9:
                    connection.sendall(bytes([0x8A, 0x80 | len(payload)]) + bytes(4) + payload)
                elif kind == 8:
                    self.end = f"close {struct.unpack('!H', payload[:2])[0]} {payload[2:].decode()}"
                    return

    @staticmethod
    def frame(stream):
        first, length = stream.read(2)
        if length == 126:
            length = struct.unpack("!H", stream.read(2))[0]
        elif length == 127:
            length = struct.unpack("!Q", stream.read(8))[0]
        return first & 0x0F, stream.read(length)


def number(frame):
    """The number of the event in a frame, 0 in a comment."""
    found = re.search(r'"seq":(\d+)', frame)
    return int(found[1]) if found else 0
