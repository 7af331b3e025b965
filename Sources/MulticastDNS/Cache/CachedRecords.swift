// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import DNSWire

/// The records of one name and type in a cache, by their data.
///
/// Nearly all names have one record of a type, which is compared with; a type with thousands of instances has an index.
struct CachedRecords: Sendable {
    /// More than so many have an index.
    static let few = 8

    /// In no order; ``RecordCache/Entry/order`` is it.
    private(set) var entries: [RecordCache.Entry] = []
    private var positions: [RecordData: Int] = [:]

    var count: Int { entries.count }
    var isEmpty: Bool { entries.isEmpty }

    subscript(data: RecordData) -> RecordCache.Entry? { position(of: data).map { entries[$0] } }

    private func position(of data: RecordData) -> Int? {
        positions.isEmpty ? entries.firstIndex { $0.record.data == data } : positions[data]
    }

    /// Inserts a record, or replaces the one with the same data.
    mutating func put(_ entry: RecordCache.Entry) {
        if let position = position(of: entry.record.data) {
            entries[position] = entry
            return
        }
        if entries.isEmpty { entries.reserveCapacity(1) }
        entries.append(entry)
        if !positions.isEmpty {
            positions[entry.record.data] = entries.count - 1
        } else if entries.count > Self.few {
            for (position, entry) in entries.enumerated() { positions[entry.record.data] = position }
        }
    }

    /// Removes a record.
    /// - Returns: Whether it was there.
    mutating func remove(_ data: RecordData) -> Bool {
        guard let position = position(of: data) else { return false }
        let last = entries.removeLast()
        if position < entries.count { entries[position] = last }
        if !positions.isEmpty {
            positions[data] = nil
            if position < entries.count { positions[last.record.data] = position }
        }
        return true
    }
}
