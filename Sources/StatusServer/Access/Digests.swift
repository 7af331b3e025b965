// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CGnuTLS
internal import Glibc

/// SHA-256 (FIPS 180-4) as GnuTLS computes it.
enum SHA256 {
    /// The 32 bytes of the digest.
    static func digest(of message: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 32)
        let code = unsafe gnutls_hash_fast(GNUTLS_DIG_SHA256, message, message.count, &digest)
        precondition(code == 0, "GnuTLS has no SHA-256")
        return digest
    }

    /// The authentication code of a message under a key (HMAC, RFC 2104).
    static func code(of message: [UInt8], key: [UInt8]) -> [UInt8] {
        var code = [UInt8](repeating: 0, count: 32)
        let result = unsafe gnutls_hmac_fast(GNUTLS_MAC_SHA256, key, key.count, message, message.count, &code)
        precondition(result == 0, "GnuTLS has no HMAC with SHA-256")
        return code
    }

    /// Whether two digests are the same, in a time that does not depend on where they differ.
    static func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        unsafe left.count == right.count && gnutls_memcmp(left, right, left.count) == 0
    }
}

/// Bytes that nobody can foresee.
enum RandomBytes {
    /// So many bytes, getrandom(2).
    static func make(_ count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
    }
}

/// Base 64 with padding (RFC 4648 section 4), by GnuTLS.
enum Base64 {
    static func text(of bytes: [UInt8]) -> String {
        String(decoding: unsafe convert(bytes) { unsafe gnutls_base64_encode2($0, $1) } ?? [], as: UTF8.self)
    }

    /// The bytes that a text stands for; `nil` when it is no base 64.
    static func bytes(of text: String) -> [UInt8]? {
        let isStrict = text.utf8.count.isMultiple(of: 4) && text.utf8.allSatisfy(isDigit)
        return unsafe isStrict ? convert(Array(text.utf8)) { unsafe gnutls_base64_decode2($0, $1) } : nil
    }

    /// GnuTLS passes over white space, and over much more.
    private static func isDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case 48...57, 65...90, 97...122, UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="): true
        default: false
        }
    }

    private typealias Conversion = (UnsafePointer<gnutls_datum_t>, UnsafeMutablePointer<gnutls_datum_t>) -> Int32

    private static func convert(_ bytes: [UInt8], _ convert: Conversion) -> [UInt8]? {
        guard !bytes.isEmpty else { return [] }
        var bytes = bytes
        let count = bytes.count
        return unsafe bytes.withUnsafeMutableBufferPointer { buffer in
            var source = unsafe gnutls_datum_t(data: buffer.baseAddress, size: UInt32(count))
            var result = unsafe gnutls_datum_t(data: nil, size: 0)
            guard unsafe convert(&source, &result) == 0 else { return nil }
            defer { unsafe free(result.data) }
            return unsafe Array(UnsafeBufferPointer(start: result.data, count: Int(result.size)))
        }
    }
}
