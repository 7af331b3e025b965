// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import PathModel
import Testing

@Suite struct GlobPatternTests {
    @Test(arguments: [
        ("eth0", "eth0", true), ("eth0", "eth1", false), ("eth0", "eth00", false), ("eth0", "eth", false),
        ("", "", true), ("", "a", false), ("*", "", true), ("*", "anything", true), ("**", "x", true),
        ("veth*", "veth", true), ("veth*", "veth12ab", true), ("veth*", "eth0", false), ("*0", "eth0", true),
        ("*0", "eth01", false), ("e*h*0", "ethernet0h0", true), ("br-*", "br-", true), ("br-*", "br0", false),
        ("eth?", "eth0", true), ("eth?", "eth", false), ("eth?", "eth10", false), ("?*", "", false),
        ("eth[0-3]", "eth2", true), ("eth[0-3]", "eth4", false), ("eth[13]", "eth3", true), ("eth[13]", "eth2", false),
        ("eth[!0]", "eth1", true), ("eth[!0]", "eth0", false), ("eth[^0]", "eth1", true), ("eth[^0]", "eth0", false),
        ("[]]", "]", true), ("[!]]", "a", true), ("[!]]", "]", false), ("[a-]", "-", true), ("[a-]", "a", true),
        ("[", "[", true), ("eth[0", "eth[0", true), ("eth[0", "eth0", false), ("[z-a]", "m", false),
        ("a\\*", "a*", true), ("a\\*", "ab", false), ("a\\", "a\\", true), ("*.*", "eth0.100", true),
        ("*a*b*c", "xxaxxbxxc", true), ("*a*b*c", "xxaxxcxxb", false), ("wl*[0-9]", "wlp3s0", true),
        ("ü*", "ünï", true), ("[a-z]*[!0-9]", "eth0x", true),
    ])
    func `a pattern matches as fnmatch does`(pattern: String, name: String, matches: Bool) {
        #expect(GlobPattern(pattern).matches(name) == matches)
    }

    @Test(arguments: [("eth0", true), ("br-lan.5", true), ("eth*", false), ("eth?", false), ("eth[0]", false)])
    func `a pattern knows whether it is a plain name`(pattern: String, isExact: Bool) {
        #expect(GlobPattern(pattern).isExact == isExact)
    }

    @Test func `a pattern with many stars does not take for ever`() {
        let pattern = String(repeating: "a*", count: 50) + "b"
        #expect(!GlobPattern(pattern).matches(String(repeating: "a", count: 500)))
    }

    @Test func `a pattern without specials matches its own text only`() {
        var random = SplitMix(seed: 7)
        for _ in 0..<200 {
            let name = String(
                (0..<Int.random(in: 1...8, using: &random)).map { _ in "abc0".randomElement(using: &random) ?? "a" }
            )
            let other = String(
                (0..<Int.random(in: 1...8, using: &random)).map { _ in "abc0".randomElement(using: &random) ?? "a" }
            )
            #expect(GlobPattern(name).matches(other) == (name == other))
            #expect(GlobPattern("*" + name + "*").matches(other + name + other))
            #expect(GlobPattern(String(repeating: "?", count: name.count)).matches(name))
        }
    }
}
