#!/usr/bin/env python3
# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""Announces one service by multicast DNS with another text of 4 kB every 50 ms, until it is killed.

Usage: change_text.py INTERFACE
"""
import socket, struct, sys, time

index = socket.if_nametoindex(sys.argv[1])


def name(*labels):
    return b"".join(bytes([len(label)]) + label for label in labels) + b"\0"


def record(owner, kind, flush, data):
    return owner + struct.pack("!HHIH", kind, 0x8001 if flush else 1, 120, len(data)) + data


kind = name(b"_ipp", b"_tcp", b"local")
instance = name(b"Lamp", b"_ipp", b"_tcp", b"local")
host = name(b"lamp", b"local")
sock = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)
sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, index)
sock.bind(("::", 5353))
number = 0
while True:
    number += 1
    text = b"".join(bytes([200]) + (b"key%02d=%06d-" % (key, number)).ljust(200, b"x") for key in range(20))
    records = [record(kind, 12, False, instance),
               record(instance, 33, True, struct.pack("!HHH", 0, 0, 631) + host),
               record(instance, 16, True, text),
               record(host, 1, True, socket.inet_aton("192.0.2.1"))]
    sock.sendto(struct.pack("!HHHHHH", 0, 0x8400, 0, len(records), 0, 0) + b"".join(records), ("ff02::fb", 5353, 0, index))
    time.sleep(0.05)
