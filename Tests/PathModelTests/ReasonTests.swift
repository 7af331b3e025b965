// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Netlink
import PathModel
import Testing

/// Every reason of rule S22, and how one is chosen among several.
@Suite struct ReasonTests {
    /// A machine with `eth0` up and IPv4 only.
    private func plain() -> World {
        var world = World.ordinary()
        world.flush("eth0")
        world.removeRoutes("::/0")
        world.add("192.0.2.10/24", on: "eth0")
        return world
    }

    /// The reason, the interface it names and the sentence.
    private func told(_ world: World, _ monitor: MonitorPolicy = MonitorPolicy()) -> [String?] {
        let path = world.path(monitor)
        #expect(path.status == .unsatisfied)
        return [path.reason?.rawValue, path.subject?.interface]
    }

    @Test func `no_interface: only loopback (S22)`() {
        #expect(told(World()) == ["no_interface", nil])
    }

    @Test func `no_interface: idle tunnels of kernel modules and ports of bridges explain nothing (S22)`() {
        var world = World()
        world.link("tunl0", 2, kind: "ipip") { $0.flags = [] }
        world.link("sit0", 3, kind: "sit") { $0.flags = [.noARP] }
        world.link("ip6tnl0", 4) {
            $0.flags = []
            $0.hardwareType = 769
        }
        #expect(told(world) == ["no_interface", nil])
    }

    @Test func `no_interface: a deleted link leaves nothing (S22, lesson 11)`() {
        var world = plain()
        world.delete("eth0")
        #expect(told(world) == ["no_interface", nil])
    }

    @Test func `link_down: the administrator took it down (S22)`() {
        var world = plain()
        world.setDown("eth0")
        #expect(told(world) == ["link_down", "eth0"])
    }

    @Test func `no_carrier: the route stays with a dead leg (S22)`() {
        var world = plain()
        world.unplug("eth0")
        #expect(told(world) == ["no_carrier", "eth0"])
        world.table.routes = []
        #expect(told(world) == ["no_carrier", "eth0"])
    }

    @Test func `no_carrier: the kernel's flag alone suffices (S21)`() {
        var world = plain()
        world.table.routes[0].nexthops[0].flags = .linkDown
        #expect(told(world) == ["no_carrier", "eth0"])
        world.table.routes[0].nexthops[0].flags = .dead
        #expect(told(world) == ["no_carrier", "eth0"])
    }

    @Test func `dormant: 802.1X has not let it in, so that it has no address (S12, S22)`() {
        var world = plain()
        world.change("eth0") { $0.operationalState = .dormant }
        #expect(world.path().status == .satisfied)
        world.flush("eth0")
        #expect(told(world) == ["dormant", "eth0"])
        world.table.routes = []
        #expect(told(world) == ["dormant", "eth0"])
    }

    @Test func `no_address: the last address went, and the default with it (S22)`() {
        var world = plain()
        world.flush("eth0")
        world.table.routes = []
        #expect(told(world) == ["no_address", "eth0"])
    }

    @Test func `no_address: a link-local address does not count (S24)`() {
        var world = plain()
        world.flush("eth0")
        world.table.routes = []
        world.add("fe80::1/64", on: "eth0", scope: 253)
        #expect(told(world) == ["no_address", "eth0"])
    }

    @Test func `configuring: up for moments without an address, then no_address (S23)`() {
        var world = World()
        world.now = .seconds(1000)
        world.link("eth0", 2)
        #expect(told(world) == ["configuring", "eth0"])
        #expect(world.evaluate().nextCheck == .seconds(1030))
        world.now = .seconds(1029)
        #expect(told(world) == ["configuring", "eth0"])
        world.now = .seconds(1030)
        #expect(told(world) == ["no_address", "eth0"])
        #expect(world.evaluate().nextCheck == nil)
    }

    @Test func `configuring: an IPv6 route without a source, moments after the link came up (S23)`() {
        var world = World()
        world.link("eth0", 2)
        world.route("::/0", "eth0", via: "fe80::1")
        #expect(told(world) == ["configuring", "eth0"])
        world.now += .seconds(31)
        #expect(told(world) == ["no_source_address", "eth0"])
    }

    @Test func `configuring: an interface that lost its address is not configuring (S23)`() {
        var world = World()
        world.link("eth0", 2)
        world.add("192.0.2.10/24", on: "eth0")
        world.remove("192.0.2.10/24", from: "eth0")
        #expect(told(world) == ["no_address", "eth0"])
    }

    @Test func `dad_pending: a route, and an address still being checked (S26)`() {
        var world = World()
        world.link("eth0", 2)
        world.route("::/0", "eth0", via: "fe80::1")
        world.add("2001:db8::10/64", on: "eth0", flags: .tentative)
        #expect(told(world) == ["dad_pending", "eth0"])
        world.table.routes = []
        #expect(told(world) == ["dad_pending", "eth0"])
    }

    @Test func `no_default_route: an address, but nowhere to go (S22)`() {
        var world = plain()
        world.table.routes = []
        #expect(told(world) == ["no_default_route", "eth0"])
        #expect(world.path().subject?.family == nil)
    }

    @Test(arguments: [
        (RouteFailure.unreachable, "route_unreachable"), (.prohibited, "route_prohibited"),
        (.blackhole, "route_blackhole"),
        (.noRoute, "no_default_route"), (.other(1), "no_default_route"), (.familyUnsupported, "no_default_route"),
    ])
    func `a rule that refuses is told by its errno (S22)`(failure: RouteFailure, reason: String) {
        var world = plain()
        world.rule(10) { $0.failure = failure }
        #expect(told(world) == [reason, "eth0"])
        if failure.isExplicitForTests { #expect(world.path().subject?.family == .ipv4) }
    }

    @Test func `a missing route is told rather than a refusal of a family without addresses (S22)`() {
        var world = plain()
        world.table.routes = []
        world.route("::/0", type: .unreachable)
        #expect(told(world) == ["no_default_route", "eth0"])
    }

    @Test func `preferred_route_link_down: the kernel keeps sending into the dead link (S22)`() {
        var world = plain()
        world.link("wlan0", 3)
        world.facts.wireless[3] = WirelessFacts(mode: 2)
        world.add("198.51.100.7/24", on: "wlan0")
        world.route("0.0.0.0/0", "wlan0", via: "198.51.100.1", metric: 600)
        #expect(world.path().status == .satisfied)
        world.unplug("eth0")
        #expect(told(world) == ["preferred_route_link_down", "eth0"])
        #expect(world.path().subject?.alternative == "wlan0")
        #expect(world.path().subject?.family == .ipv4)
        #expect(world.path().names == ["wlan0"])
    }

    @Test func `no_source_address: a default without any address to send from (S24)`() {
        var world = plain()
        world.flush("eth0")
        #expect(told(world) == ["no_source_address", "eth0"])
        #expect(world.path().subject?.family == .ipv4)
    }

    @Test func `no_source_address: the kernel's source ::1 reads as no IPv6 (S24)`() {
        var world = World.ordinary()
        world.removeRoutes("0.0.0.0/0")
        world.flush("eth0")
        world.add("fe80::10/64", on: "eth0", scope: 253)
        #expect(told(world) == ["no_source_address", "eth0"])
        #expect(world.path().subject?.family == .ipv6)
    }

    @Test func `policy: a VPN is demanded and missing (S22)`() {
        var world = plain()
        world.policy.requiresVPN = true
        #expect(told(world) == ["policy", nil])
        #expect(world.path().subject?.requirement == "require_vpn")
        #expect(world.path().names == ["eth0"])
    }

    @Test func `policy: a monitor asks for what is not there (S22)`() {
        let world = plain()
        let monitor = MonitorPolicy(name: "wifi", requiredType: .wifi)
        #expect(told(world, monitor) == ["policy", nil])
        #expect(world.path(monitor).subject?.requirement == "required_type wifi")
    }

    @Test func `gateway_unreachable: only when the operator says that it counts (S52)`() {
        var world = plain()
        let key = NeighborKey(index: 2, address: .v4(0xC000_0201))
        _ = world.state.track(NeighborDependencies(gateways: [key]))
        _ = world.state.apply(
            .neighbor(Neighbor(index: 2, address: key.address, state: .failed), removed: false),
            at: world.now
        )
        #expect(world.path().status == .satisfied)
        #expect(world.path().warnings == [.gatewayUnresolved])
        world.policy.isGatewayStrict = true
        #expect(told(world) == ["gateway_unreachable", "eth0"])
        #expect(world.evaluate().neighbors.gateways == [key])
    }

    // MARK: - Radios

    @Test func `rfkill_wifi and rfkill_wwan: the radio is off and nothing else is there (S22)`() {
        var world = World()
        world.facts.radios = RadioFacts(isWifiBlocked: true, hasWifi: true)
        #expect(told(world) == ["rfkill_wifi", nil])
        world.facts.radios = RadioFacts(isWwanBlocked: true, hasWwan: true)
        #expect(told(world) == ["rfkill_wwan", nil])
        world.facts.radios = RadioFacts(isWifiBlocked: true, isWwanBlocked: true, hasWifi: true, hasWwan: true)
        #expect(told(world) == ["rfkill_wifi", nil])
    }

    @Test func `rfkill_wifi: also when the blocked interface is still listed (S22)`() {
        var world = World()
        world.link("wlan0", 3) { $0.flags = [] }
        world.facts.wireless[3] = WirelessFacts(mode: 2)
        world.facts.radios = RadioFacts(isWifiBlocked: true, hasWifi: true)
        #expect(told(world) == ["rfkill_wifi", nil])
    }

    @Test func `rfkill_wifi: the radio of the interface, where another one is not blocked (S22)`() {
        var world = World()
        world.link("wlan0", 3) { $0.flags = [] }
        world.facts.wireless[3] = WirelessFacts(mode: 2)
        world.facts.wireless[3]?.device = 7
        world.facts.radios = RadioFacts(hasWifi: true, blockedDevices: [8: false])
        #expect(told(world) == ["link_down", "wlan0"])
        world.facts.radios.blockedDevices = [7: false]
        #expect(told(world) == ["rfkill_wifi", nil])
    }

    @Test func `a radio that is off does not hide what is wrong with a cable (S22)`() {
        var world = plain()
        world.facts.radios = RadioFacts(isWifiBlocked: true, hasWifi: true)
        world.unplug("eth0")
        #expect(told(world) == ["no_carrier", "eth0"])
    }

    @Test(arguments: [(InterfaceType.wifi, "rfkill_wifi"), (.cellular, "rfkill_wwan")])
    func `a monitor hears of the radio of its own type (S22)`(type: InterfaceType, reason: String) {
        var world = World()
        world.facts.radios = RadioFacts(isWifiBlocked: true, isWwanBlocked: true, hasWifi: true, hasWwan: true)
        #expect(told(world, MonitorPolicy(requiredType: type)) == [reason, nil])
    }

    // MARK: - Choice among interfaces

    @Test func `the interface that got furthest tells why (S22)`() {
        var world = World()
        world.link("eth0", 2) { $0.flags = [] }
        #expect(told(world) == ["link_down", "eth0"])
        world.link("eth1", 3) { $0.carrier = false }
        #expect(told(world) == ["no_carrier", "eth1"])
        world.link("eth2", 4) { $0.operationalState = .dormant }
        #expect(told(world) == ["dormant", "eth2"])
        world.link("eth3", 5)
        #expect(told(world) == ["configuring", "eth3"])
        world.now += .seconds(60)
        #expect(told(world) == ["no_address", "eth3"])
        world.link("eth4", 6)
        world.add("2001:db8::4/64", on: "eth4", flags: .tentative)
        #expect(told(world) == ["dad_pending", "eth4"])
        world.link("eth5", 7)
        world.add("192.0.2.5/24", on: "eth5")
        #expect(told(world) == ["no_default_route", "eth5"])
    }

    @Test func `docker's bridge does not hide that the cable is out (lesson 9)`() {
        var world = plain()
        world.link("docker0", 10, kind: "bridge")
        world.add("172.17.0.1/16", on: "docker0")
        world.unplug("eth0")
        world.table.routes = []
        #expect(told(world) == ["no_carrier", "eth0"])
    }

    @Test func `an interface that carried before is named before one that never did (S22)`() {
        var world = World()
        world.link("eth0", 2) { $0.carrier = false }
        world.link("eth1", 3) { $0.flags = [] }
        _ = world.memory.note(Path(interfaces: [PathInterface(name: "eth1", index: 3, type: .wiredEthernet)]))
        #expect(told(world) == ["link_down", "eth1"])
    }

    @Test func `a dormant stranger does not hide that the known interface was taken down (S22)`() {
        var world = World()
        world.link("eth0", 2) { $0.flags = [] }
        world.link("wlan0", 3) { $0.operationalState = .dormant }
        #expect(told(world) == ["dormant", "wlan0"])
        _ = world.memory.note(Path(interfaces: [PathInterface(name: "eth0", index: 2, type: .wiredEthernet)]))
        #expect(told(world) == ["link_down", "eth0"])
    }

    @Test func `a required interface is named before others (S22)`() {
        var world = World()
        world.link("eth0", 2) { $0.carrier = false }
        world.link("eth1", 3) { $0.carrier = false }
        world.policy.interfaces = [InterfacePolicy(match: "eth1", isRequired: true)]
        #expect(told(world) == ["no_carrier", "eth1"])
    }

    @Test func `an ignored interface is never named (S15)`() {
        var world = World()
        world.link("eth0", 2)
        world.policy.ignore = ["eth*"]
        #expect(told(world) == ["no_interface", nil])
    }

    @Test func `a veth is named when there is nothing better, as in a container (S22)`() {
        var world = World()
        world.link("eth0", 2, kind: "veth") { $0.carrier = false }
        #expect(told(world) == ["no_carrier", "eth0"])
    }

    // MARK: - S23

    @Test(arguments: [DeviceFacts.Phase.connecting, .activatable])
    func `requiresConnection: a device can be brought up (S23)`(phase: DeviceFacts.Phase) {
        var world = World()
        world.link("eth0", 2)
        world.facts.devices[2] = DeviceFacts(phase: phase)
        let path = world.path()
        #expect(path.status == .requiresConnection)
        #expect(path.reason == .configuring)
    }

    @Test(arguments: [DeviceFacts.Phase.inactive, .disconnected, .connected])
    func `unsatisfied: a device that cannot be brought up changes nothing (S23)`(phase: DeviceFacts.Phase) {
        var world = World()
        world.link("eth0", 2)
        world.facts.devices[2] = DeviceFacts(phase: phase)
        #expect(world.path().status == .unsatisfied)
    }

    @Test func `requiresConnection: the manager is connecting, whatever it connects (S23)`() {
        var world = World()
        world.facts.isConnecting = true
        #expect(world.path().status == .requiresConnection)
        #expect(world.path(MonitorPolicy(requiredType: .wifi)).status == .unsatisfied)
        #expect(World.ordinary().path().status == .satisfied)
    }

    @Test func `requiresConnection: a monitor counts only devices of its own type (S23)`() {
        var world = World()
        world.link("wlan0", 3) { $0.carrier = false }
        world.facts.wireless[3] = WirelessFacts(mode: 2)
        world.facts.devices[3] = DeviceFacts(phase: .connecting)
        #expect(world.path(MonitorPolicy(requiredType: .wifi)).status == .requiresConnection)
        #expect(world.path(MonitorPolicy(requiredType: .wiredEthernet)).status == .unsatisfied)
    }

    @Test func `a connecting manager never makes a satisfied path worse (S51)`() {
        var world = World.ordinary()
        world.facts.isConnecting = true
        world.facts.devices[2] = DeviceFacts(phase: .connecting)
        #expect(world.path().status == .satisfied)
    }
}

extension RouteFailure {
    fileprivate var isExplicitForTests: Bool { [.unreachable, .prohibited, .blackhole].contains(self) }
}
