#!/usr/bin/env bash
# Linux 6.18, a neighbour entry that a control plane validates (NTF_EXT_EXT_VALIDATED in NDA_FLAGS_EXT): it is probed
# like any other when packets are sent, but where no answer comes it returns to STALE, is used, and is probed again,
# without an end. A plain entry is FAILED after its probes, by which programs, and the kernel's choice among several
# routers, find that a gateway is dead. The change to DELAY is not announced.
#
# Seen in 30 s without an answer: plain: STALE PROBE FAILED; extern_valid: STALE PROBE STALE PROBE STALE PROBE STALE
# and so on
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/watch.py" <<'PYTHON'
import socket, struct, time
states = {1: "INCOMPLETE", 2: "REACHABLE", 4: "STALE", 8: "DELAY", 16: "PROBE", 32: "FAILED"}
index = socket.if_nametoindex("v0")
hardware = bytes.fromhex("020000000001")

def attribute(kind, value): return struct.pack("=HH", 4 + len(value), kind) + value + bytes(-len(value) % 4)

def add(address, flags):
    body = struct.pack("=BxxxiHBB", socket.AF_INET, index, 4, 0, 0)
    body += attribute(1, socket.inet_aton(address)) + attribute(2, hardware)
    if flags: body += attribute(15, struct.pack("=I", flags))
    link = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    link.send(struct.pack("=IHHII", 16 + len(body), 28, 0x505, 1, 0) + body)
    code = struct.unpack_from("=i", link.recv(4096), 16)[0]
    if code: raise OSError(-code, "RTM_NEWNEIGH")

listener = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
listener.bind((0, 4))  # RTMGRP_NEIGH
listener.setblocking(False)
plain, valid = "192.0.2.1", "192.0.2.3"
add(plain, 0)
add(valid, 4)  # NTF_EXT_EXT_VALIDATED
found = {plain: [], valid: []}
client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
end = time.monotonic() + 30
while time.monotonic() < end:
    # As soon as one failed it is left alone: it would be resolved again.
    for address in found:
        if "FAILED" not in found[address]: client.sendto(b"x", (address, 9))
    time.sleep(0.1)
    while True:
        try: message = listener.recv(8192)
        except BlockingIOError: break
        state, rest = struct.unpack_from("=H", message, 24)[0], message[28:]
        while len(rest) >= 4:
            length, kind = struct.unpack("=HH", rest[:4])
            address = socket.inet_ntoa(rest[4:8]) if kind == 1 and length == 8 else None
            if address in found and found[address][-1:] != [states.get(state)]: found[address].append(states.get(state))
            rest = rest[length + 3 & ~3:]
print("plain:", *found[plain], end="; extern_valid: ")
print(*found[valid])
PYTHON
cat >"$folder/script" <<'SCRIPT'
set -eu
mount -t tmpfs tmpfs /run
ip netns add router
ip link add v0 type veth peer name p0 netns router
ip -n router link set p0 up arp off
ip link set v0 up
ip address add 192.0.2.2/24 dev v0
python3 "$1/watch.py"
SCRIPT
seen=$(unshare --user --map-root-user --net --mount --pid --fork --kill-child bash "$folder/script" "$folder")
echo "$(uname -r): $seen"
[[ "$seen" =~ ^"plain: STALE PROBE FAILED; extern_valid: STALE PROBE STALE PROBE STALE"( PROBE| STALE)*$ ]]
