// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import DNSWire

extension LinkDirectory {
    /// Records that a pointer leads to an instance, if anybody wants it.
    mutating func follow(
        _ target: DomainName,
        by source: DomainName,
        at now: Duration,
        touched: inout Set<DomainName>
    ) {
        if let isKnown = instances[target]?.sources.contains(source) {
            instances[target]?.lastSeen = now
            if instances[target]?.isMissing == true { confirm(target, at: now, touched: &touched) }
            guard !isKnown, isFollowed(target, by: source) else { return }
            attach(target, to: source)
            touched.insert(target)
            return
        }
        // What the cache had no room for is not followed, nor does anything make room for it.
        guard isFollowed(target, by: source), isPointed(target, by: source, at: now),
            add(target, type: source, at: now)
        else { return }
        for family in AddressFamily.allCases { zones[family]?.schedule.supplement(Question(source, .ptr), at: now) }
        attach(target, to: source)
        touched.insert(target)
    }

    /// The pointer of a service that is missing was sent again: its owner is there, and queried at once.
    private mutating func confirm(_ target: DomainName, at now: Duration, touched: inout Set<DomainName>) {
        instances[target]?.failures = 0
        instances[target]?.retryAt = now
        touched.insert(target)
    }

    private func isFollowed(_ target: DomainName, by source: DomainName) -> Bool {
        guard target.labelCount >= 2 else { return false }
        if subscriptions.wants(pointersOf: source) { return true }
        guard memory != nil else { return false }
        // A census follows by a subtype only what its type does not lead to.
        return ServiceName.isType(source) || (ServiceName.isSubtype(source) && instances[target]?.isTyped != true)
    }

    private mutating func attach(_ instance: DomainName, to source: DomainName) {
        guard instances[instance]?.sources.insert(source).inserted == true else { return }
        // A type of its own takes precedence over a subtype or a guess.
        if let type = ServiceName.type(browsedAs: source) { instances[instance]?.type = type }
        if ServiceName.isType(source), var state = instances[instance] {
            for other in state.sources where other != source && !subscriptions.wants(pointersOf: other) {
                detach(instance, &state, from: other)
            }
            instances[instance] = state
        }
        instancesBySource[source, default: 0] += 1
        if activeQueries.types.insert(source).inserted, let now = instances[instance]?.lastSeen {
            attend(RecordKey(source, .ptr), at: now)
        }
    }

    /// Forgets that pointers of this name lead to the instance.
    mutating func detach(_ instance: DomainName, _ state: inout Instance, from source: DomainName) {
        guard state.sources.remove(source) != nil else { return }
        instancesBySource[source, default: 1] -= 1
        guard instancesBySource[source, default: 0] <= 0 else { return }
        instancesBySource[source] = nil
        activeQueries.types.remove(source)
        cancelUnlessWanted(RecordKey(source, .ptr))
    }

    /// Starts to follow an instance.
    /// - Returns: Whether there was room.
    mutating func add(_ instance: DomainName, type: DomainName, at now: Duration) -> Bool {
        if instances.count >= settings.maximumInstances { makeRoom(at: now) }
        guard instances.count < settings.maximumInstances else { return false }
        var state = Instance(type: ServiceName.type(browsedAs: type) ?? type, at: now)
        state.giveUpAt = now + Self.resolving
        instances[instance] = state
        waiting[instance] = state.deadline
        resolving.insert(instance)
        activeQueries.instances.insert(instance)
        attend(RecordKey(instance, .srv), at: now)
        attend(RecordKey(instance, .txt), at: now)
        return true
    }

    /// Begins to resolve an instance anew that was given up.
    mutating func tryAgain(_ instance: DomainName, at now: Duration) {
        guard instances[instance]?.published == nil else { return }
        instances[instance]?.queried = []
        instances[instance]?.retryAt = nil
        instances[instance]?.giveUpAt = now + Self.resolving
        waiting[instance] = instances[instance]?.deadline
        resolving.insert(instance)
    }

    /// Forgets a sixteenth of the instances: those that could not be resolved, then those that are not yet, then the
    /// ones that came last, so that who was there before a flood stays, and who comes after it gets in.
    private mutating func makeRoom(at now: Duration) {
        func rank(_ state: Instance) -> Int { state.published != nil ? 2 : state.hasFailed ? 0 : 1 }
        let candidates = instances.filter { !subscriptions.wants(instance: $0.key) }.sorted { left, right in
            let ranks = (rank(left.value), rank(right.value))
            if ranks == (2, 2) { return (right.value.firstSeen, right.key) < (left.value.firstSeen, left.key) }
            return (ranks.0, left.value.lastSeen, left.key) < (ranks.1, right.value.lastSeen, right.key)
        }
        for (instance, state) in candidates.prefix(max(settings.maximumInstances / 16, 1)) {
            if let service = state.published {
                events.append(.removed(service, reason: .expired, seenFor: now - state.firstSeen))
            }
            if !state.announced.isEmpty { reportWithdrawal(of: instance, state, reason: .expired, at: now) }
            forget(instance)
        }
    }

    mutating func forget(_ instance: DomainName) {
        guard var state = instances.removeValue(forKey: instance) else { return }
        waiting[instance] = nil
        resolving.remove(instance)
        activeQueries.instances.remove(instance)
        activeQueries.setReported(false, instance, on: state.host)
        setHost(nil, of: instance, was: state.host, at: state.lastSeen)
        for source in state.sources { detach(instance, &state, from: source) }
        for key in state.queried { cancelUnlessWanted(key) }
        // Queried in an earlier attempt, too.
        for type in [RecordType.srv, .txt] { cancelUnlessWanted(RecordKey(instance, type)) }
    }

    mutating func setHost(_ host: DomainName?, of instance: DomainName, was old: DomainName?, at now: Duration) {
        guard host != old else { return }
        let isNew = host.map { activeQueries.hosts[$0] == nil } ?? false
        activeQueries.setHost(host, of: instance, was: old)
        if let old, activeQueries.hosts[old] == nil {
            addressLimit.forget(old)
            halfHosts.end(old)
            for type in [RecordType.a, .aaaa] { cancelUnlessWanted(RecordKey(old, type)) }
        }
        guard let host, isNew else { return }
        attend(RecordKey(host, .a), at: now)
        attend(RecordKey(host, .aaaa), at: now)
    }

    // MARK: - Announcements

    func announcement(of name: DomainName, _ state: Instance) -> ServiceAnnouncement {
        let subtypes = state.sources.filter { $0.labelCount == 5 }
        return ServiceAnnouncement(
            instance: name,
            name: Self.displayName(of: name, type: state.type),
            type: state.type.prefix(2).description,
            domain: state.type.parent.parent.description,
            subtypes: subtypes.compactMap(\.firstLabel).map { SafeText.text(of: $0) }.sorted(),
            interface: self.name,
            interfaceIndex: index
        )
    }

    mutating func reportWithdrawal(of name: DomainName, _ state: Instance, reason: RemovalReason, at now: Duration) {
        let seenFor = now - state.firstSeen
        events.append(.withdrawn(announcement(of: name, state), reason: reason, seenFor: seenFor))
    }
}
