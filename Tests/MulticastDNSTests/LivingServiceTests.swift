// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import Testing

@testable import MulticastDNS

private let lamp = MadeUpService()

/// Hours of browsing, in simulated time.
///
/// Of a lifetime of 10 s two are left at the first asking, and a host must keep silent for one after an answer that got
/// lost: with one packet in ten lost, one hour in five loses such a service by both families, whatever is asked.
@Suite struct LivingServiceTests {
    /// Long enough for many lifetimes.
    private func hours(_ timeToLive: UInt32) -> Double { max(3600, 10 * Double(timeToLive)) }

    @Test(
        arguments: [10, 20, 120, 4500] as [UInt32],
        [LivingLink.Answering.always, .everySecond, .lossy(5)]
    )
    func `a service that answers is never lost, nor an address of it`(
        timeToLive: UInt32,
        answering: LivingLink.Answering
    ) {
        var link = LivingLink(timeToLive: timeToLive, answering)
        link.run(to: 60)
        let settled = link.events.count
        #expect(settled <= 3 && link.directory.services.first?.addresses.count == 2)
        link.run(to: hours(timeToLive))
        #expect(link.events.count == settled, "\(link.events.dropFirst(settled))")
        #expect(link.directory.services.first?.addresses.count == 2)
    }

    @Test(arguments: [20, 120, 4500] as [UInt32])
    func `nor when one packet in ten is lost`(timeToLive: UInt32) {
        var link = LivingLink(timeToLive: timeToLive, .lossy(10))
        link.run(to: hours(timeToLive))
        #expect(link.events.count <= 3 && link.directory.services.first?.addresses.count == 2)
    }

    @Test(arguments: [10, 20, 120, 4500] as [UInt32], AddressFamily.allCases)
    func `each of its records is asked for once in its lifetime, twice when the first asking is not answered`(
        timeToLive: UInt32,
        family: AddressFamily
    ) {
        for answering in [LivingLink.Answering.always, .everySecond] {
            var link = LivingLink(timeToLive: timeToLive, answering, families: [family])
            link.run(to: 9)
            let settled = link.events.count
            link.run(to: hours(timeToLive))
            #expect(link.events.count == settled && link.losses.isEmpty)
            let lifetimes = Int(hours(timeToLive) / (Double(timeToLive) * 0.8)) + 1
            for record in link.records {
                let times = link.asked(record, family)
                // A series of doubling gaps has 14 askings in two hours, and one for each hour after that.
                let series = record.type == .ptr ? 14 + Int(hours(timeToLive) / 3600) : 3
                #expect(times.count <= series + lifetimes * (answering == .always ? 1 : 2), "\(record.type)")
                #expect(zip(times.dropFirst(), times).allSatisfy { $0 - $1 >= 0.249 })
            }
        }
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func `what goes had been asked for four times since it was heard of last, to the end of its lifetime`(
        seed: UInt64
    ) {
        var link = LivingLink(timeToLive: 120, .lossy(40), families: [.ipv4], seed: seed)
        link.run(to: 20_000)
        // What is missing may be a reason why others are not wanted any more.
        let losses = link.losses.filter { ($0.resolvedSince ?? $0.time) < $0.time - 24.1 }
        #expect(!losses.isEmpty)
        for (time, record, last, _) in losses {
            #expect(abs(time - last - 120) < 0.001)
            let askings = link.asked(record, .ipv4).filter { $0 > time - 24.1 && $0 < time }
            #expect(askings.count >= 4, "\(record.type) at \(time): \(askings)")
        }
    }

    @Test func `refreshes go out at 80, 85, 90 and 95 percent of the lifetime, whatever series goes on`() {
        var bench = DirectoryBench(Wish(pointers: [lamp.typeName]), families: [.ipv4])
        var brief = lamp.pointer
        brief.timeToLive = 120
        bench.run(to: 200)
        bench.hear([brief])
        bench.run(to: 319)
        // The series itself asks at 255 s.
        let times = bench.asked(Question(lamp.typeName, .ptr)).filter { $0 > 260 }
        #expect(times.count == 4)
        for (time, part) in zip(times, [0.80, 0.85, 0.90, 0.95]) {
            #expect(time >= 200 + 120 * part && time <= 200 + 120 * (part + 0.02) + 0.12)
        }
    }

    @Test func `a living service that is doubted while a series rests is asked for, and stays`() {
        var link = LivingLink(timeToLive: 4500)
        link.run(to: 1100)
        let settled = link.events.count
        for record in link.records { link.reconfirm(record) }
        link.run(to: 1200)
        #expect(link.events.count == settled && link.directory.services.count == 1)
    }

    @Test func `the end of a census does not end what runs out`() {
        var bench = DirectoryBench(families: [.ipv4])
        var brief = lamp.pointer
        brief.timeToLive = 20
        bench.hear([brief] + lamp.all.dropFirst(2))
        bench.run(to: 15)
        // Planned, and not asked yet.
        bench.directory.advance(to: time(16.5))
        bench.directory.beginCensus(at: time(16.5))
        bench.directory.endCensus()
        bench.run(to: 17)
        #expect(bench.asked(Question(lamp.typeName, .ptr)).count == 1)
    }
}
