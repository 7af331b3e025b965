// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import DNSWire
import MulticastDNS
import Testing

@testable import PeerEngine

@Suite struct PeerRulesTests {
    @Test(
        arguments: [
            "A", "Ann's phone", "Ann, Bob & co.", String(repeating: "x", count: 63), String(repeating: "é", count: 31),
            "👩‍👩‍👧", " ", "e\u{301}", "日本語",
        ]
    )
    func `a name has 1 to 63 bytes of UTF-8`(name: String) {
        #expect(PeerRules.problem(ofName: name) == nil)
    }

    @Test(
        arguments: [
            ("", 0), (String(repeating: "x", count: 64), 64), (String(repeating: "é", count: 32), 64),
            (String(repeating: "日", count: 22), 66),
        ]
    )
    func `another length is told`(name: String, count: Int) {
        #expect(PeerRules.problem(ofName: name) == "the display name has \(count) bytes, expected 1 to 63")
    }

    @Test(arguments: ["\0", "a\nb", "a\r\nb", "\t", "\u{1B}[31m", "\u{7F}", "\u{80}", "\u{9F}", "é\u{85}"])
    func `a name has no control character, alone or in a group`(name: String) {
        #expect(PeerRules.problem(ofName: name) == "the display name has a control character")
    }

    // RFC 6335 section 5.1.
    @Test(arguments: ["a", "chat", "a1", "1a", "a-b", "a-b-c", "0-a", "abcdefghijklmno", "1-2-3-4-5-6-7-x"])
    func `a type has 1 to 15 letters, digits and single hyphens inside`(type: String) {
        #expect(PeerRules.problem(ofServiceType: type) == nil)
    }

    @Test(
        arguments: [
            "", "1", "12345", "1-2", "-a", "a-", "-", "a--b", "abcdefghijklmnop", "Chat", "chaT", "a_b", "_chat",
            "a b", " a", "a.b", "a.", ".a", "chat._tcp", "ä", "a\u{301}", "ａ", "a\0", "a\n", "\\a", "\\097", "\\097bc",
            "a\\.b", "a\\", "\\065bc", "a/b", "a=b", "日本", String(repeating: "a", count: 70),
            String(repeating: "a", count: 300), "\u{212A}", "a\u{212A}",
        ]
    )
    func `another type is told`(type: String) throws {
        let problem = try #require(PeerRules.problem(ofServiceType: type))
        #expect(problem.hasPrefix("the service type '\(type)' is not valid, expected 1 to 15 of a-z, 0-9"))
    }

    @Test func `every byte but letters in lower case, digits and hyphens inside is refused`() {
        let allowed = Set("abcdefghijklmnopqrstuvwxyz0123456789-".utf8)
        for byte in UInt8(0)...127 {
            let type = "a" + String(decoding: [byte], as: UTF8.self) + "b"
            #expect(
                (PeerRules.problem(ofServiceType: type) == nil) == allowed.contains(byte),
                "\(type.debugDescription)"
            )
        }
    }

    @Test(
        arguments: [
            [:], ["a": ""], ["": "x"], ["room": "4711"], ["v": "2", "dn": "x", "i.a": "b"],
            ["a": String(repeating: "x", count: 253)], [String(repeating: "k", count: 254): ""],
            ["a": "\0\n€"], ["a": "1", "b": "2", "C": "3"],
        ] as [[String: String]]
    )
    func `info has pairs of 255 bytes at most`(info: [String: String]) {
        #expect(PeerRules.problem(ofInfo: info) == nil)
    }

    @Test(
        arguments: [
            ["a": String(repeating: "x", count: 254)], [String(repeating: "k", count: 255): ""],
            ["a": String(repeating: "é", count: 127)],
            // The mark before these would take them past 255 bytes.
            ["v": String(repeating: "x", count: 252)], ["I.x": String(repeating: "x", count: 251)],
            ["a=b": "x"], ["ä": "x"], ["a\n": "x"], ["a": "1", "A": "2"],
        ] as [[String: String]]
    )
    func `other info is told`(info: [String: String]) {
        #expect(PeerRules.problem(ofInfo: info)?.hasPrefix("the discovery info") == true)
    }

    @Test func `info that is allowed can be advertised by any name and type`() throws {
        let name = String(repeating: "x", count: PeerRules.maximumName)
        let type = String(repeating: "t", count: NameRules.maximumServiceName)
        var isEverRefused = false
        for count in 0..<250 {
            var info = ["last": String(repeating: "x", count: count)]
            for number in 0..<4 { info["k\(number)"] = String(repeating: "x", count: 240) }
            guard PeerRules.problem(ofInfo: info) == nil else {
                isEverRefused = true
                continue
            }
            let text = PeerAnnouncement(key: try key(1), name: name, serviceType: type, boot: "0123abcd", info: info)
                .text
            #expect(throws: Never.self) { try NameRules.check(text) }
        }
        #expect(isEverRefused)
    }
}
