// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Bytes in a number that nobody else can foresee, so that no sender can make many that get the same one.
enum Fingerprint {
    /// A secret of this process; with `SWIFT_DETERMINISTIC_HASHING` it is the same in each.
    private static let secret = UInt64(truncatingIfNeeded: Hasher().finalize())

    /// A hash of the bytes, with ASCII letters lowercased.
    static func ofNormalized(_ bytes: Span<UInt8>) -> UInt64 { of(bytes, from: 0, fold) }

    /// A number for the bytes from `start` on; each eight of them go through `change`.
    @inline(__always)
    static func of(_ bytes: Span<UInt8>, from start: Int, _ change: (UInt64) -> UInt64 = { $0 }) -> UInt64 {
        var print = mix(secret ^ UInt64(bytes.count - start))
        var word: UInt64 = 0
        var left = 8
        for index in start..<bytes.count {
            word = word << 8 | UInt64(bytes[index])
            left -= 1
            guard left == 0 else { continue }
            print = mix(print ^ change(word))
            (word, left) = (0, 8)
        }
        return mix(print ^ change(word))
    }

    /// Goes on from one number with another.
    static func mix(_ value: UInt64) -> UInt64 {
        let product = (value ^ 0xA076_1D64_78BD_642F).multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
        return product.high ^ product.low
    }

    /// Folds eight letters at once: bit 5 is set in those bytes that are `A` to `Z`.
    static func fold(_ word: UInt64) -> UInt64 {
        let low = word & 0x7F7F_7F7F_7F7F_7F7F
        let isFromA = low &+ 0x3F3F_3F3F_3F3F_3F3F
        let isPastZ = low &+ 0x2525_2525_2525_2525
        return word | (~word & 0x8080_8080_8080_8080 & (isFromA ^ isPastZ)) >> 2
    }
}
