// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import PeerEngine

/// The text of what ends with a 0.
private func text(_ characters: [CChar]) -> String {
    String(decoding: characters.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
}

@Suite struct PeerIdentityTests {
    /// Two of RFC 8032 section 7.1, and others.
    private static let seeds = [
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        String(repeating: "00", count: 32), String(repeating: "ff", count: 32),
    ]

    /// The key as others compute it from what is in a file.
    private func key(_ command: String) throws -> PeerKey? {
        let digest = try Command.run(["sh", "-c", "set -e; \(command) | sha256sum"])
        return Hexadecimal.bytes(String(digest.prefix(40))).flatMap { PeerKey(bytes: $0) }
    }

    @Test(arguments: seeds)
    func `its key is what others compute from the seed`(seed: String) throws {
        let identity = try #require(Hexadecimal.bytes(seed).flatMap { PeerIdentity(seed: $0) })
        // RFC 8410 section 7: the private key in PKCS #8.
        let octal = try #require(Hexadecimal.bytes("302e020100300506032b657004220420" + seed))
            .map { "\\" + String($0 / 64) + String($0 / 8 % 8) + String($0 % 8) }.joined()
        let computed = try key("printf '\(octal)' | openssl pkey -inform DER -pubout -outform DER")
        #expect(computed == identity.key)
    }

    @Test(arguments: seeds)
    func `its private key and certificate are of the same key, and are read by others`(seed: String) throws {
        let identity = try #require(Hexadecimal.bytes(seed).flatMap { PeerIdentity(seed: $0) })
        let scratch = try Scratch()
        let certificate = try scratch.write(text(identity.certificate), to: "certificate")
        let privateKey = try scratch.write(text(identity.privateKey), to: "key")
        #expect(try key("openssl pkey -in \(privateKey) -pubout -outform DER") == identity.key)
        let shown = "openssl x509 -in \(certificate) -noout -pubkey | openssl pkey -pubin -pubout -outform DER"
        #expect(try key(shown) == identity.key)
        // It is signed by itself, and tells nothing of whose it is.
        try Command.run(["openssl", "verify", "-check_ss_sig", "-CAfile", certificate, certificate])
        let words = try Command.run(["openssl", "x509", "-in", certificate, "-noout", "-subject", "-issuer", "-dates"])
        #expect(words.split(separator: "\n").filter { $0.contains("CN = peer") || $0.contains("CN=peer") }.count == 2)
        #expect(words.contains("notAfter=Dec 31 23:59:59 9999 GMT"))
    }

    @Test func `is the same for the same seed, and another one for another`() throws {
        let first = try #require(PeerIdentity(seed: [UInt8](repeating: 1, count: 32)))
        #expect(PeerIdentity(seed: [UInt8](repeating: 1, count: 32)) == first)
        let other = try #require(PeerIdentity(seed: [UInt8](repeating: 2, count: 32)))
        #expect(other.key != first.key && other.certificate != first.certificate)
    }

    @Test func `a new one is nobody else's, and comes back from its seed`() throws {
        let made = try (0..<20).map { _ in try #require(PeerIdentity.make()) }
        #expect(Set(made.map(\.key)).count == 20)
        #expect(made.allSatisfy { PeerIdentity(seed: $0.seed) == $0 })
    }

    @Test(arguments: [0, 1, 31, 33, 64])
    func `a seed has 32 bytes`(count: Int) {
        #expect(PeerIdentity(seed: [UInt8](repeating: 1, count: count)) == nil)
    }
}
