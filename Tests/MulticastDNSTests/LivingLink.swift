// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire

@testable import MulticastDNS

/// Somebody who browses for hours, and a host that answers nothing but what it is asked, in a time of their own.
struct LivingLink {
    enum Answering: Hashable, Sendable {
        case always
        /// Each question the second time it is asked by a family.
        case everySecond
        /// So many packets in a hundred are lost, either way.
        case lossy(Int)
    }

    private struct Ask: Hashable {
        let question: Question
        let family: AddressFamily
    }

    private(set) var directory = LinkDirectory(index: 1, name: "v0", settings: .init(), random: RandomSource(seed: 7))
    private(set) var questions: [(time: Double, family: AddressFamily, question: Question)] = []
    /// What happened, and when.
    private(set) var events: [(time: Double, event: DirectoryEvent)] = []
    /// When each record left the cache of the first family, when it had come last, and since when all was resolved.
    private(set) var losses: [(time: Double, record: ResourceRecord, last: Double, resolvedSince: Double?)] = []
    let records: [ResourceRecord]
    private let families: [AddressFamily]
    private let answering: Answering
    private var random: RandomSource
    private var now = time(0)
    private var counts: [Ask: Int] = [:]
    private var lastSent: [AddressFamily: [ResourceRecord: Duration]] = [:]
    private var lastHeard: [ResourceRecord: Double] = [:]
    private var resolvedSince: Double?
    private var planned: [(due: Duration, family: AddressFamily, answers: [ResourceRecord])] = []

    init(
        timeToLive: UInt32,
        _ answering: Answering = .always,
        families: [AddressFamily] = AddressFamily.allCases,
        seed: UInt64 = 1
    ) {
        var six = MadeUpService()
        six.address = IPAddress("fe80::7") ?? six.address
        let service = MadeUpService()
        records = [service.pointer, service.location, service.textRecord, service.addressRecord, six.addressRecord]
            .map { record in
                var record = record
                record.timeToLive = timeToLive
                return record
            }
        self.answering = answering
        self.families = families
        random = RandomSource(seed: seed)
        for family in families { directory.open(family, mtu: 1500, at: now) }
        directory.add(Subscription(pointers: [service.typeName]), of: 1, at: now)
    }

    /// Lets everybody act until then.
    mutating func run(to seconds: Double) {
        while let next = (planned.map(\.due) + [directory.nextDeadline].compactMap(\.self)).min(), next <= time(seconds)
        {
            now = max(now, next)
            let due = planned.filter { $0.due <= now }
            planned.removeAll { $0.due <= now }
            for answer in due { deliver(answer.answers, answer.family) }
            directory.advance(to: now)
            for (family, packets) in directory.packets(at: now) {
                for packet in packets { take(packet.bytes, family) }
            }
            events += directory.drainEvents().map { (clock, $0) }
            noteLosses()
        }
        now = max(now, time(seconds))
    }

    mutating func reconfirm(_ record: ResourceRecord) { directory.reconfirm(record, at: now) }

    func asked(_ record: ResourceRecord, _ family: AddressFamily) -> [Double] {
        questions.filter { $0.family == family && $0.question.isAnswered(by: record) }.map(\.time)
    }

    private var clock: Double { (now - time(0)) / .seconds(1) }

    private mutating func isLost() -> Bool {
        guard case .lossy(let percent) = answering else { return false }
        return Int.random(in: 0..<100, using: &random) < percent
    }

    private mutating func take(_ bytes: [UInt8], _ family: AddressFamily) {
        guard let query = try? Message(parsing: bytes.span) else { return }
        questions += query.questions.map { (clock, family, $0) }
        guard !isLost() else { return }
        var answers: [ResourceRecord] = []
        for question in query.questions {
            let count = counts[Ask(question: question, family: family), default: 0] + 1
            counts[Ask(question: question, family: family)] = count
            guard answering != .everySecond || count.isMultiple(of: 2) else { continue }
            answers += records.filter { record in
                question.isAnswered(by: record) && !query.answers.contains { $0.data == record.data }
                    && lastSent[family]?[record].map { now - $0 < .seconds(1) } != true
            }
        }
        guard !answers.isEmpty else { return }
        for record in answers { lastSent[family, default: [:]][record] = now }
        planned.append((now + .milliseconds(Int.random(in: 0...120, using: &random)), family, answers))
    }

    private mutating func deliver(_ answers: [ResourceRecord], _ family: AddressFamily) {
        guard !isLost(), let bytes = Message(flags: [.response, .authoritative], answers: answers).encoded() else {
            return
        }
        if family == families.first {
            for record in answers { lastHeard[record] = clock }
        }
        _ = directory.receive(bytes.span, family, from: PacketOrigin(source: .v4(9), port: 5353), at: now)
    }

    private mutating func noteLosses() {
        guard let family = families.first, let cache = directory.zones[family]?.cache else { return }
        for (record, last) in lastHeard
        where cache.record(RecordKey(record.name, record.type), record.data, at: now) == nil {
            losses.append((clock, record, last, resolvedSince))
            lastHeard[record] = nil
        }
        resolvedSince = directory.services.first?.addresses.count == families.count ? resolvedSince ?? clock : nil
    }
}
