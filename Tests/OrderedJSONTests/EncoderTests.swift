// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import OrderedJSON
import TestSupport
import Testing

@Suite(.computing) struct EncoderTests {
    let encoder = OrderedJSONEncoder()

    @Test(arguments: [0, 9, 10, 99, 100, 12_345, 1_000_000_007, UInt64.max])
    func `whole numbers have all their digits`(number: UInt64) throws {
        #expect(try encoder.string(.unsigned(number)) == "\(number)")
    }

    @Test(arguments: [-1, Int64.min, Int64.max])
    func `whole numbers keep their sign`(number: Int64) throws {
        #expect(try encoder.string(.integer(number)) == "\(number)")
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
        #expect(try encoder.string(.double(value)) == expected)
        #expect(Double(expected) == value)
    }

    @Test func `every double reads back as itself`() throws {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<20_000 {
            let value = Double(bitPattern: random.next())
            guard value.isFinite else { continue }
            let text = try encoder.string(.double(value))
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
        #expect(try encoder.string(.string(text)) == expected)
        #expect(try JSONValue(parsing: expected) == .string(text))
    }
}
