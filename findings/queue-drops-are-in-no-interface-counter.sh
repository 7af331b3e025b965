#!/usr/bin/env bash
# Linux 6.18 and iproute2 6.1: what a queueing discipline drops is in no counter of its interface. A tbf drops most of 400 UDP
# datagrams on a veth: each sendto() succeeds, and `ip -s link` counts no dropped and no failed packet. The drops are in
# `tc -s qdisc`, and for UDP in SndbufErrors of /proc/net/snmp, although no send buffer was full. With IP_RECVERR the same
# sendto() fails with ENOBUFS.
#
# Seen: sendto() succeeded 400 times; dropped by tbf: most, by the interface: 0, SndbufErrors: as by tbf; IP_RECVERR: ENOBUFS
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/send.py" <<'PYTHON'
import errno, socket
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
print(sum(sender.sendto(bytes(1000), ("192.0.2.2", 9)) == 1000 for _ in range(400)), end=" ")
PYTHON
cat >"$folder/recverr.py" <<'PYTHON'
import errno, socket
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sender.setsockopt(socket.SOL_IP, 11, 1)
try:
    for _ in range(400): sender.sendto(bytes(1000), ("192.0.2.2", 9))
    print("none")
except OSError as error:
    print(errno.errorcode[error.errno])
PYTHON
cat >"$folder/script" <<'SCRIPT'
set -eu
ip link add v0 type veth peer name v1
ip link set v0 up
ip link set v1 up
ip address add 192.0.2.1/24 dev v0
ip neighbour add 192.0.2.2 lladdr 02:00:00:00:00:02 dev v0
tc qdisc add dev v0 root tbf rate 64kbit burst 3k limit 6k
python3 "$1/send.py"
tc -s -j qdisc show dev v0 | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["drops"], end=" ")'
ip -s -j link show dev v0 |
    python3 -c 'import json, sys; s = json.load(sys.stdin)[0]["stats64"]["tx"]; print(s["dropped"] + s["errors"], end=" ")'
awk '/^Udp:/ && $2 ~ /^[0-9]/ { printf "%s ", $7 }' /proc/net/snmp
python3 "$1/recverr.py"
SCRIPT
seen=$(unshare --user --map-root-user --net bash "$folder/script" "$folder")
read -r succeeded tbf interface sndbuf recverr <<<"$seen"
echo "$(uname -r), $(ip -V | cut -d- -f2): sendto() succeeded $succeeded times; dropped by tbf: $tbf, by the interface: $interface," \
    "SndbufErrors: $sndbuf; IP_RECVERR: $recverr"
[ "$succeeded" = 400 ] && [ "$tbf" -ge 300 ] && [ "$interface" = 0 ] && [ "$sndbuf" = "$tbf" ] && [ "$recverr" = ENOBUFS ]
