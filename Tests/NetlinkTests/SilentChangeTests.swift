// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import LinuxIO
import Netlink
import TestSupport
import Testing

/// Outages that the kernel does not announce as route events: some other event comes, and a lookup tells the truth.
@Suite(.inNamespace) struct SilentChangeTests {
    struct Outage: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var family: AddressFamily
        var preparation: [String] = []
        var commands: [String] = []
        var peerCommands: [String] = []
        /// The event that gives it away.
        var trigger: String
        /// Whether a route event comes, which a monitor of routes would live from.
        var isAnnounced = false
        /// What a lookup says afterwards; `nil` means that the leg is flagged `linkdown`.
        var failure: RouteFailure?
    }

    private static let outages = [
        Outage(
            testDescription: "IPv4 carrier loss",
            family: .ipv4,
            peerCommands: ["link set v1 down"],
            trigger: "RTM_NEWLINK"
        ),
        Outage(
            testDescription: "IPv6 carrier loss",
            family: .ipv6,
            peerCommands: ["link set v1 down"],
            trigger: "RTM_NEWLINK"
        ),
        Outage(
            testDescription: "IPv4 link set down",
            family: .ipv4,
            commands: ["link set v0 down"],
            trigger: "RTM_NEWLINK",
            failure: .noRoute
        ),
        Outage(
            testDescription: "IPv6 link set down",
            family: .ipv6,
            commands: ["link set v0 down"],
            trigger: "RTM_NEWLINK",
            isAnnounced: true,
            failure: .noRoute
        ),
        Outage(
            testDescription: "last IPv4 address deleted",
            family: .ipv4,
            commands: ["addr del 192.0.2.2/24 dev v0"],
            trigger: "RTM_DELADDR",
            failure: .noRoute
        ),
        Outage(
            testDescription: "IPv4 link deleted",
            family: .ipv4,
            commands: ["link del v0"],
            trigger: "RTM_DELLINK",
            failure: .noRoute
        ),
        Outage(
            testDescription: "IPv6 link deleted",
            family: .ipv6,
            commands: ["link del v0"],
            trigger: "RTM_DELLINK",
            isAnnounced: true,
            failure: .noRoute
        ),
        Outage(
            testDescription: "nexthop object deleted",
            family: .ipv4,
            preparation: [
                "route del default via 192.0.2.1", "nexthop add id 4 via 192.0.2.1 dev v0", "route add default nhid 4",
            ],
            commands: ["nexthop del id 4"],
            trigger: "RTM_DELNEXTHOP",
            failure: .noRoute
        ),
        Outage(
            testDescription: "nexthop group deleted",
            family: .ipv4,
            preparation: [
                "route del default via 192.0.2.1", "nexthop add id 4 via 192.0.2.1 dev v0", "nexthop add id 9 group 4",
                "route add default nhid 9",
            ],
            commands: ["nexthop del id 9"],
            trigger: "RTM_DELNEXTHOP",
            failure: .noRoute
        ),
        Outage(
            testDescription: "rule added in front",
            family: .ipv4,
            commands: ["rule add pref 5 blackhole"],
            trigger: "RTM_NEWRULE",
            failure: .blackhole
        ),
    ]

    private let namespace = Namespace.current

    @Test(arguments: outages)
    func `an event comes, and the lookup tells`(outage: Outage) async throws {
        let peer = try namespace.uplink()
        try namespace.ipBatch(
            ["route add default via 192.0.2.1", "route add ::/0 via 2001:db8:1::1"] + outage.preparation
        )
        let kernel = try LiveKernel()
        let query = RouteQuery(.of(outage.family == .ipv4 ? "1.1.1.1" : "2606:4700::1111"), kind: .entry)
        #expect(try kernel.lookup(query).get().nexthops.map(\.flags) == [[]])

        let monitor = try KernelMonitor(loop: namespace.loop)
        var heard: [KernelNotice] = []
        monitor.onEvents = { heard += $0.notices }
        try monitor.start()
        defer { monitor.stop() }
        for command in outage.commands { try namespace.ip(command) }
        for command in outage.peerCommands { try peer.ip(command) }
        await namespace.loop.eventually(outage.trigger) {
            heard.contains { $0.type.description == outage.trigger }
        }
        await namespace.loop.eventually("the lookup's change") {
            switch kernel.lookup(query) {
            case .success(let answer): outage.failure == nil && answer.nexthops.map(\.flags) == [.linkDown]
            case .failure(let failure): failure == outage.failure
            }
        }
        let routeEvents = heard.filter {
            if case .route(let route) = $0.event {
                route.family == outage.family && route.prefixLength == 0
            } else {
                false
            }
        }
        #expect(routeEvents.isEmpty != outage.isAnnounced)
    }

    @Test func `a replaced default is announced once, as new`() async throws {
        let peer = try namespace.uplink()
        try namespace.ip("route add default via 192.0.2.1")
        let monitor = try KernelMonitor(loop: namespace.loop)
        var routes: [RouteNotice] = []
        monitor.onEvents = { batch in
            routes += batch.notices.compactMap { if case .route(let route) = $0.event { route } else { nil } }
        }
        try monitor.start()
        defer { monitor.stop() }
        try namespace.ip("route replace default via 192.0.2.9")
        await namespace.loop.eventually("the event") { !routes.isEmpty }
        #expect(routes == [RouteNotice(family: .ipv4, prefixLength: 0, table: 254, removed: false)])
        withExtendedLifetime(peer) {}
    }

    @Test func `a bridge's carrier follows its port's when it is read again`() async throws {
        let peer = try namespace.uplink("p0")
        try namespace.ipBatch(["link add b0 type bridge", "link set p0 master b0", "link set b0 up"])
        let kernel = try LiveKernel()
        let bridge = try #require(try kernel.link(named: "b0")).index
        try await namespace.loop.eventually("the carrier") { try kernel.link(index: bridge)?.carrier == true }
        try peer.set("v1", isUp: false)
        // Read again because of an event of the port, as rule S14 wants.
        try await namespace.loop.eventually("the port's loss") { try kernel.link(named: "p0")?.carrier == false }
        try await namespace.loop.eventually("the bridge's loss") {
            try kernel.link(index: bridge)?.carrier == false
        }
    }

    @Test func `a rename keeps the number, and a new link of the old name does not`() async throws {
        try namespace.ip("link add b0 type bridge")
        let kernel = try LiveKernel()
        let index = try #require(try kernel.link(named: "b0")).index
        let monitor = try KernelMonitor(loop: namespace.loop)
        var names: [String] = []
        monitor.onEvents = { batch in
            names += batch.notices.compactMap {
                if case .link(let link) = $0.event, link.index == index { link.name } else { nil }
            }
        }
        try monitor.start()
        defer { monitor.stop() }
        try namespace.ip("link set b0 name b1")
        await namespace.loop.eventually("the new name") { names.last == "b1" }
        #expect(try kernel.link(index: index)?.name == "b1")
        try namespace.ip("link add b0 type bridge")
        #expect(try kernel.link(named: "b0")?.index != index)
    }

    @Test func `a link that waits for a supplicant is dormant until it is set up`() async throws {
        let peer = try namespace.uplink()
        let kernel = try LiveKernel()
        try namespace.ip("link set v0 mode dormant")
        try peer.set("v1", isUp: false)
        try await namespace.loop.eventually("the carrier's loss") { try kernel.link(named: "v0")?.carrier == false }
        try peer.set("v1", isUp: true)
        try await namespace.loop.eventually("dormancy") { try kernel.link(named: "v0")?.operationalState == .dormant }
        #expect(try kernel.link(named: "v0")?.isDormantMode == true)
        try namespace.ip("link set v0 state up")
        try await namespace.loop.eventually("the state") { try kernel.link(named: "v0")?.operationalState == .up }
    }
}
