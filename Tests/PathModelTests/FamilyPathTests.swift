// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Netlink
import PathModel
import Testing

/// Sources, legs, gateways and ends of routes (rules S24 to S28, S31, S34).
@Suite struct FamilyPathTests {
    private func ipv6Only(_ address: String, flags: AddressFlags = []) -> World {
        var world = World()
        world.now = .seconds(100)
        world.link("eth0", 2)
        world.add("fe80::10/64", on: "eth0", scope: 253)
        world.add(address, on: "eth0", flags: flags)
        world.route("::/0", "eth0", via: "fe80::1")
        return world
    }

    // MARK: - S24 to S26 sources

    @Test(
        arguments: [
            ([], true, []),
            (.tentative, false, []),
            ([.tentative, .optimistic], true, []),
            ([.tentative, .duplicateDetected], false, []),
            (.deprecated, true, [.deprecatedSource]),
            (.temporary, true, []),
        ] as [(AddressFlags, Bool, [PathWarning])]
    )
    func `an IPv6 source counts by its flags (S24, S26)`(flags: AddressFlags, isUsable: Bool, warnings: [PathWarning]) {
        let path = ipv6Only("2001:db8::10/64", flags: flags).path()
        #expect((path.status == .satisfied) == isUsable)
        if isUsable { #expect(path.warnings == warnings) }
    }

    @Test func `a duplicate address is no pending one (S26)`() {
        let path = ipv6Only("2001:db8::10/64", flags: [.tentative, .duplicateDetected]).path()
        #expect(path.reason != .dadPending)
    }

    @Test func `a preferred address keeps a deprecated one from being told (S24)`() {
        var world = ipv6Only("2001:db8::10/64", flags: .deprecated)
        world.add("2001:db8::11/64", on: "eth0")
        #expect(world.path().ipv6?.source == IPAddress("2001:db8::11"))
        #expect(world.path().warnings.isEmpty)
    }

    @Test func `a unique local address alone is told (S25)`() {
        let path = ipv6Only("fd00:1::10/64").path()
        #expect(path.supportsIPv6)
        #expect(path.warnings == [.ulaOnly])
    }

    @Test func `an IPv4 link-local source counts when the table chose it (S24)`() {
        var world = World()
        world.link("eth0", 2)
        world.add("169.254.10.1/16", on: "eth0", scope: 253)
        world.route("0.0.0.0/0", "eth0")
        #expect(world.path().status == .satisfied)
        #expect(world.path().warnings == [.linkLocalSource])
    }

    @Test func `an unnumbered uplink borrows the address of another interface (S24)`() {
        var world = World()
        world.link("eth0", 2)
        world.link("lan0", 3)
        world.add("192.0.2.1/24", on: "lan0")
        world.route("0.0.0.0/0", "eth0")
        let path = world.path()
        #expect(path.status == .satisfied)
        #expect(path.names == ["eth0"])
        #expect(path.ipv4?.source == IPAddress("192.0.2.1"))
        #expect(path.warnings == [.borrowedSource])
    }

    @Test func `the route's own source is used (S24)`() {
        var world = World.ordinary()
        world.add("203.0.113.9/32", on: "lo")
        world.removeRoutes("0.0.0.0/0")
        world.route("0.0.0.0/0", "eth0", via: "192.0.2.1") { $0.source = IPAddress("203.0.113.9") }
        #expect(world.path().ipv4?.source == IPAddress("203.0.113.9"))
        #expect(world.path().warnings == [.borrowedSource])
    }

    @Test(arguments: ["fe80::10", "::1", "::", "ff02::1"])
    func `a link-local, loopback, missing or multicast source is no IPv6 (S24)`(source: String) {
        var world = ipv6Only("2001:db8::10/64")
        #expect(world.path().status == .satisfied)
        world.table.routes[0].source = IPAddress(source)
        #expect(!world.path().supportsIPv6)
        #expect(world.path().reason == .noSourceAddress)
    }

    @Test(arguments: ["127.0.0.1", "0.0.0.0", "224.0.0.1"])
    func `a loopback, missing or multicast source is no IPv4 (S24)`(source: String) {
        var world = World()
        world.link("eth0", 2)
        world.add("192.0.2.10/24", on: "eth0")
        world.route("0.0.0.0/0", "eth0", via: "192.0.2.1") { $0.source = IPAddress(source) }
        #expect(!world.path().supportsIPv4)
        #expect(world.path().reason == .noSourceAddress)
    }

    @Test func `an address that is being checked does not make a path satisfied (S26)`() {
        var world = ipv6Only("2001:db8::10/64", flags: .tentative)
        #expect(world.path().reason == .dadPending)
        world.add("2001:db8::10/64", on: "eth0")
        #expect(world.path().status == .satisfied)
    }

    // MARK: - S31 legs

    private func twoLegs() -> World {
        var world = World()
        world.link("eth0", 2)
        world.link("eth1", 3)
        world.add("192.0.2.10/24", on: "eth0")
        world.add("198.51.100.10/24", on: "eth1")
        world.multipath("0.0.0.0/0", [("eth0", "192.0.2.1"), ("eth1", "198.51.100.1")])
        return world
    }

    @Test func `all live legs are listed (S31)`() {
        let path = twoLegs().path()
        #expect(path.names == ["eth0", "eth1"])
        #expect(path.gatewayTexts == ["192.0.2.1", "198.51.100.1"])
        #expect(path.ipv4?.interfaces.map(\.name) == ["eth0", "eth1"])
        #expect(path.warnings.isEmpty)
    }

    @Test(arguments: ["eth0", "eth1"])
    func `a dead leg degrades the path but does not break it (S31)`(dead: String) {
        var world = twoLegs()
        world.unplug(dead)
        let path = world.path()
        #expect(path.status == .satisfied)
        #expect(path.names == ["eth0", "eth1"].filter { $0 != dead })
        #expect(path.gateways.count == 1)
        #expect(path.warnings == [.degraded])
    }

    @Test func `without any live leg there is no way out (S31)`() {
        var world = twoLegs()
        world.unplug("eth0")
        world.unplug("eth1")
        #expect(world.path().status == .unsatisfied)
        #expect(world.path().reason == .noCarrier)
        #expect(world.path().subject?.interface == "eth0")
    }

    @Test func `dead legs with another default beside them are the trap of rule S22`() {
        var world = twoLegs()
        world.link("wwan0", 4, kind: "wwan")
        world.add("10.0.0.2/30", on: "wwan0")
        world.route("0.0.0.0/0", "wwan0", metric: 700)
        world.unplug("eth0")
        world.unplug("eth1")
        #expect(world.path().reason == .preferredRouteLinkDown)
        #expect(world.path().subject?.alternative == "wwan0")
    }

    @Test func `two legs by one interface list it once, with both gateways (S31, S34)`() {
        var world = World.ordinary()
        world.table.routes = []
        world.multipath("0.0.0.0/0", [("eth0", "192.0.2.1"), ("eth0", "192.0.2.2")])
        #expect(world.path().names == ["eth0"])
        #expect(world.path().ipv4?.interfaces.count == 1)
        #expect(world.path().gatewayTexts == ["192.0.2.1", "192.0.2.2"])
    }

    @Test func `a nexthop object without legs in the entry is resolved by the decision (S31)`() {
        var world = World()
        world.link("eth0", 2)
        world.add("192.0.2.10/24", on: "eth0")
        world.route("0.0.0.0/0", "eth0", via: "192.0.2.1") {
            $0.hidesLegs = true
            $0.nexthopID = 7
        }
        let evaluation = world.evaluate()
        #expect(evaluation.path.status == .satisfied)
        #expect(evaluation.path.gatewayTexts == ["192.0.2.1"])
        #expect(world.table.log.queries.count { $0.kind == .decision } == 1)
        world.table.routes[0].nexthops = []
        #expect(world.path().reason == .noDefaultRoute)
    }

    @Test func `a leg on an interface that is already gone is dead`() {
        var world = World.ordinary()
        world.table.routes[0].nexthops[0].index = 99
        world.removeRoutes("::/0")
        #expect(world.path().status == .unsatisfied)
        #expect(world.path().reason == .noCarrier)
    }

    // MARK: - S34 gateways

    @Test func `IPv4 packets may be handed to an IPv6 router (S34)`() {
        var world = World()
        world.link("eth0", 2)
        world.add("192.0.2.10/32", on: "eth0")
        world.route("0.0.0.0/0", "eth0", via: "fe80::1", metric: 100)
        let gateway = world.path().gateways.first
        #expect(gateway?.family == .ipv4)
        #expect(gateway?.address.description == "fe80::1%eth0")
        #expect(gateway?.metric == 100)
    }

    @Test func `a default on the link has no gateway and is satisfied (S34)`() {
        var world = World()
        world.link("ppp0", 2) {
            $0.hardwareType = 512
            $0.operationalState = .unknown
        }
        world.add("10.0.0.2/32", on: "ppp0")
        world.route("0.0.0.0/0", "ppp0")
        #expect(world.path().status == .satisfied)
        #expect(world.path().gateways.isEmpty)
        #expect(world.path().ipv4?.interfaces.map(\.name) == ["ppp0"])
    }

    @Test func `a global IPv6 router has no scope (S34)`() {
        var world = ipv6Only("2001:db8::10/64")
        world.table.routes[0].nexthops[0].gateway = IPAddress("2001:db8::1")
        #expect(world.path().gatewayTexts == ["2001:db8::1"])
    }

    // MARK: - S28 ends

    @Test func `nothing runs out on a machine with permanent addresses (S28)`() {
        let evaluation = World.ordinary().evaluate()
        #expect(evaluation.expiries.isEmpty)
        #expect(evaluation.nextCheck == nil)
    }

    @Test func `the end of a router's promise and of the source address are known (S28)`() {
        var world = World()
        world.now = .seconds(100)
        world.link("eth0", 2)
        world.add("2001:db8::10/64", on: "eth0", valid: 60)
        world.route("::/0", "eth0", via: "fe80::1") { $0.expiresIn = 3 }
        let evaluation = world.evaluate()
        #expect(
            evaluation.expiries == [
                Expiry(subject: .route(.ipv6, index: 2), at: .seconds(103)),
                Expiry(subject: .address(.v6(0x2001_0DB8_0000_0000_0000_0000_0000_0010), index: 2), at: .seconds(160)),
            ]
        )
        #expect(evaluation.nextCheck == .seconds(103))
    }

    @Test func `lifetimes count from when the kernel told them (S28)`() {
        var world = World()
        world.now = .seconds(100)
        world.link("eth0", 2)
        world.add("192.0.2.10/24", on: "eth0", valid: 60)
        world.route("0.0.0.0/0", "eth0", via: "192.0.2.1")
        world.now = .seconds(130)
        #expect(world.evaluate().nextCheck == .seconds(160))
    }

    @Test func `the end of an address that is no source does not matter (S28)`() {
        var world = World.ordinary()
        world.add("2001:db8::99/64", on: "eth0", valid: 5)
        #expect(world.evaluate().expiries.isEmpty)
    }

    @Test func `lifetimes are not part of a path (S27)`() {
        var world = World.ordinary()
        let before = world.path()
        world.flush("eth0")
        world.add("192.0.2.10/24", on: "eth0", valid: 4000)
        world.add("2001:db8::10/64", on: "eth0", valid: 5000)
        #expect(world.path() == before)
        #expect(world.path().pathId == before.pathId)
    }
}
