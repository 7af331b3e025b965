// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import OrderedJSON
import Testing

@Suite struct ReaderTests {
    @Test(
        arguments: [
            ("null", .null), (" true ", .bool(true)), ("false\n", .bool(false)), ("0", .integer(0)),
            ("-0", .double(-0.0)),
            ("-9223372036854775808", .integer(.min)), ("18446744073709551615", .unsigned(.max)),
            ("18446744073709551616", .double(18_446_744_073_709_551_616)), ("1.0", .double(1)), ("1e2", .double(100)),
            ("-1.5E-3", .double(-0.0015)), ("[]", .array([])), ("[ 1 , 2 ]", .array([.integer(1), .integer(2)])),
            ("{}", .object(JSONObject())), (#""\u00e9\ud83c\udf10\/\b\f""#, .string("é🌐/\u{8}\u{C}")),
        ] as [(String, JSONValue)]
    )
    func `reads what RFC 8259 allows`(text: String, expected: JSONValue) throws {
        #expect(try JSONValue(parsing: text) == expected)
    }

    @Test(
        arguments: [
            ("", .unexpectedEnd, 0), (" ", .unexpectedEnd, 1), ("nul", .unexpectedEnd, 3),
            ("nulx", .unexpectedByte(0x78), 3), ("True", .unexpectedByte(0x54), 0), ("1 2", .trailingBytes, 2),
            ("01", .invalidNumber, 0), ("-", .unexpectedEnd, 1), ("-a", .invalidNumber, 1), ("1.", .unexpectedEnd, 2),
            ("1.e1", .invalidNumber, 2), ("1e", .unexpectedEnd, 2), ("+1", .unexpectedByte(0x2B), 0),
            (".5", .unexpectedByte(0x2E), 0), ("1e999", .invalidNumber, 0), ("NaN", .unexpectedByte(0x4E), 0),
            ("[1,]", .unexpectedByte(0x5D), 3), ("[1 2]", .unexpectedByte(0x32), 3), ("[", .unexpectedEnd, 1),
            ("[,1]", .unexpectedByte(0x2C), 1), ("{1:2}", .unexpectedByte(0x31), 1),
            (#"{"a" 1}"#, .unexpectedByte(0x31), 5),
            (#"{"a":1,}"#, .unexpectedByte(0x7D), 7), (#"{"a":1,"a":2}"#, .duplicateKey("a"), 7),
            ("'a'", .unexpectedByte(0x27), 0),
            (#""a"#, .unexpectedEnd, 2), ("\"a\nb\"", .controlCharacter(0x0A), 2), (#""\x""#, .invalidEscape, 1),
            (#""\u12"#, .unexpectedEnd, 5), (#""\u12g4""#, .invalidEscape, 1), (#""\ud800""#, .loneSurrogate, 1),
            (#""\udc00""#, .loneSurrogate, 1), (#""\ud800\u0041""#, .loneSurrogate, 1),
            (#""\ud800x""#, .loneSurrogate, 1),
            (#""\"#, .unexpectedEnd, 2), ("// no", .unexpectedByte(0x2F), 0), ("\u{FEFF}1", .unexpectedByte(0xEF), 0),
        ] as [(String, JSONSyntaxProblem, Int)]
    )
    func `refuses what it does not allow, and says where`(text: String, problem: JSONSyntaxProblem, offset: Int) {
        #expect(throws: JSONError.syntax(problem, offset: offset)) { try JSONValue(parsing: text) }
    }

    @Test(arguments: [[0x22, 0xFF, 0x22], [0x22, 0xC0, 0x80, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22]] as [[UInt8]])
    func `refuses strings that are not UTF-8`(bytes: [UInt8]) {
        #expect(throws: JSONError.syntax(.invalidUTF8, offset: 1)) { try JSONValue(parsing: bytes) }
    }

    @Test func `bounds depth and size`() throws {
        let limits = JSONLimits(depth: 3, size: 20)
        #expect(try JSONValue(parsing: "[[[1]]]", limits: limits)[0]?[0]?[0] == .integer(1))
        #expect(throws: JSONError.syntax(.tooDeep, offset: 3)) { try JSONValue(parsing: "[[[[1]]]]", limits: limits) }
        #expect(throws: JSONError.syntax(.tooLong, offset: 20)) {
            try JSONValue(parsing: "\"" + String(repeating: "a", count: 20), limits: limits)
        }
        let hostile = [UInt8](repeating: UInt8(ascii: "["), count: 1 << 20)
        #expect(throws: JSONError.syntax(.tooDeep, offset: 64)) { try JSONValue(parsing: hostile) }
        #expect(try JSONValue(parsing: "[[],[],[],[[]]]", limits: limits).array?.count == 4)
    }

    @Test func `offsets in a slice count from its start`() {
        let bytes = Array("xx[1,,2]".utf8)
        #expect(throws: JSONError.syntax(.unexpectedByte(0x2C), offset: 3)) { try JSONValue(parsing: bytes[2...]) }
    }

    @Test func `objects keep the order of their keys`() throws {
        let text = #"{"z":1,"a":{"y":[],"b":null},"m":-2.5}"#
        let value = try JSONValue(parsing: text)
        #expect(value.object?.keys == ["z", "a", "m"])
        #expect(try OrderedJSONEncoder().string(value) == text)
    }

    @Test func `reads members conveniently, and nil for what is not there`() throws {
        let value = try JSONValue(
            parsing: #"{"n":5,"d":2.0,"u":18446744073709551615,"s":"x","b":true,"l":[1],"z":null}"#
        )
        #expect(value["n"]?.int == 5 && value["n"]?.uint64 == 5 && value["n"]?.double == 5)
        #expect(value["d"]?.int == 2 && value["d"]?.uint64 == 2 && value["d"]?.double == 2)
        #expect(value["u"]?.uint64 == .max && value["u"]?.int == nil && value["u"]?.double == 0x1p64)
        #expect(value["s"]?.string == "x" && value["b"]?.bool == true && value["z"]?.isNull == true)
        #expect(value["l"]?[0]?.int == 1 && value["l"]?[1] == nil && value["l"]?[-1] == nil)
        #expect(value["q"] == nil && value[0] == nil && value["s"]?["x"] == nil && value["s"]?.int == nil)
        #expect(value.string == nil && value.bool == nil && value.array == nil && value.double == nil)
        #expect(value.uint64 == nil && value["l"]?.object == nil)
    }

    @Test func `changes members in place`() {
        var object = JSONObject()
        object["a"] = .integer(1)
        object["b"] = .integer(2)
        object["a"] = .integer(3)
        #expect(object.keys == ["a", "b"] && object["a"] == .integer(3))
        object["a"] = nil
        object["c"] = nil
        #expect(object.keys == ["b"])
    }

    @Test func `errors read as one line`() {
        let errors: [(JSONError, String)] = [
            (.syntax(.unexpectedByte(0x2C), offset: 3), "byte 3: unexpected ','"),
            (.syntax(.unexpectedByte(0), offset: 0), "byte 0: unexpected byte 0x0"),
            (.syntax(.duplicateKey("a"), offset: 1), "byte 1: key 'a' appears twice"),
            (.syntax(.controlCharacter(10), offset: 1), "byte 1: unescaped control character byte 0xA"),
            (.notFinite(path: "a.b"), "a.b is not a finite number"),
        ]
        for (error, text) in errors { #expect(error.description == text) }
        let problems: [JSONSyntaxProblem] = [
            .unexpectedEnd, .trailingBytes, .invalidEscape, .loneSurrogate, .invalidUTF8, .invalidNumber, .tooDeep,
            .tooLong,
        ]
        #expect(Set(problems.map(\.description)).count == problems.count)
    }
}
