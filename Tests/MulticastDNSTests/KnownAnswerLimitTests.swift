// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import Testing

@testable import MulticastDNS

private let type = DomainName("_test._tcp.local") ?? DomainName()

private func pointers(_ range: Range<Int>) throws -> [ResourceRecord] {
    try range.map { number in
        let instance = try DomainName(labels: [Array("n\(number)".utf8)]).appending(type)
        return ResourceRecord(type, .ptr, .pointer(instance), timeToLive: 4500)
    }
}

@Suite struct KnownAnswerLimitTests {
    @Test func `what goes is paid for, the records known longest first`() throws {
        let records = try pointers(0..<20_000)
        var allowance = KnownAnswerLimit()
        let first = allowance.spend(on: records)
        #expect(first.count < records.count && first == Array(records.prefix(first.count)))
        #expect(first.reduce(0) { $0 + CacheBounds.size(of: $1) } <= KnownAnswerLimit.most)
        #expect(allowance.spend(on: records).count <= 1)
    }

    @Test func `others' packets and time earn, up to a limit`() throws {
        var allowance = KnownAnswerLimit()
        allowance.advance(to: time(0))
        _ = allowance.spend(on: try pointers(0..<20_000))
        let rest = allowance.bytes
        allowance.received(1000)
        #expect(allowance.bytes == rest + 500)
        for step in 1...10 { allowance.advance(to: time(Double(step) * 0.35)) }
        #expect(allowance.bytes == rest + 500 + 3 * KnownAnswerLimit.rate, "parts of seconds were lost")
        allowance.advance(to: time(1))
        #expect(allowance.bytes == rest + 500 + 3 * KnownAnswerLimit.rate, "time does not go back")
        allowance.advance(to: time(1_000_000))
        allowance.received(.max / 2)
        #expect(allowance.bytes == KnownAnswerLimit.most)
    }

    @Test func `a flood of pointers does not come back with every question`() throws {
        var zone = Zone(.ipv4, settings: MulticastSettings(), mtu: 1500, random: RandomSource(seed: 7))
        var activeQueries = ActiveQueries()
        activeQueries.types = [type]
        let origin = PacketOrigin(source: .v4(0xC000_0203), port: 5353)
        var received = 0
        for start in stride(from: 0, to: 4000, by: 40) {
            let answers = try pointers(start..<start + 40)
            let bytes = Message(flags: [.response, .authoritative], answers: answers).encoded() ?? []
            received += bytes.count
            _ = zone.receive(bytes.span, from: origin, at: time(0), activeQueries: activeQueries)
        }
        var sent = 0
        var longest = 0
        for minute in 0..<30 {
            zone.query(Question(type, .ptr), times: 3, at: time(Double(minute) * 60))
            for second in 0..<60 {
                let packets = zone.packets(at: time(Double(minute * 60 + second)))
                sent += packets.reduce(0) { $0 + $1.bytes.count }
                longest = max(longest, packets.count)
            }
        }
        let earned = 30 * 60 * KnownAnswerLimit.rate + KnownAnswerLimit.most + received
        #expect(longest > 10, "what is known must be listed while there is room")
        #expect(sent < earned, "sent \(sent) bytes for \(received)")
    }
}
