// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import PeerEngine

/// Certificates as the openssl program makes them, in a directory of a test's own.
private struct Maker {
    enum Algorithm: String, CaseIterable {
        case rsa = "rsa:2048"
        case curve = "ec -pkeyopt ec_paramgen_curve:P-256"
        case ed25519
    }

    let scratch: Scratch

    init() throws { scratch = try Scratch() }

    /// Runs words of the openssl program.
    @discardableResult func openssl(_ words: String) throws -> String {
        try Command.run(["sh", "-c", "set -e; cd \(scratch.path); openssl \(words)"])
    }

    /// Makes `NAME` and `NAME.key`, signed by itself or by another.
    func make(_ name: String, _ algorithm: Algorithm = .curve, by signer: String? = nil, words: String = "") throws {
        let request = "-newkey \(algorithm.rawValue) -nodes -keyout \(name).key -subj /CN=\(name)"
        guard let signer else { return _ = try openssl("req -x509 \(request) -days 30 \(words) -out \(name)") }
        try openssl("req -new \(request) -out \(name).csr")
        let keys = "-CA \(signer) -CAkey \(signer).key -CAcreateserial"
        try openssl("x509 -req -in \(name).csr \(keys) -days 30 -out \(name)")
    }

    func bytes(_ names: String...) throws -> [UInt8] { try names.flatMap { Array(try scratch.text($0).utf8) } }

    func certificates(_ names: String..., key: String) throws -> PeerCertificates? {
        PeerCertificates(certificates: try names.flatMap { try bytes($0) }, privateKey: try bytes(key))
    }

    /// The certificate of a file, as the openssl program has it in DER.
    func encoded(_ name: String) throws -> [UInt8] {
        let digits = try openssl("x509 -in \(name) -outform DER | od -An -v -tx1")
        return try #require(Hexadecimal.bytes(digits.filter { !$0.isWhitespace }))
    }

    /// Writes what is no text.
    func write(_ bytes: [UInt8], to name: String) throws {
        let octal = bytes.map { "\\0" + String($0 / 64) + String($0 / 8 % 8) + String($0 % 8) }.joined()
        try scratch.write(octal, to: "octal")
        try Command.run(["sh", "-c", "cd \(scratch.path); printf %b \"$(cat octal)\" >\(name)"])
    }
}

@Suite struct PeerCertificatesTests {
    @Test(arguments: Maker.Algorithm.allCases)
    fileprivate func `proves to have the key, and others agree`(algorithm: Maker.Algorithm) throws {
        let maker = try Maker()
        try maker.make("ann", algorithm)
        let certificates = try #require(try maker.certificates("ann", key: "ann.key"))
        #expect(try certificates.chain == [maker.encoded("ann")])
        let bytes = [UInt8](0...255)
        let signature = try #require(certificates.sign(bytes))
        #expect(PeerCertificates.isProof(signature, of: bytes, by: certificates.chain))
        try maker.write(bytes, to: "bytes")
        try maker.write(signature, to: "signature")
        try maker.openssl("x509 -in ann -noout -pubkey -out public")
        let digest = algorithm == .ed25519 ? "" : "-digest sha256"
        try maker.openssl("pkeyutl -verify -pubin -inkey public -rawin \(digest) -in bytes -sigfile signature")
    }

    @Test(arguments: Maker.Algorithm.allCases)
    fileprivate func `nothing else is a proof`(algorithm: Maker.Algorithm) throws {
        let maker = try Maker()
        try maker.make("ann", algorithm)
        try maker.make("bob", algorithm)
        let ann = try #require(try maker.certificates("ann", key: "ann.key"))
        let bob = try #require(try maker.certificates("bob", key: "bob.key"))
        let bytes: [UInt8] = [1, 2, 3]
        let signature = try #require(ann.sign(bytes))
        #expect(!PeerCertificates.isProof(signature, of: bytes, by: bob.chain))
        #expect(!PeerCertificates.isProof(signature, of: [1, 2, 4], by: ann.chain))
        #expect(!PeerCertificates.isProof(signature, of: [], by: ann.chain))
        #expect(!PeerCertificates.isProof([], of: bytes, by: ann.chain))
        #expect(!PeerCertificates.isProof(signature + [0], of: bytes, by: ann.chain))
        #expect(!PeerCertificates.isProof(Array(signature.dropLast()), of: bytes, by: ann.chain))
        for place in signature.indices {
            var spoilt = signature
            spoilt[place] ^= 1
            #expect(!PeerCertificates.isProof(spoilt, of: bytes, by: ann.chain))
        }
        let leaf = try #require(ann.chain.first)
        for chain in [[], [[]], [[0]], [leaf + [0]], [Array(leaf.dropLast())], [[UInt8](repeating: 0x30, count: 999)]] {
            #expect(!PeerCertificates.isProof(signature, of: bytes, by: chain))
        }
    }

    @Test func `a chain is kept in order, and its first one has the key`() throws {
        let maker = try Maker()
        try maker.make("root", .rsa)
        try maker.make("middle", .ed25519, by: "root")
        try maker.make("leaf", by: "middle")
        let certificates = try #require(try maker.certificates("leaf", "middle", "root", key: "leaf.key"))
        #expect(try certificates.chain == ["leaf", "middle", "root"].map { try maker.encoded($0) })
        #expect(try maker.certificates("middle", "leaf", "root", key: "leaf.key") == nil)
        #expect(try maker.certificates("leaf", "middle", "root", key: "root.key") == nil)
        #expect(try maker.certificates("middle", key: "middle.key") != nil)
    }

    @Test func `there are 8 at most, and none is too long`() throws {
        let maker = try Maker()
        try maker.make("ann")
        let one = try maker.bytes("ann")
        let key = try maker.bytes("ann.key")
        for count in [1, 8, 9, 20, 200] {
            let all = Array(repeating: one, count: count).flatMap { $0 }
            #expect(PeerCertificates(certificates: all, privateKey: key)?.chain.count == (count <= 8 ? count : nil))
        }
        try maker.make("long", words: "-addext nsComment=\(String(repeating: "x", count: 17_000))")
        #expect(try maker.certificates("long", key: "long.key") == nil)
        #expect(try maker.certificates("ann", "long", key: "ann.key") == nil)
        try maker.make("shorter", words: "-addext nsComment=\(String(repeating: "x", count: 15_000))")
        #expect(try maker.certificates("shorter", key: "shorter.key") != nil)
    }

    @Test func `the key of another, or of another kind, is refused`() throws {
        let maker = try Maker()
        for algorithm in Maker.Algorithm.allCases {
            try maker.make(algorithm == .rsa ? "rsa" : "\(algorithm)", algorithm)
        }
        try maker.make("other")
        for name in ["rsa", "curve", "ed25519"] {
            for key in ["rsa", "curve", "ed25519", "other"] {
                #expect(try (maker.certificates(name, key: "\(key).key") != nil) == (name == key))
            }
        }
    }

    @Test func `what is no PEM is refused`() throws {
        let maker = try Maker()
        try maker.make("ann")
        let (certificate, key) = try (maker.bytes("ann"), maker.bytes("ann.key"))
        let encoded = try maker.encoded("ann")
        let empty = "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"
        let garbage = "-----BEGIN CERTIFICATE-----\nMIIB!!!!\nAAAA\n-----END CERTIFICATE-----\n"
        let wrong = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
        let others = [[], [0], Array("PEM".utf8), encoded, [UInt8](repeating: 255, count: 5000)]
        for bytes in others + [empty, garbage, wrong].map({ Array($0.utf8) }) {
            #expect(PeerCertificates(certificates: bytes, privateKey: key) == nil)
            #expect(PeerCertificates(certificates: certificate, privateKey: bytes) == nil)
            #expect(PeerCertificates(certificates: bytes, privateKey: bytes) == nil)
        }
        #expect(PeerCertificates(certificates: key, privateKey: certificate) == nil)
        #expect(PeerCertificates(certificates: certificate, privateKey: certificate) == nil)
        for count in stride(from: 0, to: certificate.count - 30, by: 37) {
            #expect(PeerCertificates(certificates: Array(certificate.prefix(count)), privateKey: key) == nil)
        }
        // Words around it are no harm, and neither is its key in the same file.
        let words = Array("CN = ann\n\n".utf8)
        #expect(PeerCertificates(certificates: words + key + certificate + words, privateKey: words + key) != nil)
    }

    @Test func `a chain with one that cannot be read is refused, wherever that is`() throws {
        let maker = try Maker()
        try maker.make("root")
        try maker.make("leaf", by: "root")
        let (leaf, root, key) = try (maker.bytes("leaf"), maker.bytes("root"), maker.bytes("leaf.key"))
        #expect(PeerCertificates(certificates: leaf + root, privateKey: key)?.chain.count == 2)
        let lines = String(decoding: root, as: UTF8.self).split(separator: "\n")
        let damaged = [
            Array(root.dropLast(40)), Array(root.prefix(100)),
            Array((lines.prefix(3) + lines.suffix(2)).joined(separator: "\n").utf8),
            Array("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".utf8),
            Array("-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n".utf8),
        ]
        for bytes in damaged {
            #expect(PeerCertificates(certificates: bytes + leaf, privateKey: key) == nil)
            #expect(PeerCertificates(certificates: leaf + bytes, privateKey: key) == nil)
            #expect(PeerCertificates(certificates: leaf + bytes + [10] + root, privateKey: key) == nil)
        }
    }

    @Test func `nobody is asked for the passphrase of a key`() throws {
        let maker = try Maker()
        try maker.make("ann")
        try maker.openssl("pkey -in ann.key -aes256 -passout pass:secret -out locked")
        try maker.openssl("ec -in ann.key -aes256 -passout pass:secret -out traditional")
        #expect(try maker.certificates("ann", key: "locked") == nil)
        #expect(try maker.certificates("ann", key: "traditional") == nil)
        let locked = try maker.bytes("traditional")
        #expect(PeerCertificates(certificates: locked, privateKey: locked) == nil)
    }
}
