#!/usr/bin/env bash
# Linux 6.18: RTM_DELROUTE of an IPv4 route is sent before the route is removed. A program on another processor that receives
# the message and looks the destination up at once may still be given the route; nothing announces that it is gone then. Of
# an IPv6 route the message comes afterwards: no lookup finds it. Needs two processors.
#
# Seen: IPv4: 3 of 3000 lookups right after RTM_DELROUTE found the route; IPv6: 0 of 3000
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/race.py" <<'PYTHON'
import os, socket, struct, sys, time
family, groups, address, bits, rounds = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
family = getattr(socket, family)
index = socket.if_nametoindex("v0")
NEW, DELETE, GET, REQUEST, ACK, CREATE = 24, 25, 26, 1, 4, 0x600

def message(kind, flags, is_lookup):
    table, protocol, scope, sort = (0, 0, 0, 0) if is_lookup else (254, 4, 253, 1)
    body = struct.pack("=BBBBBBBBI", family, bits, 0, 0, table, protocol, scope, sort, 0)
    packed = socket.inet_pton(family, address)
    body += struct.pack("=HH", 4 + len(packed), 1) + packed
    if not is_lookup:
        body += struct.pack("=HHI", 8, 4, index)
    return struct.pack("=IHHII", 16 + len(body), kind, REQUEST | flags, 1, 0) + body

def netlink(groups=0):
    made = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    made.bind((0, groups))
    return made

listener, query, first, second = netlink(groups), netlink(), *sorted(os.sched_getaffinity(0))[:2]
listener.setblocking(False)
(more, another), changer = os.pipe(), os.fork()
if changer == 0:
    os.close(another)
    os.sched_setaffinity(0, {first})
    change = netlink()
    # The next round begins after the lookup.
    while os.read(more, 1) == b"+":
        for kind, flags in ((NEW, ACK | CREATE), (DELETE, ACK)):
            change.send(message(kind, flags, False))
            if struct.unpack_from("=i", change.recv(4096), 16)[0] != 0:
                os._exit(1)
            time.sleep(0.0003)
    os._exit(0)
os.sched_setaffinity(0, {second})
lookup, found, gone, end = message(GET, 0, True), 0, 0, time.monotonic() + 120
os.write(another, b"+")
while gone < rounds and time.monotonic() < end:
    try:
        data = listener.recv(4096)
    except BlockingIOError:
        continue
    if data[4] == DELETE:
        query.send(lookup)
        gone += 1
        found += query.recv(4096)[4] == NEW
        os.write(another, b"+" if gone < rounds else b".")
os.close(another)
if os.waitpid(changer, 0)[1] != 0:
    sys.exit("the kernel refused a route")
print(found, gone)
PYTHON
cat >"$folder/script" <<'SCRIPT'
set -eu
ip link add v0 type veth peer name v1
ip link set v0 up
ip link set v1 up
# It is a race, so it may take several thousand rounds.
for _ in 1 2 3 4 5 6 7 8; do
    four=$(python3 "$1/race.py" AF_INET 64 192.0.2.77 32 3000)
    [ "${four% *}" = 0 ] || break
done
echo "$four" "$(python3 "$1/race.py" AF_INET6 1024 2001:db8::77 128 3000)"
SCRIPT
seen=$(unshare --user --map-root-user --net bash "$folder/script" "$folder")
read -r four of4 six of6 <<<"$seen"
echo "$(uname -r): IPv4: $four of $of4 lookups right after RTM_DELROUTE found the route; IPv6: $six of $of6"
[ "$four" -gt 0 ] && [ "$six" = 0 ] && [ "$of6" = 3000 ]
