// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import DNSWire
import Testing

@testable import MulticastDNS

private func key(_ name: String) -> OwnRecords.Key { OwnRecords.Key(name: DomainName(name) ?? DomainName(), type: .a) }

@Suite struct AnswerQueueTests {
    @Test(arguments: 1...50)
    func `A2: a delay is 20 to 120 ms`(seed: UInt64) {
        var random = RandomSource(seed: seed)
        let due = AnswerQueue().delayedTime(at: time(0), random: &random)
        #expect((time(0.020)...time(0.120)).contains(due))
    }

    @Test func `A8: delayed answers join a packet that goes within their own delay`() {
        var queue = AnswerQueue()
        var random = RandomSource(seed: 1)
        queue.plan(key("a.local"), at: time(0), due: time(0.1), lastMulticast: nil)
        #expect(queue.delayedTime(at: time(0.05), random: &random) == time(0.1))
        // It goes in 10 ms, which is too soon, or in half a second, which is too late.
        for now in [0.09, -0.4] {
            let due = queue.delayedTime(at: time(now), random: &random)
            #expect((time(now + 0.020)...time(now + 0.120)).contains(due))
        }
    }

    @Test func `A8: what may go already goes with what must go`() {
        var queue = AnswerQueue()
        queue.plan(key("a.local"), at: time(0), due: time(0.12), lastMulticast: nil)
        queue.plan(key("b.local"), at: time(0.045), due: time(0.045), lastMulticast: nil)
        #expect(queue.due(at: time(0.045)) == [key("a.local"), key("b.local")])
        #expect(queue.count == 0 && queue.nextDeadline == nil)
    }

    @Test func `A2: but not sooner than after 20 ms`() {
        var queue = AnswerQueue()
        queue.plan(key("a.local"), at: time(0), due: time(0.12), lastMulticast: nil)
        queue.plan(key("b.local"), at: time(0.019), due: time(0.019), lastMulticast: nil)
        #expect(queue.due(at: time(0.019)) == [key("b.local")])
        #expect(queue.nextDeadline == time(0.12))
    }

    @Test(arguments: [(0.0, 1.0), (-0.5, 0.5), (-0.999, 0.001), (-1, 0), (-60, 0)])
    func `A6: a record waits until a second after it was multicast`(last: Double, due: Double) {
        var queue = AnswerQueue()
        queue.plan(key("a.local"), at: time(0), due: time(0), lastMulticast: time(last))
        #expect(queue.nextDeadline == time(due))
        if due > 0 { #expect(queue.due(at: time(due - 0.001)).isEmpty) }
        #expect(queue.due(at: time(due)) == [key("a.local")])
    }

    @Test func `A6: for a defence 250 ms are enough`() {
        var queue = AnswerQueue()
        let gap = AnswerQueue.defenceGap
        queue.plan(key("a.local"), at: time(0), due: time(0), lastMulticast: time(-0.1), gap: gap)
        #expect(queue.nextDeadline == time(0.15))
    }

    @Test func `an answer that two want goes once, for the more urgent one`() {
        var queue = AnswerQueue()
        queue.plan(key("a.local"), at: time(0), due: time(0.1), lastMulticast: nil)
        queue.plan(key("a.local"), at: time(0.01), due: time(0.01), lastMulticast: nil)
        queue.plan(key("a.local"), at: time(0.01), due: time(0.05), lastMulticast: nil)
        #expect(queue.due(at: time(0.01)) == [key("a.local")])
        #expect(queue.due(at: time(1)).isEmpty)
    }

    @Test func `A7: a dropped answer does not go`() {
        var queue = AnswerQueue()
        queue.plan(key("a.local"), at: time(0), due: time(0.1), lastMulticast: nil)
        queue.drop(key("a.local"))
        #expect(!queue.isPlanned(key("a.local")) && queue.due(at: time(0.1)).isEmpty && queue.nextDeadline == nil)
    }

    @Test func `answers go in the order in which they were planned`() {
        var queue = AnswerQueue()
        let names = (0..<20).map { key("n\($0 * 7 % 20).local") }
        for name in names { queue.plan(name, at: time(0), due: time(0.05), lastMulticast: nil) }
        #expect(queue.due(at: time(0.05)) == names)
    }
}
