// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Netlink
import PathModel
import TestSupport
import Testing

/// Views of interfaces, and what changed between two of them (rules S15, S27).
@Suite struct ViewTests {
    private func look(_ world: World, _ name: String) -> InterfaceView? {
        world.state.link(named: name).map { InterfaceView($0, classifier: world.classifier) }
    }

    /// The changes in words that are easy to compare.
    private func words(_ changes: [ModelChange]) -> [String] {
        changes.map { change in
            switch change {
            case .interfaceAdded(let view): "+\(view.name)"
            case .interfaceRemoved(let view): "-\(view.name)"
            case .interfaceRoamed(let view, _): "~\(view.name)"
            case .interfaceChanged(let view, let changed, _):
                "\(view.name): \(changed.map(\.rawValue).joined(separator: " "))"
            case .redundancyChanged(let view, let isLost): "\(view.name) redundancy \(isLost ? "lost" : "restored")"
            case .addressAdded(let address, let view): "\(view.name) +\(address.text)"
            case .addressRemoved(let address, let view): "\(view.name) -\(address.text)"
            case .gatewayChanged(let new, let old):
                "\(old.map { "\($0.address)" } ?? "none") > \(new.map { "\($0.address)" } ?? "none")"
            case .gatewayReachability(let gateway, let isReachable): "\(gateway.address) \(isReachable)"
            case .dnsChanged(let new, let old): "dns \(old.servers.count) > \(new.servers.count)"
            }
        }
    }

    @Test func `a view shows link, addresses and judgement`() throws {
        var world = World.ordinary()
        world.policy.interfaces = [InterfacePolicy(match: "eth0", isRequired: true, isExpensive: true)]
        let view = try #require(look(world, "eth0"))
        #expect(view.index == 2)
        #expect(view.type == .wiredEthernet)
        #expect(view.kind == nil)
        #expect(view.isUp && view.hasCarrier && view.isUsable && view.isRequired && view.isExpensive)
        #expect(!view.isIgnored && !view.isConstrained)
        #expect(view.operationalState.word == "up")
        #expect(view.mtu == 1500)
        #expect(view.master == nil)
        #expect(view.unusableReason == nil)
        #expect(view.addresses.map(\.text) == ["192.0.2.10/24", "2001:db8::10/64", "fe80::10/64"])
        #expect(view.addresses.map(\.scopeName) == ["global", "global", "link"])
    }

    @Test func `a view of a port names its master and what is in its way`() throws {
        var world = World()
        world.link("br0", 3, kind: "bridge")
        world.link("eth0", 2) { $0.master = 3 }
        let view = try #require(look(world, "eth0"))
        #expect(view.master == "br0")
        #expect(view.unusableReason == .enslaved)
        #expect(view.isIgnored)
    }

    @Test(
        arguments: zip(
            OperationalState.allCases,
            [
                "unknown", "notpresent", "down", "lowerlayerdown", "testing", "dormant", "up",
            ]
        )
    )
    func `states have the words of ip-link`(state: OperationalState, word: String) {
        #expect(state.word == word)
    }

    @Test(
        arguments: [(0, "global"), (200, "site"), (253, "link"), (254, "host"), (255, "nowhere")] as [(UInt8, String)]
    )
    func `scopes have the words of ip-address`(scope: UInt8, word: String) {
        let address = World.address("192.0.2.1/24", index: 2, scope: scope)
        #expect(AddressView(HeldAddress(address, receivedAt: .zero)).scopeName == word)
    }

    // MARK: - Differences

    /// What the ledger tells after a change of the world.
    private func told(_ world: World, _ change: (inout World) -> Void) -> [String] {
        var world = world
        var interfaceTracker = InterfaceTracker()
        _ = interfaceTracker.updateAll(classifier: world.classifier)
        _ = world.state.dequeueTouched()
        change(&world)
        return words(interfaceTracker.update(world.state.dequeueTouched(), classifier: world.classifier))
    }

    @Test func `a carrier loss is told with the fields that changed`() {
        #expect(told(World.ordinary()) { $0.unplug("eth0") } == ["eth0: carrier operstate"])
    }

    @Test func `previous values come along`() throws {
        var world = World.ordinary()
        let before = try #require(look(world, "eth0"))
        world.change("eth0") { $0.mtu = 1400 }
        let after = try #require(look(world, "eth0"))
        let changes = SnapshotDiff.interface(from: before, to: after)
        #expect(changes == [.interfaceChanged(after, changed: [.mtu], previous: before)])
    }

    @Test func `each field is told by its name`() {
        let world = World.ordinary()
        #expect(told(world) { $0.change("eth0") { $0.name = "wan" } } == ["wan: name"])
        #expect(told(world) { $0.change("eth0") { $0.flags.remove(.up) } } == ["eth0: up"])
        #expect(
            told(world) { $0.change("eth0") { $0.hardwareAddress = [2, 0, 0, 0, 0, 1] } } == ["eth0: hardware_address"]
        )
        #expect(told(world) { $0.change("eth0") { $0.kind = "wwan" } } == ["eth0: type is_expensive"])
        let required = told(world) {
            $0.policy.interfaces = [InterfacePolicy(match: "eth0", isRequired: true, isConstrained: true)]
            $0.change("eth0") { $0.carrierChanges = 5 }
        }
        #expect(required == ["eth0: required is_constrained"])
    }

    @Test func `counters and flags without a meaning are not told`() {
        let changes = told(World.ordinary()) {
            $0.change("eth0") {
                $0.carrierChanges += 2
                $0.flags.insert(.multicast)
            }
        }
        #expect(changes.isEmpty)
    }

    @Test func `interfaces come with their addresses and go with them`() {
        let added = told(World()) {
            $0.link("eth0", 2)
            $0.add("192.0.2.1/24", on: "eth0")
        }
        #expect(added == ["+eth0", "eth0 +192.0.2.1/24"])
        #expect(
            told(World.ordinary()) { $0.delete("eth0") } == [
                "eth0 -192.0.2.10/24", "eth0 -2001:db8::10/64", "eth0 -fe80::10/64", "-eth0",
            ]
        )
    }

    @Test func `addresses are told one by one, lost ones first`() {
        let changes = told(World.ordinary()) {
            $0.remove("192.0.2.10/24", from: "eth0")
            $0.add("192.0.2.11/24", on: "eth0")
        }
        #expect(changes == ["eth0 -192.0.2.10/24", "eth0 +192.0.2.11/24"])
    }

    @Test func `refreshed lifetimes and finished checks are not told (S27)`() {
        let changes = told(World.ordinary()) {
            $0.add("2001:db8::10/64", on: "eth0", valid: 86400)
            $0.add("2001:db8::10/64", on: "eth0", flags: .deprecated, valid: 86400)
        }
        #expect(changes.isEmpty)
    }

    @Test func `a thousand container links tell nothing (S15)`() {
        let changes = told(World.ordinary()) { world in
            world.link("docker0", 5, kind: "bridge")
            for index in 100..<1100 {
                world.link("veth\(index)", index, kind: "veth")
                world.change("veth\(index)") { $0.master = 5 }
                world.delete("veth\(index)")
            }
        }
        #expect(changes.isEmpty)
    }

    @Test func `a veth that begins to carry is told as added`() {
        var world = World()
        world.link("eth0", 2, kind: "veth")
        world.add("192.0.2.1/24", on: "eth0")
        let changes = told(world) {
            _ = $0.memory.note(Path(interfaces: [PathInterface(name: "eth0", index: 2, type: .wiredEthernet)]))
            $0.change("eth0") { $0.carrierChanges += 1 }
        }
        #expect(changes == ["+eth0", "eth0 +192.0.2.1/24"])
    }

    @Test func `an interface that becomes a port is told once more`() {
        let changes = told(World.ordinary()) {
            $0.link("br0", 3, kind: "bridge")
            $0.change("eth0") { $0.master = 3 }
        }
        #expect(changes == ["eth0: master ignored"])
    }

    @Test func `whole snapshots differ as their interfaces do`() throws {
        let one = World.ordinary()
        var two = one
        two.link("eth1", 3)
        two.unplug("eth0")
        func views(_ world: World) -> [Int: InterfaceView] {
            world.state.links.mapValues { InterfaceView($0, classifier: world.classifier) }
        }
        #expect(
            words(SnapshotDiff.interfaces(from: views(one), to: views(two))) == ["eth0: carrier operstate", "+eth1"]
        )
        #expect(SnapshotDiff.interfaces(from: views(one), to: views(one)).isEmpty)
    }

    @Test func `the ledger and whole snapshots tell the same`() {
        for seed in UInt64(0)..<20 {
            var random = SeededRandom(seed: seed)
            var world = World.ordinary()
            var interfaceTracker = InterfaceTracker()
            _ = interfaceTracker.updateAll(classifier: world.classifier)
            _ = world.state.dequeueTouched()
            for _ in 0..<40 {
                let before = interfaceTracker.views
                let name = ["eth0", "eth1", "veth1"].randomElement(using: &random) ?? "eth0"
                switch Int.random(in: 0..<6, using: &random) {
                case 0:
                    world.link(name, name == "eth0" ? 2 : name == "eth1" ? 3 : 4, kind: name == "veth1" ? "veth" : nil)
                case 1: world.delete(name)
                case 2: world.unplug(name)
                case 3: world.add("10.0.0.\(Int.random(in: 1...3, using: &random))/24", on: name)
                case 4: world.flush(name)
                default: world.plug(name)
                }
                let told = interfaceTracker.update(world.state.dequeueTouched(), classifier: world.classifier)
                let after = world.state.links.mapValues { InterfaceView($0, classifier: world.classifier) }
                #expect(told == SnapshotDiff.interfaces(from: before, to: after))
                #expect(interfaceTracker.views.filter { world.state.links[$0.key] != nil } == after)
            }
        }
    }

    // MARK: - Gateways and name servers

    private func gateway(
        _ text: String,
        on interface: String = "eth0",
        family: AddressFamily = .ipv4,
        metric: UInt32 = 100,
        isReachable: Bool? = nil
    ) -> Gateway {
        Gateway(
            address: ScopedAddress(IPAddress(text) ?? .v4(0), scope: interface),
            interface: interface,
            family: family,
            metric: metric,
            isReachable: isReachable
        )
    }

    @Test func `gateways come, are replaced and go`() {
        let (one, two) = (gateway("192.0.2.1"), gateway("192.0.2.2"))
        #expect(words(SnapshotDiff.gateways(from: [], to: [one])) == ["none > 192.0.2.1"])
        #expect(words(SnapshotDiff.gateways(from: [one], to: [two])) == ["192.0.2.1 > 192.0.2.2"])
        #expect(words(SnapshotDiff.gateways(from: [two], to: [])) == ["192.0.2.2 > none"])
        #expect(SnapshotDiff.gateways(from: [one, two], to: [one, two]).isEmpty)
        #expect(words(SnapshotDiff.gateways(from: [one], to: [one, two])) == ["none > 192.0.2.2"])
    }

    @Test func `families are told apart, IPv4 first`() {
        let changes = SnapshotDiff.gateways(
            from: [gateway("192.0.2.1"), gateway("fe80::1", family: .ipv6)],
            to: [gateway("192.0.2.2"), gateway("fe80::2", family: .ipv6)]
        )
        #expect(words(changes) == ["192.0.2.1 > 192.0.2.2", "fe80::1%eth0 > fe80::2%eth0"])
    }

    @Test func `a router on another interface replaces the one of its family`() {
        let changes = SnapshotDiff.gateways(from: [gateway("192.0.2.1")], to: [gateway("10.0.0.1", on: "wwan0")])
        #expect(words(changes) == ["192.0.2.1 > 10.0.0.1"])
    }

    @Test func `another metric is a change`() {
        let changes = SnapshotDiff.gateways(from: [gateway("192.0.2.1")], to: [gateway("192.0.2.1", metric: 5)])
        #expect(words(changes) == ["192.0.2.1 > 192.0.2.1"])
    }

    @Test(
        arguments: [
            (nil, true, []), (nil, false, ["192.0.2.1 false"]), (true, false, ["192.0.2.1 false"]),
            (false, true, ["192.0.2.1 true"]), (true, nil, []), (false, nil, ["192.0.2.1 true"]), (true, true, []),
            (false, false, []),
        ] as [(Bool?, Bool?, [String])]
    )
    func `a router that stops or begins to answer is told (S52)`(before: Bool?, after: Bool?, expected: [String]) {
        let changes = SnapshotDiff.gateways(
            from: [gateway("192.0.2.1", isReachable: before)],
            to: [gateway("192.0.2.1", isReachable: after)]
        )
        #expect(words(changes) == expected)
    }

    @Test func `name servers are told when anything about them changes`() {
        let none = DNSState()
        let one = DNSState(servers: [DNSServer(ScopedAddress(.v4(1)))], isUsable: true)
        #expect(SnapshotDiff.dns(from: one, to: one).isEmpty)
        #expect(words(SnapshotDiff.dns(from: none, to: one)) == ["dns 0 > 1"])
        var unusable = one
        unusable.isUsable = false
        #expect(SnapshotDiff.dns(from: one, to: unusable) == [.dnsChanged(unusable, previous: one)])
    }
}
