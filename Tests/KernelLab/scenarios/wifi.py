# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""Wi-Fi with mac80211_hwsim: cfg80211, mac80211, hostapd and wpa_supplicant are real, only the air is simulated."""
import os
import signal
import time

from . import scenario

AIR = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "air.py")
PASSPHRASE = "correct horse"
# Of an association nothing else than the state may be said of the interface.
LINK_FACTS = (("wlan0", "mtu", "1500"), ("wlan0", "hardware_address", r'"02:.*"'))
ASSOCIATION_FACTS = (("wlan0", "wifi.bssid", '"02(:[0-9a-f]{2}){5}"'), ("wlan0", "wifi.band", '"2.4"'),
                     ("wlan0", "wifi.signal_dbm", "-[0-9]+"), ("wlan0", "wifi.tx_bits_per_second", "[1-9][0-9]+"))
NOISE = (r"interface\.changed: wlan0 is unknown", r"from wlan0 to wlan0")
# Sends a DHCP client's address and router to the kernel, as dhclient-script does.
LEASE = """#!/bin/sh
case $1 in
bound | renew)
    ip address flush dev $interface scope global
    ip address add $ip/$mask dev $interface
    ip route replace default via $router dev $interface
    ;;
esac
"""


class Station:
    """wlan0 of the machine, and access points ap0, ap1 of the router with one network each scenario."""

    def __init__(self, scene, points=1):
        self.scene, self.network = scene, f"office-{scene.radios[0][1]}"
        here, there = scene.process("machine"), scene.process("router")
        for number, (radio, interface) in enumerate(scene.radios[:points + 1]):
            scene.at_home("iw", radio.replace("phy", "phy#"), "set", "netns", str(there if number else here))
            name = f"ap{number - 1}" if number else "wlan0"
            (scene.there if number else scene.here)(f"ip link set {interface} name {name}")

    def access_point(self, number=0, channel=6, bridge=None, protocol="WPA-PSK"):
        """hostapd with WPA2, or WPA3 where the protocol is SAE."""
        scene, device = self.scene, f"ap{number}"
        with open(f"{scene.folder}/hostapd-{number}.conf", "w") as file:
            file.write(f"interface={device}\ndriver=nl80211\nssid={self.network}\nhw_mode=g\nchannel={channel}\nwpa=2\n"
                       f"wpa_passphrase={PASSPHRASE}\nwpa_key_mgmt={protocol}\nrsn_pairwise=CCMP\n"
                       f"ieee80211w={2 if protocol == 'SAE' else 0}\nctrl_interface={scene.folder}/hostapd\n" + (f"bridge={bridge}\n" if bridge else ""))
        program = scene.start("router", "hostapd", f"{scene.folder}/hostapd-{number}.conf", log=f"hostapd-{number}")
        scene.wait(lambda: scene.says(r"LOWER_UP", "ip", "link", "show", "dev", device, where="router"), "hostapd")
        return program

    def supplicant(self, passphrase=PASSPHRASE, device="wlan0", protocol="WPA-PSK"):
        scene = self.scene
        with open(f"{scene.folder}/supplicant.conf", "w") as file:
            file.write(f'ctrl_interface={scene.folder}/supplicant.socket\nnetwork={{\nssid="{self.network}"\n'
                       f'psk="{passphrase}"\nkey_mgmt={protocol}\nieee80211w={2 if protocol == "SAE" else 0}\n}}\n')
        scene.here(f"ip link set {device} up")
        return scene.start("machine", "wpa_supplicant", "-D", "nl80211", "-i", device, "-c", f"{scene.folder}/supplicant.conf")

    def wpa(self, *words, device="wlan0"):
        return self.scene.machine.run("wpa_cli", "-p", f"{self.scene.folder}/supplicant.socket", "-i", device, *words,
                                      check=False).stdout

    def associated(self, device="wlan0"):
        self.scene.wait(lambda: "wpa_state=COMPLETED" in self.wpa("status", device=device), "an association", 40)
        self.scene.changed = time.time() - 1

    def dhcp_server(self, device="ap0"):
        scene = self.scene
        scene.there(*scene.gateway(device, 7))
        scene.start("router", "dnsmasq", "--no-daemon", "--port=0", f"--interface={device}", "--bind-interfaces", "--no-ping",
                    "--dhcp-range=10.7.0.20,10.7.0.90,255.255.255.0,10m", "--dhcp-option=3,10.7.0.1", "--user=root",
                    f"--dhcp-leasefile={scene.folder}/leases", "--conf-file=/dev/null",
                    f"--pid-file={scene.folder}/dnsmasq.pid")

    def dhcp_client(self):
        path, scene = f"{self.scene.folder}/lease", self.scene
        with open(path, "w") as file:
            file.write(LEASE)
        os.chmod(path, 0o755)
        scene.here(f"busybox udhcpc -i wlan0 -s {path} -f -q -n -t 8 -T 1")
        scene.here("ip address add 2001:db8:7::2/64 dev wlan0 nodad", "ip route replace default via 2001:db8:7::1 dev wlan0")

    def connect(self):
        """An access point and a station with addresses, before a service starts."""
        point = self.access_point()
        self.dhcp_server()
        self.supplicant()
        self.associated()
        self.dhcp_client()
        return point


@scenario("wifi/WPA2 from the scan to the end", radios=2)
def _(scene):
    station = Station(scene)
    scene.serve()
    scene.here("ip link set wlan0 up")
    scene.step("up, not associated", "", facts=LINK_FACTS, quiet=NOISE)
    point = station.access_point()
    station.dhcp_server()
    station.supplicant()
    station.associated()
    scene.step("associated, no address yet", "", facts=LINK_FACTS, quiet=NOISE)
    station.dhcp_client()
    scene.step("an address and a router", interface="wlan0", kind="wifi", hold=5, quiet=NOISE, never=(r"wiredEthernet",),
               facts=LINK_FACTS + ASSOCIATION_FACTS + (("wlan0", "wifi.ssid", f'"{station.network}"'),))
    scene.kill(point)
    scene.step("the access point says goodbye", "", never=(r"check the cable, the switch",), quiet=NOISE)
    scene.here("ip link set wlan0 down")
    scene.step("wlan0 down", "", reason=("link_down",), quiet=NOISE)


@scenario("wifi/wrong passphrase", radios=2)
def _(scene):
    station = Station(scene)
    station.access_point()
    scene.there(*scene.gateway("ap0", 7))
    scene.serve()
    scene.here("ip link set wlan0 up", *scene.address("wlan0", 7), *scene.default("wlan0", 7))
    station.supplicant("wrong horse battery")
    time.sleep(12)
    # On a busy guest the kernel reports the end of the association a second after the carrier's.
    scene.step("the handshake fails again and again", "", reason=("wifi_authentication_failed",), hold=8,
               says=(r"passphrase|authori[sz]|handshake|key",), why="broken",
               quiet=(r"path\.changed: .*(satisfied by|is satisfied|restored)", r"headline\.changed: Connected", *NOISE))


@scenario("wifi/wrong password of WPA3", radios=2, extra=True)
def _(scene):
    station = Station(scene)
    station.access_point(protocol="SAE")
    scene.there(*scene.gateway("ap0", 7))
    scene.serve()
    scene.here("ip link set wlan0 up", *scene.address("wlan0", 7), *scene.default("wlan0", 7))
    supplicant = station.supplicant("wrong horse battery", protocol="SAE")
    time.sleep(12)
    scene.step("the password is refused", "", reason=("wifi_authentication_failed",), says=(station.network,), hold=10)
    scene.kill(supplicant)
    station.supplicant(protocol="SAE")
    station.associated()
    scene.step("the right password", kind="wifi", hold=8)


@scenario("wifi/rfkill", radios=2)
def _(scene):
    station = Station(scene)
    station.connect()
    scene.serve()
    scene.step("connected", kind="wifi")
    scene.at_home("rfkill", "block", scene.rfkill())
    scene.changed = time.time()
    scene.step("soft blocked", "", reason=("rfkill_wifi",), says=(r"rfkill",), never=(r"ip link set wlan0 up",))
    scene.at_home("rfkill", "unblock", scene.rfkill())
    scene.here("ip link set wlan0 up")
    station.associated()
    scene.here("ip route replace default via 10.7.0.1 dev wlan0", "ip address replace 2001:db8:7::2/64 dev wlan0 nodad",
               "ip route replace default via 2001:db8:7::1 dev wlan0")
    scene.step("not blocked any more", kind="wifi", hold=8, marks=r"wlan0.*default|default.*wlan0")


@scenario("wifi/roaming", radios=3)
def _(scene):
    station = Station(scene, 2)
    scene.there("ip link add sw0 type bridge", "ip link set sw0 up")
    station.access_point(0, 1, "sw0")
    station.access_point(1, 6, "sw0")
    station.dhcp_server("sw0")
    station.supplicant()
    station.associated()
    station.dhcp_client()
    scene.serve()
    scene.step("connected", kind="wifi")
    others = [scene.hardware("router", device) for device in ("ap0", "ap1")]
    target = next(one for one in others if f"bssid={one}" not in station.wpa("status"))
    station.wpa("scan")
    scene.wait(lambda: target in station.wpa("scan_results"), "the other access point in a scan")
    scene.changed = time.time()
    station.wpa("roam", target)
    scene.wait(lambda: f"bssid={target}" in station.wpa("status") and "COMPLETED" in station.wpa("status"), "the other point")
    scene.step("by the other access point", kind="wifi", hold=5, facts=LINK_FACTS, events=(r"roam",), quiet=NOISE)


@scenario("wifi/a weak signal", radios=2, extra=True)
def _(scene):
    station = Station(scene)
    radios = [scene.hardware(*where) for where in (("machine", "wlan0"), ("router", "ap0"))]
    air = scene.start("home", "python3", "-B", AIR, *("42" + address[2:] for address in radios))
    station.connect()
    scene.serve()
    scene.start("machine", "ping", "-q", "-i", "0.2", "10.7.0.1")
    scene.step("near the access point", kind="wifi", hold=8, facts=(("wlan0", "wifi.signal_dbm", "-40"),))
    air.send_signal(signal.SIGUSR1)
    found = (r"verdict\.raised: wlan0 receives its access point at -[78]\d dBm: .* retries",)
    scene.wait(lambda: all(scene.logged(pattern) for pattern in found), "the verdict", 150)
    scene.step("far from it", kind="wifi", events=found, facts=(("wlan0", "wifi.signal_dbm", "-[78][0-9]"),))


@scenario("wifi/first snapshot", radios=2)
def _(scene):
    station = Station(scene)
    station.connect()
    scene.serve(since_start=True)
    scene.step("the first answer knows the type", kind="wifi",
               quiet=(r"changed type", r"from wlan0 to wlan0", r"path\.snapshot.*wiredEthernet"))


@scenario("wifi/bond of cable and Wi-Fi, Wi-Fi active", needs=("bonding",), radios=2)
def _(scene):
    station = Station(scene)
    scene.cables(1)
    scene.there("ip link add sw0 type bridge", "ip link set f1 master sw0 up", "ip link set sw0 up", *scene.gateway("sw0"))
    station.access_point(bridge="sw0")
    scene.here("ip link add bond0 type bond mode active-backup miimon 100 fail_over_mac active",
               "ip link set e1 master bond0", "ip link set wlan0 down", "ip link set wlan0 master bond0", "ip link set e1 up",
               "ip link set bond0 up", *scene.address("bond0"), *scene.default("bond0"))
    station.supplicant()
    station.associated()
    scene.here("ip link set bond0 type bond active_slave wlan0")
    scene.serve()
    scene.step("Wi-Fi carries the packets", interface="bond0", kind="wifi", hold=5)
    scene.here("ip link set bond0 type bond active_slave e1")
    scene.step("the cable carries the packets", interface="bond0", kind="wiredEthernet", hold=5)
