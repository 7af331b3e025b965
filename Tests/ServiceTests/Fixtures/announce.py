#!/usr/bin/env python3
"""Says again and again by multicast DNS that some services are there, and goodbye when it is stopped by SIGTERM.

Usage: announce.py INTERFACE ANNOUNCED < SERVICES; a JSON list of objects with name, host and txt in hexadecimal, type,
port and addresses. Any byte may stand in names. It answers nothing. The file ANNOUNCED is there once all have been said.
"""
import ipaddress, json, pathlib, signal, socket, struct, sys

interface, announced = sys.argv[1:]
services = json.load(sys.stdin)


def name(*labels):
    return b"".join(bytes([len(label)]) + label for label in labels) + b"\0"


def record(owner, kind, flush, ttl, data):
    return owner + struct.pack("!HHIH", kind, 0x8001 if flush else 1, ttl, len(data)) + data


def packet(service, ttl):
    kind = [label.encode() for label in service["type"].split(".")]
    type_name = name(*kind, b"local")
    instance = name(bytes.fromhex(service["name"]), *kind, b"local")
    host = name(bytes.fromhex(service["host"]), b"local")
    txt = b"".join(bytes([len(entry)]) + entry for entry in map(bytes.fromhex, service["txt"])) or b"\0"
    records = [record(type_name, 12, False, ttl, instance),
               record(instance, 33, True, ttl, struct.pack("!HHH", 0, 0, service["port"]) + host),
               record(instance, 16, True, ttl, txt)]
    for text in service["addresses"]:
        address = ipaddress.ip_address(text)
        records.append(record(host, 1 if address.version == 4 else 28, True, ttl, address.packed))
        reverse = name(*[label.encode() for label in address.reverse_pointer.split(".")])
        records.append(record(reverse, 12, True, ttl, host))
    return struct.pack("!HHHHHH", 0, 0x8400, 0, len(records), 0, 0) + b"".join(records)


sock = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)
sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, socket.if_nametoindex(interface))
sock.bind(("::", 5353))
group = ("ff02::fb", 5353, 0, socket.if_nametoindex(interface))


def send(ttl):
    for service in services:
        try:
            sock.sendto(packet(service, ttl), group)
        except OSError:
            pass


def stop(*_):
    send(0)
    sys.exit(0)


signal.signal(signal.SIGTERM, stop)
while True:
    send(120)
    pathlib.Path(announced).touch()
    signal.sigtimedwait([signal.SIGTERM], max(0.2, len(services) / 250)) and stop()
