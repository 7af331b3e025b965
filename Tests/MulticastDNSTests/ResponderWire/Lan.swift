// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import LinuxIO
import MulticastDNS
import TestSupport

/// Hosts on one Ethernet: their links are ports of a bridge in a namespace of its own.
struct Lan {
    private let bridge: Namespace

    init() throws {
        bridge = try Namespace()
        try bridge.ip("link add br0 type bridge mcast_snooping 0")
        try bridge.set("br0", isUp: true)
    }

    /// Gives a host a link to the bridge, with an IPv4 address and the kernel's own IPv6 address, which work at once.
    func join(_ host: Namespace, _ device: String, _ address: String, port: String) throws {
        let accept = "for i in all default; do echo 0 > /proc/sys/net/ipv6/conf/$i/accept_dad; done"
        try host.run(["sh", "-c", accept])
        try host.connect(device, to: bridge, as: port)
        // A port forwards from its first moment only if it runs by then; otherwise the kernel may take a second more.
        try bridge.waitUntilRunning(port)
        try bridge.ip("link set \(port) master br0")
        try host.ip("address add \(address) dev \(device)")
        try host.waitForAddresses(on: device, isLinkLocal: true)
    }
}
