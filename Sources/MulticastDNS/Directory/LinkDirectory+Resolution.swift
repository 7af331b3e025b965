// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import DNSWire

extension LinkDirectory {
    /// What the zones together know of one instance.
    struct View {
        /// The lifetime of the record that announced it.
        var timeToLive: UInt32 = 0
        var locations: [ServiceLocation] = []
        var location: ServiceLocation? { locations.first }
        var text: [ResourceRecord] = []
        var addresses: [ScopedAddress] = []
        /// When the first of the addresses came.
        var addressedAt: Duration?
        /// What nobody said, nor denied.
        var missing: [RecordKey] = []

        /// The strings of the text.
        var strings: [[UInt8]] {
            text.flatMap { record -> [[UInt8]] in
                guard case .text(let data) = record.data else { return [] }
                return TextRecord(data: data).strings
            }
        }

        /// Port 0 means that only the name is reserved (rule D12).
        var isOffered: Bool { location.map { $0.port != 0 } ?? true }
        /// Whether it can be reported at all.
        var isUsable: Bool { location != nil && isOffered && !addresses.isEmpty }
    }

    /// Compares instances with what was reported of them, and reports or queries.
    mutating func evaluate(_ names: Set<DomainName>, at now: Duration) {
        for name in names.sorted() { evaluate(name, at: now) }
    }

    private mutating func evaluate(_ touched: DomainName, at now: Duration) {
        // In the letters in which it was seen first, whatever the case of the last record.
        guard let position = instances.index(forKey: touched) else { return }
        let name = instances[position].key
        var state = instances[position].value
        for source in state.sources where !isPointed(name, by: source, at: now) {
            detach(name, &state, from: source)
        }
        state.isMissing = state.isMissing && !state.sources.isEmpty
        // What is left may be a name that nobody browses any more.
        guard isWanted(name, by: state.sources) else {
            return lose(name, state, at: now)
        }
        reportAnnouncement(of: name, &state, at: now)
        let view = view(of: name, state, at: now)
        let host = view.isOffered ? view.location?.target : nil
        setHost(host, of: name, was: state.host, at: now)
        state.host = host
        state.isOffered = view.isOffered
        if state.published == nil {
            resolve(name, &state, view, at: now)
        } else {
            update(name, &state, view, at: now)
        }
        instances[name] = state
        activeQueries.setReported(state.published != nil, name, on: state.host)
        if state.isResolving { resolving.insert(name) } else { resolving.remove(name) }
        waiting[name] = state.deadline
    }

    func isPointed(_ name: DomainName, by source: DomainName, at now: Duration) -> Bool {
        AddressFamily.allCases.contains {
            zones[$0]?.cache.record(RecordKey(source, .ptr), .pointer(name), at: now) != nil
        }
    }

    /// Ends with an instance that nobody announces and no client resolves by name.
    private mutating func lose(_ name: DomainName, _ state: Instance, at now: Duration) {
        if let service = state.published { report(removal: service, state, reason: state.cause, at: now) }
        if !state.announced.isEmpty { reportWithdrawal(of: name, state, reason: state.cause, at: now) }
        instances[name]?.sources = state.sources
        forget(name)
    }

    /// Reports by which names an instance is announced, when that has changed.
    private mutating func reportAnnouncement(of name: DomainName, _ state: inout Instance, at now: Duration) {
        guard state.announced != state.sources else { return }
        if state.sources.isEmpty {
            reportWithdrawal(of: name, state, reason: state.cause, at: now)
        } else {
            let isNew = state.announced.isEmpty
            events.append(.announced(announcement(of: name, state), by: state.sources))
            // Already resolved for a client by name, it is new to those that browse.
            if isNew, let service = state.published { events.append(.resolved(service)) }
        }
        state.announced = state.sources
    }

    /// Gathers the records of an instance from both zones.
    func view(of name: DomainName, _ state: Instance, at now: Duration) -> View {
        var view = View()
        func records(_ key: RecordKey) -> [ResourceRecord] {
            AddressFamily.allCases.flatMap { zones[$0]?.cache.records(key, at: now) ?? [] }
        }
        for source in [state.type] + state.sources.sorted() where view.timeToLive == 0 {
            for family in AddressFamily.allCases {
                let pointer = zones[family]?.cache.record(RecordKey(source, .ptr), .pointer(name), at: now)
                view.timeToLive = max(view.timeToLive, pointer?.timeToLive ?? 0)
            }
        }
        for record in records(RecordKey(name, .srv)) {
            guard case .service(let location) = record.data, !view.locations.contains(location) else { continue }
            view.locations.append(location)
        }
        // Lower priority first, then greater weight: for showing, the choice must not be random (rule D4).
        view.locations.sort { ($0.priority, $1.weight) < ($1.priority, $0.weight) }
        let texts = AddressFamily.allCases.flatMap { zones[$0]?.cache.current(RecordKey(name, .txt), at: now) ?? [] }
        for record in texts where !view.text.contains(where: { $0.data == record.data }) {
            view.text.append(record)
        }
        if view.location == nil { view.missing.append(RecordKey(name, .srv)) }
        let text = RecordKey(name, .txt)
        if view.text.isEmpty, isTextWanted(name, state), !isDenied(text, at: now) { view.missing.append(text) }
        guard let host = view.location?.target, view.isOffered else { return view }
        var addresses: Set<ScopedAddress> = []
        for key in [RecordKey(host, .a), RecordKey(host, .aaaa)] {
            let found = records(key)
            let received = AddressFamily.allCases.compactMap { zones[$0]?.cache.firstReceived(of: key, at: now) }
            view.addressedAt = (received + [view.addressedAt].compactMap(\.self)).min()
            for case .address(let address) in found.map(\.data) {
                addresses.insert(ScopedAddress(address, scope: self.name))
            }
            if found.isEmpty, isUseful(key, at: now), !isDenied(key, at: now) { view.missing.append(key) }
        }
        view.addresses = addresses.sorted()
        return view
    }

    /// Browsers show a text; who only connects needs none.
    private func isTextWanted(_ name: DomainName, _ state: Instance) -> Bool {
        !state.sources.isEmpty || subscriptions.wants(textOf: name)
    }

    /// Whether addresses of this type serve anybody here: those of a family that this link does not speak serve only
    /// to report a host that has no others.
    func isUseful(_ key: RecordKey, at now: Duration) -> Bool {
        let (family, other): (AddressFamily, RecordType) = key.type == .a ? (.ipv4, .aaaa) : (.ipv6, .a)
        return zones[family] != nil || isDenied(RecordKey(key.name, other), at: now)
    }

    func isDenied(_ key: RecordKey, at now: Duration) -> Bool {
        AddressFamily.allCases.contains { zones[$0]?.cache.denies(key, at: now) == true }
    }

    /// Goes on with an instance that is not reported yet.
    private mutating func resolve(_ name: DomainName, _ state: inout Instance, _ view: View, at now: Duration) {
        if let retryAt = state.retryAt, retryAt <= now {
            state.queried = []
            if state.isMissing {
                // One query at a time, with growing gaps, as long as the pointer lives.
                state.retryAt = now + state.retryGap
                state.failures += 1
            } else {
                state.retryAt = nil
                state.giveUpAt = now + Self.resolving
            }
        }
        state.usableSince = view.isUsable ? state.usableSince ?? now : nil
        state.reportAt = state.usableSince.map { reportTime(of: view, usableSince: $0, before: state.giveUpAt) }
        if let reportAt = state.reportAt, view.missing.isEmpty || reportAt <= now {
            return publish(name, &state, view, at: now)
        }
        let isNamed = subscriptions.wants(instance: name)
        if state.giveUpAt != nil || state.isMissing || isNamed { query(for: view, &state, isNamed, at: now) }
        // All that there is of it is known.
        if !view.isOffered, view.missing.isEmpty, state.giveUpAt != nil { state.giveUpAt = now }
        if let giveUpAt = state.giveUpAt, giveUpAt <= now { fail(name, &state, view, at: now) }
    }

    /// When what is there is reported, whatever is missing still.
    private func reportTime(of view: View, usableSince: Duration, before limit: Duration?) -> Duration {
        let isTextMissing = view.missing.contains { $0.type == .txt }
        let time =
            isTextMissing
            ? usableSince + Self.textWait : min(view.addressedAt ?? usableSince, usableSince) + Self.familyWait
        return min(time, limit ?? time)
    }

    private mutating func publish(_ name: DomainName, _ state: inout Instance, _ view: View, at now: Duration) {
        state.usableSince = nil
        state.reportAt = nil
        state.giveUpAt = nil
        state.hasFailed = false
        state.hasReportedFailure = false
        state.failures = 0
        state.retryAt = nil
        state.isMissing = false
        state.queried.formIntersection(view.missing.filter { $0.type == .txt })
        let service = service(name, state, view)
        state.published = service
        events.append(.resolved(service))
        beginHalfHost(of: view, at: now)
    }

    private mutating func fail(_ name: DomainName, _ state: inout Instance, _ view: View, at now: Duration) {
        state.giveUpAt = nil
        state.hasFailed = true
        state.retryAt = now + state.retryGap
        state.failures += 1
        guard !state.hasReportedFailure else { return }
        state.hasReportedFailure = true
        events.append(
            .unresolved(
                UnresolvedService(
                    instance: name,
                    name: Self.displayName(of: name, type: state.type),
                    type: state.type.prefix(2).description,
                    interface: self.name,
                    interfaceIndex: index,
                    missing: view.missing.compactMap { Self.typeNames[$0.type] },
                    isOffered: view.isOffered,
                    text: TextRecord(strings: view.strings).entries,
                    rawText: view.strings
                )
            )
        )
    }

    /// What people call an instance: its first label; all labels before the type where a sender cut a name at its dots.
    static func displayName(of instance: DomainName, type: DomainName) -> String {
        let labels = instance.labels
        let own = instance.isWithin(type) ? labels.dropLast(type.labelCount) : labels.prefix(1)
        return own.map { SafeText.text(of: $0) }.joined(separator: ".")
    }

    private static let typeNames: [RecordType: String] = [.srv: "SRV", .txt: "TXT", .a: "A", .aaaa: "AAAA"]

    /// Queries, once per resolving, what is missing (trap: waiting for the next round would cost a second).
    ///
    /// For a client that named the instance it is queried until it comes.
    private mutating func query(for view: View, _ state: inout Instance, _ isNamed: Bool, at now: Duration) {
        for key in view.missing where ReverseName.isMulticast(key.name) && state.queried.insert(key).inserted {
            // With one address known, the other family is optional; without any, it is needed.
            let isOfHost = key.type == .a || key.type == .aaaa
            let times = isOfHost ? (view.addresses.isEmpty ? 3 : 1) : (isNamed ? .max : 3)
            for family in AddressFamily.allCases {
                // Between attempts: a client's own series may wait for an hour.
                if state.isMissing, state.giveUpAt == nil {
                    queryMissing(key, by: family, at: now)
                    continue
                }
                zones[family]?.query(Question(key.name, key.type), times: times, isResponseTriggered: !isNamed, at: now)
            }
        }
    }

    private mutating func queryText(in view: View, _ state: inout Instance, _ isNamed: Bool, at now: Duration) {
        var text = view
        text.missing.removeAll { $0.type != .txt }
        query(for: text, &state, isNamed, at: now)
    }

    /// Goes on with an instance that was reported.
    private mutating func update(_ name: DomainName, _ state: inout Instance, _ view: View, at now: Duration) {
        guard let published = state.published else { return }
        guard let location = view.location else {
            return withdraw(name, &state, published, reason: state.cause, at: now)
        }
        guard location.port != 0 else {
            withdraw(name, &state, published, reason: .unresolvable, at: now)
            // Its owner said so: nothing is missing.
            state.isMissing = false
            state.retryAt = nil
            return
        }
        guard !view.addresses.isEmpty else {
            let giveUpAt = state.giveUpAt ?? now + Self.resolving
            state.giveUpAt = giveUpAt
            state.reportAt = nil
            // What nobody announces was resolved by name: its host is all there was.
            let reason = state.sources.isEmpty ? state.addressCause : .unresolvable
            if giveUpAt <= now { return withdraw(name, &state, published, reason: reason, at: now) }
            return query(for: view, &state, subscriptions.wants(instance: name), at: now)
        }
        state.giveUpAt = nil
        // One whom a connection followed is browsed now.
        queryText(in: view, &state, subscriptions.wants(instance: name), at: now)
        var current = service(name, state, view)
        if view.text.isEmpty {
            current.text = published.text
            current.rawText = published.rawText
        }
        let fields = current.changes(since: published)
        guard !fields.isEmpty else {
            state.reportAt = nil
            state.published = current
            return
        }
        let reportAt = state.reportAt ?? now + Self.settling
        state.reportAt = reportAt
        // A new host may need its addresses.
        if current.host != published.host { query(for: view, &state, subscriptions.wants(instance: name), at: now) }
        guard reportAt <= now else { return }
        state.reportAt = nil
        state.queried.formIntersection(view.missing.filter { $0.type == .txt })
        state.published = current
        events.append(.changed(current, fields: fields, previous: published))
        if current.host != published.host { beginHalfHost(of: view, at: now) }
    }

    /// Reports a service as gone while it is still announced, has the announcement confirmed (rule C7), and queries what
    /// is missing until it comes or the pointer goes: others may have queried in vain what its owner answers us for, and
    /// who said goodbye may be back without announcing it.
    private mutating func withdraw(
        _ name: DomainName,
        _ state: inout Instance,
        _ service: Service,
        reason: RemovalReason,
        at now: Duration
    ) {
        report(removal: service, state, reason: reason, at: now)
        state.published = nil
        state.reportAt = nil
        state.giveUpAt = nil
        state.hasFailed = true
        state.hasReportedFailure = true
        for source in state.sources {
            reconfirm(ResourceRecord(source, .ptr, .pointer(name), timeToLive: 0), at: now)
        }
        state.isMissing = !state.sources.isEmpty
        state.failures = 0
        state.retryAt = state.isMissing ? now : nil
        guard subscriptions.wants(instance: name) else { return }
        state.queried = []
        state.giveUpAt = now + Self.resolving
        state.hasFailed = false
        query(for: view(of: name, state, at: now), &state, true, at: now)
    }

    private mutating func report(removal service: Service, _ state: Instance, reason: RemovalReason, at now: Duration) {
        events.append(.removed(service, reason: reason, seenFor: now - state.firstSeen))
    }

    private func service(_ name: DomainName, _ state: Instance, _ view: View) -> Service {
        let strings = view.strings
        return Service(
            instance: name,
            name: Self.displayName(of: name, type: state.type),
            type: state.type.prefix(2).description,
            domain: state.type.parent.parent.description,
            interface: self.name,
            interfaceIndex: index,
            host: view.location?.target.description ?? "",
            port: view.location?.port ?? 0,
            addresses: view.addresses,
            text: TextRecord(strings: strings).entries,
            rawText: strings,
            timeToLive: .seconds(Int64(view.timeToLive)),
            firstSeen: state.firstSeen,
            lastSeen: state.lastSeen,
            locations: view.locations
        )
    }
}
