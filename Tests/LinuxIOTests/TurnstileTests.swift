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
}
