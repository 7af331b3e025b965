// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing

@testable import TestSupport

/// What keeps the crowd of namespaces small: a mistake here would hang the suite, or load the kernel again.
@Suite struct TurnstileTests {
    private final class Room: Sendable {
        let counts = Mutex((inside: 0, most: 0, total: 0))
    }

    @Test(arguments: [1, 3])
    func `everybody gets in, and never more at once than there is room for`(width: Int) async {
        let turnstile = Turnstile(width: width)
        let room = Room()
        await withTaskGroup { group in
            for _ in 0..<50 {
                group.addTask {
                    await turnstile.enter()
                    room.counts.withLock {
                        $0.inside += 1
                        $0.most = max($0.most, $0.inside)
                    }
                    for _ in 0..<5 { await Task.yield() }
                    room.counts.withLock {
                        $0.inside -= 1
                        $0.total += 1
                    }
                    turnstile.leave()
                }
            }
        }
        let (inside, most, total) = room.counts.withLock { $0 }
        #expect(inside == 0 && total == 50)
        #expect((1...width).contains(most))
    }

    @Test func `idle processors let more in, and busy ones fewer`() {
        var width = AdaptiveWidth(2...4)
        var (idle, total) = (0, 0)
        /// A second in which the processors were idle for a share of a hundred ticks.
        func pass(_ second: Int, idle share: Int) -> Int {
            idle += share
            total += 100
            width.adapt(to: { ProcessorTime(idle: idle, total: total) }, at: .seconds(second))
            return width.current
        }
        #expect(pass(1, idle: 100) == 2, "one look says nothing")
        #expect((2...5).map { pass($0, idle: 80) } == [3, 4, 4, 4])
        #expect((6...7).map { pass($0, idle: 20) } == [4, 4])
        #expect((8...11).map { pass($0, idle: 0) } == [3, 2, 2, 2])
        // Looks are rare.
        width.adapt(to: { ProcessorTime(idle: 10_000, total: 20_000) }, at: .seconds(11) + .milliseconds(249))
        #expect(width.current == 2)
    }

    @Test func `the time of the processors goes on`() throws {
        let first = try #require(ProcessorTime.read())
        #expect(first.idle >= 0 && first.total > first.idle)
    }
}
