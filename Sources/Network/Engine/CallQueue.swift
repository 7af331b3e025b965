// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Synchronization

/// Calls what a program gave, one after another and in order, on the queue that it gave.
///
/// What gathers while one call runs is called next without waking a thread for each: what happens to a connection comes
/// in bursts, and waking costs more than most calls.
final class CallQueue: Sendable {
    /// A call as it is: an array of bare closures would wrap each in another one.
    private struct Call: Sendable {
        let run: @Sendable () -> Void
    }

    private struct Pending: Sendable {
        var calls: [Call] = []
        /// Whether the queue will come to them.
        var isPlanned = false
        /// How many have more to add before the queue is to come.
        var holds = 0
    }

    /// How many calls gather when a connection becomes ready.
    private static let burst = 8

    private let pending = Mutex(Pending())
    private let target: DispatchQueue

    /// Calls on `target`, which may be concurrent: it has one block of this queue at most.
    init(_ target: DispatchQueue) { self.target = target }

    /// Calls soon; never within this call.
    func async(_ call: @escaping @Sendable () -> Void) {
        let isFirst = pending.withLock { pending in
            if pending.calls.isEmpty { pending.calls.reserveCapacity(Self.burst) }
            pending.calls.append(Call(run: call))
            return Self.plans(&pending)
        }
        if isFirst { plan() }
    }

    /// Calls nothing new until `work` is done, so that all that it brings about wakes one thread once.
    func gathering(_ work: () -> Void) {
        pending.withLock { $0.holds += 1 }
        work()
        let isFirst = pending.withLock { pending in
            pending.holds -= 1
            return Self.plans(&pending)
        }
        if isFirst { plan() }
    }

    /// Whether the queue is to be scheduled now; notes that it was.
    private static func plans(_ pending: inout Pending) -> Bool {
        guard !pending.isPlanned, pending.holds == 0, !pending.calls.isEmpty else { return false }
        pending.isPlanned = true
        return true
    }

    private func plan() { target.async { [self] in run() } }

    private func run() {
        let calls = pending.withLock { pending in
            defer { pending.calls = [] }
            return pending.calls
        }
        for call in calls { call.run() }
        // Others may have work for the program's queue, too: they come before what is new.
        let hasMore = pending.withLock { pending in
            pending.isPlanned = false
            return Self.plans(&pending)
        }
        if hasMore { plan() }
    }
}
