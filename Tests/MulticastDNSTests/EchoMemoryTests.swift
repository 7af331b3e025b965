// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Testing

@testable import MulticastDNS

@Suite struct EchoMemoryTests {
    private func packet(_ number: Int, count: Int = 40) -> [UInt8] {
        [UInt8(truncatingIfNeeded: number), UInt8(truncatingIfNeeded: number >> 8)]
            + [UInt8](repeating: 7, count: count)
    }

    @Test func `takes each packet as often as it was sent`() {
        var memory = EchoMemory(seed: 1)
        memory.note(packet(1), at: time(0))
        memory.note(packet(2), at: time(0))
        memory.note(packet(1), at: time(0))
        let taken = [1, 1, 1, 2, 2, 3].map { memory.consume(packet($0).span, at: time(0.1)) }
        #expect(taken == [true, true, false, true, false, false])
        #expect(memory.count == 0)
    }

    @Test(arguments: 0..<42)
    func `one bit that differs makes another packet`(index: Int) {
        var memory = EchoMemory(seed: 1)
        memory.note(packet(1), at: time(0))
        var other = packet(1)
        other[index] ^= 1
        let isTaken = memory.consume(other.span, at: time(0))
        #expect(!isTaken)
        let shorter = Array(packet(1).dropLast())
        let isShorter = memory.consume(shorter.span, at: time(0))
        #expect(!isShorter)
    }

    @Test func `what has not come back within five seconds is another host's`() {
        var memory = EchoMemory(seed: 1)
        memory.note(packet(1), at: time(0))
        memory.note(packet(2), at: time(3))
        let late = memory.consume(packet(1).span, at: time(5.1))
        let inTime = memory.consume(packet(2).span, at: time(5.1))
        #expect(!late && inTime)
    }

    @Test func `waits for a bounded number, the newest`() {
        var memory = EchoMemory(seed: 1)
        for number in 0..<5000 { memory.note(packet(number), at: time(0)) }
        #expect(memory.count <= EchoMemory.limit)
        let newest = memory.consume(packet(4999).span, at: time(0))
        let oldest = memory.consume(packet(0).span, at: time(0))
        #expect(newest && !oldest)
    }

    @Test func `nobody can tell fingerprints without the seed`() {
        let answers = (0..<64 as Range<UInt64>).map { seed in
            var memory = EchoMemory(seed: seed)
            for number in 0..<200 { memory.note(packet(number), at: time(0)) }
            return (1000..<1200).contains { memory.consume(packet($0).span, at: time(0)) }
        }
        #expect(!answers.contains(true))
    }
}
