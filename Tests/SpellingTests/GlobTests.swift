// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Spelling

@Suite struct GlobTests {
    @Test(
        arguments: [
            ("eth0", "eth0"), ("eth*", "eth"), ("eth*", "eth0.12"), ("*", ""), ("w?an0", "wlan0"),
            ("en[op]*", "enp3s0"),
            ("[!v]*", "eth0"), ("*a*b*", "xaxxbx"), ("a[a-c-]b", "a-b"), ("veth??", "vethab"), ("*.*", "path.changed"),
            ("a\\*b", "a*b"), ("\\[\\]", "[]"), ("a\\\\*", "a\\b"), ("[]]", "]"), ("[]x]*", "x1"), ("[!]]", "a"),
            ("[\\]a]", "]"), ("[a\\-c]", "-"), ("[+-\\.]", ","),
        ]
    )
    func `matches the whole name`(pattern: String, name: String) throws {
        #expect(try #require(Glob(pattern)).matches(name))
    }

    @Test(arguments: [
        ("eth0", "eth01"), ("eth?", "eth"), ("[!v]*", "veth0"), ("en[op]0", "enx0"), ("*a", "ab"), ("?", ""),
        ("ETH*", "eth0"), ("a\\*b", "axb"), ("[!]]", "]"), ("[a\\-c]", "b"), ("\\e*", "x"),
    ])
    func `leaves other names alone`(pattern: String, name: String) throws {
        #expect(try #require(Glob(pattern)).matches(name) == false)
    }

    @Test(arguments: [
        "", "[", "[a", "[c-a]", "a\nb", "\u{7F}", "a\\", "[a\\", "[]", "[!]", "[a-\\",
        String(repeating: "a", count: 257),
    ])
    func `refuses broken patterns`(pattern: String) {
        #expect(Glob(pattern) == nil)
    }

    @Test(
        arguments: [("eth0", "eth0"), ("a\\*b", "a*b"), ("\\e\\\\", "e\\"), ("eth*", nil), ("[e]", nil)]
            as [(String, String?)]
    )
    func `a pattern without wildcards has the one name it matches`(pattern: String, name: String?) throws {
        let glob = try #require(Glob(pattern))
        #expect(glob.literal == name && glob.isLiteral == (name != nil))
        if let name { #expect(glob.matches(name)) }
    }

    @Test func `a hostile pattern stays polynomial`() throws {
        let glob = try #require(Glob(String(repeating: "*a", count: 100) + "b"))
        #expect(glob.matches(String(repeating: "a", count: 2000)) == false)
        #expect(glob.isLiteral == false)
        #expect(try #require(Glob("eth0")).isLiteral)
    }
}

@Suite struct GlobSetTests {
    @Test(arguments: [
        ("[^v]*", "eth0", true), ("[^v]*", "veth0", false), ("[a-cx-z]1", "y1", true), ("[a-cx-z]1", "d1", false),
        ("[-a]", "-", true), ("[a-]", "-", true), ("[!-]", "-", false), ("[*]", "*", true), ("[*]", "a", false),
        ("[?]", "?", true), ("[é]", "é", true), ("?", "é", true), ("?", "🌐", true), ("a*", "a", true),
        ("***a***", "bab", true), ("*a?c*", "xxabcxx", true), ("*a?c*", "xxacxx", false), ("[]", "]", false),
    ])
    func `sets, stars and marks`(pattern: String, name: String, matches: Bool) {
        #expect((Glob(pattern)?.matches(name) ?? false) == matches)
    }

    @Test(arguments: [("eth0", true), ("eth*", false), ("e?", false), ("e[th]", false), ("a.b-c", true)])
    func `only a pattern without wildcards is a name`(pattern: String, isLiteral: Bool) throws {
        #expect(try #require(Glob(pattern)).isLiteral == isLiteral)
        #expect(try #require(Glob(pattern)).description == pattern)
    }

    @Test func `equal texts are equal patterns`() {
        #expect(Glob("eth*") == Glob("eth*") && Glob("eth*") != Glob("eth?"))
        #expect(Set([Glob("a"), Glob("a"), Glob("b")]).count == 2)
        #expect(Glob(String(repeating: "a", count: 256)) != nil)
    }
}
