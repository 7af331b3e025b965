// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Configuration

@Suite struct YAMLDocumentTests {
    private func parse(_ text: String) -> (root: YAMLNode?, problems: [String]) {
        var findings = Findings()
        let root = YAMLDocument.read(Array(text.utf8), file: "a.yaml", into: &findings)
        return (root, findings.problems.map(\.description))
    }

    @Test func `every key and value knows its line and column`() throws {
        let (root, problems) = parse("a: 1\nb:\n  - x\n  - 'y'\nü: {c: d}\n")
        #expect(problems == [])
        guard case .map(let entries) = try #require(root).content else {
            Issue.record("not a map")
            return
        }
        #expect(entries.map(\.key) == ["a", "b", "ü"])
        #expect(entries.map(\.origin.description) == ["a.yaml:1:1", "a.yaml:2:1", "a.yaml:5:1"])
        #expect(entries.map(\.value.origin.description) == ["a.yaml:1:4", "a.yaml:3:3", "a.yaml:5:4"])
        guard case .list(let items) = entries[1].value.content else {
            Issue.record("not a list")
            return
        }
        #expect(items.map(\.content) == [.scalar("x", isPlain: true), .scalar("y", isPlain: false)])
        #expect(items.map(\.origin.description) == ["a.yaml:3:5", "a.yaml:4:5"])
    }

    @Test(arguments: ["", "\n\n", "# only a comment\n", "---\n...\n", "\u{FEFF}"])
    func `an empty file says nothing and is right`(text: String) {
        let (root, problems) = parse(text)
        #expect(problems == [])
        #expect(root == nil || root?.isNull == true)
    }

    @Test(arguments: [
        ("a: &x 1\nb: 2\n", ["a.yaml:1:4: an anchor (& without quotes) is not supported"]),
        (
            "a: &x 1\nb: *x\n",
            [
                "a.yaml:1:4: an anchor (& without quotes) is not supported",
                "a.yaml:2:4: an alias (* without quotes) is not supported",
            ]
        ),
        (
            "a: !!str 1\nb: !x [1]\n",
            [
                "a.yaml:1:4: a tag (! without quotes) is not supported",
                "a.yaml:2:4: a tag (! without quotes) is not supported",
            ]
        ),
        ("a: 1\nb: 2\na: 3\n", ["a.yaml:3:1: key 'a' is already at a.yaml:1:1"]),
        ("a: 1\n---\nb: 1\n", ["a.yaml:2:1: a second document is not supported"]),
        ("? [a]\n: 1\n", ["a.yaml:1:3: a key that is not text is not supported"]),
        ("a: [1\nb: 2\n", ["a.yaml:2:2: not valid YAML: did not find expected ',' or ']'"]),
        ("a:\n\t- b\n", ["a.yaml:2:1: not valid YAML: found character that cannot start any token"]),
        ("a: 1\nb: \u{1}\n", ["a.yaml:2:4: not valid YAML: control characters are not allowed"]),
    ])
    func `refuses with the place`(text: String, expected: [String]) {
        #expect(parse(text).problems == expected)
    }

    @Test func `refuses text that is not UTF-8, with the place`() {
        var findings = Findings()
        _ = YAMLDocument.read(Array("a: 1\nb: ".utf8) + [0xFF, 0xFE], file: "a.yaml", into: &findings)
        #expect(findings.problems.map(\.description) == ["a.yaml:2:4: not valid YAML: invalid leading UTF-8 octet"])
    }

    @Test(arguments: [String(repeating: "[", count: 100_000), String(repeating: "- ", count: 1000)])
    func `refuses deep nesting`(text: String) {
        #expect(parse(text).problems.map { $0.drop { $0 != " " } } == [" nested deeper than 16 levels"])
    }

    @Test func `refuses a file of more than one mebibyte, and reads one of exactly that`() {
        let comment = "#" + String(repeating: "x", count: YAMLDocument.largestFile - 1)
        #expect(parse(comment).problems == [])
        #expect(parse(comment + "x").problems == ["a.yaml: larger than 1MiB"])
    }

    @Test(arguments: ["", "null", "~"])
    func `nothing written is null, unless it is quoted`(text: String) {
        let plain = YAMLNode(origin: .builtIn, content: .scalar(text, isPlain: true))
        let quoted = YAMLNode(origin: .builtIn, content: .scalar(text, isPlain: false))
        #expect(plain.isNull)
        #expect(plain.shape == "empty")
        #expect(!quoted.isNull)
    }

    @Test(arguments: [
        "plain", "with space", "", "true", "No", "null", "~", "'", "\"", "a\\b", "tab\there", "line\nbreak", "#x",
        "x: y", "x:",
        "- a", "::1", "é", "\u{85}\u{2028}\u{7F}\u{FEFF}", "a#b", "1e3", "0", "-", "*", "&a", "!t", "%", "@", "[a]",
        "{a}", "a, b",
    ])
    func `written text is read back`(text: String) {
        let tree: ConfigurationTree = ["k": .text(text), "l": [.text(text), .text(text)]]
        let (root, problems) = parse(YAMLText.block(tree))
        #expect(problems == [])
        guard case .map(let entries) = root?.content, case .scalar(let first, _) = entries[0].value.content,
            case .list(let items) = entries[1].value.content, case .scalar(let second, _) = items[1].content
        else {
            Issue.record("another shape")
            return
        }
        #expect(first == text)
        #expect(second == text)
    }
}
