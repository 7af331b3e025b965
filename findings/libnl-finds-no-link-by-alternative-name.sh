#!/usr/bin/env bash
# libnl 3.7.0 (Debian's libnl-utils 3.7.0-0.2+b1, whose nl-link-name2ifindex uses rtnl_link_name2i): a link is not
# found by an alternative name, although the kernel, iproute2 and if_nametoindex(3) know it. libnl reads all links into a cache
# that has their first names alone; `ip link show NAME` asks with IFLA_ALT_IFNAME.
#
# Seen: if_nametoindex: found; ip: found; libnl by its name: found; libnl by its alternative name: Interface "uplink7" does not exist
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
chmod 755 "$folder"
(cd "$folder" && apt-get download -q libnl-utils=3.7.0-0.2+b1 >/dev/null 2>&1 && dpkg -x libnl-utils_*.deb .)
cat >"$folder/script" <<'SCRIPT'
set -eu
found() { if "$@" >/dev/null 2>&1; then echo -n "found; "; else echo -n "not found; "; fi; }
ip link add v0 type veth peer name v1
ip link property add dev v0 altname uplink7
echo -n "if_nametoindex: "
found python3 -c 'import socket; socket.if_nametoindex("uplink7")'
echo -n "ip: "
found ip link show dev uplink7
echo -n "libnl by its name: "
found "$1/usr/bin/nl-link-name2ifindex" v0
echo -n "libnl by its alternative name: "
"$1/usr/bin/nl-link-name2ifindex" uplink7 2>&1 | sed 's/^Error: //'
SCRIPT
seen=$(unshare --user --map-root-user --net bash "$folder/script" "$folder")
echo "libnl-utils 3.7.0-0.2+b1, Linux $(uname -r): $seen"
[ "$seen" = 'if_nametoindex: found; ip: found; libnl by its name: found; libnl by its alternative name: Interface "uplink7" does not exist' ]
