// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire

@testable import MulticastDNS

/// Hosts that answer as RFC 6762 has it, on a link that delays and loses packets, in a time of their own.
///
/// Deterministic: everything follows from the seed, nothing from the machine it runs on.
struct SimulatedNetwork {
    struct Options: Sendable {
        var hosts = 20
        var servicesPerHost = 10
        var types = 8
        /// The share of packets that get lost, for each receiver.
        var loss = 0.0
        /// Whether answers bring location, text and addresses along, as far as they fit.
        var bringsMore = true
        var seed: UInt64 = 1
    }

    private struct Host {
        var services: [MadeUpService]
        var lastSent: [ResourceRecord: Duration] = [:]
        var planned: (due: Duration, answers: [ResourceRecord])?
    }

    /// What went over the wire.
    private(set) var packets = 0
    private(set) var bytes = 0
    /// When each instance was resolved, since the start.
    private(set) var resolved: [DomainName: Duration] = [:]
    private(set) var directory: LinkDirectory
    private var hosts: [Host]
    private var now = time(0)
    private var random: RandomSource
    private let options: Options

    init(_ options: Options, subscription: Subscription = Subscription(census: CensusSettings())) {
        self.options = options
        random = RandomSource(seed: options.seed)
        hosts = (0..<options.hosts).map { host in
            Host(
                services: (0..<options.servicesPerHost).map { number in
                    var service = MadeUpService()
                    service.name = "Service \(number) of host \(host)"
                    service.type = "_type\((host * options.servicesPerHost + number) % options.types)._tcp"
                    service.host = "host-\(host).local"
                    service.address = .v4(0x0A00_0000 + UInt32(host))
                    service.text = ["path=/some/where", "version=1.2.3", "note=a text of sixty bytes or so"]
                    return service
                }
            )
        }
        directory = LinkDirectory(index: 1, name: "v0", settings: .init(), random: RandomSource(seed: options.seed))
        directory.open(.ipv4, mtu: 1500, at: now)
        directory.add(subscription, of: 1, at: now)
        if subscription.census != nil { directory.beginCensus(at: now) }
    }

    var total: Int { options.hosts * options.servicesPerHost }

    /// How many services were resolved by then.
    func count(by seconds: Double) -> Int { resolved.values.count { $0 <= time(seconds) - time(0) } }

    /// When the last one was resolved that was.
    var lastResolved: Double { (resolved.values.max() ?? .zero) / .seconds(1) }

    /// Lets everybody act until then.
    mutating func run(to seconds: Double) {
        while let next = ([directory.nextDeadline] + hosts.map { $0.planned?.due }).compactMap(\.self).min(),
            next <= time(seconds)
        {
            now = max(now, next)
            directory.advance(to: now)
            for (_, queries) in directory.packets(at: now) {
                for query in queries { send(query.bytes) }
            }
            for index in hosts.indices where hosts[index].planned.map({ $0.due <= now }) == true { answer(index) }
            for case .resolved(let service) in directory.drainEvents() { resolved[service.instance] = now - time(0) }
        }
    }

    private mutating func isLost() -> Bool { Double.random(in: 0..<1, using: &random) < options.loss }

    /// A query reaches the hosts.
    ///
    /// After a truncated one they wait for the rest of what is known (RFC 6762 section 7.2).
    private mutating func send(_ bytes: [UInt8]) {
        packets += 1
        self.bytes += bytes.count
        guard let query = try? Message(parsing: bytes.span) else { return }
        let known = Set(query.answers.map(\.data))
        let patience = query.flags.contains(.truncated) ? 400...500 : 20...120
        for index in hosts.indices where !isLost() {
            hosts[index].planned?.answers.removeAll { known.contains($0.data) }
            let answers = records(of: index).filter { record in
                query.questions.contains { $0.isAnswered(by: record) } && !known.contains(record.data)
            }
            guard !answers.isEmpty else { continue }
            let due = now + .milliseconds(Int.random(in: patience, using: &random))
            hosts[index].planned = (hosts[index].planned?.due ?? due, (hosts[index].planned?.answers ?? []) + answers)
        }
    }

    private func records(of host: Int) -> [ResourceRecord] {
        let services = hosts[host].services
        let shared = services.first.map { [$0.addressRecord, $0.denial] } ?? []
        var types: Set<DomainName> = []
        return services.flatMap { [$0.pointer, $0.location, $0.textRecord] } + shared
            + services.filter { types.insert($0.typeName).inserted }.map(\.enumeration)
    }

    /// A host says what it planned, and what may be asked next, none of it twice within a second.
    private mutating func answer(_ index: Int) {
        let planned = hosts[index].planned?.answers ?? []
        hosts[index].planned = nil
        var answers: [ResourceRecord] = []
        for record in planned where !answers.contains(record) && isAllowed(record, of: index) { answers.append(record) }
        guard !answers.isEmpty else { return }
        let services = hosts[index].services
        let found = services.filter { service in answers.contains { $0.data == .pointer(service.instance) } }
        let more =
            found.flatMap { [$0.location, $0.textRecord] }
            + (services.first.map { [$0.addressRecord, $0.denial] } ?? [])
        var encoder = MessageEncoder(flags: [.response, .authoritative], limit: 1472)
        for record in answers where !encoder.append(record) {
            deliver(encoder.finish(), from: index)
            encoder = MessageEncoder(flags: [.response, .authoritative], limit: 1472)
            _ = encoder.append(record)
        }
        if options.bringsMore {
            // What does not fit is left out, as many responders do.
            for record in more where !answers.contains(record) && isAllowed(record, of: index) {
                if encoder.append(record, to: .additional) { hosts[index].lastSent[record] = now }
            }
        }
        for record in answers { hosts[index].lastSent[record] = now }
        deliver(encoder.finish(), from: index)
    }

    private func isAllowed(_ record: ResourceRecord, of host: Int) -> Bool {
        hosts[host].lastSent[record].map { now - $0 >= .seconds(1) } ?? true
    }

    private mutating func deliver(_ packet: [UInt8], from host: Int) {
        packets += 1
        bytes += packet.count
        guard !isLost() else { return }
        let origin = PacketOrigin(source: .v4(0x0A00_0000 + UInt32(host)), port: 5353)
        _ = directory.receive(packet.span, .ipv4, from: origin, at: now)
    }
}
