// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LinuxIO

@Suite struct PortOwnerTests {
    private static let table = """
          sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
           0: 0100007F:20A1 00000000:0000 0A 00000000:00000000 00:00000000 00000000     7        0 4711 1 0 100 0 0 10 0
           1: 0100007F:20A2 0100007F:1234 01 00000000:00000000 00:00000000 00000000     0        0 4712 1 0 100 0 0 10 0
        """

    @Test(
        arguments: [
            (8353, true, [4711]), (8354, true, []), (80, false, []), (8354, false, [4712]),
        ] as [(UInt16, Bool, [UInt64])]
    )
    func `finds the sockets of a port`(port: UInt16, listening: Bool, inodes: [UInt64]) {
        #expect(PortOwner.entries(in: Self.table, port: port, listening: listening).map(\.inode) == inodes)
    }

    @Test(arguments: ["", "\n\n", "header\nshort line", "header\n 0: x y 0A 1 2 3 4 5 z"])
    func `finds nothing in what is no table`(text: String) {
        #expect(PortOwner.entries(in: text, port: 8353, listening: true).isEmpty)
    }

    @Test func `says as much as is known`() {
        let texts = [
            PortOwner(user: 0, process: 812, name: "dnsmasq"), PortOwner(user: 0, process: 812), PortOwner(user: 7),
        ].map(\.description)
        #expect(texts == ["dnsmasq (process 812)", "process 812", "a program of user 7"])
    }
}
