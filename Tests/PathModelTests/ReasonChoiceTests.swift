// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Netlink
import PathModel
import Testing

/// Which of several faults is told (rule S22).
@Suite struct ReasonChoiceTests {
    private func told(_ world: World, _ monitor: MonitorPolicy = MonitorPolicy()) -> [String?] {
        let path = world.path(monitor)
        return [path.reason?.rawValue, path.subject?.interface]
    }

    private func addressed() -> World {
        var world = World()
        world.link("eth0", 2)
        world.add("192.0.2.10/24", on: "eth0")
        world.add("2001:db8::10/64", on: "eth0")
        return world
    }

    @Test func `a route that says no is told before one that is missing, whatever the family`() {
        var world = addressed()
        world.route("::/0", type: .prohibit)
        #expect(told(world) == ["route_prohibited", "eth0"])
        #expect(world.path().subject?.family == .ipv6)
        world.route("0.0.0.0/0", type: .blackhole)
        #expect(told(world) == ["route_blackhole", "eth0"])
        #expect(world.path().subject?.family == .ipv4)
    }

    @Test func `a dead route is told before a refusal, IPv4's before IPv6's`() {
        var world = addressed()
        world.link("eth1", 3)
        world.add("198.51.100.9/24", on: "eth1")
        world.route("::/0", "eth1", via: "fe80::1")
        world.unplug("eth1")
        world.route("0.0.0.0/0", type: .prohibit)
        #expect(told(world) == ["no_carrier", "eth1"])
        #expect(world.path().subject?.family == .ipv6)
        world.table.routes.removeLast()
        world.route("0.0.0.0/0", "eth0", via: "192.0.2.1") { $0.nexthops[0].flags = .dead }
        #expect(told(world) == ["no_carrier", "eth0"])
        #expect(world.path().subject?.family == .ipv4)
    }

    @Test func `an interface with an address that was switched off explains more than one without (S22)`() {
        var world = World()
        world.link("eth0", 2)
        world.setDown("eth0")
        world.link("br0", 3, kind: "bridge")
        world.add("192.0.2.10/24", on: "br0")
        world.setDown("br0")
        #expect(told(world) == ["link_down", "br0"])
    }

    @Test func `a default by loopback is no default`() {
        var world = addressed()
        world.route("0.0.0.0/0", "lo")
        #expect(told(world) == ["no_default_route", "lo"])
        #expect(world.path().subject?.family == .ipv4 && world.path().subject?.obstacle == .loopback)
    }

    @Test(
        arguments: [
            (.notPresent, .noCarrier), (.testing, .noCarrier), (.down, .noCarrier), (.lowerLayerDown, .noCarrier),
        ] as [(OperationalState, UnsatisfiedReason)]
    )
    func `the state of the only link is the reason`(state: OperationalState, reason: UnsatisfiedReason) {
        var world = addressed()
        world.change("eth0") { $0.operationalState = state }
        #expect(told(world) == [reason.rawValue, "eth0"])
        // With a route by it, too.
        world.route("0.0.0.0/0", "eth0", via: "192.0.2.1")
        #expect(told(world) == [reason.rawValue, "eth0"])
    }

    @Test func `a tunnel that is up explains what hardware does not, one that is off nothing`() {
        var world = World()
        world.link("tun0", 5, kind: "tun") { $0.carrier = false }
        #expect(told(world) == ["no_carrier", "tun0"])
        world.link("br0", 4, kind: "bridge") { $0.carrier = false }
        #expect(told(world) == ["no_carrier", "br0"])
        world.link("eth0", 3) { $0.flags = [] }
        #expect(told(world) == ["link_down", "eth0"])
        world.delete("eth0")
        world.delete("br0")
        world.change("tun0") { $0.flags = [] }
        #expect(told(world) == ["no_interface", nil])
        world.policy.interfaces = [InterfacePolicy(match: "tun0", isRequired: true)]
        #expect(told(world) == ["link_down", "tun0"])
    }

    @Test func `of equals the better type is named, then the lower index`() {
        var world = World()
        for (name, index) in [("wwan0", 2), ("wlan0", 3), ("eth1", 5), ("eth0", 9)] {
            world.link(name, index, kind: name == "wwan0" ? "wwan" : nil) { $0.carrier = false }
        }
        world.facts.wireless[3] = WirelessFacts(mode: 2)
        for expected in ["eth1", "eth0", "wlan0", "wwan0"] {
            #expect(told(world) == ["no_carrier", expected])
            world.delete(expected)
        }
    }

    // MARK: - Radios

    @Test(
        arguments: [
            (true, false, true, true, nil), (true, true, true, true, "rfkill_wifi"), (false, true, true, true, nil),
            (false, true, false, true, "rfkill_wwan"), (true, false, true, false, "rfkill_wifi"),
            (true, false, false, false, nil), (false, true, false, false, nil), (false, false, true, true, nil),
        ] as [(Bool, Bool, Bool, Bool, String?)]
    )
    func `a radio is the reason when no other radio could do`(
        wifiOff: Bool,
        wwanOff: Bool,
        hasWifi: Bool,
        hasWwan: Bool,
        reason: String?
    ) {
        var world = World()
        world.facts.radios = RadioFacts(
            isWifiBlocked: wifiOff,
            isWwanBlocked: wwanOff,
            hasWifi: hasWifi,
            hasWwan: hasWwan
        )
        #expect(told(world) == [reason ?? "no_interface", nil])
    }

    @Test func `a modem that is listed may still do what the blocked Wi-Fi cannot`() {
        var world = World()
        world.facts.radios = RadioFacts(isWifiBlocked: true, hasWifi: true)
        world.link("wwan0", 4, kind: "wwan") { $0.carrier = false }
        #expect(told(world) == ["no_carrier", "wwan0"])
        world.facts.radios.isWwanBlocked = true
        #expect(told(world) == ["rfkill_wifi", nil])
        #expect(told(world, MonitorPolicy(prohibitedTypes: [.wifi]))[0] != "rfkill_wifi")
    }

    // MARK: - On demand (S23)

    @Test func `a device that is not there yet counts for no view of an interface or of a type`() {
        var world = World()
        world.facts.devices[77] = DeviceFacts(phase: .activatable)
        #expect(world.path().status == .requiresConnection)
        #expect(world.path(MonitorPolicy(requiredType: .wifi)).status == .unsatisfied)
        world.link("eth0", 2) { $0.carrier = false }
        #expect(world.path(MonitorPolicy(outputInterface: "eth0")).status == .unsatisfied)
        world.facts.devices[2] = DeviceFacts(phase: .connecting)
        #expect(world.path(MonitorPolicy(outputInterface: "eth0")).status == .requiresConnection)
    }

    @Test func `a manager that connects something says nothing about one interface`() {
        var world = World()
        world.facts.isConnecting = true
        world.link("eth0", 2) { $0.carrier = false }
        #expect(world.path().status == .requiresConnection)
        #expect(world.path(MonitorPolicy(outputInterface: "eth0")).status == .unsatisfied)
        #expect(world.path(MonitorPolicy(prohibitedTypes: [.wifi])).status == .unsatisfied)
    }

    @Test func `configuring ends to the nanosecond, and says when to look (S23)`() {
        var world = World()
        world.now = .seconds(500)
        world.link("eth0", 2)
        let end = world.now + .seconds(30)
        #expect(world.path().reason == .configuring && world.evaluate().nextCheck == end)
        world.now = end - .nanoseconds(1)
        #expect(world.path().reason == .configuring)
        world.now = end
        #expect(world.path().reason == .noAddress && world.evaluate().nextCheck == nil)
        world.policy.configuringWindow = .seconds(31)
        #expect(world.path().reason == .configuring)
    }
}
