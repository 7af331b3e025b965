// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Decides which paths a monitor delivers: each path once, the newest only, never two equal ones in a row.
///
/// Pure. At most one call of the handler runs or is on its queue at any time, so that calls are serial even on a
/// concurrent queue.
struct PathDelivery: Sendable {
    /// The newest path; `nil` before the first one.
    private(set) var current: NWPath?
    private var delivered: NWPath?
    private var isStarted = false
    private var isCancelled = false
    private var hasHandler = false
    private var isScheduled = false

    /// Adds a path.
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

    /// A handler was set, or removed; a new one receives the current path in any case.
    /// - Returns: Whether to schedule ``dequeue()`` on the queue.
    mutating func setHandler(_ isPresent: Bool) -> Bool {
        hasHandler = isPresent
        delivered = nil
        return schedule()
    }

    /// No more paths are delivered.
    mutating func cancel() { isCancelled = true }

    /// The queue came to it.
    /// - Returns: What to pass to the handler; `nil` when there is nothing, which ends this run.
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
