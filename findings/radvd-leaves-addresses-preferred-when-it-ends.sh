#!/usr/bin/env bash
# radvd 2.19 (Debian 12), at SIGTERM: the last advertisement withdraws the router, its routes and its name server, each
# by a lifetime of 0, but repeats the prefix with its full lifetimes. Hosts lose the default route at once and keep a
# preferred address for as long as it lives: a host that has another router may send from an address of the one that
# ended. With `DeprecatePrefix on`, which is not the default, the preferred lifetime is 0 too.
#
# Seen: before: router 1800, route 1800, name server 1200, prefix 7200/3600; last: router 0, route 0, name server 0,
# prefix 7200/3600; with DeprecatePrefix: router 0, route 0, name server 0, prefix 7200/0; default route left: none
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download radvd=1:2.19-1+b1 >/dev/null 2>&1
dpkg-deb -x radvd_*.deb root

for deprecate in off on; do
    cat >$deprecate.conf <<CONFIGURATION
interface p0 {
    AdvSendAdvert on;
    MinRtrAdvInterval 3;
    MaxRtrAdvInterval 4;
    AdvDefaultLifetime 1800;
    prefix 2001:db8:1::/64 { AdvValidLifetime 7200; AdvPreferredLifetime 3600; DeprecatePrefix $deprecate; };
    route 2001:db8:9::/48 { AdvRouteLifetime 1800; };
    RDNSS 2001:db8:1::53 { AdvRDNSSLifetime 1200; };
};
CONFIGURATION
done
cat >listen.py <<'PYTHON'
import signal, socket, struct, subprocess, sys
listener = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
listener.settimeout(20)

def advertisement():
    while (message := listener.recv(2048))[0] != 134: pass
    found, options = {"router": struct.unpack("!H", message[6:8])[0]}, message[16:]
    while options:
        kind, length = options[0], options[1] * 8
        if kind == 3: found["prefix"] = "%d/%d" % struct.unpack("!2I", options[4:12])
        if kind == 24: found["route"] = struct.unpack("!I", options[4:8])[0]
        if kind == 25: found["name server"] = struct.unpack("!I", options[4:8])[0]
        options = options[length:]
    return ", ".join(f"{name} {found[name]}" for name in ("router", "route", "name server", "prefix"))

router = ["ip", "netns", "exec", "router", "root/usr/sbin/radvd", "--nodaemon", "--logmethod", "none"]
daemon = subprocess.Popen(router + ["--config", sys.argv[1], "--pidfile", "radvd.pid"], stderr=subprocess.DEVNULL)
try:
    before = advertisement()
    daemon.send_signal(signal.SIGTERM)
    last = advertisement()
    while last == before: last = advertisement()
finally:
    daemon.terminate()
    daemon.wait()
print(f"before: {before}; last: {last}" if sys.argv[1] == "off.conf" else last)
PYTHON
cat >run.sh <<'SHELL'
set -eu
mount -t tmpfs tmpfs /run
ip netns add router
ip link set lo up
ip link add v0 type veth peer name p0 netns router
ip -n router link set lo up
ip netns exec router sysctl -qw net.ipv6.conf.all.forwarding=1
ip -n router link set p0 up
ip link set v0 up
# Both link-local addresses are checked for duplicates first.
for _ in $(seq 50); do
    { ip -6 address show dev v0; ip -n router -6 address show dev p0; } | grep -q tentative || break
    sleep 0.2
done
echo -n "$(python3 listen.py off.conf); with DeprecatePrefix: $(python3 listen.py on.conf); default route left: "
ip -6 route show default | grep . || echo none
SHELL
seen=$(unshare --user --map-root-user --net --mount --pid --fork --kill-child bash run.sh)
echo "radvd 2.19-1+b1, Linux $(uname -r): $seen"
withdrawn="router 0, route 0, name server 0"
[ "$seen" = "before: router 1800, route 1800, name server 1200, prefix 7200/3600; last: $withdrawn, prefix 7200/3600; \
with DeprecatePrefix: $withdrawn, prefix 7200/0; default route left: none" ]
