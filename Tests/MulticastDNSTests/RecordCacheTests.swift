// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import Testing

@testable import MulticastDNS
private let start = Duration.seconds(1000)

/// A time after the start, in seconds.
func time(_ seconds: Double) -> Duration { start + .milliseconds(Int((seconds * 1000).rounded())) }

private let host = DomainName("h.local") ?? DomainName()
private let key = RecordKey(host, .a)

/// An address record of `h.local`.
private func address(_ last: UInt32, lifetime: UInt32 = 100, flush: Bool = true) -> ResourceRecord {
    ResourceRecord(host, .a, .address(.v4(0xC000_0200 | last)), timeToLive: lifetime, flushesCache: flush)
}

/// A cache with a clock and a fixed seed.
private struct Bench {
    var cache = RecordCache(CacheBounds(records: 100))
    var activeQueries = ActiveQueries()
    var random = RandomSource(seed: 1)

    init(interested: Bool = true) {
        if interested { report(host) }
    }

    /// Has a service reported that stands on a host of the same name.
    mutating func report(_ name: DomainName) {
        activeQueries.setHost(name, of: name, was: nil)
        activeQueries.setReported(true, name, on: name)
    }

    @discardableResult
    mutating func insert(_ record: ResourceRecord, from source: UInt32 = 0, at seconds: Double) -> RecordCache.Outcome {
        cache.insert(record, from: .v4(source), at: time(seconds), activeQueries: activeQueries, random: &random)
    }

    mutating func advance(to seconds: Double) -> RecordCache.Advance {
        cache.advance(to: time(seconds), activeQueries: activeQueries)
    }

    func addresses(at seconds: Double) -> Set<UInt32> {
        Set(
            cache.records(key, at: time(seconds)).compactMap { record in
                guard case .address(.v4(let value)) = record.data else { return nil }
                return value & 0xFF
            }
        )
    }
}

@Suite struct RecordCacheTests {
    @Test func `keeps a record to the end of its TTL and reports its loss once`() {
        var bench = Bench(interested: false)
        #expect(bench.insert(address(1), at: 0) == .added)
        #expect(bench.addresses(at: 99.999) == [1])
        #expect(bench.addresses(at: 100) == [])
        #expect(bench.advance(to: 99.999).lost.isEmpty)
        let advance = bench.advance(to: 100)
        #expect(advance.lost.map(\.loss) == [.expired] && advance.lost.map(\.record.name) == [host])
        #expect(bench.advance(to: 100).lost.isEmpty && bench.advance(to: 500).lost.isEmpty)
        #expect(bench.cache.count == 0 && bench.cache.entries.isEmpty && bench.cache.nextDeadline == nil)
    }

    @Test func `a repetition renews a record with its own TTL, longer or shorter`() {
        var bench = Bench(interested: false)
        bench.insert(address(1, lifetime: 100), at: 0)
        #expect(bench.insert(address(1, lifetime: 10), at: 50) == .refreshed)
        #expect(bench.addresses(at: 59.9) == [1] && bench.addresses(at: 60) == [])
        #expect(bench.insert(address(1, lifetime: 200), at: 55) == .refreshed)
        #expect(bench.addresses(at: 254) == [1] && bench.cache.count == 1)
    }

    @Test(
        arguments: [
            (UInt32(1), 1.0), (120, 120), (4500, 4500), (9000, 9000), (9001, 9000), (UInt32(Int32.max), 9000),
        ] as [(UInt32, Double)]
    )
    func `cuts long lifetimes and never raises one`(lifetime: UInt32, seconds: Double) {
        var bench = Bench(interested: false)
        bench.insert(address(1, lifetime: lifetime), at: 0)
        #expect(bench.addresses(at: seconds - 0.01) == [1] && bench.addresses(at: seconds) == [])
    }

    @Test(arguments: [UInt32(0), 0x8000_0000, .max])
    func `a TTL of zero, or with its top bit set, of an unknown record is nothing`(lifetime: UInt32) {
        var bench = Bench()
        #expect(bench.insert(address(1, lifetime: lifetime), at: 0) == .ignored)
        #expect(bench.cache.count == 0)
    }

    @Test func `a goodbye leaves one more second`() {
        var bench = Bench()
        bench.insert(address(1), at: 0)
        #expect(bench.insert(address(1, lifetime: 0), at: 10) == .leaving)
        #expect(bench.addresses(at: 10.9) == [1] && bench.addresses(at: 11) == [])
        #expect(bench.cache.nextDeadline == time(11))
        #expect(bench.advance(to: 11).lost.map(\.loss) == [.goodbye])
    }

    @Test func `a repeated goodbye does not prolong, an announcement rescues`() {
        var bench = Bench()
        bench.insert(address(1), at: 0)
        bench.insert(address(1, lifetime: 0), at: 10)
        bench.insert(address(1, lifetime: 0), at: 10.5)
        #expect(bench.addresses(at: 11) == [])
        #expect(bench.insert(address(1), at: 10.9) == .added)
        #expect(bench.advance(to: 50).lost.isEmpty)
        #expect(bench.addresses(at: 110) == [1])
    }

    @Test(arguments: [(0.0, 0.5, false), (0, 1.0, false), (0, 1.001, true), (0, 30, true)])
    func `the cache-flush bit spares what came within the last second`(first: Double, second: Double, goes: Bool) {
        var bench = Bench()
        bench.insert(address(1), at: first)
        #expect(bench.insert(address(2), at: second) == .added)
        #expect(bench.addresses(at: second + 0.99) == [1, 2])
        #expect(bench.addresses(at: second + 1) == (goes ? [2] : [1, 2]))
        #expect(bench.advance(to: second + 1).lost.map(\.loss) == (goes ? [.flushed] : []))
    }

    @Test func `without the cache-flush bit records stand side by side`() {
        var bench = Bench()
        bench.insert(address(1, flush: false), at: 0)
        bench.insert(address(2, flush: false), at: 30)
        #expect(bench.advance(to: 32).lost.isEmpty && bench.addresses(at: 32) == [1, 2])
    }

    @Test func `a whole set repeated in one burst survives its own cache-flush bits`() {
        var bench = Bench()
        for last in 1...3 as ClosedRange<UInt32> { bench.insert(address(last), at: 0) }
        for last in 1...3 as ClosedRange<UInt32> { bench.insert(address(last), at: 30) }
        #expect(bench.advance(to: 32).lost.isEmpty && bench.addresses(at: 32) == [1, 2, 3])
    }

    @Test func `a flush concerns its own type and name only`() {
        var bench = Bench()
        bench.insert(address(1), at: 0)
        let other = ResourceRecord(host, .txt, .text([0]), timeToLive: 100, flushesCache: true)
        bench.insert(other, at: 30)
        let neighbour = ResourceRecord(DomainName(), .a, .address(.v4(9)), timeToLive: 100, flushesCache: true)
        bench.insert(neighbour, at: 30)
        #expect(bench.advance(to: 32).lost.isEmpty && bench.addresses(at: 32) == [1])
    }

    @Test func `names that differ in the case of ASCII letters are the same`() throws {
        var bench = Bench()
        bench.insert(address(1), at: 0)
        var shouted = address(1)
        shouted.name = try #require(DomainName("H.LOCAL"))
        #expect(bench.insert(shouted, at: 1) == .refreshed)
        #expect(bench.cache.count == 1)
    }

    @Test(arguments: [
        (RecordType.opt, UInt16(1)), (.any, 1), (.a, 3), (.a, 255), (.a, 254),
    ])
    func `ignores pseudo records and other classes`(type: RecordType, code: UInt16) {
        var bench = Bench()
        let record = ResourceRecord(host, type, .opaque([1]), timeToLive: 10, classCode: code)
        #expect(bench.insert(record, at: 0) == .ignored)
    }

    @Test func `gives the newest record first`() {
        var bench = Bench()
        bench.insert(address(1, flush: false), at: 0)
        bench.insert(address(2, flush: false), at: 1)
        bench.insert(address(1, flush: false), at: 2)
        let data = bench.cache.records(key, at: time(3)).map(\.data)
        #expect(data == [.address(.v4(0xC000_0201)), .address(.v4(0xC000_0202))])
    }
}

@Suite struct RecordCacheRefreshTests {
    @Test func `asks again at 80, 85, 90 and 95 percent, then lets go`() {
        var bench = Bench()
        bench.insert(address(1), at: 0)
        var asked: [(time: Double, step: Int)] = []
        var lost: [Double] = []
        for tenth in 0...1010 {
            let now = Double(tenth) / 10
            let advance = bench.advance(to: now)
            asked += advance.refresh.map { (now, $0.step) }
            lost += advance.lost.map { _ in now }
        }
        #expect(asked.map(\.step) == [1, 2, 3, 4])
        for (asked, point) in zip(asked, [80.0, 85, 90, 95]) {
            #expect(asked.time >= point && asked.time <= point + 2.1)
        }
        #expect(lost == [100])
    }

    @Test(arguments: [4, 8, 10, 20, 23, 60] as [UInt32])
    func `the four askings of a short life are further apart than an owner keeps silent`(lifetime: UInt32) {
        var bench = Bench()
        bench.insert(address(1, lifetime: lifetime), at: 0)
        var asked: [Double] = []
        for tick in 0..<Int(lifetime) * 100 {
            let now = Double(tick) / 100
            guard !bench.advance(to: now).refresh.isEmpty else { continue }
            asked.append(now)
            // What is listed as known would not be answered.
            #expect(!bench.cache.lists(address(1, lifetime: lifetime), at: time(now)))
        }
        #expect(asked.count == 4)
        let gaps = zip(asked.dropFirst(), asked).map { $0 - $1 }
        #expect(lifetime < 10 || gaps.allSatisfy { $0 >= 1.14 }, "\(gaps)")
        #expect(Double(lifetime) - (asked.last ?? 0) >= Double(lifetime) * 0.03)
    }

    @Test func `never asks for what nobody wants`() {
        var bench = Bench(interested: false)
        bench.insert(address(1), at: 0)
        #expect((0...99).allSatisfy { bench.advance(to: Double($0)).refresh.isEmpty })
    }

    @Test func `never asks for what says goodbye`() {
        var bench = Bench()
        bench.insert(address(1, lifetime: 2), at: 0)
        bench.insert(address(1, lifetime: 0), at: 1)
        #expect((10...20).allSatisfy { bench.advance(to: Double($0) / 10).refresh.isEmpty })
    }

    @Test func `an answer begins anew`() {
        var bench = Bench()
        bench.insert(address(1), at: 0)
        #expect(bench.advance(to: 82.1).refresh.map(\.step) == [1])
        bench.insert(address(1), at: 83)
        #expect(bench.advance(to: 162).refresh.isEmpty)
        #expect(bench.advance(to: 165.1).refresh.map(\.step) == [1])
    }

    @Test func `after a long sleep it asks once with the last step reached`() {
        var bench = Bench()
        bench.insert(address(1), at: 0)
        #expect(bench.advance(to: 92).refresh.map(\.step) == [3])
        #expect(bench.advance(to: 93).refresh.isEmpty)
    }

    @Test func `one question serves all records of a name and type`() {
        var bench = Bench()
        bench.insert(address(1), at: 0)
        bench.insert(address(2), at: 0)
        #expect(bench.advance(to: 82.1).refresh.count == 1)
    }

    @Test func `the deadline is never late`() {
        var bench = Bench()
        var random = RandomSource(seed: 42)
        for last in 1...20 as ClosedRange<UInt32> {
            bench.insert(address(last, lifetime: UInt32.random(in: 1...200, using: &random), flush: false), at: 0)
        }
        var steps = 0
        while let deadline = bench.cache.nextDeadline, steps < 1000 {
            let before = bench.cache.advance(to: deadline - .milliseconds(1), activeQueries: bench.activeQueries)
            #expect(before.lost.isEmpty)
            let advance = bench.cache.advance(to: deadline, activeQueries: bench.activeQueries)
            #expect(!advance.lost.isEmpty || !advance.refresh.isEmpty)
            steps += 1
        }
        #expect(bench.cache.count == 0 && steps >= 20 && steps <= 100)
    }

    @Test(arguments: [
        (0.0, 100 as UInt32?), (20, 80), (50, 50), (50.1, nil), (80, nil), (99, nil),
    ])
    func `lists as known only what has half its life left, with what is left`(age: Double, left: UInt32?) {
        var bench = Bench()
        bench.insert(address(1), at: 0)
        let known = bench.cache.knownAnswers(to: Question(host, .a), at: time(age))
        #expect(known.map(\.timeToLive) == (left.map { [$0] } ?? []))
        #expect(known.allSatisfy { !$0.flushesCache })
    }

    @Test func `does not list as known what is leaving`() {
        var bench = Bench()
        bench.insert(address(1), at: 0)
        bench.insert(address(1, lifetime: 0), at: 1)
        #expect(bench.cache.knownAnswers(to: Question(host, .a), at: time(1)).isEmpty)
    }

    @Test func `lists everything of a name for a question of any type`() {
        var bench = Bench()
        bench.insert(address(1), at: 0)
        bench.insert(ResourceRecord(host, .txt, .text([0]), timeToLive: 100), at: 0)
        bench.insert(ResourceRecord(DomainName(), .txt, .text([0]), timeToLive: 100), at: 0)
        #expect(bench.cache.knownAnswers(to: Question(host, .any), at: time(0)).count == 2)
        #expect(bench.cache.knownAnswers(to: Question(host, .txt), at: time(0)).count == 1)
    }
}

@Suite struct RecordCacheDoubtTests {
    @Test func `a suspected record has ten seconds, unless it is confirmed`() throws {
        let type = try #require(DomainName("_x._tcp.local"))
        let pointer = ResourceRecord(type, .ptr, .pointer(host), timeToLive: 4500)
        let sibling = ResourceRecord(type, .ptr, .pointer(DomainName()), timeToLive: 4500)
        for isConfirmed in [false, true] {
            var bench = Bench()
            bench.insert(pointer, at: 0)
            bench.insert(sibling, at: 0)
            let isKnown = bench.cache.reconfirm(pointer, at: time(5))
            #expect(isKnown)
            #expect(bench.cache.knownAnswers(to: Question(type, .ptr), at: time(5)).map(\.data) == [sibling.data])
            if isConfirmed { bench.insert(pointer, at: 6) }
            #expect(bench.advance(to: 14.9).lost.isEmpty)
            #expect(bench.advance(to: 15).lost.map(\.record.data) == (isConfirmed ? [] : [pointer.data]))
        }
    }

    @Test func `confirming does not prolong`() throws {
        let type = try #require(DomainName("_x._tcp.local"))
        var bench = Bench()
        let pointer = ResourceRecord(type, .ptr, .pointer(host), timeToLive: 3)
        bench.insert(pointer, at: 0)
        let isKnown = bench.cache.reconfirm(pointer, at: time(1))
        #expect(isKnown)
        #expect(bench.advance(to: 3).lost.count == 1)
    }

    @Test(
        arguments: [
            ([1.0], nil), ([1.0, 3], 11.0), ([1.0, 3, 7], 11), ([5.0, 5.1], 15),
            // The last one and our own need time for their answer, and one of long ago proves nothing.
            ([1.0, 10.8], 14.8), ([1.0, 12], nil), ([1.0, 12, 14], 22),
        ] as [([Double], Double?)]
    )
    func `foreign questions without an answer prove a failure`(heard: [Double], lostAt: Double?) {
        var bench = Bench()
        bench.insert(address(1), at: 0)
        for seconds in heard { bench.cache.observe(Question(host, .a), knownAnswers: [], at: time(seconds)) }
        let lost = (0...400).first { !bench.advance(to: Double($0) / 10).lost.isEmpty }.map { Double($0) / 10 }
        #expect(lost == lostAt)
    }

    @Test func `an answer, or being known to the asker, clears a record of suspicion`() {
        var bench = Bench()
        bench.insert(address(1), at: 0)
        bench.cache.observe(Question(host, .a), knownAnswers: [], at: time(1))
        bench.cache.observe(Question(host, .a), knownAnswers: [], at: time(2))
        bench.insert(address(1), at: 3)
        bench.cache.observe(Question(host, .a), knownAnswers: [address(1)], at: time(4))
        bench.cache.observe(Question(host, .a), knownAnswers: [address(1)], at: time(5))
        #expect(bench.advance(to: 60).lost.isEmpty)
    }

    @Test func `an NSEC record denies the types it does not list, while it lives`() {
        var bench = Bench()
        let denial = ResourceRecord(
            host,
            .nsec,
            .nextSecure(next: DomainName(), types: [.a]),
            timeToLive: 20,
            flushesCache: true
        )
        #expect(!bench.cache.denies(RecordKey(host, .aaaa), at: time(0)))
        bench.insert(denial, at: 0)
        #expect(bench.cache.denies(RecordKey(host, .aaaa), at: time(19)))
        #expect(!bench.cache.denies(RecordKey(host, .a), at: time(19)))
        #expect(!bench.cache.denies(RecordKey(DomainName(), .aaaa), at: time(19)))
        #expect(!bench.cache.denies(RecordKey(host, .aaaa), at: time(20)))
    }

    @Test func `an unreadable NSEC record denies nothing`() {
        var bench = Bench()
        bench.insert(ResourceRecord(host, .nsec, .opaque([1]), timeToLive: 20), at: 0)
        #expect(!bench.cache.denies(RecordKey(host, .aaaa), at: time(0)))
    }
}

@Suite struct RecordCacheBoundTests {
    private func stranger(_ number: Int, lifetime: UInt32 = 100) throws -> ResourceRecord {
        let name = try DomainName(labels: [Array("stranger-\(number)".utf8)])
        return ResourceRecord(name, .a, .address(.v4(UInt32(number))), timeToLive: lifetime)
    }

    @Test func `a flood evicts strangers, never what is wanted`() throws {
        var bench = Bench()
        for last in 1...50 as ClosedRange<UInt32> { bench.insert(address(last, flush: false), at: 0) }
        for number in 0..<5000 { bench.insert(try stranger(number), from: 1, at: 1) }
        #expect(bench.cache.count <= 100)
        #expect(bench.addresses(at: 2).count == 50)
        #expect(bench.cache.evictions >= 4900)
        let lost = bench.advance(to: 2).lost
        #expect(lost.count == bench.cache.evictions && lost.allSatisfy { $0.loss == .evicted })
    }

    @Test func `those heard longest ago make room first`() throws {
        var bench = Bench()
        for number in 0..<100 { bench.insert(try stranger(number), at: Double(number) / 100) }
        bench.insert(address(1), at: 2)
        #expect(bench.addresses(at: 2) == [1])
        let first = try stranger(0)
        let last = try stranger(99)
        #expect(bench.cache.records(RecordKey(first.name, .a), at: time(2)).isEmpty)
        #expect(!bench.cache.records(RecordKey(last.name, .a), at: time(2)).isEmpty)
    }

    @Test func `when all are wanted, those that came last make room`() throws {
        var bench = Bench()
        let hosts = try (0..<100).map { try stranger($0).name }
        for (number, host) in hosts.enumerated() {
            bench.report(host)
            bench.insert(try stranger(number), at: 0)
        }
        // Who brought all of it gets no more in for it.
        #expect(bench.insert(address(200), at: 1) == .ignored && bench.cache.count == 100)
        #expect(bench.insert(address(200), from: 1, at: 1) == .added)
        let left = hosts.map { !bench.cache.records(RecordKey($0, .a), at: time(1)).isEmpty }
        #expect(left == Array(repeating: true, count: 94) + Array(repeating: false, count: 6))
        #expect(bench.insert(try stranger(5), at: 1) == .refreshed)
    }

    @Test func `one name cannot fill the cache`() {
        var bench = Bench()
        for number in 0..<500 as Range<UInt32> { bench.insert(address(number, flush: false), at: 0) }
        #expect((60...64).contains(bench.cache.count))
    }

    @Test func `one sender cannot fill the cache, nor can many for long`() throws {
        var bench = Bench()
        for number in 0..<1000 { bench.insert(try stranger(number), from: 1, at: 1) }
        #expect((45...50).contains(bench.cache.count))
        for number in 1000..<1050 { bench.insert(try stranger(number), from: UInt32(number), at: 1) }
        #expect((95...100).contains(bench.cache.count))
        for number in 1500..<1510 { bench.insert(try stranger(number), from: UInt32(number), at: 1) }
        #expect(bench.cache.count <= 100)
        bench.insert(try stranger(2000), from: 2000, at: 1)
        let newest = try stranger(2000)
        #expect(!bench.cache.records(RecordKey(newest.name, .a), at: time(1)).isEmpty)
    }

    @Test func `records that are large count for more`() throws {
        var bench = Bench()
        for number in 0..<50 {
            let name = try DomainName(labels: [Array("large-\(number)".utf8)])
            bench.insert(
                ResourceRecord(name, .txt, .text([UInt8](repeating: 0, count: 8000)), timeToLive: 100),
                from: UInt32(number),
                at: Double(number)
            )
        }
        #expect(bench.cache.bytes <= bench.cache.bounds.bytes && bench.cache.count == 4)
        for last in 0..<90 as Range<UInt32> { bench.insert(address(last, flush: false), at: 60) }
        #expect(bench.cache.bytes <= bench.cache.bounds.bytes)
    }

    @Test func `one sender cannot fill the bytes`() throws {
        var bench = Bench()
        for number in 0..<50 {
            let name = try DomainName(labels: [Array("large-\(number)".utf8)])
            let record = ResourceRecord(name, .txt, .text([UInt8](repeating: 0, count: 2000)), timeToLive: 100)
            bench.insert(record, at: Double(number))
        }
        #expect(bench.cache.bytes <= bench.cache.bounds.bytesPerSource && bench.cache.count > 5)
    }

    @Test func `the limit has a floor`() {
        #expect(CacheBounds(records: -5).records == 16)
    }
}

@Suite struct InterestTests {
    @Test(arguments: [
        (RecordType.ptr, "_t._tcp.local", true), (.ptr, "i._t._tcp.local", false), (.srv, "i._t._tcp.local", true),
        (.txt, "I._T._tcp.local", true), (.srv, "h.local", false), (.a, "h.local", true), (.aaaa, "h.local", true),
        (.nsec, "h.local", false), (.hinfo, "h.local", false), (.a, "x.local", false),
    ])
    func `is in the records of services`(type: RecordType, name: String, wanted: Bool) throws {
        var activeQueries = ActiveQueries()
        activeQueries.types = [try #require(DomainName("_t._tcp.local"))]
        activeQueries.instances = [try #require(DomainName("i._t._tcp.local"))]
        for instance in activeQueries.instances { activeQueries.setHost(host, of: instance, was: nil) }
        #expect(activeQueries.contains(RecordKey(try #require(DomainName(name)), type)) == wanted)
    }

    @Test func `protects what reported services stand on, and nothing else`() {
        let lamp = MadeUpService()
        var activeQueries = ActiveQueries()
        activeQueries.types = [lamp.typeName]
        activeQueries.instances = [lamp.instance]
        activeQueries.setHost(lamp.hostName, of: lamp.instance, was: nil)
        #expect(lamp.all.allSatisfy { !activeQueries.protects($0) })
        activeQueries.setReported(true, lamp.instance, on: lamp.hostName)
        #expect(lamp.all.map { activeQueries.protects($0) } == [false, true, true, true, true, true])
        let other = ResourceRecord(lamp.instance, .hinfo, .hostInformation(cpu: [], system: []), timeToLive: 1)
        #expect(!activeQueries.protects(other))
    }
}

@Suite struct RecordCacheAttentionTests {
    private let type = DomainName("_x._tcp.local") ?? DomainName()

    private func pointer(_ number: Int, lifetime: UInt32 = 100, flush: Bool = false) throws -> ResourceRecord {
        let target = try DomainName(labels: [Array("i\(number)".utf8)]).appending(type)
        return ResourceRecord(type, .ptr, .pointer(target), timeToLive: lifetime, flushesCache: flush)
    }

    @Test(arguments: [(50.0, []), (81, [1]), (93, [3]), (99, [4])] as [(Double, [Int])])
    func `interest that comes late catches up with one question`(seconds: Double, steps: [Int]) {
        var bench = Bench(interested: false)
        bench.insert(address(1), at: 0)
        #expect(bench.advance(to: seconds).refresh.isEmpty)
        bench.activeQueries.setHost(host, of: host, was: nil)
        bench.cache.attend(key, at: time(seconds))
        bench.cache.attend(RecordKey(host, .txt), at: time(seconds))
        #expect(bench.advance(to: seconds).refresh.map(\.step) == steps)
        #expect(bench.advance(to: 100).lost.count == 1)
    }

    @Test(arguments: [(0.0, true, true), (79, true, true), (80, true, false), (0, false, false)])
    func `a unique record needs no question until it is time to refresh it`(age: Double, flush: Bool, isUnique: Bool) {
        var bench = Bench()
        bench.insert(address(1, flush: flush), at: 0)
        #expect(bench.cache.isUnique(key, at: time(age)) == isUnique)
        bench.insert(address(1, lifetime: 0), at: age)
        #expect(!bench.cache.isUnique(key, at: time(age)))
    }

    @Test func `a record in doubt is neither unique nor listed as known, however short its life`() {
        var bench = Bench()
        bench.insert(address(1, lifetime: 12), at: 0)
        let isKnown = bench.cache.reconfirm(address(1), at: time(0))
        #expect(isKnown && !bench.cache.isUnique(key, at: time(0)))
        #expect(bench.cache.knownAnswers(to: Question(host, .a), at: time(0)).isEmpty)
        let isStranger = bench.cache.reconfirm(address(2), at: time(0))
        #expect(!isStranger)
    }

    @Test func `tells when the first of several came`() {
        var bench = Bench()
        #expect(bench.cache.firstReceived(of: key, at: time(0)) == nil)
        bench.insert(address(1, lifetime: 10, flush: false), at: 1)
        bench.insert(address(2, flush: false), at: 3)
        #expect(bench.cache.firstReceived(of: key, at: time(4)) == time(1))
        #expect(bench.cache.firstReceived(of: key, at: time(12)) == time(3))
    }

    @Test(arguments: [0.2, 0.9])
    func `a question within a second of the answer proves no failure`(delay: Double) {
        var bench = Bench()
        bench.insert(address(1), at: 0)
        for _ in 0..<3 { bench.cache.observe(Question(host, .a), knownAnswers: [], at: time(delay)) }
        #expect(bench.advance(to: 30).lost.isEmpty)
    }

    @Test func `questions of one burst count once`() {
        var bench = Bench()
        bench.insert(address(1), at: 0)
        for tick in 0..<5 {
            bench.cache.observe(Question(host, .a), knownAnswers: [], at: time(5 + Double(tick) / 100))
        }
        #expect(bench.advance(to: 30).lost.isEmpty)
        bench.cache.observe(Question(host, .a), knownAnswers: [], at: time(31))
        bench.cache.observe(Question(host, .a), knownAnswers: [], at: time(33))
        #expect(bench.advance(to: 33.9).verify.isEmpty && bench.advance(to: 34).verify == [key])
        #expect(bench.advance(to: 40.9).lost.isEmpty && bench.advance(to: 41).lost.map(\.loss) == [.expired])
    }

    @Test func `a large unique set is flushed once per burst, and its newest members stay`() throws {
        var cache = RecordCache(CacheBounds(records: 4000))
        var random = RandomSource(seed: 1)
        let activeQueries = ActiveQueries()
        for number in 0..<300 {
            _ = cache.insert(try pointer(number), at: time(0), activeQueries: activeQueries, random: &random)
        }
        for number in 200..<500 {
            let record = try pointer(number, flush: true)
            _ = cache.insert(record, at: time(10), activeQueries: activeQueries, random: &random)
        }
        #expect(cache.advance(to: time(10.9), activeQueries: activeQueries).lost.isEmpty)
        let lost = cache.advance(to: time(11), activeQueries: activeQueries).lost
        #expect(lost.count == 200 && lost.allSatisfy { $0.loss == .flushed })
        #expect(cache.records(RecordKey(type, .ptr), at: time(11)).count == 300)
    }

    @Test func `gives the names that have a type, and counts bytes down to nothing`() throws {
        var bench = Bench(interested: false)
        bench.insert(try pointer(1), at: 0)
        bench.insert(address(1), at: 0)
        #expect(bench.cache.names(of: .ptr) == [type] && bench.cache.names(of: .a) == [host])
        #expect(bench.cache.bytes == type.length + 3 + type.length + host.length + 16)
        #expect(bench.advance(to: 100).lost.count == 2 && bench.cache.bytes == 0)
    }

    @Test func `names of one wake-up are refreshed together, each name once`() throws {
        var bench = Bench(interested: false)
        bench.activeQueries.types = [type]
        for number in 0..<50 { bench.insert(try pointer(number), at: Double(number) / 1000) }
        var refreshes: [Double] = []
        while let deadline = bench.cache.nextDeadline, deadline < time(84) {
            let result = bench.cache.advance(to: deadline, activeQueries: bench.activeQueries)
            refreshes += result.refresh.map { _ in (deadline - time(0)) / .seconds(1) }
        }
        #expect((1...2).contains(refreshes.count) && refreshes.allSatisfy { $0 >= 80 && $0 <= 82.1 })
    }
}
