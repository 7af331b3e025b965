// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import LinuxIO
import TestSupport
import Testing

@testable import Probes

@Suite struct NTPQueryTests {
    private static let query = NTPQuery(cookie: 0x0123_4567_89AB_CDEF)
    private static let now: Int64 = 1_800_000_000_500_000_000

    /// An answer of a server whose clock differs by so much, on a way of 20 ms each.
    private static func answer(behind: Int64 = 0, _ change: (inout [UInt8]) -> Void = { _ in }) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 48)
        bytes[0] = 4 << 3 | 4
        bytes[1] = 2
        put(query.cookie, into: &bytes, at: 24)
        let there = NTPQuery.timestamp(now + 20_000_000 + behind)
        put(there, into: &bytes, at: 32)
        put(there, into: &bytes, at: 40)
        change(&bytes)
        return bytes
    }

    private static func put(_ value: UInt64, into bytes: inout [UInt8], at offset: Int) {
        for index in 0..<8 { bytes[offset + index] = UInt8(truncatingIfNeeded: value >> UInt64(56 - index * 8)) }
    }

    private static func read(_ bytes: [UInt8]) -> NTPQuery.Reply {
        query.read(bytes.span, left: now, arrived: now + 40_000_000)
    }

    /// How far ahead the own clock is, in milliseconds.
    private static func milliseconds(_ reply: NTPQuery.Reply) -> Double? {
        guard case .ahead(let offset) = reply else { return nil }
        return (offset / .milliseconds(1)).rounded()
    }

    @Test func `a question tells nothing but a cookie`() {
        let bytes = Self.query.bytes
        #expect(bytes.count == 48 && bytes[0] == 0x23)
        #expect(bytes[1..<40].allSatisfy { $0 == 0 })
        #expect(Array(bytes[40...]) == [0x01, 0x23, 0x45, 0x67, 0x89, 0xAB, 0xCD, 0xEF])
    }

    @Test(arguments: [0, 1, -1, 1500, -100_000, 86_400_000 * 365 * 30, -86_400_000 * 365 * 57] as [Int64])
    func `the clock is compared in the middle of the way`(behind: Int64) {
        let reply = Self.read(Self.answer(behind: behind * 1_000_000))
        #expect(Self.milliseconds(reply) == -Double(behind))
    }

    @Test func `a way back that is longer moves the clock by half of it at most`() {
        let reply = Self.query.read(Self.answer().span, left: Self.now, arrived: Self.now + 140_000_000)
        #expect(Self.milliseconds(reply) == 50)
        let slow = Self.query.read(Self.answer().span, left: Self.now - 100_000_000, arrived: Self.now + 40_000_000)
        #expect(Self.milliseconds(slow) == -50)
    }

    @Test func `an era ends in 2036 and nothing happens`() {
        let left: Int64 = 2_085_978_495_900_000_000
        var bytes = Self.answer()
        let there = NTPQuery.timestamp(left + 200_000_000)
        #expect(there < NTPQuery.timestamp(left))
        Self.put(there, into: &bytes, at: 32)
        Self.put(there, into: &bytes, at: 40)
        let reply = Self.query.read(bytes.span, left: left, arrived: left)
        #expect(Self.milliseconds(reply) == -200)
    }

    @Test func `moments before 1970 are moments`() {
        let start: UInt64 = 2_208_988_800 << 32
        #expect(NTPQuery.timestamp(0) == start)
        #expect(NTPQuery.timestamp(-500_000_000) == start - (1 << 31))
        #expect(NTPQuery.timestamp(-1_000_000_000) == start - (1 << 32))
        #expect(NTPQuery.timestamp(250_000_000) == start + (1 << 30))
    }

    @Test func `another's answer, a question and a piece are foreign`() {
        #expect(Self.read(Self.answer { $0[24] ^= 1 }) == .foreign)
        #expect(Self.read(Self.answer { $0[0] = 0x23 }) == .foreign)
        #expect(Self.read(Array(Self.answer().prefix(47))) == .foreign)
        #expect(Self.read([]) == .foreign)
        #expect(Self.milliseconds(Self.read(Self.answer() + [1, 2, 3])) == 0)
    }

    @Test(arguments: [0, 16, 255] as [UInt8])
    func `a server that does not know the time says so`(stratum: UInt8) {
        #expect(Self.read(Self.answer { $0[1] = stratum }) == .unsynchronized)
        #expect(Self.read(Self.answer { $0[0] = 0xE4 }) == .unsynchronized)
        #expect(Self.read(Self.answer { bytes in for index in 40..<48 { bytes[index] = 0 } }) == .unsynchronized)
    }

    @Test func `any bytes are read without harm`() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<20_000 {
            var bytes = Self.answer()
            for _ in 0..<6 {
                bytes[Int.random(in: 0..<48, using: &generator)] = .random(in: 0...255, using: &generator)
            }
            _ = Self.query.read(bytes.span, left: .random(in: 0 ... .max), arrived: .random(in: 0 ... .max))
        }
    }
}

@Suite(.inNamespace) struct NTPProbeTests {
    /// A server that is so many seconds ahead, and forges an answer first.
    private static func server(ahead: Int) -> String {
        """
        import socket, struct, time
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(("0.0.0.0", 123))
        while True:
            data, sender = s.recvfrom(2048)
            now = int((time.time() + \(ahead) + 2208988800) * 2**32)
            for cookie in (b"forgery!", data[40:48]):
                s.sendto(struct.pack("!BBbbIII8s8sQQ", 0x24, 2, 4, -20, 0, 0, 0, b"", cookie, now, now), sender)
        """
    }

    private static func query(
        _ network: ProbeNetwork,
        limit: Duration = .seconds(20)
    ) async throws -> (result: NTPResult, traffic: ProbeTraffic) {
        let server = SocketAddress(ScopedAddress(try #require(IPAddress(ProbeNetwork.peer4))), port: 123)
        return try await network.run(NTPProbe(server, limit: limit))
    }

    @Test func `the clock is compared with the server's, and a forgery is not`() async throws {
        let network = try ProbeNetwork()
        let server = try network.servePython(Self.server(ahead: 100))
        try await network.loop.eventually("the server") {
            try network.far.run("ss -Hlun sport = :123").contains(":123")
        }
        let (result, traffic) = try await Self.query(network)
        let offset = try #require(result.ahead)
        #expect(result.isAnswered && abs(offset / .seconds(1) + 100) < 5)
        #expect(traffic.bytesSent >= 48 && traffic.bytesReceived == 48 && traffic.refused == 0)
        server.signal(9)
    }

    @Test func `a closed port is silence, and what the own filter refuses is counted`() async throws {
        let network = try ProbeNetwork()
        let (closed, traffic) = try await Self.query(network, limit: .milliseconds(50))
        #expect(!closed.isAnswered && closed.ahead == nil && traffic.refused == 0)
        try ProbeNetwork.filter(network.near, hook: "output", ["oif != lo drop"])
        let barred = try await Self.query(network, limit: .milliseconds(50)).traffic
        #expect(barred.refused == 1 && barred.packets == 1)
    }
}
