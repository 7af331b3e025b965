// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CLinuxShims
internal import Glibc

/// The loop's registrations and timers; confined to the loop's thread.
struct Reactor: ~Copyable {
    static let wakeToken: UInt64 = 0
    static let timerToken: UInt64 = 1
    /// In the token of what comes before everything else.
    private static let urgency: UInt64 = 1 << 63

    var handlers: [UInt64: (EventLoop.Readiness) -> Void] = [:]
    let timer: FileDescriptor
    /// Called once per iteration.
    var onIteration: () -> Void = {}

    private var deferred: [() -> Void] = []
    private var lastToken: UInt64 = 1
    private var lastTimer: UInt64 = 0
    private var timers: [UInt64: () -> Void] = [:]
    /// Pending deadlines, latest first, so that the next one is popped from the end.
    ///
    /// Entries of cancelled timers stay until their time comes: `timers` is what decides. One that was in the past already
    /// when it was scheduled is due from then on.
    private var deadlines: [(deadline: Duration, id: UInt64, due: Duration)] = []
    private var armed: Duration?
    /// Since when a timer waits for the loop, as the plan was when the loop began to wait.
    private var wanted: Duration?
    /// For how long timers came late, on the whole; of several at once the time counts once.
    private(set) var lateness = Duration.zero
    private var noted = Duration.zero

    init() throws(Errno) {
        timer = FileDescriptor(owning: try Errno.check(nwp_timerfd(CLOCK_BOOTTIME)))
    }

    mutating func makeToken(urgent: Bool = false) -> UInt64 {
        lastToken += 1
        return urgent ? lastToken | Self.urgency : lastToken
    }

    static func isUrgent(_ token: UInt64) -> Bool { token & urgency != 0 }

    mutating func makeTimer() -> EventLoop.Timer {
        lastTimer += 1
        return EventLoop.Timer(id: lastTimer)
    }

    mutating func schedule(at deadline: Duration, now: Duration, handler: @escaping () -> Void) -> EventLoop.Timer {
        let timer = makeTimer()
        schedule(timer, at: deadline, now: now, handler: handler)
        return timer
    }

    mutating func schedule(
        _ timer: EventLoop.Timer,
        at deadline: Duration,
        now: Duration,
        handler: @escaping () -> Void
    ) {
        timers[timer.id] = handler
        var low = 0
        var high = deadlines.count
        while low < high {
            let middle = (low + high) / 2
            if deadlines[middle].deadline > deadline { low = middle + 1 } else { high = middle }
        }
        deadlines.insert((deadline, timer.id, max(deadline, now)), at: low)
    }

    mutating func cancel(_ timer: EventLoop.Timer) {
        guard timers.removeValue(forKey: timer.id) != nil else { return }
        // Cancelling is mostly done to the next timer or a recent one; sweep when the dead outnumber the living.
        if deadlines.count > 32 && deadlines.count > 2 * timers.count {
            deadlines.removeAll { timers[$0.id] == nil }
        }
    }

    /// Dequeues the timers that are due, the earliest first.
    mutating func dequeueDueTimers(at now: Duration) -> [(timer: EventLoop.Timer, since: Duration)] {
        _ = try? timer.read(upTo: 8)
        armed = nil
        var due: [(timer: EventLoop.Timer, since: Duration)] = []
        while let last = deadlines.last, last.deadline <= now {
            deadlines.removeLast()
            due.append((EventLoop.Timer(id: last.id), last.due))
        }
        return due
    }

    /// Counts how late the loop wakes up, as an iteration begins: what happened meanwhile may cancel every timer that
    /// was due.
    mutating func noteWaking(at now: Duration) {
        if let wanted { noteLateness(since: wanted, at: now) }
        wanted = nil
    }

    /// Counts how late a timer is that was due since then.
    mutating func noteLateness(since due: Duration, at now: Duration) {
        guard due < now else { return }
        lateness += max(.zero, now - max(due, noted))
        noted = max(noted, now)
    }

    /// Removes the handler of a timer; `nil` when it was cancelled meanwhile.
    mutating func removeHandler(of timer: EventLoop.Timer) -> (() -> Void)? {
        timers.removeValue(forKey: timer.id)
    }

    /// Gives up every handler and timer, so that the caller can release them while the reactor is at rest.
    mutating func removeHandlers() -> [Any] {
        defer {
            handlers = [:]
            timers = [:]
            deadlines = []
            deferred = []
            onIteration = {}
        }
        return [handlers, timers, deferred, onIteration]
    }

    mutating func putOff(_ work: @escaping () -> Void) { deferred.append(work) }

    mutating func dequeueDeferred() -> [() -> Void] {
        let works = deferred
        if !works.isEmpty { deferred = [] }
        return works
    }

    private mutating func dropCancelled() {
        while let last = deadlines.last, timers[last.id] == nil { deadlines.removeLast() }
    }

    /// Sets the descriptor to the next deadline; the loop calls it once before it waits, however many timers changed.
    mutating func arm() {
        dropCancelled()
        let next = deadlines.last?.deadline
        wanted = deadlines.last?.due
        guard next != armed else { return }
        armed = next
        // An absolute time of zero would disarm the timer; anything in the past fires at once.
        let nanoseconds = next.map { max(1, $0.nanoseconds) } ?? 0
        let result = nwp_timerfd_arm(timer.rawValue, nanoseconds, 0)
        precondition(result == 0, "timerfd_settime: \(Errno(result))")
    }
}
