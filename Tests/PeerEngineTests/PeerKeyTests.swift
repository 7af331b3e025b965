// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import PeerEngine

@Suite struct PeerKeyTests {
    @Test func `is the beginning of the digest of the public key, in base32`() throws {
        // RFC 8032 section 7.1, test 1: the key of the seed has SPKI 302a300506032b6570032100 d75a98…511a.
        let seed = try #require(
            Hexadecimal.bytes("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
        )
        let identity = try #require(PeerIdentity(seed: seed))
        #expect(identity.key.description.count == 32)
        #expect(PeerKey(identity.key.description) == identity.key)
        #expect(PeerKey(identity.key.description.uppercased()) == identity.key)
        #expect(identity.key.instanceName == String(identity.key.description.prefix(16)))
    }

    @Test(arguments: ["", "a", String(repeating: "1", count: 32), String(repeating: "a", count: 31)])
    func `takes no other text`(text: String) {
        #expect(PeerKey(text) == nil)
    }

    @Test func `takes no other character, whatever it is`() {
        let digits = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ234567".unicodeScalars)
        let rest = String(repeating: "a", count: 31)
        for value in UInt32(0)...127 {
            guard let scalar = Unicode.Scalar(value) else { continue }
            #expect((PeerKey(rest + String(Character(scalar))) != nil) == digits.contains(scalar))
        }
        // Letters of two bytes, and such as fold to digits.
        for text in ["é", "ﾯ", "Ａ", "２", "\u{212A}", "\u{7F}\u{80}"] {
            #expect(PeerKey(text + String(repeating: "a", count: 32 - text.utf8.count)) == nil)
        }
    }

    @Test(
        arguments: [
            // RFC 4648 section 10, without what pads: "foobar" is MZXW6YTBOI, "fooba" MZXW6YTB.
            ("fooba", "mzxw6ytb"), ("\u{0}\u{0}\u{0}\u{0}\u{0}", "aaaaaaaa"), ("12345", "gezdgnbv"),
        ]
    )
    func `five bytes are eight characters of base32`(bytes: String, text: String) throws {
        let key = try #require(PeerKey(bytes: Array(String(repeating: bytes, count: 4).utf8)))
        #expect(key.description == String(repeating: text, count: 4))
        #expect(PeerKey(key.description) == key)
        #expect(key.instanceName == text + text)
    }

    @Test func `all bits one are 32 times the last digit`() throws {
        let key = try #require(PeerKey(bytes: [UInt8](repeating: 255, count: 20)))
        #expect(key.description == String(repeating: "7", count: 32))
    }

    @Test func `any key survives its text form, in either case`() throws {
        var random = SeededRandom(seed: 4648)
        for _ in 0..<500 {
            let key = try #require(PeerKey(bytes: random.bytes(20)))
            #expect(PeerKey(key.description) == key)
            #expect(PeerKey(key.description.uppercased()) == key)
        }
    }

    @Test(arguments: [0, 19, 21, 32])
    func `has 20 bytes and no other count`(count: Int) {
        #expect(PeerKey(bytes: [UInt8](repeating: 1, count: count)) == nil)
    }

    @Test func `is ordered by its bytes, not by its text`() throws {
        #expect(try key(1) < key(2))
        #expect(try key(0xFF) < key(0x100))
        #expect(try !(key(7) < key(7)))
        // In base32, "2" is after "z", and before it as text.
        let (low, high) = try (
            #require(PeerKey(bytes: [0xC8] + Array(repeating: 0, count: 19))),
            #require(
                PeerKey(bytes: [0xD0] + Array(repeating: 0, count: 19))
            )
        )
        #expect(low < high && low.description > high.description)
        var random = SeededRandom(seed: 20)
        let keys = (0..<100).compactMap { _ in PeerKey(bytes: random.bytes(20)) }
        let sorted = keys.sorted()
        #expect(zip(sorted, sorted.dropFirst()).allSatisfy { $0.bytes.lexicographicallyPrecedes($1.bytes) })
    }
}
