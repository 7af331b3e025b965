// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Configuration

@Suite struct YAMLParserTests {
    private func events(_ text: String) throws -> [YAMLMarkedEvent] {
        guard var parser = YAMLParser(Array(text.utf8)) else { return [] }
        var events: [YAMLMarkedEvent] = []
        while events.last?.event != .streamEnd { events.append(try parser.next()) }
        return events
    }

    @Test func `copies every kind of event`() throws {
        let expected: [YAMLEvent] = [
            .other, .documentStart, .mapStart, .scalar("a", isPlain: true), .listStart, .scalar("b", isPlain: true),
            .scalar("c", isPlain: false), .alias, .listEnd, .mapEnd, .documentEnd, .streamEnd,
        ]
        #expect(try events("a: [b, 'c', *d]").map(\.event) == expected)
    }

    @Test func `marks anchors and tags of every node`() throws {
        let marked = try events("&m !m {a: &s !s x, b: &l !l []}").filter { $0.hasAnchor || $0.hasTag }
        #expect(marked.map(\.event) == [.mapStart, .scalar("x", isPlain: true), .listStart])
        #expect(marked.allSatisfy { $0.hasAnchor && $0.hasTag })
    }

    @Test(arguments: [
        ("|\n  a\n  b\n", "a\nb\n"), (">\n  a\n  b\n", "a b\n"), ("\"a\\u00e9\\n\"", "aé\n"), ("'it''s'", "it's"),
        ("a b  # comment", "a b"), ("\"\\0\"", "\0"),
    ])
    func `decodes every style of text`(text: String, expected: String) throws {
        let texts = try events(text).compactMap { if case .scalar(let text, _) = $0.event { text } else { nil } }
        #expect(texts == [expected])
    }

    @Test func `an empty text has no document`() throws {
        #expect(try events("").map(\.event) == [.other, .streamEnd])
    }

    @Test(arguments: [("a: b: c", 1, 5), ("{", 2, 1), ("a:\n  - b\n c: d", 3, 2), ("@", 1, 1), ("'", 1, 2)])
    func `an error has a line and a column`(text: String, line: Int, column: Int) {
        let error = #expect(throws: YAMLSyntaxError.self) { try events(text) }
        #expect(error?.words.isEmpty == false)
        #expect(error.map { [$0.line, $0.column] } == [line, column])
    }
}

@Suite struct YAMLTextTests {
    @Test func `maps are blocks, and short lists stay on one line`() {
        let tree: ConfigurationTree = [
            "a": 1, "b": ["c": true, "d": ["e": "f"]], "g": [], "h": [:], "i": ["x", "y z"], "j": [["k": 1]],
        ]
        #expect(
            YAMLText.block(tree) == """
                a: 1
                b:
                  c: true
                  d:
                    e: f
                g: []
                h: {}
                i: [x, "y z"]
                j: [{k: 1}]

                """
        )
    }

    @Test func `long lists have a line for each item`() {
        let long = String(repeating: "x", count: 40)
        #expect(YAMLText.block(["a": [.text(long), .text(long)]]) == "a:\n  - \(long)\n  - \(long)\n")
        #expect(YAMLText.block([1, 2]) == "- 1\n- 2\n")
        #expect(YAMLText.block("x", indent: 2) == "  x\n")
    }

    @Test(arguments: [
        ("plain", "plain"), ("/a/b.c-d_e", "/a/b.c-d_e"), ("unix:/x", "unix:/x"), ("10s", "10s"), ("true", "\"true\""),
        ("No", "\"No\""), ("", "\"\""), ("a b", "\"a b\""), ("x:", "\"x:\""), ("-", "\"-\""), ("é", "\"é\""),
        ("*", "\"*\""),
        ("a\"b\\c\n", "\"a\\\"b\\\\c\\n\""), ("\u{7}", "\"\\u0007\""), ("\u{2028}", "\"\\u2028\""),
        ("[::1]:1", "\"[::1]:1\""),
    ])
    func `text is quoted where it has to be`(text: String, expected: String) {
        #expect(YAMLText.scalar(text) == expected)
    }

    @Test func `trees are asked by name`() {
        let tree: ConfigurationTree = ["a": ["b": 1]]
        #expect(tree["a"]?["b"] == 1)
        #expect(tree["c"] == nil)
        #expect(ConfigurationTree.text("a")["a"] == nil)
    }
}
