// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import LinuxIO
public import Netlink
public import PathModel

/// Follows a recording as ``PathEngine`` follows the running kernel: the same core, the same deadlines, no waiting.
///
/// What providers knew is not part of a recording, and neither is sleep; everything the kernel said is.
public final class ReplayEngine {
    /// Called with every material change, the first evaluation included.
    public var onUpdate: (EngineUpdate) -> Void = { _ in }
    /// Called after lost messages made a full reading necessary, with what it found.
    public var onResync: (StateDifference) -> Void = { _ in }
    /// Called after each step of the recording.
    public var onStep: (RecordedKernel.Step) -> Void = { _ in }
    /// Called before time moves, so that a replay can be paced.
    public var onAdvance: (Duration) -> Void = { _ in }

    public let clock: ReplayClock
    public private(set) var core: EngineCore
    /// How often the recorded machine lost messages so far.
    public private(set) var overruns = 0

    private let kernel: RecordedKernel
    public let table: KernelTable
    private var audit: AuditSchedule
    private var recovery = OverrunRecovery()
    private var rereadAt: Duration?
    private var resyncAt: Duration?
    private var wakes = 0

    /// How often timers fire between two steps: a file with a gap of years must not hang.
    private static let maximumWakes = 3000

    /// Stands before the first frame.
    public init(_ recording: NetlinkRecording, settings: EngineSettings = EngineSettings()) {
        clock = ReplayClock(recording)
        kernel = RecordedKernel(recording)
        core = EngineCore(settings)
        table = KernelTable(kernel)
        audit = AuditSchedule(interval: settings.auditInterval)
    }

    /// Replays everything, to the last frame.
    /// - Throws: ``NetlinkError/notRecorded(request:)`` when the recording does not even hold the first reading.
    public func run() throws(NetlinkError) {
        _ = try readAll()
        trigger(.initial)
        evaluate()
        while let next = kernel.nextTime {
            if wakes < Self.maximumWakes, let deadline, deadline <= next {
                wakes += 1
                move(to: deadline)
                wake()
            } else {
                wakes = 0
                move(to: next)
                guard let step = kernel.advance() else { break }
                apply(step)
                onStep(step)
            }
        }
    }

    private var deadline: Duration? {
        if let resyncAt { return resyncAt }
        let now = clock.boot
        var deadlines = [readingDue]
        var core = core
        switch core.next(at: now) {
        case .evaluate: deadlines.append(now)
        case .wait(let delay): deadlines.append(now + delay)
        case .idle: break
        }
        return deadlines.compactMap(\.self).min()
    }

    /// When everything is read again, which bursts put off as they do live.
    private var readingDue: Duration? {
        core.isPending ? nil : [audit.due, rereadAt].compactMap(\.self).min()
    }

    private func move(to time: Duration) {
        guard time > clock.boot else { return }
        onAdvance(time)
        clock.move(to: time)
        kernel.now = clock.boot
    }

    // MARK: - Notifications

    private func apply(_ step: RecordedKernel.Step) {
        switch step {
        case .events(let batch): handle(batch)
        case .resync(let boot): recover(at: boot)
        case .connections, .end: break
        }
    }

    private func handle(_ batch: EventBatch) {
        // What was read together with the report of a loss was discarded.
        guard kernel.nextLoss != batch.boot, resyncAt == nil else { return }
        table.outdate(by: batch)
        for index in core.apply(batch) {
            do {
                let link = try kernel.link(index: index)
                core.reread(index, as: link, cause: cause(.link, message: "RTM_GETLINK"), at: batch.boot)
            } catch {
                rereadAt = rereadAt ?? batch.boot + .seconds(1)
            }
        }
        read(core.state.unreadNeighbors)
        advance()
    }

    private func read(_ neighbors: some Sequence<NeighborKey>) {
        for key in neighbors { core.apply(kernel.entry(of: key, over: core.state.bridge(below: key.index)), of: key) }
    }

    private func recover(at now: Duration) {
        overruns += 1
        resyncAt = now + recovery.overran(at: now)
    }

    private func resync() {
        resyncAt = nil
        recovery.resynced(at: clock.boot)
        let found = (try? readAll()) ?? StateDifference()
        trigger(.resync, message: "ENOBUFS")
        evaluate()
        onResync(found)
    }

    private func readAll() throws(NetlinkError) -> StateDifference {
        rereadAt = clock.boot + .seconds(1)
        audit.read(at: clock.boot)
        let links = try kernel.links()
        let addresses = try kernel.addresses()
        if links.isConsistent && addresses.isConsistent { rereadAt = nil }
        read(core.state.trackedNeighbors)
        table.outdate()
        return core.replace(links: links.values, addresses: addresses.values, at: clock.boot)
    }

    // MARK: - Deciding

    private func advance() {
        if case .evaluate = core.next(at: clock.boot) { evaluate() }
    }

    private func evaluate() {
        // An answer may follow from what is only read after it.
        if evaluateOnce() { _ = evaluateOnce() }
    }

    /// - Returns: Whether to evaluate again at once.
    private func evaluateOnce() -> Bool {
        if core.isChangeDue(at: clock.boot) { table.outdateRoutes() }
        if core.isCheckDue(at: clock.boot) { table.outdateDefaultRoutes() }
        let update = core.evaluate(table, clock: clock, neighbor: kernel.entry) { (try? kernel.link(index: $0)) ?? nil }
        _ = audit.evaluated(
            isSatisfied: core.monitors.first?.path.status == .satisfied,
            didChange: update.map { !$0.paths.isEmpty || !$0.changes.isEmpty } ?? false,
            cause: update?.cause.kind ?? .expiry
        )
        if let update { onUpdate(update) }
        return table.readDefaultRoutes()
    }

    private func wake() {
        let now = clock.boot
        if resyncAt != nil { return resync() }
        guard let readingDue, readingDue <= now, !core.isCheckDue(at: now) else { return advance() }
        let isRepeated = rereadAt.map { $0 <= now } ?? false
        _ = try? readAll()
        trigger(isRepeated ? .resync : .audit, source: "timer")
        evaluate()
    }

    private func trigger(_ kind: CauseKind, source: String = "rtnetlink", message: String? = nil) {
        core.trigger(cause(kind, source: source, message: message), at: clock.boot)
    }

    private func cause(_ kind: CauseKind, source: String = "rtnetlink", message: String? = nil) -> EngineCause {
        EngineCause(kind, source: source, message: message, received: clock.wall)
    }
}
