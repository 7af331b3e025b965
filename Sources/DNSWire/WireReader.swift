// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// A cursor over a message: every read is checked, none can trap.
struct WireReader: ~Escapable {
    private let message: Span<UInt8>
    private(set) var offset = 0

    /// More pointers in one name than its 127 possible labels serve no honest sender.
    private static let maximumPointers = 128

    @_lifetime(copy message)
    init(_ message: Span<UInt8>) { self.message = message }

    var isAtEnd: Bool { offset >= message.count }

    mutating func readByte() throws(WireError) -> UInt8 {
        guard offset < message.count else { throw .truncated(at: offset) }
        defer { offset += 1 }
        return message[offset]
    }

    mutating func readUInt16() throws(WireError) -> UInt16 {
        guard message.count - offset >= 2 else { throw .truncated(at: offset) }
        defer { offset += 2 }
        return UInt16(message[offset]) << 8 | UInt16(message[offset + 1])
    }

    mutating func readUInt32() throws(WireError) -> UInt32 {
        let high = try readUInt16()
        return UInt32(high) << 16 | UInt32(try readUInt16())
    }

    mutating func readBytes(_ count: Int) throws(WireError) -> [UInt8] {
        guard count >= 0, message.count - offset >= count else { throw .truncated(at: offset) }
        defer { offset += count }
        return (offset..<(offset + count)).map { message[$0] }
    }

    /// Reads a string with a length byte before it (RFC 1035 section 3.3).
    mutating func readString() throws(WireError) -> [UInt8] {
        try readBytes(Int(try readByte()))
    }

    /// Reads a name, following compression pointers strictly backwards, without recursion.
    mutating func readName() throws(WireError) -> DomainName {
        var wire: [UInt8] = []
        var position = offset
        var limit = offset
        var end: Int?
        var pointers = 0
        while true {
            guard position < message.count else { throw .truncated(at: position) }
            let length = Int(message[position])
            switch length >> 6 {
            case 0 where length == 0:
                offset = end ?? position + 1
                return DomainName(wire: wire)
            case 0:
                guard position + length < message.count else { throw .truncated(at: position) }
                guard wire.count + length + 1 <= DomainName.maximumLength else { throw .nameTooLong }
                for index in position...(position + length) { wire.append(message[index]) }
                position += length + 1
            case 3:
                guard position + 1 < message.count else { throw .truncated(at: position) }
                let target = (length & 0x3F) << 8 | Int(message[position + 1])
                pointers += 1
                // Each jump lands before the start of the part it leaves, so there is no way around in a circle.
                guard target < limit, pointers <= Self.maximumPointers else { throw .badPointer(at: position) }
                end = end ?? position + 2
                limit = target
                position = target
            default:
                throw .badLabel(at: position)
            }
        }
    }

    mutating func move(to offset: Int) { self.offset = offset }
}
