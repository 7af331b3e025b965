#!/bin/sh
# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
#
# Runs the real NetworkManager on a private bus, in the caller's network namespace and in a mount namespace of its
# own, so that no file of the machine is touched (its resolv.conf least of all). Usage: networkmanager.sh DIRECTORY
set -eu
directory=$1
if [ "${2:-}" != inside ]; then
    exec unshare --mount --propagation private "$0" "$directory" inside
fi
mkdir -p "$directory/etc" "$directory/lib" "$directory/profiles"
chmod 700 "$directory/profiles"
cat >"$directory/etc/NetworkManager.conf" <<CONFIGURATION
[main]
plugins=keyfile
dhcp=internal
dns=none
rc-manager=unmanaged
systemd-resolved=false
auth-polkit=false
no-auto-default=*
[keyfile]
path=$directory/profiles
[device]
keep-configuration=no
CONFIGURATION
: >"$directory/etc/resolv.conf"
mount --bind "$directory/etc/resolv.conf" /etc/resolv.conf
mount --bind "$directory/lib" /var/lib/NetworkManager
mount -t tmpfs none /run
# Without udev, a read-only /sys tells NetworkManager that it runs in a container and shall not wait for it.
mount -t sysfs -o ro sysfs /sys
export DBUS_SYSTEM_BUS_ADDRESS="unix:path=$directory/bus"
exec NetworkManager --no-daemon --config="$directory/etc/NetworkManager.conf" \
    --config-dir="$directory/none" --system-config-dir="$directory/none" --intern-config="$directory/lib/intern.conf" \
    --state-file="$directory/lib/state" --pid-file="$directory/pid" --log-level=INFO
