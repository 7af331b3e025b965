#!/usr/bin/env bash
# Linux 6.18 (inet_diag, a dump of TCP sockets by NETLINK_SOCK_DIAG with INET_DIAG_REQ_BYTECODE): a condition may reject
# sockets that do not match, by a jump past the end, but not those that match: the kernel walks along the jumps for a match
# only, and refuses with EINVAL what does not reach the end that way. "All but 127.0.0.0/8" needs an INET_DIAG_BC_JMP after
# the condition, whose second jump rejects. linux/inet_diag.h says nothing of it.
#
# Seen: keep matches 1 socket; reject matches EINVAL; reject matches by a jump 0 sockets
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/dump.py" <<'PYTHON'
import errno, os, socket, struct

def dump(program):
    body = struct.pack("=BBBBI", socket.AF_INET, 6, 0, 0, 1 << 10) + bytes(48)
    body += struct.pack("=HH", 4 + len(program), 1) + program
    link = socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, 4)
    link.sendto(struct.pack("=IHHII", 16 + len(body), 20, 0x301, 1, 0) + body, (0, 0))
    count = 0
    while True:
        answer = link.recv(65536)
        while answer:
            length, kind = struct.unpack("=IH", answer[:6])
            if kind == 2: return errno.errorcode[-struct.unpack("=i", answer[16:20])[0]]
            if kind == 3: return count
            count += 1
            answer = answer[length + 3 & ~3:]

def condition(code, match, other, address):
    return struct.pack("=BBH", code, match, other) + struct.pack("=BBHi", socket.AF_INET, 8, 0, -1) + address

server = socket.create_server(("127.0.0.1", 0))
loopback = socket.inet_aton("127.0.0.0")
print("keep matches", dump(condition(7, 16, 20, loopback)), "socket", end="; ")
print("reject matches", dump(condition(7, 20, 16, loopback)), end="; ")
jump = struct.pack("=BBH", 1, 4, 8)
print("reject matches by a jump", dump(condition(7, 16, 20, loopback) + jump), "sockets")
PYTHON
seen=$(unshare --user --map-root-user --net bash -c "ip link set lo up; python3 $folder/dump.py")
echo "$(uname -r): $seen"
[ "$seen" = "keep matches 1 socket; reject matches EINVAL; reject matches by a jump 0 sockets" ]
