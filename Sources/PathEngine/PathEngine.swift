// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import LinuxIO
public import Netlink
public import PathModel

/// Follows the running kernel: hears it, asks it, and reports each material change, on one event loop.
///
/// Confined to the loop's thread. A kernel message becomes an update in one synchronous call when the debounce is zero.
public final class PathEngine {
    /// Called with every material change, the first look included.
    public var onUpdate: (EngineUpdate) -> Void = { _ in }
    /// Called after lost messages made a full reading necessary, with how long that took and what it found.
    public var onResync: (_ duration: Duration, _ found: StateDifference) -> Void = { _, _ in }
    /// Called when the machine woke up after sleeping this long (rule S49).
    public var onResume: (Duration) -> Void = { _ in }

    /// Called with every batch of notifications before it is judged; for the log at debug level.
    public var onNotices: ((EventBatch) -> Void)?
    /// Called after everything was read again without a sign (rule S9).
    public var onAudit: () -> Void = {}

    /// The pure part.
    public private(set) var core: EngineCore
    private let loop: EventLoop
    private let clock: any TimeSource
    private let kernel: LiveKernel
    private let monitor: KernelMonitor
    private let table: KernelTable
    private var sleep = SleepDetector()
    private var audit: AuditSchedule
    /// When to read everything again because the last reading was not consistent (rule S6).
    private var rereadAt: Duration?
    private var isStarted = false
    private var timer: (handle: EventLoop.Timer, deadline: Duration)?

    /// Opens the netlink sockets in the network namespace of the calling thread.
    ///
    /// - Parameters:
    ///   - loop: Whose thread everything happens on.
    ///   - settings: What shapes the engine.
    ///   - clock: The clock.
    ///   - recorder: Writes down everything that is read, for a replay.
    /// - Throws: ``NetlinkError`` when there is no netlink.
    public init(
        loop: EventLoop,
        settings: EngineSettings = EngineSettings(),
        clock: any TimeSource = KernelClock(),
        recorder: NetlinkRecorder? = nil
    ) throws(NetlinkError) {
        self.loop = loop
        self.clock = clock
        core = EngineCore(settings)
        let watchesNeighbors = settings.gatewayInterval != nil
        let groups = EventGroup.standard.union(watchesNeighbors ? [.neighbor] : [])
        monitor = try KernelMonitor(loop: loop, clock: clock, groups: groups)
        kernel = try LiveKernel()
        kernel.recorder = recorder
        monitor.recorder = recorder
        table = KernelTable(kernel)
        audit = AuditSchedule(interval: settings.auditInterval)
    }

    /// How often an audit found something that no event had told (rule S9).
    public var silentChanges: Int { audit.silentChanges }

    /// What the kernel said so far, counted.
    public var statistics: EventStatistics { monitor.statistics }

    /// The kernel, for questions of other parts on the same loop.
    public var source: any KernelSource { kernel }

    /// Reads everything, reports the first update, and follows the kernel from then on.
    /// - Throws: ``NetlinkError`` when the kernel does not let itself be read.
    public func start() throws(NetlinkError) {
        monitor.onEvents = { [unowned self] in hear($0) }
        monitor.onResync = { [unowned self] in resync() }
        _ = try readAll()
        core.trigger(cause(.initial, source: "rtnetlink"), at: clock.boot)
        isStarted = true
        evaluate()
        do {
            try monitor.start()
        } catch {
            throw .noSocket(step: "epoll_ctl", code: error.rawValue)
        }
    }

    /// Stops hearing and looking.
    public func stop() {
        isStarted = false
        monitor.stop()
        if let timer { loop.cancel(timer.handle) }
        timer = nil
    }

    /// Takes facts that providers found.
    public func take(_ facts: ProviderFacts, from provider: String) {
        core.take(facts, cause: cause(provider == "dns" ? .dns : .policy, source: provider), at: clock.boot)
        advance()
    }

    /// Takes a new configuration.
    public func take(_ settings: EngineSettings) {
        audit.take(interval: settings.auditInterval)
        core.take(settings, cause: cause(.policy, source: "configuration"), at: clock.boot)
        advance()
    }

    /// Reads everything again, for a manager that says the machine woke up (rule S49).
    public func resume() {
        guard isStarted else { return }
        _ = try? readAll()
        core.trigger(cause(.resume, source: "logind"), at: clock.boot)
        advance()
    }

    // MARK: - Hearing

    private func hear(_ batch: EventBatch) {
        notice(at: batch.boot)
        onNotices?(batch)
        for index in core.take(batch) {
            guard let link = try? kernel.link(index: index) else { continue }
            core.reread(index, as: link, cause: cause(.link, source: "rtnetlink", message: "RTM_GETLINK"), at: batch.boot)
        }
        advance()
    }

    private func resync() {
        let started = clock.boot
        let found = (try? readAll()) ?? StateDifference()
        core.trigger(cause(.resync, source: "rtnetlink", message: "ENOBUFS"), at: started)
        evaluate()
        onResync(clock.boot - started, found)
    }

    private func readAll() throws(NetlinkError) -> StateDifference {
        rereadAt = clock.boot + .seconds(1)
        let links = try kernel.links()
        let addresses = try kernel.addresses()
        let now = clock.boot
        if links.isConsistent && addresses.isConsistent { rereadAt = nil }
        return core.replace(links: links.values, addresses: addresses.values, at: now)
    }

    // MARK: - Deciding

    /// Does what is due, then waits for what is next.
    private func advance() {
        guard isStarted else { return }
        switch core.next(at: clock.boot) {
        case .evaluate: evaluate()
        case .wait(let delay): arm(after: delay)
        case .idle: arm(after: nil)
        }
    }

    private func evaluate() {
        let update = core.evaluate(table, clock: clock)
        let kind = update?.cause.kind ?? .expiry
        _ = audit.evaluated(
            isSatisfied: core.monitors.allSatisfy { $0.path.status == .satisfied },
            didChange: update.map { !$0.paths.isEmpty || !$0.changes.isEmpty } ?? false,
            cause: kind,
            at: clock.boot
        )
        if let update { onUpdate(update) }
        switch core.next(at: clock.boot) {
        case .wait(let delay): arm(after: delay)
        case .evaluate: arm(after: .zero)
        case .idle: arm(after: nil)
        }
    }

    /// Arms the one timer for the earliest of `delay`, the next audit and a reading that is to be repeated.
    private func arm(after delay: Duration?) {
        let now = clock.boot
        let deadline = [delay.map { now + $0 }, audit.due, rereadAt].compactMap(\.self).min()
        guard timer?.deadline != deadline else { return }
        if let timer { loop.cancel(timer.handle) }
        timer = deadline.map { deadline in
            (loop.schedule(at: deadline) { [unowned self] in wake() }, deadline)
        }
    }

    private func wake() {
        timer = nil
        let now = clock.boot
        notice(at: now)
        if audit.due.map({ $0 <= now }) ?? false || rereadAt.map({ $0 <= now }) ?? false {
            _ = try? readAll()
            core.trigger(cause(.audit, source: "timer"), at: now)
            evaluate()
            return onAudit()
        }
        advance()
    }

    /// Finds out whether the machine slept since the last look (rule S49).
    private func notice(at now: Duration) {
        guard let slept = sleep.observe(boot: now, awake: clock.awake) else { return }
        _ = try? readAll()
        core.trigger(cause(.resume, source: "timer", slept: slept), at: now)
        onResume(slept)
    }

    private func cause(
        _ kind: CauseKind,
        source: String,
        message: String? = nil,
        slept: Duration? = nil
    ) -> EngineCause {
        EngineCause(kind, source: source, message: message, received: clock.wall, slept: slept)
    }
}
