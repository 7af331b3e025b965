# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""What a card and a queue count: the service reads it once a minute, so these scenarios last for more than two."""
import os
import signal

from . import scenario

CARD = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "usbcard.py")


def plug(scene, port, *words):
    """A USB card e0 with a cable to f0, which the service watches."""
    address = f"00:60:6e:00:00:0{port}"
    card = scene.start("router", "python3", "-B", CARD, "f0", str(port), *words)
    scene.wait(lambda: scene.named(address), "the driver's interface")
    (name,) = scene.named(address)
    scene.at_home("ip", "link", "set", name, "netns", str(scene.process("machine")), "name", "e0")
    scene.here("ip link set e0 up")
    scene.there("ip link set f0 up", *scene.gateway("f0"))
    scene.here(*scene.address("e0"), *scene.default("e0"))
    scene.wait(lambda: scene.says("LOWER_UP", "ip", "link", "show", "dev", "e0"), "the carrier of the card")
    scene.serve()
    return card


@scenario("card/a damaged cable and a full queue", needs=("vhci_hcd", "dm9601", "tun", "sch_tbf"), extra=True)
def _(scene):
    card = plug(scene, 1)
    scene.step("a card with a cable", interface="e0", kind="wiredEthernet", hold=6)
    # A tenth of the router's packets is damaged, and a shaper drops most of what the machine sends to it.
    card.send_signal(signal.SIGUSR1)
    scene.here("tc qdisc replace dev e0 root tbf rate 200kbit burst 10k limit 30k")
    scene.start("router", "ping", "-q", "-i", "0.02", "10.1.0.2")
    scene.start("machine", "python3", "-c", "import socket, time\none = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
                "while True:\n    one.sendto(bytes(1000), ('10.1.0.1', 9))\n    time.sleep(0.01)")
    found = ("verdict.raised: e0 received .* frames with errors", r"verdict.raised: the queue of e0 \(tbf\) dropped")
    scene.wait(lambda: all(scene.logged(pattern) for pattern in found), "both verdicts", 140)
    card.send_signal(signal.SIGUSR2)
    scene.here("tc qdisc del dev e0 root")
    scene.step("both are found", events=found, facts=(("e0", "counters.rx_crc_errors", "[1-9][0-9]*"),))


@scenario("card/half duplex", needs=("vhci_hcd", "dm9601", "tun"), extra=True)
def _(scene):
    card = plug(scene, 2, "half")
    half = ("e0", "counters.duplex", '"half"')
    scene.step("half duplex alone", interface="e0", kind="wiredEthernet", hold=6)
    card.send_signal(signal.SIGUSR1)
    scene.start("router", "ping", "-q", "-i", "0.02", "10.1.0.2")
    found = (r"verdict\.raised: e0 runs at half duplex, and counted .* frames with errors",)
    scene.wait(lambda: all(scene.logged(pattern) for pattern in found), "the verdict", 140)
    card.send_signal(signal.SIGUSR2)
    scene.step("with damaged frames", events=found, quiet=(r"verdict\.raised: e0 received",), facts=(half,))
