// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import LinuxIO
import TestSupport
import Testing

@testable import MulticastDNS

private let lamp = MadeUpService()
private let browseQuestion = Question(lamp.typeName, .ptr)
private let response: Message.Flags = [.response, .authoritative]

/// The same name with its ASCII letters in upper case.
private func shouted(_ name: DomainName) throws -> DomainName {
    try DomainName(labels: name.labels.map { $0.map { (97...122).contains($0) ? $0 & 0xDF : $0 } })
}

@Suite(.inNamespace) struct QuerierWireTests {
    @Test(arguments: [
        ("Dr. A\\b", "Dr. A\\\\b"), ("Ärger\u{1B}[31m\n", "Ärger\\027[31m\\010"),
        (String(repeating: "x", count: 63), String(repeating: "x", count: 63)),
    ])
    func `N3 to N7, F5: a name of any bytes, below an odd type, in any case of letters, is one service`(
        name: String,
        shown: String
    ) async throws {
        let bench = try EngineBench(families: [.ipv4])
        var odd = lamp
        odd.name = name
        odd.type = "_An_odd-type_of_more_than_15._tcp"
        let loud = ResourceRecord(
            try shouted(odd.instance),
            .srv,
            odd.location.data,
            timeToLive: 120,
            flushesCache: true
        )
        // Compressed: the instance and its type stand once in it, but for what differs in case.
        bench.responder.set([odd.pointer, loud, odd.textRecord, odd.addressRecord])
        bench.browse(try shouted(odd.typeName))
        await bench.loop.eventually { bench.services.count == 1 }
        let service = try #require(bench.services.first)
        #expect(service.name == shown && service.instance.labels.first == Array(name.utf8))
        #expect(
            service.port == 80 && service.host == "lamp.local" && service.addresses == [ScopedAddress(lamp.address)]
        )
        #expect(bench.summary == ["found \(shown)", "resolved \(shown)"])
    }

    @Test func `Q5, Q18, F1, F3, F4: what comes unasked, with any id and flags, is used and not asked for`()
        async throws
    {
        let bench = try EngineBench(families: [.ipv4])
        // TC, RD, RA, AD, CD.
        let odd = Message.Flags(rawValue: 0x03B0)
        let message = Message(
            id: 0x4711,
            flags: response.union(odd),
            questions: [Question(DomainName("other.local") ?? DomainName(), .a)],
            answers: [lamp.pointer],
            additionals: [lamp.location, lamp.textRecord, lamp.addressRecord, lamp.denial]
        )
        bench.responder.send(message)
        await bench.loop.eventually { bench.counted(\.received) > 0 }
        bench.browse(lamp.typeName)
        #expect(bench.summary == ["found Lamp", "resolved Lamp"])
        await bench.loop.eventually { bench.responder.times(of: browseQuestion).count >= 2 }
        let asked = bench.responder.queries.flatMap(\.questions).map { RecordKey($0.name, $0.type) }
        #expect(Set(asked) == [RecordKey(lamp.typeName, .ptr)])
    }

    @Test func `Q7, C2: nothing is learned from queries, and nothing asked again that nobody wants`() async throws {
        let bench = try EngineBench(families: [.ipv4])
        bench.responder.send(Message(questions: [browseQuestion], answers: lamp.all))
        var other = lamp
        other.type = "_other._tcp"
        other.lifetime = 1
        bench.responder.announce([other.location, other.addressRecord])
        await bench.loop.eventually { bench.counted(\.received) >= 2 }
        let end = KernelClock().boot + .milliseconds(1200)
        await bench.loop.eventually { KernelClock().boot >= end }
        #expect(bench.responder.packets.isEmpty)
        bench.browse(lamp.typeName)
        await bench.loop.eventually { !bench.responder.packets.isEmpty }
        #expect(bench.summary.isEmpty && bench.responder.packets[0].message.answers.isEmpty)
    }

    @Test func `Q11: what has less than half of its life left is not listed as known`() async throws {
        let bench = try EngineBench(families: [.ipv4])
        var pointer = lamp.pointer
        pointer.timeToLive = 5
        bench.browse(lamp.typeName)
        await bench.loop.eventually { !bench.responder.packets.isEmpty }
        bench.responder.announce([pointer])
        let heard = KernelClock().boot
        await bench.loop.eventually { bench.responder.times(of: browseQuestion).count >= 3 }
        for packet in bench.responder.packets where packet.message.questions.contains(browseQuestion) {
            let age = packet.time - heard
            // Between the two it depends on when the question was written.
            if age > .milliseconds(2600) { #expect(packet.message.answers.isEmpty) }
            if age > .zero, age < .milliseconds(2200) { #expect(packet.message.answers.map(\.data) == [pointer.data]) }
        }
    }

    @Test func `Q16: an answer to the group is from this link, whatever its source address`() async throws {
        let bench = try EngineBench(families: [.ipv4])
        try bench.wire.peer.ip("address flush dev v1 scope global")
        try bench.wire.peer.ip("address add 198.51.100.7/24 dev v1")
        try bench.wire.peer.ip("route replace 224.0.0.0/4 dev v1")
        bench.browse(lamp.typeName)
        bench.responder.announce(lamp.all)
        await bench.loop.eventually { bench.summary == ["found Lamp", "resolved Lamp"] }
    }

    @Test func `C5, F9, F10: the top bit of the class is no part of it, other classes are no business of ours`()
        async throws
    {
        let bench = try EngineBench(families: [.ipv4])
        var chaos = lamp
        chaos.name = "Chaos"
        var foreign = chaos.pointer
        foreign.classCode = 3
        let options = ResourceRecord(DomainName(), .opt, .opaque([]), timeToLive: 0, classCode: 0x8001)
        var loud = lamp.pointer
        loud.flushesCache = true
        bench.browse(lamp.typeName)
        bench.responder.send(Message(flags: response, answers: [foreign, loud], additionals: [options]))
        await bench.loop.eventually { !bench.summary.isEmpty }
        #expect(bench.summary == ["found Lamp"])
    }

    @Test func `D6 to D8, D12: the first of equal keys counts, values are bytes, and port 0 is no offer`() async throws
    {
        let bench = try EngineBench(families: [.ipv4])
        var nothing = lamp
        nothing.name = "Nothing"
        nothing.port = 0
        var silent = lamp
        silent.name = "Silent"
        let strings: [[UInt8]] = [
            Array("=x".utf8), Array("Key=1".utf8), Array("key=2".utf8), Array("flag".utf8), Array("empty=".utf8),
            [0x62, 0x3D, 0, 0xFF],
        ]
        let text = ResourceRecord(
            lamp.instance,
            .txt,
            .text(TextRecord(strings: strings).data),
            timeToLive: 120,
            flushesCache: true
        )
        let empty = ResourceRecord(silent.instance, .txt, .text([0]), timeToLive: 120, flushesCache: true)
        bench.browse(lamp.typeName)
        bench.responder.announce([
            nothing.pointer, nothing.location, nothing.textRecord, lamp.addressRecord, lamp.denial,
        ])
        bench.responder.announce([lamp.pointer, lamp.location, text, lamp.addressRecord])
        bench.responder.announce([silent.pointer, silent.location, empty, lamp.addressRecord])
        await bench.loop.eventually { bench.services.count == 2 }
        let full = try #require(bench.services.first { $0.name == "Lamp" })
        #expect(full.rawText == strings)
        #expect(
            full.text == [
                .init(key: "Key", value: [0x31]), .init(key: "flag", value: nil), .init(key: "empty", value: []),
                .init(key: "b", value: [0, 0xFF]),
            ]
        )
        #expect(bench.services.first { $0.name == "Silent" }?.text.isEmpty == true)
        #expect(bench.summary.contains("found Nothing") && !bench.summary.contains("resolved Nothing"))
    }
}
