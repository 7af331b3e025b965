// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing
public import LinuxIO
public import Netlink
public import PathModel

/// Follows the running kernel: receives notifications, queries it, and reports each material change, on one event loop.
///
/// Confined to the loop's thread. A kernel message becomes an update in one synchronous call when the debounce is zero.
public final class PathEngine {
    /// What it reports, in the order in which it happens.
    public enum Event {
        /// Everything was read for the first time, and not evaluated yet: facts about it can be part of the first update.
        case firstReading
        /// A material change, the first evaluation included.
        case update(EngineUpdate)
        /// A batch of notifications before it is evaluated.
        case notices(EventBatch)
        /// A link or an address changed after the first reading, that of an ignored interface included, as soon as the
        /// kernel announced it: changes that follow within 50 ms are published together.
        case links
        /// Everything was read again after messages were lost: the duration, and what it found.
        case resync(duration: Duration, found: StateDifference)
        /// The machine woke up after sleeping this long (rule S49).
        case resume(slept: Duration)
        /// Everything was read again without a trigger (rule S9).
        case audit
    }

    public private(set) var core: EngineCore
    private var publish: (Event) -> Void = { _ in }
    private let loop: EventLoop
    private let clock: any TimeSource
    private let kernel: LiveKernel
    private let reader: Reader
    /// `nil` where there are no notifications (rule S50).
    private let monitor: KernelMonitor?
    private var output: OutputMonitor?
    /// The kernel's table, for questions of other parts on the same loop.
    public let table: KernelTable
    private let expecting: AnticipatingTable
    private var sleep = SleepDetector()
    private var audit: AuditSchedule
    private var gateways: GatewaySchedule
    /// What the kernel lets through.
    private var attached = NotificationFilter()
    /// Why everything is being read; empty while it is not.
    private var readingCauses: [(cause: EngineCause, since: Duration)] = []
    /// Whether time alone is among them.
    private var isTimedReading = false
    /// Whether the present reading may have begun too early.
    private var mustReadAgain = false
    /// Since when notifications are missing that nothing read makes up for yet, as time since boot.
    private var incompleteSince: Duration?
    /// When to read everything again because the last reading was not consistent (rule S6).
    private var rereadAt: Duration?
    private var isStarted = false
    private var timer: (handle: EventLoop.Timer, deadline: Duration)?
    private var linkPacer = ChangePacer()
    private var linkTimer: EventLoop.Timer?
    /// Which state ``Event/links`` last published.
    private var publishedRevision: UInt64 = 0

    /// Opens the netlink sockets in the network namespace of the calling thread.
    ///
    /// - Parameters:
    ///   - loop: Whose thread everything happens on.
    ///   - settings: What shapes the engine.
    ///   - clock: The clock.
    ///   - recorder: Writes down everything that is read, for a replay.
    /// - Throws: ``NetlinkError`` when there is no netlink.
    public convenience init(
        loop: EventLoop,
        settings: EngineSettings = EngineSettings(),
        clock: any TimeSource = KernelClock(),
        recorder: NetlinkRecorder? = nil
    ) throws(NetlinkError) {
        try self.init(loop: loop, settings: settings, clock: clock, recorder: recorder) { groups throws(NetlinkError) in
            try KernelMonitor(loop: loop, clock: clock, groups: groups)
        }
    }

    /// Reads everything, on whatever thread.
    typealias Reader = @Sendable () throws(NetlinkError) -> KernelReading

    /// As above, with a reader and a monitor of the caller's.
    init(
        loop: EventLoop,
        settings: EngineSettings,
        clock: any TimeSource,
        recorder: NetlinkRecorder?,
        reading: @escaping Reader = { () throws(NetlinkError) in try KernelReading(of: try LiveKernel()) },
        listening: (Set<EventGroup>) throws(NetlinkError) -> KernelMonitor
    ) throws(NetlinkError) {
        self.loop = loop
        self.clock = clock
        reader = reading
        core = EngineCore(settings)
        do throws(NetlinkError) {
            monitor = try listening(Set(EventGroup.allCases))
        } catch {
            guard error.isWithoutNotifications else { throw error }
            monitor = nil
        }
        kernel = try LiveKernel()
        kernel.recorder = recorder
        monitor?.recorder = recorder
        table = KernelTable(kernel)
        expecting = AnticipatingTable(kernel, table)
        gateways = GatewaySchedule(interval: settings.gatewayInterval)
        audit = AuditSchedule(interval: Self.auditInterval(settings, isPolling: monitor == nil))
    }

    /// How often to read everything without notifications (rule S50).
    public static let pollInterval = Duration.seconds(10)

    private static func auditInterval(_ settings: EngineSettings, isPolling: Bool) -> Duration {
        let wanted = settings.auditInterval
        guard isPolling else { return wanted }
        return wanted == .zero ? pollInterval : min(wanted, pollInterval)
    }

    /// Whether there are no notifications, so that everything is read every ten seconds (rule S50).
    public var isPolling: Bool { monitor == nil }

    /// How often an audit found something that no event had announced (rule S9).
    public var silentChanges: Int { audit.silentChanges }

    /// What the kernel said so far, counted.
    public var statistics: EventStatistics { monitor?.statistics ?? EventStatistics() }

    /// Whether notifications were lost and not everything is read again yet, so that the answer may be an old one.
    public var isRecovering: Bool { incompleteSince != nil || monitor?.isRecovering ?? false }

    /// The path of the first monitor, as it was last published.
    public var path: Path { core.monitors.first?.path ?? Path() }

    /// Since when its status stands, as time since boot; `nil` before the first evaluation.
    public var statusSince: Duration? { core.monitors.first?.tracker.statusSince }

    /// The kernel, for questions of other parts on the same loop.
    public var source: any KernelSource { kernel }

    /// Reads everything, reports the first update, and follows the kernel from then on.
    /// - Throws: ``NetlinkError`` when the kernel does not let itself be read.
    public func start(_ handler: @escaping (Event) -> Void = { _ in }) throws(NetlinkError) {
        publish = handler
        monitor?.onEvents = { [unowned self] in handle($0) }
        monitor?.onResync = { [unowned self] in resync() }
        _ = sleep.observe(boot: clock.boot, awake: clock.awake)
        beginReading()
        _ = apply(try KernelReading(of: kernel))
        publish(.firstReading)
        publishedRevision = core.linkRevision
        core.trigger(cause(.initial, source: "rtnetlink"), at: clock.boot)
        isStarted = true
        output = OutputMonitor(loop, pause: { [kernel] in kernel.filterReading * 20 }) { [unowned self] in
            noteOutput($0)
        }
        evaluate()
        do {
            try monitor?.start()
        } catch {
            throw .noSocket(step: "epoll_ctl", code: error.rawValue)
        }
    }

    public func stop() {
        isStarted = false
        monitor?.stop()
        output?.stop()
        output = nil
        if let timer { loop.cancel(timer.handle) }
        timer = nil
        if let linkTimer { loop.cancel(linkTimer) }
        linkTimer = nil
    }

    public func apply(_ facts: ProviderFacts, from provider: String) {
        core.apply(facts, cause: cause(provider == "dns" ? .dns : .policy, source: provider), at: clock.boot)
        advance()
    }

    public func apply(_ settings: EngineSettings) {
        let old = core.settings
        audit.apply(interval: Self.auditInterval(settings, isPolling: isPolling))
        if settings.gatewayInterval != old.gatewayInterval {
            gateways = GatewaySchedule(interval: settings.gatewayInterval)
        }
        core.apply(settings, cause: cause(.policy, source: "configuration"), at: clock.boot)
        advance()
    }

    /// Makes the kernel find out whether gateways in use answer; what it finds comes as an event (rule S52).
    public func probeGateways(_ isWanted: (IPAddress) -> Bool = { _ in true }) {
        guard core.settings.gatewayInterval != nil else { return }
        probe(core.state.gatewaysInUse.filter { isWanted($0.address) })
    }

    /// Reads everything again, for a manager that says the machine woke up (rule S49).
    public func resume() {
        guard isStarted else { return }
        guard !notice(at: clock.boot) else { return advance() }
        readAll(because: cause(.resume, source: "logind"), since: clock.boot)
    }

    // MARK: - Notifications

    private func handle(_ batch: EventBatch) {
        _ = notice(at: batch.boot)
        publish(.notices(batch))
        table.outdate(by: batch)
        for index in core.apply(batch) {
            do {
                let link = try kernel.link(index: index)
                let cause = cause(.link, source: "rtnetlink", message: "RTM_GETLINK")
                core.reread(index, as: link, cause: cause, at: batch.boot)
            } catch {
                rereadAt = rereadAt ?? batch.boot + .seconds(1)
            }
        }
        // A bridge may soon have forgotten where they are.
        read(core.state.unreadNeighbors)
        advance()
        publishLinks()
    }

    /// Packet filters or IPsec policies changed.
    private func noteOutput(_ rules: OutputRules) {
        let now = clock.boot
        switch rules {
        case .filters: table.outdateOutput()
        case .policies: table.outdatePolicies()
        }
        let (source, message) = rules == .filters ? ("nf_tables", "NFT_MSG_NEWGEN") : ("xfrm", "XFRM_MSG_NEWPOLICY")
        core.trigger(cause(.policy, source: source, message: message), at: now)
        advance()
    }

    private func resync() {
        let now = clock.boot
        incompleteSince = incompleteSince ?? now
        readAll(because: cause(.resync, source: "rtnetlink", message: "ENOBUFS"), since: now)
    }

    private func publishLinks() {
        guard isStarted, core.linkRevision != publishedRevision, linkTimer == nil else { return }
        let now = clock.boot
        let due = linkPacer.due(at: now)
        guard due <= now else {
            linkTimer = loop.schedule(at: due) { [weak self] in
                self?.linkTimer = nil
                self?.publishLinks()
            }
            return
        }
        linkPacer.record(at: now)
        publishedRevision = core.linkRevision
        publish(.links)
    }

    // MARK: - Reading

    /// Reads everything on a thread of its own, then evaluates: while many interfaces go down, anywhere on the machine, the
    /// kernel holds up such questions for seconds.
    ///
    /// Notifications that arrive meanwhile are handled afterwards.
    /// - Parameters:
    ///   - cause: Why.
    ///   - since: Since when, as time since boot, something may have been different.
    private func readAll(because cause: EngineCause, since: Duration) {
        mustReadAgain = isReading
        readingCauses.append((cause, since))
        if !mustReadAgain { startReading() }
    }

    private var isReading: Bool { !readingCauses.isEmpty }

    private func startReading() {
        beginReading()
        monitor?.pause()
        do {
            // A recorder records every request, on this thread.
            if kernel.recorder != nil { throw Errno.again }
            try loop.offload { [reader] in
                Result(catching: reader)
            } completion: { [weak self] in
                self?.finish($0)
            }
        } catch {
            finish(Result { () throws(NetlinkError) in try KernelReading(of: kernel) })
        }
    }

    private func beginReading() {
        rereadAt = clock.boot + .seconds(1)
        audit.read(at: clock.boot)
    }

    private func finish(_ result: Result<KernelReading, NetlinkError>) {
        guard isStarted else { return }
        if mustReadAgain {
            mustReadAgain = false
            return startReading()
        }
        let causes = readingCauses
        let isTimed = isTimedReading
        readingCauses = []
        isTimedReading = false
        // What cannot be read is tried again after a second.
        let found = (try? result.get()).map(apply)
        let completed = incompleteSince
        if found != nil { incompleteSince = nil }
        func trigger(audits: Bool) {
            for (cause, since) in causes where (cause.kind == .audit) == audits { core.trigger(cause, at: since) }
        }
        trigger(audits: false)
        // Refused, the next reading tries again.
        try? monitor?.resume()
        // What the kernel has said by now is no silent change.
        monitor?.poll()
        trigger(audits: true)
        evaluate()
        if let found, let completed { publish(.resync(duration: clock.boot - completed, found: found)) }
        if isTimed { publish(.audit) }
    }

    private func apply(_ reading: KernelReading) -> StateDifference {
        if reading.isConsistent { rereadAt = nil }
        read(core.state.trackedNeighbors)
        table.outdate()
        return core.replace(links: reading.links, addresses: reading.addresses, at: clock.boot)
    }

    /// - Returns: Whether an evaluation could come out differently.
    @discardableResult
    private func read(_ neighbors: some Sequence<NeighborKey>) -> Bool {
        var mayDiffer = false
        for key in neighbors {
            let entry = kernel.entry(of: key, over: core.state.bridge(below: key.index))
            if core.apply(entry, of: key) { mayDiffer = true }
        }
        return mayDiffer
    }

    // MARK: - Deciding

    private func advance() {
        guard isStarted else { return }
        switch core.next(at: clock.boot) {
        case .evaluate: evaluate()
        case .wait(let delay): arm(after: delay)
        case .idle: arm(after: nil)
        }
    }

    private func evaluate() {
        var rounds = 1
        // What an answer newly rests on was not listened to while it was made.
        while evaluateOnce(), rounds < 3 { rounds += 1 }
        publishLinks()
    }

    /// - Returns: Whether to evaluate again at once.
    private func evaluateOnce() -> Bool {
        let due = core.due(at: clock.boot)
        if due.isConfirmable, expecting.givesSameAnswers() {
            core.confirm()
            armForNext()
            return false
        }
        if due.change { table.outdateRoutes() }
        if due.check { table.outdateDefaultRoutes() }
        expecting.begin()
        let update = core.evaluate(expecting, clock: clock, neighbor: kernel.entry) {
            (try? kernel.link(index: $0)) ?? nil
        }
        expecting.end()
        // The change is published first; what follows from the evaluation can wait.
        if let update { publish(.update(update)) }
        guard isStarted else { return false }
        let mayFollow = table.readDefaultRoutes()
        let kind = update?.cause.kind ?? .expiry
        _ = audit.evaluated(
            isSatisfied: core.monitors.first?.path.status == .satisfied,
            didChange: update.map { !$0.paths.isEmpty || !$0.changes.isEmpty } ?? false,
            cause: isPolling ? .policy : kind
        )
        if core.settings.gatewayInterval != nil { probe(gateways.track(core.state.gatewaysInUse, at: clock.boot)) }
        let mayHaveMissed = followAnswer(narrows: kind == .audit)
        armForNext()
        return mayHaveMissed || mayFollow
    }

    private func armForNext() {
        switch core.next(at: clock.boot) {
        case .wait(let delay): arm(after: delay)
        case .evaluate: arm(after: .zero)
        case .idle: arm(after: nil)
        }
    }

    /// Lets those notifications through that the answer rests on; others are only shut out when `narrows`, for an answer
    /// that changes to and fro.
    /// - Returns: Whether the answer may be another one: what it newly rests on may have changed before it was announced.
    private func followAnswer(narrows: Bool) -> Bool {
        let wanted = NotificationFilter(for: core.state, restingOn: core.restsOn)
        let isNew = !attached.covers(wanted)
        guard isNew || narrows && attached != wanted else { return false }
        // Refused, changes are found by audits.
        guard (try? monitor?.attach(wanted)) != nil else { return false }
        let known = attached
        attached = wanted
        guard isNew else { return false }
        // Of a neighbour its entry says whether it changed, of a route only another lookup.
        return read(core.state.trackedNeighbors.filter { !known.neighbors.contains($0.address) })
            || !known.destinations.isSuperset(of: wanted.destinations)
            || !known.hardwareAddresses.isSuperset(of: wanted.hardwareAddresses)
    }

    /// When to read everything again: for an audit, or because the last reading was not consistent.
    ///
    /// Not during a burst, whose end brings an evaluation anyway.
    private var readingDue: Duration? {
        core.isPending || isReading ? nil : audit.due.earlier(rereadAt)
    }

    /// Arms the one timer for the earliest of `delay`, the next reading and the next probe of gateways.
    private func arm(after delay: Duration?) {
        let now = clock.boot
        let deadline = delay.map { now + $0 }.earlier(readingDue).earlier(gateways.due)
        guard timer?.deadline != deadline else { return }
        if let timer { loop.cancel(timer.handle) }
        timer = deadline.map { deadline in
            (loop.schedule(at: deadline) { [weak self] in self?.wake() }, deadline)
        }
    }

    private func wake() {
        timer = nil
        monitor?.poll()
        let now = clock.boot
        _ = notice(at: now)
        probe(gateways.dequeueDue(at: now))
        guard let readingDue, readingDue <= now, !core.isCheckDue(at: now) else { return advance() }
        let isRepeated = rereadAt.map { $0 <= now } ?? false
        let cause = cause(isRepeated ? .resync : .audit, source: isPolling ? "poll" : "timer")
        isTimedReading = true
        readAll(because: cause, since: now)
    }

    /// Makes the kernel find out whether these gateways answer; what it finds comes as an event (rule S52).
    private func probe(_ keys: Set<NeighborKey>) {
        for key in keys {
            do {
                if try kernel.probeNeighbor(key.address, index: key.index) { continue }
            } catch .notPermitted {
            } catch {
                // ENODEV: an RTM_DELLINK follows.
                continue
            }
            // Without the privilege, and for an entry of another program, a packet to nobody has the same effect; when
            // it cannot be sent, others report why.
            try? DiscardDatagram.send(to: key.address, index: key.index)
        }
    }

    /// Detects whether the machine slept since the last call (rule S49).
    private func notice(at now: Duration) -> Bool {
        guard let slept = sleep.observe(boot: now, awake: clock.awake) else { return false }
        core.slept(until: now)
        let cause = cause(.resume, source: "timer", slept: slept)
        readAll(because: cause, since: now)
        core.trigger(cause, at: now)
        publish(.resume(slept: slept))
        return true
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
