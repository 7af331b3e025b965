// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import DNSWire

/// The services of one interface: what its zones know, merged into services (rules D1 to D4, D6, D11, D12, Q20, Q21).
///
/// A service is derived anew from the caches whenever a record of it came or went, and compared with what was
/// reported last; so no order of packets can leave a wrong state behind.
struct LinkDirectory: Sendable {
    /// One announced instance.
    struct Instance: Sendable {
        let type: DomainName
        let firstSeen: Duration
        var lastSeen: Duration
        /// What was reported; `nil` while it is not resolved.
        var published: Service?
        /// Why the last lost record went.
        var cause = RemovalReason.expired
        var host: DomainName?
        /// What was asked for since resolving began.
        var asked: Set<RecordKey> = []
        /// When to report what is there, when to give up, and whether a failure was told.
        var reportAt: Duration?
        var giveUpAt: Duration?
        var hasFailed = false
        var hasToldFailure = false

        var deadline: Duration? { [reportAt, giveUpAt].compactMap(\.self).min() }
    }

    static let enumeration = DomainName("_services._dns-sd._udp.local") ?? DomainName()
    static let local = DomainName("local") ?? DomainName()
    /// How long a report waits for the rest of a burst.
    static let settling = Duration.milliseconds(250)
    /// How long resolving may take: questions at 0, 1 and 3 s, and time for the answers.
    static let resolving = Duration.seconds(5)

    let index: Int
    let settings: CensusSettings
    private(set) var name: String
    /// Go over `AddressFamily.allCases`, not over the keys: a loop over the keys keeps a copy, and a change copies all.
    var zones: [AddressFamily: Zone] = [:]
    var interest = Interest()
    var instances: [DomainName: Instance] = [:]
    var events: [ServiceEvent] = []
    /// When something new was heard last.
    var lastNews: Duration?
    private(set) var isCensusRunning = false
    private var memory: TypeMemory
    private var random: RandomSource
    private var instancesByType: [DomainName: Int] = [:]
    /// Instances that wait for a time of their own.
    private(set) var waiting: Set<DomainName> = []
    /// The first of those times; it may be early, never late.
    private var waitingUntil: Duration?

    init(index: Int, name: String, settings: CensusSettings, random: RandomSource) {
        self.index = index
        self.name = name
        self.settings = settings
        self.random = random
        memory = TypeMemory(settings)
    }

    /// The types that have an instance.
    var types: Set<DomainName> { interest.types }

    /// The resolved services.
    var services: [Service] { instances.values.compactMap(\.published) }

    /// How many instances are announced but given up.
    var unresolvedCount: Int { instances.values.count { $0.hasFailed && $0.published == nil } }

    /// Whether answers for an instance are waited for.
    var isResolving: Bool {
        waiting.contains { name in instances[name].map { $0.published == nil && $0.giveUpAt != nil } ?? false }
    }

    /// When ``advance(to:)`` is to be called next.
    var nextDeadline: Duration? {
        (zones.values.map(\.nextDeadline) + [waitingUntil]).compactMap(\.self).min()
    }

    // MARK: - The link

    /// Starts with a family, or asks again after its addresses changed; what is known stays.
    mutating func open(_ family: AddressFamily, mtu: Int, at now: Duration) {
        if zones[family] == nil {
            zones[family] = Zone(family, settings: settings, mtu: mtu, random: RandomSource(seed: random.next()))
        }
        if isCensusRunning { askAll(in: family, at: now) }
    }

    /// Ends with a family; what only it knew is gone (rule C6).
    mutating func close(_ family: AddressFamily, at now: Duration) {
        guard zones.removeValue(forKey: family) != nil else { return }
        for name in instances.keys { instances[name]?.cause = .interfaceDown }
        evaluate(Set(instances.keys), at: now)
        for name in instances.keys { instances[name]?.cause = .expired }
    }

    /// Takes the interface's new name; services move to it.
    mutating func rename(to newName: String, at now: Duration) {
        guard newName != name else { return }
        name = newName
        for (instance, state) in instances.sorted(by: { $0.key < $1.key }) {
            guard let service = state.published else { continue }
            events.append(.removed(service, reason: .interfaceDown, seenFor: now - state.firstSeen))
            instances[instance]?.published = nil
            instances[instance]?.reportAt = now
        }
        evaluate(Set(instances.keys), at: now)
    }

    // MARK: - The census

    /// Asks for all types, and once more for what could not be resolved.
    mutating func beginCensus(at now: Duration) {
        isCensusRunning = true
        memory.beginCensus()
        for family in AddressFamily.allCases { askAll(in: family, at: now) }
        for name in instances.keys where instances[name]?.hasFailed == true {
            instances[name]?.asked = []
            instances[name]?.giveUpAt = now + Self.resolving
            wait(name, until: now + Self.resolving)
        }
        evaluate(Set(instances.filter { $0.value.hasFailed }.keys), at: now)
    }

    /// Ends the questions of the census.
    mutating func endCensus() {
        isCensusRunning = false
        for family in AddressFamily.allCases {
            for type in [Self.enumeration] + memory.types { zones[family]?.schedule.cancel(Question(type, .ptr)) }
        }
    }

    private mutating func askAll(in family: AddressFamily, at now: Duration) {
        for type in [Self.enumeration] + memory.types {
            zones[family]?.ask(Question(type, .ptr), times: CensusRun.rounds, at: now)
        }
    }

    // MARK: - Packets and time

    /// Reads a packet.
    mutating func receive(
        _ bytes: Span<UInt8>,
        _ family: AddressFamily,
        from origin: PacketOrigin,
        at now: Duration
    ) -> Zone.Reception {
        guard let reception = zones[family]?.receive(bytes, from: origin, at: now, interest: interest) else {
            return .ignored
        }
        guard case .response(let message, let changed) = reception else { return reception }
        var touched: Set<DomainName> = []
        for record in message.answers + message.additionals where record.timeToLive > 0 && record.classCode == 1 {
            learn(record, from: origin.source, at: now, touched: &touched)
        }
        for record in changed { touched.formUnion(dependents(of: record)) }
        evaluate(touched, at: now)
        return reception
    }

    /// Lets time pass.
    mutating func advance(to now: Duration) {
        let isWaitOver = waitingUntil.map { $0 <= now } ?? false
        var touched: Set<DomainName> = isWaitOver ? waiting.filter { (instances[$0]?.deadline ?? now) <= now } : []
        for family in AddressFamily.allCases {
            guard let result = zones[family]?.cache.advance(to: now, interest: interest) else { continue }
            for (record, loss) in result.lost {
                let names = dependents(of: record)
                if record.type == .ptr || record.type == .srv {
                    for name in names { instances[name]?.cause = loss == .goodbye ? .goodbye : .expired }
                }
                touched.formUnion(names)
            }
            for (key, step) in result.refresh {
                // The last three tries go out by both families: the other one may still reach the owner.
                for other in AddressFamily.allCases where other == family || step > 1 {
                    zones[other]?.ask(Question(key.name, key.type), times: 1, at: now)
                }
            }
        }
        evaluate(touched, at: now)
        if isWaitOver { waitingUntil = waiting.compactMap { instances[$0]?.deadline }.min() }
    }

    /// The packets that are due now, for each family.
    mutating func packets(at now: Duration) -> [(family: AddressFamily, packets: [OutgoingPacket])] {
        AddressFamily.allCases.compactMap { family in
            guard let packets = zones[family]?.packets(at: now), !packets.isEmpty else { return nil }
            return (family, packets)
        }
    }

    /// Takes what happened since the last call, in order.
    mutating func takeEvents() -> [ServiceEvent] {
        defer { events = [] }
        return events
    }

    private mutating func learn(
        _ record: ResourceRecord,
        from source: IPAddress,
        at now: Duration,
        touched: inout Set<DomainName>
    ) {
        if record.flushesCache {
            // Answered by one family, it need not be asked by the other (rule Q5).
            let question = Question(record.name, record.type)
            for family in AddressFamily.allCases { zones[family]?.schedule.cancel(question) }
        }
        switch record.data {
        case .pointer(let target) where record.name == Self.enumeration:
            guard let type = try? target.prefix(2).appending(Self.local), Self.isServiceType(type) else { return }
            admit(type, from: source, at: now)
        case .pointer(let target) where Self.isServiceType(record.name) && target.labelCount >= 4:
            admit(record.name, from: source, at: now)
            if instances[target] == nil, add(target, type: record.name, at: now) { touched.insert(target) }
            instances[target]?.lastSeen = now
        case .service, .text:
            instances[record.name]?.lastSeen = now
        default: break
        }
    }

    private mutating func admit(_ type: DomainName, from source: IPAddress, at now: Duration) {
        let inUse = interest.types
        guard memory.admit(type, from: source, at: now, isInUse: { inUse.contains($0) }), isCensusRunning else {
            return
        }
        for family in AddressFamily.allCases {
            zones[family]?.ask(Question(type, .ptr), times: CensusRun.rounds, at: now)
        }
    }

    /// The instances that a record is part of.
    private func dependents(of record: ResourceRecord) -> Set<DomainName> {
        switch record.data {
        case .pointer(let target): instances[target]?.type == record.name ? [target] : []
        case .address, .nextSecure: interest.hosts[record.name] ?? []
        default: instances[record.name] == nil ? [] : [record.name]
        }
    }

    /// `_name._tcp.local` or `_udp`; lenient about what is in the first label (rule N7).
    static func isServiceType(_ name: DomainName) -> Bool {
        let labels = name.labels
        guard labels.count == 3, labels[0].first == UInt8(ascii: "_"), name.isWithin(local) else { return false }
        return ["_tcp", "_udp"].contains(String(decoding: labels[1], as: UTF8.self).lowercased())
    }

    // MARK: - Instances

    private mutating func add(_ instance: DomainName, type: DomainName, at now: Duration) -> Bool {
        if instances.count >= settings.maximumInstances { makeRoom(at: now) }
        guard instances.count < settings.maximumInstances else { return false }
        instances[instance] = Instance(type: type, firstSeen: now, lastSeen: now, giveUpAt: now + Self.resolving)
        wait(instance, until: now + Self.resolving)
        interest.instances.insert(instance)
        interest.types.insert(type)
        instancesByType[type, default: 0] += 1
        lastNews = now
        return true
    }

    /// Forgets a sixteenth of the instances: those that failed to resolve, or have not resolved yet.
    private mutating func makeRoom(at now: Duration) {
        let candidates = instances.filter { $0.value.published == nil }.sorted { left, right in
            (left.value.hasFailed ? 0 : 1, left.value.lastSeen, left.key)
                < (right.value.hasFailed ? 0 : 1, right.value.lastSeen, right.key)
        }
        for (instance, _) in candidates.prefix(max(settings.maximumInstances / 16, 1)) { forget(instance) }
    }

    /// Takes note of when an instance wants to be looked at.
    mutating func wait(_ instance: DomainName, until deadline: Duration?) {
        guard let deadline else {
            waiting.remove(instance)
            if waiting.isEmpty { waitingUntil = nil }
            return
        }
        waiting.insert(instance)
        waitingUntil = min(waitingUntil ?? deadline, deadline)
    }

    mutating func forget(_ instance: DomainName) {
        guard let state = instances.removeValue(forKey: instance) else { return }
        wait(instance, until: nil)
        interest.instances.remove(instance)
        interest.reported.remove(instance)
        for key in state.asked {
            for family in AddressFamily.allCases { zones[family]?.schedule.cancel(Question(key.name, key.type)) }
        }
        setHost(nil, of: instance, was: state.host)
        instancesByType[state.type, default: 1] -= 1
        if instancesByType[state.type, default: 0] <= 0 {
            instancesByType[state.type] = nil
            interest.types.remove(state.type)
        }
    }

    mutating func setHost(_ host: DomainName?, of instance: DomainName, was old: DomainName?) {
        guard host != old else { return }
        if let old {
            interest.hosts[old]?.remove(instance)
            if interest.hosts[old]?.isEmpty == true { interest.hosts[old] = nil }
        }
        if let host { interest.hosts[host, default: []].insert(instance) }
    }
}
