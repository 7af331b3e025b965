// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxIO
import Netlink
import Providers
import TestSupport
import Testing

/// What sysfs says of links that rtnetlink gives no kind.
@Suite struct VirtualLinkTests {
    private func provider(_ links: [Link], _ texts: [String: String]) throws -> (VirtualLinkProvider, Scratch) {
        let scratch = try Scratch()
        for (name, text) in texts {
            try #require(unsafe mkdir(scratch.file(name), 0o755) == 0)
            try scratch.write(text, to: "\(name)/uevent")
        }
        let byIndex = Dictionary(uniqueKeysWithValues: links.map { ($0.index, $0) })
        return (VirtualLinkProvider(directory: scratch.path) { byIndex }, scratch)
    }

    @Test func `an L2TP session is a tunnel, in its own network namespace`() throws {
        let links = [
            Link(index: 3, name: "l0"), Link(index: 4, name: "l1"),
            Link(index: 5, name: "eth0", parentDevice: "virtio0"),
            Link(index: 6, name: "gone"), Link(index: 7, name: "eth1"),
        ]
        let (provider, scratch) = try provider(
            links,
            [
                "l0": "DEVTYPE=l2tpeth\nINTERFACE=l0\nIFINDEX=3\n", "l1": "DEVTYPE=l2tpeth\nINTERFACE=l1\nIFINDEX=44\n",
                "eth0": "DEVTYPE=l2tpeth\nINTERFACE=eth0\nIFINDEX=5\n", "eth1": "INTERFACE=eth1\nIFINDEX=7\n",
            ]
        )
        defer { withExtendedLifetime(scratch) {} }
        var changes = 0
        provider.onChange = { changes += 1 }
        provider.refresh()
        #expect(provider.tunnels == [3] && provider.teams.isEmpty && changes == 1)
        provider.refresh()
        #expect(changes == 1)
    }
}
