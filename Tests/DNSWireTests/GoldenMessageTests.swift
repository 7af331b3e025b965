// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import Testing

/// Reads hexadecimal digits; spaces and line ends are for the reader.
private func hex(_ text: String) -> [UInt8] {
    let digits = text.filter { !$0.isWhitespace }.compactMap(\.hexDigitValue)
    return stride(from: 0, to: digits.count - 1, by: 2).map { (place: Int) -> UInt8 in
        UInt8(digits[place] << 4 | digits[place + 1])
    }
}

/// Messages written out by hand, byte for byte, so that reader and writer cannot share an error.
@Suite struct GoldenMessageTests {
    private let enumeration = """
        0000 0000 0001 0000 0000 0000
        09 5f7365727669636573 07 5f646e732d7364 04 5f756470 05 6c6f63616c 00 000c 0001
        """

    @Test func `the enumeration query`() throws {
        let name = try #require(DomainName("_services._dns-sd._udp.local"))
        let message = Message(questions: [Question(name, .ptr)])
        #expect(message.encoded() == hex(enumeration))
        #expect(try parse(hex(enumeration)) == message)
    }

    @Test func `a question for a unicast answer`() throws {
        let name = try #require(DomainName("a.local"))
        let message = Message(questions: [Question(name, .aaaa, wantsUnicast: true)])
        let bytes = hex("0000 0000 0001 0000 0000 0000 01 61 05 6c6f63616c 00 001c 8001")
        #expect(message.encoded() == bytes)
        #expect(try parse(bytes) == message)
    }

    /// The address response: flags 8400, cache-flush, TTL 120.
    @Test(arguments: [
        ("192.0.2.1", "0001 8001 00000078 0004 c0000201"),
        ("fe80::1", "001c 8001 00000078 0010 fe80 0000 0000 0000 0000 0000 0000 0001"),
    ])
    func `an address response`(text: String, record: String) throws {
        let address = try #require(IPAddress(text))
        let message = Message(
            flags: [.response, .authoritative],
            answers: [
                ResourceRecord(
                    try #require(DomainName("a.local")),
                    address.family == .ipv4 ? .a : .aaaa,
                    .address(address),
                    timeToLive: 120,
                    flushesCache: true
                )
            ]
        )
        let bytes = hex("0000 8400 0000 0001 0000 0000 01 61 05 6c6f63616c 00" + record)
        #expect(message.encoded() == bytes)
        #expect(try parse(bytes) == message)
    }

    /// PTR at 12: _x 12, _tcp 15, local 20; the instance at 37 points to 12; SRV names it by 37, its target ends at 20.
    @Test func `a service with every name compressed`() throws {
        let type = try #require(DomainName("_x._tcp.local"))
        let instance = try #require(DomainName("I._x._tcp.local"))
        let host = try #require(DomainName("h.local"))
        let message = Message(
            flags: [.response, .authoritative],
            answers: [ResourceRecord(type, .ptr, .pointer(instance), timeToLive: 4500)],
            additionals: [
                ResourceRecord(
                    instance,
                    .srv,
                    .service(ServiceLocation(priority: 1, weight: 2, port: 80, target: host)),
                    timeToLive: 120,
                    flushesCache: true
                ),
                ResourceRecord(instance, .txt, .text([3, 97, 61, 49]), timeToLive: 4500, flushesCache: true),
            ]
        )
        let bytes = hex(
            """
            0000 8400 0000 0001 0000 0002
            02 5f78 04 5f746370 05 6c6f63616c 00 000c 0001 00001194 0004 01 49 c00c
            c025 0021 8001 00000078 000a 0001 0002 0050 01 68 c014
            c025 0010 8001 00001194 0004 03 613d31
            """
        )
        #expect(message.encoded() == bytes)
        #expect(try parse(bytes) == message)
    }

    @Test func `a denial with its type bitmap`() throws {
        let host = try #require(DomainName("h.local"))
        let message = Message(
            flags: [.response, .authoritative],
            answers: [
                ResourceRecord(
                    host,
                    .nsec,
                    .nextSecure(next: host, types: [.a, .aaaa]),
                    timeToLive: 120,
                    flushesCache: true
                )
            ]
        )
        let bytes = hex(
            """
            0000 8400 0000 0001 0000 0000
            01 68 05 6c6f63616c 00 002f 8001 00000078 0008 c00c 00 04 40000008
            """
        )
        #expect(message.encoded() == bytes)
        #expect(try parse(bytes) == message)
    }

    @Test func `a probe carries its proposal in the authority section`() throws {
        let host = try #require(DomainName("h.local"))
        let bytes = hex(
            """
            0000 0000 0001 0000 0001 0000
            01 68 05 6c6f63616c 00 00ff 8001
            c00c 0001 0001 00000078 0004 c0000201
            """
        )
        let message = try parse(bytes)
        #expect(message.questions == [Question(host, .any, wantsUnicast: true)])
        #expect(message.authorities.map(\.data) == [.address(.v4(0xC000_0201))])
        #expect(message.authorities.first?.flushesCache == false)
        #expect(message.encoded() == bytes)
    }

    @Test func `an OPT record keeps its payload size and its flags`() throws {
        let bytes = hex("0000 0000 0000 0000 0000 0001 00 0029 85a0 00001194 0004 0004 0000")
        let message = try parse(bytes)
        #expect(message.additionals.first?.classCode == 0x85A0)
        #expect(message.additionals.first?.timeToLive == 4500)
        #expect(message.additionals.first?.data == .opaque([0, 4, 0, 0]))
        #expect(message.encoded() == bytes)
    }

    @Test(arguments: [
        // A pointer to a pointer to a name; a pointer into the middle of a name; a pointer inside record data.
        ("01 61 00 0001 0001  c00c 0001 0001  c013 0001 0001", ["a", "a", "a"]),
        ("01 61 01 62 00 0001 0001  c00e 0001 0001  01 63 c00c 0001 0001", ["a.b", "b", "c.a.b"]),
        ("00 0001 0001  01 78 c00c 0001 0001  c011 0001 0001", [".", "x", "x"]),
    ])
    func `names through pointers`(questions: String, names: [String]) throws {
        let message = try parse(hex("0000 0000 0003 0000 0000 0000" + questions))
        #expect(message.questions.map(\.name.description) == names)
    }

    @Test(arguments: 0..<256)
    func `every byte can stand in a label`(byte: Int) throws {
        let label = [UInt8(byte), 0x61, UInt8(byte)]
        let name = try DomainName(labels: [label, [UInt8(byte)]])
        let bytes = try #require(Message(questions: [Question(name, .any)]).encoded())
        let read = try parse(bytes)
        #expect(read.questions.first?.name.labels == [label, [UInt8(byte)]])
        #expect(DomainName(name.description)?.labels == [label, [UInt8(byte)]])
        // What is shown has no control character, whatever came in.
        #expect(name.description.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F })
    }

    @Test(arguments: [0, 1, 2, 31, 32, 255, 256, 257, 511, 4096, 65535] as [UInt16])
    func `every type can stand in a bitmap`(number: UInt16) throws {
        let types = [RecordType(rawValue: number)]
        let record = ResourceRecord(DomainName(), .nsec, .nextSecure(next: DomainName(), types: types), timeToLive: 1)
        let bytes = try #require(Message(answers: [record]).encoded())
        #expect(try parse(bytes).answers == [record])
    }

    @Test func `many types in several windows come back in order`() throws {
        let types = [1, 28, 33, 47, 255, 257, 300, 1000, 40_000].map { RecordType(rawValue: $0) }
        let record = ResourceRecord(
            DomainName(),
            .nsec,
            .nextSecure(next: DomainName(), types: types.reversed()),
            timeToLive: 1
        )
        let bytes = try #require(Message(answers: [record]).encoded())
        guard case .nextSecure(_, let read) = try parse(bytes).answers.first?.data else {
            Issue.record("the bitmap was not read")
            return
        }
        #expect(read == types && types == types.sorted())
    }
}

@Suite struct EncoderLimitTests {
    @Test(arguments: [0, 12, 100, 512, 1452, 9000, 100_000])
    func `no message is longer than its limit`(limit: Int) throws {
        let name = try #require(DomainName("a.long.name.in.a.longer.name._x._tcp.local"))
        var encoder = MessageEncoder(flags: .response, limit: limit)
        for number in 0..<2000 {
            let data = [UInt8](repeating: UInt8(number & 0xFF), count: number % 50)
            _ = encoder.append(ResourceRecord(name, .txt, .text(data), timeToLive: 1))
        }
        let bytes = encoder.finish()
        #expect(bytes.count <= max(12, min(limit, 9000)))
        let read = try parse(bytes)
        #expect(read.answers.count == encoder.count)
    }

    @Test(arguments: [1, 13, 200, 9000 - 12 - 11])
    func `data up to the longest message goes in`(count: Int) throws {
        let data = [UInt8](repeating: 7, count: count)
        let record = ResourceRecord(DomainName(), RecordType(rawValue: 4711), .opaque(data), timeToLive: 1)
        let bytes = try #require(Message(answers: [record]).encoded())
        #expect(bytes.count == 12 + 11 + count)
        #expect(try parse(bytes).answers == [record])
        let longer = ResourceRecord(DomainName(), record.type, .opaque(data + [7]), timeToLive: 1)
        #expect((Message(answers: [longer]).encoded() == nil) == (count == 9000 - 12 - 11))
    }

    @Test func `a pointer never reaches past its 14 bits, and long messages stay readable`() throws {
        let names = (0..<350).compactMap { DomainName("label-number-\($0).local") }
        let message = Message(questions: names.map { Question($0, .a) })
        let bytes = try #require(message.encoded())
        #expect(try parse(bytes) == message)
    }

    @Test func `host information is cut at 255 bytes`() throws {
        let long = [UInt8](repeating: 65, count: 300)
        let record = ResourceRecord(DomainName(), .hinfo, .hostInformation(cpu: long, system: [66]), timeToLive: 1)
        let bytes = try #require(Message(answers: [record]).encoded())
        let expected = RecordData.hostInformation(cpu: Array(long.prefix(255)), system: [66])
        #expect(try parse(bytes).answers.first?.data == expected)
    }

    @Test func `an encoder can be copied to try what fits`() throws {
        var encoder = MessageEncoder(flags: [], limit: 40)
        let question = Question(try #require(DomainName("abc.local")), .a)
        var attempt = encoder
        let isTaken = attempt.append(question)
        #expect(isTaken && attempt.count == 1 && encoder.count == 0)
        let isTakenToo = encoder.append(question)
        #expect(isTakenToo && encoder.finish() == attempt.finish())
    }
}
