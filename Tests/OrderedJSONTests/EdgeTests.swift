// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import OrderedJSON
import Testing

/// A value that encodes itself by a closure.
private struct By: Encodable {
    let body: @Sendable (any Encoder) throws -> Void

    init(_ body: @escaping @Sendable (any Encoder) throws -> Void) { self.body = body }

    func encode(to encoder: any Encoder) throws { try body(encoder) }
}

private enum Key: String, CodingKey { case a, b }

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
        #expect(try encoder.string(text) == expected)
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
        #expect(try encoder.string(value) == expected)
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

    @Test func `optional elements, sets of keys and numbers as keys are written as Swift tells them`() throws {
        #expect(try encoder.string([1, nil, 3] as [Int?]) == "[1,null,3]")
        #expect(try encoder.string([7: "x"]) == #"{"7":"x"}"#)
        #expect(try encoder.string(["k": [String: Int]()]) == #"{"k":{}}"#)
        #expect(try encoder.string([[Int]]()) == "[]")
    }

    @Test func `a super encoder or a container asked of what is closed is an error, not a trap`() {
        let misuses: [@Sendable (KeyedEncodingContainer<Key>) throws -> Void] = [
            { inner in
                var inner = inner
                try 1.encode(to: inner.superEncoder())
            },
            { inner in
                var inner = inner
                var list = inner.nestedUnkeyedContainer(forKey: .a)
                try list.encode(1)
            },
            { inner in
                var inner = inner
                var deeper = inner.nestedContainer(keyedBy: Key.self, forKey: .b)
                try deeper.encode(1, forKey: .a)
            },
        ]
        for misuse in misuses {
            let value = By { encoder in
                var outer = encoder.container(keyedBy: Key.self)
                let inner = outer.nestedContainer(keyedBy: Key.self, forKey: .a)
                try outer.encode(1, forKey: .b)
                try misuse(inner)
            }
            #expect(throws: JSONError.self) { try encoder.encode(value) }
        }
    }

    @Test func `containers know where they stand`() throws {
        let value = By { encoder in
            var outer = encoder.container(keyedBy: Key.self)
            #expect(outer.codingPath.isEmpty && encoder.userInfo.isEmpty)
            var list = outer.nestedUnkeyedContainer(forKey: .b)
            try list.encode(0)
            let inner = list.nestedContainer(keyedBy: Key.self)
            #expect(inner.codingPath.map(\.stringValue) == ["b", "1"])
            #expect(inner.codingPath.allSatisfy { $0.intValue == nil })
        }
        #expect(try encoder.string(value) == #"{"b":[0,{}]}"#)
    }
}
