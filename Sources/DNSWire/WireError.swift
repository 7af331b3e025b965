// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Why bytes are not a DNS message, or a name cannot be one.
public enum WireError: Error, Hashable, Sendable {
    /// The message ends before the field at `offset` does.
    case truncated(at: Int)
    /// A compression pointer at `offset` does not point strictly backwards, or there are too many in a row.
    case badPointer(at: Int)
    /// The label at `offset` starts with one of the two reserved bit patterns (RFC 1035 section 4.1.4).
    case badLabel(at: Int)
    /// A name is longer than 255 bytes.
    case nameTooLong
    /// A label has `length` bytes; 1 to 63 are allowed.
    case labelLength(Int)
    /// The data of the record of this type at `offset` does not have the form of its type.
    case badRecord(type: UInt16, at: Int)
    /// The message has `count` bytes; 9,000 are allowed (RFC 6762 section 17).
    case messageTooLong(count: Int)
}
