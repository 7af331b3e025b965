// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import LinuxIO
import TestSupport
import Testing

@testable import Probes

@Suite struct QUICVersionTests {
    private let query = QUICVersionQuery()

    /// The answer of a server that speaks version 1: the identifiers of the query, turned round.
    private func answer(_ change: (inout [UInt8]) -> Void = { _ in }) -> [UInt8] {
        let sent = query.bytes
        var bytes: [UInt8] = [0x80, 0, 0, 0, 0, 8] + sent[15..<23] + [8] + sent[6..<14] + [0, 0, 0, 1]
        change(&bytes)
        return bytes
    }

    private func isAnswered(_ bytes: [UInt8]) -> Bool { query.isAnswered(by: bytes.span) }

    @Test func `the query is long enough to be answered, and of a version that nobody speaks`() {
        let bytes = query.bytes
        #expect(bytes.count == 1200 && bytes[0] == 0xC0)
        #expect(bytes[1..<5].allSatisfy { $0 & 0xF == 0xA })
        #expect(bytes[5] == 8 && bytes[14] == 8 && bytes[6..<14] != bytes[15..<23])
    }

    @Test func `the list of versions is an answer`() { #expect(isAnswered(answer())) }

    @Test func `anything else is none`() {
        let others = [
            [], Array(query.bytes), answer { $0[0] = 0x40 }, answer { $0[4] = 1 }, answer { $0[6] ^= 1 },
            answer { $0[15] ^= 1 }, answer { $0.removeLast(4) },
        ]
        for other in others { #expect(!isAnswered(other)) }
    }
}

@Suite struct CaptureTests {
    private static let (host, other) = (IPAddress.v4(0xC000_0201), IPAddress.v4(0xC000_0202))
    private static let host6 = IPAddress.v6(0x2001_0DB8 << 96 | 1)

    /// The head of a packet between two addresses, with what follows it.
    private static func packet(_ from: IPAddress, _ to: IPAddress, _ number: UInt8, _ rest: [UInt8]) -> [UInt8] {
        from.family == .ipv4
            ? [0x45, 0, 0, 40, 0, 0, 0, 0, 64, number, 0, 0] + from.bytes + to.bytes + rest
            : [0x60, 0, 0, 0, 0, 20, number, 64] + from.bytes + to.bytes + rest
    }

    private static func head(_ bytes: [UInt8]) -> CapturedHeader? { CapturedHeader(bytes.span) }

    private static let ports: [UInt8] = [0x30, 0x39, 0x01, 0xBB]

    @Test func `ports are read behind the header, options or not`() throws {
        for (from, to) in [(Self.other, Self.host), (Self.host6, Self.host6)] {
            let header = try #require(Self.head(Self.packet(from, to, 6, Self.ports)))
            #expect(header.source == from && header.destination == to && header.transport == 6)
            #expect(header.sourcePort == 12345 && header.destinationPort == 443)
        }
        var long = Self.packet(Self.other, Self.host, 17, [0, 0, 0, 0] + Self.ports)
        long[0] = 0x46
        #expect(try #require(Self.head(long)).destinationPort == 443)
    }

    @Test func `echo requests and replies of both families are told apart`() throws {
        for (number, request, reply) in [(UInt8(1), UInt8(8), UInt8(0)), (58, 128, 129)] {
            let host = number == 1 ? Self.host : Self.host6
            let sent = try #require(Self.head(Self.packet(host, host, number, [request, 0, 0, 0])))
            let returned = try #require(Self.head(Self.packet(host, host, number, [reply, 0, 0, 0])))
            #expect(sent.isEchoRequest && !sent.isEchoReply && sent.transport == 1)
            #expect(returned.isEchoReply && !returned.isEchoRequest)
        }
    }

    @Test func `what is cut, or no packet of IP, is none`() {
        let whole = Self.packet(Self.other, Self.host, 6, Self.ports)
        for count in 0..<24 { #expect(Self.head(Array(whole.prefix(count))) == nil) }
        #expect(Self.head(Self.packet(Self.other, Self.host, 47, Self.ports)) == nil)
        #expect(Self.head([UInt8](repeating: 0xFF, count: 60)) == nil)
        var short = whole
        short[0] = 0x44
        #expect(Self.head(short) == nil)
    }

    /// Runs a classic BPF program, as far as these use it.
    private static func run(_ code: [UInt64], _ packet: [UInt8]) -> Bool {
        var (accumulator, index) = (0, 0)
        while code.indices.contains(index) {
            let (operation, operand) = (code[index] >> 48, Int(code[index] & 0xFFFF_FFFF))
            let (then, otherwise) = (Int(code[index] >> 40 & 0xFF), Int(code[index] >> 32 & 0xFF))
            switch operation {
            case 0x30:
                guard operand < packet.count else { return false }
                accumulator = Int(packet[operand])
            case 0x20:
                guard operand + 4 <= packet.count else { return false }
                accumulator = packet[operand..<operand + 4].reduce(0) { $0 << 8 | Int($1) }
            case 0x74: accumulator >>= operand
            case 0x15: index += accumulator == operand ? then : otherwise
            case 0x06: return operand > 0
            default: return false
            }
            index += 1
        }
        return false
    }

    @Test(arguments: [1, 2, 16])
    func `the program passes what comes from a host or goes to it, and nothing else`(count: Int) {
        var hosts: [IPAddress] = []
        for number in 0..<count {
            hosts.append(number % 2 == 0 ? .v4(0xC000_0201 + UInt32(number)) : .v6(2 << 112 | UInt128(number)))
        }
        let code = CaptureProgram(hosts).code
        for host in hosts {
            let stranger = host.family == .ipv4 ? IPAddress.v4(0x0A00_0001) : .v6(1)
            for (from, to, passes) in [(host, stranger, true), (stranger, host, true), (stranger, stranger, false)] {
                #expect(Self.run(code, Self.packet(from, to, 6, Self.ports)) == passes)
            }
        }
        #expect(!Self.run(code, [0x10] + [UInt8](repeating: 0, count: 60)))
        #expect(code.allSatisfy { $0 >> 48 != 0 })
    }
}

@Suite(.inNamespace) struct PacketWitnessTests {
    /// Sends one echo request while a witness runs.
    private static func watch(_ network: ProbeNetwork, _ address: String) async throws -> (Bool, WitnessResult) {
        let host = ScopedAddress(try #require(IPAddress(address)))
        var seen: WitnessResult?
        var answered: Bool?
        let witness = ProbeRunner(PacketWitness([host.address], limit: .milliseconds(800)), loop: network.loop) {
            result,
            _ in
            seen = result
        }
        let train = PacketTrain(.echo, to: host, count: 2, pace: .milliseconds(20), timeout: .milliseconds(300))
        let probe = ProbeRunner(train, loop: network.loop) { result, _ in answered = result.received > 0 }
        await network.loop.eventually { seen != nil && answered != nil }
        withExtendedLifetime((witness, probe)) {}
        let result: WitnessResult = try #require(seen)
        return (answered == true, result)
    }

    @Test(arguments: [ProbeNetwork.peer4, ProbeNetwork.peer6], ["", "input", "output"])
    func `it shows what this machine drops on its way in, and what never leaves`(
        address: String,
        hook: String
    ) async throws {
        let network = try ProbeNetwork()
        if !hook.isEmpty {
            let kinds = hook == "input" ? ["echo-reply", "echo-reply"] : ["echo-request", "echo-request"]
            try ProbeNetwork.filter(
                network.near,
                hook: hook,
                ["icmp type \(kinds[0]) drop", "icmpv6 type \(kinds[1]) drop"]
            )
        }
        let (isAnswered, seen) = try await Self.watch(network, address)
        let echo = WitnessResult.Exchange(try #require(IPAddress(address)), 1, port: 0)
        #expect(seen.isOpen && isAnswered == hook.isEmpty)
        #expect(seen.sent == (hook == "output" ? [] : [echo]))
        #expect(seen.returned == (hook == "output" ? [] : [echo]))
    }

    @Test func `a QUIC server is answered for by its list of versions, a closed port by ICMP, a filter by nothing`()
        async throws
    {
        let network = try ProbeNetwork()
        let server = try network.servePython(
            """
            import socket
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            s.bind(("192.0.2.2", 443))
            while True:
                query, peer = s.recvfrom(2000)
                if len(query) >= 1200:
                    s.sendto(b"\\x80" + bytes(4) + query[14:23] + query[5:14] + bytes([0, 0, 0, 1]), peer)
            """
        )
        let address = ScopedAddress(try #require(IPAddress(ProbeNetwork.peer4)))
        try await network.loop.eventually("the port") { try network.far.run("ss -Hlun sport = :443").contains(":443") }
        #expect(try await network.run(QUICProbe(SocketAddress(address, port: 443))).result == .answered)
        #expect(try await network.run(QUICProbe(SocketAddress(address, port: 444))).result == .refused)
        try ProbeNetwork.filter(network.far, hook: "input", ["udp dport 443 drop"])
        #expect(try await network.run(QUICProbe(SocketAddress(address, port: 443))).result == .silent)
        server.signal(9)
    }
}
