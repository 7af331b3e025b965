// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Decides what a monitor tells its handler: each path once, the newest only, never two equal ones in a row.
///
/// Pure. At most one call of the handler is under way or on its queue at any time, so that calls are serial even on a
/// concurrent queue.
struct PathDelivery: Sendable {
    /// The newest path; `nil` before the first one.
    private(set) var current: NWPath?
    private var delivered: NWPath?
    private var isStarted = false
    private var isCancelled = false
    private var hasHandler = false
    private var isScheduled = false

    /// Takes a path.
    /// - Returns: Whether to schedule ``dequeue()`` on the queue.
    mutating func offer(_ path: NWPath) -> Bool {
        guard !isCancelled else { return false }
        current = path
        return schedule()
    }

    /// The monitor was started.
    /// - Returns: Whether to schedule ``dequeue()`` on the queue.
    mutating func start() -> Bool {
        isStarted = true
        return schedule()
    }

    /// A handler was set, or removed; a new one is told the current path in any case.
    /// - Returns: Whether to schedule ``dequeue()`` on the queue.
    mutating func setHandler(_ isPresent: Bool) -> Bool {
        hasHandler = isPresent
        delivered = nil
        return schedule()
    }

    /// Nothing is told any more.
    mutating func cancel() { isCancelled = true }

    /// The queue came to it.
    /// - Returns: What to tell the handler; `nil` when there is nothing to tell, which ends the turn.
    mutating func dequeue() -> NWPath? {
        guard isPending, let current else {
            isScheduled = false
            return nil
        }
        delivered = current
        return current
    }

    /// The handler returned.
    /// - Returns: Whether to schedule ``dequeue()`` on the queue again.
    mutating func end() -> Bool {
        isScheduled = false
        return schedule()
    }

    private var isPending: Bool { isStarted && !isCancelled && hasHandler && current != nil && current != delivered }

    private mutating func schedule() -> Bool {
        guard isPending, !isScheduled else { return false }
        isScheduled = true
        return true
    }
}
