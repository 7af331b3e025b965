// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import OrderedJSON
import Testing

@Suite struct EdgeTests {
    private let encoder = OrderedJSONEncoder()

    @Test(
        arguments: [
            ("", "\"\""), ("eth0", "\"eth0\""), ("a\"b\\c", #""a\"b\\c""#), ("é🌐", "\"é🌐\""), ("\u{7}", #""\u0007""#),
            ("</script>", #""</script>""#), ("\u{2028}", #""\u2028""#), ("“", "\"“\""), ("\u{0}", #""\u0000""#),
        ]
    )
    func `a text is quoted as it is in a document`(text: String, expected: String) throws {
        #expect(JSONText.quote(text) == expected)
        #expect(try encoder.string(.string(text)) == expected)
        #expect(try JSONValue(parsing: expected) == .string(text))
    }

    @Test(
        arguments: [
            (0.1, "0.1"), (-0.0, "-0"), (1e20, "100000000000000000000"), (1e21, "1e+21"), (1.5e21, "1.5e+21"),
            (1.2345678901234568e20, "123456789012345680000"), (1e-7, "0.0000001"), (1.25e-7, "0.000000125"),
            (1e-8, "1e-08"), (-1.25e-5, "-0.0000125"), (.leastNonzeroMagnitude, "5e-324"), (0x1p53, "9007199254740992"),
        ] as [(Double, String)]
    )
    func `a number is written so that every reader reads the same`(value: Double, expected: String) throws {
        #expect(try encoder.string(.double(value)) == expected)
        #expect(try JSONValue(parsing: expected).double == value)
    }

    @Test func `keys that only look alike are one key, and the second is refused`() throws {
        let composed = "{\"é\":1,\"e\u{301}\":2}"
        #expect(throws: JSONError.self) { try JSONValue(parsing: composed) }
        // In objects of their own they may stand.
        #expect(try JSONValue(parsing: "[{\"é\":1},{\"e\u{301}\":2}]")[1]?["é"]?.int == 2)
    }

    @Test(arguments: [
        ("[]", 0, 9, false), ("1", 0, 9, true), ("{}", 1, 2, true), ("{}", 1, 1, false), ("", 9, 0, false),
        ("[{\"a\":[]}]", 3, 99, true), ("[{\"a\":[]}]", 2, 99, false),
    ])
    func `limits hold at their very ends`(text: String, depth: Int, size: Int, isRead: Bool) {
        let value = try? JSONValue(parsing: text, limits: JSONLimits(depth: depth, size: size))
        #expect((value != nil) == isRead)
    }
}
