// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import LinuxIO
import TestSupport
import Testing

@testable import Probes

@Suite(.inNamespace) struct DNSServerProbeTests {
    private static func query(
        _ network: ProbeNetwork,
        _ questions: [DNSServerProbe.Question],
        server: String = ProbeNetwork.peer4,
        limit: Duration = .seconds(20)
    ) async throws -> (result: DNSServerResult, traffic: ProbeTraffic) {
        let address = try #require(SocketAddress(server, standardPort: 53))
        return try await network.run(DNSServerProbe(address, questions, limit: limit))
    }

    @Test func `a closed port is silence`() async throws {
        let network = try ProbeNetwork()
        let (result, traffic) = try await Self.query(network, [.init("www.test")], limit: .milliseconds(50))
        #expect(result.replies == [.silent] && traffic.refused == 0)
    }

    @Test func `a filter of one's own is told`() async throws {
        let network = try ProbeNetwork()
        try ProbeNetwork.filter(network.near, hook: "output", ["udp dport 53 drop"])
        let traffic = try await Self.query(network, [.init("www.test"), .init("x.test")], limit: .milliseconds(50))
            .traffic
        #expect(traffic.packets == 2 && traffic.refused == 2)
    }

    @Test func `without a way to it the server is not blamed`() async throws {
        let network = try ProbeNetwork()
        let (result, traffic) = try await Self.query(network, [.init("www.test")], server: "198.51.100.53")
        #expect(result.isUnreachable && traffic.packets == 0)
    }
}
