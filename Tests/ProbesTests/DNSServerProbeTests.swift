// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import LinuxIO
import TestSupport
import Testing

@testable import Probes

@Suite(.inNamespace) struct DNSServerProbeTests {
    /// A server that answers by the first label of a name, and some names only when they are asked for again.
    private static let server = """
        import socket
        s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM); s.bind(("::", 53))
        seen = {}
        while True:
            query, sender = s.recvfrom(512)
            word = query[13:13 + query[12]].decode()
            kind = query[-3]
            seen[query] = seen.get(query, 0) + 1
            head = lambda code, count: query[:2] + bytes([0x81, 0x80 | code, 0, 1, 0, count, 0, 0, 0, 0]) + query[12:]
            record = b"\\xc0\\x0c\\0\\1\\0\\1\\0\\0\\0\\x3c\\0\\4\\xc0\\0\\2\\x50"
            answer = {"fail": head(2, 0), "refuse": head(5, 0), "none": head(3, 0), "odd": head(9, 0)}.get(word)
            if word == "broken": answer = head(0, 5)
            if word == "silent": continue
            if word == "later" and seen[query] < 2: continue
            if word == "forged": s.sendto(b"\\0\\0" + head(3, 0)[2:], sender)
            s.sendto(answer or (head(0, 1) + record if kind == 1 else head(0, 0)), sender)
        """

    private static func query(
        _ network: ProbeNetwork,
        _ questions: [DNSServerProbe.Question],
        server: String = ProbeNetwork.peer4,
        limit: Duration = .seconds(20)
    ) async throws -> (result: DNSServerResult, traffic: ProbeTraffic) {
        let address = try #require(SocketAddress(server, standardPort: 53))
        return try await network.run(DNSServerProbe(address, questions, limit: limit))
    }

    private static func with(_ body: (ProbeNetwork) async throws -> Void) async throws {
        let network = try ProbeNetwork()
        let program = try network.servePython(server)
        try await network.loop.eventually("the server") {
            try network.far.run("ss -Hlun sport = :53").contains(":53")
        }
        try await body(network)
        program.signal(9)
    }

    @Test(arguments: [ProbeNetwork.peer4, ProbeNetwork.peer6])
    func `each question has its reply`(server: String) async throws {
        try await Self.with { network in
            let names = ["www", "fail", "refuse", "none", "odd", "broken", "forged"]
            var questions = names.map { DNSServerProbe.Question("\($0).example.test") }
            questions.append(.init("www.example.test", .aaaa))
            questions.append(.init("no..name"))
            let (result, traffic) = try await Self.query(network, questions, server: server)
            let address = try #require(IPAddress("192.0.2.80"))
            #expect(
                result.replies == [
                    .addresses([address]), .failed("SERVFAIL"), .failed("REFUSED"), .noSuchName, .failed("code 9"),
                    .failed("a malformed response"), .addresses([address]), .addresses([]),
                    .failed("no domain name"),
                ]
            )
            #expect(traffic.packets == 8 && traffic.refused == 0 && !result.isUnreachable)
            #expect(result.durations.compactMap(\.self).count == 8)
            #expect(traffic.bytesSent > 8 * 30 && traffic.bytesReceived > traffic.bytesSent)
        }
    }

    @Test func `a question that was lost is asked again`() async throws {
        try await Self.with { network in
            let (result, traffic) = try await Self.query(network, [.init("www.test"), .init("later.test")])
            #expect(!result.replies.contains(.silent))
            #expect(traffic.packets == 3)
            let (first, second) = (try #require(result.durations[0]), try #require(result.durations[1]))
            #expect(second >= DNSServerProbe.copies[1] && first < second)
        }
    }

    @Test func `silence is one after three copies`() async throws {
        try await Self.with { network in
            let (result, traffic) = try await Self.query(network, [.init("silent.test")], limit: .milliseconds(1000))
            #expect(result.replies == [.silent] && result.durations == [nil])
            #expect(traffic.packets == 3)
        }
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

    @Test func `an interview that is taken back has no result`() async throws {
        let network = try ProbeNetwork()
        var results = 0
        let server = try #require(SocketAddress(ProbeNetwork.peer4, standardPort: 53))
        let probe = DNSServerProbe(server, [.init("a.test")], limit: .milliseconds(1))
        ProbeRunner(probe, loop: network.loop) { _, _ in results += 1 }.cancel()
        _ = try await Self.query(network, [.init("www.test")], limit: .milliseconds(20))
        #expect(results == 0)
    }
}
