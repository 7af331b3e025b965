// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import Testing

@testable import MulticastDNS

private let lamp = MadeUpService()

/// A zone that never meets a socket.
private struct Bench {
    var zone: Zone

    init(_ family: AddressFamily = .ipv4, mtu: Int = 1500) {
        zone = Zone(family, settings: MulticastSettings(), mtu: mtu, random: RandomSource(seed: 7))
    }

    mutating func receive(_ message: Message, port: UInt16 = 5353, at seconds: Double = 0) -> Zone.Reception {
        receive(message.encoded() ?? [], port: port, at: seconds)
    }

    mutating func receive(_ bytes: [UInt8], port: UInt16 = 5353, at seconds: Double = 0) -> Zone.Reception {
        let origin = PacketOrigin(source: .v4(0xC000_0203), port: port)
        return zone.receive(bytes.span, from: origin, at: time(seconds), activeQueries: ActiveQueries())
    }

    func knows(_ record: ResourceRecord, at seconds: Double = 0) -> Bool {
        zone.cache.records(RecordKey(record.name, record.type), at: time(seconds)).contains { $0.data == record.data }
    }
}

private func response(_ records: [ResourceRecord], flags: Message.Flags = [.response, .authoritative]) -> Message {
    Message(flags: flags, answers: records)
}

@Suite struct ZoneReceptionTests {
    @Test func `uses answers and additionals of every response, asked for or not`() throws {
        var bench = Bench()
        let message = Message(
            id: 77,
            flags: [.response, .authoritative],
            questions: [Question(lamp.typeName, .ptr)],
            answers: [lamp.pointer],
            authorities: [lamp.textRecord],
            additionals: [lamp.location]
        )
        guard case .response(_, let changed) = bench.receive(message) else {
            Issue.record("a response was not taken for one")
            return
        }
        #expect(changed.map(\.type) == [.ptr, .srv])
        #expect(bench.knows(lamp.pointer) && bench.knows(lamp.location) && !bench.knows(lamp.textRecord))
        guard case .response(_, let again) = bench.receive(message) else { return }
        #expect(again.isEmpty)
    }

    @Test(
        arguments: [
            (UInt16(0x8400), UInt16(5353), true), (0x8000, 5353, true), (0x8600, 5353, true), (0x8780, 5353, true),
            (0x8400, 5354, false), (0x8400, 53, false), (0x8C00, 5353, false), (0x8403, 5353, false),
            (0xA400, 5353, false),
            (0x0400, 5353, false),
        ] as [(UInt16, UInt16, Bool)]
    )
    func `uses responses from port 5353 without operation or error`(flags: UInt16, port: UInt16, used: Bool) {
        var bench = Bench()
        _ = bench.receive(response([lamp.pointer], flags: .init(rawValue: flags)), port: port)
        #expect(bench.knows(lamp.pointer) == used)
    }

    @Test func `never caches what a query claims to know`() {
        var bench = Bench()
        let query = Message(
            questions: [Question(lamp.typeName, .ptr)],
            answers: [lamp.pointer],
            authorities: [lamp.location],
            additionals: [lamp.textRecord]
        )
        guard case .query = bench.receive(query) else {
            Issue.record("a query was not taken for one")
            return
        }
        #expect(bench.zone.cache.count == 0)
    }

    @Test func `tells malformed packets`() {
        var bench = Bench()
        guard case .malformed(.truncated) = bench.receive([0, 0, 0]) else {
            Issue.record("three bytes were taken for a message")
            return
        }
    }

    @Test func `takes its own packet for an echo, once`() throws {
        var bench = Bench()
        bench.zone.query(Question(lamp.typeName, .ptr), times: 1, at: time(0))
        let packet = try #require(bench.zone.packets(at: time(0.2)).first?.bytes)
        guard case .echo = bench.receive(packet) else {
            Issue.record("the echo was not recognised")
            return
        }
        // Another host on the link asks just the same.
        guard case .query = bench.receive(packet) else {
            Issue.record("a foreign query was taken for an echo")
            return
        }
    }

    @Test(arguments: [
        (AddressFamily.ipv4, 1500, 1472), (.ipv6, 1500, 1452), (.ipv4, 1280, 1252), (.ipv4, 65536, 8972),
        (.ipv6, 0, 512),
        (.ipv6, 9000, 8952),
    ])
    func `packets fit the link`(family: AddressFamily, mtu: Int, limit: Int) {
        #expect(Bench(family, mtu: mtu).zone.payloadLimit == limit)
    }
}

@Suite struct ZoneSuppressionTests {
    private let question = Question(lamp.typeName, .ptr)

    /// Whether our question is still asked soon after another host sent `query`.
    private func asks(after query: Message, port: UInt16 = 5353, knowing known: [ResourceRecord] = []) -> Bool {
        var bench = Bench()
        if !known.isEmpty { _ = bench.receive(response(known)) }
        bench.zone.query(question, times: 3, at: time(0))
        _ = bench.receive(query, port: port)
        return !bench.zone.packets(at: time(0.2)).isEmpty
    }

    @Test func `a foreign question replaces ours`() {
        #expect(!asks(after: Message(questions: [question])))
        #expect(asks(after: Message(questions: [])))
    }

    @Test func `not when it wants a unicast answer, is another question, or comes from another port`() {
        var unicast = question
        unicast.wantsUnicast = true
        #expect(asks(after: Message(questions: [unicast])))
        #expect(asks(after: Message(questions: [Question(lamp.typeName, .txt)])))
        #expect(asks(after: Message(questions: [question]), port: 40000))
    }

    @Test func `only when it knows nothing that we do not know`() {
        #expect(asks(after: Message(questions: [question], answers: [lamp.pointer])))
        #expect(!asks(after: Message(questions: [question], answers: [lamp.pointer]), knowing: [lamp.pointer]))
        #expect(!asks(after: Message(questions: [question]), knowing: [lamp.pointer]))
    }

    @Test func `not when more known answers follow, nor when it probes`() {
        #expect(asks(after: Message(flags: .truncated, questions: [question])))
        #expect(asks(after: Message(questions: [question], authorities: [lamp.location])))
    }

    @Test func `two unanswered questions of others end a record after ten seconds`() {
        var bench = Bench()
        _ = bench.receive(response([lamp.pointer]))
        _ = bench.receive(Message(questions: [question]), at: 100)
        _ = bench.receive(Message(questions: [question], answers: [lamp.pointer]), at: 101)
        #expect(bench.zone.cache.advance(to: time(111), activeQueries: ActiveQueries()).lost.isEmpty)
        // The first was long ago; two that follow each other count.
        _ = bench.receive(Message(questions: [question]), at: 112)
        _ = bench.receive(Message(questions: [question]), at: 114)
        #expect(bench.zone.cache.advance(to: time(121.9), activeQueries: ActiveQueries()).lost.isEmpty)
        #expect(bench.zone.cache.advance(to: time(122), activeQueries: ActiveQueries()).lost.count == 1)
    }

    @Test func `our packets list what we know`() throws {
        var bench = Bench()
        _ = bench.receive(response([lamp.pointer]))
        bench.zone.query(question, times: 1, at: time(10))
        let packet = try #require(bench.zone.packets(at: time(10.2)).first?.bytes)
        let message = try Message(parsing: packet.span)
        #expect(message.answers.map(\.data) == [lamp.pointer.data])
        #expect(message.answers.first?.timeToLive == 4489)
        #expect(message.questions == [question] && message.id == 0 && message.flags == [])
    }
}

@Suite struct ZoneUnicastTests {
    private let question = Question(lamp.typeName, .ptr)
    private let near = PacketOrigin(source: .v4(0xC000_0203), port: 5353, wasMulticast: false)

    /// A zone as the sole owner of the port that has just asked, and what it asked.
    private func asked(welcomes: Bool = true) throws -> (bench: Bench, query: Message) {
        var bench = Bench()
        bench.zone.linkCameUp(welcomesUnicast: welcomes, at: time(0))
        bench.zone.query(question, times: .max, at: time(0))
        let packet = try #require(bench.zone.packets(at: time(0.2)).first?.bytes)
        return (bench, try Message(parsing: packet.span))
    }

    @Test(arguments: [true, false])
    func `welcomes unicast in the first questions after link-up, if they reach us`(welcomes: Bool) throws {
        var (bench, first) = try asked(welcomes: welcomes)
        #expect(first.questions.map(\.wantsUnicast) == [welcomes])
        bench.zone.query(Question(lamp.instance, .srv), times: 1, at: time(0.2))
        let second = try #require(bench.zone.packets(at: time(1.3)).first?.bytes)
        #expect(try Message(parsing: second.span).questions.allSatisfy { !$0.wantsUnicast })
        bench.zone.resume(at: time(100))
        let third = try #require(bench.zone.packets(at: time(100.2)).first?.bytes)
        #expect(try Message(parsing: third.span).questions.allSatisfy { $0.wantsUnicast == welcomes })
    }

    @Test(
        arguments: [
            // Whether it is on this link, when it comes, what it answers, and whether it is taken.
            (true, 0.3, lamp.pointer, true), (true, 2.19, lamp.pointer, true), (true, 2.3, lamp.pointer, false),
            (false, 0.3, lamp.pointer, false), (true, 0.3, lamp.location, false), (true, 0.3, lamp.enumeration, false),
        ] as [(Bool, Double, ResourceRecord, Bool)]
    )
    func `takes by unicast what answers a question of the last two seconds, from this link`(
        isOnLink: Bool,
        seconds: Double,
        record: ResourceRecord,
        isTaken: Bool
    ) throws {
        var (bench, _) = try asked()
        var origin = near
        origin.isOnLink = isOnLink
        let bytes = try #require(response([record]).encoded())
        let reception = bench.zone.receive(bytes.span, from: origin, at: time(seconds), activeQueries: ActiveQueries())
        if case .response = reception { #expect(isTaken) } else { #expect(!isTaken) }
        #expect(bench.knows(record, at: seconds) == isTaken)
    }

    @Test func `takes nothing by unicast that it did not ask for so`() throws {
        var (bench, _) = try asked(welcomes: false)
        let bytes = try #require(response([lamp.pointer]).encoded())
        guard case .ignored = bench.zone.receive(bytes.span, from: near, at: time(0.3), activeQueries: ActiveQueries())
        else {
            Issue.record("an answer by unicast was taken")
            return
        }
        // By multicast it is, wherever it seems to come from.
        let far = PacketOrigin(source: .v4(0x0808_0808), port: 5353, isOnLink: false)
        guard case .response = bench.zone.receive(bytes.span, from: far, at: time(0.3), activeQueries: ActiveQueries())
        else {
            Issue.record("a multicast answer was dropped for its source")
            return
        }
    }

    @Test func `a query by unicast is no sign of what others ask`() throws {
        var bench = Bench()
        bench.zone.query(question, times: 3, at: time(0))
        let bytes = try #require(Message(questions: [question]).encoded())
        _ = bench.zone.receive(bytes.span, from: near, at: time(0), activeQueries: ActiveQueries())
        #expect(!bench.zone.packets(at: time(0.2)).isEmpty)
    }

    @Test func `a link that came up is asked at once, whatever gap had been reached`() {
        var bench = Bench()
        bench.zone.query(question, times: .max, at: time(0))
        var packets = 0
        for second in 0..<300 { packets += bench.zone.packets(at: time(Double(second))).count }
        #expect(packets == 9)
        bench.zone.linkCameUp(welcomesUnicast: false, at: time(300))
        #expect(bench.zone.packets(at: time(300.2)).count == 1)
        #expect(bench.zone.packets(at: time(301.3)).count == 1 && bench.zone.packets(at: time(303.4)).count == 1)
    }

    @Test func `what we announce ourselves is known to our own clients`() throws {
        var bench = Bench()
        var set = RecordSet(id: .init(rawValue: 1))
        set.shared = [lamp.pointer]
        bench.zone.responder.publish(set, at: time(0))
        var heard: [ResourceRecord] = []
        for tick in 0..<40 {
            for packet in bench.zone.packets(at: time(Double(tick) / 10)) {
                guard case .echo(_?, let changed) = bench.receive(packet.bytes, at: Double(tick) / 10) else { continue }
                heard += changed
            }
        }
        #expect(heard.map(\.data) == [lamp.pointer.data] && bench.knows(lamp.pointer, at: 4))
    }

    @Test(arguments: [
        ("192.0.2.77", true), ("192.0.3.1", false), ("169.254.9.9", true), ("10.1.2.3", true), ("11.0.0.1", false),
        ("fe80::9", true), ("2001:db8::9", true), ("2001:db8:1::9", false), ("198.51.100.1", false), ("::1", false),
    ])
    func `knows which sources are on the link`(source: String, isOnLink: Bool) throws {
        let prefixes = [("192.0.2.1", 24), ("10.0.0.1", 8), ("198.51.100.7", 32), ("fe80::1", 64), ("2001:db8::1", 64)]
        let addresses = try prefixes.map { text, length in
            MulticastInterface.Address(try #require(IPAddress(text)), prefixLength: length)
        }
        let interface = MulticastInterface(index: 1, name: "v0", addresses: addresses)
        #expect(interface.isOnLink(try #require(IPAddress(source))) == isOnLink)
    }
}
