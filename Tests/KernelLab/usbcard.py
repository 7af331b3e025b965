#!/usr/bin/env python3
# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""A network card on the USB of this machine: the kernel's own driver dm9601 drives it, and counts what the card reports.

It is a Davicom DM9601 behind the kernel's USB/IP host controller (vhci_hcd): its registers and end points are answered here,
its cable ends in the TAP device DEVICE of this network namespace. SIGUSR1 damages the cable, so that every tenth frame
arrives with the card's flag for a wrong checksum; SIGUSR2 mends it. With `half` the other end offers half duplex only.

Usage: usbcard.py DEVICE PORT [half]   PORT of the host controller, 0 to 7; the address of the card is 00:60:6e:00:00:0PORT
"""
import collections, contextlib, errno, fcntl, os, select, signal, socket, struct, sys, time

ATTACH = "/sys/devices/platform/vhci_hcd.0/attach"
TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 0x0002, 0x1000
# Numbers of USB/IP (include/uapi/linux/usbip.h, Documentation/usb/usbip_protocol.rst) and of USB 2.0, chapter 9.
SUBMIT, UNLINK, SUBMITTED, UNLINKED = 1, 2, 3, 4
HEADER = struct.Struct(">IIIII28s")
HIGH_SPEED = 3
GET_DESCRIPTOR, DEVICE, CONFIGURATION = 0x80, 1, 2
BULK_IN, STATUS_IN = 1, 3
# Of the driver: read and write registers; the register of the hardware address, of the chip; and the flag of a wrong checksum.
READ, WRITE, HARDWARE_ADDRESS, CHIP, CRC_ERROR, LINK = 0x00, 0x03, 0x10, 0x2C, 0x02, 0x40
# Of its PHY: where its registers are named and read; 100 Mbit/s full duplex, negotiated with an end that offers the same.
PHY_ADDRESS, PHY_DATA = 0x0C, 0x0D
PHY = {0: 0x3100, 1: 0x782D, 4: 0x01E1, 5: 0x45E1}
HALF_PHY = PHY | {5: 0x4081}
DAMAGE = 10


def end_point(address, kind, size, interval):
    return struct.pack("<BBBBHB", 7, 5, address, kind, size, interval)


class Card:
    def __init__(self, tap, host, port, registers):
        self.tap, self.host, self.registers, self.damages, self.frames, self.phy = tap, host, registers, False, 0, 0
        self.address = bytes([0x00, 0x60, 0x6E, 0x00, 0x00, port])
        self.waiting = {BULK_IN: collections.deque(), STATUS_IN: collections.deque()}
        self.device = struct.pack("<BBHBBBBHHHBBBB", 18, DEVICE, 0x0200, 0, 0, 0, 64, 0x0A46, 0x9601, 0x0101, 0, 0, 0, 1)
        ends = end_point(0x81, 2, 512, 0) + end_point(0x02, 2, 512, 0) + end_point(0x83, 3, 8, 8)
        interface = struct.pack("<BBBBBBBBB", 9, 4, 0, 0, 3, 0xFF, 0, 0, 0)
        self.configuration = struct.pack("<BBHBBBBB", 9, CONFIGURATION, 18 + len(ends), 1, 1, 0, 0x80, 50) + interface + ends

    def receive(self, count):
        data = b""
        while len(data) < count:
            part = self.host.recv(count - len(data))
            if not part:
                sys.exit(0)
            data += part
        return data

    def answer(self, number, data=b"", status=0, length=None):
        tail = struct.pack(">iIIII8x", status, len(data) if length is None else length, 0, 0, 0)
        self.host.sendall(HEADER.pack(SUBMITTED, number, 0, 0, 0, tail) + data)

    def command(self):
        """One request of the host controller."""
        kind, number, _, is_in, point, rest = HEADER.unpack(self.receive(HEADER.size))
        if kind == UNLINK:
            return self.unlink(number, struct.unpack(">I", rest[:4])[0])
        length, setup = struct.unpack(">I", rest[4:8])[0], rest[20:]
        data = b"" if is_in else self.receive(length)
        if point == 0:
            self.control(number, setup, length)
        elif is_in:
            self.waiting[point].append(number)
        else:
            # Two bytes of length come before a frame.
            size = struct.unpack("<H", data[:2])[0]
            # EIO while the other end of the cable is down.
            with contextlib.suppress(OSError):
                os.write(self.tap, data[2:2 + size])
            self.answer(number, length=length)

    def unlink(self, number, unlinked):
        status = 0
        for queue in self.waiting.values():
            if unlinked in queue:
                queue.remove(unlinked)
                status = -errno.ECONNRESET
        self.host.sendall(HEADER.pack(UNLINKED, number, 0, 0, 0, struct.pack(">i24x", status)))

    def control(self, number, setup, length):
        kind, request, value, index, _ = struct.unpack("<BBHHH", setup)
        if kind == GET_DESCRIPTOR and request == 6:
            known = {DEVICE: self.device, CONFIGURATION: self.configuration}.get(value >> 8)
            return self.answer(number, known[:length]) if known else self.answer(number, status=-errno.EPIPE)
        if kind & 0x80 and request == READ:
            data = struct.pack("<H", self.registers.get(self.phy, 0))
            registers = {HARDWARE_ADDRESS: self.address, CHIP: b"\x01", PHY_DATA: data}.get(index, b"")
            return self.answer(number, (registers + bytes(length))[:length])
        if kind & 0x80:
            return self.answer(number, bytes(min(length, 2)))
        if request == WRITE and index == PHY_ADDRESS:
            self.phy = value & 0x3F
        self.answer(number, length=length)

    def deliver(self, frame):
        """A frame for the host: the card's status, its length with the checksum, itself, the checksum."""
        if not self.waiting[BULK_IN]:
            return
        self.frames += 1
        status = CRC_ERROR if self.damages and self.frames % DAMAGE == 0 else 0
        frame = frame.ljust(60, b"\0")
        self.answer(self.waiting[BULK_IN].popleft(), struct.pack("<BH", status, len(frame) + 4) + frame + bytes(4))

    def run(self):
        due = time.monotonic()
        while True:
            ready, _, _ = select.select([self.host, self.tap], [], [], 0.1)
            if self.host in ready:
                self.command()
            if self.tap in ready:
                self.deliver(os.read(self.tap, 2048))
            if self.waiting[STATUS_IN] and time.monotonic() >= due:
                due = time.monotonic() + 0.2
                self.answer(self.waiting[STATUS_IN].popleft(), bytes([LINK]) + bytes(7))


def main():
    device = sys.argv[1].encode()
    tap = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH22x", device, IFF_TAP | IFF_NO_PI))
    own, kernels = socket.socketpair()
    port = int(sys.argv[2])
    card = Card(tap, own, port, HALF_PHY if sys.argv[3:] == ["half"] else PHY)
    signal.signal(signal.SIGUSR1, lambda *_: setattr(card, "damages", True))
    signal.signal(signal.SIGUSR2, lambda *_: setattr(card, "damages", False))
    with open(ATTACH, "w") as file:
        # The port of the controller, the socket, bus and device, and the speed.
        file.write(f"{port} {kernels.fileno()} {0x10002 + port} {HIGH_SPEED}")
    kernels.close()
    card.run()


if __name__ == "__main__":
    main()
