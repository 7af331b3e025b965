// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import DNSWire
internal import LinuxIO

struct RecordKey: Hashable, Sendable {
    var name: DomainName
    var type: RecordType

    init(_ name: DomainName, _ type: RecordType) {
        self.name = name
        self.type = type
    }
}

/// The records received on one interface by one family (rules C1 to C12).
///
/// Time is an argument; nothing happens unless a method is called. Every received record is kept, wanted or not, as
/// what was just multicast will not be sent again for a second; active queries decide about refreshing and eviction.
struct RecordCache: Sendable {
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
        /// A client requested its confirmation.
        var isDoubted = false
        /// How many of the four refreshes are behind us, and the jitter of all of them as a part of the TTL.
        var refreshes = 0
        var jitter: Double
        /// Foreign queries that should have been answered with this record (rule C8).
        var unanswered: UnansweredQueries?
        /// Who sent it first, as a hash of the sender.
        var source: Int

        var lifetime: Duration { .seconds(Int64(record.timeToLive)) }
        var isLeaving: Bool { loss != .expired }
    }

    /// What one sender has brought that is still there.
    private struct Share {
        var records = 0
        var bytes = 0
        /// Nearly all of it is wanted: until then no eviction is tried.
        var settledUntil = Duration.zero
    }

    /// When a set of more than ``large`` records was gone through last, and why: not for every packet that names it.
    struct Visits: Sendable {
        var flushed: Duration?
        var settled: Duration?
        var observed: Duration?
    }

    struct Advance: Sendable {
        var lost: [(record: ResourceRecord, loss: Loss)] = []
        /// What to query again, and which of the four refreshes it is, from 1 (RFC 6762 section 5.2).
        var refresh: [(key: RecordKey, step: Int)] = []
        /// What others queried in vain: to be queried twice before it is given up.
        var verify: [RecordKey] = []
    }

    /// Longer lifetimes are cut: twice the 75 minutes of RFC 6762 section 10.
    static let maximumLifetime: UInt32 = 9000
    /// How often a record is queried before it expires: at 80, 85, 90 and 95 % of its lifetime (rule Q6).
    static let refreshes = 4
    /// How far these are apart at least: a second without an answer, and the delay of an answer.
    static let refreshGap = Duration.milliseconds(1150)
    static let oneSecond = Duration.seconds(1)
    /// How long a record may stay unanswered for (RFC 6762 sections 10.4 and 10.5).
    static let unansweredTimeout = Duration.seconds(10)
    /// How long two queries of our own may last: at 0 and 1 s, and time for the answer.
    static let verification = Duration.seconds(3)
    /// A set of more records is gone through so often at most, whatever arrives.
    static let large = 64
    static let largeGap = Duration.milliseconds(100)

    let bounds: CacheBounds
    private(set) var count = 0
    /// How many bytes names and data need.
    private(set) var bytes = 0
    private(set) var evictions = 0
    /// How often everything was gone through to make room.
    private(set) var sweeps = 0
    private(set) var entries: [RecordKey: CachedRecords] = [:]
    private var lastOrder = 0
    /// What each sender has brought.
    private var shares: [Int: Share] = [:]
    /// When large sets were gone through last.
    var visits: [RecordKey: Visits] = [:]
    /// When something may happen to a name's records, and when it must; the jitter of a refresh lies between.
    private var points = DeadlineQueue<RecordKey>()
    private var wakes = DeadlineQueue<RecordKey>()
    private var evicted: [(record: ResourceRecord, loss: Loss)] = []

    init(_ bounds: CacheBounds) { self.bounds = bounds }

    /// Nothing happens before this time.
    var nextDeadline: Duration? { evicted.isEmpty ? wakes.next : .zero }

    // MARK: - Looking up

    /// The live records of a name and type, most recently received first.
    ///
    /// A record replaced within a second of its coming stays beside the new one (rule C4), so the order matters.
    func records(_ key: RecordKey, at now: Duration) -> [ResourceRecord] {
        guard let list = entries[key] else { return [] }
        if list.count == 1, let entry = list.entries.first { return entry.expires > now ? [entry.record] : [] }
        return list.entries.filter { $0.expires > now }
            .sorted { ($1.received, $0.order) < ($0.received, $1.order) }
            .map(\.record)
    }

    /// The live records of a name and type without those that their owner has replaced, which live on for a second.
    func current(_ key: RecordKey, at now: Duration) -> [ResourceRecord] {
        let live = records(key, at: now)
        guard live.count > 1 else { return live }
        let kept = live.filter { entries[key]?[$0.data]?.loss != .flushed }
        return kept.isEmpty ? live : kept
    }

    func record(_ key: RecordKey, _ data: RecordData, at now: Duration) -> ResourceRecord? {
        guard let entry = entries[key]?[data], entry.expires > now else { return nil }
        return entry.record
    }

    func hasRecords(_ key: RecordKey, at now: Duration) -> Bool {
        entries[key]?.entries.contains { $0.expires > now } ?? false
    }

    /// When the first of the live records of a name and type came.
    func firstReceived(of key: RecordKey, at now: Duration) -> Duration? {
        entries[key]?.entries.lazy.filter { $0.expires > now }.map(\.received).min()
    }

    /// Whether a record is known whose owner claims to be the only one, and which need not be queried yet.
    func isUnique(_ key: RecordKey, at now: Duration) -> Bool {
        entries[key]?.entries.contains { entry in
            entry.isUnique && !entry.isLeaving && !entry.isDoubted && Self.refreshPoint(entry) > now
        } ?? false
    }

    func names(of type: RecordType) -> [DomainName] { entries.keys.filter { $0.type == type }.map(\.name) }

    /// Whether the name's owner said that it has no such type (rule C9), and no other name either.
    func denies(_ key: RecordKey, at now: Duration) -> Bool {
        guard let list = entries[RecordKey(key.name, .nsec)] else { return false }
        return list.entries.contains { entry in
            guard entry.expires > now, case .nextSecure(_, let types) = entry.record.data else { return false }
            return !types.contains(key.type) && !types.contains(.cname)
        }
    }

    // MARK: - Putting in

    mutating func insert(
        _ received: ResourceRecord,
        from source: IPAddress = .v4(0),
        at now: Duration,
        activeQueries: ActiveQueries,
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
            jitter: Double.random(in: 0...0.02, using: &random),
            source: known?.source ?? source.hashValue
        )
        entry.expires = now + entry.lifetime
        entry.isUnique = received.flushesCache
        if let known {
            put(entry, key)
            schedule(key, entry)
            return known.isLeaving ? .added : .refreshed
        }
        guard makeRoom(for: entry, key, at: now, activeQueries: activeQueries) else { return .ignored }
        put(entry, key)
        schedule(key, entry)
        lastOrder += 1
        account(for: entry, 1)
        return .added
    }

    /// Gives the other records of this name and type one more second, unless they came within the last one (rule C4).
    private mutating func flush(_ key: RecordKey, except data: RecordData, at now: Duration) {
        guard let list = entries[key] else { return }
        if list.count > Self.large {
            guard visits[key]?.flushed.map({ now - $0 >= Self.largeGap }) ?? true else { return }
            visits[key, default: Visits()].flushed = now
        }
        for entry in list.entries where entry.record.data != data && now - entry.received > Self.oneSecond {
            leave(key, entry.record.data, by: .flushed, at: now)
        }
    }

    /// Inserts an entry, or replaces the one with the same data.
    mutating func put(_ entry: Entry, _ key: RecordKey) { entries[key, default: CachedRecords()].put(entry) }

    private mutating func leave(_ key: RecordKey, _ data: RecordData, by loss: Loss, at now: Duration) {
        guard var entry = entries[key]?[data] else { return }
        entry.expires = min(entry.expires, now + Self.oneSecond)
        if !entry.isLeaving { entry.loss = loss }
        put(entry, key)
        note(key, entry.expires)
    }

    private mutating func schedule(_ key: RecordKey, _ entry: Entry) {
        let earliest = earliestVisit(key)
        points.lower(key, to: max(earliest, min(entry.expires, Self.refreshPoint(entry))))
        wakes.lower(key, to: max(earliest, min(entry.expires, Self.refreshDue(entry))))
    }

    private func earliestVisit(_ key: RecordKey) -> Duration {
        guard !visits.isEmpty, let settled = visits[key]?.settled else { return .zero }
        return settled + Self.largeGap
    }

    /// Schedules the evaluation of a name's records for then at the latest.
    mutating func note(_ key: RecordKey, _ deadline: Duration) {
        let deadline = max(deadline, earliestVisit(key))
        points.lower(key, to: deadline)
        wakes.lower(key, to: deadline)
    }

    /// Somebody began to be interested: what was left alone may be due for a refresh.
    mutating func attend(_ key: RecordKey, at now: Duration) {
        if entries[key] != nil { note(key, now) }
    }

    // MARK: - Time

    /// Lets time pass: drops what is due and returns what must be queried again.
    mutating func advance(to now: Duration, activeQueries: ActiveQueries) -> Advance {
        var result = Advance(lost: evicted)
        evicted = []
        guard let next = wakes.next, next <= now else { return result }
        // A wake-up serves whatever has reached its point, even when its own jitter would allow more time.
        for key in points.removeDue(at: now) {
            wakes[key] = nil
            settle(key, at: now, isInteresting: activeQueries.contains(key), into: &result)
        }
        return result
    }

    private mutating func settle(
        _ key: RecordKey,
        at now: Duration,
        isInteresting: Bool,
        into result: inout Advance
    ) {
        guard let list = entries[key] else { return }
        var step = 0
        var isVerified = false
        var point: Duration?
        var wake: Duration?
        for var entry in list.count == 1 ? list.entries : list.entries.sorted(by: { $0.order < $1.order }) {
            if isInteresting, let verifyAt = entry.unanswered?.verifyAt, verifyAt <= now, entry.expires > now {
                entry.unanswered?.verified = now
                // Its owner must not find it among our known answers.
                entry.isDoubted = true
                put(entry, key)
                isVerified = true
            }
            if entry.expires <= now || Self.isGivenUp(entry, at: now) {
                result.lost.append((entry.record, entry.loss))
                remove(key, entry)
                continue
            }
            let before = entry.refreshes
            while isInteresting, !entry.isLeaving, entry.refreshes < Self.refreshes,
                Self.refreshPoint(entry) <= now
            {
                entry.refreshes += 1
                step = max(step, entry.refreshes)
            }
            if entry.refreshes != before { put(entry, key) }
            let deadlines = Self.deadlines(of: entry, isInteresting: isInteresting)
            point = min(point ?? deadlines.point, deadlines.point)
            wake = min(wake ?? deadlines.wake, deadlines.wake)
        }
        if list.count > Self.large, entries[key] != nil {
            visits[key, default: Visits()].settled = now
            point = point.map { max($0, now + Self.largeGap) }
            wake = wake.map { max($0, now + Self.largeGap) }
        }
        points[key] = point
        wakes[key] = wake
        if step > 0 { result.refresh.append((key, step)) }
        if isVerified { result.verify.append(key) }
    }

    // MARK: - Bounds

    private mutating func account(for entry: Entry, _ delta: Int) {
        let size = CacheBounds.size(of: entry.record)
        count += delta
        bytes += delta * size
        var share = shares[entry.source] ?? Share()
        share.records += delta
        share.bytes += delta * size
        shares[entry.source] = share.records > 0 ? share : nil
    }

    private mutating func remove(_ key: RecordKey, _ entry: Entry) {
        guard entries[key]?.remove(entry.record.data) == true else { return }
        account(for: entry, -1)
        guard entries[key]?.isEmpty == true else { return }
        entries[key] = nil
        visits[key] = nil
        points[key] = nil
        wakes[key] = nil
    }

    /// Sees to it that a new record fits: within its sender's share, its name, and the whole.
    ///
    /// To go through everything costs as much as there is. Each time a part of it goes, so that records that come cost
    /// the same however many there are; a share of which less went is left alone for a second.
    private mutating func makeRoom(
        for entry: Entry,
        _ key: RecordKey,
        at now: Duration,
        activeQueries: ActiveQueries
    ) -> Bool {
        let size = CacheBounds.size(of: entry.record)
        let ofName = entries[key]?.count ?? 0
        let nameLimit = key.type == .ptr ? bounds.pointersPerName : bounds.recordsPerName
        if isShareSpent(by: entry.source, size), !clearShare(of: entry.source, size, at: now, activeQueries) {
            // A reflector may bring more, as long as somebody wants it and nothing of others has to go for it.
            return activeQueries.protects(entry.record) && ofName < nameLimit && fits(size)
        }
        if ofName >= nameLimit, let list = entries[key] {
            evict(list.entries.map { (key, $0) }, records: nameLimit / 16, activeQueries)
        }
        if count >= bounds.records { evict(sweep { _ in true }, records: bounds.records / 16, activeQueries) }
        if bytes + size > bounds.bytes {
            evict(sweep { _ in true }, bytes: max(bounds.bytes / 16, 2 * size), activeQueries)
        }
        return fits(size)
    }

    private func fits(_ size: Int) -> Bool { count < bounds.records && bytes + size <= bounds.bytes }

    private func isShareSpent(by source: Int, _ size: Int) -> Bool {
        guard let share = shares[source] else { return false }
        return share.records >= bounds.recordsPerSource || share.bytes + size > bounds.bytesPerSource
    }

    /// Makes room within a sender's share, of what no reported service stands on.
    /// - Returns: Whether there is some.
    private mutating func clearShare(
        of source: Int,
        _ size: Int,
        at now: Duration,
        _ activeQueries: ActiveQueries
    ) -> Bool {
        guard let share = shares[source], share.settledUntil <= now else { return false }
        let theirs = sweep { $0.source == source && !activeQueries.protects($0.record) }
        let isThorough =
            share.records >= bounds.recordsPerSource
            ? evict(theirs, records: bounds.recordsPerSource / 16, activeQueries)
            : evict(theirs, bytes: max(bounds.bytesPerSource / 16, 2 * size), activeQueries)
        if !isThorough { shares[source]?.settledUntil = now + Self.oneSecond }
        return !isShareSpent(by: source, size)
    }

    private mutating func sweep(where isIncluded: (Entry) -> Bool) -> [(key: RecordKey, entry: Entry)] {
        sweeps += 1
        return entries.flatMap { key, list in list.entries.filter(isIncluded).map { (key, $0) } }
    }

    private struct Victim {
        let rank: Int
        let age: Int64
        let order: Int
        let index: Int
    }

    /// Removes so many records and bytes: those that no reported service needs, received longest ago first.
    ///
    /// When nearly all are wanted, those that came last are evicted: who was there before a flood stays, and who comes
    /// after it gets in. What a sender brought of whom more than half is goes before that of others.
    /// - Returns: Whether half of it went, at least.
    @discardableResult
    private mutating func evict(
        _ candidates: [(key: RecordKey, entry: Entry)],
        records: Int = 1,
        bytes size: Int = 1,
        _ activeQueries: ActiveQueries
    ) -> Bool {
        var numbers: [Int: Int] = [:]
        for (_, entry) in candidates { numbers[entry.source, default: 0] += 1 }
        let crowd = numbers.first { $0.value > candidates.count / 2 }?.key
        // Small values are sorted instead of entries: a flood makes this the most frequent thing of all.
        let victims = candidates.indices.map { index in
            let entry = candidates[index].entry
            let isWanted = activeQueries.protects(entry.record)
            return Victim(
                rank: (isWanted ? 2 : 0) + (entry.source == crowd ? 0 : 1),
                age: isWanted ? 0 : entry.received.nanoseconds,
                order: isWanted ? -entry.order : entry.order,
                index: index
            )
        }.sorted { ($0.rank, $0.age, $0.order) < ($1.rank, $1.age, $1.order) }
        let goal = (records: count - records, bytes: bytes - size)
        let least = (records: count - (records + 1) / 2, bytes: bytes - (size + 1) / 2)
        var rank = 0
        for victim in victims {
            if victim.rank > rank, count <= least.records, bytes <= least.bytes { return true }
            rank = victim.rank
            let (key, entry) = candidates[victim.index]
            evicted.append((entry.record, .evicted))
            evictions += 1
            remove(key, entry)
            if count <= goal.records, bytes <= goal.bytes { return true }
        }
        return count <= least.records && bytes <= least.bytes
    }
}
