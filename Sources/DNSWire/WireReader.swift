// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// A cursor over a message: every read is checked, none can trap.
struct WireReader: ~Escapable {
    private let message: Span<UInt8>
    private(set) var offset = 0

    /// The first names, and where they begin: most later ones are pointers to them.
    private var names: [(offset: Int, name: DomainName)] = []

    /// How many names are remembered; more would cost a hostile message's reader more than they save.
    private static let rememberedNames = 64
    /// More pointers in one name than its 127 possible labels serve no honest sender.
    private static let maximumPointers = 128

    @_lifetime(copy message)
    init(_ message: Span<UInt8>) { self.message = message }

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
        let bytes = message.extracting(offset..<(offset + count))
        return [UInt8](capacity: count) { copy in
            for index in bytes.indices { copy.append(bytes[index]) }
        }
    }

    /// Reads a string with a length byte before it (RFC 1035 section 3.3).
    mutating func readString() throws(WireError) -> [UInt8] {
        try readBytes(Int(try readByte()))
    }

    /// Reads a name, following compression pointers strictly backwards, without recursion.
    mutating func readName() throws(WireError) -> DomainName {
        let start = offset
        // A name that is one pointer to a name read before is that one.
        if let target = pointer(at: start), let known = names.first(where: { $0.offset == target }) {
            offset += 2
            return known.name
        }
        let length = try skipName()
        let name = DomainName(
            wire: [UInt8](capacity: length) { wire in copyLabels(from: start, to: &wire) }
        )
        if names.count < Self.rememberedNames { names.append((start, name)) }
        return name
    }

    /// Goes past a name and checks it.
    /// - Returns: How many bytes it has with its pointers followed, without the root.
    private mutating func skipName() throws(WireError) -> Int {
        var position = offset
        var limit = offset
        var end: Int?
        var pointers = 0
        var count = 0
        while true {
            guard position < message.count else { throw .truncated(at: position) }
            let length = Int(message[position])
            switch length >> 6 {
            case 0 where length == 0:
                offset = end ?? position + 1
                return count
            case 0:
                guard position + length < message.count else { throw .truncated(at: position) }
                count += length + 1
                guard count <= DomainName.maximumLength else { throw .nameTooLong }
                position += length + 1
            case 3:
                guard let target = pointer(at: position) else { throw .truncated(at: position) }
                pointers += 1
                // Each jump lands before the start of the part it leaves, so pointers cannot form a loop.
                guard target < limit, pointers <= Self.maximumPointers else { throw .badPointer(at: position) }
                end = end ?? position + 2
                limit = target
                position = target
            default:
                throw .badLabel(at: position)
            }
        }
    }

    /// Where the compression pointer at `position` leads; `nil` when there is none, or half of one.
    private func pointer(at position: Int) -> Int? {
        guard position + 1 < message.count, message[position] >> 6 == 3 else { return nil }
        return Int(message[position] & 0x3F) << 8 | Int(message[position + 1])
    }

    /// Copies the labels of a name that ``skipName()`` has checked.
    private func copyLabels(from start: Int, to wire: inout OutputSpan<UInt8>) {
        var position = start
        while message[position] != 0 {
            if let target = pointer(at: position) {
                position = target
                continue
            }
            let end = position + Int(message[position])
            while position <= end {
                wire.append(message[position])
                position += 1
            }
        }
    }

    mutating func move(to offset: Int) { self.offset = offset }
}
