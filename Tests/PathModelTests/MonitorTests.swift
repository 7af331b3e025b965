// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Netlink
import PathModel
import Testing

/// Named monitors: types as in Apple's API, and views by mark, user and interface (rules S29, S30).
@Suite struct MonitorTests {
    /// Ethernet preferred, Wi-Fi behind it, both families on Wi-Fi.
    private func laptop() -> World {
        var world = World.ordinary()
        world.link("wlan0", 3)
        world.facts.wireless[3] = WirelessFacts(mode: 2)
        world.add("198.51.100.7/24", on: "wlan0")
        world.add("2001:db8:1::7/64", on: "wlan0")
        world.route("0.0.0.0/0", "wlan0", via: "198.51.100.1", metric: 600)
        world.route("::/0", "wlan0", via: "fe80::2", metric: 2000)
        return world
    }

    @Test func `a required type is about that type only`() {
        let path = laptop().path(MonitorPolicy(name: "wifi", requiredType: .wifi))
        #expect(path.status == .satisfied)
        #expect(path.names == ["wlan0"])
        #expect(path.gatewayTexts == ["198.51.100.1", "fe80::2%wlan0"])
        #expect(path.ipv4?.source == IPAddress("198.51.100.7"))
        #expect(path.ipv6?.source == IPAddress("2001:db8:1::7"))
    }

    @Test func `a required type that unbound packets use needs no further question`() {
        let world = laptop()
        let path = world.path(MonitorPolicy(requiredType: .wiredEthernet))
        #expect(path.names == ["eth0"])
        #expect(
            path
                == {
                    var path = world.path()
                    path.interfaces = path.interfaces.filter { $0.type == .wiredEthernet }
                    return path
                }()
        )
    }

    @Test func `prohibited types are taken out of list and evaluation`() {
        let path = laptop().path(MonitorPolicy(prohibitedTypes: [.wiredEthernet]))
        #expect(path.names == ["wlan0"])
        #expect(path.status == .satisfied)
        let neither = laptop().path(MonitorPolicy(prohibitedTypes: [.wiredEthernet, .wifi]))
        #expect(neither.status == .unsatisfied)
        #expect(neither.reason == .policy)
        #expect(neither.names.isEmpty)
    }

    @Test func `a monitor's interface tells its own reason`() {
        var world = laptop()
        world.unplug("wlan0")
        let path = world.path(MonitorPolicy(requiredType: .wifi))
        #expect(path.reason == .noCarrier)
        #expect(path.subject?.interface == "wlan0")
    }

    @Test func `a monitor of Wi-Fi is not caught by a dead cable`() {
        var world = laptop()
        world.unplug("eth0")
        #expect(world.path().reason == .preferredRouteLinkDown)
        #expect(world.path(MonitorPolicy(requiredType: .wifi)).status == .satisfied)
    }

    @Test func `a monitor may use one family of its type only`() {
        var world = laptop()
        world.removeRoutes("::/0")
        let path = world.path(MonitorPolicy(requiredType: .wifi))
        #expect(path.supportsIPv4)
        #expect(!path.supportsIPv6)
    }

    @Test func `legs of other types do not count`() {
        var world = World()
        world.link("eth0", 2)
        world.link("wwan0", 3, kind: "wwan")
        world.add("192.0.2.10/24", on: "eth0")
        world.add("10.0.0.2/24", on: "wwan0")
        world.multipath("0.0.0.0/0", [("eth0", "192.0.2.1"), ("wwan0", "10.0.0.1")])
        let path = world.path(MonitorPolicy(requiredType: .cellular))
        #expect(path.names == ["wwan0"])
        #expect(path.gatewayTexts == ["10.0.0.1"])
        #expect(path.isExpensive)
    }

    // MARK: - S29

    @Test func `a mark changes the answer (S29)`() {
        var world = laptop()
        world.route("0.0.0.0/0", "wlan0", via: "198.51.100.1", table: 77)
        world.rule(100, table: 77) { $0.mark = 7 }
        #expect(world.path().names.first == "eth0")
        let path = world.path(MonitorPolicy(name: "marked", mark: 7))
        #expect(path.ipv4?.interfaces.map(\.name) == ["wlan0"])
    }

    @Test(arguments: [(UInt32(1000), true), (1001, false)])
    func `a user changes the answer (S29)`(uid: UInt32, isProhibited: Bool) {
        var world = laptop()
        world.rule(50) {
            $0.uids = 1000...1000
            $0.failure = .prohibited
        }
        let path = world.path(MonitorPolicy(name: "user", uid: uid))
        #expect((path.reason == .routeProhibited) == isProhibited)
        #expect(world.table.log.leaving(world).allSatisfy { $0.uid == uid })
    }

    @Test func `a table without a rule is not seen, with one it is (S29)`() {
        var world = World()
        world.link("eth0", 2)
        world.add("192.0.2.10/24", on: "eth0")
        world.route("0.0.0.0/0", "eth0", via: "192.0.2.1", table: 201)
        #expect(world.path().reason == .noDefaultRoute)
        world.rule(1000, table: 201)
        #expect(world.path().status == .satisfied)
    }

    @Test func `a view bound to an interface sees that one alone (S29)`() {
        var world = laptop()
        let monitor = MonitorPolicy(name: "bound", outputInterface: "wlan0")
        #expect(world.path(monitor).names == ["wlan0"])
        #expect(world.path(monitor).gatewayTexts.first == "198.51.100.1")
        world.unplug("wlan0")
        #expect(world.path(monitor).reason == .noCarrier)
        #expect(world.path(monitor).subject?.interface == "wlan0")
    }

    @Test func `a view bound to a missing interface says so (S29)`() {
        let world = laptop()
        let path = world.path(MonitorPolicy(name: "bound", outputInterface: "eth7"))
        #expect(path.reason == .noInterface)
        #expect(path.subject?.interface == "eth7")
        #expect(world.table.log.queries.isEmpty)
    }

    // MARK: - S30

    private func vrf() -> World {
        var world = World.ordinary()
        world.link("red", 20, kind: "vrf") { $0.flags.insert(.noARP) }
        world.link("eth5", 5) {
            $0.master = 20
            $0.portKind = "vrf"
        }
        world.add("10.5.0.2/24", on: "eth5")
        world.route("0.0.0.0/0", "eth5", via: "10.5.0.1", table: 100)
        world.rule(10, table: 100) { $0.outputInterface = 20 }
        world.rule(11, table: 100) { $0.outputInterface = 5 }
        return world
    }

    @Test func `the default view does not see into a VRF (S30)`() {
        #expect(vrf().path().names == ["eth0"])
    }

    @Test func `a view of a VRF sees its ports alone (S30)`() {
        let path = vrf().path(MonitorPolicy(name: "red", outputInterface: "red"))
        #expect(path.status == .satisfied)
        #expect(path.names == ["eth5"])
        #expect(path.gatewayTexts == ["10.5.0.1"])
    }

    @Test func `a port of a VRF is no slave (S15, S30)`() throws {
        let world = vrf()
        let port = try #require(world.state.link(named: "eth5"))
        #expect(!world.classifier.isEnslaved(port))
        #expect(world.classifier.isEligible(port))
        #expect(world.classifier.vrf(of: port)?.name == "red")
    }
}
