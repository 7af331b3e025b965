# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""Adds and removes addresses of an interface for ever, over rtnetlink: an event load. Usage: load.py INTERFACE

It is one process, so whoever kills it ends the load; it also ends with its parent.
"""
import ctypes
import socket
import struct
import sys
import time

ctypes.CDLL(None).prctl(1, 9)
NEW, DELETE, REQUEST, ACK, CREATE = 20, 21, 1, 4, 0x400
index = socket.if_nametoindex(sys.argv[1])
kernel = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)


def ask(kind, address):
    attributes = b"".join(struct.pack("HH4s", 8, name, address) for name in (1, 2))
    body = struct.pack("BBBBi", socket.AF_INET, 32, 0, 0, index) + attributes
    flags = REQUEST | ACK | (CREATE if kind == NEW else 0)
    kernel.send(struct.pack("IHHII", 16 + len(body), kind, flags, 0, 0) + body)
    kernel.recv(4096)


while True:
    for kind in (NEW, DELETE):
        for last in range(20):
            ask(kind, bytes([10, 9, 8, last]))
        time.sleep(0.02)
