#!/usr/bin/env bash
# Linux 6.18 and iproute2 6.1 (RTM_GETROUTE for IPv6): with a global source address the lookup takes `oif` for a wish.
# `ip -6 route get DST from SRC oif v0` names the better default route by v1, with exit code 0, and so does the source that
# it proposes; without `from` it names v0. A socket with the same source that is bound to v0 (SO_BINDTODEVICE) sends by v0
# all the same: its lookup is strict, that of netlink only where the source is missing. IPv4 keeps to `oif` in both cases.
#
# Seen: oif v0: v0; from oif v0: v1; bound socket: v0; IPv4 from oif v0: v0
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/script" <<'SCRIPT'
set -eu
for n in 0 1; do
    ip link add v$n type veth peer name p$n
    ip link set v$n up
    ip link set p$n up
    ip address add 2001:db8:$n::2/64 dev v$n nodad
    ip address add 192.0.2.$((n * 64 + 2))/26 dev v$n
    ip neighbour add 2001:db8:$n::1 lladdr 02:00:00:00:00:0$n dev v$n
done
ip -6 route add default via 2001:db8:0::1 dev v0 metric 100
ip -6 route add default via 2001:db8:1::1 dev v1 metric 1
ip route add default via 192.0.2.1 dev v0 metric 100
ip route add default via 192.0.2.65 dev v1 metric 1
device() { ip "$@" | sed -n 's/.* dev \([^ ]*\) .*/\1/p'; }
sent() {
    ip -json -stats link show dev "$1" |
        python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["stats64"]["tx"]["packets"])'
}
echo -n "oif v0: $(device -6 route get 2001:db8:99::1 oif v0); "
echo -n "from oif v0: $(device -6 route get 2001:db8:99::1 from 2001:db8:0::2 oif v0); "
sleep 3 # for what interfaces send when they come up
before0=$(sent v0) before1=$(sent v1)
python3 - <<'PYTHON'
import socket
made = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
made.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"v0")
made.bind(("2001:db8:0::2", 0))
for _ in range(100): made.sendto(b"x", ("2001:db8:99::1", 9))
PYTHON
[ $(($(sent v0) - before0)) -ge 100 ] && [ $(($(sent v1) - before1)) -lt 100 ] && echo -n "bound socket: v0; "
echo "IPv4 from oif v0: $(device -4 route get 203.0.113.1 from 192.0.2.2 oif v0)"
SCRIPT
seen=$(unshare --user --map-root-user --net bash "$folder/script")
echo "$(uname -r), $(ip -V): $seen"
[ "$seen" = "oif v0: v0; from oif v0: v1; bound socket: v0; IPv4 from oif v0: v0" ]
