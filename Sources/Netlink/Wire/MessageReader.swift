// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Iterates over the messages of one netlink datagram (`struct nlmsghdr`, RFC 3549 section 2.2).
///
/// Total: whatever the bytes are, it ends, and `isMalformed` says whether it ended early.
package struct MessageReader: ~Escapable {
    /// The length of `struct nlmsghdr`.
    static let headerLength = 16

    private let bytes: Span<UInt8>
    private var next = 0
    private var bodyRange = 0..<0
    /// What the message is: an RTM_* or NLMSG_* constant.
    package private(set) var type: UInt16 = 0
    /// The NLM_F_* bits.
    private(set) var flags: UInt16 = 0
    package private(set) var sequence: UInt32 = 0
    /// Whether the datagram ended inside a message.
    private(set) var isMalformed = false

    /// Starts at the first message.
    @_lifetime(copy bytes)
    package init(_ bytes: Span<UInt8>) { self.bytes = bytes }

    package var body: Span<UInt8> {
        @_lifetime(copy self)
        get { bytes.extracting(bodyRange) }
    }

    /// Steps to the next message.
    /// - Returns: `false` at the end.
    package mutating func advance() -> Bool {
        let left = bytes.count - next
        guard left > 0 else { return false }
        let length = Int(bytes.host32(at: next))
        guard left >= Self.headerLength, length >= Self.headerLength, length <= left else {
            isMalformed = true
            next = bytes.count
            return false
        }
        type = bytes.host16(at: next + 4)
        flags = bytes.host16(at: next + 6)
        sequence = bytes.host32(at: next + 8)
        bodyRange = next + Self.headerLength..<next + length
        next = min(next + (length + 3) & ~3, bytes.count)
        return true
    }
}
