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
        #expect(world.classifier.wiredLinks == WiredLinks(usable: [2, 4, 8]))
        world.policy.interfaces = [InterfacePolicy(match: "tun0", type: .wiredEthernet)]
        #expect(world.classifier.wiredLinks.usable == [2, 4, 6, 8])
    }

    @Test func `a cable that is out is known, but not asked about (S39)`() {
        var world = World.ordinary()
        world.unplug("eth0")
        #expect(world.classifier.wiredLinks == WiredLinks(idle: [2]))
        world.plug("eth0")
        #expect(world.classifier.wiredLinks == WiredLinks(usable: [2]))
        // Before it has an address, so that the first path with it knows.
        world.link("eth1", 3)
        #expect(world.classifier.wiredLinks.usable == [2, 3])
        world.delete("eth0")
        #expect(world.classifier.wiredLinks == WiredLinks(usable: [3]))
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
        let links = world.classifier.wiredLinks
        #expect(links.usable.count == WiredLinks.limit && links.usable.prefix(3) == [500, 400, 10])
        #expect(links.usable.count + links.idle.count == 292)
    }

    @Test func `a card that is a port of another link is asked about, too`() {
        var world = World.ordinary()
        world.link("bond0", 4, kind: "bond")
        world.link("eth1", 5) {
            ($0.master, $0.parentBus, $0.parentDevice) = (4, "pci", "0000:00:02.0")
        }
        #expect(world.classifier.wiredLinks.usable.contains(5))
    }
}

/// Which links are measured.
@Suite struct MeasuredLinksTests {
    private func card(_ name: String, _ index: Int, bus: String = "pci", in world: inout World, master: Int? = nil) {
        world.link(name, index) { ($0.master, $0.parentBus, $0.parentDevice) = (master, bus, "0000:00:0\(index).0") }
    }

    @Test func `the ports of an aggregate come first, then what stands on it, then other cards`() {
        var world = World()
        card("eth0", 2, in: &world)
        world.link("bond0", 3, kind: "bond")
        card("eth1", 4, in: &world, master: 3)
        card("eth2", 5, in: &world, master: 3)
        world.link("bond0.10", 6, kind: "vlan") { $0.lower = 3 }
        let links = world.classifier.measuredLinks(used: [6])
        #expect(links.map(\.index) == [4, 5, 3, 6, 2])
        #expect(links.map(\.isCable) == [true, true, false, false, true])
        #expect(links.map(\.isUsed) == [true, true, true, true, false])
        // What was measured before stays, behind what is used.
        #expect(world.classifier.measuredLinks(used: [2], others: [6]).map(\.index) == [2, 4, 5, 3, 6])
    }

    @Test func `what carries a tunnel is used, and the link to a switch chip is no cable`() {
        var world = World()
        card("eth0", 2, in: &world)
        world.link("wg0", 3, kind: "wireguard") { $0.hardwareType = 65534 }
        #expect(world.classifier.measuredLinks(used: [3]).map(\.isUsed) == [true, true])
        world.link("lan1", 4, kind: "dsa") { $0.lower = 2 }
        let links = world.classifier.measuredLinks(used: [4])
        #expect(links.map(\.index) == [2, 4] && links.map(\.isCable) == [false, true])
    }

    @Test func `guests of a bridge are not measured, nor an ignored card`() {
        var world = World()
        world.link("br0", 2, kind: "bridge")
        card("eth0", 3, in: &world, master: 2)
        for index in 10..<300 { world.link("veth\(index)", index, kind: "veth") { $0.master = 2 } }
        card("eth9", 400, in: &world)
        world.policy.ignore = ["eth9"]
        #expect(world.classifier.measuredLinks(used: [2]).map(\.index) == [3, 2])
    }

    @Test func `devices of hypervisors, radios and tunnels are no cables, and there are sixteen at most`() {
        var world = World()
        card("ens3", 2, bus: "virtio", in: &world)
        card("wlan0", 3, in: &world)
        world.facts.wireless[3] = WirelessFacts(mode: 2)
        world.link("gre1", 4, kind: "gretap")
        #expect(world.classifier.measuredLinks(used: [2, 3, 4]).allSatisfy { !$0.isCable })
        for index in 10..<60 { card("eth\(index)", index, in: &world) }
        let links = world.classifier.measuredLinks(used: [2])
        #expect(links.count == 16 && links.first?.index == 2)
        #expect(world.classifier.measuredLinks(used: [999]).count == 16)
    }
}
