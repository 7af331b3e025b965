// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import DNSWire

/// The records of one name and type in a cache, by their data.
///
/// Nearly all names have one record of a type, which is compared with; a type with thousands of instances has an index.
struct CachedRecords: Sendable {
    /// More than so many have an index.
    static let few = 8

    /// In no order; ``RecordCache/Entry/order`` tells it.
    private(set) var entries: [RecordCache.Entry] = []
    private var places: [RecordData: Int] = [:]

    var count: Int { entries.count }
    var isEmpty: Bool { entries.isEmpty }

    subscript(data: RecordData) -> RecordCache.Entry? { place(of: data).map { entries[$0] } }

    private func place(of data: RecordData) -> Int? {
        places.isEmpty ? entries.firstIndex { $0.record.data == data } : places[data]
    }

    /// Puts a record in, in place of the one with the same data.
    mutating func put(_ entry: RecordCache.Entry) {
        if let place = place(of: entry.record.data) {
            entries[place] = entry
            return
        }
        if entries.isEmpty { entries.reserveCapacity(1) }
        entries.append(entry)
        if !places.isEmpty {
            places[entry.record.data] = entries.count - 1
        } else if entries.count > Self.few {
            for (place, entry) in entries.enumerated() { places[entry.record.data] = place }
        }
    }

    /// Takes a record out.
    /// - Returns: Whether it was there.
    mutating func remove(_ data: RecordData) -> Bool {
        guard let place = place(of: data) else { return false }
        let last = entries.removeLast()
        if place < entries.count { entries[place] = last }
        if !places.isEmpty {
            places[data] = nil
            if place < entries.count { places[last.record.data] = place }
        }
        return true
    }
}
