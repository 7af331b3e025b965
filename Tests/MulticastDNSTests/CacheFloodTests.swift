// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import TestSupport
import Testing

@testable import MulticastDNS

private let flooder: UInt32 = 1

/// A cache of a thousand records with a clock and a fixed seed.
private struct Bench {
    var cache = RecordCache(CacheBounds(records: 1024))
    var activeQueries = ActiveQueries()
    var random = RandomSource(seed: 1)

    @discardableResult
    mutating func insert(_ record: ResourceRecord, from source: UInt32, at seconds: Double) -> RecordCache.Outcome {
        cache.insert(record, from: .v4(source), at: time(seconds), activeQueries: activeQueries, random: &random)
    }

    /// The address of a host that nobody asked for.
    func stranger(_ number: Int) throws -> ResourceRecord {
        let name = try DomainName(labels: [Array("stranger-\(number)".utf8)])
        return ResourceRecord(name, .a, .address(.v4(UInt32(number))), timeToLive: 100)
    }

    /// Has services reported, each with one record, as many as their sender's share holds.
    mutating func fillShare(of source: UInt32, less gap: Int = 0) throws {
        for number in 0..<(cache.bounds.recordsPerSource - gap) {
            let record = try stranger(Int(source) * 1_000_000 + number)
            insert(record, from: source, at: 0)
            activeQueries.setHost(record.name, of: record.name, was: nil)
            activeQueries.setReported(true, record.name, on: record.name)
        }
    }

    func knows(_ record: ResourceRecord) -> Bool {
        cache.record(RecordKey(record.name, record.type), record.data, at: time(1)) != nil
    }
}

@Suite(.computing) struct CacheFloodTests {
    @Test(arguments: [0, 1, 20])
    func `new names of a sender whose share is wanted are refused, without a look at everything`(gap: Int) throws {
        var bench = Bench()
        try bench.fillShare(of: flooder, less: gap)
        for number in 0..<10_000 { bench.insert(try bench.stranger(number), from: flooder, at: 1) }
        #expect(bench.cache.count == bench.cache.bounds.recordsPerSource)
        #expect(bench.cache.sweeps <= 10_000 / 8 && (gap > 1 || bench.cache.sweeps <= 2), "\(bench.cache.sweeps)")
        #expect(bench.activeQueries.reported.count == bench.cache.bounds.recordsPerSource - gap)
        // What is known is renewed all the same, and a second later it is tried again.
        let first = try bench.stranger(Int(flooder) * 1_000_000)
        #expect(bench.insert(first, from: flooder, at: 1) == .refreshed)
        let before = bench.cache.sweeps
        bench.insert(try bench.stranger(20_000), from: flooder, at: 3)
        #expect(bench.cache.sweeps == before + 1)
    }

    @Test func `whoever comes meanwhile gets in`() throws {
        var bench = Bench()
        try bench.fillShare(of: flooder)
        for number in 0..<10_000 {
            bench.insert(try bench.stranger(number), from: flooder, at: 1)
            guard number % 100 == 0 else { continue }
            #expect(bench.insert(try bench.stranger(20_000 + number), from: 2, at: 1) == .added)
        }
        for number in stride(from: 0, to: 10_000, by: 100) { #expect(bench.knows(try bench.stranger(20_000 + number))) }
    }

    @Test func `a sender may exceed its share with what is wanted, and with nothing else`() throws {
        var bench = Bench()
        try bench.fillShare(of: flooder)
        let wanted = try (30_000..<40_000).map { try bench.stranger($0) }
        for record in wanted {
            bench.activeQueries.setHost(record.name, of: record.name, was: nil)
            bench.activeQueries.setReported(true, record.name, on: record.name)
        }
        #expect(bench.insert(try bench.stranger(1), from: flooder, at: 1) == .ignored)
        #expect(bench.insert(wanted[0], from: flooder, at: 1) == .added)
        for record in wanted { bench.insert(record, from: flooder, at: 1) }
        #expect(bench.cache.count == bench.cache.bounds.records && bench.cache.evictions == 0)
        // The whole is full with its records: those of others push out the last of them.
        let honest = try bench.stranger(2)
        #expect(bench.insert(honest, from: 2, at: 1) == .added)
        #expect(bench.knows(honest) && bench.cache.evictions == bench.cache.bounds.records / 16)
        #expect(bench.knows(wanted[0]))
    }

    @Test func `at the whole bound few sweeps make room for many, and who holds more than half makes it first`() throws
    {
        var bench = Bench()
        try bench.fillShare(of: flooder)
        try bench.fillShare(of: 2, less: 100)
        let extra = try (0..<200).map { try bench.stranger(50_000 + $0) }
        for record in extra {
            bench.activeQueries.setHost(record.name, of: record.name, was: nil)
            bench.activeQueries.setReported(true, record.name, on: record.name)
            bench.insert(record, from: flooder, at: 1)
        }
        #expect(bench.cache.count == bench.cache.bounds.records)
        let sweeps = bench.cache.sweeps
        // From many senders: nobody's share is spent.
        for number in 0..<10_000 { bench.insert(try bench.stranger(number), from: 100 + UInt32(number), at: 1) }
        #expect(bench.cache.count <= bench.cache.bounds.records)
        #expect(bench.cache.sweeps - sweeps <= 10_000 / 32 + 1, "\(bench.cache.sweeps - sweeps)")
        for number in 0..<(bench.cache.bounds.recordsPerSource - 100) {
            #expect(bench.knows(try bench.stranger(2_000_000 + number)))
        }
    }

    @Test func `a large set is gone through now and then, however often its time comes`() throws {
        var bench = Bench()
        let type = MadeUpService().typeName
        let pointers = try (0..<200).map { number in
            let target = try DomainName(labels: [Array("i\(number)".utf8)]).appending(type)
            return ResourceRecord(type, .ptr, .pointer(target), timeToLive: 100)
        }
        for (number, pointer) in pointers.enumerated() {
            var pointer = pointer
            pointer.timeToLive = 1
            bench.insert(pointer, from: flooder, at: Double(number) / 1000)
        }
        var visits = 0
        var lost = 0
        while let deadline = bench.cache.nextDeadline, deadline <= time(3) {
            lost += bench.cache.advance(to: deadline, activeQueries: bench.activeQueries).lost.count
            visits += 1
        }
        #expect(lost == 200 && visits < 70, "\(visits)")
    }
}

@Suite struct DirectoryFloodCostTests {
    private let lamp = MadeUpService()

    private func service(_ name: String) -> MadeUpService {
        var service = lamp
        service.name = name
        return service
    }

    private func settings() -> MulticastSettings {
        var settings = MulticastSettings()
        settings.maximumInstances = 256
        settings.maximumRecords = 1024
        return settings
    }

    @Test func `published services stay and an honest one is resolved while new names come from their sender`() throws {
        var bench = DirectoryBench(families: [.ipv4], settings: settings())
        var number = 0
        while bench.directory.zones[.ipv4]?.cache.count ?? 0 < 512, number < 1000 {
            var published = service("published \(number)")
            published.host = "host-\(number).local"
            bench.hear(published.all, from: 1)
            number += 1
        }
        let published = bench.directory.services.count
        #expect(published > 80)
        let sweeps = bench.directory.zones[.ipv4]?.cache.sweeps ?? 0
        for packet in 0..<200 {
            let pointers = (0..<40).map { service("new \(packet) \($0)").pointer }
            bench.hear(pointers, from: 1)
            guard packet == 100 else { continue }
            var honest = service("Honest")
            honest.type = "_honest._tcp"
            honest.host = "honest.local"
            bench.hear(honest.all, from: 2)
            #expect(bench.summary.last == "added Honest")
        }
        let cache = try #require(bench.directory.zones[.ipv4]?.cache)
        #expect(cache.count <= 512 + honestRecords && cache.sweeps - sweeps < 600, "\(cache.sweeps - sweeps)")
        #expect(bench.directory.services.count == published + 1)
        #expect(!bench.summary.contains { $0.hasPrefix("removed") })
    }

    private var honestRecords: Int { lamp.all.count }

    @Test func `a pointer that finds no room is not followed`() throws {
        var bench = DirectoryBench(families: [.ipv4], settings: settings())
        var number = 0
        while bench.directory.zones[.ipv4]?.cache.count ?? 0 < 512, number < 1000 {
            var published = service("published \(number)")
            published.host = "host-\(number).local"
            bench.hear(published.all, from: 1)
            number += 1
        }
        bench.hear((0..<20).map { service("first \($0)").pointer }, from: 1)
        let known = bench.directory.instances.count
        let told = bench.told[1]?.count
        bench.hear((0..<1000).map { service("then \($0)").pointer }, from: 1)
        let cached = bench.directory.zones[.ipv4]?.cache.records(RecordKey(lamp.typeName, .ptr), at: time(0)).count
        #expect(bench.directory.instances.count == cached && bench.directory.instances.count <= known + 20)
        #expect((bench.told[1]?.count ?? 0) - (told ?? 0) <= 60)
    }

    @Test func `addresses of a host with many services have them looked at as far as a budget goes`() throws {
        var bench = DirectoryBench(families: [.ipv4])
        for number in 0..<200 { bench.hear(service("printer \(number)").all, from: 1) }
        #expect(bench.directory.services.count == 200)
        func address(_ number: UInt32) -> ResourceRecord {
            ResourceRecord(lamp.hostName, .a, .address(.v4(0xC000_0200 + number)), timeToLive: 1200)
        }
        bench.run(to: 10)
        for number in 0..<60 as Range<UInt32> { bench.hear([address(100 + number)], from: 1) }
        #expect(bench.directory.addressLimit.waiting.count == 1)
        bench.run(to: 20)
        #expect(bench.directory.addressLimit.waiting.count == 0)
        // What waited was looked at all the same.
        let addresses = bench.directory.services.map { $0.addresses.count { $0.address.family == .ipv4 } }
        #expect(Set(addresses) == [61])
    }

    @Test func `looks at hosts stay within their budget, and none waits for ever`() throws {
        var addressLimit = AddressRateLimit()
        let hosts = try (0..<20).map { try DomainName(labels: [Array("h\($0)".utf8)]) }
        var counts: [DomainName: Int] = [:]
        for step in 0..<1000 {
            let now = time(Double(step) / 100)
            for host in hosts where addressLimit.allows(host, instances: 401, at: now) { counts[host, default: 0] += 1 }
            for host in addressLimit.removeDue(at: now) where addressLimit.allows(host, instances: 401, at: now) {
                counts[host, default: 0] += 1
            }
            let alone = addressLimit.allows(DomainName(), instances: 1, at: now)
            #expect(alone)
        }
        let total = counts.values.reduce(0, +) * 400
        #expect(total <= Int(AddressRateLimit.most + 10 * AddressRateLimit.rate) + 400 && total > 4096, "\(total)")
        #expect(addressLimit.waiting.count > 0)
        for host in hosts { addressLimit.forget(host) }
        #expect(addressLimit.nextDeadline == nil)
    }
}
