// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

@testable import Network
import PathModel
import Testing

@Suite struct PathDeliveryTests {
    private let first = NWPath(.satisfied("eth0"))
    private let second = NWPath(.satisfied("eth1"))

    /// A machine that was started with a handler.
    private func started() -> PathDelivery {
        var delivery = PathDelivery()
        _ = delivery.setHandler(true)
        _ = delivery.start()
        return delivery
    }

    @Test func `tells the first path when all three are there, in any order`() {
        let steps: [(inout PathDelivery) -> Bool] = [
            { [first] in $0.offer(first) }, { $0.start() }, { $0.setHandler(true) },
        ]
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            var delivery = PathDelivery()
            let answers = order.map { steps[$0](&delivery) }
            #expect(answers == [false, false, true])
            #expect(delivery.dequeue() == first)
        }
    }

    @Test func `tells only the newest while the queue is busy`() {
        var delivery = started()
        #expect(delivery.offer(first) == true)
        #expect(delivery.offer(second) == false, "one turn at a time")
        #expect(delivery.dequeue() == second)
        #expect(delivery.end() == false)
    }

    @Test func `never tells two equal paths in a row`() {
        var delivery = started()
        _ = delivery.offer(first)
        #expect(delivery.dequeue() == first)
        _ = delivery.offer(second)
        _ = delivery.offer(first)
        #expect(delivery.end() == false, "it is back at what was told")
        #expect(delivery.offer(first) == false)
        #expect(delivery.offer(second) == true)
        #expect(delivery.dequeue() == second)
    }

    @Test func `a path that comes during the call is told after it`() {
        var delivery = started()
        _ = delivery.offer(first)
        #expect(delivery.dequeue() == first)
        #expect(delivery.offer(second) == false)
        #expect(delivery.end() == true)
        #expect(delivery.dequeue() == second)
        #expect(delivery.end() == false)
    }

    @Test func `tells nothing after it was cancelled`() {
        var delivery = started()
        #expect(delivery.offer(first) == true)
        delivery.cancel()
        #expect(delivery.dequeue() == nil)
        let answers = [delivery.offer(second), delivery.setHandler(true), delivery.start()]
        #expect(answers == [false, false, false])
        #expect(delivery.current == first)
    }

    @Test func `a turn that finds nothing to tell ends`() {
        var delivery = started()
        _ = delivery.offer(first)
        _ = delivery.setHandler(false)
        #expect(delivery.dequeue() == nil)
        #expect(delivery.setHandler(true) == true, "and the next one can begin")
        #expect(delivery.dequeue() == first)
    }

    @Test func `a new handler is told the current path although it was told before`() {
        var delivery = started()
        _ = delivery.offer(first)
        #expect(delivery.dequeue() == first)
        #expect(delivery.end() == false)
        #expect(delivery.setHandler(true) == true)
        #expect(delivery.dequeue() == first)
    }
}
