#!/usr/bin/env bash
# dnsmasq 2.90, unbound 1.17.1 and Knot Resolver 5.6.0 (Debian 12), each forwarding to one server that no route leads
# to: dnsmasq refuses at once, with "network error" as extended error 23 (RFC 8914), so REFUSED is not an access rule
# here; unbound answers SERVFAIL at once; kresd answers SERVFAIL after seconds, when a client may have given up, and at
# once to the next name. These two add no extended error. So a timeout, SERVFAIL and REFUSED may all mean that the host
# has no uplink.
#
# Seen: dnsmasq: REFUSED with error 23 at once, the next name REFUSED with error 23 at once; unbound: SERVFAIL at once,
# the next name SERVFAIL at once; kresd: SERVFAIL after seconds, the next name SERVFAIL at once
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
chmod 755 "$folder"
cd "$folder"
for package in dnsmasq-base=2.90-4~deb12u2 unbound=1.17.1-2+deb12u4 knot-resolver=5.6.0-1+deb12u1 libdbus-1-3 \
    libidn2-0 libnettle8 libhogweed6 libgmp10 libnetfilter-conntrack3 libmnl0 libnfnetlink0 libunistring2 libsystemd0 \
    libnftables1 libnftnl11 libjansson4 libxtables12 libevent-2.1-7 libnghttp2-14 libprotobuf-c1 libpython3.11 libssl3 \
    libdnssec9 libedit2 libfstrm0 libgnutls30 libjemalloc2 libknot13 liblmdb0 libluajit-5.1-2 libluajit-5.1-common \
    libuv1 libzscanner4 libxdp1 libbpf1 libbsd0 libmd0 libelf1 dns-root-data lua-socket lua-sec; do
    apt-get download "$package" >/dev/null 2>&1
done
for file in *.deb; do dpkg-deb -x "$file" root; done
# As on a system with merged directories: /lib is usr/lib.
if [ -d root/lib ]; then cp -a root/lib/. root/usr/lib/; fi

cat >query.py <<'PYTHON'
import socket, struct, sys, time
codes = {0: "NOERROR", 2: "SERVFAIL", 3: "NXDOMAIN", 5: "REFUSED"}
def query(name):
    header = struct.pack("!6H", 7, 0x0100, 1, 0, 0, 1)
    option = b"\0" + struct.pack("!HHIH", 41, 1232, 0, 0)
    text = bytes([len(name)]) + name + b"\x07example\x03com\0" + struct.pack("!2H", 1, 1)
    client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    client.settimeout(30)
    start = time.monotonic()
    client.sendto(header + text + option, ("127.0.0.1", 53))
    answer = client.recv(1232)
    seconds = time.monotonic() - start
    rest = answer[12 + len(text) + 11:]
    error = ""
    while len(rest) >= 4:
        code, length = struct.unpack("!2H", rest[:4])
        if code == 15: error = f" with error {struct.unpack('!H', rest[4:6])[0]}"
        rest = rest[4 + length:]
    return codes.get(answer[3] & 15, "?") + error + (" at once" if seconds < 1 else " after seconds")
print(query(b"one") + ", the next name " + query(b"two"))
PYTHON
cat >unbound.conf <<CONFIGURATION
server:
    username: ""
    chroot: ""
    directory: "$folder"
    pidfile: ""
    use-syslog: no
    interface: 127.0.0.1
    module-config: "iterator"
remote-control:
    control-enable: no
forward-zone:
    name: "."
    forward-addr: 192.0.2.53
CONFIGURATION
cat >kresd.conf <<'CONFIGURATION'
net.listen('127.0.0.1', 53)
trust_anchors.remove('.')
cache.size = 5 * MB
policy.add(policy.all(policy.FORWARD('192.0.2.53')))
CONFIGURATION
mkdir kresd

cat >run.sh <<'SHELL'
set -eu
folder=$PWD
mount -t overlay -o "lowerdir=$PWD/root/usr:/usr" overlay /usr
ip link set lo up
ip link add v0 type veth peer name p0
ip link set v0 up
ip link set p0 up
ip address add 198.51.100.2/24 dev v0
case $1 in
dnsmasq)
    dnsmasq --no-daemon --conf-file=/dev/null --no-hosts --no-resolv --pid-file= --listen-address=127.0.0.1 \
        --bind-interfaces --server=192.0.2.53
    ;;
unbound) unbound -d -c unbound.conf ;;
kresd) kresd --noninteractive --config="$folder/kresd.conf" "$folder/kresd" ;;
esac >"log.$1" 2>&1 &
for _ in $(seq 50); do
    ss -Hlun | grep -q 127.0.0.1:53 && break
    sleep 0.2
done
sleep 1
# The server ends with its namespace of processes.
python3 query.py
SHELL
seen=""
for name in dnsmasq unbound kresd; do
    result=$(unshare --user --map-root-user --net --mount --pid --fork --kill-child bash run.sh "$name")
    seen="$seen${seen:+; }$name: $result"
done
echo "dnsmasq 2.90-4~deb12u2, unbound 1.17.1-2+deb12u4, knot-resolver 5.6.0-1+deb12u1: $seen"
refused="REFUSED with error 23 at once" failed="SERVFAIL at once"
[ "$seen" = "dnsmasq: $refused, the next name $refused; unbound: $failed, the next name $failed; \
kresd: SERVFAIL after seconds, the next name $failed" ]
