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

    @Test func `what is cut, or no packet of IP, is none`() {
        let whole = Self.packet(Self.other, Self.host, 6, Self.ports)
        for count in 0..<24 { #expect(Self.head(Array(whole.prefix(count))) == nil) }
        #expect(Self.head(Self.packet(Self.other, Self.host, 47, Self.ports)) == nil)
        #expect(Self.head([UInt8](repeating: 0xFF, count: 60)) == nil)
        var short = whole
        short[0] = 0x44
        #expect(Self.head(short) == nil)
        var fragment = whole
        fragment[7] = 1
        #expect(Self.head(fragment) == nil)
        #expect(Self.head(Self.packet(Self.other, Self.host, 1, Self.ports)) == nil)
    }

    private static func event(_ source: IPAddress, _ hasGap: Bool = false, port: Int = 1) -> ProbeEvent {
        var packet = ReceivedPacket(
            bytes: Self.packet(source, Self.other, 6, [1, 0xBB, UInt8(port >> 8), UInt8(port & 0xFF)])
        )
        packet.hasGap = hasGap
        packet.interface = 2
        return .received(packet, socket: 0)
    }

    @Test func `nothing follows from a record with gaps, of a machine that is too busy, or of too many flows`() {
        let time = ProbeTime(boot: .zero, wall: 0)
        func record(_ events: [ProbeEvent]) -> WitnessResult {
            var witness = PacketWitness([Self.host], limit: .seconds(1))
            for event in [.opened(socket: 0, SocketState())] + events { _ = witness.handle(event, at: time) }
            return witness.result
        }
        let one = record([Self.event(Self.host), Self.event(Self.host6), .timedOut(isDelayed: false)])
        #expect(one.isComplete && one.sent.isEmpty)
        #expect(one.returned == [.init(host: Self.host, transport: 6, port: 443, ownPort: 1, interface: 2)])
        #expect(!record([Self.event(Self.host, true)]).isComplete)
        #expect(!record([.timedOut(isDelayed: true)]).isComplete)
        let many = record((0..<PacketWitness.mostFlows + 1).map { Self.event(Self.host, port: $0) })
        #expect(!many.isComplete && many.returned.count == PacketWitness.mostFlows)
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
    private static let port: UInt16 = 7007

    /// Sends datagrams that are sent back while a witness runs, and returns the local port if none came.
    private static func run(_ network: ProbeNetwork, _ address: String) async throws -> (WitnessResult, Set<UInt16>) {
        let host = ScopedAddress(try #require(IPAddress(address)))
        var seen: WitnessResult?
        var ports: Set<UInt16>?
        let witness = ProbeRunner(PacketWitness([host.address], limit: .milliseconds(500)), loop: network.loop) {
            result,
            _ in
            seen = result
        }
        let kind = TrainKind.datagram(port: port)
        let train = PacketTrain(kind, to: host, count: 2, pace: .milliseconds(20), timeout: .milliseconds(600))
        let probe = ProbeRunner(train, loop: network.loop) { ports = $1.silentPorts }
        await network.loop.eventually { seen != nil && ports != nil }
        withExtendedLifetime((witness, probe)) {}
        return (try #require(seen), try #require(ports))
    }

    @Test(arguments: [ProbeNetwork.peer4, ProbeNetwork.peer6], ["", "input", "output"])
    func `it shows what this machine drops of what arrives, and what never leaves`(
        address: String,
        hook: String
    ) async throws {
        let network = try ProbeNetwork()
        let server = try network.servePython(
            """
            import socket
            s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
            s.bind(("::", \(Self.port)))
            while True:
                data, peer = s.recvfrom(2048)
                s.sendto(data, peer)
            """
        )
        defer { withExtendedLifetime(server) {} }
        try await network.loop.eventually("the server") {
            try network.far.run("ss -Hlun sport = :\(Self.port)").contains(":\(Self.port)")
        }
        if !hook.isEmpty {
            let direction = hook == "input" ? "sport" : "dport"
            try ProbeNetwork.filter(network.near, hook: hook, ["udp \(direction) \(Self.port) drop"])
        }
        var (seen, ports) = try await Self.run(network, address)
        // A machine that is too busy records nothing.
        for _ in 0..<20 where !seen.isComplete { (seen, ports) = try await Self.run(network, address) }
        #expect(seen.isComplete && seen.sent.isEmpty == (hook == "output") && seen.returned == seen.sent)
        #expect(ports.isEmpty == hook.isEmpty)
        if hook == "input" { #expect(Set(seen.sent.map(\.ownPort)) == ports) }
        #expect(seen.sent.allSatisfy { $0.port == Self.port && $0.transport == 17 && $0.interface > 1 })
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
