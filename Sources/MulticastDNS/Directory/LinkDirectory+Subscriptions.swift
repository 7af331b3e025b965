// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import DNSWire

extension LinkDirectory {
    /// Follows what a client wants from now on; what is known of it already is returned by ``snapshot(for:at:)``.
    mutating func add(_ subscription: Subscription, of client: Int, at now: Duration) {
        if subscriptions.byClient[client] != nil { remove(client, at: now) }
        subscriptions.add(subscription, of: client)
        for key in subscription.records.union(subscription.pointers.map { RecordKey($0, .ptr) }) {
            activeQueries.records.insert(key)
            attend(key, at: now)
        }
        var touched: Set<DomainName> = []
        if let settings = subscription.census, memory == nil { memory = TypeMemory(settings) }
        for name in subscription.pointers { adoptPointers(of: name, at: now, touched: &touched) }
        if subscription.census != nil {
            let names = Set(AddressFamily.allCases.flatMap { zones[$0]?.cache.names(of: .ptr) ?? [] })
            for name in names where ServiceName.isType(name) { adoptPointers(of: name, at: now, touched: &touched) }
            for name in names where ServiceName.isSubtype(name) { adoptPointers(of: name, at: now, touched: &touched) }
        }
        for name in subscription.instances {
            if instances[name] == nil { _ = add(name, type: name.parent, at: now) }
            if instances[name]?.hasFailed == true { tryAgain(name, at: now) }
            touched.insert(name)
        }
        for family in AddressFamily.allCases { query(subscription, in: family, at: now) }
        evaluate(touched, at: now)
    }

    /// Ends a client's subscription: questions, refreshes and instances that nobody else wants go, without events.
    mutating func remove(_ client: Int, at now: Duration) {
        guard let subscription = subscriptions.remove(client) else { return }
        let keys = subscription.pointers.map { RecordKey($0, .ptr) } + subscription.records
        for key in keys where !isWanted(key) {
            activeQueries.records.remove(key)
            endQueries(key)
        }
        for name in subscription.instances where !subscriptions.wants(instance: name) {
            for type in [RecordType.srv, .txt] { endQueries(RecordKey(name, type)) }
        }
        if !subscriptions.wantsAll {
            endCensus()
            memory = nil
        }
        for (name, state) in instances where !isWanted(name, by: state.sources) { forget(name) }
    }

    /// What is known now of a subscription, as if it had just happened.
    func snapshot(for subscription: Subscription, at now: Duration) -> [DirectoryEvent] {
        var snapshot: [DirectoryEvent] = []
        for (name, state) in instances.inKeyOrder
        where subscription.census != nil || subscription.instances.contains(name)
            || !state.sources.isDisjoint(with: subscription.pointers)
        {
            if !state.announced.isEmpty {
                snapshot.append(.announced(announcement(of: name, state), by: state.announced))
            }
            if let service = state.published { snapshot.append(.resolved(service)) }
        }
        for key in subscription.records.union(subscription.passive).sorted(by: {
            ($0.name, $0.type) < ($1.name, $1.type)
        }) {
            var reported: Set<RecordData> = []
            for family in AddressFamily.allCases {
                for record in zones[family]?.cache.records(key, at: now) ?? []
                where reported.insert(record.data).inserted {
                    snapshot.append(.recordAdded(record))
                }
            }
        }
        return snapshot
    }

    /// Reconfirms a record: it goes in ten seconds unless it is confirmed (rule C7).
    mutating func reconfirm(_ record: ResourceRecord, at now: Duration) {
        for family in AddressFamily.allCases where zones[family]?.cache.reconfirm(record, at: now) == true {
            zones[family]?.renew(Question(record.name, record.type), times: 2, at: now)
        }
    }

    mutating func reconfirm(_ service: Service, at now: Duration) {
        guard let host = instances[service.instance]?.host else { return }
        for key in [RecordKey(service.instance, .srv), RecordKey(host, .a), RecordKey(host, .aaaa)] {
            for family in AddressFamily.allCases {
                for record in zones[family]?.cache.records(key, at: now) ?? [] { reconfirm(record, at: now) }
            }
        }
    }

    /// Has records refreshed that were left alone while nobody was interested.
    mutating func attend(_ key: RecordKey, at now: Duration) {
        for family in AddressFamily.allCases { zones[family]?.cache.attend(key, at: now) }
    }

    /// Sends the questions of a subscription, unless the answer is known to be complete.
    mutating func query(_ subscription: Subscription, in family: AddressFamily, at now: Duration) {
        guard zones[family] != nil else { return }
        for name in subscription.pointers {
            zones[family]?.query(Question(name, .ptr), times: subscription.rounds, at: now)
        }
        for key in subscription.records where !isAnswered(key, at: now) {
            zones[family]?.query(Question(key.name, key.type), times: subscription.rounds, at: now)
        }
    }

    /// How often the most eager client wants a record queried.
    func rounds(of key: RecordKey) -> Int {
        subscriptions.byClient.values.filter { $0.records.contains(key) }.map(\.rounds).max() ?? 0
    }

    func isWanted(_ name: DomainName, by sources: Set<DomainName>) -> Bool {
        subscriptions.wants(instance: name)
            || (subscriptions.wantsAll && sources.contains { ServiceName.isType($0) || ServiceName.isSubtype($0) })
            || sources.contains(where: subscriptions.wants(pointersOf:))
    }

    /// A unique record that is known, or denied, needs no question (rules Q5 and C9).
    private func isAnswered(_ key: RecordKey, at now: Duration) -> Bool {
        AddressFamily.allCases.contains { family in
            guard let cache = zones[family]?.cache else { return false }
            return cache.isUnique(key, at: now) || cache.denies(key, at: now)
        }
    }

    private func isWanted(_ key: RecordKey) -> Bool {
        subscriptions.wants(record: key) || (key.type == .ptr && subscriptions.wants(pointersOf: key.name))
    }

    /// Ends the questions for records that nobody is interested in any more.
    mutating func cancelUnlessWanted(_ key: RecordKey) {
        guard !isWanted(key), !activeQueries.contains(key), !isQueriedByCensus(key) else { return }
        cancel(key)
    }

    /// A client's series has no end; what is left of it ends with a census, or with an attempt to resolve.
    private mutating func endQueries(_ key: RecordKey) {
        guard !isWanted(key) else { return }
        cancelUnlessWanted(key)
        for family in AddressFamily.allCases {
            zones[family]?.schedule.limit(Question(key.name, key.type), to: CensusRun.rounds)
        }
    }

    private mutating func cancel(_ key: RecordKey) {
        for family in AddressFamily.allCases { zones[family]?.schedule.cancel(Question(key.name, key.type)) }
    }

    private func isQueriedByCensus(_ key: RecordKey) -> Bool {
        guard isCensusRunning, key.type == .ptr, let memory else { return false }
        return key.name == ServiceName.enumeration || memory.contains(key.name)
    }

    /// Adopts instances from pointers that were received before anybody wanted them.
    private mutating func adoptPointers(of name: DomainName, at now: Duration, touched: inout Set<DomainName>) {
        for family in AddressFamily.allCases {
            for record in zones[family]?.cache.records(RecordKey(name, .ptr), at: now) ?? [] {
                guard case .pointer(let target) = record.data else { continue }
                follow(target, by: name, at: now, touched: &touched)
            }
        }
    }

    // MARK: - Single records

    /// Reports that a wanted record came, unless the other family knows it.
    mutating func reportAddition(of record: ResourceRecord, by family: AddressFamily, at now: Duration) {
        let key = RecordKey(record.name, record.type)
        guard subscriptions.wants(record: key), !isKnown(record, besides: family, at: now) else { return }
        events.append(.recordAdded(record))
    }

    /// Reports that a wanted record left, unless a family still knows it.
    mutating func reportRemoval(of record: ResourceRecord, _ reason: RemovalReason, at now: Duration) {
        let key = RecordKey(record.name, record.type)
        guard subscriptions.wants(record: key), !isKnown(record, besides: nil, at: now) else { return }
        events.append(.recordRemoved(record, reason: reason))
    }

    func isKnown(_ record: ResourceRecord, besides family: AddressFamily?, at now: Duration) -> Bool {
        AddressFamily.allCases.contains { other in
            other != family
                && zones[other]?.cache.record(RecordKey(record.name, record.type), record.data, at: now) != nil
        }
    }
}
