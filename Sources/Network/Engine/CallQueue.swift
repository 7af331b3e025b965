// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Synchronization

/// Calls what a program gave, one after another and in order, on the queue that it gave.
///
/// What gathers while one call runs is called next without waking a thread for each: what happens to a connection comes
/// in bursts, and waking costs more than most calls.
final class CallQueue: Sendable {
    private struct Pending: Sendable {
        var calls: [@Sendable () -> Void] = []
        /// Whether the queue will come to them.
        var isPlanned = false
    }

    private let pending = Mutex(Pending())
    private let serial: DispatchQueue

    /// Calls on `target`, which may be concurrent.
    init(_ label: String, target: DispatchQueue) { serial = DispatchQueue(label: label, target: target) }

    /// Calls soon; never within this call.
    func async(_ call: @escaping @Sendable () -> Void) {
        let isFirst = pending.withLock { pending in
            pending.calls.append(call)
            defer { pending.isPlanned = true }
            return !pending.isPlanned
        }
        if isFirst { plan() }
    }

    private func plan() { serial.async { [self] in run() } }

    private func run() {
        let calls = pending.withLock { pending in
            defer { pending.calls = [] }
            return pending.calls
        }
        for call in calls { call() }
        // Others may have work for the program's queue, too: they come before what is new.
        let hasMore = pending.withLock { pending in
            pending.isPlanned = !pending.calls.isEmpty
            return pending.isPlanned
        }
        if hasMore { plan() }
    }
}
