// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

@testable import Netlink
import Testing

/// What a walk over messages or attributes finds.
private struct Walk: Equatable {
    struct Item: Equatable {
        var kind: Int
        var flags = 0
        var sequence = 0
        var body: [UInt8]
    }

    var items: [Item] = []
    var isMalformed = false

    init(_ items: [Item] = [], isMalformed: Bool = false) {
        self.items = items
        self.isMalformed = isMalformed
    }

    init(messages bytes: [UInt8]) {
        var reader = MessageReader(bytes.span)
        while reader.advance() {
            let (kind, flags, sequence) = (Int(reader.type), Int(reader.flags), Int(reader.sequence))
            items.append(Item(kind: kind, flags: flags, sequence: sequence, body: reader.body.array))
        }
        isMalformed = reader.isMalformed
        if reader.advance() { items.append(Item(kind: -1, body: [])) }
    }

    init(attributes bytes: [UInt8], from offset: Int = 0) {
        var reader = AttributeReader(bytes.span, from: offset)
        while reader.advance() { items.append(Item(kind: reader.kind, body: reader.payload.array)) }
        isMalformed = reader.isMalformed
        if reader.advance() { items.append(Item(kind: -1, body: [])) }
    }
}

@Suite struct MessageReaderTests {
    @Test func `walks messages and pads between them`() {
        let first = Builder([1, 2, 3]).message(type: 16, flags: 2, sequence: 7)
        let walk = Walk(messages: first + [0] + Builder([4]).message(type: 17))
        let expected = Walk([
            Walk.Item(kind: 16, flags: 2, sequence: 7, body: [1, 2, 3]), Walk.Item(kind: 17, body: [4]),
        ])
        #expect(walk == expected)
    }

    @Test func `an empty datagram has no message and is well`() {
        #expect(Walk(messages: []) == Walk())
    }

    @Test(
        arguments: [
            [1], [16, 0, 0, 0], [15, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            [17, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            [0, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            [255, 255, 255, 255, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        ] as [[UInt8]]
    )
    func `a length that cannot be ends the walk`(bytes: [UInt8]) {
        #expect(Walk(messages: bytes) == Walk(isMalformed: true))
    }
}

@Suite struct AttributeReaderTests {
    @Test func `walks attributes behind a header`() {
        let bytes = Builder([9, 9, 9, 9]).attribute(3, "eth0").attribute(4, 1500).attribute(0x8012, [UInt8]()).bytes
        let expected = Walk([
            Walk.Item(kind: 3, body: [101, 116, 104, 48, 0]), Walk.Item(kind: 4, body: [0xDC, 5, 0, 0]),
            Walk.Item(kind: 0x12, body: []),
        ])
        #expect(Walk(attributes: bytes, from: 4) == expected)
    }

    @Test(arguments: [[1], [4, 0, 1], [3, 0, 1, 0], [0, 0, 1, 0], [9, 0, 1, 0, 1, 2, 3, 4]] as [[UInt8]])
    func `a length that cannot be ends the walk`(bytes: [UInt8]) {
        #expect(Walk(attributes: bytes) == Walk(isMalformed: true))
    }

    @Test func `a header longer than the bytes has no attributes`() {
        #expect(Walk(attributes: [1, 2], from: 12) == Walk())
    }

    @Test(
        arguments: [
            ([65, 66, 0, 67], "AB"), ([65, 66], "AB"), ([0], ""), ([], ""), ([65, 0xFF, 66], "A\u{FFFD}B"),
        ] as [([UInt8], String)]
    )
    func `text ends at the first zero and is always text`(bytes: [UInt8], expected: String) {
        let text = bytes.span.text
        #expect(text == expected)
    }

    @Test(arguments: [0, 1, 4] as [Int])
    func `numbers past the end are zero`(count: Int) {
        let bytes = [UInt8](repeating: 1, count: count)
        let span = bytes.span
        let numbers = [
            UInt32(span.host16(at: count)), span.host32(at: count - 3), span.host32(at: -1), span.network32(at: count),
        ]
        #expect(numbers == [0, 0, 0, 0])
    }

    @Test func `network order is the other one`() {
        let bytes: [UInt8] = [0, 0, 0x0E, 0x10, 0x10, 0x0E, 0, 0]
        let span = bytes.span
        let (network, host) = (span.network32(at: 0), span.host32(at: 4))
        #expect(network == 3600 && host == 3600)
    }
}

@Suite struct MessageTypeTests {
    @Test(
        arguments: [
            (16, "RTM_NEWLINK"), (17, "RTM_DELLINK"), (20, "RTM_NEWADDR"), (25, "RTM_DELROUTE"), (26, "RTM_GETROUTE"),
            (29, "RTM_DELNEIGH"), (33, "RTM_DELRULE"), (68, "RTM_NEWNDUSEROPT"), (80, "RTM_NEWNETCONF"),
            (105, "RTM_DELNEXTHOP"), (3, "RTM_3"), (65_535, "RTM_65535"),
        ] as [(UInt16, String)]
    )
    func `has the kernel's name`(number: UInt16, name: String) {
        #expect(MessageType(rawValue: number).description == name)
    }
}

@Suite struct QuestionTests {
    @Test func `a message has length, type, flags and number`() {
        var question = Question(type: 18, flags: Question.dump, body: [1, 2, 3, 4])
        question.add(3, [65, 0])
        let message = question.message(sequence: 0x0102_0304)
        #expect(message == [28, 0, 0, 0, 18, 0, 1, 3, 4, 3, 2, 1, 0, 0, 0, 0, 1, 2, 3, 4, 6, 0, 3, 0, 65, 0, 0, 0])
        #expect(question.isDump)
        #expect(!Question(type: 18, flags: 0, body: []).isDump)
    }

    @Test func `IPv6 lookups never ask for the table`() {
        let flags = ["192.0.2.1", "2001:db8::1"].map { address in
            Array(Question.lookup(RouteQuery(.of(address), kind: .entry)).body[8..<12])
        }
        #expect(flags == [[0, 0x30, 0, 0], [0, 0x20, 0, 0]])
    }
}
