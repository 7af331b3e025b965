// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Netlink
import PathModel
import Testing

/// Which cables are asked about (rule S39).
@Suite struct WiredLinksTests {
    @Test func `cables in use are asked about, radios, ports, tunnels and the machine itself are not (S39)`() {
        var world = World.ordinary()
        world.link("wlan0", 3)
        world.facts.wireless[3] = WirelessFacts(mode: 2)
        world.link("br0", 4, kind: "bridge")
        world.link("eth1", 5) { $0.master = 4 }
        world.link("tun0", 6, kind: "tun")
        world.link("eth2", 7)
        world.link("veth0", 8, kind: "veth")
        world.policy.ignore = ["eth2"]
        // A bridge is what its ports are.
        #expect(world.judge.wiredLinks == WiredLinks(usable: [2, 4, 8]))
        world.policy.interfaces = [InterfacePolicy(match: "tun0", type: .wiredEthernet)]
        #expect(world.judge.wiredLinks.usable == [2, 4, 6, 8])
    }

    @Test func `a cable that is out is known, but not asked about (S39)`() {
        var world = World.ordinary()
        world.unplug("eth0")
        #expect(world.judge.wiredLinks == WiredLinks(idle: [2]))
        world.plug("eth0")
        #expect(world.judge.wiredLinks == WiredLinks(usable: [2]))
        // Before it has an address, so that the first path with it knows.
        world.link("eth1", 3)
        #expect(world.judge.wiredLinks.usable == [2, 3])
        world.delete("eth0")
        #expect(world.judge.wiredLinks == WiredLinks(usable: [3]))
    }

    @Test func `hundreds of containers do not crowd out an uplink (S39)`() {
        var world = World()
        for index in 10..<300 { world.link("veth\(index)", index, kind: "veth") }
        world.link("addr0", 400)
        world.add("192.0.2.10/24", on: "addr0")
        world.link("used0", 500)
        var path = Path()
        path.interfaces = [PathInterface(name: "used0", index: 500, type: .wiredEthernet)]
        _ = world.memory.note(path)
        let links = world.judge.wiredLinks
        #expect(links.usable.count == WiredLinks.limit && links.usable.prefix(3) == [500, 400, 10])
        #expect(links.usable.count + links.idle.count == 292)
    }
}
