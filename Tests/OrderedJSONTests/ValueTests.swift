// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import OrderedJSON
import Testing

@Suite struct NumberReadingTests {
    @Test(
        arguments: [
            ("0", .integer(0)), ("-1", .integer(-1)), ("9223372036854775807", .integer(.max)),
            ("9223372036854775808", .unsigned(9_223_372_036_854_775_808)), ("-9223372036854775809", .double(-0x1p63)),
            ("0.0", .double(0)), ("-0.0", .double(-0.0)), ("0e0", .double(0)), ("1E+2", .double(100)),
            ("1e-2", .double(0.01)), ("123.456e1", .double(1234.56)), ("5e-324", .double(.leastNonzeroMagnitude)),
            ("1e-400", .double(0)), ("1.7976931348623157e308", .double(.greatestFiniteMagnitude)),
        ] as [(String, JSONValue)]
    )
    func `numbers keep their kind`(text: String, expected: JSONValue) throws {
        #expect(try JSONValue(parsing: text) == expected)
        #expect(try JSONValue(parsing: "[\(text)]")[0] == expected)
    }

    @Test(arguments: [
        "00", "-01", "1.", ".1", "-", "--1", "+1", "1e", "1e+", "1.e5", "0x10", "1_000", "1,5", "Infinity", "1e309",
        "-1e309", "1 .5", "١",
    ])
    func `what RFC 8259 does not call a number is none`(text: String) {
        #expect(throws: JSONError.self) { try JSONValue(parsing: text) }
    }

    @Test(
        arguments: [
            (.integer(5), 5, 5, 5), (.integer(-5), -5, nil, -5), (.unsigned(.max), nil, .max, 0x1p64),
            (.double(5), 5, 5, 5), (.double(5.5), nil, nil, 5.5), (.double(-5), -5, nil, -5),
            (.double(1e300), nil, nil, 1e300), (.string("5"), nil, nil, nil), (.null, nil, nil, nil),
            (.bool(true), nil, nil, nil), (.array([.integer(1)]), nil, nil, nil),
        ] as [(JSONValue, Int?, UInt64?, Double?)]
    )
    func `a number is read as the type it fits`(value: JSONValue, int: Int?, uint64: UInt64?, double: Double?) {
        #expect(value.int == int)
        #expect(value.uint64 == uint64)
        #expect(value.double == double)
    }
}

@Suite struct StringReadingTests {
    @Test(arguments: [
        (#""\u0000""#, "\u{0}"), (#""\u00E9""#, "é"), (#""\u00e9""#, "é"), (#""\uD834\uDD1E""#, "𝄞"),
        (#""\uFFFF""#, "\u{FFFF}"), (#""a\"b\\c\/d""#, "a\"b\\c/d"), (#""\b\f\n\r\t""#, "\u{8}\u{C}\n\r\t"),
        ("\"\u{7F}\"", "\u{7F}"), ("\"\u{2028}\"", "\u{2028}"), ("\"\"", ""), (#""\udbff\udfff""#, "\u{10FFFF}"),
    ])
    func `escapes are decoded`(text: String, expected: String) throws {
        #expect(try JSONValue(parsing: text).string == expected)
    }

    @Test(
        arguments: [
            (#""\ud834""#, .loneSurrogate), (#""\ud834\n""#, .loneSurrogate), (#""\ud834\ud834""#, .loneSurrogate),
            (#""\udd1e\ud834""#, .loneSurrogate), (#""\u+123""#, .invalidEscape), (#""\u00g0""#, .invalidEscape),
            (#""\v""#, .invalidEscape), (#""\'""#, .invalidEscape), (#""\U0041""#, .invalidEscape),
            ("\"\t\"", .controlCharacter(9)), ("\"a\\n\u{1F}\"", .controlCharacter(31)),
            ("\"\u{0}\"", .controlCharacter(0)),
        ] as [(String, JSONSyntaxProblem)]
    )
    func `broken escapes and control characters are refused`(text: String, problem: JSONSyntaxProblem) {
        let error = #expect(throws: JSONError.self) { try JSONValue(parsing: text) }
        guard case .syntax(let found, let offset) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(found == problem)
        #expect((1..<text.utf8.count).contains(offset))
    }

    @Test(
        arguments: [
            [0xC3], [0xC3, 0x28], [0xE2, 0x82], [0xF0, 0x9F, 0x8C], [0xF5, 0x80, 0x80, 0x80], [0x80], [0xC1, 0xBF],
            [0xF4, 0x90, 0x80, 0x80],
        ] as [[UInt8]]
    )
    func `bytes that are not UTF-8 are refused, behind an escape too`(bytes: [UInt8]) {
        let quote = UInt8(ascii: "\"")
        #expect(throws: JSONError.syntax(.invalidUTF8, offset: 1)) { try JSONValue(parsing: [quote] + bytes + [quote]) }
        #expect(throws: JSONError.syntax(.invalidUTF8, offset: 1)) {
            try JSONValue(parsing: [quote] + Array(#"\n"#.utf8) + bytes + [quote])
        }
    }

    @Test func `keys are strings like any other`() throws {
        let value = try JSONValue(parsing: #"{"\u0061":1,"":2,"\n":3}"#)
        #expect(value.object?.keys == ["a", "", "\n"])
        #expect(throws: JSONError.syntax(.duplicateKey("a"), offset: 7)) {
            try JSONValue(parsing: #"{"a":1,"\u0061":2}"#)
        }
    }
}

@Suite struct ObjectTests {
    private func object(_ text: String) throws -> JSONObject { try #require(try JSONValue(parsing: text).object) }

    @Test func `members are found, changed, removed and appended in their places`() throws {
        var object = try object(#"{"a":1,"b":2,"c":3}"#)
        object["b"] = nil
        object["a"] = .null
        object["d"] = .bool(true)
        object["b"] = .string("again")
        #expect(object.keys == ["a", "c", "d", "b"])
        #expect(object.members.map(\.value) == [.null, .integer(3), .bool(true), .string("again")])
        #expect(object["a"] == .null && object["x"] == nil)
    }

    @Test func `order makes a difference`() throws {
        #expect(try object(#"{"a":1,"b":2}"#) != object(#"{"b":2,"a":1}"#))
        #expect(try object("{}") == JSONObject())
        #expect(JSONObject().keys.isEmpty && JSONObject().members.isEmpty)
    }

    @Test func `values of any depth are reached by keys and indices`() throws {
        let value = try JSONValue(parsing: #"{"a":[{"b":[null,{"c":"deep"}]}]}"#)
        #expect(value["a"]?[0]?["b"]?[1]?["c"]?.string == "deep")
        #expect(value["a"]?[0]?["b"]?[0]?.isNull == true)
        #expect(value["a"]?[1] == nil && value["a"]?["b"] == nil && value[0] == nil)
        #expect(value["a"]?.array?.count == 1 && value["a"]?.object == nil && value.bool == nil)
    }

    @Test func `values are hashed and compared by content`() throws {
        let values = try ["1", "1.0", "true", "\"1\"", "[1]", "{\"1\":1}", "null", "1"].map {
            try JSONValue(parsing: $0)
        }
        #expect(Set(values).count == 7)
    }
}

@Suite struct LimitTests {
    @Test(arguments: [(63, true), (64, true), (65, false)])
    func `containers may be nested 64 deep`(depth: Int, isRead: Bool) {
        let arrays = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        let objects = String(repeating: "{\"a\":", count: depth - 1) + "{}" + String(repeating: "}", count: depth - 1)
        #expect(((try? JSONValue(parsing: arrays)) != nil) == isRead)
        #expect(((try? JSONValue(parsing: objects)) != nil) == isRead)
    }

    @Test func `depth counts what is open, not what was`() throws {
        let flat = "[" + Array(repeating: "[[]]", count: 1000).joined(separator: ",") + "]"
        #expect(try JSONValue(parsing: flat, limits: JSONLimits(depth: 3)).array?.count == 1000)
        #expect(throws: JSONError.syntax(.tooDeep, offset: 2)) {
            try JSONValue(parsing: flat, limits: JSONLimits(depth: 2))
        }
    }

    @Test(arguments: [(9, false), (10, true)])
    func `size counts bytes with spaces`(limit: Int, isRead: Bool) {
        let text = #" {"é":1} "#
        #expect(text.utf8.count == 10)
        #expect(((try? JSONValue(parsing: text, limits: JSONLimits(size: limit))) != nil) == isRead)
    }

    @Test func `a hostile text of one kind is refused in time`() {
        for unit in ["[", "{\"a\":", "\"", "1", "-", "\\u", ",", " ", "[0,"] {
            let text = [UInt8](String(repeating: unit, count: 200_000 / unit.utf8.count).utf8)
            let value = try? JSONValue(parsing: text)
            #expect(value == nil || unit == "\"" || unit == "1")
        }
    }
}
