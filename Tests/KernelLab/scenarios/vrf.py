# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""VRFs: an uplink inside, a default route that leads into one, programs inside, a view of one."""
from . import scenario

# What a machine with an uplink in a VRF is not: without interfaces, or without the rule for local addresses.
NOT_SO = (r"there is no network interface", r"lookup local", r"no rule leads")


def in_vrf(scene, name, table, number=0):
    """A cable whose end is in a VRF with a default route of its own."""
    scene.cable(number, default=False)
    net, device = number + 1, f"e{number}"
    scene.here(f"ip link add {name} type vrf table {table}", f"ip link set {name} up", f"ip link set {device} master {name}",
               f"ip address add 2001:db8:{net}::2/64 dev {device} nodad",  # the kernel drops it with the change of master
               *scene.default(device, net, table=table))


def accept_from_any(scene):
    scene.here("sysctl ipv4/tcp_l3mdev_accept=1", "sysctl ipv4/udp_l3mdev_accept=1")


LEAK = ("ip route add default dev red", "ip route add ::/0 dev red")


@scenario("vrf/leaked default, sockets accept from any VRF", needs=("vrf",))
def _(scene):
    accept_from_any(scene)
    in_vrf(scene, "red", 10)
    scene.serve()
    scene.here(*LEAK)
    scene.step("the default route leads into the VRF", never=NOT_SO)
    scene.there("ip link set f0 down")
    scene.step("the VRF's cable is pulled", "", says=(r"red|e0",), never=NOT_SO)
    scene.there("ip link set f0 up")
    scene.step("plugged in again")


@scenario("vrf/leaked default, sockets of the main VRF only", needs=("vrf",))
def _(scene):
    in_vrf(scene, "red", 10)
    scene.serve()
    scene.here(*LEAK)
    scene.step("answers do not come in", "", says=(r"red|l3mdev_accept",), never=NOT_SO)
    accept_from_any(scene)
    # A setting is announced by nobody: it counts from the next audit on.
    scene.step("sockets accept from any VRF", hold=35)


@scenario("vrf/uplink moved into a VRF", needs=("vrf",))
def _(scene):
    scene.cable()
    scene.serve()
    scene.here("ip link add red type vrf table 10", "ip link set red up", "ip link set e0 master red",
               "ip address add 2001:db8:1::2/64 dev e0 nodad", *scene.default("e0", table=10))
    scene.step("programs outside", "", says=(r"\bred\b",), never=NOT_SO)
    scene.here("ip link set e0 nomaster", "ip address add 2001:db8:1::2/64 dev e0 nodad", *scene.default("e0"))
    scene.step("taken out again")


@scenario("vrf/nwpath inside ip vrf exec", needs=("vrf",))
def _(scene):
    in_vrf(scene, "blue", 20)
    scene.serve(prefix=("ip", "vrf", "exec", "blue"))
    scene.step("programs inside", device="blue", never=NOT_SO)
    scene.there("ip link set f0 down")
    scene.step("the cable is pulled", "", device="blue", never=NOT_SO)
    scene.there("ip link set f0 up")
    scene.step("plugged in again", device="blue")


@scenario("vrf/a view of it beside a main uplink", needs=("vrf",))
def _(scene):
    scene.cable(1)
    in_vrf(scene, "red", 10)
    scene.serve("views: {red: {oif: red}}\n")
    scene.step("main by its uplink", interface="e1")
    scene.step("the view by the VRF's", device="red", view="red", interface="e0")
    scene.there("ip link set f0 down")
    scene.step("the VRF's cable is pulled: the view", "", device="red", view="red")
    scene.step("the VRF's cable is pulled: main", interface="e1")


@scenario("vrf/a VRF without a default beside a main uplink", needs=("vrf",), extra=True)
def _(scene):
    scene.cable()
    scene.cable(1, default=False)
    scene.here("ip link add mgmt type vrf table 20", "ip link set mgmt up", "ip link set e1 master mgmt",
               "ip route add default via 10.2.0.1 dev e1 table 20",
               "ip route add unreachable default table 20 metric 4278198272")
    scene.serve()
    scene.step("main by its uplink", interface="e0")
    scene.there("ip link set f0 down")
    scene.step("the main uplink is pulled", "", reason=("no_carrier", "preferred_route_link_down"), says=(r"\be0\b",))
