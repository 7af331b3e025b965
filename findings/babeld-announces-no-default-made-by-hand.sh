#!/usr/bin/env bash
# babeld 1.12.1 (Debian 12): `redistribute ip 0.0.0.0/0 eq 0 allow` announces a default route of protocol static, but not
# the same route as `ip route add` makes it, which has protocol boot: neighbours get no default, and nothing is logged.
# The route that a neighbour gets has metric 0, so it is better than those of DHCP clients that set one. When the router's
# babeld ends by SIGTERM, the neighbour deletes the route within a second; after SIGKILL it stays, and packets are lost,
# until hello messages are missed.
#
# Seen: protocol boot: none after 10 s; protocol static: default of protocol babel, metric 0; SIGTERM: deleted within 1 s;
# SIGKILL: deleted after 2 to 6 s
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for package in babeld=1.12.1-1 libb2-1; do apt-get download "$package" >/dev/null 2>&1; done
for file in *.deb; do dpkg-deb -x "$file" root; done

cat >play.py <<'PYTHON'
import json, signal, subprocess, sys, time

def daemon(name, device, *options):
    inside = ["ip", "netns", "exec", name] if name else []
    files = ["-I", f"{device}.pid", "-S", f"{device}.state", "-L", f"{device}.log", "-H", "1"]
    return subprocess.Popen([*inside, "root/usr/sbin/babeld", *files, *options, "-C", "redistribute local deny", device],
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

def default():
    return next(iter(json.loads(subprocess.check_output(["ip", "-json", "route", "show", "default"]))), None)

def wait(is_there, seconds):
    """How long it took, or None."""
    start = time.monotonic()
    while time.monotonic() < start + seconds:
        if (default() is not None) == is_there: return time.monotonic() - start
        time.sleep(0.02)

def router(): return daemon("router", "p0", "-C", "redistribute ip 0.0.0.0/0 eq 0 allow")
def change(*words): subprocess.run(["ip", "-n", "router", "route", *words], check=True)

neighbour, other = daemon(None, "v0"), router()
try:
    change("add", "default", "via", "10.1.0.254")
    print("protocol boot:", "none after 10 s" if wait(True, 10) is None else default(), end="; ")
    change("replace", "default", "via", "10.1.0.254", "proto", "static")
    wait(True, 40)
    found = default() or {}
    print(f'protocol static: default of protocol {found.get("protocol")}, metric {found.get("metric", 0)}', end="; ")
    other.send_signal(signal.SIGTERM)
    seconds = wait(False, 20)
    print("SIGTERM:", "deleted within 1 s" if seconds is not None and seconds < 1 else f"{seconds} s", end="; ")
    other.wait()
    other = router()
    wait(True, 40)
    other.kill()
    seconds = wait(False, 20)
    print("SIGKILL:", "deleted after 2 to 6 s" if seconds is not None and 2 < seconds < 6 else f"{seconds} s")
finally:
    for one in (neighbour, other):
        one.kill()
        one.wait()
PYTHON
cat >run.sh <<'SHELL'
set -eu
export LD_LIBRARY_PATH=$PWD/root/usr/lib/x86_64-linux-gnu:$PWD/root/lib/x86_64-linux-gnu
mount -t tmpfs tmpfs /run
ip netns add router
ip link set lo up
ip link add v0 type veth peer name p0 netns router
ip -n router link set lo up
ip -n router link set p0 up
ip link set v0 up
ip address add 10.1.0.2/24 dev v0
ip -n router address add 10.1.0.1/24 dev p0
# Both link-local addresses are checked for duplicates first.
for _ in $(seq 50); do
    { ip -6 address show dev v0; ip -n router -6 address show dev p0; } | grep -q tentative || break
    sleep 0.2
done
python3 play.py
SHELL
seen=$(unshare --user --map-root-user --net --mount --pid --fork --kill-child bash run.sh)
echo "babeld 1.12.1-1, Linux $(uname -r): $seen"
[ "$seen" = "protocol boot: none after 10 s; protocol static: default of protocol babel, metric 0; \
SIGTERM: deleted within 1 s; SIGKILL: deleted after 2 to 6 s" ]
