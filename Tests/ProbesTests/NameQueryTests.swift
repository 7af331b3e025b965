// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import Testing

@testable import Probes

@Suite struct NameQueryTests {
    private static func query(_ record: ServerQuestion.Record = .a) throws -> NameQuery {
        try #require(NameQuery("www.example.test", record: record, id: 0xBEEF))
    }

    /// An answer with the records of a name server.
    private static func answer(
        _ query: NameQuery,
        id: UInt16? = nil,
        flags: UInt16 = 0x8180,
        question: Question? = nil,
        _ records: [ResourceRecord] = []
    ) -> [UInt8] {
        var encoder = MessageEncoder(id: id ?? query.id, flags: Message.Flags(rawValue: flags))
        let types: [ServerQuestion.Record: RecordType] = [
            .a: .a, .aaaa: .aaaa, .text: .txt, .nameServers: .ns,
        ]
        let type = types[query.record] ?? .any
        _ = encoder.append(question ?? Question(query.name, type))
        for record in records { _ = encoder.append(record) }
        return encoder.finish()
    }

    private static func address(_ text: String) throws -> IPAddress { try #require(IPAddress(text)) }

    @Test func `the question is that of any resolver`() throws {
        let bytes = try Self.query().bytes
        let header: [UInt8] = [0xBE, 0xEF, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]
        let name = Array("\u{3}www\u{7}example\u{4}test\u{0}".utf8)
        let question: [UInt8] = [0, 1, 0, 1]
        #expect(bytes == header + name + question)
        #expect(try Self.query(.aaaa).bytes.suffix(4) == [0, 28, 0, 1])
        #expect(NameQuery("example.test.", record: .a, id: 1)?.name == DomainName("example.test"))
        #expect(NameQuery(String(repeating: "a", count: 64), record: .a, id: 1) == nil)
    }

    @Test func `addresses are an answer, after an alias too`() throws {
        let query = try Self.query()
        let one = try Self.address("192.0.2.80")
        let record = ResourceRecord(query.name, .a, .address(one), timeToLive: 60)
        #expect(query.verdict(Self.answer(query, [record])) == .addresses([one]))
        let other = try #require(DomainName("web.example.test"))
        let alias = ResourceRecord(query.name, .cname, .alias(other), timeToLive: 60)
        let behind = ResourceRecord(other, .a, .address(one), timeToLive: 60)
        #expect(query.verdict(Self.answer(query, [alias, behind])) == .addresses([one]))
        #expect(query.verdict(Self.answer(query, [alias])) == .failed("the name has no A record"))
    }

    @Test func `the record of the wrong type is none`() throws {
        let query = try Self.query(.aaaa)
        let record = ResourceRecord(query.name, .a, .address(try Self.address("192.0.2.80")), timeToLive: 60)
        #expect(query.verdict(Self.answer(query, [record])) == .failed("the name has no AAAA record"))
    }

    @Test func `strings are counted, whatever else comes with them`() throws {
        let query = try Self.query(.text)
        #expect(query.bytes.suffix(4) == [0, 16, 0, 1])
        let text = ResourceRecord(query.name, .txt, .text([3] + "abc".utf8), timeToLive: 60)
        let other = ResourceRecord(query.name, .a, .address(try Self.address("192.0.2.80")), timeToLive: 60)
        #expect(query.reply(Self.answer(query, [text, other, text])) == .text(bytes: 8, isCut: false))
        #expect(query.reply(Self.answer(query, flags: 0x8380)) == .text(bytes: 0, isCut: true))
        #expect(query.verdict(Self.answer(query, [text])) == .addresses([]))
        #expect(query.verdict(Self.answer(query)) == .failed("the name has no TXT record"))
        #expect(query.verdict(Self.answer(query, flags: 0x8380)) == .failed("truncated response"))
        #expect(NameReply(.text(bytes: 8, isCut: false)) == .text(bytes: 8, isCut: false))
        #expect(ServerQuestion.Record.allCases == [.a, .aaaa])
    }

    @Test func `a server that finds out the name servers of the root is in order`() throws {
        let query = try #require(NameQuery(".", record: .nameServers, id: 0xBEEF))
        #expect(query.bytes.suffix(5) == [0, 0, 2, 0, 1] && query.name == DomainName())
        #expect(query.verdict(Self.answer(query)) == .failed("the name has no NS record"))
        #expect(query.verdict(Self.answer(query, flags: 0x8380)) == .addresses([]), "it is cut, and there")
        #expect(query.verdict(Self.answer(query, flags: 0x8183)) == .failed("no such name (NXDOMAIN)"))
        #expect(query.verdict(Self.answer(query, flags: 0x8182)) == .failed("server failure (SERVFAIL)"))
        let refused = NameQuery.Meaning.failed("the server refused the query (REFUSED)")
        #expect(query.verdict(Self.answer(query, flags: 0x8185)) == refused)
        #expect(query.verdict(Self.answer(query, id: 1)) == .foreign)
    }

    @Test func `a zone's own server knows a name that it denies, and a forwarder without others does not`() throws {
        var query = try Self.query()
        query.acceptsDenial = true
        let start = ResourceRecord(query.name, .soa, .opaque([UInt8](repeating: 0, count: 22)), timeToLive: 60)
        func denial(_ flags: UInt16, _ authorities: [ResourceRecord] = []) throws -> [UInt8] {
            var message = try Message(parsing: Self.answer(query, flags: flags).span)
            message.authorities = authorities
            return try #require(message.encoded())
        }
        #expect(query.verdict(try denial(0x8183, [start])) == .addresses([]))
        #expect(query.verdict(try denial(0x8180, [start])) == .addresses([]))
        #expect(query.verdict(try denial(0x8183)) == .failed("no such name (NXDOMAIN)"))
        #expect(query.verdict(try denial(0x8180)) == .failed("the name has no A record"))
        #expect(query.verdict(try denial(0x8185, [start])) == .failed("the server refused the query (REFUSED)"))
    }

    @Test(arguments: [(1, "FORMERR"), (2, "SERVFAIL"), (3, "NXDOMAIN"), (4, "NOTIMP"), (5, "REFUSED"), (9, "code 9")])
    func `codes are told by their names`(code: UInt16, word: String) throws {
        let query = try Self.query()
        guard case .failed(let text) = query.verdict(Self.answer(query, flags: 0x8180 | code)) else {
            Issue.record("code \(code) is no failure")
            return
        }
        #expect(text.contains(word))
    }

    @Test func `a failure need not repeat the question`() throws {
        let query = try Self.query()
        let head: [UInt8] = [0xBE, 0xEF, 0x81, 0x82, 0, 0, 0, 0, 0, 0, 0, 0]
        #expect(query.verdict(head) == .failed(NameQuery.text(of: 2)))
        let good: [UInt8] = [0xBE, 0xEF, 0x81, 0x80, 0, 0, 0, 0, 0, 0, 0, 0]
        #expect(query.verdict(good) == .foreign)
    }

    @Test func `an answer that was cut off says so`() throws {
        let query = try Self.query()
        #expect(query.verdict(Self.answer(query, flags: 0x8380)) == .failed("truncated response"))
    }

    @Test func `what answers another question is not looked at`() throws {
        let query = try Self.query()
        let record = ResourceRecord(query.name, .a, .address(try Self.address("192.0.2.66")), timeToLive: 60)
        #expect(query.verdict(Self.answer(query, id: 0xBEEE, [record])) == .foreign)
        #expect(query.verdict(Self.answer(query, flags: 0x0100, [record])) == .foreign)
        #expect(query.verdict(Self.answer(query, flags: 0xA180, [record])) == .foreign)
        let other = Question(try #require(DomainName("bank.example.test")), .a)
        #expect(query.verdict(Self.answer(query, question: other, [record])) == .foreign)
        #expect(query.verdict(Self.answer(query, question: Question(query.name, .aaaa), [record])) == .foreign)
    }

    @Test func `bytes that cannot be read are foreign, or a wrong answer when the head is ours`() throws {
        let query = try Self.query()
        #expect(query.verdict(([] as [UInt8])) == .foreign)
        #expect(query.verdict(([0xBE, 0xEF] as [UInt8])) == .foreign)
        let cut: [UInt8] = [0xBE, 0xEF, 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0, 63]
        #expect(query.verdict(cut) == .failed("malformed response"))
        #expect(query.verdict(([0, 0] + cut.dropFirst(2))) == .foreign)
    }

    @Test func `answers changed at random do no harm`() throws {
        let query = try Self.query()
        let record = ResourceRecord(query.name, .a, .address(try Self.address("192.0.2.80")), timeToLive: 60)
        let whole = Self.answer(query, [record])
        for _ in 0..<5000 {
            var bytes = whole
            for _ in 0..<Int.random(in: 1...4) { bytes[Int.random(in: bytes.indices)] = .random(in: .min ... .max) }
            _ = query.verdict(Array(bytes.prefix(.random(in: 0...bytes.count))))
        }
    }
}

@Suite struct LengthPrefixedTests {
    @Test func `messages come out whole, however they arrive`() {
        let messages: [[UInt8]] = [[1], [], Array(repeating: 7, count: 700)]
        let all = messages.flatMap(LengthPrefixed.frame)
        for size in [1, 2, 3, 100, all.count] {
            var stream = LengthPrefixed()
            var found: [[UInt8]] = []
            for start in Swift.stride(from: 0, to: all.count, by: size) {
                stream.append(Array(all[start..<min(start + size, all.count)]))
                while let message = stream.next() { found.append(message) }
            }
            #expect(found == messages)
        }
    }

    @Test func `a length without its message waits`() {
        var stream = LengthPrefixed()
        stream.append([0xFF])
        #expect(stream.next() == nil)
        stream.append([0xFF, 1, 2, 3])
        #expect(stream.next() == nil)
    }
}

extension NameQueryTests {
    @Test func `a reply is read without judging it`() throws {
        let query = try Self.query()
        let one = try Self.address("192.0.2.80")
        let record = ResourceRecord(query.name, .a, .address(one), timeToLive: 60)
        #expect(query.reply(Self.answer(query, [record])) == .addresses([one], isCut: false))
        #expect(query.reply(Self.answer(query)) == .addresses([], isCut: false))
        #expect(query.reply(Self.answer(query, flags: 0x8380)) == .addresses([], isCut: true))
        #expect(query.reply(Self.answer(query, flags: 0x8183)) == .refused(code: 3))
        #expect(query.reply(Self.answer(query, id: 1)) == .foreign)
        #expect(query.reply([]) == .foreign)
        #expect(query.reply(Array(Self.answer(query, [record]).dropLast(3))) == .unreadable)
    }

    @Test(arguments: [(1, "FORMERR"), (2, "SERVFAIL"), (4, "NOTIMP"), (5, "REFUSED"), (11, "code 11")])
    func `a reply has the name of its code`(code: UInt16, name: String) {
        #expect(NameReply(.refused(code: code)) == .failed(name))
        #expect(NameReply(.refused(code: 3)) == .noSuchName)
        #expect(NameReply(.foreign) == nil)
    }
}

extension NameQuery {
    /// As the query itself, for an array.
    fileprivate func reply(_ bytes: [UInt8]) -> Reply { read(bytes.span) }
    /// As the query itself, for an array: expectations cannot hold a span.
    fileprivate func verdict(_ bytes: [UInt8]) -> Meaning { evaluate(bytes.span) }
}
