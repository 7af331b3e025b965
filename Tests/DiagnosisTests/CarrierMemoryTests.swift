// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Diagnosis
import Testing

@Suite struct CarrierMemoryTests {
    /// The memory of one interface whose counter showed these numbers at these seconds.
    private static func memory(_ readings: [(at: Int, count: UInt32)]) -> CarrierMemory {
        var memory = CarrierMemory()
        for reading in readings { memory.record([2: reading.count], at: .seconds(reading.at)) }
        return memory
    }

    @Test(arguments: [
        (now: 0, count: 5, changes: 0), (now: 30, count: 9, changes: 4), (now: 60, count: 9, changes: 4),
        (now: 61, count: 9, changes: 4), (now: 90, count: 9, changes: 0), (now: 90, count: 12, changes: 3),
    ])
    func `the changes of the last minute count`(now: Int, count: UInt32, changes: Int) {
        // Four changes, all at second 30, by a counter that was looked at often.
        let seen = [(0, 5), (10, 5), (20, 5), (30, 9), (40, 9)] as [(Int, UInt32)]
        let memory = Self.memory(seen.filter { $0.0 <= now })
        #expect(memory.changes(of: 2, upTo: count, at: .seconds(now)) == changes)
    }

    @Test func `what is not known has no changes`() {
        #expect(CarrierMemory().changes(of: 2, upTo: 7, at: .zero) == 0)
        #expect(Self.memory([(0, 1)]).changes(of: 3, upTo: 7, at: .seconds(1)) == 0)
    }

    @Test func `an interface that went and came back with its number starts anew`() {
        var memory = Self.memory([(0, 8)])
        memory.record([:], at: .seconds(1))
        #expect(memory == CarrierMemory())
        #expect(Self.memory([(0, 8), (1, 2)]).changes(of: 2, upTo: 3, at: .seconds(2)) == 1)
        #expect(Self.memory([(0, 8)]).changes(of: 2, upTo: 3, at: .seconds(2)) == 0)
    }

    @Test func `a carrier that never rests is remembered within bounds`() {
        let memory = Self.memory((0..<10_000).map { (at: $0 / 1000, count: UInt32($0)) })
        let changes = memory.changes(of: 2, upTo: 9_999, at: .seconds(10))
        #expect(changes >= 4 && changes < 100)
    }
}
