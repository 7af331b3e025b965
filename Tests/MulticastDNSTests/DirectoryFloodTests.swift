// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import TestSupport
import Testing

@testable import MulticastDNS

private let lamp = MadeUpService()

private typealias Bench = DirectoryBench

@Suite(.computing) struct DirectoryFloodTests {
    @Test func `a made-up type is not asked for any more when its record has gone`() {
        var bench = Bench(families: [.ipv4])
        bench.beginCensus()
        var fake = lamp
        fake.type = "_fake._tcp"
        var enumeration = fake.enumeration
        enumeration.timeToLive = 100
        bench.hear([enumeration])
        bench.hear(lamp.all)
        bench.run(to: 10)
        bench.directory.endCensus()
        func asked(from start: Double) -> Set<DomainName> {
            Set(bench.questions.filter { $0.time >= start && $0.question.type == .ptr }.map(\.question.name))
        }
        for start in [60.0, 120] {
            bench.run(to: start)
            bench.beginCensus()
            bench.run(to: start + 10)
            bench.directory.endCensus()
            #expect(asked(from: start).contains(lamp.typeName))
            #expect(asked(from: start).contains(fake.typeName) == (start < 100))
        }
    }

    @Test(arguments: [[AddressFamily.ipv4], AddressFamily.allCases])
    func `a flood of pointers gets fewer bytes out of us than it brings`(families: [AddressFamily]) {
        var bench = Bench(families: families)
        bench.beginCensus()
        var number = 0
        for second in 0..<12 {
            for _ in 0..<10 {
                let pointers = (0..<80).map { _ in
                    number += 1
                    var fake = lamp
                    fake.name = String(number, radix: 36)
                    return fake.pointer
                }
                bench.hear(pointers, .ipv4, from: UInt32(number))
            }
            bench.run(to: Double(second + 1))
        }
        bench.run(to: 24)
        #expect(bench.traffic.heard > 120_000)
        #expect(bench.traffic.sent < bench.traffic.heard, "\(bench.traffic)")
        let questions = bench.questions.filter { $0.question.type == .srv || $0.question.type == .txt }
        #expect(questions.count > 1000, "a pointer pays for its first questions")
        // Who comes after it is asked for what it did not say.
        var honest = lamp
        honest.name = "Honest"
        honest.type = "_honest._tcp"
        bench.hear([honest.pointer])
        bench.run(to: 24.2)
        #expect(bench.questions.contains { $0.question == Question(honest.instance, .srv) })
    }

    @Test func `a few pointers that nobody stands behind are asked about three times, by both families`() {
        var bench = Bench()
        let pointers = (0..<80).map { number in
            var fake = lamp
            fake.name = String(number, radix: 36)
            return fake.pointer
        }
        for _ in 0..<40 { bench.hear(pointers) }
        bench.run(to: 20)
        let questions = bench.questions.filter { $0.question.type == .srv || $0.question.type == .txt }
        #expect(questions.count == 80 * 2 * 3 * 2, "three times, by both families")
    }

    @Test func `five thousand made-up types bring a bounded number of questions`() {
        var bench = Bench(families: [.ipv4])
        bench.beginCensus()
        for number in 0..<5000 {
            var fake = lamp
            fake.type = "_fake\(number)._tcp"
            bench.hear([fake.enumeration])
        }
        bench.run(to: 0.5)
        #expect(Set(bench.questions.map(\.question.name)).count <= 64 + 9)
        bench.hear(lamp.all, from: 10)
        #expect(bench.summary == ["added Lamp"])
    }

    @Test func `a flood of made-up instances does not keep an honest one out`() {
        var settings = MulticastSettings()
        settings.maximumInstances = 200
        settings.maximumRecords = 1000
        var bench = Bench(families: [.ipv4], settings: settings)
        for number in 0..<3000 {
            var fake = lamp
            fake.name = "fake \(number)"
            bench.hear([fake.pointer])
        }
        #expect(bench.directory.instances.count <= 200)
        #expect((bench.directory.zones[.ipv4]?.cache.count ?? 0) <= 1000)
        var honest = lamp
        honest.type = "_honest._tcp"
        bench.hear(honest.all)
        #expect(bench.summary == ["added Lamp"])
        bench.run(to: 60)
        #expect(bench.directory.services.count == 1)
        #expect(bench.directory.waiting.count <= 200)
    }
}
