// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import CLinuxShims
internal import Glibc
internal import Synchronization

/// One epoll thread that is a reactor and an executor at once.
///
/// Engines are plain classes confined to the loop's thread: they register descriptors and timers here and their
/// handlers run on that thread, one after another, so engines need no locks. Actors that name the loop as their
/// executor, and tasks that prefer it, run on the same thread. Swift's default executor is never touched, which is
/// why an idle process has no wake-ups at all.
///
/// Everything but ``enqueue(_:)``, ``stop()``, ``perform(_:)`` and ``performNow(_:)`` must be called on the loop's thread
/// (before ``run()``: on the thread that made the loop); a call from elsewhere stops the program at once. A thread that
/// has the loop by ``performNow(_:)`` is the loop's thread for that time.
public final class EventLoop: Sendable {
    public struct Interest: OptionSet, Sendable {
        public let rawValue: UInt32
        public init(rawValue: UInt32) { self.rawValue = rawValue }
        /// There is something to read, or the peer closed.
        public static let readable = Interest(rawValue: EPOLLIN.rawValue)
        public static let writable = Interest(rawValue: EPOLLOUT.rawValue)
        /// The peer closed its writing side (`EPOLLRDHUP`).
        public static let peerClosed = Interest(rawValue: EPOLLRDHUP.rawValue)
        /// Something exceptional, such as a setting below `/proc/sys` that was changed (`EPOLLPRI`).
        public static let exceptional = Interest(rawValue: EPOLLPRI.rawValue)
    }

    /// The readiness of a registered descriptor: the interests that are ready, and `failed`.
    public struct Readiness: OptionSet, Sendable {
        public let rawValue: UInt32
        public init(rawValue: UInt32) { self.rawValue = rawValue }
        /// There is something to read, or the peer closed.
        public static let readable = Readiness(rawValue: EPOLLIN.rawValue)
        public static let writable = Readiness(rawValue: EPOLLOUT.rawValue)
        /// The peer closed its writing side, or both.
        public static let peerClosed = Readiness(rawValue: EPOLLRDHUP.rawValue | EPOLLHUP.rawValue)
        /// An error is pending on the descriptor (`EPOLLERR`).
        public static let failed = Readiness(rawValue: EPOLLERR.rawValue)
    }

    /// Names one registration, so that it can be changed or ended.
    public struct Registration: Hashable, Sendable {
        let token: UInt64
        let descriptor: Int32
    }

    /// Jobs and calls that other threads hand over.
    private struct Inbox {
        var jobs: [UnownedJob] = []
        var calls: [@Sendable () -> Void] = []
        var isStopping = false
        var isAwake = false
    }

    private let inbox = Mutex(Inbox())
    /// Held by the thread that runs the loop: all the time but while the loop waits.
    private let iteration = Mutex(())
    private let epoll: FileDescriptor
    private let wake: FileDescriptor
    /// Registrations and timers; touched on the loop's thread only, which `confine` checks, and within an iteration.
    private nonisolated(unsafe) var reactor: Reactor
    private let owner: Atomic<UInt>

    /// The clock of the timers: `CLOCK_BOOTTIME`.
    public let clock = KernelClock()

    /// Makes a loop; ``run()`` starts it.
    ///
    /// Source: epoll_create1(2), eventfd(2), timerfd_create(2).
    public init() throws(Errno) {
        epoll = FileDescriptor(owning: try Errno.check(nwp_epoll_create()))
        wake = FileDescriptor(owning: try Errno.check(nwp_eventfd()))
        owner = Atomic(UInt(pthread_self()))
        unsafe reactor = try Reactor()
        try add(wake.rawValue, events: EPOLLIN.rawValue, token: Reactor.wakeToken)
        try add(unsafe reactor.timer.rawValue, events: EPOLLIN.rawValue, token: Reactor.timerToken)
    }

    /// Whether the caller is on the loop's thread.
    public var isCurrent: Bool {
        owner.load(ordering: .relaxed) == UInt(pthread_self())
    }

    /// Serves events, timers and jobs on the calling thread until ``stop()``, after which handlers are forgotten.
    public func run() {
        var ready = [nwp_ready](repeating: nwp_ready(), count: 64)
        var count = 0
        while iteration.withLock({ _ in serve(ready, count) }) {
            let result = unsafe nwp_epoll_wait(epoll.rawValue, &ready, 64)
            guard result >= 0 else { preconditionFailure("epoll_wait: \(Errno(result))") }
            count = Int(result)
        }
        // Handlers hold engines, and engines the loop: a loop that is over lets all of them go.
        let remains = unsafe reactor.removeHandlers()
        _ = consume remains
    }

    /// One iteration: the first `count` events, what others handed over, and what was put off.
    /// - Returns: `false` when the loop is to stop.
    private func serve(_ events: [nwp_ready], _ count: Int) -> Bool {
        owner.store(UInt(pthread_self()), ordering: .relaxed)
        unsafe reactor.noteWaking(at: clock.boot)
        var isTimerDue = false
        for index in 0..<count where Reactor.isUrgent(events[index].token) {
            dispatch(events[index].token, events: events[index].events)
        }
        for index in 0..<count where !Reactor.isUrgent(events[index].token) {
            if events[index].token == Reactor.timerToken {
                isTimerDue = true
            } else {
                dispatch(events[index].token, events: events[index].events)
            }
        }
        // What has arrived counts before the time for it is over.
        if isTimerDue { runDueTimers() }
        guard drainInbox() else { return false }
        let onIteration = unsafe reactor.onIteration
        onIteration()
        runDeferred()
        unsafe reactor.arm()
        return true
    }

    /// Makes ``run()`` return after the events in hand; may be called from any thread.
    public func stop() {
        post { $0.isStopping = true }
    }

    /// Runs `work` on the loop's thread soon; may be called from any thread.
    public func perform(_ work: @escaping @Sendable () -> Void) {
        post { $0.calls.append(work) }
    }

    /// Runs `work` on the calling thread, as if it were the loop's, when the loop is idle; may be called from any thread.
    ///
    /// It spares two switches between threads. What was handed over before has run then, and what is handed over
    /// meanwhile runs afterwards on the loop's own thread. Work should be as short as a handler's.
    /// - Returns: `false`, without running it, when the loop has something to do: hand it over by ``perform(_:)``. So it
    ///   is on the loop's own thread.
    public func performNow(_ work: () -> Void) -> Bool {
        guard !isCurrent else { return false }
        let isIdle = inbox.withLock { inbox in
            guard !inbox.isAwake, !inbox.isStopping else { return false }
            inbox.isAwake = true
            return true
        }
        guard isIdle else { return false }
        let hasRun: Void? = iteration.withLockIfAvailable { _ in
            let thread = owner.exchange(UInt(pthread_self()), ordering: .relaxed)
            defer { owner.store(thread, ordering: .relaxed) }
            work()
            runDeferred()
            unsafe reactor.arm()
        }
        let mustWake = inbox.withLock { inbox in
            inbox.isAwake = !inbox.jobs.isEmpty || !inbox.calls.isEmpty || inbox.isStopping
            return inbox.isAwake
        }
        if mustWake { _ = nwp_eventfd_signal(wake.rawValue) }
        return hasRun != nil
    }

    private func post(_ change: (inout Inbox) -> Void) {
        let mustWake = inbox.withLock { inbox in
            change(&inbox)
            defer { inbox.isAwake = true }
            return !inbox.isAwake
        }
        guard mustWake else { return }
        _ = nwp_eventfd_signal(wake.rawValue)
    }

    /// How often the inbox is emptied before descriptors and timers are served.
    private static let rounds = 64

    /// Runs what other threads handed over, until there is nothing more or others have waited long enough.
    /// - Returns: `false` when the loop is to stop.
    private func drainInbox() -> Bool {
        for _ in 0..<Self.rounds {
            let (jobs, calls, isStopping) = inbox.withLock { inbox in
                defer {
                    inbox.jobs.removeAll()
                    inbox.calls.removeAll()
                }
                // The loop goes to sleep only with an empty inbox; from then on a post must wake it.
                if inbox.jobs.isEmpty && inbox.calls.isEmpty { inbox.isAwake = false }
                return (inbox.jobs, inbox.calls, inbox.isStopping)
            }
            if isStopping { return false }
            if jobs.isEmpty && calls.isEmpty { return true }
            for call in calls { call() }
            for job in jobs {
                unsafe job.runSynchronously(
                    isolatedTo: asUnownedSerialExecutor(),
                    taskExecutor: asUnownedTaskExecutor()
                )
            }
        }
        // A job that always enqueues the next must not block descriptors: they are polled, and the loop comes back.
        _ = nwp_eventfd_signal(wake.rawValue)
        return true
    }

    /// Runs what handlers put off, and what that puts off again, until others have waited long enough.
    private func runDeferred() {
        for _ in 0..<Self.rounds {
            let works = unsafe reactor.dequeueDeferred()
            if works.isEmpty { return }
            for work in works { work() }
        }
        _ = nwp_eventfd_signal(wake.rawValue)
    }

    private func dispatch(_ token: UInt64, events: UInt32) {
        switch token {
        case Reactor.wakeToken:
            _ = try? wake.read(upTo: 8)
        default:
            unsafe reactor.handlers[token]?(Readiness(rawValue: events))
        }
    }

    private func runDueTimers() {
        // What is due now, and nothing that handlers add: one that always schedules the next must not block others.
        for due in unsafe reactor.dequeueDueTimers(at: clock.boot) {
            guard let handler = unsafe reactor.removeHandler(of: due.timer) else { continue }
            unsafe reactor.noteLateness(since: due.since, at: clock.boot)
            handler()
        }
    }

    private func confine() {
        precondition(isCurrent, "an event loop was used outside its thread")
    }

    private func add(_ descriptor: Int32, events: UInt32, token: UInt64) throws(Errno) {
        _ = try Errno.check(nwp_epoll_control(epoll.rawValue, EPOLL_CTL_ADD, descriptor, events, token))
    }
}

// MARK: - Descriptors

extension EventLoop {
    /// Calls `handler` whenever `descriptor` is ready, until ``unregister(_:)``.
    ///
    /// Level-triggered.
    ///
    /// The caller keeps the descriptor open while it is registered. Of what is ready in an iteration, handlers that are
    /// `urgent` come first: those that must not wait for others.
    /// - Throws: epoll_ctl(2)'s error, such as `EPERM` for a regular file.
    public func register(
        _ descriptor: Int32,
        for interest: Interest,
        urgent: Bool = false,
        handler: @escaping (Readiness) -> Void
    ) throws(Errno) -> Registration {
        confine()
        let token = unsafe reactor.makeToken(urgent: urgent)
        try add(descriptor, events: interest.rawValue, token: token)
        unsafe reactor.handlers[token] = handler
        return Registration(token: token, descriptor: descriptor)
    }

    /// Changes what a descriptor is registered for; an empty set pauses it (errors still arrive).
    public func change(_ registration: Registration, to interest: Interest) throws(Errno) {
        confine()
        _ = try Errno.check(
            nwp_epoll_control(
                epoll.rawValue,
                EPOLL_CTL_MOD,
                registration.descriptor,
                interest.rawValue,
                registration.token
            )
        )
    }

    /// Ends a registration; its handler is not called again.
    ///
    /// Call it before closing the descriptor.
    public func unregister(_ registration: Registration) {
        confine()
        guard unsafe reactor.handlers.removeValue(forKey: registration.token) != nil else { return }
        _ = nwp_epoll_control(epoll.rawValue, EPOLL_CTL_DEL, registration.descriptor, 0, registration.token)
    }
}

// MARK: - Putting off

extension EventLoop {
    /// Calls `work` once, after the handlers of all events in hand and before the loop waits for more.
    ///
    /// For what gathers over several events, or can wait until what is urgent is done: it costs no timer and no wake-up.
    public func deferring(_ work: @escaping () -> Void) {
        confine()
        unsafe reactor.putOff(work)
    }
}

// MARK: - Iterations

extension EventLoop {
    /// Calls `handler` once in every iteration from now on, after the handlers of all events and before deferred work.
    ///
    /// Runs once per iteration; does not wake the loop. There is one such handler; a later one replaces it.
    public func onIteration(_ handler: @escaping () -> Void) {
        confine()
        unsafe reactor.onIteration = handler
    }
}

// MARK: - Timers

extension EventLoop {
    public struct Timer: Hashable, Sendable {
        let id: UInt64
    }

    /// Calls `handler` once, at `deadline` on `CLOCK_BOOTTIME` or as soon after it as the loop is free.
    @discardableResult
    public func schedule(at deadline: Duration, handler: @escaping () -> Void) -> Timer {
        confine()
        return unsafe reactor.schedule(at: deadline, now: clock.boot, handler: handler)
    }

    /// Calls `handler` once, `delay` from now.
    @discardableResult
    public func schedule(after delay: Duration, handler: @escaping () -> Void) -> Timer {
        schedule(at: clock.boot + delay, handler: handler)
    }

    /// Calls `handler` once, when a peer had `limit` to answer while this loop was running.
    ///
    /// Time for which this loop's timers came late (a busy machine, a long handler, a suspended system) is added, up to
    /// twice `limit`; what arrived meanwhile is served first. If the loop was awake for less than half of `limit` all
    /// the same, the timeout is inconclusive.
    public func scheduleTimeout(after limit: Duration, handler: @escaping (_ isInconclusive: Bool) -> Void) -> Timer {
        confine()
        let timer = unsafe reactor.makeTimer()
        let now = clock.boot
        expect(ExtendedTimeout(limit: limit, started: now, lateness: lateness), timer, at: now + limit, handler)
        return timer
    }

    private func expect(
        _ timeout: ExtendedTimeout,
        _ timer: Timer,
        at deadline: Duration,
        _ handler: @escaping (_ isInconclusive: Bool) -> Void
    ) {
        unsafe reactor.schedule(timer, at: deadline, now: clock.boot) { [unowned self] in
            var timeout = timeout
            let now = clock.boot
            switch timeout.end(at: now, lateness: lateness) {
            case .wait(let more): expect(timeout, timer, at: now + more, handler)
            case .over(let isInconclusive): handler(isInconclusive)
            }
        }
    }

    /// For how long timers came late so far, on the whole.
    public var lateness: Duration { unsafe reactor.lateness }

    /// Forgets a timer; one that has fired is no error.
    public func cancel(_ timer: Timer) {
        confine()
        unsafe reactor.cancel(timer)
    }

    /// Suspends the calling task, which must run on this loop, for `delay`.
    public func sleep(for delay: Duration) async {
        await withCheckedContinuation { continuation in
            perform { [self] in
                schedule(after: delay) { continuation.resume() }
            }
        }
    }
}

// MARK: - Signals

extension EventLoop {
    /// Calls `handler` with the signal's number whenever one of `signals` arrives.
    ///
    /// They are blocked for the calling thread and every thread it starts later, so call this first of all.
    /// Source: signalfd(2).
    public func handleSignals(_ signals: [Int32], handler: @escaping (Int32) -> Void) throws(Errno) {
        confine()
        let descriptor = try Errno.check(unsafe nwp_signalfd(signals, Int32(signals.count)))
        // The registration lives as long as the process; so does the descriptor.
        _ = try register(descriptor, for: .readable, urgent: true) { _ in
            while true {
                let signal = nwp_signalfd_read(descriptor)
                guard signal > 0 else { return }
                handler(signal)
            }
        }
    }
}

// MARK: - Executor

extension EventLoop: SerialExecutor, TaskExecutor {
    /// Enqueues a job of the Swift runtime; may be called from any thread.
    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        post { $0.jobs.append(job) }
    }

    /// Lets an actor find out synchronously that it is on its loop, in handlers as well as in jobs.
    public func checkIsolated() {
        precondition(isCurrent, "the code is not on its event loop")
    }

    /// As ``checkIsolated()``, as a question.
    public func isIsolatingCurrentContext() -> Bool? { isCurrent }
}
