# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""What a situation is, and the steps that many of them have in common."""
import collections

# capabilities: the daemon's. needs: what not every machine has. audit: the daemon's audit_interval in seconds, where
# filters and policies change: no event tells of them. limit: what docs/path.md says is not known, for which
# disagreements are counted apart.
Situation = collections.namedtuple("Situation", "name setup change capabilities needs audit limit",
                                   defaults=((), (), None, None))
# For the daemon and `why`.
ADMIN = ("net_admin", "net_raw")
NUMBERS = {"v0": 1, "w0": 2, "b0": 3, "br0": 3, "mv0": 1, "vx0": 4, "tun0": 5, "ifb0": 6, "bond0": 1,
           "team0": 1}
PROBES4 = ["1.1.1.1", "8.8.8.8", "9.9.9.9", "208.67.222.222"]
PROBES6 = ["2606:4700:4700::1111", "2001:4860:4860::8888", "2620:fe::fe", "2620:119:35::35"]


def up(*devices):
    return [f"ip link set {device} up" for device in devices]


def address4(device, host=2):
    return [f"ip address add 10.{NUMBERS[device]}.0.{host}/24 dev {device}"]


def address6(device, host=2):
    return [f"ip address add 2001:db8:{NUMBERS[device]}::{host}/64 dev {device} nodad"]


def gateway4(device):
    return f"10.{NUMBERS[device]}.0.1"


def gateway6(device):
    return f"2001:db8:{NUMBERS[device]}::1"


def default4(device, metric=100, table=""):
    return [f"ip route add default via {gateway4(device)} dev {device} metric {metric} {table}".rstrip()]


def default6(device, metric=100, table=""):
    return [f"ip -6 route add default via {gateway6(device)} dev {device} metric {metric} {table}".rstrip()]


def uplink4(device, metric=100):
    return up(device) + address4(device) + default4(device, metric)


def uplink6(device, metric=100):
    return up(device) + address6(device) + default6(device, metric)


def uplink(device, metric=100):
    return up(device) + address4(device) + address6(device) + default4(device, metric) + default6(device, metric)


V4, V6, V = uplink4("v0"), uplink6("v0"), uplink("v0")
W4, W6, W = uplink4("w0", 200), uplink6("w0", 200), uplink("w0", 200)
BOTH = V + W


def one(name, setup, change, **options):
    return [Situation(name, tuple(setup), tuple(change), **options)]


def pair(name, setup, change, undo, **options):
    """A change, and the same undone."""
    return [Situation(name, tuple(setup), tuple(change), **options),
            Situation(f"{name}, undone", tuple(setup) + tuple(change), tuple(undo), **options)]


def family(number):
    """ip(8)'s switch, the uplinks, addresses and destinations of a family."""
    if number == 4:
        return "ip", V4, W4, V4 + W4, "10.1.0.2", "10.1.0.0/24"
    return "ip -6", V6, W6, V6 + W6, "2001:db8:1::2", "2001:db8:1::/64"
