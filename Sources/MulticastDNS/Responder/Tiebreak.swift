// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import DNSWire

/// Who gets a name that two hosts probe for at the same time (rule P6).
enum Tiebreak {
    enum Outcome: Hashable, Sendable {
        /// Ours are later: the other host yields.
        case won
        /// Theirs are later: we yield.
        case lost
        /// The same records: no conflict at all, such as our own probe that came back.
        case equal
    }

    /// Compares the records proposed for one name.
    ///
    /// Both lists are sorted by class, type and raw data and compared pair by pair; the first that is later wins, and
    /// of two lists that begin alike the longer one.
    static func compare(ours: [ResourceRecord], theirs: [ResourceRecord]) -> Outcome {
        let ours = ours.map(Item.init).sorted()
        let theirs = theirs.map(Item.init).sorted()
        for (our, their) in zip(ours, theirs) where our != their { return our < their ? .lost : .won }
        if ours.count == theirs.count { return .equal }
        return ours.count < theirs.count ? .lost : .won
    }

    private struct Item: Comparable {
        let code: UInt16
        let type: RecordType
        let data: [UInt8]

        init(_ record: ResourceRecord) {
            code = record.classCode
            type = record.type
            data = record.data.uncompressed
        }

        static func < (left: Item, right: Item) -> Bool {
            if left.code != right.code { return left.code < right.code }
            if left.type != right.type { return left.type < right.type }
            return left.data.lexicographicallyPrecedes(right.data)
        }
    }
}
