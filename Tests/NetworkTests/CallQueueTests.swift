// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Dispatch
@testable import Network
import Synchronization
import TestSupport
import Testing

@Suite struct CallQueueTests {
    private let target = DispatchQueue(label: "target")

    @Test func `calls come in order, on the queue that was given`() {
        let calls = Record<Int>()
        let queue = CallQueue(target)
        for number in 1...100 {
            queue.async { [target] in
                dispatchPrecondition(condition: .onQueue(target))
                calls.append(number)
            }
        }
        let over = DispatchSemaphore(value: 0)
        queue.async { over.signal() }
        #expect(over.wait(timeout: .now() + 10) == .success && calls.values == Array(1...100))
    }

    @Test func `what is gathered is called once all of it is there`() {
        let calls = Record<String>()
        let queue = CallQueue(target)
        queue.gathering {
            queue.async { calls.append("first") }
            // The queue has nothing to do yet.
            target.sync { calls.append("others") }
            queue.gathering { queue.async { calls.append("second") } }
        }
        let over = DispatchSemaphore(value: 0)
        queue.async { over.signal() }
        #expect(over.wait(timeout: .now() + 10) == .success && calls.values == ["others", "first", "second"])
    }

    @Test func `calls are one after another on a concurrent queue as well`() {
        let now = Mutex((running: 0, most: 0))
        let queue = CallQueue(.apart)
        let over = DispatchGroup()
        for _ in 0..<200 {
            over.enter()
            queue.async {
                now.withLock { $0 = ($0.running + 1, max($0.most, $0.running + 1)) }
                now.withLock { $0.running -= 1 }
                over.leave()
            }
        }
        #expect(over.wait(timeout: .now() + 10) == .success && now.withLock { $0.most } == 1)
    }
}
