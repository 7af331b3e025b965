// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// The identity of a peer: the first 160 bits of SHA-256 of its public key.
///
/// Nobody can make a second key for one of these (a preimage costs 2^160), and a peer proves in every TLS handshake that
/// it has the private one.
package struct PeerKey: Hashable, Sendable, Comparable, CustomStringConvertible {
    package static let length = 20

    package let bytes: [UInt8]

    /// - Returns: `nil` when these are not 20 bytes.
    package init?(bytes: [UInt8]) {
        guard bytes.count == Self.length else { return nil }
        self.bytes = bytes
    }

    /// Reads 32 characters of base32 (RFC 4648 section 6), in either case.
    package init?(_ text: String) {
        guard text.utf8.count == Self.length * 8 / 5 else { return nil }
        var bytes: [UInt8] = []
        var (bits, count) = (UInt32(0), 0)
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"): bits = bits << 5 | UInt32(byte - UInt8(ascii: "a"))
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): bits = bits << 5 | UInt32(byte - UInt8(ascii: "A"))
            case UInt8(ascii: "2")...UInt8(ascii: "7"): bits = bits << 5 | UInt32(byte - UInt8(ascii: "2") + 26)
            default: return nil
            }
            count += 5
            guard count >= 8 else { continue }
            count -= 8
            bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
        }
        self.bytes = bytes
    }

    /// 32 characters of base32.
    package var description: String {
        var text = ""
        var (bits, count) = (UInt32(0), 0)
        for byte in bytes {
            bits = bits << 8 | UInt32(byte)
            count += 8
            while count >= 5 {
                count -= 5
                text.unicodeScalars.append(Self.digits[Int(bits >> UInt32(count) & 31)])
            }
        }
        return text
    }

    /// What its services are called on the links, the first 80 bits: it reveals no name.
    var instanceName: String { String(description.prefix(16)) }

    private static let digits = Array("abcdefghijklmnopqrstuvwxyz234567".unicodeScalars)

    /// In the order of the bytes.
    package static func < (left: PeerKey, right: PeerKey) -> Bool {
        left.bytes.lexicographicallyPrecedes(right.bytes)
    }
}
