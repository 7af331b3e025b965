// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Netlink
import PathModel
import Testing

@Suite struct PathEvaluatorTests {
    @Test func `an ordinary machine is satisfied by both families (S21, S25, S34)`() {
        let path = World.ordinary().path()
        #expect(path.status == .satisfied)
        #expect(path.reason == nil)
        #expect(path.names == ["eth0"])
        #expect(path.interfaces.first?.type == .wiredEthernet)
        #expect(path.ipv4?.source == IPAddress("192.0.2.10"))
        #expect(path.ipv6?.source == IPAddress("2001:db8::10"))
        #expect(path.gatewayTexts == ["192.0.2.1", "fe80::1%eth0"])
        #expect(path.warnings.isEmpty)
        #expect(path.underlyingTypes.isEmpty)
    }

    @Test func `an ordinary machine costs six lookups, and two for its name server`() {
        var world = World.ordinary()
        world.facts.dns = DNSConfiguration(servers: [DNSServer(ScopedAddress(.v4(0x0808_0808)))])
        let evaluation = world.evaluate()
        #expect(evaluation.lookups == 8)
        #expect(world.table.log.queries.count == 8)
    }

    @Test func `a family without an address is asked about only where the other one is not open (S24)`() {
        var world = World()
        world.link("eth0", 2)
        world.add("192.0.2.10/24", on: "eth0")
        world.add("fe80::10/64", on: "eth0", scope: 253)
        world.route("0.0.0.0/0", "eth0", via: "192.0.2.1")
        world.route("::/0", "eth0", via: "fe80::1")
        func asked() -> Set<AddressFamily> {
            let (before, evaluation) = (world.table.log.queries.count, world.evaluate())
            #expect(evaluation.path.ipv6 == nil)
            return Set(world.table.log.queries[before...].map(\.destination.family))
        }
        #expect(asked() == [.ipv4])
        world.add("2001:db8::10/64", on: "eth0", flags: .tentative)
        #expect(asked() == [.ipv4, .ipv6])
        world.remove("2001:db8::10/64", from: "eth0")
        #expect(asked() == [.ipv4])
        world.removeRoutes("0.0.0.0/0")
        #expect(asked() == [.ipv4, .ipv6])
    }

    @Test func `a machine without anything but loopback has no interface (S22)`() {
        let path = World().path()
        #expect(path.status == .unsatisfied)
        #expect(path.reason == .noInterface)
        #expect(path.interfaces.isEmpty)
        #expect(path.ipv4 == nil && path.ipv6 == nil)
    }

    @Test func `one family is enough (S21)`() {
        var world = World.ordinary()
        world.removeRoutes("0.0.0.0/0")
        let path = world.path()
        #expect(path.status == .satisfied)
        #expect(!path.supportsIPv4)
        #expect(path.supportsIPv6)
        #expect(path.gatewayTexts == ["fe80::1%eth0"])
    }

    @Test func `a kernel without IPv6 is no error (S50)`() {
        var world = World.ordinary()
        world.table.refusals[.ipv6] = .familyUnsupported
        let path = world.path()
        #expect(path.status == .satisfied)
        #expect(path.supportsIPv4)
        #expect(!path.supportsIPv6)
    }

    // MARK: - S20 probes

    @Test func `a host route to the first probe does not mislead (S20)`() {
        var world = World.ordinary()
        world.link("eth1", 3)
        world.add("198.51.100.5/24", on: "eth1")
        world.route("1.1.1.1/32", "eth1", via: "198.51.100.1")
        let path = world.path()
        #expect(path.names == ["eth0"])
        #expect(path.gatewayTexts.first == "192.0.2.1")
    }

    @Test func `host routes to some probes alone are no way out (S20)`() {
        var world = World()
        world.link("eth0", 2)
        world.add("192.0.2.10/24", on: "eth0")
        world.route("1.1.1.1/32", "eth0", via: "192.0.2.1")
        let path = world.path()
        #expect(path.status == .unsatisfied)
        #expect(path.reason == .noDefaultRoute)
        #expect(path.interfaces.isEmpty)
    }

    @Test func `an unreachable route to the first probe alone is not the Internet's (S20)`() {
        var world = World.ordinary()
        world.route("1.1.1.1/32", type: .unreachable)
        #expect(world.path().status == .satisfied)
        #expect(world.path().gatewayTexts.first == "192.0.2.1")
    }

    @Test(arguments: [("0.0.0.0/1", "128.0.0.0/1"), ("0.0.0.0/2", "64.0.0.0/2")])
    func `halves of the address space count as a default (S20)`(low: String, high: String) {
        var world = World()
        world.link("tun0", 3, kind: "tun")
        world.add("10.8.0.2/24", on: "tun0")
        world.route(low, "tun0", via: "10.8.0.1")
        world.route(high, "tun0", via: "10.8.0.1")
        world.route("128.0.0.0/1", "tun0", via: "10.8.0.1")
        let path = world.path()
        #expect(path.status == .satisfied)
        #expect(path.names == ["tun0"])
    }

    @Test func `a refusal for half of the Internet is told by the majority (S20)`() {
        var world = World.ordinary()
        world.removeRoutes("::/0")
        world.route("0.0.0.0/1", type: .unreachable)
        #expect(world.path().reason == .routeUnreachable)
    }

    @Test(arguments: [(4, true), (3, true), (2, false), (1, false)])
    func `a router with a full table needs most probes to match (S20)`(matching: Int, isSatisfied: Bool) {
        var world = World()
        world.link("eth0", 2)
        world.add("192.0.2.10/24", on: "eth0")
        let prefixes = ["1.1.1.0/24", "8.8.8.0/24", "9.9.9.0/24", "208.67.222.0/24"]
        for prefix in prefixes.prefix(matching) { world.route(prefix, "eth0", via: "192.0.2.1") }
        #expect((world.path().status == .satisfied) == isSatisfied)
        if isSatisfied { #expect(world.path().names == ["eth0"]) }
    }

    @Test func `a router with a full table over two uplinks lists both (S16, S20)`() {
        var world = World()
        world.link("eth0", 2)
        world.link("eth1", 3)
        world.add("192.0.2.10/24", on: "eth0")
        world.add("198.51.100.10/24", on: "eth1")
        for prefix in ["1.1.1.0/24", "8.8.8.0/24", "9.9.9.0/24", "208.67.222.0/24"] {
            world.route(prefix, "eth0", via: "192.0.2.1", metric: 10)
            world.route(prefix, "eth1", via: "198.51.100.1", metric: 20)
        }
        #expect(world.path().names == ["eth0", "eth1"])
    }

    @Test func `one probe that is routed elsewhere and one that is local are outvoted (S20)`() {
        var world = World.ordinary()
        world.removeRoutes("::/0")
        world.route("1.1.1.1/32", "eth0", via: "192.0.2.77")
        world.route("8.0.0.0/8", "lo", type: .local)
        let path = world.path()
        #expect(path.status == .satisfied)
        #expect(path.gatewayTexts == ["192.0.2.1"])
    }

    @Test func `probes can be chosen by the operator (S20)`() {
        var world = World()
        world.link("eth0", 2)
        world.add("192.0.2.10/24", on: "eth0")
        world.policy.probes = [.ipv4: [.v4(0x0A00_0001)], .ipv6: []]
        world.route("10.0.0.0/8", "eth0", via: "192.0.2.1")
        let evaluation = world.evaluate()
        #expect(evaluation.path.status == .satisfied)
        #expect(evaluation.lookups == 3)
    }

    // MARK: - S32 rejects

    @Test(arguments: [
        (RouteType.unreachable, UnsatisfiedReason.routeUnreachable),
        (.prohibit, .routeProhibited),
        (.blackhole, .routeBlackhole),
        (.throw, .noDefaultRoute),
    ])
    func `a reject default that shadows a real one makes the path unsatisfied (S32)`(
        type: RouteType,
        reason: UnsatisfiedReason
    ) {
        var world = World.ordinary()
        world.removeRoutes("::/0")
        world.route("0.0.0.0/0", metric: 50, type: type)
        let path = world.path()
        #expect(path.status == .unsatisfied)
        #expect(path.reason == reason)
    }

    @Test func `a reject default behind a real one does nothing (S32)`() {
        var world = World.ordinary()
        world.route("0.0.0.0/0", metric: 4_278_198_272, type: .unreachable)
        world.route("::/0", metric: 4_294_967_295, type: .unreachable)
        #expect(world.path().status == .satisfied)
    }

    @Test func `a route into the machine itself is no way out (lesson 16)`() {
        var world = World()
        world.link("eth0", 2)
        world.add("192.0.2.10/24", on: "eth0")
        world.route("0.0.0.0/0", "lo")
        #expect(world.path().reason == .noDefaultRoute)
        world.table.routes = []
        world.route("0.0.0.0/0", "lo", type: .local)
        #expect(world.path().reason == .noDefaultRoute)
    }
}
