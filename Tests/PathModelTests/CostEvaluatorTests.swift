// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Netlink
import PathModel
import Testing

/// What traffic costs, and link quality as a path shows it (rules S37 to S39).
@Suite struct CostEvaluatorTests {
    private func world(kind: String? = nil, _ device: DeviceFacts? = nil) -> World {
        var world = World()
        world.link("if0", 2, kind: kind)
        world.add("192.0.2.10/24", on: "if0")
        world.route("0.0.0.0/0", "if0", via: "192.0.2.1")
        world.facts.devices[2] = device
        return world
    }

    @Test(
        arguments: [
            (nil, nil, false), (nil, .unknown, false), (nil, .yes, true), (nil, .guessYes, true), (nil, .no, false),
            (nil, .guessNo, false), ("wwan", nil, true), ("wwan", .unknown, true), ("wwan", .no, false),
            ("wwan", .guessNo, false), ("wwan", .yes, true),
        ] as [(String?, DeviceFacts.Metered?, Bool)]
    )
    func `the manager's word comes before the type (S37)`(
        kind: String?,
        metered: DeviceFacts.Metered?,
        isExpensive: Bool
    ) {
        let path = world(kind: kind, metered.map { DeviceFacts(metered: $0) }).path()
        #expect(path.isExpensive == isExpensive)
    }

    @Test func `Bluetooth and Android's DHCP hint cost money (S37)`() {
        #expect(world(DeviceFacts(role: .bluetooth)).path().isExpensive)
        #expect(world(DeviceFacts(hasAndroidMeteredHint: true)).path().isExpensive)
        #expect(!world(DeviceFacts(metered: .no, hasAndroidMeteredHint: true)).path().isExpensive)
    }

    @Test(arguments: [true, false])
    func `the operator's word comes before everything (S37)`(isExpensive: Bool) {
        var world = world(DeviceFacts(metered: isExpensive ? .no : .yes))
        world.policy.interfaces = [InterfacePolicy(match: "if*", isExpensive: isExpensive)]
        #expect(world.path().isExpensive == isExpensive)
    }

    @Test func `only the interface in use counts, not one behind it (S37)`() {
        var world = World.ordinary()
        world.link("wwan0", 3, kind: "wwan")
        world.add("10.0.0.2/30", on: "wwan0")
        world.route("0.0.0.0/0", "wwan0", metric: 700)
        #expect(world.path().names == ["eth0", "wwan0"])
        #expect(!world.path().isExpensive)
    }

    @Test func `a tunnel costs what carries it costs, unless the operator says otherwise (S37)`() {
        var world = World()
        world.link("wwan0", 3, kind: "wwan")
        world.add("10.0.0.2/30", on: "wwan0")
        world.route("0.0.0.0/0", "wwan0", metric: 700)
        world.link("tun0", 4, kind: "tun")
        world.add("10.8.0.2/24", on: "tun0")
        world.route("0.0.0.0/1", "tun0")
        world.route("128.0.0.0/1", "tun0")
        #expect(world.path().names == ["tun0", "wwan0"])
        #expect(world.path().isExpensive)
        world.policy.interfaces = [InterfacePolicy(match: "tun0", isExpensive: false)]
        #expect(!world.path().isExpensive)
    }

    @Test func `constrained is the operator's word alone (S38)`() {
        var world = world(DeviceFacts(metered: .yes))
        #expect(!world.path().isConstrained)
        world.policy.interfaces = [InterfacePolicy(match: "if0", isConstrained: true)]
        #expect(world.path().isConstrained)
    }

    @Test func `ultra-constrained is the operator's word, or a satellite (S38)`() {
        var world = world(kind: "wwan")
        #expect(!world.path().isUltraConstrained)
        world.facts.cellular[2] = CellularFacts(isSatellite: true)
        #expect(world.path().isUltraConstrained)
        world.policy.interfaces = [InterfacePolicy(match: "if0", isUltraConstrained: false)]
        #expect(!world.path().isUltraConstrained)
        world.policy.interfaces = [InterfacePolicy(match: "if0", isUltraConstrained: true)]
        world.facts.cellular = [:]
        #expect(world.path().isUltraConstrained)
    }

    @Test func `nothing is expensive without a path (S37)`() {
        var world = world(kind: "wwan")
        world.unplug("if0")
        #expect(!world.path().isExpensive)
    }

    @Test func `the quality of the first interface is the path's, and never its status (S39)`() {
        var world = world()
        #expect(world.path().linkQuality == .unknown)
        for quality in LinkQuality.allCases {
            world.qualities = [2: quality, 3: .good]
            #expect(world.path().linkQuality == quality)
            #expect(world.path().status == .satisfied)
        }
        world.unplug("if0")
        #expect(world.path().linkQuality == .unknown)
    }
}
