// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import DNSWire

/// How much a cache may hold (rule C11).
struct CacheBounds: Hashable, Sendable {
    var records = 16384
    /// Of one name and type; pointers of a type are as many as its instances.
    var recordsPerName = 64
    var pointersPerName = 4096
    /// Brought by one sender; a reflector brings those of many.
    var recordsPerSource = 8192
    /// In bytes of names and data, and of what one sender brought.
    var bytes = 6 << 20
    var bytesPerSource = 3 << 20

    /// The bounds for so many records, at least 16.
    init(records: Int = 16384) {
        self.records = max(records, 16)
        recordsPerSource = max(self.records / 2, 16)
        pointersPerName = max(self.records / 4, 16)
        bytes = self.records * 384
        bytesPerSource = bytes / 2
    }

    static func size(of record: ResourceRecord) -> Int {
        let data =
            switch record.data {
            case .address: 16
            case .pointer(let name), .alias(let name): name.length
            case .service(let location): 6 + location.target.length
            case .text(let bytes), .opaque(let bytes): bytes.count
            case .nextSecure(let next, let types): next.length + 2 * types.count
            case .hostInformation(let cpu, let system): cpu.count + system.count
            }
        return record.name.length + data
    }
}

/// Queries of other hosts that a record should have answered (rule C8).
struct UnansweredQueries: Hashable, Sendable {
    /// When the first one came, and the last that counted.
    var since: Duration
    var last: Duration
    var count: Int
    /// When we queried ourselves for a record that somebody wants.
    var verified: Duration?

    /// When to query ourselves: when there was time to answer the second one.
    var verifyAt: Duration? { count >= 2 && verified == nil ? last + RecordCache.oneSecond : nil }

    /// When the record is given up: ten seconds after the first, and not before there was time to answer the last, and
    /// our own.
    var end: Duration? {
        guard count >= 2 else { return nil }
        let own = verified.map { $0 + RecordCache.verification } ?? .zero
        return max(since + RecordCache.unansweredTimeout, last + RecordCache.oneSecond, own)
    }
}
