// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import LinuxIO
import Netlink
@testable import PathEngine
@testable import PathModel
import TestSupport
import Testing

/// Where the kernel chooses by what it knows of neighbours, held against the kernel (rules S52 to S54).
@Suite(.inNamespace) struct NeighborChoiceTests {
    private let namespace = Namespace.current
    private let peer: Namespace

    init() throws {
        peer = try Namespace()
        try namespace.uplink("v0", 1, to: peer, metric: nil)
        try namespace.uplink("w0", 2, to: peer, metric: nil)
        // No address is news while a test runs.
        for device in ["v0", "w0"] { try namespace.waitForAddresses(on: device, isLinkLocal: true) }
        // What the kernel finds out by itself is fast, and what the test says of a neighbour lasts.
        for family in ["ipv4", "ipv6"] {
            for device in ["v0", "w0"] {
                let fast = "retrans_time_ms=50 V.ucast_solicit=1 V.mcast_solicit=1 V.base_reachable_time_ms=600000"
                let variable = "net.\(family).neigh.\(device)"
                try namespace.run("sysctl -qw \(variable).\(fast.replacing("V", with: variable))")
            }
        }
    }

    private func key(_ device: String, _ address: String) throws -> NeighborKey {
        let index = try #require(try LiveKernel().link(named: device)).index
        return NeighborKey(index: index, address: .of(address))
    }

    /// Takes the entry away, and makes one in this state; the kernel announces no failure of one that never answered.
    private func renew(_ address: String, on device: String, as state: NeighborState) throws {
        try namespace.ip("neigh flush to \(address) dev \(device) nud all")
        if state != .none { try set(address, on: device, to: state) }
    }

    private func set(_ address: String, on device: String, to state: NeighborState) throws {
        let hasAddress = ![.failed, .incomplete].contains(state)
        let hardware = hasAddress ? "lladdr 02:00:00:00:00:07 " : ""
        try namespace.ip("neigh replace \(address) dev \(device) \(hardware)nud \(state)")
    }

    @Test(
        arguments: [NeighborState.none, .incomplete, .failed, .stale, .reachable, .permanent],
        [NeighborState.none, .incomplete, .failed, .stale, .reachable, .permanent]
    )
    func `IPv4 defaults of one metric are taken as the kernel takes them (S54)`(
        first: NeighborState,
        second: NeighborState
    ) throws {
        let addresses = [("v0", "10.1.0.1"), ("v0", "10.1.0.9"), ("w0", "10.2.0.1")]
        let routers = try addresses.map { try key($0, $1) }
        try namespace.ipBatch([
            "route add default via 10.1.0.1 dev v0 metric 7", "route append default via 10.1.0.9 dev v0 metric 7",
            "route append default via 10.2.0.1 dev w0 metric 7",
        ])
        let kernel = try LiveKernel()
        for third in [NeighborState.none, .failed, .stale] {
            let states = Dictionary(zip(routers, [first, second, third])) { $1 }
            for ((device, address), state) in zip(addresses, [first, second, third]) {
                try renew(address, on: device, as: state)
            }
            var seen: Set<NeighborKey> = []
            for packet in 0..<24 {
                let answer = try kernel.lookup(RouteQuery(.of("23.45.67.89"), kind: .decision)).get()
                let nexthop = try #require(answer.nexthops.first)
                // Where the kernel began is forgotten by then.
                if packet >= 8 {
                    seen.insert(NeighborKey(index: nexthop.index, address: try #require(nexthop.gateway)))
                }
            }
            let defaults = KernelTable(kernel).defaultRoutes(.ipv4, table: 254)
            let taken = try #require(EqualDefaults(defaults.map(\.nexthops))).selected { states[$0] ?? .none }
            #expect(Set(taken.map { routers[$0] }) == seen, "\(first), \(second), \(third)")
        }
    }

    @Test(arguments: [4, 6])
    func `a router that dies is left, and its return is seen (S53, S54)`(family: Int) async throws {
        let (all, first, second) =
            family == 4 ? ("0.0.0.0/0", "10.1.0.1", "10.2.0.1") : ("::/0", "2001:db8:1::1", "2001:db8:2::1")
        try namespace.ipBatch([
            "route add \(all) via \(first) dev v0 metric 7", "route append \(all) via \(second) dev w0 metric 7",
        ])
        try set(first, on: "v0", to: .reachable)
        try set(second, on: "w0", to: .reachable)
        let subject = try Subject()
        func uses(_ gateways: [String]) -> (Path) -> Bool {
            // A multipath route begins with the leg that the probe takes.
            { path in path.gateways.map { "\($0.address.address)" }.sorted() == gateways }
        }
        // IPv6 makes one multipath route of both.
        let usual = family == 4 ? [first] : [first, second]
        await subject.eventually("what answers", uses(usual))
        try set(first, on: "v0", to: .failed)
        await subject.eventually("the second", uses([second]))
        #expect(subject.path.status == .satisfied && subject.path.warnings == (family == 4 ? [] : [.degraded]))
        let update = try #require(subject.updates.last { !$0.paths.isEmpty })
        #expect(update.cause.kind == .neighbor)
        try set(second, on: "w0", to: .failed)
        await subject.eventually("the service is not reachable") { $0.warnings == [.gatewayUnresolved] }
        await subject.eventually("all of them", uses([first, second]))
        #expect(subject.path.status == .satisfied)
        try set(second, on: "w0", to: .reachable)
        await subject.eventually("the second", uses([second]))
        try set(first, on: "v0", to: .reachable)
        await subject.eventually("what answers", uses(usual))
    }

    @Test func `the kernel leaves the only gateway when it does not answer, for a worse default with IPv6 alone (S53)`()
        async throws
    {
        try namespace.ipBatch([
            "route add default via 10.1.0.1 dev v0 metric 7", "route add default via 10.2.0.1 dev w0 metric 9",
            "route add ::/0 via 2001:db8:1::1 dev v0 metric 7", "route add ::/0 via 2001:db8:2::1 dev w0 metric 9",
        ])
        for address in ["10.1.0.1", "2001:db8:1::1"] { try set(address, on: "v0", to: .reachable) }
        let subject = try Subject()
        await subject.satisfied()
        try set("10.1.0.1", on: "v0", to: .failed)
        try set("2001:db8:1::1", on: "v0", to: .failed)
        await subject.eventually("silence") { $0.gateways.map(\.isReachable) == [false, nil] }
        #expect(subject.path.gateways.map { "\($0.address.address)" } == ["10.1.0.1", "2001:db8:2::1"])
        #expect(subject.path.warnings == [.gatewayUnresolved])
        let told = subject.updates.flatMap(\.consequences).contains {
            if case .gatewayReachability(let gateway, isReachable: false) = $0 {
                gateway.address.address == .of("10.1.0.1")
            } else {
                false
            }
        }
        #expect(told)
        try set("10.1.0.1", on: "v0", to: .reachable)
        await subject.eventually("an answer") { $0.warnings == [] }
    }

    @Test func `a silent leg of a multipath route is left out by IPv6 (S53)`() async throws {
        try namespace.ip("-6 route add default nexthop via 2001:db8:1::1 dev v0 nexthop via 2001:db8:2::1 dev w0")
        try set("2001:db8:1::1", on: "v0", to: .reachable)
        let subject = try Subject()
        await subject.eventually("both") { $0.gateways.count == 2 }
        try set("2001:db8:1::1", on: "v0", to: .failed)
        await subject.eventually("one") { $0.gateways.map { "\($0.address.address)" } == ["2001:db8:2::1"] }
        #expect(subject.path.warnings == [.degraded])
    }

    @Test func `neighbours that no answer rests on wake nobody (S1, S3)`() async throws {
        try namespace.ip("route add default via 10.1.0.1 dev v0")
        let subject = try Subject()
        await subject.satisfied()
        try await Task.sleep(for: .milliseconds(50))
        let before = subject.engine.statistics.messages[.neighbor, default: 0]
        let entries = (1...200).map { "neigh add 10.1.0.\($0 + 20) lladdr 02:00:00:00:00:07 dev v0 nud stale" }
        try namespace.ipBatch(entries + ["link set w0 mtu 1400"])
        await subject.eventually("what came after them") { _ in
            subject.engine.core.interfaces.contains { $0.mtu == 1400 }
        }
        #expect(subject.engine.statistics.messages[.neighbor, default: 0] == before)
    }
}
