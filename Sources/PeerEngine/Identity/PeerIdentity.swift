// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CTLSShims

/// Who a peer is: a private key of Ed25519 (RFC 8032), and the certificate in which it shows the public one.
package struct PeerIdentity: Hashable, Sendable {
    package static let seedLength = Int(NWP_SEED)

    /// The private key; whoever has it is this peer.
    package let seed: [UInt8]
    package let key: PeerKey
    /// PEM, ending with a 0.
    let certificate: [CChar]
    let privateKey: [CChar]

    /// Makes a new peer.
    package static func make() -> PeerIdentity? {
        var generator = SystemRandomNumberGenerator()
        return PeerIdentity(seed: (0..<seedLength).map { _ in generator.next() })
    }

    /// The peer whose private key this is.
    /// - Returns: `nil` when these are not 32 bytes.
    package init?(seed: [UInt8]) {
        guard seed.count == Self.seedLength else { return nil }
        var digest = [UInt8](repeating: 0, count: Int(NWP_DIGEST))
        var certificate = [CChar](repeating: 0, count: 1024)
        var privateKey = [CChar](repeating: 0, count: 512)
        guard unsafe nwp_identity_key(seed, &digest) == 0,
            unsafe nwp_identity_make(seed, &certificate, certificate.count, &privateKey, privateKey.count) == 0,
            let key = PeerKey(bytes: Array(digest.prefix(PeerKey.length)))
        else { return nil }
        self.seed = seed
        self.key = key
        self.certificate = certificate
        self.privateKey = privateKey
    }
}
