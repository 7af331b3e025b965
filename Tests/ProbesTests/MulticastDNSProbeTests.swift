// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import Glibc
import LinuxIO
import TestSupport
import Testing

@testable import Probes

@Suite struct MulticastQuestionTests {
    private static let question = MulticastQuestion(peer: .v4(0xC000_0202))

    private static func message(
        _ names: [String],
        id: UInt16 = 0,
        flags: UInt16 = 0x8400,
        type: RecordType = .ptr
    ) throws -> [UInt8] {
        var encoder = MessageEncoder(id: id, flags: Message.Flags(rawValue: flags))
        for name in names {
            let target = try #require(DomainName("far.local"))
            let record = ResourceRecord(try #require(DomainName(name)), type, .pointer(target), timeToLive: 10)
            _ = encoder.append(record)
        }
        return encoder.finish()
    }

    private static func read(_ bytes: [UInt8], id: UInt16? = nil) -> MulticastQuestion.Reply {
        question.read(bytes.span, id: id)
    }

    @Test func `one message asks for services and for the name of the address`() throws {
        let bytes = Self.question.bytes(id: 7)
        let message = try Message(parsing: bytes.span)
        #expect(message.id == 7 && message.flags.rawValue == 0)
        #expect(
            message.questions.map { "\($0.name)" } == ["_services._dns-sd._udp.local", "2.2.0.192.in-addr.arpa"]
        )
        #expect(message.questions.allSatisfy { $0.type == .ptr && !$0.wantsUnicast })
        #expect(MulticastQuestion(peer: .v6(1)).bytes(id: 0).count < 200)
    }

    @Test func `an answer with the address's name is told from any other one`() throws {
        let types = "_services._dns-sd._udp.local"
        #expect(try Self.read(Self.message([types])) == .answer)
        #expect(try Self.read(Self.message([types, "2.2.0.192.in-addr.arpa"])) == .named)
        #expect(try Self.read(Self.message(["3.2.0.192.in-addr.arpa"])) == .answer)
        #expect(try Self.read(Self.message([types], id: 9), id: 9) == .answer)
    }

    @Test func `questions, failures, answers to others and nothing are foreign`() throws {
        let name = "2.2.0.192.in-addr.arpa"
        #expect(try Self.read(Self.message([name], flags: 0)) == .foreign)
        #expect(try Self.read(Self.message([name], flags: 0x8403)) == .foreign)
        #expect(try Self.read(Self.message([name], flags: 0x8C00)) == .foreign)
        #expect(try Self.read(Self.message([])) == .foreign && Self.read([]) == .foreign)
        #expect(try Self.read(Self.message([name], id: 8), id: 9) == .foreign)
    }

    @Test func `answers changed at random do no harm`() throws {
        let whole = try Self.message(["_services._dns-sd._udp.local", "2.2.0.192.in-addr.arpa"])
        for _ in 0..<10_000 {
            var bytes = whole
            for _ in 0..<Int.random(in: 1...5) { bytes[.random(in: bytes.indices)] = .random(in: 0...255) }
            _ = Self.read(Array(bytes.prefix(.random(in: 0...bytes.count))))
        }
    }
}

@Suite(.inNamespace) struct MulticastDNSProbeTests {
    /// A host that answers the group with the group and others alone, if its words say so: `named` with the name of its
    /// address.
    private static let responder = """
        import socket, struct, sys
        family = socket.AF_INET6 if "six" in sys.argv else socket.AF_INET
        s = socket.socket(family, socket.SOCK_DGRAM)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind(("", 5353))
        index = socket.if_nametoindex("eth1")
        if family == socket.AF_INET:
            s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton("224.0.0.251")
                         + struct.pack("@4sI", b"\\0" * 4, index))
            s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, struct.pack("@4s4sI", b"\\0" * 4, b"\\0" * 4, index))
            group = ("224.0.0.251", 5353)
        else:
            s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, socket.inet_pton(family, "ff02::fb")
                         + struct.pack("@I", index))
            group = ("ff02::fb", 5353, 0, index)
        def name(text): return b"".join(bytes([len(w)]) + w.encode() for w in text.split(".")) + b"\\0"
        def record(owner): return name(owner) + struct.pack("!HHIH", 12, 1, 10, 11) + name("far.local")
        reverse = "2.2.0.192.in-addr.arpa" if family == socket.AF_INET else "2." + "0." * 23 + "8.b.d.0.1.0.0.2.ip6.arpa"
        while True:
            q, peer = s.recvfrom(9000)
            if len(q) < 12 or q[2] & 0x80: continue
            owners = ["_services._dns-sd._udp.local"] + ([reverse] if "named" in sys.argv else [])
            answer = struct.pack("!HHHHH", 0x8400, 0, len(owners), 0, 0) + b"".join(map(record, owners))
            if peer[1] != 5353: s.sendto(q[:2] + answer, peer)
            else: s.sendto(b"\\0\\0" + answer, group)
        """

    private static func query(
        _ network: ProbeNetwork,
        _ peer: String = ProbeNetwork.peer4,
        limit: Duration = .seconds(20),
        index: Int? = nil
    ) async throws -> (result: MulticastDNSResult, traffic: ProbeTraffic) {
        let probe = MulticastDNSProbe(
            try #require(IPAddress(peer)),
            on: unsafe index ?? Int(if_nametoindex("eth0")),
            limit: limit
        )
        return try await network.run(probe)
    }

    private static func with(_ words: [String] = [], body: (ProbeNetwork) async throws -> Void) async throws {
        let network = try ProbeNetwork()
        let program = try network.serve(["python3", "-c", responder] + words)
        try await network.loop.eventually("the host") {
            try network.far.run("ss -Hlun sport = :5353").contains(":5353")
        }
        try await body(network)
        program.signal(9)
    }

    @Test func `a host that answers both ways ends the probe`() async throws {
        try await Self.with(["named"]) { network in
            let (result, traffic) = try await Self.query(network)
            #expect(result.answersUnicast == true && result.answersMulticast == true)
            #expect(traffic.bytesSent > 100 && traffic.bytesReceived > 100)
        }
    }

    @Test func `an address among several of IPv6 is known by its name`() async throws {
        try await Self.with(["six", "named"]) { network in
            let result = try await Self.query(network, ProbeNetwork.peer6).result
            #expect(result.answersUnicast == true && result.answersMulticast == true)
        }
    }

    @Test(arguments: ["input", "output"])
    func `what a filter drops that goes to all does not come back`(hook: String) async throws {
        try await Self.with { network in
            // Either the question or the answer does not come through.
            try ProbeNetwork.filter(network.far, hook: hook, ["ip daddr 224.0.0.251 drop"])
            let result = try await Self.query(network, limit: .milliseconds(1500)).result
            #expect(result.answersUnicast == true && result.answersMulticast == false)
        }
    }

    @Test func `a host that does not speak it is silent both ways`() async throws {
        let (result, traffic) = try await Self.query(try ProbeNetwork(), limit: .milliseconds(100))
        #expect(result.answersUnicast == false && result.answersMulticast == false && traffic.bytesReceived == 0)
    }

    @Test func `a filter of one's own leaves open what nobody was asked`() async throws {
        try await Self.with { network in
            try ProbeNetwork.filter(network.near, hook: "output", ["udp dport 5353 drop"])
            let result = try await Self.query(network, limit: .milliseconds(200)).result
            #expect(result.answersUnicast == nil && result.answersMulticast == nil)
        }
    }

    @Test func `an interface that is not there is not queried`() async throws {
        let network = try ProbeNetwork()
        let result = try await Self.query(network, index: 9999).result
        #expect(result.answersMulticast == nil)
    }

    @Test func `Avahi answers both ways`() async throws {
        let network = try ProbeNetwork()
        let folder = try Command.run(["mktemp", "-d"]).filter { !$0.isNewline }
        defer { _ = try? Command.run(["rm", "-r", folder]) }
        let settings =
            "[server]\nenable-dbus=no\nallow-interfaces=eth1\nhost-name=far\n[publish]\npublish-workstation=yes\n"
        try Command.run(["sh", "-c", "cat > \(folder)/avahi.conf"], input: settings)
        let start = """
            mkdir -p /run/avahi-daemon && mount -t tmpfs none /run/avahi-daemon && mount -t tmpfs none /etc/avahi/services
            exec avahi-daemon --no-drop-root --no-rlimits --no-chroot -f \(folder)/avahi.conf
            """
        let avahi = try network.serve(["unshare", "--mount", "sh", "-c", start])
        var result = MulticastDNSResult()
        // It answers once it is sure of its name.
        for _ in 0..<10 where result.answersMulticast != true || result.answersUnicast != true {
            result = try await Self.query(network, limit: .seconds(2)).result
        }
        #expect(result.answersUnicast == true && result.answersMulticast == true)
        avahi.signal(SIGTERM)
    }
}
