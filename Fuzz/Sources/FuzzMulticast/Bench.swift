// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import FuzzKit

@testable import FuzzScripts
@testable import MulticastDNS

/// A directory with a clock, clients and small limits, and what it must hold to.
struct Bench: LinkBench {
    static let beginnings = (0..<64).map { Bench($0) }

    private static let settings: MulticastSettings = {
        var settings = MulticastSettings()
        settings.maximumInstances = 6
        settings.maximumRecords = 16
        settings.questionsPerSecond = 16
        return settings
    }()
    private static let census: CensusSettings = {
        var settings = CensusSettings()
        settings.wellKnownTypes = [Scripts.types[0]]
        settings.maximumTypes = 6
        settings.maximumTypesPerSource = 3
        return settings
    }()
    /// The client that takes censuses; the others have numbers from 2.
    private static let censusClient = 1

    var directory: LinkDirectory
    var now = Duration.seconds(5000)
    var lastSent: [AddressFamily: [UInt8]] = [:]
    private var announced: Set<DomainName> = []
    private var resolved: Set<DomainName> = []
    private var opened: [AddressFamily: Duration] = [:]
    private var asked: [AddressFamily: Int] = [:]

    private init(_ flags: Int) {
        let random = RandomSource(seed: UInt64(flags & 3))
        directory = LinkDirectory(index: 2, name: "eth0", settings: Self.settings, random: random)
        directory.add(Subscription(census: Self.census), of: Self.censusClient, at: now)
        if flags & 4 == 0 { open(.ipv4, mtu: 1500) }
        if flags & 8 == 0 { open(.ipv6, mtu: 1500) }
        if flags & 16 == 0 { census(begins: true) }
        guard flags & 32 == 0 else { return }
        // Three services that were resolved a while ago.
        for number in 1...UInt8(3) { receive(Scripts.service(number, timeToLive: 4).span, .ipv4, from: number) }
        for _ in 0..<4 { wait(.seconds(1)) }
    }

    // MARK: - Steps

    mutating func open(_ family: AddressFamily, mtu: Int) {
        if directory.zones[family] == nil {
            opened[family] = now
            asked[family] = 0
        }
        directory.open(family, mtu: mtu, at: now)
        act()
    }

    mutating func census(begins: Bool) {
        if begins { directory.beginCensus(at: now) } else { directory.endCensus() }
        act()
    }

    mutating func rename(_ number: UInt8) {
        directory.rename(to: number & 1 == 0 ? "eth0" : "lan0", at: now)
        act()
    }

    /// A client comes, or one that is there wants something else now.
    mutating func add(_ subscription: Subscription, of client: UInt8) {
        let client = 2 + Int(client & 3)
        remove(client)
        directory.add(subscription, of: client, at: now)
        act()
    }

    mutating func removeClient(_ number: UInt8) {
        remove(1 + Int(number % 5))
        act()
    }

    /// A client goes; what it alone wanted goes without a word.
    private mutating func remove(_ client: Int) {
        act()
        directory.remove(client, at: now)
        announced.formIntersection(directory.instances.keys)
        resolved.formIntersection(directory.instances.keys)
    }

    mutating func reconfirm(_ record: ResourceRecord) {
        directory.reconfirm(record, at: now)
        act()
    }

    mutating func receive(_ bytes: Span<UInt8>, _ family: AddressFamily, from origin: PacketOrigin) {
        _ = directory.receive(bytes, family, from: origin, at: now)
    }

    /// A stranger's packet with another one right behind it: nothing is carried out in between.
    mutating func crowd(_ number: UInt8, _ family: AddressFamily) {
        let origin = PacketOrigin(source: .v4(UInt32(number >> 5)), port: 5353)
        receive(Scripts.service(number, timeToLive: 5).span, family, from: origin)
    }

    mutating func finish(_ choice: UInt8) {
        if choice == 3 { comeToRest() }
    }

    /// Without clients and further packets everything ends: records, services, questions and wake-ups.
    private mutating func comeToRest() {
        for client in 0..<5 { removeClient(UInt8(client)) }
        pass(orFail: "it does not come to rest")
        require(directory.instances.isEmpty && directory.activeQueries.types.isEmpty, "services outlived their clients")
        require(directory.activeQueries.hosts.isEmpty && directory.activeQueries.records.isEmpty, "interest in nothing")
        for zone in directory.zones.values {
            require(zone.cache.count == 0 && zone.schedule.count == 0, "records or questions were forgotten")
        }
    }

    // MARK: - What must hold

    mutating func act() {
        directory.advance(to: now)
        for (family, packets) in directory.packets(at: now) {
            for packet in packets { check(packet, family) }
            lastSent[family] = packets.last?.bytes
        }
        for event in directory.drainEvents() { check(event) }
        if let deadline = directory.nextDeadline { require(deadline > now, "wants to be woken in the past") }
    }

    private mutating func check(_ packet: OutgoingPacket, _ family: AddressFamily) {
        guard let zone = directory.zones[family], let start = opened[family] else { fatalError("sent without a link") }
        require(packet.destination == .group, "a question to one host")
        require(packet.bytes.count <= zone.payloadLimit, "a packet is longer than the link allows")
        guard let message = try? Message(parsing: packet.bytes.span) else { fatalError("cannot read what it sent") }
        require(!message.flags.contains(.response), "answers without having anything to say")
        asked[family, default: 0] += message.questions.count
        let allowed = Double(Self.settings.questionsPerSecond) * (1 + (now - start) / .seconds(1))
        require(Double(asked[family] ?? 0) <= allowed + 0.01, "more questions than the budget allows")
    }

    private mutating func check(_ event: DirectoryEvent) {
        switch event {
        case .announced(let announcement, let sources):
            require(!sources.isEmpty, "announced by nobody")
            announced.insert(announcement.instance)
        case .withdrawn(let announcement, _, let seen):
            require(announced.remove(announcement.instance) != nil, "withdrawn before it was announced")
            require(seen >= .zero, "seen for a negative time")
        case .resolved(let service):
            resolved.insert(service.instance)
        case .changed(let service, let fields, let previous):
            require(resolved.contains(service.instance), "changed before it was resolved")
            require(!fields.isEmpty && fields == service.changes(since: previous), "changed without a change")
        case .removed(let service, _, let seen):
            require(resolved.remove(service.instance) != nil, "removed before it was resolved")
            require(seen >= .zero, "seen for a negative time")
        case .unresolved, .recordAdded, .recordRemoved: break
        }
    }

    func checkTables() {
        for zone in directory.zones.values { check(zone) }
        let names = Set(directory.instances.keys)
        let activeQueries = directory.activeQueries
        require(names.count <= Self.settings.maximumInstances, "too many instances")
        require(activeQueries.instances == names, "interest in what is not followed")
        require(activeQueries.hosts.count <= names.count, "too many hosts")
        require(names.isSuperset(of: directory.waiting.keys), "waits for what is not followed")
        require(directory.waiting.slots <= 2 * names.count + 65, "outdated deadlines pile up")
        require(directory.resolving.isSubset(of: names), "resolves what is not followed")
        require((directory.memory?.types.count ?? 0) <= Self.census.maximumTypes, "too many types")
        var sources: Set<DomainName> = []
        for (name, instance) in directory.instances {
            sources.formUnion(instance.sources)
            require(instance.queried.count <= 64, "asks for more and more")
            require(instance.announced == instance.sources, "announced by other names than clients were told")
            require(announced.contains(name) == !instance.announced.isEmpty, "another story about an announcement")
            require(resolved.contains(name) == (instance.published != nil), "another story about a service")
            require(
                activeQueries.reported.contains(name) == (instance.published != nil),
                "protects what is not reported"
            )
            require(
                !instance.sources.isEmpty || directory.subscriptions.wants(instance: name),
                "follows what nobody announced or wants"
            )
            for source in instance.sources {
                let key = RecordKey(source, .ptr)
                let isPointed = directory.zones.values.contains {
                    $0.cache.record(key, .pointer(name), at: now) != nil
                }
                require(isPointed, "an announcement outlived its record")
            }
        }
        require(activeQueries.types == sources, "interest in types that lead nowhere")
        require(announced.isSubset(of: names) && resolved.isSubset(of: names), "what is gone was not told")
    }

    private func check(_ zone: Zone) {
        require(zone.cache.count <= zone.cache.bounds.records, "too many records")
        require(zone.cache.bytes <= zone.cache.bounds.bytes, "too many bytes")
        require(zone.cache.count == zone.cache.entries.values.reduce(0) { $0 + $1.count }, "miscounted records")
        require(zone.schedule.count <= Scripts.everyQuestion, "too many questions")
        for (key, list) in zone.cache.entries {
            let isInteresting = directory.activeQueries.contains(key)
            for entry in list.entries {
                guard let deadline = zone.cache.nextDeadline else { fatalError("sleeps beside live records") }
                let due = RecordCache.deadlines(of: entry, isInteresting: isInteresting).wake
                require(deadline <= due, "would wake up late for a record")
            }
        }
    }
}
