// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
@testable import FoundationWebSocket
import Testing

@Suite struct SerialCallsTests {
    @Test(arguments: [1, 16]) func `handlers are called in order, one at a time, on any queue`(width: Int) async {
        let queue = OperationQueue.apart
        queue.maxConcurrentOperationCount = width
        let calls = SerialCalls(queue)
        let (running, order, clashes) = (Record<Int>(), Record<Int>(), Record<Int>())
        let ended = Record<Int>()
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            for number in 0..<500 {
                calls.call {
                    running.append(number)
                    if running.values.count != ended.values.count + 1 { clashes.append(number) }
                    order.append(number)
                    ended.append(number)
                    if number == 499 { continuation.resume() }
                }
            }
        }
        #expect(order.values == Array(0..<500) && clashes.values.isEmpty)
    }

    @Test func `a handler may ask for more, and so may several threads`() async {
        let calls = SerialCalls(.apart)
        let told = Record<Int>()
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            DispatchQueue.concurrentPerform(iterations: 8) { number in
                for _ in 0..<50 {
                    calls.call {
                        told.append(number)
                        calls.call {
                            told.append(-1)
                            if told.values.count == 800 { continuation.resume() }
                        }
                    }
                }
            }
        }
        #expect(told.values.count == 800 && told.values.count { $0 == -1 } == 400)
    }
}
