// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Netlink
import PathModel
import Testing

/// Types of interfaces, and which ones are left out (rules S11, S15).
@Suite struct InterfaceClassifierTests {
    private func type(_ world: World, _ name: String = "x0") -> InterfaceType {
        world.state.link(named: name).map { world.classifier.type(of: $0) } ?? .loopback
    }

    // MARK: - S11

    @Test(
        arguments: [
            (nil, 1, .wiredEthernet), (nil, 519, .cellular), (nil, 512, .other), (nil, 772, .loopback),
            (nil, 32, .other),
            (nil, 65534, .other), ("veth", 1, .wiredEthernet), ("netkit", 1, .wiredEthernet), ("tun", 65534, .other),
            ("tun", 1, .other), ("wireguard", 65534, .other), ("vxlan", 1, .other), ("gre", 778, .other),
            ("ipip", 768, .other), ("sit", 776, .other), ("vti", 768, .other), ("xfrm", 65534, .other),
            ("dummy", 1, .other), ("ifb", 1, .other), ("vrf", 1, .other), ("wwan", 519, .cellular),
            ("wwan", 65534, .cellular),
            ("rmnet", 519, .cellular), ("bridge", 1, .other), ("bond", 1, .other), ("team", 1, .other),
            ("vlan", 1, .other),
            ("macvlan", 1, .other), ("ppp", 512, .other), ("unheard-of", 1, .other),
        ] as [(String?, UInt16, InterfaceType)]
    )
    func `kind and hardware tell the type (S11)`(kind: String?, hardware: UInt16, expected: InterfaceType) {
        var world = World()
        world.link("x0", 2, kind: kind) { $0.hardwareType = hardware }
        #expect(type(world) == expected)
    }

    @Test(arguments: [(2, .wifi), (8, .wifi), (3, .other), (6, .other), (7, .wifi)] as [(UInt32, InterfaceType)])
    func `nl80211 tells stations from access points and meshes (S11)`(mode: UInt32, expected: InterfaceType) {
        var world = World()
        world.link("x0", 2)
        world.facts.wireless[2] = WirelessFacts(mode: mode)
        #expect(type(world) == expected)
    }

    @Test(
        arguments: [
            (.unspecified, .wiredEthernet), (.modem, .cellular), (.bluetooth, .other), (.wifi, .wifi), (.vpn, .other),
        ] as [(DeviceFacts.Role, InterfaceType)]
    )
    func `a manager knows what the kernel cannot tell (S11)`(role: DeviceFacts.Role, expected: InterfaceType) {
        var world = World()
        world.link("x0", 2)
        world.facts.devices[2] = DeviceFacts(role: role)
        #expect(type(world) == expected)
    }

    @Test func `a modem with an Ethernet face is told by ModemManager (S11)`() {
        var world = World()
        world.link("x0", 2)
        world.facts.cellular[2] = CellularFacts()
        #expect(type(world) == .cellular)
    }

    @Test func `a modem over PPP is cellular (S11)`() {
        var world = World()
        world.link("x0", 2) { $0.hardwareType = 512 }
        world.facts.devices[2] = DeviceFacts(role: .modem)
        #expect(type(world) == .cellular)
        #expect(world.state.link(named: "x0").map { world.classifier.isTunnel($0) } == false)
    }

    @Test func `the operator's word comes before everything (S11)`() {
        var world = World()
        world.link("x0", 2)
        world.facts.wireless[2] = WirelessFacts(mode: 2)
        world.policy.interfaces = [
            InterfacePolicy(match: "x*", type: .cellular),
            InterfacePolicy(match: "x0", type: .other),
        ]
        #expect(type(world) == .other)
    }

    @Test(arguments: ["bond", "team", "bridge", "openvswitch"])
    func `an aggregate is what its best working port is (S11)`(kind: String) {
        var world = World()
        world.link("x0", 2, kind: kind)
        #expect(type(world) == .other)
        world.link("wlan0", 3) { $0.master = 2 }
        world.facts.wireless[3] = WirelessFacts(mode: 2)
        #expect(type(world) == .wifi)
        world.link("eth0", 4) { $0.master = 2 }
        #expect(type(world) == .wiredEthernet)
        world.unplug("eth0")
        #expect(type(world) == .wifi)
        world.unplug("wlan0")
        #expect(type(world) == .wiredEthernet)
    }

    @Test(arguments: ["vlan", "macvlan", "ipvlan", "macvtap", "macsec"])
    func `a stacked link is what it stands on (S11)`(kind: String) {
        var world = World()
        world.link("eth0", 3)
        world.link("x0", 2, kind: kind) { $0.lower = 3 }
        #expect(type(world) == .wiredEthernet)
        world.facts.wireless[3] = WirelessFacts(mode: 2)
        #expect(type(world) == .wifi)
        world.change("x0") {
            $0.lower = nil
            $0.isLowerElsewhere = true
        }
        #expect(type(world) == .wiredEthernet)
    }

    @Test func `a VLAN on a bond on Wi-Fi is Wi-Fi (S11)`() {
        var world = World()
        world.link("x0", 2, kind: "vlan") { $0.lower = 3 }
        world.link("bond0", 3, kind: "bond")
        world.link("wlan0", 4) { $0.master = 3 }
        world.facts.wireless[4] = WirelessFacts(mode: 2)
        #expect(type(world) == .wifi)
    }

    @Test func `a circle of lower links ends (S11)`() {
        var world = World()
        world.link("x0", 2, kind: "vlan") { $0.lower = 3 }
        world.link("x1", 3, kind: "vlan") { $0.lower = 2 }
        #expect(type(world) == .other)
        world.link("b0", 4, kind: "bridge") { $0.master = 5 }
        world.link("b1", 5, kind: "bridge") { $0.master = 4 }
        #expect(type(world, "b0") == .other)
    }

    @Test func `an interface that does not exist is other`() {
        #expect(World().classifier.type(of: 99) == .other)
    }

    // MARK: - S15

    /// What is not told by events, metrics and documents unless asked.
    @Test(
        arguments: [
            (nil, false), ("veth", true), ("bridge", true), ("ifb", true), ("dummy", true), ("vxlan", true),
            ("geneve", true),
            ("netkit", true), ("nlmon", true), ("tun", true), ("ipip", true), ("sit", true), ("vlan", false),
            ("bond", false), ("team", false), ("macvlan", false), ("ipvlan", false), ("wireguard", false),
            ("wwan", false),
            ("vrf", false),
        ] as [(String?, Bool)]
    )
    func `kinds that containers use are ignored until they carry (S15)`(kind: String?, isIgnored: Bool) throws {
        var world = World()
        world.link("x0", 2, kind: kind)
        let link = try #require(world.state.link(named: "x0"))
        #expect(world.classifier.isIgnored(link) == isIgnored)
        _ = world.memory.note(Path(interfaces: [PathInterface(name: "x0", index: 2, type: .other)]))
        #expect(!world.classifier.isIgnored(link))
        world.memory.forget(2)
        #expect(world.classifier.isIgnored(link) == isIgnored)
        world.policy.interfaces = [InterfacePolicy(match: "x0", isRequired: true)]
        #expect(!world.classifier.isIgnored(link))
        world.policy.ignore = ["x?"]
        #expect(world.classifier.isIgnored(link))
    }

    @Test func `a tunnel with an address is told (S15)`() throws {
        var world = World()
        world.link("tun0", 2, kind: "tun")
        let link = try #require(world.state.link(named: "tun0"))
        #expect(world.classifier.isIgnored(link))
        world.add("10.8.0.2/24", on: "tun0")
        #expect(!world.classifier.isIgnored(link))
    }

    @Test func `loopback and ports are ignored, ports of a VRF are not (S15)`() throws {
        var world = World()
        world.link("br0", 3, kind: "bridge")
        world.link("eth0", 2) { $0.master = 3 }
        let port = try #require(world.state.link(named: "eth0"))
        #expect(world.classifier.isIgnored(port))
        #expect(world.classifier.isEnslaved(port))
        #expect(try world.classifier.isIgnored(#require(world.state.link(named: "lo"))))
        world.change("br0") { $0.kind = "vrf" }
        #expect(!world.classifier.isIgnored(port))
    }

    @Test func `a port is a port even when its master cannot be seen (S15)`() throws {
        var world = World()
        world.link("eth0", 2) { $0.master = 77 }
        let port = try #require(world.state.link(named: "eth0"))
        #expect(world.classifier.isEnslaved(port))
        #expect(world.classifier.unusableReason(of: port) == .enslaved)
    }

    @Test func `exact names come before globs, the first of each wins`() throws {
        var world = World()
        world.link("eth0", 2)
        world.link("eth1", 3)
        world.policy.interfaces = [
            InterfacePolicy(match: "eth*", type: .wifi),
            InterfacePolicy(match: "e*", type: .cellular),
            InterfacePolicy(match: "eth0", type: .other),
            InterfacePolicy(match: "eth0", type: .loopback),
        ]
        #expect(type(world, "eth0") == .other)
        #expect(type(world, "eth1") == .wifi)
    }

    @Test func `required interfaces that do not exist are known by name`() {
        var world = World()
        world.link("eth0", 2)
        world.policy.interfaces = [
            InterfacePolicy(match: "eth0", isRequired: true),
            InterfacePolicy(match: "wwan0", isRequired: true),
            InterfacePolicy(match: "wl*", isRequired: true),
            InterfacePolicy(match: "eth9"),
        ]
        #expect(world.classifier.missingRequired == ["wwan0"])
    }

    // MARK: - Shortcomings

    @Test func `what is in an interface's way goes from link to address`() throws {
        var world = World()
        world.link("eth0", 2) { $0.flags = [] }
        func unusableReason() throws -> UnusableReason? {
            try world.classifier.unusableReason(of: #require(world.state.link(named: "eth0")))
        }
        #expect(try unusableReason() == .linkDown)
        world.plug("eth0")
        #expect(try unusableReason() == .noAddress)
        world.add("2001:db8::1/64", on: "eth0", flags: .tentative)
        #expect(try unusableReason() == .dadPending)
        world.add("2001:db8::1/64", on: "eth0")
        #expect(try unusableReason() == nil)
        world.policy.ignore = ["eth0"]
        #expect(try unusableReason() == .ignored)
        #expect(try world.classifier.unusableReason(of: #require(world.state.link(named: "lo"))) == .loopback)
    }

    @Test func `the memory tells what it did not know`() {
        var memory = InterfaceMemory()
        let path = World.ordinary().path()
        #expect(memory.note(path) == [2])
        #expect(memory.note(path) == [])
        #expect(memory.everAvailable == [2])
        memory.forget(2)
        #expect(memory.everAvailable.isEmpty)
    }

    // MARK: - Multicast

    @Test func `services are looked for where a packet to the group can leave`() throws {
        var world = World.ordinary()
        func links(_ world: World) -> [String] { world.classifier.multicastLinks().map(\.link.name) }
        #expect(links(world) == [])
        world.change("eth0") { $0.flags.insert(.multicast) }
        world.add("2001:db8::11/64", on: "eth0", flags: [.tentative])
        world.add("192.0.2.11/24", on: "eth0", flags: [.duplicateDetected])
        let view = try #require(world.classifier.multicastLinks().first)
        #expect(view.addresses.map(\.text) == ["192.0.2.10/24", "2001:db8::10/64", "fe80::10/64"])
        world.link("eth1", 3) { $0.flags.insert(.multicast) }
        world.link("br0", 4, kind: "bridge") { $0.flags.insert(.multicast) }
        world.change("lo") { $0.flags.insert(.multicast) }
        #expect(links(world) == ["eth0", "eth1", "br0"])
        #expect(world.classifier.multicastLinks { $0.isNamed("eth1") }.map(\.link.name) == ["eth1"])
        world.change("eth1") {
            $0.master = 4
            $0.portKind = "bridge"
        }
        #expect(links(world) == ["eth0", "br0"])
        world.unplug("eth0")
        #expect(links(world) == ["br0"])
        world.policy.ignore = ["br*"]
        #expect(links(world) == [])
    }
}
