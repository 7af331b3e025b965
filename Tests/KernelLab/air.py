#!/usr/bin/env python3
# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""What is between the simulated radios of mac80211_hwsim: each frame reaches all others that ever sent one, with -40 dBm.

SIGUSR1 weakens it between the radios that are named: frames arrive with -82 dBm, and each that is acknowledged was sent
three times. SIGUSR2 undoes that. The kernel hands over the frames of all radios, those of other scenarios too.

Usage: air.py ADDRESS...   the second address of each radio, such as 42:00:00:00:01:00
"""
import signal, socket, struct, sys

# Of include/uapi/linux/genetlink.h and drivers/net/wireless/virtual/mac80211_hwsim.h.
NETLINK_GENERIC, CONTROL, GET_FAMILY, FAMILY_ID, FAMILY_NAME = 16, 16, 3, 1, 2
REGISTER, FRAME, TX_INFO_FRAME = 1, 2, 3
RECEIVER, TRANSMITTER, CONTENT, FLAGS, RX_RATE, SIGNAL, TX_INFO, COOKIE, FREQUENCY, TX_INFO_FLAGS = 1, 2, 3, 4, 5, 6, 7, 8, 19, 21
ACKNOWLEDGED = 4
HEADER = struct.Struct("=IHHIIBBH")
STRONG, WEAK = (-40, 1), (-82, 3)


def attribute(kind, data):
    size = 4 + len(data)
    return struct.pack("=HH", size, kind) + data + bytes(-size % 4)


def attributes(data):
    found = {}
    while len(data) >= 4:
        size, kind = struct.unpack_from("=HH", data)
        found[kind & 0x3FFF] = data[4:size]
        data = data[(size + 3) & ~3:]
    return found


class Air:
    def __init__(self, radios):
        self.named, self.radios, self.quality = set(radios), set(radios), STRONG
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_GENERIC)
        self.socket.setsockopt(socket.SOL_SOCKET, 33, 8 << 20)  # SO_RCVBUFFORCE
        self.socket.bind((0, 0))
        self.send(CONTROL, GET_FAMILY, attribute(FAMILY_NAME, b"MAC80211_HWSIM\0"))
        self.family = struct.unpack("=H", attributes(self.socket.recv(65536)[HEADER.size:])[FAMILY_ID])[0]
        self.send(self.family, REGISTER, b"")

    def send(self, family, command, body):
        self.socket.send(HEADER.pack(HEADER.size + len(body), family, 1, 0, 0, command, 1, 0) + body)

    def carry(self, frame):
        """A frame that a radio sent: to the others, and what became of it to the sender."""
        sender = frame[TRANSMITTER]
        self.radios.add(sender)
        arrival = attribute(CONTENT, frame[CONTENT]) + attribute(RX_RATE, struct.pack("=I", 0))
        arrival += attribute(FREQUENCY, frame[FREQUENCY])
        for radio in self.radios - {sender}:
            strength, _ = self.quality if {radio, sender} <= self.named else STRONG
            self.send(self.family, FRAME, attribute(RECEIVER, radio) + attribute(SIGNAL, struct.pack("=i", strength)) + arrival)
        strength, tries = self.quality if sender in self.named else STRONG
        flags = struct.unpack("=I", frame[FLAGS])[0] | ACKNOWLEDGED
        rates = bytes([frame[TX_INFO][0], tries]) + b"\xff\0" * (len(frame[TX_INFO]) // 2 - 1)
        result = attribute(TRANSMITTER, sender) + attribute(FLAGS, struct.pack("=I", flags))
        result += attribute(SIGNAL, struct.pack("=i", strength))
        result += attribute(TX_INFO, rates) + attribute(COOKIE, frame[COOKIE])
        if TX_INFO_FLAGS in frame:
            result += attribute(TX_INFO_FLAGS, frame[TX_INFO_FLAGS])
        self.send(self.family, TX_INFO_FRAME, result)

    def run(self):
        while True:
            data = self.socket.recv(65536)
            # Errors are for frames that a radio on another channel does not receive.
            if HEADER.unpack_from(data)[1] == self.family and data[16] == FRAME:
                self.carry(attributes(data[HEADER.size:]))


def main():
    air = Air([bytes.fromhex(address.replace(":", "")) for address in sys.argv[1:]])
    signal.signal(signal.SIGUSR1, lambda *_: setattr(air, "quality", WEAK))
    signal.signal(signal.SIGUSR2, lambda *_: setattr(air, "quality", STRONG))
    air.run()


if __name__ == "__main__":
    main()
