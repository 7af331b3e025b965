// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CNettle

/// The key of an opening handshake and the answer to it (RFC 6455 sections 1.3 and 4).
///
/// SHA-1 and base 64 are nettle's, which every process that links GnuTLS has in memory anyway.
public struct WebSocketKey: Equatable, Sendable {
    private static let suffix = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
    private static let length = 16

    /// The key as sent: base 64 of 16 bytes.
    public let text: String

    /// Parses a key from the wire; `nil` when it is not base 64 of 16 bytes.
    public init?(_ text: String) {
        guard text.utf8.count == 24, Self.decodedCount(Array(text.utf8)) == Self.length else { return nil }
        self.text = text
    }

    /// Makes a key of 16 bytes that nobody can guess.
    public init() {
        text = Self.base64((0..<Self.length).map { _ in UInt8.random(in: 0...255) })
    }

    /// The value of `Sec-WebSocket-Accept` that proves that the server read the key.
    public var accept: String { Self.base64(Self.digest(Array((text + Self.suffix).utf8))) }

    private static func digest(_ bytes: [UInt8]) -> [UInt8] {
        var context = sha1_ctx()
        var digest = [UInt8](repeating: 0, count: Int(SHA1_DIGEST_SIZE))
        unsafe nettle_sha1_init(&context)
        unsafe nettle_sha1_update(&context, bytes.count, bytes)
        unsafe nettle_sha1_digest(&context, digest.count, &digest)
        return digest
    }

    private static func base64(_ bytes: [UInt8]) -> String {
        var text = [CChar](repeating: 0, count: (bytes.count + 2) / 3 * 4)
        unsafe nettle_base64_encode_raw(&text, bytes.count, bytes)
        return String(decoding: text.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private static func decodedCount(_ text: [UInt8]) -> Int? {
        var context = unsafe base64_decode_ctx()
        var bytes = [UInt8](repeating: 0, count: text.count)
        var count = 0
        unsafe nettle_base64_decode_init(&context)
        let characters = text.map { CChar(bitPattern: $0) }
        let isRead = unsafe nettle_base64_decode_update(&context, &count, &bytes, characters.count, characters) == 1
        return unsafe isRead && nettle_base64_decode_final(&context) == 1 ? count : nil
    }
}
