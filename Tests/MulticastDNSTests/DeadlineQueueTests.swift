// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Testing

@testable import MulticastDNS

@Suite struct DeadlineQueueTests {
    @Test func `gives what is due, the earliest first, once`() {
        var queue = DeadlineQueue<String>()
        for (key, seconds) in [("c", 3.0), ("a", 1), ("d", 4), ("b", 2)] { queue[key] = time(seconds) }
        #expect(queue.next == time(1) && queue.count == 4)
        #expect(queue.removeDue(at: time(0.9)) == [])
        #expect(queue.removeDue(at: time(3)) == ["a", "b", "c"])
        #expect(queue.removeDue(at: time(3)) == [] && queue.next == time(4))
    }

    @Test(arguments: [(1.0, 2.0), (2, 1)])
    func `a key has the deadline set last`(first: Double, second: Double) {
        var queue = DeadlineQueue<String>()
        queue["a"] = time(first)
        queue["a"] = time(second)
        #expect(queue.next == time(second) && queue["a"] == time(second) && queue.count == 1)
        #expect(queue.removeDue(at: time(5)) == ["a"])
    }

    @Test func `lowering never raises`() {
        var queue = DeadlineQueue<String>()
        queue.lower("a", to: time(2))
        queue.lower("a", to: time(3))
        #expect(queue["a"] == time(2))
        queue.lower("a", to: time(1))
        #expect(queue.next == time(1))
    }

    @Test func `what is taken out is not due`() {
        var queue = DeadlineQueue<String>()
        queue["a"] = time(1)
        queue["b"] = time(2)
        queue["a"] = nil
        #expect(queue.next == time(2) && queue.removeDue(at: time(9)) == ["b"])
        #expect(queue.next == nil && queue.count == 0)
    }

    @Test func `outdated slots never outnumber the living by much`() {
        var queue = DeadlineQueue<Int>()
        for round in 0..<100 {
            for key in 0..<20 { queue[key] = time(Double(1000 - round * 5 + key)) }
        }
        #expect(queue.count == 20 && queue.slots <= 104)
        #expect(queue.removeDue(at: time(5000)) == Array(0..<20))
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func `agrees with a plain table, whatever is done`(seed: UInt64) {
        var random = RandomSource(seed: seed)
        var queue = DeadlineQueue<Int>()
        var table: [Int: Duration] = [:]
        for _ in 0..<2000 {
            let key = Int.random(in: 0..<50, using: &random)
            let deadline = time(Double(Int.random(in: 0..<1000, using: &random)))
            switch Int.random(in: 0..<4, using: &random) {
            case 0: (queue[key], table[key]) = (nil, nil)
            case 1:
                let now = table.values.min() ?? .zero
                let due = table.filter { $0.value <= now }.keys.sorted()
                #expect(queue.removeDue(at: now).sorted() == due)
                for key in due { table[key] = nil }
            default: (queue[key], table[key]) = (deadline, deadline)
            }
            #expect(queue.next == table.values.min() && queue.count == table.count)
        }
    }
}
