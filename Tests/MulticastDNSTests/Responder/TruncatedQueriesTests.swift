// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import Testing

@testable import MulticastDNS

private let asker = Asker(address: .v4(9), port: 5353, id: 0)

private func wanted(_ service: MadeUpService) -> WantedAnswer {
    let record = service.pointer
    let key = OwnRecords.Key(name: record.name, type: .ptr, data: record.data)
    return WantedAnswer(key: key, unknown: [record], isDelayed: true)
}

private let lamp = MadeUpService()
private let other = MadeUpService(name: "Other")

private struct Bench {
    var queries = TruncatedQueries()
    var random = RandomSource(seed: 1)

    @discardableResult
    mutating func hold(
        _ services: [MadeUpService],
        for asker: Asker = asker,
        at seconds: Double = 0
    ) -> TruncatedQueries.Held? {
        queries.hold(services.map(wanted), for: asker, at: time(seconds), random: &random)
    }

    mutating func heard(
        _ records: [ResourceRecord],
        truncated: Bool = false,
        from source: IPAddress = asker.address,
        at seconds: Double
    ) {
        queries.receive(KnownAnswers(records), isTruncated: truncated, from: source, at: time(seconds), random: &random)
    }

    mutating func due(at seconds: Double) -> [WantedAnswer] { queries.due(at: time(seconds)).flatMap(\.answers) }
}

@Suite struct TruncatedQueriesTests {
    @Test(arguments: 1...20)
    func `A3: answers to a truncated query wait 400 to 500 ms`(seed: UInt64) throws {
        var bench = Bench(random: RandomSource(seed: seed))
        bench.hold([lamp])
        let due = try #require(bench.queries.nextDeadline)
        #expect((time(0.4)...time(0.5)).contains(due))
        #expect(bench.due(at: 0.399).isEmpty)
        #expect(bench.due(at: 0.5).count == 1)
        #expect(bench.due(at: 0.5).isEmpty && bench.queries.nextDeadline == nil)
    }

    @Test func `A3: each further truncated packet begins the pause anew`() throws {
        var bench = Bench()
        bench.hold([lamp])
        bench.heard([other.pointer], truncated: true, at: 0.35)
        #expect((time(0.75)...time(0.85)).contains(try #require(bench.queries.nextDeadline)))
        // The last packet of a run is not truncated; the pause goes on from the one before.
        let before = bench.queries.nextDeadline
        bench.heard([other.pointer], at: 0.5)
        #expect(bench.queries.nextDeadline == before)
    }

    @Test func `A3: but nobody can hold an answer back for ever`() throws {
        var bench = Bench()
        bench.hold([lamp])
        for index in 1...200 { bench.heard([other.pointer], truncated: true, at: Double(index) / 100) }
        #expect(try #require(bench.queries.nextDeadline) <= time(2))
        #expect(bench.due(at: 2).count == 1)
    }

    @Test func `A4: what a continuation lists is not answered`() {
        var bench = Bench()
        bench.hold([lamp, other])
        bench.heard([lamp.pointer], at: 0.1)
        #expect(bench.due(at: 1).map(\.key.data) == [other.pointer.data])
    }

    @Test func `A4, A5: unless it is known for less than half its lifetime`() {
        var bench = Bench()
        bench.hold([lamp])
        var stale = lamp.pointer
        stale.timeToLive = 2000
        bench.heard([stale], at: 0.1)
        #expect(bench.due(at: 1).count == 1)
    }

    @Test func `A4: another host's known answers do not matter`() {
        var bench = Bench()
        bench.hold([lamp])
        bench.heard([lamp.pointer], from: .v4(10), at: 0.1)
        #expect(bench.due(at: 1).count == 1)
    }

    @Test func `A4: an answer of several records is left out when all of them were listed, in whatever packets`() {
        let host = lamp.hostName
        let addresses = [1, 2].map { last in
            ResourceRecord(host, .a, .address(.v4(last)), timeToLive: 120, flushesCache: true)
        }
        let answer = WantedAnswer(key: .init(name: host, type: .a), unknown: addresses)
        for listed in [1, 2] {
            var bench = Bench()
            _ = bench.queries.hold([answer], for: asker, at: time(0), random: &bench.random)
            for record in addresses.prefix(listed) { bench.heard([record], at: 0.1) }
            #expect(bench.due(at: 1).count == 2 - listed)
        }
    }

    @Test func `an answer asked for twice is held once`() {
        var bench = Bench()
        bench.hold([lamp])
        bench.hold([lamp, other], at: 0.1)
        #expect(bench.due(at: 2).count == 2)
    }

    @Test func `C11: with too many askers the one that waits longest is answered at once`() {
        var bench = Bench()
        for index in 0..<TruncatedQueries.maximumSources {
            let asker = Asker(address: .v4(UInt32(index)), port: 5353, id: 0)
            #expect(bench.hold([lamp], for: asker, at: Double(index) / 1000) == nil)
        }
        let evicted = bench.hold([lamp], for: Asker(address: .v4(999), port: 5353, id: 0), at: 0.1)
        #expect(evicted?.asker.address == .v4(0))
        #expect(bench.due(at: 3).count == TruncatedQueries.maximumSources)
    }
}
