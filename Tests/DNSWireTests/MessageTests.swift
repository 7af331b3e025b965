// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import Testing

/// A response with one record of every type, and two questions.
func sample() throws -> Message {
    let host = try #require(DomainName("printer.local"))
    let type = try #require(DomainName("_ipp._tcp.local"))
    let instance = try #require(DomainName("Dr\\. No's._ipp._tcp.local"))
    let v6 = try #require(IPAddress("fe80::1"))
    return Message(
        id: 7,
        flags: [.response, .authoritative],
        questions: [Question(type, .ptr, wantsUnicast: true), Question(host, .any, classCode: 255)],
        answers: [
            ResourceRecord(type, .ptr, .pointer(instance), timeToLive: 4500),
            ResourceRecord(
                instance,
                .srv,
                .service(ServiceLocation(priority: 1, weight: 2, port: 631, target: host)),
                timeToLive: 120,
                flushesCache: true
            ),
            ResourceRecord(instance, .txt, .text([3, 97, 61, 49]), timeToLive: 4500, flushesCache: true),
        ],
        authorities: [ResourceRecord(host, .hinfo, .hostInformation(cpu: [65], system: []), timeToLive: 1)],
        additionals: [
            ResourceRecord(host, .a, .address(.v4(0xC000_0201)), timeToLive: 120, flushesCache: true),
            ResourceRecord(host, .aaaa, .address(v6), timeToLive: 120, flushesCache: true),
            ResourceRecord(
                host,
                .nsec,
                .nextSecure(next: host, types: [.a, .aaaa, RecordType(rawValue: 257)]),
                timeToLive: 120,
                flushesCache: true
            ),
            ResourceRecord(try #require(DomainName("alias.local")), .cname, .alias(host), timeToLive: .max),
            ResourceRecord(host, RecordType(rawValue: 9999), .opaque([1, 2, 3]), timeToLive: 0),
            ResourceRecord(DomainName(), .opt, .opaque([0, 4, 0, 0]), timeToLive: 0x1234, classCode: 0x85A0),
        ]
    )
}

func parse(_ bytes: [UInt8]) throws(WireError) -> Message { try Message(parsing: bytes.span) }

@Suite struct MessageTests {
    @Test(arguments: [true, false])
    func `reads what it wrote, for every type`(compressed: Bool) throws {
        let message = try sample()
        let bytes = try #require(message.encoded(compressesServiceTargets: compressed))
        let read = try parse(bytes)
        #expect(read == message)
    }

    @Test func `compresses names everywhere, SRV targets only when asked`() throws {
        let compressed = try #require(try sample().encoded())
        let legacy = try #require(try sample().encoded(compressesServiceTargets: false))
        #expect(legacy.count == compressed.count + "printer".utf8.count + 1 + "local".utf8.count + 2 - 2)
        let names = compressed.indices.dropLast(5).filter {
            Array(compressed[$0..<($0 + 6)]) == [5] + Array("local".utf8)
        }
        #expect(names.count == 1)
    }

    @Test func `compression keeps the case of names`() throws {
        let names = ["a.Local", "b.local", "c.LOCAL", "d.Local"].compactMap { DomainName($0) }
        let message = Message(questions: names.map { Question($0, .a) })
        let bytes = try #require(message.encoded())
        let read = try parse(bytes)
        #expect(read.questions.map(\.name.description) == ["a.Local", "b.local", "c.LOCAL", "d.Local"])
    }

    @Test func `separates the top bit from the class, but not for OPT`() throws {
        let bytes = try #require(try sample().encoded())
        let read = try parse(bytes)
        #expect(read.questions[0].wantsUnicast && read.questions[0].classCode == 1)
        #expect(!read.questions[1].wantsUnicast && read.questions[1].classCode == 255)
        #expect(read.answers.map(\.flushesCache) == [false, true, true])
        #expect(read.additionals.last?.classCode == 0x85A0)
        #expect(read.additionals.last?.flushesCache == false)
    }

    @Test func `reads flags`() {
        let flags = Message.Flags(rawValue: 0x8000 | 0x2800 | 0x0200 | 3)
        #expect(flags.contains(.response) && flags.contains(.truncated) && !flags.contains(.authoritative))
        #expect(flags.operation == 5)
        #expect(flags.responseCode == 3)
    }

    @Test(arguments: [
        (RecordType.any, UInt16(1), "h.local", true), (.a, 1, "H.local", true), (.a, 255, "h.local", true),
        (.aaaa, 1, "h.local", false), (.a, 3, "h.local", false), (.a, 1, "i.local", false),
    ])
    func `matches questions and records`(type: RecordType, code: UInt16, name: String, matches: Bool) throws {
        let host = try #require(DomainName("h.local"))
        let question = Question(try #require(DomainName(name)), type, classCode: code)
        let record = ResourceRecord(host, .a, .address(.v4(1)), timeToLive: 1)
        #expect(question.isAnswered(by: record) == matches)
    }

    @Test func `an encoder stops at its limit and takes back what does not fit`() throws {
        let type = try #require(DomainName("_x._tcp.local"))
        var encoder = MessageEncoder(flags: [], limit: 200)
        let isTaken = encoder.append(Question(type, .ptr))
        #expect(isTaken)
        var written = 0
        while true {
            let name = try #require(DomainName("instance-\(written)._x._tcp.local"))
            guard encoder.append(ResourceRecord(type, .ptr, .pointer(name), timeToLive: 1)) else { break }
            written += 1
        }
        let bytes = encoder.finish(truncated: true)
        let read = try parse(bytes)
        #expect(bytes.count == encoder.length && bytes.count <= 200 && written > 3)
        #expect(read.answers.count == written)
        #expect(encoder.count == written + 1)
        #expect(read.flags.contains(.truncated))
        // The rolled back name must not be the target of a later pointer.
        let small = ResourceRecord(DomainName(), .a, .address(.v4(1)), timeToLive: 1)
        if encoder.append(small) { #expect(try parse(encoder.finish()).answers.last == small) }
    }

    @Test func `an encoder refuses sections out of order`() throws {
        var encoder = MessageEncoder(flags: .response)
        let record = ResourceRecord(DomainName(), .a, .address(.v4(1)), timeToLive: 1)
        let taken = [
            encoder.append(record, to: .additional), encoder.append(record, to: .answer),
            encoder.append(Question(DomainName(), .a)), encoder.append(record, to: .question),
        ]
        #expect(taken == [true, false, false, false])
        #expect(encoder.count == 1)
    }

    @Test func `a whole message that is too long is refused`() throws {
        #expect(try sample().encoded(limit: 100) == nil)
    }
}
