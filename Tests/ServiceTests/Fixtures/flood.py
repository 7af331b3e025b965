#!/usr/bin/env python3
"""Floods a link by multicast DNS, as one neighbour may: many services that are there, then packets of new names.

Usage: flood.py INTERFACE SERVICES PACKETS SAID. After the services come PACKETS packets of 40 new names each, ten a
second. The file SAID is there once all services and the first twenty of these packets have been sent.
"""
import pathlib, socket, struct, sys, time

interface, services, packets, said = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), pathlib.Path(sys.argv[4])


def name(*labels):
    return b"".join(bytes([len(label)]) + label.encode() for label in labels) + b"\0"


def record(owner, kind, flush, data):
    return owner + struct.pack("!HHIH", kind, 0x8001 if flush else 1, 4500, len(data)) + data


def packet(records):
    return struct.pack("!HHHHHH", 0, 0x8400, 0, len(records), 0, 0) + b"".join(records)


kind = ("_flood", "_tcp", "local")


def service(number):
    instance, host = name(f"s{number}", *kind), name(f"h{number}", "local")
    return [record(name(*kind), 12, False, instance),
            record(instance, 33, True, struct.pack("!HHH", 0, 0, 80) + host),
            record(instance, 16, True, b"\0"),
            record(host, 1, True, struct.pack("!I", 0xC0000201)),
            record(host, 47, True, host + b"\0\1\x40")]


sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
index = struct.pack("=4s4si", b"\0" * 4, b"\0" * 4, socket.if_nametoindex(interface))
sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, index)
sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 255)
sock.bind(("", 5353))
group = ("224.0.0.251", 5353)

for start in range(0, services, 5):
    sock.sendto(packet([entry for number in range(start, min(start + 5, services)) for entry in service(number)]), group)
    time.sleep(0.005)
for number in range(packets):
    if number == 20:
        said.touch()
    # All names but the first end with a pointer to its second label.
    first = name(f"n{number}x0", "local")
    tail = struct.pack("!H", 0xC000 | (12 + first.index(b"\x05local")))
    records = [record(first, 1, True, struct.pack("!I", number))]
    for other in range(1, 40):
        label = f"n{number}x{other}".encode()
        records.append(record(bytes([len(label)]) + label + tail, 1, True, struct.pack("!I", number)))
    sock.sendto(packet(records), group)
    time.sleep(0.1)
