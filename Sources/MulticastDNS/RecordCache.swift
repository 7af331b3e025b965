// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import DNSWire

/// What a record is looked up by.
struct RecordKey: Hashable, Sendable {
    var name: DomainName
    var type: RecordType

    init(_ name: DomainName, _ type: RecordType) {
        self.name = name
        self.type = type
    }
}

/// The records heard on one interface by one family (rules C1 to C12).
///
/// Time is an argument; nothing happens unless a method is called. Every record heard is kept, wanted or not, because
/// what was just multicast will not be sent again for a second; interest decides about refreshing and eviction.
struct RecordCache: Sendable {
    /// Why a record left.
    enum Loss: Hashable, Sendable {
        /// Its owner withdrew it (TTL 0).
        case goodbye
        /// Its time ran out, or nobody answered for it.
        case expired
        /// Its owner replaced it (cache-flush).
        case flushed
        /// It made room for others.
        case evicted
    }

    /// What became of a record that was put in.
    enum Outcome: Hashable, Sendable {
        case added, refreshed, leaving, ignored
    }

    struct Entry: Sendable {
        /// When it was put in, counted over the whole cache: what keeps a stable order.
        let order: Int
        /// The record as received, its TTL clamped, the cache-flush bit cleared.
        var record: ResourceRecord
        var received: Duration
        var expires: Duration
        var loss = Loss.expired
        /// Its owner claimed to be the only one (cache-flush).
        var isUnique = false
        /// Somebody asked for it to be confirmed.
        var isDoubted = false
        /// How many of the four refreshes are behind us, and the jitter of all of them as a part of the TTL.
        var refreshes = 0
        var jitter: Double
        /// Foreign queries that should have been answered with this record (rule C8).
        var unanswered: (since: Duration, count: Int)?

        var lifetime: Duration { .seconds(Int64(record.timeToLive)) }
        var isLeaving: Bool { loss != .expired }
    }

    /// What time brought.
    struct Advance: Sendable {
        var lost: [(record: ResourceRecord, loss: Loss)] = []
        /// What to ask again, and the how manyeth time, from 1 to 4.
        var refresh: [(key: RecordKey, step: Int)] = []
    }

    /// Longer lifetimes are cut: twice the 75 minutes of RFC 6762 section 10.
    static let maximumLifetime: UInt32 = 9000
    static let refreshPoints = [0.80, 0.85, 0.90, 0.95]
    static let oneSecond = Duration.seconds(1)
    /// How long a record may stay unanswered for (RFC 6762 sections 10.4 and 10.5).
    static let patience = Duration.seconds(10)

    let limit: Int
    private(set) var count = 0
    /// How many records had to make room.
    private(set) var evictions = 0
    /// By their data, so that a type with thousands of instances costs no more than one with a few.
    var entries: [RecordKey: [RecordData: Entry]] = [:]
    private var lastOrder = 0
    /// Nothing happens before this time; it may be early, never late.
    var nextDeadline: Duration?
    private var evicted: [(record: ResourceRecord, loss: Loss)] = []

    init(limit: Int) { self.limit = max(limit, 16) }

    /// The live records of a name and type, those heard last first.
    ///
    /// A record replaced within a second of its coming stays beside the new one (rule C4), so the order matters.
    func records(_ key: RecordKey, at now: Duration) -> [ResourceRecord] {
        guard let list = entries[key] else { return [] }
        return list.values.filter { $0.expires > now }
            .sorted { ($1.received, $0.order) < ($0.received, $1.order) }
            .map(\.record)
    }

    /// The live record with this data.
    func record(_ key: RecordKey, _ data: RecordData, at now: Duration) -> ResourceRecord? {
        guard let entry = entries[key]?[data], entry.expires > now else { return nil }
        return entry.record
    }

    /// Whether a record is known whose owner claims to be the only one, and which need not be asked for yet.
    func isUnique(_ key: RecordKey, at now: Duration) -> Bool {
        entries[key]?.values.contains { $0.isUnique && !$0.isLeaving && !$0.isDoubted && $0.expires > now } ?? false
    }

    /// The names that have records of a type.
    func names(of type: RecordType) -> [DomainName] { entries.keys.filter { $0.type == type }.map(\.name) }

    /// Whether the name's owner said that it has no such type (rule C9).
    func denies(_ key: RecordKey, at now: Duration) -> Bool {
        records(RecordKey(key.name, .nsec), at: now).contains { record in
            guard case .nextSecure(_, let types) = record.data else { return false }
            return !types.contains(key.type)
        }
    }

    /// Takes a record out of a response.
    mutating func insert(
        _ received: ResourceRecord,
        at now: Duration,
        interest: Interest,
        random: inout RandomSource
    ) -> Outcome {
        guard received.classCode == 1, received.type != .opt, received.type != .any else { return .ignored }
        let key = RecordKey(received.name, received.type)
        var record = received
        record.flushesCache = false
        // RFC 2181 section 8: a TTL with its top bit set is zero.
        record.timeToLive = received.timeToLive > UInt32(Int32.max) ? 0 : min(received.timeToLive, Self.maximumLifetime)
        if received.flushesCache { flush(key, except: record.data, at: now) }
        let known = entries[key]?[record.data]
        guard record.timeToLive > 0 else {
            guard known != nil else { return .ignored }
            leave(key, record.data, by: .goodbye, at: now)
            return .leaving
        }
        var entry = Entry(
            order: known?.order ?? lastOrder + 1,
            record: record,
            received: now,
            expires: now,
            jitter: Double.random(in: 0...0.02, using: &random)
        )
        entry.expires = now + entry.lifetime
        entry.isUnique = received.flushesCache
        note(min(entry.expires, Self.refreshDue(entry)))
        if let known {
            entries[key]?[record.data] = entry
            return known.isLeaving ? .added : .refreshed
        }
        guard count < limit || makeRoom(at: now, interest: interest) else { return .ignored }
        entries[key, default: [:]][record.data] = entry
        lastOrder += 1
        count += 1
        return .added
    }

    /// Gives the other records of this name and type one more second, unless they came within the last one (rule C4).
    private mutating func flush(_ key: RecordKey, except data: RecordData, at now: Duration) {
        for (other, entry) in entries[key] ?? [:] where other != data && now - entry.received > Self.oneSecond {
            leave(key, other, by: .flushed, at: now)
        }
    }

    private mutating func leave(_ key: RecordKey, _ data: RecordData, by loss: Loss, at now: Duration) {
        guard var entry = entries[key]?[data] else { return }
        entry.expires = min(entry.expires, now + Self.oneSecond)
        if !entry.isLeaving { entry.loss = loss }
        entries[key]?[data] = entry
        note(entry.expires)
    }

    /// Lets time pass: drops what is due and tells what must be asked again.
    mutating func advance(to now: Duration, interest: Interest) -> Advance {
        var result = Advance(lost: evicted)
        evicted = []
        guard let nextDeadline, nextDeadline <= now else { return result }
        var earliest: Duration?
        for (key, list) in entries {
            let isInteresting = interest.contains(key)
            var isDue = false
            for entry in list.values {
                let deadline = Self.deadline(of: entry, isInteresting: isInteresting)
                let isRefreshable = isInteresting && !entry.isLeaving && entry.refreshes < Self.refreshPoints.count
                // A wake-up serves whatever has reached its point, even when its own jitter would allow more time.
                if deadline <= now || (isRefreshable && Self.refreshPoint(entry) <= now) {
                    isDue = true
                } else {
                    earliest = min(earliest ?? deadline, deadline)
                }
            }
            guard isDue else { continue }
            let kept = settle(key, list, at: now, isInteresting: isInteresting, into: &result)
            entries[key] = kept.isEmpty ? nil : kept
            count += kept.count - list.count
            for entry in kept.values {
                let deadline = Self.deadline(of: entry, isInteresting: isInteresting)
                earliest = min(earliest ?? deadline, deadline)
            }
        }
        self.nextDeadline = earliest
        return result
    }

    private func settle(
        _ key: RecordKey,
        _ list: [RecordData: Entry],
        at now: Duration,
        isInteresting: Bool,
        into result: inout Advance
    ) -> [RecordData: Entry] {
        var kept = list
        var step = 0
        for var entry in list.values.sorted(by: { $0.order < $1.order }) {
            if entry.expires <= now || Self.isGivenUp(entry, at: now) {
                result.lost.append((entry.record, entry.loss))
                kept[entry.record.data] = nil
                continue
            }
            while isInteresting, !entry.isLeaving, entry.refreshes < Self.refreshPoints.count,
                Self.refreshPoint(entry) <= now
            {
                entry.refreshes += 1
                step = max(step, entry.refreshes)
            }
            kept[entry.record.data] = entry
        }
        if step > 0 { result.refresh.append((key, step)) }
        return kept
    }

    mutating func note(_ deadline: Duration) {
        nextDeadline = min(nextDeadline ?? deadline, deadline)
    }

    /// Removes a sixteenth of the limit: of the records that no reported service stands on, those heard longest ago.
    private mutating func makeRoom(at now: Duration, interest: Interest) -> Bool {
        var candidates: [(key: RecordKey, received: Duration, data: RecordData)] = []
        for (key, list) in entries {
            for entry in list.values where !interest.protects(entry.record) {
                candidates.append((key, entry.received, entry.record.data))
            }
        }
        guard !candidates.isEmpty else { return false }
        candidates.sort { $0.received < $1.received }
        for victim in candidates.prefix(max(limit / 16, 1)) {
            guard let entry = entries[victim.key]?.removeValue(forKey: victim.data) else { continue }
            if entries[victim.key]?.isEmpty == true { entries[victim.key] = nil }
            evicted.append((entry.record, .evicted))
            evictions += 1
            count -= 1
        }
        note(now)
        return true
    }
}
