// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import LinuxIO
import TestSupport
import Testing

@testable import Probes

@Suite struct TracerouteResultTests {
    private static let end = IPAddress.v4(9)

    private static func taking(_ faults: [(Int, PacketFault.Kind, IPAddress?)]) -> TracerouteResult {
        var result = TracerouteResult(destination: end)
        for distance in 1...6 { result.depart(0, distance: distance, at: .zero) }
        for (distance, kind, speaker) in faults {
            result.record(PacketFault(speaker: speaker, kind: kind), nil, 0, distance: distance, at: .zero)
        }
        return result
    }

    @Test func `hops are put in order, and each counts once`() {
        let result = Self.taking([
            (3, .hopLimit, .v4(3)), (1, .hopLimit, .v4(1)), (1, .hopLimit, .v4(7)), (2, .hopLimit, nil),
            (7, .hopLimit, .v4(7)),
        ])
        #expect(result.routers.map(\.distance) == [1, 3] && result.routers.map(\.address) == [.v4(1), .v4(3)])
        #expect(result.unreachableFrom == nil && !result.isArrived)
    }

    @Test func `what is said of the end is no hop`() {
        let arrived = Self.taking([(4, .portClosed, Self.end)])
        #expect(arrived.isArrived && arrived.routers.isEmpty)
        #expect(!Self.taking([(4, .portClosed, .v4(5))]).isArrived)
        let barred = Self.taking([(3, .portClosed, .v4(8)), (4, .unreachable, .v4(5)), (5, .unreachable, .v4(6))])
        #expect(barred.unreachableFrom == .v4(5))
        #expect(Self.taking([(4, .unreachable, Self.end)]).unreachableFrom == nil)
        #expect(Self.taking([(4, .tooBig, .v4(5)), (4, .other, .v4(5))]) == Self.taking([]))
    }
}

@Suite(.inNamespace) struct TracerouteTests {
    private static func trace(
        _ network: ProbeNetwork,
        _ address: String,
        limit: Duration = .seconds(3)
    ) async throws -> (result: TracerouteResult, traffic: ProbeTraffic) {
        let to = ScopedAddress(try #require(IPAddress(address)))
        return try await network.run(Traceroute(to: to, limit: limit))
    }

    @Test(arguments: [("198.51.100.2", "192.0.2.2"), ("2001:db8:1::2", "2001:db8::2")])
    func `the routers on the way are found, and the end ends it`(address: String, router: String) async throws {
        let network = try ProbeNetwork()
        let beyond = try network.extend()
        let result = try await Self.trace(network, address).result
        #expect(result.routers.map(\.distance) == [1])
        #expect(result.routers.first?.address == IPAddress(router))
        #expect(result.isArrived && result.unreachableFrom == nil)
        withExtendedLifetime(beyond) {}
    }

    @Test(arguments: [("198.51.100.2", "192.0.2.2"), ("2001:db8:1::2", "2001:db8::2")])
    func `where packets vanish, the last router is known`(address: String, router: String) async throws {
        let network = try ProbeNetwork()
        let beyond = try network.extend()
        try ProbeNetwork.filter(network.far, hook: "forward", ["drop"])
        let (result, traffic) = try await Self.trace(network, address)
        #expect(result.routers.map(\.distance) == [1] && !result.isArrived)
        #expect(result.routers.first?.address == IPAddress(router) && traffic.packets == 12)
        #expect(traffic.bytesSent == 32 * 12 && traffic.refused == 0)
        withExtendedLifetime(beyond) {}
    }

    @Test(arguments: [("198.51.100.77", "192.0.2.2"), ("2001:db8:2::2", "2001:db8::2")])
    func `a router that knows no way says so`(address: String, router: String) async throws {
        let network = try ProbeNetwork()
        let beyond = try network.extend()
        try network.near.ipBatch(["route add 2001:db8:2::/64 via 2001:db8::2"])
        try network.far.ip("route add unreachable 198.51.100.77/32")
        let result = try await Self.trace(network, address).result
        #expect(result.unreachableFrom == IPAddress(router))
        withExtendedLifetime(beyond) {}
    }

    @Test(arguments: [TraceroutePlan.Method.udp(port: nil), .udp(port: 53), .tcp(port: 443), .icmp])
    func `each method finds the router and the end, in both families`(method: TraceroutePlan.Method) async throws {
        for groups in method == .icmp ? ProbeNetwork.PingGroups.allCases : [.everyone] {
            let network = try ProbeNetwork(pingGroups: groups)
            let beyond = try network.extend()
            var plan = TraceroutePlan()
            (plan.method, plan.rounds) = (method, 2)
            for (address, router) in [("198.51.100.2", "192.0.2.2"), ("2001:db8:1::2", "2001:db8::2")] {
                let end = ScopedAddress(try #require(IPAddress(address)))
                let result = try await network.run(Traceroute(to: end, plan)).result
                #expect(result.routers.map(\.address) == [try #require(IPAddress(router))], "\(result)")
                #expect(result.destinationDistance == 2 && result.hops.map(\.received) == [2, 2], "\(result)")
            }
            try network.near.ip("link del eth0")
            withExtendedLifetime(beyond) {}
        }
    }

    @Test func `a filter of the own machine is counted`() async throws {
        let network = try ProbeNetwork()
        try ProbeNetwork.filter(network.near, hook: "output", ["oif != lo drop"])
        let (result, traffic) = try await Self.trace(network, ProbeNetwork.peer4, limit: .milliseconds(500))
        #expect(traffic.refused == 12 && result.lastAnswered == 0)
    }
}
