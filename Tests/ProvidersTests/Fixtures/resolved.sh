#!/bin/sh
# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
#
# Runs the real systemd-resolved on a private bus, in the caller's network namespace and in a mount namespace of its
# own, so that no file of the machine is touched. The package must not be installed for this, because that re-points
# the machine's /etc/resolv.conf; unpack it instead: apt-get download, dpkg-deb -x. Usage: resolved.sh PROGRAM DIRECTORY
set -eu
program=$1
directory=$2
if [ "${3:-}" != inside ]; then
    exec unshare --mount --propagation private "$0" "$program" "$directory" inside
fi
# The bus, which runs outside, must know the number of the user: it is that of nobody.
if ! getent passwd systemd-resolve >/dev/null; then
    { cat /etc/passwd; echo 'systemd-resolve:x:65534:65534::/:/usr/sbin/nologin'; } >"$directory/passwd"
    { cat /etc/group; echo 'systemd-resolve:x:65534:'; } >"$directory/group"
    mount --bind "$directory/passwd" /etc/passwd
    mount --bind "$directory/group" /etc/group
fi
: >"$directory/etc-resolv.conf"
mount --bind "$directory/etc-resolv.conf" /etc/resolv.conf
mount -t tmpfs none /run
mkdir -p /run/systemd
if [ -n "${FALLBACK:-}" ]; then
    mkdir /run/systemd/resolved.conf.d
    printf '[Resolve]\nFallbackDNS=%s\n' "$FALLBACK" >/run/systemd/resolved.conf.d/fallback.conf
fi
install -d -o systemd-resolve -g systemd-resolve /run/systemd/resolve
# It gives up its rights before it looks for the bus.
chmod 711 "$directory"
export DBUS_SYSTEM_BUS_ADDRESS="unix:path=$directory/bus"
exec "$program"
