// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Netlink
import PathModel
import Testing

/// An aggregate works as well as the ports that it sends through (rule S15).
@Suite struct AggregateTests {
    /// `x0` of a kind over the ports `e0` and `e1`, with the default route.
    private func aggregate(_ kind: String, _ body: (inout Link) -> Void = { _ in }) -> World {
        var world = World()
        world.link("x0", 2, kind: kind, body)
        for (name, index) in [("e0", 3), ("e1", 4)] {
            world.link(name, index) {
                $0.master = kind == "hsr" ? nil : 2
                $0.portKind = kind == "hsr" ? nil : kind
            }
        }
        world.add("192.0.2.10/24", on: "x0")
        world.route("0.0.0.0/0", "x0", via: "192.0.2.1")
        return world
    }

    private func bond(mode: UInt8 = 1, isMonitored: Bool = false) -> World {
        aggregate("bond") {
            $0.bond = Bond(mode: mode, activePort: mode == 1 ? 3 : nil, isMonitored: isMonitored)
        }
    }

    private func clause(_ path: Path) -> String? { path.reason.map { ReasonText($0, path.subject).clause } }

    // MARK: - Bonds

    @Test(arguments: [UInt8(0), 2, 3]) func `a bond without link monitoring is dead when all its ports are`(mode: UInt8)
    {
        var world = bond(mode: mode)
        world.unplug("e0")
        #expect(world.path().status == .satisfied && world.path().warnings == [.redundancyLost])
        world.unplug("e1")
        let path = world.path()
        #expect(path.reason == .noCarrier && path.subject?.interface == "e0")
        #expect(clause(path) == "x0 runs over e0, which has no carrier")
        world.plug("e1")
        #expect(world.path().status == .satisfied)
    }

    @Test func `without link monitoring the active port alone counts`() {
        var world = bond()
        world.unplug("e1")
        #expect(world.path().status == .satisfied && world.path().warnings == [.redundancyLost])
        world.plug("e1")
        world.change("e0") { $0.flags.remove(.up) }
        #expect(world.path().reason == .linkDown && world.path().subject?.interface == "e0")
        world.change("x0") { $0.bond?.activePort = 4 }
        #expect(world.path().status == .satisfied)
    }

    @Test func `a bond that monitors its ports is trusted until it says otherwise`() {
        var world = bond(isMonitored: true)
        // The carrier is gone, and the bond has not looked yet.
        world.unplug("e0")
        #expect(world.path().status == .satisfied)
        // It looked, and a downdelay keeps it with the port.
        world.change("e0") { $0.isBondPortUp = false }
        #expect(world.path().reason == .noCarrier && world.path().subject?.interface == "e0")
        world.change("x0") { $0.bond?.activePort = 4 }
        #expect(world.path().status == .satisfied && world.path().warnings == [.redundancyLost])
    }

    @Test func `a bond that holds no port for active sends nothing, whatever their carriers say`() {
        var world = bond(isMonitored: true)
        world.change("x0") { $0.bond?.activePort = nil }
        #expect(world.path().reason == .noCarrier && clause(world.path()) == "x0 has no active port")
    }

    @Test func `a VLAN on a bond goes with it, whatever its own carrier says`() {
        var world = bond(mode: 0)
        world.link("x0.7", 9, kind: "vlan") { $0.lower = 2 }
        world.add("198.51.100.10/24", on: "x0.7")
        world.removeRoutes("0.0.0.0/0")
        world.route("0.0.0.0/0", "x0.7", via: "198.51.100.1")
        #expect(world.path().status == .satisfied)
        world.unplug("e0")
        #expect(world.path().warnings == [.redundancyLost])
        world.unplug("e1")
        #expect(world.path().reason == .noCarrier && world.path().subject?.interface == "e0")
    }

    @Test func `the type is that of the active port`() {
        var world = bond()
        world.facts.wireless[3] = WirelessFacts(mode: 2)
        #expect(world.classifier.type(of: 2) == .wifi)
        world.change("x0") { $0.bond?.activePort = 4 }
        #expect(world.classifier.type(of: 2) == .wiredEthernet)
    }

    // MARK: - Other kinds

    @Test(arguments: ["team", "batadv", "hsr"]) func `all ports of a kind that keeps its carrier`(kind: String) {
        var world = aggregate(kind) { if kind == "hsr" { $0.hsrPorts = [3, 4] } }
        #expect(world.path().status == .satisfied)
        #expect(world.classifier.type(of: 2) == .wiredEthernet)
        world.unplug("e0")
        #expect(world.path().status == .satisfied)
        world.unplug("e1")
        #expect(world.path().reason == .noCarrier && world.path().subject?.interface == "e0")
    }

    @Test func `a mesh without a port is not connected to anything`() {
        var world = aggregate("batadv")
        for name in ["e0", "e1"] { world.change(name) { $0.master = nil } }
        #expect(world.path().reason == .noCarrier && clause(world.path()) == "x0 has no ports")
    }

    // MARK: - Redundancy

    @Test func `what is told when a port fails and returns`() {
        var world = bond(mode: 0)
        var interfaceTracker = InterfaceTracker()
        _ = interfaceTracker.updateAll(classifier: world.classifier)
        func changes() -> [Bool] {
            let changed = interfaceTracker.update(world.state.dequeueTouched(), classifier: world.classifier)
            return changed.compactMap { if case .redundancyChanged(_, let isLost) = $0 { isLost } else { nil } }
        }
        #expect(interfaceTracker.views[2]?.ports == PortCount(working: 2, total: 2, failed: []))
        world.unplug("e1")
        #expect(changes() == [true])
        #expect(interfaceTracker.views[2]?.ports == PortCount(working: 1, total: 2, failed: ["e1"]))
        world.unplug("e0")
        #expect(changes() == [true])
        world.plug("e0")
        #expect(changes() == [])
        world.plug("e1")
        #expect(changes() == [false])
        // A port that is taken out has not failed.
        world.change("e1") { $0.master = nil }
        #expect(changes() == [] && interfaceTracker.views[2]?.ports?.total == 1)
    }

    // MARK: - Bridges

    private func bridge(_ guest: String = "tun") -> World {
        var world = World()
        world.link("br0", 2, kind: "bridge")
        world.link("e0", 3) {
            $0.master = 2
            $0.bridgePortState = .forwarding
        }
        world.link("g0", 4, kind: guest) {
            $0.master = 2
            $0.bridgePortState = .forwarding
        }
        world.add("192.0.2.10/24", on: "br0")
        world.route("0.0.0.0/0", "br0", via: "192.0.2.1")
        return world
    }

    @Test(arguments: [BridgePortState.disabled, .listening, .learning])
    func `the port behind which the router was last seen has to forward`(state: BridgePortState) throws {
        var world = bridge("veth")
        let router = try #require(world.evaluate().neighbors.gateways.first)
        _ = world.state.track(NeighborDependencies(gateways: [router]))
        var entry = Neighbor(index: 2, address: router.address, state: .reachable, hardwareAddress: [2, 0, 0, 0, 0, 9])
        entry.port = 3
        _ = world.state.note(entry, of: router)
        #expect(world.path().status == .satisfied)
        world.change("e0") { $0.bridgePortState = state }
        let path = world.path()
        #expect(path.reason == .portNotForwarding && path.subject?.interface == "e0")
        #expect(clause(path) == "br0 runs over e0, whose spanning tree state is \(state)")
        world.change("e0") { $0.bridgePortState = .forwarding }
        #expect(world.path().status == .satisfied)
    }

    /// What the kernel knows of the router.
    private func note(_ state: NeighborState, in world: inout World) {
        let router = NeighborKey(index: 2, address: .v4(0xC000_0201))
        _ = world.state.track(NeighborDependencies(gateways: [router], rivals: [router]))
        _ = world.state.apply(
            .neighbor(Neighbor(index: 2, address: router.address, state: state), removed: false),
            at: world.now
        )
    }

    @Test(arguments: [NeighborState.incomplete, .failed])
    func `where a silent router's port is not known hardware is taken for the uplink`(neighbor: NeighborState) {
        var world = bridge()
        world.change("e0") { $0.bridgePortState = .learning }
        // Nobody has looked for it, and the state of its entry decides.
        #expect(world.path().status == .satisfied && world.evaluate().neighbors.rivals.count == 1)
        note(neighbor, in: &world)
        #expect(world.path().reason == .portNotForwarding && world.path().subject?.interface == "e0")
        for known in [NeighborState.stale, .reachable, .permanent] {
            note(known, in: &world)
            #expect(world.path().status == .satisfied)
        }
    }

    @Test func `a guest that waits beside an uplink that forwards is none`() {
        var world = bridge()
        world.change("g0") { $0.bridgePortState = .learning }
        note(.failed, in: &world)
        #expect(world.path().status == .satisfied)
    }

    @Test func `of two ports alike the one that waits counts only when the router is silent for good`() {
        var world = bridge("veth")
        world.change("e0") {
            $0.kind = "veth"
            $0.bridgePortState = .listening
        }
        note(.incomplete, in: &world)
        #expect(world.path().status == .satisfied)
        note(.failed, in: &world)
        #expect(world.path().reason == .portNotForwarding && world.path().subject?.interface == "e0")
        world.change("e0") { $0.bridgePortState = .blocking }
        #expect(world.path().status == .satisfied)
    }

    @Test func `where each VLAN has a tree the state of the port says nothing`() {
        var world = bridge()
        world.change("e0") { $0.bridgePortState = .learning }
        world.change("br0") { $0.hasMST = true }
        note(.failed, in: &world)
        #expect(world.path().status == .satisfied)
    }

    @Test func `VLANs on VLANs and what is shown of them go with the bond`() {
        var world = bond(mode: 0)
        world.link("x0.7", 9, kind: "vlan") { $0.lower = 2 }
        world.link("x0.7.9", 10, kind: "vlan") { $0.lower = 9 }
        world.add("198.51.100.10/24", on: "x0.7.9")
        world.removeRoutes("0.0.0.0/0")
        world.route("0.0.0.0/0", "x0.7.9", via: "198.51.100.1")
        var interfaceTracker = InterfaceTracker()
        _ = interfaceTracker.updateAll(classifier: world.classifier)
        _ = world.state.dequeueTouched()
        world.unplug("e0")
        world.unplug("e1")
        #expect(world.path().reason == .noCarrier && world.path().subject?.interface == "e0")
        _ = interfaceTracker.update(world.state.dequeueTouched(), classifier: world.classifier)
        #expect(interfaceTracker.views[10]?.unusableReason == .lowerLayerDown)
    }

    @Test func `a port outside of the aggregator in use is no redundancy`() {
        var world = bond(mode: 4, isMonitored: true)
        world.change("x0") { $0.bond?.aggregator = 1 }
        world.change("e0") { $0.bondAggregator = 1 }
        world.change("e1") { $0.bondAggregator = 2 }
        #expect(world.path().status == .satisfied && world.path().warnings == [.redundancyLost])
        world.change("e1") { $0.bondAggregator = 1 }
        #expect(world.path().warnings == [])
    }

    // MARK: - Teams

    @Test func `a team sends as its daemon has set it`() {
        var world = aggregate("team")
        world.facts.teams[2] = TeamFacts(activePort: 3)
        world.unplug("e0")
        // Its daemon is about to change to the other port.
        #expect(world.path().status == .satisfied && world.path().warnings == [.redundancyLost])
        world.facts.teams[2] = TeamFacts(activePort: 3, isStuck: true)
        #expect(world.path().reason == .noCarrier && world.path().subject?.interface == "e0")
        world.facts.teams[2] = TeamFacts(activePort: 4)
        #expect(world.path().status == .satisfied)
        world.facts.teams[2] = TeamFacts(hasMode: false)
        #expect(clause(world.path()) == "the team x0 has no mode, so that it drops all packets")
    }
}
