// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Reads an input as a little program: numbers from the front, zeros past the end.
public struct InputReader: ~Escapable {
    private let bytes: Span<UInt8>
    private var offset = 0

    /// Starts at the first byte.
    @_lifetime(copy bytes)
    public init(_ bytes: Span<UInt8>) { self.bytes = bytes }

    /// Whether all was read.
    public var isAtEnd: Bool { offset >= bytes.count }

    /// The next byte.
    public mutating func byte() -> UInt8 {
        guard offset < bytes.count else { return 0 }
        defer { offset += 1 }
        return bytes[offset]
    }

    /// The next two bytes as a number.
    public mutating func word() -> Int { Int(byte()) << 8 | Int(byte()) }

    /// The next `count` bytes, or what is left.
    @_lifetime(copy self)
    public mutating func bytes(_ count: Int) -> Span<UInt8> {
        let end = min(offset + max(count, 0), bytes.count)
        defer { offset = end }
        return bytes.extracting(offset..<end)
    }
}
