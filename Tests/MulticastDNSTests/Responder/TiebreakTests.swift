// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import Testing

@testable import MulticastDNS

private let name = DomainName("host.local") ?? DomainName()

private func a(_ address: UInt32, code: UInt16 = 1) -> ResourceRecord {
    ResourceRecord(name, .a, .address(.v4(address)), timeToLive: 120, classCode: code)
}
private func aaaa(_ last: UInt8) -> ResourceRecord {
    ResourceRecord(name, .aaaa, .address(.v6(UInt128(last))), timeToLive: 120)
}
private func txt(_ bytes: [UInt8]) -> ResourceRecord { ResourceRecord(name, .txt, .text(bytes), timeToLive: 120) }
private func srv(_ port: UInt16, _ target: String = "host.local") -> ResourceRecord {
    let location = ServiceLocation(port: port, target: DomainName(target) ?? DomainName())
    return ResourceRecord(name, .srv, .service(location), timeToLive: 120)
}

private struct Case: CustomTestStringConvertible {
    let testDescription: String
    let ours: [ResourceRecord]
    let theirs: [ResourceRecord]
    let outcome: Tiebreak.Outcome

    init(_ text: String, _ ours: [ResourceRecord], _ theirs: [ResourceRecord], _ outcome: Tiebreak.Outcome) {
        testDescription = text
        self.ours = ours
        self.theirs = theirs
        self.outcome = outcome
    }
}

private let cases = [
    // The example of RFC 6762 section 8.2: 169.254.200.50 beats 169.254.99.200, for 200 is above 99.
    Case("the RFC's example", [a(0xA9FE_63C8)], [a(0xA9FE_C832)], .lost),
    Case("bytes are unsigned", [a(0x7F00_0001)], [a(0x8000_0001)], .lost),
    Case("the type comes before the data", [a(0xFFFF_FFFF)], [aaaa(0)], .lost),
    Case("the class comes before the type", [aaaa(9)], [a(0, code: 3)], .lost),
    Case("records are sorted first", [txt([1, 9]), a(5)], [a(5), txt([1, 9])], .equal),
    Case("the first difference decides", [a(1), txt([9])], [a(2), txt([0])], .lost),
    Case("a later difference decides when the first are alike", [a(1), txt([1, 3])], [a(1), txt([1, 2])], .won),
    Case("the longer list wins", [a(1)], [a(1), a(2)], .lost),
    Case("but only when it begins alike", [a(9)], [a(1), a(2)], .won),
    Case("the longer data wins", [txt([1, 2])], [txt([1])], .won),
    Case("names are compared uncompressed", [srv(80, "a.local")], [srv(80, "b.local")], .lost),
    Case("and by their bytes, case included", [srv(80, "HOST.local")], [srv(80)], .lost),
    Case("ports are numbers of two bytes", [srv(256)], [srv(255)], .won),
    Case("nothing at all loses", [], [a(1)], .lost),
    Case("against nothing everything wins", [a(1)], [], .won),
]

@Suite struct TiebreakTests {
    @Test("P6: the later list of records wins a name", arguments: cases)
    private func laterWins(test: Case) {
        #expect(Tiebreak.compare(ours: test.ours, theirs: test.theirs) == test.outcome)
    }

    @Test("P6: both hosts come to the same judgement", arguments: cases)
    private func bothAgree(test: Case) {
        let opposite: [Tiebreak.Outcome: Tiebreak.Outcome] = [.won: .lost, .lost: .won, .equal: .equal]
        #expect(Tiebreak.compare(ours: test.theirs, theirs: test.ours) == opposite[test.outcome])
    }

    @Test func `P6: lifetimes and the cache-flush bit do not count`() {
        var other = a(1)
        other.timeToLive = 1
        other.flushesCache = true
        #expect(Tiebreak.compare(ours: [a(1)], theirs: [other]) == .equal)
    }
}
