// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Netlink
import Testing

@testable import PathModel

/// Routes to the probes themselves say nothing about the Internet (S20).
@Suite struct RoutePollTests {
    private static let hosts: [AddressFamily: [String]] = [
        .ipv4: ["1.1.1.1/32", "8.8.8.8/32", "9.9.9.9/32", "208.67.222.222/32"],
        .ipv6: [
            "2606:4700:4700::1111/128", "2001:4860:4860::8888/128", "2620:fe::fe/128", "2620:119:35::35/128",
        ],
    ]
    private static let networks: [AddressFamily: [String]] = [
        .ipv4: ["1.1.1.0/24", "8.8.8.0/24", "9.9.9.0/24", "208.67.222.0/24"],
        .ipv6: ["2606:4700:4700::/48", "2001:4860:4860::/48", "2620:fe::/48", "2620:119:35::/48"],
    ]

    /// A machine with one uplink and this family alone.
    private static func world(_ family: AddressFamily, hasDefault: Bool = true) -> World {
        var world = World.ordinary()
        if family == .ipv4 {
            world.removeRoutes("::/0")
            world.remove("2001:db8::10/64", from: "eth0")
            if !hasDefault { world.removeRoutes("0.0.0.0/0") }
        } else {
            world.removeRoutes("0.0.0.0/0")
            world.remove("192.0.2.10/24", from: "eth0")
            if !hasDefault { world.removeRoutes("::/0") }
        }
        return world
    }

    private static func gateway(_ family: AddressFamily) -> String { family == .ipv4 ? "192.0.2.1" : "fe80::1" }

    @Test(arguments: AddressFamily.allCases, [RouteType.blackhole, .unreachable, .prohibit, .throw, .local])
    func `refusals and own addresses at any number of probes`(family: AddressFamily, type: RouteType) {
        for prefixes in [Self.hosts[family] ?? [], Self.networks[family] ?? []] {
            for count in 1...4 {
                var world = Self.world(family)
                for prefix in prefixes.prefix(count) {
                    if type == .local {
                        world.route(prefix, "lo", type: type)
                    } else {
                        world.route(prefix, type: type)
                    }
                }
                let path = world.path()
                #expect(path.status == .satisfied, "\(count) of \(prefixes)")
                #expect(path.gatewayTexts.map { $0.prefix { $0 != "%" } } == [Self.gateway(family)[...]])
                if type == .throw || type == .local { continue }
                for route in prefixes.prefix(count) { world.removeRoutes(route) }
                let all = family == .ipv4 ? "0.0.0.0/0" : "::/0"
                world.removeRoutes(all)
                world.route(all, type: type)
                for prefix in prefixes { world.route(prefix, "eth0", via: Self.gateway(family)) }
                let refused = world.path()
                #expect(refused.status == .unsatisfied)
                let reasons: [RouteType: UnsatisfiedReason] = [
                    .blackhole: .routeBlackhole, .unreachable: .routeUnreachable, .prohibit: .routeProhibited,
                ]
                #expect(refused.reason == reasons[type], "\(prefixes)")
            }
        }
    }

    @Test(arguments: AddressFamily.allCases) func `routes to the probes alone are no way out`(family: AddressFamily) {
        var world = Self.world(family, hasDefault: false)
        for prefix in Self.hosts[family] ?? [] { world.route(prefix, "eth0", via: Self.gateway(family)) }
        #expect(world.path().reason == .noDefaultRoute)
        for type in [RouteType.blackhole, .prohibit] { world.route(Self.hosts[family]?[1] ?? "", type: type) }
        #expect(world.path().reason == .noDefaultRoute)
    }

    @Test(arguments: AddressFamily.allCases) func `routes to the probes by another uplink`(family: AddressFamily) {
        var world = Self.world(family)
        world.link("eth1", 3)
        world.add(family == .ipv4 ? "198.51.100.2/24" : "2001:db8:1::2/64", on: "eth1")
        for prefix in Self.hosts[family] ?? [] { world.route(prefix, "eth1", via: "198.51.100.1") }
        #expect(world.path().interfaces.map(\.name) == ["eth0"])
    }

    @Test func `a default that is gone takes three addresses, one that is there a single one`() {
        func asked(_ world: World) -> Int {
            _ = world.evaluate()
            return Set(world.table.log.leaving(world).map(\.destination)).count { $0.family == .ipv4 }
        }
        #expect(asked(Self.world(.ipv4, hasDefault: false)) == 3)
        #expect(asked(Self.world(.ipv4)) == 1)
        var world = Self.world(.ipv4)
        world.route("1.1.1.1/32", type: .throw)
        #expect(asked(world) == 4)
    }

    @Test(arguments: [0, 1, 2, 3, 4]) func `most of a full table without the probes is the Internet`(missing: Int) {
        var world = Self.world(.ipv4, hasDefault: false)
        let announced = ["1.0.0.0/9", "8.8.0.0/16", "9.9.9.0/24", "208.67.222.0/24"].dropFirst(missing)
        let others = [
            "151.101.0.0/16", "13.32.0.0/15", "196.216.0.0/14", "45.57.0.0/17", "80.67.0.0/20", "177.54.0.0/16",
        ]
        for prefix in announced + others { world.route(prefix, "eth0", via: "192.0.2.1") }
        #expect(world.path().status == (missing < 4 ? .satisfied : .unsatisfied))
    }
}
