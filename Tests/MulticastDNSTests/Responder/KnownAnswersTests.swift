// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import DNSWire
import Testing

@testable import MulticastDNS

private let lamp = MadeUpService()

@Suite struct KnownAnswersTests {
    @Test(arguments: [(UInt32(4500), true), (2251, true), (2250, true), (2249, false), (0, false), (.max, true)])
    func `A5: a record known for half its lifetime or more is not sent again, with less it is`(
        lifetime: UInt32,
        isKnown: Bool
    ) {
        var record = lamp.pointer
        record.timeToLive = lifetime
        #expect(KnownAnswers([record]).contains(lamp.pointer) == isKnown)
    }

    @Test(arguments: [(UInt32(120), UInt32(60), true), (121, 60, false), (1, 1, true), (.max, .max, true)])
    func `A5: half is counted without rounding`(own: UInt32, known: UInt32, isKnown: Bool) {
        var (ours, theirs) = (lamp.location, lamp.location)
        (ours.timeToLive, theirs.timeToLive) = (own, known)
        #expect(KnownAnswers([theirs]).contains(ours) == isKnown)
    }

    @Test func `A5: other data, another type or another name is not known`() {
        let known = KnownAnswers([lamp.pointer, lamp.location])
        #expect(!known.contains(MadeUpService(name: "Other").pointer))
        #expect(!known.contains(MadeUpService(port: 81).location))
        #expect(!known.contains(lamp.textRecord))
        #expect(!known.contains(MadeUpService(type: "_other._tcp").pointer))
    }

    @Test func `N3: names are compared without regard to the case of ASCII letters`() {
        let shouting = MadeUpService(name: "LAMP", type: "_TEST._tcp")
        #expect(KnownAnswers([shouting.pointer]).contains(lamp.pointer))
        let (small, large) = (MadeUpService(name: "lämp"), MadeUpService(name: "LÄMP"))
        #expect(!KnownAnswers([large.pointer]).contains(small.pointer))
    }

    @Test func `Q12: the cache-flush bit of a known answer does not matter`() {
        var record = lamp.location
        record.flushesCache.toggle()
        #expect(KnownAnswers([record]).contains(lamp.location))
    }
}
