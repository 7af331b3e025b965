// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import DNSWire

/// What an asker says it knows (rules A4, A5).
struct KnownAnswers: Sendable {
    private let records: [DomainName: [ResourceRecord]]

    init(_ records: [ResourceRecord]) { self.records = Dictionary(grouping: records, by: \.name) }

    var isEmpty: Bool { records.isEmpty }

    /// Whether the asker has the record for at least half its lifetime yet.
    func contains(_ record: ResourceRecord) -> Bool {
        records[record.name]?.contains { known in
            known.type == record.type && UInt64(known.timeToLive) * 2 >= UInt64(record.timeToLive)
                && known.data == record.data
        } ?? false
    }
}

struct WantedAnswer: Sendable {
    let key: OwnRecords.Key
    /// The records of the unit that the asker does not know; a unit of which all are known is not sent.
    var unknown: [ResourceRecord]
    var isUnicast = false
    /// Whether the asker probes for the name, which is ours.
    var isDefence = false
    /// Whether other hosts may answer too, or the query has other questions: then it is delayed (rule A2).
    var isDelayed = false
}
