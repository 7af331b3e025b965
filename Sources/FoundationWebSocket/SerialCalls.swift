// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Synchronization

/// Calls handlers one after another, in order, on a queue of the program that need not be serial.
final class SerialCalls: Sendable {
    private struct Content: Sendable {
        var waiting: [@Sendable () -> Void] = []
        var isCalling = false
    }

    private let queue: OperationQueue
    private let content = Mutex(Content())

    init(_ queue: OperationQueue) { self.queue = queue }

    /// Calls a handler when those before it have returned.
    func call(_ handler: @escaping @Sendable () -> Void) {
        let isFirst = content.withLock { content in
            content.waiting.append(handler)
            defer { content.isCalling = true }
            return !content.isCalling
        }
        if isFirst { callNext() }
    }

    private func callNext() {
        queue.addOperation { [self] in
            content.withLock { $0.waiting.removeFirst() }()
            let isOver = content.withLock { content in
                content.isCalling = !content.waiting.isEmpty
                return !content.isCalling
            }
            if !isOver { callNext() }
        }
    }
}
