#!/usr/bin/env bash
# dhcpcd 9.4.1 and avahi-autoipd 0.8 (Debian 12): where no DHCP server answers, the address out of 169.254.0.0/16 comes
# with a default route without a gateway. A program that waits for a default route goes on, and connect(2) to any
# address fails only when ARP for it was given up: packets from 169.254.0.0/16 must not be forwarded (RFC 3927 section
# 2.7). The two programs agree on neither scope and label of the address nor the metric of the route, so none of these
# shows what kind of route it is.
#
# Seen: dhcpcd: address of scope global without a label, default dev v0 scope link metric 1001000 + index, connect
# EHOSTUNREACH; avahi-autoipd: address of scope link with a label, default dev v0 scope link metric 1000 + index,
# connect EHOSTUNREACH
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for package in dhcpcd-base=9.4.1-24~deb12u5 avahi-autoipd=0.8-10+deb12u1 libdaemon0=0.14-7.1; do
    apt-get download "$package" >/dev/null 2>&1
done
for file in *.deb; do dpkg-deb -x "$file" root; done

cat >run.sh <<'SHELL'
set -eu
folder=$PWD
ip link set lo up
ip link add v0 type veth peer name p0
ip link set v0 up
ip link set p0 up
mkdir -p "$1/avahi"
cp root/etc/avahi/avahi-autoipd.action "$1/avahi/"
cp -a /etc/passwd /etc/group /etc/alternatives "$1/"
mount --bind "$1" /etc
mount -t sysfs sysfs /sys
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /var/lib
mkdir /run/dhcpcd /run/avahi-autoipd /var/lib/dhcpcd /var/lib/avahi-autoipd
case $1 in
dhcpcd) "$folder/root/usr/sbin/dhcpcd" --nobackground --ipv4only --config /dev/null --script /bin/true v0 ;;
avahi-autoipd)
    LD_LIBRARY_PATH=$folder/root/usr/lib/x86_64-linux-gnu:$folder/root/lib/x86_64-linux-gnu \
        "$folder/root/usr/sbin/avahi-autoipd" --no-drop-root --no-chroot v0
    ;;
esac >"log.$1" 2>&1 &
for _ in $(seq 60); do
    [ -n "$(ip route show default)" ] && break
    sleep 0.5
done
python3 - "$(ip -json address show dev v0)" "$(ip -json route show default)" <<'PYTHON'
import errno, json, socket, sys
address = json.loads(sys.argv[1])[0]["addr_info"]
address = next(one for one in address if one["local"].startswith("169.254."))
route = json.loads(sys.argv[2])[0]
base = route["metric"] - socket.if_nametoindex("v0")
label = "with a label" if address["label"] != "v0" else "without a label"
device = f'default dev {route["dev"]} scope {route["scope"]}' if "gateway" not in route else "default via a gateway"
client = socket.socket()
try:
    client.connect(("192.0.2.1", 80))
    result = "succeeded"
except OSError as error:
    result = errno.errorcode[error.errno]
# The program ends with its namespace of processes.
print(f'address of scope {address["scope"]} {label}, {device} metric {base} + index, connect {result}')
PYTHON
SHELL
run() { unshare --user --map-root-user --net --mount --pid --fork --kill-child bash run.sh "$1" >"$1.seen"; }
run dhcpcd &
first=$!
run avahi-autoipd
wait "$first"
echo "dhcpcd 9.4.1-24~deb12u5: $(cat dhcpcd.seen)"
echo "avahi-autoipd 0.8-10+deb12u1: $(cat avahi-autoipd.seen)"
[ "$(cat dhcpcd.seen)" = "address of scope global without a label, default dev v0 scope link metric 1001000 + index, \
connect EHOSTUNREACH" ]
[ "$(cat avahi-autoipd.seen)" = "address of scope link with a label, default dev v0 scope link metric 1000 + index, \
connect EHOSTUNREACH" ]
