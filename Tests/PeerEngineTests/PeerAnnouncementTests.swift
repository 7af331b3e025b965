// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import DNSWire
import TestSupport
import Testing

@testable import PeerEngine

private let peer = String(repeating: "a", count: 31) + "b"

private func entries(_ pairs: [(String, String?)]) -> [TextRecord.Entry] {
    pairs.map { TextRecord.Entry(key: $0.0, value: $0.1.map { Array($0.utf8) }) }
}

/// What a peer says, with some of it changed or left out.
private func said(
    v: String? = "1",
    dn: String? = "Ann",
    st: String? = "chat",
    fp: String? = peer,
    b: String? = "00",
    and others: [(String, String?)] = []
) -> [TextRecord.Entry] {
    let own = [("v", v), ("dn", dn), ("st", st), ("fp", fp), ("b", b)].filter { $0.1 != nil }
    return entries(own + others)
}

@Suite struct PeerAnnouncementTests {
    private func announcement(_ info: [String: String]) throws -> PeerAnnouncement {
        PeerAnnouncement(key: try key(1), name: "Ann", serviceType: "chat", boot: "0123abcd", info: info)
    }

    /// What others read when this is said: through the record as it is on the links.
    private func heard(_ announcement: PeerAnnouncement) -> PeerAnnouncement? {
        PeerAnnouncement(TextRecord(data: TextRecord(entries: announcement.text).data).entries)
    }

    @Test func `says who it is, in this order`() throws {
        let text = try announcement(["b": "2", "a": "1"]).text
        #expect(text.map(\.key) == ["v", "dn", "st", "fp", "b", "i.a", "i.b"])
        let values = text.map { String(decoding: $0.value ?? [], as: UTF8.self) }
        #expect(try values == ["1", "Ann", "chat", key(1).description, "0123abcd", "1", "2"])
    }

    @Test(
        arguments: [
            [:], ["a": "1"], ["a": "", "b": "€ \0\n"], ["": "empty"], [" ": "blank"],
            // Such as the announcement has itself, or marks.
            ["v": "2", "dn": "Bob", "st": "other", "fp": "x", "b": "y"], ["V": "2", "Dn": "Bob", "FP": "x"],
            ["i.x": "1", "x": "2"], ["I.x": "1", "x": "2"], ["i.": "1"], ["i.i.x": "1", "i.v": "2", "v": "3"],
            ["i": "1", ".": "2", "i..": "3"], ["MixedCase": "Value"], ["x": "i.y=1"], ["x": "=1=2"],
            // Pairs of 253 to 255 bytes.
            ["a": String(repeating: "x", count: 251)], ["a": String(repeating: "x", count: 252)],
            ["a": String(repeating: "x", count: 253)], [String(repeating: "k", count: 254): ""],
            ["ab": String(repeating: "é", count: 126)],
            ["v": String(repeating: "x", count: 251)], ["i.": String(repeating: "x", count: 250)],
            ["ix": String(repeating: "x", count: 252)], ["vv": String(repeating: "x", count: 252)],
            ["a": String(repeating: "x", count: 253), "c": String(repeating: "x", count: 253)],
        ] as [[String: String]]
    )
    func `comes back from a record as it was`(info: [String: String]) throws {
        #expect(PeerRules.problem(ofInfo: info) == nil)
        let said = try announcement(info)
        #expect(heard(said) == said)
        #expect(said.text.allSatisfy { $0.key.utf8.count + 1 + ($0.value?.count ?? 0) <= 255 })
    }

    @Test func `any info that is allowed comes back as it was`() throws {
        var random = SeededRandom(seed: 6763)
        let alphabet = Array("abcdfinpstvABDFI. -")
        var count = 0
        for _ in 0..<2000 {
            var info: [String: String] = [:]
            for _ in 0..<Int.random(in: 0...6, using: &random) {
                let key = String(
                    (0..<Int.random(in: 1...4, using: &random)).map { _ in alphabet.randomElement(using: &random) ?? "a"
                    }
                )
                let length = Bool.random(using: &random) ? Int.random(in: 0...9, using: &random) : 254 - key.utf8.count
                info[key] = String(repeating: "x", count: length)
            }
            guard PeerRules.problem(ofInfo: info) == nil else { continue }
            count += 1
            let said = try announcement(info)
            #expect(heard(said) == said)
        }
        #expect(count > 500)
    }

    @Test func `reads keys in any case and any order, and what is not known as info`() throws {
        let text = entries([
            ("later", "x"), ("ST", "chat"), ("Dn", "Ann"), ("FP", peer.uppercased()), ("B", "7"), ("V", "1"),
            ("flag", nil),
        ])
        let heard = try #require(PeerAnnouncement(text))
        #expect(
            heard.key.description == peer && heard.name == "Ann" && heard.serviceType == "chat" && heard.boot == "7"
        )
        #expect(heard.info == ["later": "x", "flag": ""])
    }

    @Test func `who does not say when it began is taken, too`() {
        #expect(PeerAnnouncement(said(b: nil))?.boot == "")
    }

    @Test func `is nobody without all that makes a peer`() {
        #expect(PeerAnnouncement(said()) != nil)
        #expect(PeerAnnouncement([]) == nil)
        for text in [said(v: nil), said(dn: nil), said(st: nil), said(fp: nil)] {
            #expect(PeerAnnouncement(text) == nil)
        }
        for version in ["", "0", "2", "1.0", "01", " 1", "10"] { #expect(PeerAnnouncement(said(v: version)) == nil) }
        for name in ["", String(repeating: "x", count: 64), "a\nb", "\0", "\u{9B}31m"] {
            #expect(PeerAnnouncement(said(dn: name)) == nil)
        }
        for type in ["", "Chat", "a.b", "1", "a--b", "\\097bc", "abcdefghijklmnop"] {
            #expect(PeerAnnouncement(said(st: type)) == nil)
        }
        for key in [
            "", "a", String(repeating: "1", count: 32), peer + "a", String(repeating: "\u{12}", count: 32),
            String(repeating: "\u{17}", count: 32), String(repeating: "é", count: 16),
            String(repeating: "\0", count: 32),
        ] {
            #expect(PeerAnnouncement(said(fp: key)) == nil)
        }
    }

    @Test func `a key without a value, and a value that is no text, says nothing`() {
        for place in 0..<4 {
            for value in [nil, [], [0xFF], [0xC3, 0x28], [0xED, 0xA0, 0x80]] as [[UInt8]?] {
                var text = said()
                text[place] = TextRecord.Entry(key: text[place].key, value: value)
                #expect(PeerAnnouncement(text) == nil)
            }
        }
        let odd = TextRecord.Entry(key: "x", value: [0xFF])
        #expect(PeerAnnouncement(said(and: [("y", "1")]) + [odd])?.info == ["y": "1"])
    }

    @Test func `nothing that a record may hold ends the program`() {
        var random = SeededRandom(seed: 255)
        let good = TextRecord(entries: said(and: [("i.room", "1"), ("x", String(repeating: "y", count: 200))])).data
        var count = 0
        for _ in 0..<5000 {
            var data = good
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                data[Int.random(in: data.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            if let heard = PeerAnnouncement(TextRecord(data: data).entries) {
                count += 1
                #expect(PeerRules.problem(ofName: heard.name) == nil)
                #expect(PeerRules.problem(ofServiceType: heard.serviceType) == nil)
            }
            _ = PeerAnnouncement(TextRecord(data: random.bytes(300)).entries)
        }
        #expect(count > 100)
    }

    @Test func `is found by a subtype of the type of all peers`() {
        #expect(PeerAnnouncement.subtype("chat") == "_chat")
        #expect(PeerAnnouncement.pointer("chat")?.description == "_chat._sub._nwmc._tcp.local")
    }
}
