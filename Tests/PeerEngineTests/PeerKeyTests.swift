// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

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
}
