// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing

/// Iterates over the attributes that follow the fixed part of a message (`struct nlattr`, linux/netlink.h).
///
/// Total: whatever the bytes are, it ends, and `isMalformed` says whether it ended early.
package struct AttributeReader: ~Escapable {
    private let bytes: Span<UInt8>
    private var next: Int
    private var payloadRange = 0..<0
    /// Which attribute it is, without the flags for nesting and byte order.
    package private(set) var kind = 0
    /// Whether the bytes ended inside an attribute.
    package private(set) var isMalformed = false

    /// Starts after `offset` bytes of fixed header.
    @_lifetime(copy bytes)
    package init(_ bytes: Span<UInt8>, from offset: Int = 0) {
        self.bytes = bytes
        next = (offset + 3) & ~3
    }

    package var payload: Span<UInt8> {
        @_lifetime(copy self)
        get { bytes.extracting(payloadRange) }
    }

    /// Steps to the next attribute.
    /// - Returns: `false` at the end.
    package mutating func advance() -> Bool {
        let left = bytes.count - next
        guard left > 0 else { return false }
        let length = Int(bytes.host16(at: next))
        guard left >= 4, length >= 4, length <= left else {
            isMalformed = true
            next = bytes.count
            return false
        }
        kind = Int(bytes.host16(at: next + 2) & 0x3FFF)
        payloadRange = next + 4..<next + length
        next = min(next + (length + 3) & ~3, bytes.count)
        return true
    }

    /// The value as an 8-bit number; 0 when it is empty.
    var byte: UInt8 { payload.isEmpty ? 0 : payload[0] }
    /// The value as a 32-bit number in host byte order; 0 when it is shorter.
    var word: UInt32 { payload.host32(at: 0) }
    /// The value as an interface index; 0 when it is shorter.
    var index: Int { payload.index(at: 0) }
    var text: String { payload.text }
    /// The value as an address; `nil` unless it has 4 or 16 bytes.
    var address: IPAddress? { IPAddress(bytes: payload) }
}
