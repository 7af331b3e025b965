// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import DNSWire

extension RecordCache {
    /// The time of the next refresh without jitter; the expiry when all four are behind us.
    static func refreshPoint(_ entry: Entry) -> Duration {
        guard entry.refreshes < refreshPoints.count else { return entry.expires }
        return entry.received + entry.lifetime * refreshPoints[entry.refreshes]
    }

    /// The time of the next refresh with its jitter of up to 2 % (rule Q6).
    static func refreshDue(_ entry: Entry) -> Duration {
        guard entry.refreshes < refreshPoints.count else { return entry.expires }
        return refreshPoint(entry) + entry.lifetime * entry.jitter
    }

    /// When something happens to a record next.
    static func deadline(of entry: Entry, isInteresting: Bool) -> Duration {
        var deadline = entry.expires
        if isInteresting && !entry.isLeaving { deadline = min(deadline, refreshDue(entry)) }
        if let unanswered = entry.unanswered, unanswered.count >= 2 {
            deadline = min(deadline, unanswered.since + patience)
        }
        return deadline
    }

    static func isGivenUp(_ entry: Entry, at now: Duration) -> Bool {
        guard let unanswered = entry.unanswered else { return false }
        return unanswered.count >= 2 && now >= unanswered.since + patience
    }

    /// The records to list in a query for `question` (rules Q10 to Q12): those with at least half their life left.
    func knownAnswers(to question: Question, at now: Duration) -> [ResourceRecord] {
        let keys: [RecordKey]
        if question.type == .any {
            keys = entries.keys.filter { $0.name == question.name }
        } else {
            keys = [RecordKey(question.name, question.type)]
        }
        let known = keys.flatMap { entries[$0].map { Array($0.values) } ?? [] }.sorted { $0.order < $1.order }
        return known.compactMap { entry in
            let left = entry.expires - now
            guard !entry.isLeaving, !entry.isDoubted, left * 2 >= entry.lifetime else { return nil }
            var record = entry.record
            record.timeToLive = UInt32(clamping: left.components.seconds)
            return record
        }
    }

    /// Gives records that are suspected to be stale ten seconds to be answered for (rule C7).
    ///
    /// The caller asks for them at least twice meanwhile; a fresh answer makes them whole again.
    /// - Returns: Whether the record is known.
    mutating func reconfirm(_ record: ResourceRecord, at now: Duration) -> Bool {
        let key = RecordKey(record.name, record.type)
        guard var entry = entries[key]?[record.data] else { return false }
        entry.expires = min(entry.expires, now + Self.patience)
        entry.isDoubted = true
        entries[key]?[record.data] = entry
        note(entry.expires)
        return true
    }

    /// Takes note of another host's question that should bring a multicast answer (rule C8).
    mutating func heard(_ question: Question, knownAnswers: [ResourceRecord], at now: Duration) {
        let key = RecordKey(question.name, question.type)
        let known = Set(knownAnswers.filter { $0.name == key.name }.map(\.data))
        for (data, var entry) in entries[key] ?? [:] where !known.contains(data) {
            let previous = entry.unanswered ?? (now, 0)
            entry.unanswered = (previous.since, previous.count + 1)
            entries[key]?[data] = entry
            if previous.count >= 1 { note(previous.since + Self.patience) }
        }
    }
}
