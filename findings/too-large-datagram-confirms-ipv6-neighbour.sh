#!/usr/bin/env bash
# Linux 6.18: a datagram that the kernel drops because it is larger than the interface's MTU (EMSGSIZE behind the output hooks)
# confirms its IPv6 neighbour, although it never leaves. The kernel sends the ICMPv6 error "packet too big" to this machine
# itself, finds the socket, and takes that for an error of the path (__ip6_rt_update_pmtu, dst_confirm_neigh): a router that
# is gone stays REACHABLE as long as a program sends such datagrams. A socket that is disconnected before the last part is
# sent gets no such error. IPv4 confirms nothing.
#
# Seen 12 s after the neighbour was gone: IPv6: REACHABLE; IPv6, disconnected: FAILED; IPv4: FAILED
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/send.py" <<'PYTHON'
import json, socket, subprocess, sys, time
address, disconnects = sys.argv[1], len(sys.argv) > 2
is6 = ":" in address
level, option = (socket.IPPROTO_IPV6, 23) if is6 else (socket.IPPROTO_IP, 10)  # IPV6_MTU_DISCOVER, IP_MTU_DISCOVER

def state():
    found = json.loads(subprocess.run(["ip", "-j", "neighbour", "show", address], capture_output=True).stdout)
    return found[0]["state"][0] if found else "none"

def send():
    sender = socket.socket(socket.AF_INET6 if is6 else socket.AF_INET, socket.SOCK_DGRAM)
    sender.connect((address, 9))
    sender.setsockopt(level, option, 1)  # IP_PMTUDISC_WANT
    sender.send(bytes(60000), socket.MSG_MORE)
    sender.setsockopt(level, option, 3)  # IP_PMTUDISC_PROBE
    if disconnects: disconnect(sender)
    try: sender.sendto(b"", 0x10, (address, 9))  # MSG_PROBE
    except OSError as error: assert error.errno == 90, error
    else: raise SystemExit("it was sent")

def disconnect(sender):
    import ctypes
    assert ctypes.CDLL(None, use_errno=True).connect(sender.fileno(), bytes(16), 16) == 0  # AF_UNSPEC

plain = socket.socket(socket.AF_INET6 if is6 else socket.AF_INET, socket.SOCK_DGRAM)
plain.sendto(b"x", (address, 9))
while state() != "REACHABLE": time.sleep(0.1)
subprocess.run(["ip", "-n", "router", "address", "flush", "dev", "p0"], check=True)
end, seen = time.monotonic() + 12, []
while time.monotonic() < end:
    seen.append(state())
    if seen[-1] == "FAILED": break
    send()
    plain.sendto(b"x", (address, 9))
    time.sleep(0.2)
print(seen[-1])
PYTHON
cat >"$folder/script" <<'SCRIPT'
set -eu
mount -t tmpfs tmpfs /run
ip netns add router
ip netns exec router sysctl -qw net.ipv6.conf.default.accept_dad=0
sysctl -qw net.ipv6.conf.default.accept_dad=0
ip link add v0 type veth peer name p0 netns router
ip -n router link set p0 up
ip link set v0 up
ip link set lo up
ip address add 192.0.2.2/24 dev v0
ip address add 2001:db8::2/64 dev v0
for family in ipv4 ipv6; do
    sysctl -qw "net.$family.neigh.v0.base_reachable_time_ms=1000" "net.$family.neigh.v0.delay_first_probe_time=1"
done
sleep 1
for words in "2001:db8::1" "2001:db8::1 disconnects" "192.0.2.1"; do
    ip -n router address replace 192.0.2.1/24 dev p0
    ip -n router address replace 2001:db8::1/64 dev p0
    ip neighbour flush dev v0
    sleep 1
    python3 "$1/send.py" $words
done
SCRIPT
mapfile -t seen < <(unshare --user --map-root-user --net --mount --pid --fork --kill-child bash "$folder/script" "$folder")
echo "$(uname -r): IPv6: ${seen[0]:-}; IPv6, disconnected: ${seen[1]:-}; IPv4: ${seen[2]:-}"
[ "${seen[*]}" = "REACHABLE FAILED FAILED" ]
