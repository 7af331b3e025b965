// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CTLSShims

/// What a program says about itself besides its key: certificates of an authority that it and its peers know.
package struct PeerCertificates: Hashable, Sendable {
    /// DER, the leaf first.
    package let chain: [[UInt8]]
    private let privateKey: [CChar]

    static let maximumCount = 8
    static let maximumLength = 16 << 10

    /// Reads certificates and the private key of the first one, both PEM.
    /// - Returns: `nil` when there are none, too many or too long ones, or one that cannot be read, or the key is not that
    ///   of the first.
    package init?(certificates: [UInt8], privateKey: [UInt8]) {
        let text = certificates.map { CChar(bitPattern: $0) }
        var chain: [[UInt8]] = []
        while chain.count <= Self.maximumCount {
            let index = Int32(chain.count)
            let count = unsafe nwp_certificate_at(text, text.count, index, nil, 0)
            guard count >= 0 else { return nil }
            guard count > 0 else { break }
            var bytes = [UInt8](repeating: 0, count: count)
            _ = unsafe nwp_certificate_at(text, text.count, index, &bytes, count)
            chain.append(bytes)
        }
        self.chain = chain
        self.privateKey = privateKey.map { CChar(bitPattern: $0) }
        guard (1...Self.maximumCount).contains(chain.count), chain.allSatisfy({ $0.count <= Self.maximumLength }),
            let signature = sign([1]), Self.isProof(signature, of: [1], by: chain)
        else { return nil }
    }

    /// Signs what belongs to one connection alone.
    func sign(_ bytes: [UInt8]) -> [UInt8]? {
        var signature = [UInt8](repeating: 0, count: 1024)
        let count = unsafe nwp_sign(privateKey, privateKey.count, bytes, bytes.count, &signature, signature.count)
        return count > 0 ? Array(signature.prefix(count)) : nil
    }

    /// Whether who sent a chain has the private key of its leaf.
    static func isProof(_ signature: [UInt8], of bytes: [UInt8], by chain: [[UInt8]]) -> Bool {
        guard let leaf = chain.first else { return false }
        return unsafe nwp_verify(leaf, leaf.count, bytes, bytes.count, signature, signature.count) == 1
    }
}
