// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import DNSWire

/// The records that answer one subscription, of all links together.
///
/// Pure; a record is added once and removed once, even when reported twice.
struct RecordList: Sendable {
    private struct Key: Hashable, Sendable {
        let link: Int
        let record: RecordKey
        let data: RecordData
    }

    let keys: Set<RecordKey>
    private var known: [Key: (order: Int, answer: RecordAnswer)] = [:]
    private var lastOrder = 0

    init(keys: Set<RecordKey>) { self.keys = keys }

    /// The answers, those that came first first.
    var answers: [RecordAnswer] { known.values.sorted { $0.order < $1.order }.map(\.answer) }

    /// Applies an event of a link.
    /// - Returns: What to report.
    mutating func apply(_ event: DirectoryEvent, on link: LinkIdentity) -> RecordEvent? {
        switch event {
        case .recordAdded(let record):
            guard let key = key(of: record, on: link), known[key] == nil else { return nil }
            lastOrder += 1
            let answer = RecordAnswer(record: record, interface: link.name, interfaceIndex: link.index)
            known[key] = (lastOrder, answer)
            return .added(answer)
        case .recordRemoved(let record, let reason):
            guard let key = key(of: record, on: link), let answer = known.removeValue(forKey: key)?.answer else {
                return nil
            }
            return .removed(answer, reason: reason)
        default: return nil
        }
    }

    private func key(of record: ResourceRecord, on link: LinkIdentity) -> Key? {
        let key = RecordKey(record.name, record.type)
        return keys.contains(key) ? Key(link: link.index, record: key, data: record.data) : nil
    }
}
