// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import DNSWire
import Testing

private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

@Suite struct DomainNameTests {
    @Test func `keeps labels apart, whatever bytes they hold`() throws {
        let name = try DomainName(labels: [bytes("a.b"), bytes("c"), [0, 255, 10]])
        #expect(name.labels == [bytes("a.b"), bytes("c"), [0, 255, 10]])
        #expect(name.labelCount == 3)
        #expect(name.firstLabel == bytes("a.b"))
        let joined = try DomainName(labels: [bytes("a"), bytes("b"), bytes("c"), [0, 255, 10]])
        #expect(name != joined)
    }

    @Test(arguments: [
        ("Printer.LOCAL", "printer.local", true),
        ("a-z.local", "A-Z.local", true),
        ("a.local", "a.loca", false),
        ("Ä.local", "ä.local", false),
        ("a[.local", "a{.local", false),
        ("a@.local", "a`.local", false),
        ("a.b", "ab", false),
        (".", ".", true),
    ])
    func `compares by folding ASCII letters only`(left: String, right: String, equal: Bool) throws {
        let left = try #require(DomainName(left))
        let right = try #require(DomainName(right))
        #expect((left == right) == equal)
        #expect(Set([left, right]).count == (equal ? 1 : 2))
        #expect(!equal || left.hashValue == right.hashValue)
    }

    @Test(arguments: [
        (0, 1, true), (1, 1, true), (63, 1, true), (64, 1, false), (63, 3, true), (63, 4, false), (62, 4, true),
        (1, 127, true), (1, 128, false),
    ])
    func `allows labels of 1 to 63 bytes and names of 255`(length: Int, count: Int, allowed: Bool) {
        let label = [UInt8](repeating: 97, count: length)
        let name = try? DomainName(labels: Array(repeating: label, count: count))
        #expect((name != nil) == (allowed && length > 0))
    }

    @Test func `says which limit was broken`() {
        #expect(throws: WireError.labelLength(64)) { try DomainName(labels: [[UInt8](repeating: 1, count: 64)]) }
        #expect(throws: WireError.labelLength(0)) { try DomainName(labels: [[]]) }
        let long = [UInt8](repeating: 1, count: 63)
        #expect(throws: WireError.nameTooLong) { try DomainName(labels: [long, long, long, long]) }
    }

    @Test(arguments: [
        ("a.b.local", "local", true), ("a.b.local", "B.Local", true), ("a.b.local", "a.b.local", true),
        ("a.b.local", ".", true), ("a.b.local", "c.local", false), ("local", "a.local", false),
        ("ab.local", "b.local", false),
    ])
    func `knows what lies below what`(name: String, ancestor: String, expected: Bool) throws {
        let name = try #require(DomainName(name))
        let ancestor = try #require(DomainName(ancestor))
        #expect(name.isWithin(ancestor) == expected)
    }

    @Test func `takes names apart and puts them together`() throws {
        let name = try #require(DomainName("x._ipp._tcp.local"))
        #expect(name.parent.description == "_ipp._tcp.local")
        #expect(name.parent.prefix(2).description == "_ipp._tcp")
        #expect(name.prefix(0) == DomainName())
        #expect(name.prefix(-1) == DomainName())
        #expect(name.prefix(9) == name)
        #expect(DomainName().parent == DomainName())
        #expect(DomainName().firstLabel == nil)
        let again = try name.prefix(1).appending(name.parent)
        #expect(again == name)
        let long = try DomainName(labels: Array(repeating: [UInt8](repeating: 97, count: 63), count: 3))
        #expect(throws: WireError.nameTooLong) { try long.appending(long) }
    }

    @Test func `sorts without regard to case`() throws {
        let names = ["b.local", "A.local", "a.local", "C.local"].compactMap { DomainName($0) }
        #expect(names.sorted().map(\.description).last == "C.local")
        #expect(names.sorted()[2].description == "b.local")
    }
}

@Suite struct SafeTextTests {
    @Test(arguments: [
        ("plain", "plain"), ("a.b", "a.b"), ("back\\slash", "back\\\\slash"), ("Büro 日本", "Büro 日本"),
        ("line\nfeed", "line\\010feed"), ("\u{1B}[31mred", "\\027[31mred"), ("nul\0", "nul\\000"),
        ("del\u{7F}", "del\\127"), ("c1\u{85}", "c1\\194\\133"), ("bidi\u{202E}x", "bidi\\226\\128\\174x"),
        ("ls\u{2028}", "ls\\226\\128\\168"), ("bom\u{FEFF}", "bom\\239\\187\\191"), ("", ""),
        ("soft\u{AD}", "soft\\194\\173"), ("zw\u{200B}", "zw\\226\\128\\139"), ("👩\u{200D}👧", "👩\u{200D}👧"),
        ("tag\u{E0041}", "tag\\243\\160\\129\\129"),
    ])
    func `escapes what could trick a reader, and can be read back`(text: String, expected: String) {
        let shown = SafeText.text(of: text.utf8)
        #expect(shown == expected)
        #expect(SafeText.bytes(of: shown) == Array(text.utf8))
    }

    @Test(
        arguments: [
            ([0xFF] as [UInt8], "\\255"), ([0x61, 0xC3], "a\\195"), ([0xC3, 0x28], "\\195("),
            ([0xED, 0xA0, 0x80], "\\237\\160\\128"),
            ([0xF0, 0x9F, 0x98], "\\240\\159\\152"), ([0xC0, 0x80], "\\192\\128"), ([0xF0, 0x9F, 0x98, 0x80], "😀"),
        ] as [([UInt8], String)]
    )
    func `escapes bytes that are not UTF-8`(bytes: [UInt8], expected: String) {
        #expect(SafeText.text(of: bytes) == expected)
        #expect(SafeText.bytes(of: expected) == bytes)
    }

    @Test(arguments: ["\\", "a\\", "\\256", "\\999"])
    func `refuses broken escapes`(text: String) {
        #expect(SafeText.bytes(of: text) == nil)
        #expect(DomainName(text) == nil)
    }

    @Test(arguments: [
        ("a.local", ["a", "local"]), ("a.local.", ["a", "local"]), ("Dr\\. No._x._tcp", ["Dr. No", "_x", "_tcp"]),
        ("\\065b", ["Ab"]), ("a\\\\.b", ["a\\", "b"]), (".", []), ("", []), ("\\12a", ["12a"]),
    ])
    func `reads names with escapes`(text: String, labels: [String]) throws {
        let name = try #require(DomainName(text))
        #expect(name.labels == labels.map { Array($0.utf8) })
        #expect(DomainName(name.description) == name)
    }

    @Test(arguments: ["a..b", ".a", "..", String(repeating: "x", count: 64)])
    func `refuses empty and long labels`(text: String) {
        #expect(DomainName(text) == nil)
    }
}
