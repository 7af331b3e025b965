// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import DNSWire

enum ResponderEvent: Hashable, Sendable {
    /// Nobody objected to its names: it is announced and answered for.
    case established(RecordSet.ID)
    /// Another host has the name; the set is silent until it is published with another one.
    ///
    /// `rivals` counts those who will get a name before us: the host that has it, and all who won a tiebreak for it.
    case conflict(RecordSet.ID, name: DomainName, rivals: Int = 1)
    /// Another responder on this machine answers for its names, and it yielded.
    case yielded(RecordSet.ID)
}

/// The records this host owns on one interface by one family: probing, announcing, answering, defending, goodbyes.
///
/// Only records of established sets are answered with; sets that are being probed for, lost a conflict or yielded are
/// silent. Every table is bounded by what is published, or by a constant.
struct Responder: Sendable {
    enum State: Hashable, Sendable {
        /// Probing for the names, or waiting for the host that the records point to.
        case probing
        case established
        /// Another host has the name.
        case lost
        /// A neighbour on this machine answers; probed again then, or when it says goodbye.
        case yielded(until: Duration)
    }

    struct Holding: Sendable {
        var set: RecordSet
        var state = State.probing
        /// Whether others may have cached it, so that it deserves a goodbye.
        var wasAnnounced = false
        /// What others proposed for the names who won the tiebreak.
        var rivals: Set<Set<RecordData>> = []
    }

    /// How long data that was ours is no conflict when a bridge or a slow proxy brings it back (rule P13).
    static let recollection = Duration.seconds(10)
    static let maximumRivals = 15
    private static let maximumRecollections = 256
    private static let probeMemory = 64

    let family: AddressFamily
    /// The most bytes of a packet: the MTU less the headers.
    let payloadLimit: Int
    /// Whether answers by unicast would reach us: only as the sole owner of port 5353 (rule Q19).
    var welcomesUnicast = false
    var random: RandomSource
    var holdings: [RecordSet.ID: Holding] = [:]
    var records = OwnRecords()
    var prober = Prober()
    var announcer = Announcer()
    var queue = AnswerQueue()
    var truncated = TruncatedQueries()
    var unicastLimit = UnicastRateLimit()
    var replies: [UnicastReply] = []
    var events: [ResponderEvent] = []
    private(set) var owners: [DomainName: RecordSet.ID] = [:]
    private(set) var own: [IPAddress] = []
    private(set) var ofOtherFamily: [IPAddress] = []
    private(set) var elsewhere: Set<IPAddress> = []
    private var goodbyes: [ResourceRecord] = []
    private var former: [(record: ResourceRecord, until: Duration)] = []
    /// Names that were probed for lately: one that is probed again missed our defence by unicast.
    private var probedNames: [DomainName: Duration] = [:]

    init(family: AddressFamily, payloadLimit: Int, random: RandomSource) {
        self.family = family
        self.payloadLimit = payloadLimit
        self.random = random
    }

    /// All addresses of the interface; those of the zone's own family first.
    var addresses: [IPAddress] { own + ofOtherFamily }

    /// When ``packets(at:)`` is to be called next.
    var nextDeadline: Duration? {
        guard !holdings.isEmpty || !goodbyes.isEmpty else { return nil }
        if !goodbyes.isEmpty { return .zero }
        let yielded = holdings.values.lazy.compactMap { holding -> Duration? in
            guard case .yielded(let until) = holding.state else { return nil }
            return until
        }
        let claims = earliest(earliest(prober.nextDeadline, announcer.nextDeadline), yielded.min())
        let answers = earliest(queue.nextDeadline, replies.lazy.map(\.due).min())
        return earliest(earliest(claims, answers), truncated.nextDeadline)
    }

    // MARK: - What is published

    /// Sets the interface's addresses, and those of the machine's other interfaces.
    ///
    /// What follows the interface is announced anew; ``restart(at:)`` is for a link that was down.
    mutating func setAddresses(
        _ own: [IPAddress],
        ofOtherFamily: [IPAddress],
        elsewhere: Set<IPAddress> = [],
        at now: Duration
    ) {
        self.elsewhere = elsewhere
        guard own != self.own || ofOtherFamily != self.ofOtherFamily else { return }
        let before = addresses
        self.own = own
        self.ofOtherFamily = ofOtherFamily
        for (id, holding) in holdings.inKeyOrder where !holding.set.hosts.isEmpty {
            switch holding.state {
            case .established: refresh(id, at: now)
            // Without an address there was nothing to probe for.
            case .probing where before.isEmpty: prober.start(id, at: now, random: &random)
            default: break
            }
        }
    }

    /// Publishes a set, or replaces it: with other names it is probed for anew, with the same ones only announced.
    mutating func publish(_ set: RecordSet, at now: Duration) {
        if let old = holdings[set.id] {
            guard old.set != set || old.state == .lost else { return }
            if old.set.uniqueNames == set.uniqueNames, old.state == .established || old.state == .probing {
                update(set, at: now)
                return
            }
            retire(set.id, replacement: set, at: now)
        }
        if let conflicting = set.uniqueNames.first(where: { owners[$0] != nil && owners[$0] != set.id }) {
            holdings[set.id] = Holding(set: set, state: .lost)
            events.append(.conflict(set.id, name: conflicting))
            return
        }
        for name in set.uniqueNames { owners[name] = set.id }
        holdings[set.id] = Holding(set: set)
        if set.uniqueNames.isEmpty {
            establish(set.id, at: now)
        } else {
            prober.start(set.id, at: now, random: &random)
        }
    }

    /// Changes the data of a set whose names stay (rule P11).
    mutating func update(_ set: RecordSet, at now: Duration) {
        guard let old = holdings[set.id], old.set.uniqueNames == set.uniqueNames else {
            publish(set, at: now)
            return
        }
        guard old.set != set else { return }
        holdings[set.id]?.set = set
        switch old.state {
        case .established where standsOnOurs(set):
            refresh(set.id, at: now)
            // The old host may be gone at any time.
            if old.set.targets != set.targets { announcer.start(set.id, at: now) }
        case .established:
            suspend(old.set, from: old.set.targets, at: now)
            prober.start(set.id, at: now, random: &random)
        // Earlier queriers do not know this host.
        case .probing where old.set.targets != set.targets: prober.start(set.id, at: now, random: &random)
        case .probing, .lost, .yielded: break
        }
    }

    /// Says goodbye to a set (rule P14).
    mutating func withdraw(_ id: RecordSet.ID, at now: Duration) {
        guard holdings[id] != nil else { return }
        retire(id, replacement: nil, at: now)
        announcer.forget(id)
        guard holdings.isEmpty else { return }
        // No packets are sent any more: what is planned would wait for the next set.
        replies = []
        truncated = TruncatedQueries()
    }

    /// Probes and announces everything again, after link up or wake (rule P1).
    mutating func restart(at now: Duration) {
        for (id, holding) in holdings.inKeyOrder where holding.state != .lost {
            if holding.set.uniqueNames.isEmpty {
                announcer.start(id, at: now)
            } else {
                probeAgain(id, at: now)
            }
        }
    }

    // MARK: - Time

    mutating func packets(at now: Duration) -> [OutgoingPacket] {
        guard !holdings.isEmpty || !goodbyes.isEmpty else { return [] }
        var packets = drainGoodbyes()
        let abandoned = holdings.filter { entry in
            if case .yielded(let until) = entry.value.state { until <= now } else { false }
        }
        for id in abandoned.keys.sorted() { probeAgain(id, at: now) }
        let step = prober.step(at: now)
        conclude(step.finished, at: now)
        packets += probes(for: step.probes)
        for id in announcer.due(at: now) { announce(id, at: now) }
        for held in truncated.due(at: now) { answer(held.answers, to: held.asker, at: now, isAlreadyDelayed: true) }
        packets += multicastAnswers(at: now)
        packets += unicastAnswers(at: now)
        return packets
    }

    /// Removes and returns the events since the last call, in order.
    mutating func drainEvents() -> [ResponderEvent] {
        defer { events = [] }
        return events
    }

    private mutating func drainGoodbyes() -> [OutgoingPacket] {
        defer { goodbyes = [] }
        let groups = goodbyes.map { AnswerWriter.Group(answers: [$0]) }
        return AnswerWriter.packets(groups, limit: payloadLimit).map { OutgoingPacket(bytes: $0) }
    }

    private func probes(for ids: [RecordSet.ID]) -> [OutgoingPacket] {
        let proposals = ids.compactMap { holdings[$0]?.set }.flatMap { set in
            let proposed = set.proposed(with: addresses)
            return set.uniqueNames.sorted().map { name in
                ProbeWriter.Proposal(name: name, records: proposed.filter { $0.name == name })
            }
        }
        // A name without records, such as a host's without an address, is not worth a question.
        return ProbeWriter.packets(
            proposals.filter { !$0.records.isEmpty },
            wantsUnicast: welcomesUnicast,
            limit: payloadLimit
        ).map { OutgoingPacket(bytes: $0) }
    }

    private mutating func announce(_ id: RecordSet.ID, at now: Duration) {
        holdings[id]?.wasAnnounced = true
        guard let holding = holdings[id], holding.state == .established else { return }
        for unit in holding.set.units(with: addresses) where !unit.isDenial {
            guard let current = records[unit.key] else { continue }
            queue.plan(unit.key, at: now, due: now, lastMulticast: current.lastMulticast)
        }
    }

    // MARK: - Transitions

    mutating func establish(_ id: RecordSet.ID, at now: Duration) {
        guard let set = holdings[id]?.set else { return }
        holdings[id]?.state = .established
        _ = records.assign(set.units(with: addresses), to: id)
        announcer.start(id, at: now)
        events.append(.established(id))
        resume(dependentsOf: set, at: now)
    }

    /// Brings the records of an established set in line with its data and the addresses, and announces what is new.
    private mutating func refresh(_ id: RecordSet.ID, at now: Duration) {
        guard let holding = holdings[id] else { return }
        let (gone, changed) = records.assign(holding.set.units(with: addresses), to: id)
        remember(gone + changed, at: now)
        if holding.wasAnnounced { sayGoodbye(to: gone) }
        for unit in gone { queue.drop(unit.key) }
        announcer.update(id, at: now)
    }

    /// Back to the start with a set, without a word: its records may be disputed.
    mutating func probeAgain(_ id: RecordSet.ID, at now: Duration) {
        stopAnswering(id)
        holdings[id]?.state = .probing
        prober.start(id, at: now, random: &random)
    }

    /// Another host has a name of the set.
    mutating func lose(_ id: RecordSet.ID, to record: ResourceRecord, at now: Duration) {
        prober.noteConflict(at: now)
        prober.cancel(id)
        stopAnswering(id)
        holdings[id]?.state = .lost
        guard let holding = holdings[id] else { return }
        let others = holding.rivals.count { !$0.contains(record.data) }
        events.append(.conflict(id, name: record.name, rivals: others + 1))
        suspend(dependentsOf: holding.set.uniqueNames, isLost: true, at: now)
    }

    /// Leaves the names of the set to a responder on this machine, for as long as its records live.
    mutating func yield(_ id: RecordSet.ID, for lifetime: Duration, at now: Duration) {
        let isChange = if case .yielded = holdings[id]?.state { false } else { true }
        prober.cancel(id)
        stopAnswering(id)
        holdings[id]?.state = .yielded(until: now + lifetime)
        // The records live on, but only the neighbour withdraws them.
        holdings[id]?.wasAnnounced = false
        if isChange { events.append(.yielded(id)) }
        if let set = holdings[id]?.set { resume(dependentsOf: set, at: now) }
    }

    mutating func stopAnswering(_ id: RecordSet.ID) {
        for unit in records.assign([], to: id).gone { queue.drop(unit.key) }
        announcer.cancel(id)
    }

    private mutating func retire(_ id: RecordSet.ID, replacement: RecordSet?, at now: Duration) {
        guard let holding = holdings.removeValue(forKey: id) else { return }
        prober.cancel(id)
        stopAnswering(id)
        for name in holding.set.uniqueNames where owners[name] == id { owners[name] = nil }
        if let replacement, holding.state != .lost {
            let left = holding.set.uniqueNames.subtracting(replacement.uniqueNames)
            suspend(dependentsOf: left, isLost: true, at: now)
        }
        let units = holding.set.units(with: addresses).filter { !$0.isDenial }
        remember(units, at: now)
        // A name that was lost belongs to another host now; its records are not ours to end.
        guard holding.wasAnnounced else { return }
        let kept = Set(replacement?.units(with: addresses).map(\.key) ?? [])
        let disputed = holding.state == .lost ? holding.set.uniqueNames : []
        sayGoodbye(
            to: units.filter { unit in
                records[unit.key] == nil && !kept.contains(unit.key) && !disputed.contains(unit.key.name)
            }
        )
    }

    private mutating func sayGoodbye(to units: [OwnRecords.Unit]) {
        sayGoodbye(units.filter { !$0.isCommon && !$0.isDenial }.flatMap(\.records))
    }

    mutating func sayGoodbye(_ records: [ResourceRecord]) {
        for var record in records {
            record.timeToLive = 0
            goodbyes.append(record)
        }
    }

    // MARK: - What is ours

    /// Whether the record is one that the set has, had recently, or has on another interface of this machine
    /// (rule P13): such a record is never a conflict.
    func isOurs(_ record: ResourceRecord, in set: RecordSet, at now: Duration) -> Bool {
        if set.proposed(with: addresses).contains(where: { $0.isSame(as: record) }) { return true }
        if case .address(let address) = record.data, set.hosts.contains(record.name), isOfThisMachine(address) {
            return true
        }
        return former.contains { $0.until > now && $0.record.isSame(as: record) }
    }

    func isOfThisMachine(_ address: IPAddress) -> Bool {
        own.contains(address) || ofOtherFamily.contains(address) || elsewhere.contains(address)
    }

    private mutating func remember(_ units: [OwnRecords.Unit], at now: Duration) {
        former.removeAll { $0.until <= now }
        let records = units.filter { $0.key.data == nil }.flatMap(\.records)
        former = Array((former + records.map { ($0, now + Self.recollection) }).suffix(Self.maximumRecollections))
    }

    /// Whether the name was probed for within the last second too.
    mutating func isProbedAgain(_ name: DomainName, at now: Duration) -> Bool {
        probedNames = probedNames.filter { now - $0.value < .seconds(1) }
        defer { if probedNames.count < Self.probeMemory { probedNames[name] = now } }
        return probedNames[name] != nil
    }
}

extension ResourceRecord {
    /// Whether name, type, class and data are the same, whatever the lifetime.
    func isSame(as other: ResourceRecord) -> Bool {
        type == other.type && classCode == other.classCode && name == other.name && data == other.data
    }
}
