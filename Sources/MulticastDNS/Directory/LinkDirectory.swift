// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import DNSWire

/// The services of one interface: what its zones know, merged into services (rules D1 to D4, D6, D11, D12, Q20, Q21).
///
/// A service is derived anew from the caches whenever a record of it came or went, and compared with what was
/// reported last; so no order of packets can leave a wrong state behind. Only what a client subscribed to is followed.
struct LinkDirectory: Sendable {
    /// How long a report waits for the rest of a burst.
    static let settling = Duration.milliseconds(250)
    /// How long the first report of a host's service waits for the host's other family.
    static let familyWait = Duration.milliseconds(60)
    /// How long it waits for a text that was neither sent nor denied: the answers to questions at 0 and 1 s.
    static let textWait = Duration.milliseconds(1500)
    /// How long resolving may last: questions at 0, 1 and 3 s, and time for the answers.
    static let resolving = Duration.seconds(5)
    /// How long one that failed is left alone: the first gap, which doubles, and the longest one.
    static let retryGap = Duration.seconds(30)
    static let longestRetryGap = Duration.seconds(3600)
    /// The same for one that is missing (``Instance/isMissing``).
    ///
    /// It may be back without announcing that, and is to be seen within half a minute.
    static let missingGap = Duration.seconds(1)
    static let longestMissingGap = Duration.seconds(25)

    let index: Int
    let settings: MulticastSettings
    var name: String
    var zones = PerFamily<Zone>()
    var activeQueries = ActiveQueries()
    var instances: [DomainName: Instance] = [:]
    var events: [DirectoryEvent] = []
    var subscriptions = Subscriptions()
    /// The types a census queries; `nil` without a census.
    var memory: TypeMemory?
    var isCensusRunning = false
    /// Instances that wait for a time of their own, and those whose answers are waited for.
    var waiting = DeadlineQueue<DomainName>()
    var resolving: Set<DomainName> = []
    var instancesBySource: [DomainName: Int] = [:]
    var addressLimit = AddressRateLimit()
    /// The hosts of which one kind of address is missing.
    var halfHosts = HalfHosts()
    var random: RandomSource

    init(index: Int, name: String, settings: MulticastSettings, random: RandomSource) {
        self.index = index
        self.name = name
        self.settings = settings
        self.random = random
    }

    /// The resolved services that are announced.
    var services: [Service] { instances.values.compactMap { $0.announced.isEmpty ? nil : $0.published } }

    /// How many instances are announced but given up; those that only reserve a name are none.
    var unresolvedCount: Int { instances.values.count { $0.hasFailed && $0.published == nil && $0.isOffered } }

    var isResolving: Bool { !resolving.isEmpty }

    /// When the answers to the last questions are here.
    var answersUntil: Duration {
        AddressFamily.allCases.reduce(.zero) { max($0, zones[$1]?.answersUntil ?? .zero) }
    }

    /// When ``advance(to:)`` is to be called next.
    var nextDeadline: Duration? {
        var next = earliest(earliest(waiting.next, addressLimit.nextDeadline), halfHosts.nextDeadline)
        for family in AddressFamily.allCases { next = earliest(next, zones[family]?.nextDeadline) }
        return next
    }

    // MARK: - The link

    /// Starts with a family, or queries again after its addresses changed; what is known stays.
    ///
    /// `welcomesUnicast` says that nobody else on this machine would get answers that are sent to us alone.
    mutating func open(_ family: AddressFamily, mtu: Int, welcomesUnicast: Bool = false, at now: Duration) {
        if zones[family] == nil {
            zones[family] = Zone(family, settings: settings, mtu: mtu, random: RandomSource(seed: random.next()))
            // Addresses of this family begin to serve.
            for host in activeQueries.hosts.keys.sorted() { halfHosts.begin(host, at: now) }
        }
        zones[family]?.linkCameUp(welcomesUnicast: welcomesUnicast, at: now)
        if isCensusRunning { queryTypes(in: family, at: now) }
        for subscription in subscriptions.byClient.values { query(subscription, in: family, at: now) }
        for (instance, state) in instances {
            for key in state.queried { zones[family]?.query(Question(key.name, key.type), times: 3, at: now) }
            if subscriptions.wants(instance: instance) { instances[instance]?.queried = [] }
        }
    }

    /// The machine woke up: queries and announces again.
    mutating func resume(at now: Duration) {
        for family in AddressFamily.allCases {
            zones[family]?.resume(at: now)
            if isCensusRunning { queryTypes(in: family, at: now) }
            for subscription in subscriptions.byClient.values { query(subscription, in: family, at: now) }
        }
    }

    /// Ends with a family; what only it knew is gone (rule C6).
    mutating func close(_ family: AddressFamily, at now: Duration) {
        guard let zone = zones.remove(family) else { return }
        for key in subscriptions.subscribedRecords {
            for record in zone.cache.records(key, at: now) { reportRemoval(of: record, .interfaceDown, at: now) }
        }
        for name in instances.keys { instances[name]?.cause = .interfaceDown }
        evaluate(Set(instances.keys), at: now)
        for name in instances.keys { instances[name]?.cause = .expired }
    }

    /// Applies the interface's new name; services move to it.
    ///
    /// `body` is called between what goes under the old name and what comes under the new one.
    mutating func rename(to newName: String, at now: Duration, between body: (inout LinkDirectory) -> Void = { _ in }) {
        guard newName != name else { return }
        for (instance, state) in instances.inKeyOrder {
            if let service = state.published {
                events.append(.removed(service, reason: .interfaceDown, seenFor: now - state.firstSeen))
                instances[instance]?.published = nil
                instances[instance]?.reportAt = now
            }
            guard !state.announced.isEmpty else { continue }
            reportWithdrawal(of: instance, state, reason: .interfaceDown, at: now)
            instances[instance]?.announced = []
        }
        events += subscribedRecords(at: now).map { .recordRemoved($0, reason: .interfaceDown) }
        name = newName
        body(&self)
        events += subscribedRecords(at: now).map { .recordAdded($0) }
        evaluate(Set(instances.keys), at: now)
    }

    private func subscribedRecords(at now: Duration) -> [ResourceRecord] {
        subscriptions.subscribedRecords.flatMap { key in
            AddressFamily.allCases.flatMap { zones[$0]?.cache.records(key, at: now) ?? [] }
        }
    }

    // MARK: - Packets and time

    mutating func receive(
        _ bytes: Span<UInt8>,
        _ family: AddressFamily,
        from origin: PacketOrigin,
        at now: Duration
    ) -> Zone.Reception {
        guard let reception = zones[family]?.receive(bytes, from: origin, at: now, activeQueries: activeQueries) else {
            return .ignored
        }
        switch reception {
        case .response(let message, let changed), .echo(let message?, let changed):
            process(message, changed, by: family, from: origin.source, at: now)
        case .echo, .query, .ignored, .malformed: break
        }
        return reception
    }

    private mutating func process(
        _ message: Message,
        _ changed: [ResourceRecord],
        by family: AddressFamily,
        from source: IPAddress,
        at now: Duration
    ) {
        var touched: Set<DomainName> = []
        for record in message.answers { learn(record, by: family, from: source, at: now, touched: &touched) }
        for record in message.additionals { learn(record, by: family, from: source, at: now, touched: &touched) }
        for record in changed {
            let names = dependents(of: record, at: now)
            if record.type == .srv || record.type == .a || record.type == .aaaa {
                for name in names where instances[name]?.hasFailed == true { tryAgain(name, at: now) }
            }
            touched.formUnion(names)
            reportAddition(of: record, by: family, at: now)
        }
        evaluate(touched, at: now)
    }

    mutating func advance(to now: Duration) {
        var touched = Set(waiting.removeDue(at: now))
        for host in addressLimit.removeDue(at: now) {
            let names = instances(on: host, at: now)
            for name in names where instances[name]?.hasFailed == true { tryAgain(name, at: now) }
            touched.formUnion(names)
        }
        for host in halfHosts.removeDue(at: now) { queryOtherFamily(of: host, at: now) }
        advanceCaches(to: now, touched: &touched)
        while !touched.isEmpty {
            evaluate(touched, at: now)
            // What began to matter only now may be due already.
            touched = []
            advanceCaches(to: now, touched: &touched)
        }
    }

    private mutating func advanceCaches(to now: Duration, touched: inout Set<DomainName>) {
        for family in AddressFamily.allCases {
            guard let result = zones[family]?.cache.advance(to: now, activeQueries: activeQueries) else { continue }
            for (record, loss) in result.lost {
                lose(record, loss, at: now, touched: &touched)
                if loss == .expired { queryAgain(record, by: family, at: now) }
            }
            for key in result.verify { zones[family]?.renew(Question(key.name, key.type), times: 2, at: now) }
            for (key, step) in result.refresh {
                // The last three tries go out by both families: the other one may still reach the owner.
                for other in AddressFamily.allCases where other == family || step > 1 {
                    zones[other]?.renew(Question(key.name, key.type), at: now)
                }
                if step == 1 { queryCompanion(of: key, by: family, at: now) }
            }
        }
    }

    mutating func packets(at now: Duration) -> [(family: AddressFamily, packets: [OutgoingPacket])] {
        AddressFamily.allCases.compactMap { family in
            guard let packets = zones[family]?.packets(at: now, activeQueries: activeQueries), !packets.isEmpty else {
                return nil
            }
            return (family, packets)
        }
    }

    /// Removes and returns the events since the last call, in order.
    mutating func drainEvents() -> [DirectoryEvent] {
        defer { events = [] }
        return events
    }

    private mutating func lose(
        _ record: ResourceRecord,
        _ loss: RecordCache.Loss,
        at now: Duration,
        touched: inout Set<DomainName>
    ) {
        let names = dependents(of: record, at: now)
        if case .pointer(let target) = record.data, loss == .expired, instances[target]?.published != nil {
            // It may only be its answers that were lost.
            for family in AddressFamily.allCases {
                zones[family]?.renew(Question(record.name, .ptr), times: 2, at: now)
            }
        }
        let reason = loss == .goodbye ? RemovalReason.goodbye : .expired
        if record.type == .ptr || record.type == .srv {
            for name in names { instances[name]?.cause = reason }
        } else if record.type == .a || record.type == .aaaa {
            for name in names { instances[name]?.addressCause = reason }
        }
        touched.formUnion(names)
        let key = RecordKey(record.name, record.type)
        if key.type == .a || key.type == .aaaa, activeQueries.hosts[key.name] != nil {
            halfHosts.begin(key.name, at: now)
        }
        guard subscriptions.wants(record: key) else { return }
        reportRemoval(of: record, reason, at: now)
        // What a client still wants is queried again.
        let rounds = rounds(of: key)
        for family in AddressFamily.allCases where zones[family]?.cache.hasRecords(key, at: now) == false {
            zones[family]?.query(Question(key.name, key.type), times: rounds, at: now)
        }
    }

    /// The instances to evaluate because of a record that came or went.
    private mutating func dependents(of record: ResourceRecord, at now: Duration) -> Set<DomainName> {
        switch record.data {
        case .pointer(let target): return instances[target] == nil ? [] : [target]
        case .address, .nextSecure: return instances(on: record.name, at: now)
        default: return instances[record.name] == nil ? [] : [record.name]
        }
    }

    /// All instances of a host, or none for now when the rate limit is reached.
    private mutating func instances(on host: DomainName, at now: Duration) -> Set<DomainName> {
        let names = activeQueries.hosts[host] ?? []
        return addressLimit.allows(host, instances: names.count, at: now) ? names : []
    }
}
