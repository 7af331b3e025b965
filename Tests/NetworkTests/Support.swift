// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization
import TestSupport
import Testing

/// What handlers on other threads were told, in order.
final class Record<Value: Sendable>: Sendable {
    private let storage = Mutex<[Value]>([])

    /// Everything so far.
    var values: [Value] { storage.withLock { $0 } }

    func append(_ value: Value) { storage.withLock { $0.append(value) } }
}

extension Namespace {
    /// Gives this namespace an address and a default route via a cable to a router.
    func connectToRouter(_ router: Namespace, by name: String = "v0", number: Int = 1) throws {
        try connect(name, to: router, as: "r\(number)")
        try ip("addr add 198.51.\(number).1/24 dev \(name)")
        try router.ip("addr add 198.51.\(number).254/24 dev r\(number)")
        try ip("route add default via 198.51.\(number).254 dev \(name) metric \(number)")
    }
}

extension DispatchQueue {
    /// Keeps the queue busy until the semaphore is signalled.
    func block(until semaphore: DispatchSemaphore) { async { semaphore.wait() } }
}
