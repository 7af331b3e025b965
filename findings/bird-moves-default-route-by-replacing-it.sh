#!/usr/bin/env bash
# BIRD 2.0.12 (Debian 12): a default route that moves to another router and interface is one RTM_NEWROUTE with
# NLM_F_REPLACE in its flags. No RTM_DELROUTE announces that the old one is gone, so a program that only adds and
# deletes what it is notified of has two defaults from then on. `ip monitor` of iproute2 6.1 does not show the flag: its
# lines look like a second route. The metric is 32. When BIRD ends, it deletes the route, which is announced.
#
# Seen in 20 moves: 20 RTM_NEWROUTE with NLM_F_REPLACE, 0 without, 0 RTM_DELROUTE, metric 32; at the end: 1 RTM_DELROUTE
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for package in bird2=2.0.12-7 libssh-gcrypt-4 libreadline8 libtinfo6 libgcrypt20 libgpg-error0 libgssapi-krb5-2; do
    apt-get download "$package" >/dev/null 2>&1
done
for file in *.deb; do dpkg-deb -x "$file" root; done

cat >bird.conf <<'CONFIGURATION'
router id 192.0.2.2;
protocol device { }
protocol kernel { ipv4 { export all; }; }
protocol static one { ipv4 { preference 200; }; route 0.0.0.0/0 via 192.0.2.1; }
protocol static two { ipv4 { preference 100; }; route 0.0.0.0/0 via 192.0.2.65; }
CONFIGURATION
cat >listen.py <<'PYTHON'
import socket, struct, subprocess, sys
listener = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
listener.bind((0, 0x40))  # RTMGRP_IPV4_ROUTE

def changes(*command):
    """The default routes announced while a command of birdc has its effect: (deleted, replaced, metric)."""
    subprocess.run(["root/usr/sbin/birdc", "-s", "bird.ctl", *command], check=True, stdout=subprocess.DEVNULL)
    found = []
    listener.settimeout(5)
    while True:
        try:
            data = listener.recv(65536)
        except TimeoutError:
            return found
        listener.settimeout(0.2)
        kind, flags = struct.unpack("=2H", data[4:8])
        attributes, values = data[28:], {}
        while len(attributes) >= 4:
            length, number = struct.unpack("=2H", attributes[:4])
            values[number] = attributes[4:length]
            attributes = attributes[length + 3 & ~3:]
        if data[17] == 0: found.append((kind == 25, bool(flags & 0x100), struct.unpack("=I", values[6])[0]))

moves = [one for _ in range(10) for word in ("disable", "enable") for one in changes(word, "one")]
replaced = sum(flag for deleted, flag, _ in moves if not deleted)
deleted = sum(deleted for deleted, _, _ in moves)
metrics = ", ".join(str(metric) for metric in sorted({metric for *_, metric in moves}))
print(f"{replaced} RTM_NEWROUTE with NLM_F_REPLACE, {len(moves) - replaced - deleted} without, {deleted} RTM_DELROUTE, "
      f"metric {metrics}", end="; at the end: ")
print(sum(deleted for deleted, *_ in changes("down")), "RTM_DELROUTE")
PYTHON
cat >run.sh <<'SHELL'
set -eu
export LD_LIBRARY_PATH=root/usr/lib/x86_64-linux-gnu:root/lib/x86_64-linux-gnu
ip link set lo up
for n in 0 1; do
    ip link add v$n type veth peer name p$n
    ip link set v$n up
    ip link set p$n up
    ip address add 192.0.2.$((n * 64 + 2))/26 dev v$n
done
root/usr/sbin/bird -f -c bird.conf -s bird.ctl -P bird.pid 2>log &
for _ in $(seq 50); do
    ip route show default | grep -q "via 192.0.2.1 " && break
    sleep 0.2
done
python3 listen.py
wait
SHELL
seen=$(unshare --user --map-root-user --net bash run.sh)
echo "bird2 2.0.12-7, Linux $(uname -r): $seen"
[ "$seen" = "20 RTM_NEWROUTE with NLM_F_REPLACE, 0 without, 0 RTM_DELROUTE, metric 32; at the end: 1 RTM_DELROUTE" ]
