// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Checks text as it arrives in pieces, and finds the first byte at which it can no longer become UTF-8.
///
/// Source: the table of well-formed byte sequences (RFC 3629 section 4).
struct TextCheck: Equatable {
    /// How many bytes the character in hand still needs.
    private(set) var missing = 0
    private var range: ClosedRange<UInt8> = 0x80...0xBF

    /// Checks the next bytes.
    /// - Returns: `false` when no continuation makes them UTF-8.
    mutating func accept(_ bytes: [UInt8]) -> Bool {
        for byte in bytes where missing > 0 || byte >= 0x80 {
            guard accept(byte) else { return false }
        }
        return true
    }

    private mutating func accept(_ byte: UInt8) -> Bool {
        guard missing == 0 else {
            guard range.contains(byte) else { return false }
            missing -= 1
            range = 0x80...0xBF
            return true
        }
        switch byte {
        case 0xC2...0xDF: (missing, range) = (1, 0x80...0xBF)
        case 0xE0: (missing, range) = (2, 0xA0...0xBF)
        case 0xED: (missing, range) = (2, 0x80...0x9F)
        case 0xE1...0xEF: (missing, range) = (2, 0x80...0xBF)
        case 0xF0: (missing, range) = (3, 0x90...0xBF)
        case 0xF1...0xF3: (missing, range) = (3, 0x80...0xBF)
        case 0xF4: (missing, range) = (3, 0x80...0x8F)
        default: return false
        }
        return true
    }
}
