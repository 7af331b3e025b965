#!/usr/bin/env bash
# clatd 2.1.0 with tayga 0.9.2 (Debian 13): IPv4 of a host with IPv6 alone. The IPv4 default route is on a tun with an
# address out of 192.0.0.0/29 (RFC 7335), without a gateway. Each packet leaves as an IPv6 packet, so it needs the IPv6
# default route; when that goes, the IPv4 default route stays, no error comes back, and connections time out. Neither
# link nor address nor route of IPv4 shows it.
#
# Seen: tun POINTOPOINT NOARP, 192.0.0.1/32, default dev clat scope link metric 2048 mtu 1260; connect: sent by IPv6;
# without IPv6 default: IPv4 default route the same, connect: nothing sent, timed out
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
chmod 755 "$folder"
cd "$folder"
# Debian 13's packages beside those of the machine, from the mirror that apt uses.
mkdir -p apt/lists/partial apt/cache/archives/partial
mirror=$(apt-get indextargets "Created-By: Packages" "Codename: bookworm" --format '$(REPO_URI)' | head -n 1)
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror trixie main" >apt/sources.list
newer=(-o "Dir::Etc::SourceList=$folder/apt/sources.list" -o Dir::Etc::SourceParts=/dev/null
    -o "Dir::State::Lists=$folder/apt/lists" -o "Dir::Cache=$folder/apt/cache" -o APT::Sandbox::User=root)
apt-get "${newer[@]}" update >/dev/null 2>&1
apt-get "${newer[@]}" download clatd=2.1.0-2+deb13u1 tayga=0.9.2-10+deb13u1 >/dev/null 2>&1
apt-get download libnet-ip-perl=1.26-3 libnet-dns-perl=1.36-1+deb12u1 >/dev/null 2>&1
for file in *.deb; do dpkg-deb -x "$file" root; done

cat >clatd.conf <<'CONFIGURATION'
plat-prefix=2001:db8:64::/96
clat-v6-addr=2001:db8:1::64
v4-conncheck-delay=0
CONFIGURATION
cat >connect.py <<'PYTHON'
import errno, os, select, socket, subprocess
# All packets that reach the router, whose namespace is entered for this socket alone.
own = os.open("/proc/self/ns/net", os.O_RDONLY)
libc = __import__("ctypes").CDLL(None, use_errno=True)
router = os.open("/run/netns/router", os.O_RDONLY)
if libc.setns(router, 0) != 0: raise OSError("setns")
wire = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x86DD))
wire.bind(("p0", 0x86DD))
if libc.setns(own, 0) != 0: raise OSError("setns")

client = socket.socket()
client.settimeout(4)
try:
    client.connect(("192.0.2.1", 80))
    result = "succeeded"
except TimeoutError:
    result = "timed out"
except OSError as error:
    result = errno.errorcode[error.errno]
translated = socket.inet_pton(socket.AF_INET6, "2001:db8:64::192.0.2.1")
sent = 0
while select.select([wire], [], [], 0)[0]: sent += wire.recv(2048)[24:40] == translated
print("connect:", "sent by IPv6" if sent else f"nothing sent, {result}")
PYTHON
cat >run.sh <<'SHELL'
set -eu
mount -t proc proc /proc
mount -t tmpfs tmpfs /run
export PERL5LIB=$PWD/root/usr/share/perl5 PATH=$PWD/root/usr/sbin:$PATH
ip netns add router
ip link set lo up
ip link add v0 type veth peer name p0 netns router
ip -n router link set p0 up
ip link set v0 up
ip -n router address add 2001:db8:1::1/64 dev p0 nodad
ip address add 2001:db8:1::2/64 dev v0 nodad
ip -6 route add default via 2001:db8:1::1 dev v0
clatd -c clatd.conf >log 2>&1 &
for _ in $(seq 50); do
    [ -n "$(ip -4 route show default)" ] && break
    sleep 0.2
done
sleep 1
show() { ip -4 route show default | sed 's/ advmss .*//; s/ *$//'; }
flags=$(ip -o link show clat | grep -oE 'POINTOPOINT|NOARP' | paste -sd' ')
echo -n "tun $flags, $(ip -4 -o address show clat | awk '{print $4}'), $(show); $(python3 connect.py); "
before=$(show)
ip -6 route del default
echo -n "without IPv6 default: IPv4 default route "
[ "$(show)" = "$before" ] && echo -n "the same" || echo -n "$(show)"
echo ", $(python3 connect.py)"
SHELL
seen=$(unshare --user --map-root-user --net --mount --pid --fork --kill-child bash run.sh)
echo "clatd 2.1.0-2+deb13u1, tayga 0.9.2-10+deb13u1, Linux $(uname -r): $seen"
[ "$seen" = "tun POINTOPOINT NOARP, 192.0.0.1/32, default dev clat scope link metric 2048 mtu 1260; \
connect: sent by IPv6; without IPv6 default: IPv4 default route the same, \
connect: nothing sent, timed out" ]
