// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Testing

@testable import Probes

@Suite struct TrainRecordTests {
    @Test func `round trips are told in the order of departure`() {
        var record = TrainRecord(count: 3)
        #expect(record.next == 0 && !record.isComplete)
        for number in 0..<3 { record.depart(at: .milliseconds(50 * number)) }
        #expect(record.next == nil && record.outstanding == [0, 1, 2])
        let second = record.arrive(1, at: .milliseconds(60))
        let first = record.arrive(0, at: .milliseconds(70))
        #expect(first && second)
        #expect(record.durations == [.milliseconds(70), .milliseconds(10)])
        #expect(record.outstanding == [2] && !record.isComplete)
        let third = record.arrive(2, at: .milliseconds(101))
        #expect(third && record.isComplete)
    }

    @Test func `copies and packets that never left say nothing`() {
        var record = TrainRecord(count: 2)
        record.depart(at: .zero)
        let first = record.arrive(0, at: .milliseconds(1))
        let copy = record.arrive(0, at: .milliseconds(2))
        let early = record.arrive(1, at: .milliseconds(2))
        let absurd = record.arrive(-1, at: .milliseconds(2))
        #expect(first && !copy && !early && !absurd)
        #expect(record.durations == [.milliseconds(1)] && !record.isComplete)
    }

    @Test func `percentiles are round trips that were measured`() {
        var result = TrainResult()
        #expect(result.median == nil && result.percentile(95) == nil)
        result.durations = (1...20).reversed().map { .milliseconds($0) }
        #expect(result.received == 20)
        #expect(result.median == .milliseconds(10))
        #expect(result.percentile(5) == .milliseconds(1))
        #expect(result.percentile(95) == .milliseconds(19))
        #expect(result.percentile(100) == .milliseconds(20))
        result.durations = [.milliseconds(7)]
        #expect(result.median == .milliseconds(7) && result.percentile(0) == .milliseconds(7))
    }

    @Test(arguments: AddressFamily.allCases, [TrainKind.echo, .datagram(port: 7)])
    func `a packet that comes back is known by its number`(family: AddressFamily, kind: TrainKind) {
        let messages = TrainMessages(kind, family: family)
        for number in [0, 5, 300] {
            var bytes = messages.request(number)
            #expect(bytes.count == EchoMessage.length)
            if kind == .echo { bytes[0] = family == .ipv4 ? 0 : 129 }
            #expect(messages.number(of: bytes.span, isRaw: false, awaited: [0, 5, 300]) == number)
            #expect(messages.number(of: bytes.span, isRaw: false, awaited: [1]) == nil)
        }
    }

    @Test(arguments: AddressFamily.allCases, [TrainKind.echo, .datagram(port: 7)])
    func `what is too short, forged or another's is nothing`(family: AddressFamily, kind: TrainKind) {
        let messages = TrainMessages(kind, family: family)
        var right = messages.request(0)
        if kind == .echo { right[0] = family == .ipv4 ? 0 : 129 }
        for count in 0..<24 {
            #expect(messages.number(of: Array(right[..<count]).span, isRaw: false, awaited: [0]) == nil)
        }
        for place in 8..<16 {
            var forged = right
            forged[place] ^= 1
            #expect(messages.number(of: forged.span, isRaw: false, awaited: [0]) == nil)
        }
        let other = TrainMessages(kind, family: family)
        #expect(other.number(of: right.span, isRaw: false, awaited: [0]) == nil)
    }

    @Test(
        arguments: [
            (.ipv4, 3, 3, .portClosed), (.ipv4, 3, 1, .unreachable), (.ipv4, 3, 13, .unreachable),
            (.ipv4, 3, 4, .tooBig), (.ipv4, 11, 0, .hopLimit), (.ipv4, 11, 1, .other), (.ipv4, 12, 0, .other),
            (.ipv6, 1, 4, .portClosed), (.ipv6, 1, 0, .unreachable), (.ipv6, 2, 0, .tooBig), (.ipv6, 3, 0, .hopLimit),
            (.ipv6, 4, 0, .other),
        ] as [(AddressFamily, UInt8, UInt8, PacketFault.Kind)]
    )
    func `messages of routers are told apart`(
        family: AddressFamily,
        type: UInt8,
        code: UInt8,
        kind: PacketFault.Kind
    ) {
        #expect(PacketFault.Kind(family, type: type, code: code) == kind)
    }
}

@Suite struct TrainOrderTests {
    @Test func `a raw echo reply is known behind its header, and only by its identifier`() {
        let messages = TrainMessages(.echo, family: .ipv4)
        var reply = messages.request(0)
        reply[0] = 0
        let header: [UInt8] = [0x45] + [UInt8](repeating: 0, count: 19)
        #expect(messages.number(of: (header + reply).span, isRaw: true, awaited: [0]) == 0)
        #expect(messages.number(of: reply.span, isRaw: true, awaited: [0]) == nil)
        reply[4] ^= 1
        #expect(messages.number(of: (header + reply).span, isRaw: true, awaited: [0]) == nil)
    }

    @Test func `an empty train is over before it starts`() {
        let record = TrainRecord(count: 0)
        #expect(record.next == nil && record.isComplete && record.durations.isEmpty)
    }
}
