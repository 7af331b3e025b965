// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import OrderedJSON
import Testing

@Suite struct PrettyTests {
    private let encoder = OrderedJSONEncoder(style: .pretty)

    @Test(arguments: [
        ("[]", "[]"), ("{}", "{}"), ("[[]]", "[\n  []\n]"), (#"{"a":{}}"#, "{\n  \"a\": {}\n}"), ("1", "1"),
        (#"[1,{"a":[2]}]"#, "[\n  1,\n  {\n    \"a\": [\n      2\n    ]\n  }\n]"), ("null", "null"), (#""x""#, #""x""#),
    ])
    func `each member has a line, empty containers none`(text: String, expected: String) throws {
        let value = try JSONValue(parsing: text)
        #expect(try encoder.string(value) == expected)
        #expect(try JSONValue(parsing: expected) == value)
        #expect(try OrderedJSONEncoder().string(value) == text)
    }

    @Test func `a terminator stands behind the last bracket`() throws {
        #expect(try encoder.encode(terminator: 0x0A) { $0.write("a", 1) } == Array("{\n  \"a\": 1\n}\n".utf8))
        #expect(try OrderedJSONEncoder().encode(.string("x"), capacity: 0, terminator: 0) == Array("\"x\"".utf8) + [0])
    }

    @Test func `a style can be changed`() throws {
        var changing = OrderedJSONEncoder()
        changing.style = .pretty
        #expect(try changing.string(.array([.integer(1)])) == "[\n  1\n]")
    }
}
