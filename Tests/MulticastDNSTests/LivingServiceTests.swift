// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import TestSupport
import Testing

@testable import MulticastDNS

private let lamp = MadeUpService()

/// Hours of browsing, in simulated time.
///
/// Of a lifetime of 10 s two are left at the first asking, and a host must keep silent for one after an answer that got
/// lost: with one packet in ten lost, one hour in five loses such a service by both families, whatever is asked.
@Suite(.computing) struct LivingServiceTests {
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
            // The first asking comes four gaps before the end, which are not shorter than an owner's second of silence.
            let gap = max(Double(timeToLive) / 20, min(1.15, Double(timeToLive) * 0.12))
            let lifetimes = Int(hours(timeToLive) / (Double(timeToLive) - 4 * gap)) + 1
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
        var bench = DirectoryBench(Subscription(pointers: [lamp.typeName]), families: [.ipv4])
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
        bench.directory.advance(to: time(15.9))
        bench.directory.beginCensus(at: time(15.9))
        bench.directory.endCensus()
        bench.run(to: 16.5)
        #expect(bench.asked(Question(lamp.typeName, .ptr)).count == 1)
    }
}

/// What an owner has told of in part.
@Suite struct MissingRecordTests {
    private let six: MadeUpService = {
        var six = lamp
        six.address = IPAddress("fe80::7") ?? six.address
        return six
    }()

    /// The service by its first address, without a word of the other family.
    private func half(_ lifetime: UInt32) -> [ResourceRecord] {
        var service = lamp
        service.lifetime = lifetime
        return [service.pointer, service.location, service.textRecord, service.addressRecord]
    }

    @Test func `the other family is asked for again, with pauses that double up to the host's lifetime`() {
        var bench = DirectoryBench()
        bench.hear(half(4500))
        bench.run(to: 3500)
        for family in AddressFamily.allCases {
            let times = bench.asked(.aaaa, family).map { Int($0.rounded()) }
            #expect(times == [0, 5, 15, 35, 75, 155, 315, 635, 1275, 2555])
        }
    }

    @Test func `an answer that comes to a later question makes the service whole`() {
        var bench = DirectoryBench()
        bench.hear(half(120))
        bench.run(to: 6)
        #expect(bench.summary == ["added Lamp"] && bench.asked(.aaaa, .ipv6).count == 2)
        bench.hear([six.addressRecord])
        bench.run(to: 90)
        #expect(bench.summary == ["added Lamp", "changed Lamp [\"addresses\"]"])
        #expect(bench.asked(.aaaa).count == 4)
    }

    @Test func `refreshing one family asks for the other one along, unless the host has denied it`() {
        for isDenied in [true, false] {
            var bench = DirectoryBench()
            for family in AddressFamily.allCases { bench.hear(half(120) + (isDenied ? [lamp.denial] : []), family) }
            bench.run(to: 90)
            #expect(AddressFamily.allCases.map { bench.asked(.aaaa, $0).count } == (isDenied ? [0, 0] : [5, 5]))
            bench.run(to: 119)
            #expect(AddressFamily.allCases.map { bench.asked(.aaaa, $0).count } == (isDenied ? [0, 0] : [6, 6]))
        }
    }

    @Test func `an address that expired is looked for as long as the other one lives`() {
        var bench = DirectoryBench()
        bench.hear(half(4500) + [six.addressRecord])
        bench.run(to: 121)
        #expect(bench.summary == ["added Lamp", "changed Lamp [\"addresses\"]"])
        let before = bench.asked(.aaaa, .ipv4).count
        bench.run(to: 136)
        #expect(bench.asked(.aaaa, .ipv4).count - before == 2)
        bench.hear([six.addressRecord])
        bench.run(to: 137)
        #expect(bench.directory.services.first?.addresses.count == 2)
    }

    @Test func `a family that this link does not speak is not asked for`() {
        var bench = DirectoryBench(families: [.ipv4])
        bench.hear(half(4500))
        bench.run(to: 3500)
        #expect(bench.asked(.aaaa).isEmpty && bench.summary == ["added Lamp"])
    }

    @Test func `a text that nobody sent is asked for along with the location`() {
        var bench = DirectoryBench(families: [.ipv4])
        bench.hear(half(120).filter { $0.type != .txt })
        bench.run(to: 90)
        #expect(bench.summary == ["added Lamp"] && bench.asked(.txt).count == 3)
        bench.run(to: 99.9)
        #expect(bench.asked(.txt).count == 4)
        bench.hear([lamp.textRecord])
        bench.run(to: 101)
        #expect(bench.summary.last == "changed Lamp [\"txt\"]")
    }
}
