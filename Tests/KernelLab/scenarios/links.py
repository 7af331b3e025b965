# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""Links made of others: bonds, teams, bridges, meshes, rings."""
import signal
import time

from . import scenario

DEAD = ("no_carrier", "preferred_route_link_down", "link_down")
# A warning of the path, and an event that names the port.
REDUNDANCY = {"says": ("redundan",), "events": (r"redundan.*\be0\b",)}


def bond(scene, options, ports=("e0", "e1")):
    scene.here(f"ip link add bond0 type bond {options}", *(f"ip link set {port} master bond0" for port in ports),
               "ip link set bond0 up", *(f"ip link set {port} up" for port in ports),
               *scene.address("bond0"), *scene.default("bond0"))


@scenario("bond/without link monitoring", needs=("bonding",))
def _(scene):
    scene.switch(0, 1)
    bond(scene, "mode balance-rr")
    scene.serve()
    scene.step("both ports", interface="bond0", kind="wiredEthernet")
    scene.there("ip link set f0 down", "ip link set f1 down")
    scene.step("all ports lose carrier, bond0 keeps its own", "", says=(r"\be[01]\b",))
    scene.there("ip link set f0 up", "ip link set f1 up")
    scene.step("back", interface="bond0")


@scenario("bond/active-backup without link monitoring", needs=("bonding",))
def _(scene):
    scene.switch(0, 1)
    bond(scene, "mode active-backup")
    scene.serve()
    scene.step("both ports", kind="wiredEthernet")
    scene.there("ip link set f0 down")
    scene.step("the active port loses carrier", "", says=(r"\be0\b",))
    scene.here("ip link set bond0 type bond active_slave e1")
    scene.step("the other is made active")
    scene.there("ip link set f0 up")
    scene.here("ip link set e1 down")
    scene.step("the active port is set down", "", says=(r"\be1\b",))


@scenario("bond/active-backup", needs=("bonding",))
def _(scene):
    scene.switch(0, 1)
    bond(scene, "mode active-backup miimon 100")
    scene.serve()
    scene.step("both ports", kind="wiredEthernet")
    scene.there("ip link set f0 down")
    scene.step("one of two ports dies", **REDUNDANCY)
    scene.there("ip link set f1 down")
    scene.step("all ports die", "", reason=DEAD)
    scene.there("ip link set f1 up")
    scene.step("one is back")
    scene.here("ip link set e0 nomaster", "ip link set e1 nomaster")
    scene.step("without a port", "", reason=DEAD)
    scene.here("ip link set bond0 down", "ip link del bond0")
    scene.step("deleted", "")


@scenario("bond/802.3ad", needs=("bonding",))
def _(scene):
    scene.cables(0, 1)
    scene.there("ip link add fb type bond mode 802.3ad lacp_rate fast miimon 100", "ip link set f0 master fb",
                "ip link set f1 master fb", "ip link set fb up", *scene.gateway("fb"))
    bond(scene, "mode 802.3ad lacp_rate fast miimon 100 min_links 1")
    scene.wait(lambda: scene.says(r"Number of ports: 2", "cat", "/proc/net/bonding/bond0"), "an aggregator of two ports")
    scene.serve()
    scene.step("two ports aggregated", kind="wiredEthernet", hold=6)
    scene.there("ip link set f0 down")
    scene.step("one of two ports dies", hold=6, **REDUNDANCY)
    scene.there("ip link set f1 down")
    scene.step("all ports die", "", reason=DEAD)
    scene.there("ip link set f0 up", "ip link set f1 up")
    scene.step("back", hold=10, marks=r"bond0.*state UP")


@scenario("bond/ARP monitoring", needs=("bonding",), extra=True)
def _(scene):
    scene.switch(0, 1)
    bond(scene, "mode active-backup arp_interval 200 arp_validate all arp_ip_target 10.1.0.1")
    time.sleep(1.5)
    scene.serve()
    scene.step("the router answers", kind="wiredEthernet")
    scene.there("sysctl ipv4/conf/sw0/arp_ignore=8")
    scene.step("the router does not answer ARP", "", hold=8, marks=r"bond0.*NO-CARRIER")
    scene.there("sysctl ipv4/conf/sw0/arp_ignore=0")
    scene.step("it answers again", hold=8, marks=r"bond0.*state UP")


@scenario("bond/802.3ad, the other end has no LACP", needs=("bonding",), extra=True)
def _(scene):
    scene.switch(0, 1)
    bond(scene, "mode 802.3ad lacp_rate fast miimon 100")
    scene.wait(lambda: scene.says(r"Number of ports: 1", "cat", "/proc/net/bonding/bond0"), "an aggregator of one port")
    scene.serve()
    scene.step("one port is used", hold=6)


@scenario("bond/VLAN on it", needs=("bonding",), extra=True)
def _(scene):
    scene.switch(0, 1)
    scene.there("ip link add link sw0 name vlan10 type vlan id 10", "ip link set vlan10 up", *scene.gateway("vlan10", 3))
    scene.here("ip link add bond0 type bond mode active-backup miimon 100", "ip link set e0 master bond0",
               "ip link set e1 master bond0", "ip link set bond0 up", "ip link set e0 up", "ip link set e1 up",
               "ip link add link bond0 name bond0.10 type vlan id 10", "ip link set bond0.10 up",
               *scene.address("bond0.10", 3), *scene.default("bond0.10", 3))
    scene.serve()
    scene.step("both ports", interface="bond0.10", kind="wiredEthernet")
    scene.there("ip link set f0 down", "ip link set f1 down")
    scene.step("all ports die", "", reason=DEAD)
    scene.there("ip link set f1 up")
    scene.step("one is back")


TEAM = ('{"device": "team0", "runner": {"name": "activebackup"}, "link_watch": {"name": "ethtool"}, '
        '"ports": {"e0": {}, "e1": {}}}')


@scenario("team/teamd", needs=("team", "team_mode_activebackup"))
def _(scene):
    scene.switch(0, 1)
    teamd = scene.start("machine", "teamd", "-c", TEAM, "-r")
    scene.wait(lambda: scene.says(r"e1@\S+ +UP", "ip", "-br", "link"), "teamd's ports")
    scene.here("ip link set team0 up", *scene.address("team0"), *scene.default("team0"))
    scene.serve()
    scene.step("both ports", interface="team0", kind="wiredEthernet")
    scene.there("ip link set f0 down")
    scene.step("one of two ports dies", **REDUNDANCY)
    scene.there("ip link set f0 up", "ip link set f1 down")
    scene.step("the other dies", hold=5)
    scene.kill(teamd, signal.SIGKILL)
    scene.step("teamd is killed, the kernel's team goes on")
    scene.there("ip link set f0 down", "ip link set f1 up")
    scene.step("the active port dies, which no teamd sees", "", says=(r"\be0\b|\bteam0\b",))


@scenario("team/without a mode", needs=("team",))
def _(scene):
    scene.cable(1, metric=50)
    scene.cable(0, address=False, default=False)
    scene.here("ip link set e0 down", "ip link add team0 type team", "ip link set e0 master team0", "ip link set team0 up",
               "ip link set e0 up", *scene.address("team0"), *scene.default("team0", metric=500))
    scene.serve()
    scene.step("another uplink is preferred", interface="e1")
    scene.here("ip link set e1 down")
    scene.step("a team that sends nothing", "", says=(r"\bteam0\b",))


@scenario("batman-adv/without a live interface", needs=("batman_adv",))
def _(scene):
    scene.cables(0)
    scene.there("ip link add bat0 type batadv", "ip link set f0 master bat0", "ip link set f0 up", "ip link set bat0 up",
                *scene.gateway("bat0"))
    scene.here("ip link add bat0 type batadv", "ip link set e0 master bat0", "ip link set e0 up", "ip link set bat0 up",
               *scene.address("bat0"), *scene.default("bat0"))
    scene.serve()
    scene.step("a neighbour", hold=30)
    scene.there("ip link set f0 down")
    scene.step("its interface loses carrier", "", says=(r"\be0\b",))
    scene.there("ip link set f0 up")
    scene.step("back", hold=30)
    scene.here("ip link set e0 nomaster")
    scene.step("without an interface", "", reason=DEAD)


@scenario("hsr/a ring of two cables", needs=("hsr",))
def _(scene):
    scene.cables(0, 1)
    for where, end in ((scene.there, "f"), (scene.here, "e")):
        where(f"ip link set {end}0 up", f"ip link set {end}1 up",
              f"ip link add hsr0 type hsr slave1 {end}0 slave2 {end}1 supervision 45 version 1", "ip link set hsr0 up")
    scene.there(*scene.gateway("hsr0"))
    scene.here(*scene.address("hsr0"), *scene.default("hsr0"))
    scene.serve()
    scene.step("both ports", hold=6, interface="hsr0", kind="wiredEthernet")
    scene.there("ip link set f0 down")
    scene.step("one of two ports dies", hold=6, **REDUNDANCY)
    scene.there("ip link set f1 down")
    scene.step("all ports die", "", reason=DEAD)


def bridge(scene, options):
    """br0 with an uplink and a guest's port, which keeps the bridge's carrier."""
    scene.cable(0, address=False, default=False)
    scene.here("ip link set e0 down", f"ip link add br0 type bridge {options}", "ip link set br0 up",
               "ip link add guest0 type veth peer name guest1", "ip link set guest0 master br0", "ip link set guest0 up",
               "ip link set guest1 up", "ip link set e0 master br0", "ip link set e0 up",
               *scene.address("br0"), *scene.default("br0"))


@scenario("bridge/STP beside a guest port", needs=("bridge",))
def _(scene):
    # In hundredths of a second: listening and learning take as long each, and the kernel allows 3000.
    bridge(scene, f"forward_delay {min(3000, int(400 * scene.slow))}")
    scene.serve()
    scene.step("forwarding", kind="wiredEthernet")
    # Ports that forward go on when the spanning tree is switched on; one that is plugged in listens and learns at first.
    scene.here("ip link set br0 type bridge stp_state 1")
    scene.there("ip link set f0 down", "ip link set f0 up")
    scene.step("plugged in: listening or learning", "", says=(r"\be0\b",), hold=1.5)
    scene.wait(lambda: scene.says(r"e0.*state forwarding", "bridge", "link"), "forwarding")
    scene.step("forwarding again", hold=4, kind="wiredEthernet")


@scenario("bridge/uplink's port in no VLAN", needs=("bridge",))
def _(scene):
    bridge(scene, "vlan_filtering 1")
    scene.serve()
    scene.step("in the VLAN of the bridge", kind="wiredEthernet")
    scene.here("bridge vlan del dev e0 vid 1")
    scene.step("in no VLAN", "", says=(r"\be0\b",))
    scene.here("bridge vlan add dev e0 vid 1 pvid untagged")
    scene.step("in it again")
    scene.here("bridge link set dev e0 state 0")
    scene.step("the port is disabled by hand", "", says=(r"\be0\b",))


@scenario("macvlan/lower link loses carrier", needs=("macvlan",), extra=True)
def _(scene):
    scene.cable(0, address=False, default=False)
    scene.here("ip link add link e0 name mv0 type macvlan mode bridge", "ip link set mv0 up", *scene.address("mv0"),
               *scene.default("mv0"))
    scene.serve()
    scene.step("a macvlan", interface="mv0", kind="wiredEthernet")
    scene.there("ip link set f0 down")
    scene.step("the lower link loses carrier", "", reason=DEAD)
    scene.there("ip link set f0 up")
    scene.step("back")
