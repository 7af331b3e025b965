// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import DNSWire

extension RecordCache {
    /// The time of the next refresh without jitter; the expiry when all four are behind us.
    static func refreshPoint(_ entry: Entry) -> Duration {
        guard entry.refreshes < refreshes else { return entry.expires }
        // An owner whose answer was lost keeps silent for a second; so short lives are refreshed earlier, but not
        // while the record is listed as known.
        let gap = max(entry.lifetime / 20, min(refreshGap, entry.lifetime * 12 / 100))
        return entry.received + entry.lifetime - gap * (refreshes - entry.refreshes)
    }

    /// The time of the next refresh with its jitter of up to 2 % (rule Q6).
    static func refreshDue(_ entry: Entry) -> Duration {
        guard entry.refreshes < refreshes else { return entry.expires }
        return refreshPoint(entry) + entry.lifetime * entry.jitter
    }

    /// When something may happen to a record next, and when it must.
    static func deadlines(of entry: Entry, isInteresting: Bool) -> (point: Duration, wake: Duration) {
        var end = entry.expires
        if let deadline = entry.unanswered?.end { end = min(end, deadline) }
        guard isInteresting && !entry.isLeaving else { return (end, end) }
        if let verifyAt = entry.unanswered?.verifyAt { end = min(end, verifyAt) }
        return (min(end, refreshPoint(entry)), min(end, refreshDue(entry)))
    }

    static func isGivenUp(_ entry: Entry, at now: Duration) -> Bool {
        entry.unanswered?.end.map { $0 <= now } ?? false
    }

    /// The records to list in a query for `question` (rules Q10 to Q12): those with at least half their life left.
    func knownAnswers(to question: Question, at now: Duration) -> [ResourceRecord] {
        let types = question.type == .any ? Self.knownTypes : [question.type]
        let known = types.flatMap { entries[RecordKey(question.name, $0)]?.entries ?? [] }
        return known.filter { Self.isListed($0, at: now) }.sorted { $0.order < $1.order }.map { entry in
            var record = entry.record
            record.timeToLive = UInt32(clamping: (entry.expires - now).components.seconds)
            return record
        }
    }

    /// Whether a record would be among our known answers.
    func lists(_ record: ResourceRecord, at now: Duration) -> Bool {
        entries[RecordKey(record.name, record.type)]?[record.data].map { Self.isListed($0, at: now) } ?? false
    }

    private static func isListed(_ entry: Entry, at now: Duration) -> Bool {
        !entry.isLeaving && !entry.isDoubted && (entry.expires - now) * 2 >= entry.lifetime
    }

    /// What a question for any type is matched with: a name is not searched for among all records.
    private static let knownTypes: [RecordType] = [.a, .aaaa, .cname, .hinfo, .nsec, .ptr, .srv, .txt]

    /// Gives a record that is suspected to be stale ten seconds to be confirmed (rule C7).
    ///
    /// The caller queries it at least twice meanwhile; an answer restores it.
    /// - Returns: Whether the record is known.
    mutating func reconfirm(_ record: ResourceRecord, at now: Duration) -> Bool {
        let key = RecordKey(record.name, record.type)
        guard var entry = entries[key]?[record.data] else { return false }
        entry.expires = min(entry.expires, now + Self.unansweredTimeout)
        entry.isDoubted = true
        put(entry, key)
        note(key, entry.expires)
        return true
    }

    /// Records another host's query that should bring a multicast answer (rule C8).
    ///
    /// An owner may answer us and not that host (RFC 6762 section 11): what somebody wants is queried by us as well
    /// before it is given up.
    /// Not within a second of the record's last coming, when its owner must keep silent (RFC 6762 section 6); and
    /// questions of one burst count once.
    mutating func observe(_ question: Question, knownAnswers: [ResourceRecord], at now: Duration) {
        let key = RecordKey(question.name, question.type)
        guard let list = entries[key] else { return }
        if list.count > Self.large {
            guard visits[key]?.observed.map({ now - $0 >= Self.burst }) ?? true else { return }
            visits[key, default: Visits()].observed = now
        }
        let known = Set(knownAnswers.filter { $0.name == key.name }.map(\.data))
        for var entry in list.entries
        where !known.contains(entry.record.data) && now - entry.received >= Self.oneSecond {
            var unanswered = entry.unanswered ?? UnansweredQueries(since: now, last: now, count: 0)
            // An answer to a query long ago may not have reached us.
            if now - unanswered.last > Self.unansweredTimeout { unanswered = .init(since: now, last: now, count: 0) }
            guard unanswered.count == 0 || now - unanswered.last >= Self.burst else { continue }
            unanswered.count += 1
            unanswered.last = now
            entry.unanswered = unanswered
            put(entry, key)
            if let deadline = earliest(unanswered.verifyAt, unanswered.end) { note(key, deadline) }
        }
    }

    private static let burst = Duration.milliseconds(100)
}
