// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import Testing

@testable import MulticastDNS

/// A directory without sockets, a clock that goes from deadline to deadline, and what its clients were told.
struct DirectoryBench {
    var directory: LinkDirectory
    /// What each client was told, everything.
    var told: [Int: [BrowseEvent]] = [:]
    var records: [Int: [RecordEvent]] = [:]
    var questions: [(time: Double, family: AddressFamily, question: Question)] = []
    /// How many bytes were sent, and heard from others.
    var traffic = (sent: 0, heard: 0)
    private var services: [Int: BrowseList] = [:]
    private var answers: [Int: RecordList] = [:]
    private var now = time(0)

    init(
        _ subscription: Subscription? = Subscription(census: CensusSettings()),
        families: [AddressFamily] = AddressFamily.allCases,
        settings: MulticastSettings = MulticastSettings()
    ) {
        directory = LinkDirectory(index: 2, name: "eth0", settings: settings, random: RandomSource(seed: 3))
        for family in families { directory.open(family, mtu: 1500, at: time(0)) }
        if let subscription { add(subscription) }
    }

    /// Takes on a client, as an engine does.
    mutating func add(_ subscription: Subscription, as client: Int = 1) {
        services[client] = BrowseList(subscription)
        answers[client] = RecordList(keys: subscription.records.union(subscription.passive))
        directory.add(subscription, of: client, at: now)
        tell(directory.drainEvents(), besides: client)
        tell(directory.snapshot(for: subscription, at: now), besides: nil, only: client)
    }

    mutating func remove(_ client: Int) {
        services[client] = nil
        answers[client] = nil
        directory.remove(client, at: now)
    }

    /// Lets the directory act at each of its deadlines, up to `seconds`.
    mutating func run(to seconds: Double) {
        act()
        var steps = 0
        while let deadline = directory.nextDeadline, deadline <= time(seconds), steps < 20_000 {
            now = max(now, deadline)
            act()
            steps += 1
        }
        #expect(steps < 20_000, "the directory does not come to rest")
        now = time(seconds)
        act()
    }

    private mutating func act() {
        directory.advance(to: now)
        for (family, packets) in directory.packets(at: now) {
            for packet in packets {
                traffic.sent += packet.bytes.count
                guard let message = try? Message(parsing: packet.bytes.span) else { continue }
                questions += message.questions.map { ((now - time(0)) / .seconds(1), family, $0) }
            }
        }
        tell(directory.drainEvents(), besides: nil)
    }

    private mutating func tell(_ new: [DirectoryEvent], besides: Int?, only: Int? = nil) {
        let link = LinkIdentity(index: directory.index, name: directory.name)
        for client in services.keys where client != besides && (only ?? client) == client {
            for event in new {
                told[client, default: []] += services[client]?.apply(event) ?? []
                if let record = answers[client]?.apply(event, on: link) { records[client, default: []].append(record) }
            }
        }
    }

    /// What the first client was told, without what is merely announced.
    var events: [BrowseEvent] {
        (told[1] ?? []).filter { event in
            switch event {
            case .found, .lost(_, last: nil, reason: _, seenFor: _): false
            default: true
            }
        }
    }

    mutating func hear(_ records: [ResourceRecord], _ family: AddressFamily = .ipv4, from source: UInt32 = 9) {
        let bytes = Message(flags: [.response, .authoritative], answers: records).encoded() ?? []
        traffic.heard += bytes.count
        _ = directory.receive(bytes.span, family, from: PacketOrigin(source: .v4(source), port: 5353), at: now)
        act()
    }

    mutating func goodbye(_ records: [ResourceRecord], _ family: AddressFamily = .ipv4) {
        hear(
            records.map { record in
                var record = record
                record.timeToLive = 0
                return record
            },
            family
        )
    }

    /// Receives another host's query.
    mutating func query(_ questions: [Question], from source: UInt32 = 7) {
        let bytes = Message(questions: questions).encoded() ?? []
        _ = directory.receive(bytes.span, .ipv4, from: PacketOrigin(source: .v4(source), port: 5353), at: now)
        act()
    }

    mutating func beginCensus() {
        directory.beginCensus(at: now)
        act()
    }

    mutating func close(_ family: AddressFamily) {
        directory.close(family, at: now)
        act()
    }

    mutating func open(_ family: AddressFamily) {
        directory.open(family, mtu: 1500, at: now)
        act()
    }

    /// What a client believes to be there.
    func present(_ client: Int) -> Set<String> {
        Set(
            (services[client]?.services ?? []).map {
                "\($0.name) \($0.interface) \($0.host) \($0.port) \($0.addresses) \($0.rawText)"
            }
        )
    }

    mutating func rename(to name: String) {
        directory.rename(to: name, at: now)
        act()
    }

    func asked(_ type: RecordType, _ family: AddressFamily? = nil) -> [Double] {
        questions.filter { $0.question.type == type && (family == nil || $0.family == family) }.map(\.time)
    }

    /// When a question was asked by one family.
    func asked(_ question: Question, _ family: AddressFamily = .ipv4) -> [Double] {
        questions.filter { $0.question == question && $0.family == family }.map(\.time)
    }

    /// The events that matter to people, as the census tells them.
    var summary: [String] {
        events.map { event in
            switch event {
            case .found(let announcement): "found \(announcement.name)"
            case .resolved(let service): "added \(service.name)"
            case .changed(let service, let fields, _): "changed \(service.name) \(fields.map(\.rawValue))"
            case .lost(let announcement, _, let reason, _): "removed \(announcement.name) \(reason.rawValue)"
            case .unresolved(let service): "failed \(service.name) \(service.missing)"
            }
        }
    }

    /// Everything a client was told.
    func story(_ client: Int = 1) -> [String] { (told[client] ?? []).map(BrowseEvent.text) }
}

extension BrowseEvent {
    /// An event in a few words.
    static func text(_ event: BrowseEvent) -> String {
        switch event {
        case .found(let announcement): (["found \(announcement.name)"] + announcement.subtypes).joined(separator: " ")
        case .resolved(let service): "resolved \(service.name)"
        case .changed(let service, let fields, _): "changed \(service.name) \(fields.map(\.rawValue))"
        case .unresolved(let service): "unresolved \(service.name) \(service.missing)"
        case .lost(let announcement, _, let reason, _): "lost \(announcement.name) \(reason.rawValue)"
        }
    }
}
