// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import LinuxIO
import TestSupport
import Testing

@testable import Probes

@Suite(.inNamespace) struct PacketTrainTests {
    private static func run(
        _ network: ProbeNetwork,
        _ kind: TrainKind,
        _ address: String,
        count: Int = 4,
        timeout: Duration = .seconds(20)
    ) async throws -> (result: TrainResult, traffic: ProbeTraffic) {
        let train = PacketTrain(
            kind,
            to: ScopedAddress(try #require(IPAddress(address))),
            count: count,
            pace: .milliseconds(2),
            timeout: timeout
        )
        return try await network.run(train)
    }

    @Test(arguments: [ProbeNetwork.peer4, ProbeNetwork.peer6], ProbeNetwork.PingGroups.allCases)
    func `echo requests come back, and the end does not wait`(
        address: String,
        groups: ProbeNetwork.PingGroups
    ) async throws {
        let network = try ProbeNetwork(pingGroups: groups)
        let start = network.loop.clock.boot
        let (result, traffic) = try await Self.run(network, .echo, address)
        #expect(result.sent == 4 && result.received == 4 && traffic.refused == 0)
        #expect(traffic.bytesSent == 256 && traffic.bytesReceived == 256)
        #expect(result.failure == nil && result.advice == nil && result.faults.isEmpty)
        #expect(result.durations.allSatisfy { $0 > .zero })
        #expect(network.loop.clock.boot - start < .seconds(20))
    }

    @Test(arguments: [ProbeNetwork.peer4, ProbeNetwork.peer6])
    func `datagrams come back from a server that returns them`(address: String) async throws {
        let network = try ProbeNetwork()
        let server = try network.servePython(
            """
            import socket
            s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM); s.bind(("::", 7007))
            while True:
                data, sender = s.recvfrom(2048)
                s.sendto(b"x" + data[1:], sender); s.sendto(data, sender); s.sendto(data, sender)
            """
        )
        try await network.loop.eventually("the server") {
            try network.far.run("ss -Hlun sport = :7007").contains(":7007")
        }
        let (result, traffic) = try await Self.run(network, .datagram(port: 7007), address)
        #expect(result.sent == 4 && result.received == 4)
        #expect(traffic.bytesReceived == 256)
        server.signal(9)
    }

    @Test(arguments: [TrainKind.echo, .datagram(port: 7007)])
    func `a filter of one's own is seen`(kind: TrainKind) async throws {
        let network = try ProbeNetwork()
        try ProbeNetwork.filter(network.near, hook: "output", ["oif eth0 drop"])
        let (result, traffic) = try await Self.run(network, kind, ProbeNetwork.peer4, timeout: .milliseconds(50))
        #expect(result.sent == 4 && traffic.refused == 4 && result.failure == .blocked)
    }

    @Test func `a datagram filter is seen in IPv6 as well`() async throws {
        let network = try ProbeNetwork()
        try ProbeNetwork.filter(network.near, hook: "output", ["oif eth0 drop"])
        let kind = TrainKind.datagram(port: 7007)
        let (result, traffic) = try await Self.run(network, kind, ProbeNetwork.peer6, timeout: .milliseconds(50))
        #expect(result.sent == 4 && traffic.refused == 4)
    }

    @Test func `whoever says that there is no way is named`() async throws {
        let network = try ProbeNetwork()
        try network.near.ip("route add default via 192.0.2.2")
        try network.far.run(["sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv4.icmp_ratelimit=0"])
        let nowhere = try await Self.run(network, .echo, "198.51.100.1", timeout: .milliseconds(100)).result
        let speaker = try #require(IPAddress(ProbeNetwork.peer4))
        #expect(nowhere.received == 0 && nowhere.faults == [PacketFault(speaker: speaker, kind: .unreachable)])
        try network.far.ip("route add 198.51.100.0/24 via 192.0.2.1")
        try ProbeNetwork.filter(network.near, hook: "output", ["ip daddr 198.51.100.1 ip ttl set 1"])
        let short = try await Self.run(network, .echo, "198.51.100.1", timeout: .milliseconds(100)).result
        #expect(short.faults == [PacketFault(speaker: speaker, kind: .hopLimit)])
    }

    @Test func `a closed port is told by its host`() async throws {
        let network = try ProbeNetwork()
        let kind = TrainKind.datagram(port: 7007)
        let result = try await Self.run(network, kind, ProbeNetwork.peer4, timeout: .milliseconds(100)).result
        let speaker = try #require(IPAddress(ProbeNetwork.peer4))
        #expect(result.faults == [PacketFault(speaker: speaker, kind: .portClosed)])
        #expect(result.received == 0)
    }

    @Test(arguments: [("192.0.2.9", ProbeNetwork.peer4), ("2001:db8::9", ProbeNetwork.peer6)])
    func `packets come from the address that was asked for`(source: String, target: String) async throws {
        let network = try ProbeNetwork()
        let hasSix = source.contains(":")
        try network.near.ip("address add \(source)/\(hasSix ? "64" : "24") dev eth0" + (hasSix ? " nodad" : ""))
        // Only those from there pass.
        let words = hasSix ? "ip6 saddr" : "ip saddr"
        let echo = hasSix ? "icmpv6 type echo-request" : "icmp type echo-request"
        try ProbeNetwork.filter(network.far, hook: "input", ["\(echo) \(words) != \(source) drop"])
        var route = ProbeRoute()
        for (own, received) in [(source, 2), (hasSix ? "2001:db8::77" : "192.0.2.77", 0)] {
            route.source = IPAddress(own)
            let train = PacketTrain(
                .echo,
                to: ScopedAddress(try #require(IPAddress(target))),
                route: route,
                count: 2,
                pace: .milliseconds(1),
                timeout: .seconds(5)
            )
            let result = try await network.run(train).result
            // An address that is not the machine's own sends nothing.
            #expect(result.received == received && result.sent == received, "\(own)")
        }
    }

    @Test func `without a route nothing is sent`() async throws {
        let network = try ProbeNetwork()
        let result = try await Self.run(network, .echo, "198.51.100.1").result
        #expect(result.sent == 0 && result.failure == .unreachable)
    }
}
