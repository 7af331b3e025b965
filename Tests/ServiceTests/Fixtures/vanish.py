# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""Opens event streams through a unix socket and leaves without a word: vanish.py SOCKET COUNT."""
import socket
import sys

path, count = sys.argv[1], int(sys.argv[2])
clients = []
for _ in range(count):
    client = socket.socket(socket.AF_UNIX)
    client.connect(path)
    client.sendall(b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n")
    clients.append(client)
for client in clients:
    client.recv(4096)
for client in clients:
    client.close()
