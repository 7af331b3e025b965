#!/usr/bin/env bash
# keepalived 2.2.7 (Debian 12), virtual addresses on an interface that has an address of its own: whether packets leave
# from one depends on the prefix length in `virtual_ipaddress`, and differs between the families. An IPv6 address with
# the prefix of the link is preferred and, as the newest one, the source of new connections at once; without a prefix,
# or with /128, it is deprecated (preferred lifetime 0) and not chosen. An IPv4 address with the prefix of the link is
# secondary, without one it is a primary address of a subnet of its own; neither is the source.
#
# Seen: 10.1.0.100/24 secondary; 10.1.0.101/32 primary; fd01::101/128 deprecated; fd01::100/64 preferred; source IPv4
# 10.1.0.2, IPv6 fd01::100; at the end: IPv4 10.1.0.2, IPv6 fd01::2
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for package in keepalived=1:2.2.7-1+b2 libglib2.0-0 libmnl0 libnftnl11 libnl-3-200 libnl-genl-3-200 libpcre2-8-0 \
    libsnmp40 libssl3 libsystemd0 libpci3 libsensors5; do
    apt-get download "$package" >/dev/null 2>&1
done
for file in *.deb; do dpkg-deb -x "$file" root; done

cat >keepalived.conf <<'CONFIGURATION'
vrrp_instance four {
    state MASTER
    interface v0
    virtual_router_id 51
    advert_int 1
    virtual_ipaddress {
        10.1.0.100/24
        10.1.0.101
    }
}
vrrp_instance six {
    state MASTER
    interface v0
    version 3
    virtual_router_id 52
    advert_int 1
    virtual_ipaddress {
        fe80::100
        fd01::100/64
        fd01::101
    }
}
CONFIGURATION
cat >run.sh <<'SHELL'
set -eu
export LD_LIBRARY_PATH=$PWD/root/usr/lib/x86_64-linux-gnu:$PWD/root/lib/x86_64-linux-gnu
mount -t proc proc /proc
ip link set lo up
ip link add v0 type veth peer name p0
ip link set v0 up
ip link set p0 up
ip address add 10.1.0.2/24 dev v0
ip address add fd01::2/64 dev v0 nodad
ip route add default via 10.1.0.1 dev v0
ip -6 route add default via fd01::1 dev v0
# keepalived sends from the link-local address, which is checked for duplicates first.
for _ in $(seq 50); do
    ip -6 address show dev v0 scope link | grep -q tentative || break
    sleep 0.2
done
root/usr/sbin/keepalived --dont-fork --log-console --use-file=keepalived.conf --vrrp --pid=a.pid --vrrp_pid=b.pid \
    >log 2>&1 &
daemon=$!
for _ in $(seq 100); do
    [ "$(ip address show dev v0 | grep -cE '10.1.0.10[01]|fd01::10[01]')" = 4 ] && break
    sleep 0.2
done
sources() {
    source() { ip -json "$@" | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["prefsrc"])'; }
    echo "IPv4 $(source route get 192.0.2.1), IPv6 $(source -6 route get 2001:db8::1)"
}
python3 - "$(ip -json address show dev v0)" <<'PYTHON'
import json, sys
found = {one["local"]: one for one in json.loads(sys.argv[1])[0]["addr_info"]}
four, six = (["10.1.0.100", "10.1.0.101"], ["fd01::101", "fd01::100"])
words = [(name, "secondary" if found[name].get("secondary") else "primary") for name in four]
words += [(name, "deprecated" if found[name].get("deprecated") else "preferred") for name in six]
print("; ".join(f'{name}/{found[name]["prefixlen"]} {word}' for name, word in words), end="; source ")
PYTHON
echo -n "$(sources); at the end: "
kill "$daemon"
wait "$daemon" || true
sources
SHELL
seen=$(unshare --user --map-root-user --net --mount --pid --fork --kill-child bash run.sh)
echo "keepalived 2.2.7-1+b2, Linux $(uname -r): $seen"
[ "$seen" = "10.1.0.100/24 secondary; 10.1.0.101/32 primary; fd01::101/128 deprecated; fd01::100/64 preferred; \
source IPv4 10.1.0.2, IPv6 fd01::100; at the end: IPv4 10.1.0.2, IPv6 fd01::2" ]
