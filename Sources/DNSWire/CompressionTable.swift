// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Where the names of a message and their endings begin in it, so that later ones point there.
///
/// Names are compared with the bytes of the message, of which nothing is copied: byte for byte, so that case survives.
struct CompressionTable: Sendable {
    private struct Entry: Sendable {
        let fingerprint: UInt64
        let offset: UInt16
    }

    private var entries: [Entry] = []
    /// Indices into `entries` plus 1, each at the first free slot from that of its fingerprint on; 0 is none.
    private var slots: [UInt16] = []

    /// How many names are known.
    var count: Int { entries.count }

    /// Where the name that begins at `start` of `wire` is in the message, and what ``insert(_:at:)`` needs.
    func find(_ wire: [UInt8], from start: Int, in message: [UInt8]) -> (offset: UInt16?, fingerprint: UInt64) {
        let fingerprint = Fingerprint.of(wire.span, from: start)
        guard !slots.isEmpty else { return (nil, fingerprint) }
        var slot = Int(truncatingIfNeeded: fingerprint) & (slots.count - 1)
        while slots[slot] != 0 {
            let entry = entries[Int(slots[slot]) - 1]
            if entry.fingerprint == fingerprint, Self.isName(wire, from: start, at: Int(entry.offset), of: message) {
                return (entry.offset, fingerprint)
            }
            slot = (slot + 1) & (slots.count - 1)
        }
        return (nil, fingerprint)
    }

    /// Records a name that is not known yet.
    mutating func insert(_ fingerprint: UInt64, at offset: UInt16) {
        entries.append(Entry(fingerprint: fingerprint, offset: offset))
        if 2 * entries.count > slots.count { spread(over: max(32, 2 * slots.count)) } else { insert(entries.count) }
    }

    /// Forgets all names but the first `count`.
    mutating func forget(downTo count: Int) {
        guard count < entries.count else { return }
        entries.removeSubrange(count...)
        spread(over: slots.count)
    }

    private mutating func spread(over size: Int) {
        slots = [UInt16](repeating: 0, count: size)
        for number in entries.indices { insert(number + 1) }
    }

    private mutating func insert(_ number: Int) {
        var slot = Int(truncatingIfNeeded: entries[number - 1].fingerprint) & (slots.count - 1)
        while slots[slot] != 0 { slot = (slot + 1) & (slots.count - 1) }
        slots[slot] = UInt16(number)
    }

    private static func isName(_ wire: [UInt8], from start: Int, at offset: Int, of message: [UInt8]) -> Bool {
        var (index, position) = (start, offset)
        while index < wire.count {
            // What was written here points backwards only.
            while message[position] >> 6 == 3 {
                position = Int(message[position] & 0x3F) << 8 | Int(message[position + 1])
            }
            let end = index + 1 + Int(wire[index])
            while index < end {
                guard message[position] == wire[index] else { return false }
                (index, position) = (index + 1, position + 1)
            }
        }
        while message[position] >> 6 == 3 {
            position = Int(message[position] & 0x3F) << 8 | Int(message[position + 1])
        }
        return message[position] == 0
    }
}
