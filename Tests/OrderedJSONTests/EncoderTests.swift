// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import OrderedJSON
import Testing

private struct Inner: Encodable {
    let z = 1
    let a: String?
    let list: [Double]
}

private struct Outer: Encodable {
    let zebra = true
    let apple = Inner(a: nil, list: [1, 0.5])
    let mango: [String: Int] = [:]
    let nothing: Int? = nil
}

private struct Merged: Encodable {
    struct Envelope: Encodable {
        let first = 1
        let second = "two"
    }
    enum Keys: String, CodingKey { case third, fourth }

    func encode(to encoder: any Encoder) throws {
        try Envelope().encode(to: encoder)
        var container = encoder.container(keyedBy: Keys.self)
        try container.encode(3, forKey: .third)
        var again = encoder.container(keyedBy: Keys.self)
        try again.encodeNil(forKey: .fourth)
    }
}

private struct Nested: Encodable {
    enum Keys: String, CodingKey { case object, array, after }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        var object = container.nestedContainer(keyedBy: Keys.self, forKey: .object)
        try object.encode(Int8(-1), forKey: .array)
        var array = container.nestedUnkeyedContainer(forKey: .array)
        try array.encode("x")
        try array.encodeNil()
        var deeper = array.nestedUnkeyedContainer()
        try deeper.encode(false)
        var last = array.nestedContainer(keyedBy: Keys.self)
        try last.encode(Float(0.1), forKey: .after)
        #expect(array.count == 4)
        try Merged().encode(to: container.superEncoder(forKey: .after))
        try [1].encode(to: container.superEncoder())
    }
}

private struct Stale: Encodable {
    enum Keys: String, CodingKey { case inner, after }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        var inner = container.nestedContainer(keyedBy: Keys.self, forKey: .inner)
        try container.encode(1, forKey: .after)
        try inner.encode(2, forKey: .after)
    }
}

private struct StaleNesting: Encodable {
    enum Keys: String, CodingKey { case inner, after }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        var inner = container.nestedUnkeyedContainer(forKey: .inner)
        try container.encode(1, forKey: .after)
        var lost = inner.nestedUnkeyedContainer()
        try? lost.encode(1)
    }
}

private struct BothKinds: Encodable {
    enum Keys: String, CodingKey { case key }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        try container.encode(1, forKey: .key)
        _ = encoder.unkeyedContainer()
    }
}

private struct Twice: Encodable {
    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(1)
        try container.encode(2)
    }
}

private struct Failing: Encodable {
    struct Complaint: Error {}
    func encode(to encoder: any Encoder) throws { throw Complaint() }
}

private struct PathProbe: Encodable {
    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(encoder.codingPath.map(\.stringValue).joined(separator: "/"))
    }
}

private struct Empty: Encodable {}

private struct AllIntegers: Encodable {
    let a = Int8.min, b = Int16.min, c = Int32.min, d = Int64.min, e = Int.min
    let f = UInt8.max, g = UInt16.max, h = UInt32.max, i = UInt64.max, j = UInt.max
}

@Suite struct EncoderTests {
    let encoder = OrderedJSONEncoder()

    @Test func `writes members in the order of their declaration`() throws {
        let expected = #"{"zebra":true,"apple":{"z":1,"list":[1,0.5]},"mango":{}}"#
        #expect(try encoder.string(Outer()) == expected)
    }

    @Test func `several containers of one encoder share one object`() throws {
        #expect(try encoder.string(Merged()) == #"{"first":1,"second":"two","third":3,"fourth":null}"#)
    }

    @Test func `closes nested containers when their parent goes on`() throws {
        let merged = #"{"first":1,"second":"two","third":3,"fourth":null}"#
        let expected =
            #"{"object":{"array":-1},"array":["x",null,[false],{"after":0.1}],"after":"# + merged + #","super":[1]}"#
        #expect(try encoder.string(Nested()) == expected)
    }

    @Test func `indents pretty text by two spaces`() throws {
        let expected = """
            {
              "zebra": true,
              "apple": {
                "z": 1,
                "list": [
                  1,
                  0.5
                ]
              },
              "mango": {}
            }
            """
        #expect(try OrderedJSONEncoder(style: .pretty).string(Outer()) == expected)
    }

    @Test func `appends the terminator`() throws {
        #expect(try encoder.encode([1], terminator: 0x0A) == Array("[1]\n".utf8))
    }

    @Test func `a value that encodes nothing is an empty object`() throws {
        #expect(try encoder.string(Empty()) == "{}")
        #expect(try encoder.string([Empty(), Empty()]) == "[{},{}]")
    }

    @Test func `writes scalars and optionals at the top`() throws {
        #expect(try encoder.string("a") == #""a""#)
        #expect(try encoder.string(Int?.none) == "null")
        #expect(try encoder.string([[Int]]()) == "[]")
        #expect(try encoder.string([true, nil, false]) == "[true,null,false]")
    }

    @Test func `writes every integer type exactly`() throws {
        let expected =
            #"{"a":-128,"b":-32768,"c":-2147483648,"d":-9223372036854775808,"e":-9223372036854775808,"#
            + #""f":255,"g":65535,"h":4294967295,"i":18446744073709551615,"j":18446744073709551615}"#
        #expect(try encoder.string(AllIntegers()) == expected)
    }

    @Test(
        arguments: [
            (0, "0"), (-0.0, "-0"), (1, "1"), (-2.5, "-2.5"), (0.1, "0.1"), (7.097, "7.097"),
            (1e15, "1000000000000000"),
            (1e16, "10000000000000000"), (1.5e17, "150000000000000000"),
            (123_456_789_012_345_680, "123456789012345680"),
            (1e20, "100000000000000000000"), (1e21, "1e+21"), (0.0001, "0.0001"), (0.00001, "0.00001"),
            (-1.25e-7, "-0.000000125"), (1e-8, "1e-08"), (Double.greatestFiniteMagnitude, "1.7976931348623157e+308"),
            (Double.leastNonzeroMagnitude, "5e-324"), (9_007_199_254_740_992, "9007199254740992"),
        ] as [(Double, String)]
    )
    func `writes doubles shortest and plain`(value: Double, expected: String) throws {
        #expect(try encoder.string(value) == expected)
        #expect(Double(expected) == value)
    }

    @Test func `every double reads back as itself`() throws {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<20_000 {
            let value = Double(bitPattern: random.next())
            guard value.isFinite else { continue }
            let text = try encoder.string(value)
            #expect(Double(text) == value)
            #expect(try JSONValue(parsing: text).double == value)
        }
    }

    @Test(arguments: [
        ("", #""""#), ("a/b", #""a/b""#), ("\"\\", #""\"\\""#), ("\n\r\t", #""\n\r\t""#),
        ("\u{0}\u{8}\u{C}\u{1F}", #""\u0000\u0008\u000c\u001f""#),
        ("\u{7F}\u{80}\u{9B}\u{A0}", "\"\\u007f\\u0080\\u009b\u{A0}\""),
        ("\u{202E}\u{FEFF}\u{AD}", #""\u202e\ufeff\u00ad""#), ("\u{E0041}", #""\udb40\udc41""#),
        ("👩\u{200D}👧", "\"👩\u{200D}👧\""), ("שלום\u{200F}", "\"שלום\\u200f\""),
        ("\u{2027}\u{2028}\u{2029}", "\"\u{2027}\\u2028\\u2029\""), ("Bürö 東京 🌐", "\"Bürö 東京 🌐\""),
    ])
    func `escapes what RFC 8259 and JavaScript demand, and what tricks the eye`(text: String, expected: String) throws {
        #expect(try encoder.string(text) == expected)
        #expect(try JSONValue(parsing: expected) == .string(text))
    }

    @Test func `names the place of a number that JSON cannot say`() {
        #expect(throws: JSONError.notFinite(path: "apple.list.1")) {
            try encoder.encode(["apple": Inner(a: nil, list: [1, .nan])])
        }
        #expect(throws: JSONError.notFinite(path: "0")) { try encoder.encode([Float.infinity]) }
    }

    @Test func `refuses containers that are used after their parent went on`() {
        #expect(throws: JSONError.closedContainer(path: "after.after")) { try encoder.encode(Stale()) }
        #expect(throws: JSONError.closedContainer(path: "after")) { try encoder.encode(StaleNesting()) }
        #expect(throws: JSONError.closedContainer(path: "key")) { try encoder.encode(BothKinds()) }
        #expect(throws: JSONError.closedContainer(path: "1")) { try encoder.encode([Twice()].map { [nil, $0] }[0]) }
    }

    @Test func `reports what a type itself throws`() {
        #expect(throws: JSONError.rejected(path: "0", reason: "Complaint()")) { try encoder.encode([Failing()]) }
    }

    @Test func `tells values the path that leads to them`() throws {
        #expect(try encoder.string(["a": [PathProbe()]]) == #"{"a":["a/0"]}"#)
    }
}
