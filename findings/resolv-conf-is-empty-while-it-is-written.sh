#!/usr/bin/env bash
# openresolv 3.12.0, dhclient-script of isc-dhcp-client 4.4.3-P1 and resolvconf 1.91 (Debian 12): the first two truncate
# /etc/resolv.conf and fill it afterwards, so a program that reads it in between finds no name server, for which the C
# library uses 127.0.0.1; with dhclient-script, which starts cat(1) to fill it, for milliseconds. Debian's resolvconf
# writes another file and renames it. Their manual pages mention neither. A reader that is notified of changes should
# read the file when it has not changed for a while.
#
# Seen in 120 changes each: openresolv: the same file, found empty; dhclient-script: the same file, found empty;
# resolvconf: a new file, never found empty
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for package in openresolv=3.12.0-3 isc-dhcp-client=4.4.3-P1-2 resolvconf=1.91+nmu1; do
    apt-get download "$package" >/dev/null 2>&1
    name=${package%%=*}
    dpkg-deb -x "$name"_*.deb "$name"
    # As on a system with merged directories: /sbin is usr/sbin, /lib is usr/lib.
    for part in sbin lib; do
        mkdir -p "$name/usr/$part"
        [ ! -d "$name/$part" ] || cp -a "$name/$part/." "$name/usr/$part/"
    done
done

cat >read.py <<'PYTHON'
import os, sys, threading
path, stop, empty, renamed = "/etc/resolv.conf", threading.Event(), 0, 0
first = os.stat(path).st_ino
threading.Thread(target=lambda: (sys.stdin.read(), stop.set())).start()
while not stop.is_set():
    with open(path, "rb", 0) as file:
        empty += b"nameserver" not in file.read()
        renamed += os.fstat(file.fileno()).st_ino != first
print("a new file," if renamed else "the same file,", "found empty" if empty else "never found empty")
PYTHON
cat >run.sh <<'SHELL'
set -eu
ip link set lo up
mkdir etc
cp -a "$1/etc/." /etc/passwd /etc/group /etc/alternatives etc/
touch etc/fstab
mount --bind etc /etc
mount -t overlay -o "lowerdir=$PWD/$1/usr:/usr" overlay /usr
mount -t tmpfs tmpfs /run
case $1 in
resolvconf)
    mkdir -p /run/resolvconf/interface
    touch /run/resolvconf/enable-updates
    echo nameserver 192.0.2.53 >/run/resolvconf/resolv.conf
    ln -sf /run/resolvconf/resolv.conf /etc/resolv.conf
    ;;
*) echo nameserver 192.0.2.53 >/etc/resolv.conf ;;
esac
change() {
    case $1 in
    isc-dhcp-client)
        # The lease is renewed, with another name server.
        env interface=lo reason=RENEW old_ip_address=127.0.0.1 new_ip_address=127.0.0.1 new_subnet_mask=255.0.0.0 \
            new_domain_name_servers="$2" /sbin/dhclient-script
        ;;
    *) echo "nameserver $2" | /sbin/resolvconf -a lo.dhclient ;;
    esac
}
for number in $(seq 120); do change "$1" "192.0.2.$number" >log 2>&1; done | python3 read.py
# Otherwise nothing was written.
grep -q "^nameserver 192.0.2.120" /etc/resolv.conf
SHELL
seen=""
for name in openresolv isc-dhcp-client resolvconf; do
    result=$(unshare --user --map-root-user --net --mount bash run.sh "$name")
    rm -rf etc
    seen="$seen${seen:+; }$name: $result"
done
echo "openresolv 3.12.0-3, isc-dhcp-client 4.4.3-P1-2, resolvconf 1.91+nmu1: $seen"
[ "$seen" = "openresolv: the same file, found empty; isc-dhcp-client: the same file, found empty; \
resolvconf: a new file, never found empty" ]
