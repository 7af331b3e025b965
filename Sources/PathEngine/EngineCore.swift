// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import LinuxIO
public import Netlink
public import PathModel

/// The pure part of the engine: kernel events, provider facts and moments in; updates and deadlines out.
///
/// It is the same for the running kernel and for a recording, which is why a recorded bug becomes a test.
public struct EngineCore: Sendable {
    /// Links, addresses and watched gateways.
    public private(set) var state = KernelState()
    /// What providers know.
    public private(set) var facts = ProviderFacts()
    /// What shapes the engine.
    public private(set) var settings: EngineSettings
    /// The monitors by name, `default` first.
    public private(set) var monitors: [MonitorState]
    /// How many evaluations there were.
    public private(set) var evaluations: UInt64 = 0
    /// When to evaluate again even if nothing is heard, as time since boot (rule S28).
    public private(set) var nextCheck: Duration?

    private var memory = InterfaceMemory()
    private var settler: Settler
    private var cause: EngineCause?
    private var ledger = InterfaceLedger()
    private var looksAtAll = true

    /// Knows nothing yet.
    public init(_ settings: EngineSettings) {
        self.settings = settings
        settler = Settler(quiet: settings.quiet, cap: settings.cap)
        monitors = Self.monitors(for: settings.policy, keeping: [])
    }

    private static func monitors(for policy: PathPolicy, keeping old: [MonitorState]) -> [MonitorState] {
        ([MonitorPolicy()] + policy.monitors).map { monitor in
            old.first { $0.policy == monitor } ?? MonitorState(monitor)
        }
    }

    /// The judge of the present state, which documents are made with.
    public var judge: InterfaceJudge {
        InterfaceJudge(state: state, facts: facts, policy: settings.policy, memory: memory)
    }
}

// MARK: - What comes in

extension EngineCore {
    /// Takes notifications of the kernel.
    /// - Returns: Links to read at once, because the kernel tells their new state late (rules S7, S14).
    public mutating func take(_ batch: EventBatch) -> [Int] {
        var reread: [Int] = []
        for notice in batch.notices {
            guard let trigger = state.apply(notice.event, at: batch.boot) else { continue }
            for index in trigger.reread where !reread.contains(index) { reread.append(index) }
            guard trigger.needsEvaluation else { continue }
            let cause = EngineCause(
                trigger.cause,
                source: "rtnetlink",
                message: notice.type.description,
                received: batch.wall
            )
            self.trigger(cause, at: batch.boot)
        }
        return reread
    }

    /// Takes the answer to a reading that ``take(_:)`` asked for.
    public mutating func reread(_ index: Int, as link: Link?, cause: EngineCause, at now: Duration) {
        if state.reread(index, as: link, at: now) { trigger(cause, at: now) }
    }

    /// Takes new facts of the providers.
    public mutating func take(_ facts: ProviderFacts, cause: EngineCause, at now: Duration) {
        guard facts != self.facts else { return }
        self.facts = facts
        looksAtAll = true
        trigger(cause, at: now)
    }

    /// Takes a full reading of links and addresses.
    /// - Returns: What events had not told.
    public mutating func replace(
        links: [Link],
        addresses: [InterfaceAddress],
        at now: Duration
    ) -> StateDifference {
        state.replace(links: links, addresses: addresses, at: now)
    }

    /// Takes new settings; monitors that did not change keep their history.
    public mutating func take(_ settings: EngineSettings, cause: EngineCause, at now: Duration) {
        self.settings = settings
        settler = Settler(quiet: settings.quiet, cap: settings.cap)
        monitors = Self.monitors(for: settings.policy, keeping: monitors)
        looksAtAll = true
        trigger(cause, at: now)
    }

    /// Notes a sign of a change; the first one of a burst is what events name as its cause.
    public mutating func trigger(_ cause: EngineCause, at now: Duration) {
        if self.cause == nil { self.cause = cause }
        settler.trigger(at: now)
    }
}

// MARK: - What comes out

extension EngineCore {
    /// What to do at this moment.
    public mutating func next(at now: Duration) -> Settler.Action {
        switch settler.next(at: now) {
        case .evaluate: return .evaluate
        case .wait(let delay):
            return .wait(min(delay, nextCheck.map { max($0 - now, .zero) } ?? delay))
        case .idle:
            guard let nextCheck else { return .idle }
            guard now >= nextCheck else { return .wait(nextCheck - now) }
            return .evaluate
        }
    }

    /// Asks the kernel's table and compares with what was published.
    ///
    /// - Parameters:
    ///   - table: The forwarding table.
    ///   - clock: What the time is; also how long the evaluation took.
    /// - Returns: What to publish; `nil` when nothing material changed.
    public mutating func evaluate(_ table: some ForwardingTable, clock: some TimeSource) -> EngineUpdate? {
        let started = clock.boot
        let isFirst = evaluations == 0
        evaluations += 1
        settler = Settler(quiet: settings.quiet, cap: settings.cap)
        let reason = cause ?? EngineCause(.expiry, source: "timer", received: clock.wall)
        cause = nil
        var touched = state.takeTouched()
        for index in touched where state.links[index] == nil { memory.forget(index) }
        let evaluator = PathEvaluator(judge)
        nextCheck = nil
        var paths: [EngineUpdate.MonitorChange] = []
        var calmed: [String: Int] = [:]
        for place in monitors.indices {
            let evaluation = evaluator.evaluate(monitors[place].policy, table: table, at: started)
            let outcome = monitors[place].take(evaluation, hold: settings.recoveryHold, at: started)
            touched.formUnion(memory.note(outcome.path))
            if let check = outcome.nextCheck { nextCheck = min(nextCheck ?? check, check) }
            let name = monitors[place].policy.name
            if let folded = monitors[place].endOfFlapping(at: started) { calmed[name] = folded }
            guard let change = outcome.change else { continue }
            paths.append(EngineUpdate.MonitorChange(monitor: name, change: change, flapping: outcome.flapping))
        }
        state.watch(gateways: monitors.reduce(into: []) { $0.formUnion($1.evaluation.gateways) })
        let changes = looksAtAll ? ledger.updateAll(judge: judge) : ledger.update(touched, judge: judge)
        looksAtAll = false
        guard isFirst || !changes.isEmpty || !paths.isEmpty || !calmed.isEmpty else { return nil }
        return EngineUpdate(
            cause: reason,
            changes: isFirst ? [] : changes,
            paths: paths,
            consequences: consequences(of: paths.first { $0.monitor == MonitorPolicy.standardName }?.change),
            calmed: calmed,
            evaluation: clock.boot - started,
            at: started,
            isFirst: isFirst
        )
    }

    /// Gateways and name servers are told as those of the default monitor.
    private func consequences(of change: PathChange?) -> [ModelChange] {
        guard let change, let previous = change.previous else { return [] }
        return SnapshotDiff.gateways(from: previous.gateways, to: change.current.gateways)
            + SnapshotDiff.dns(from: previous.dns, to: change.current.dns)
    }

    /// The interfaces as they were last published, ignored ones included, by rising index.
    public var interfaces: [InterfaceView] {
        ledger.views.values.sorted { $0.index < $1.index }
    }

    /// The state of a monitor.
    public func monitor(named name: String) -> MonitorState? {
        monitors.first { $0.policy.name == name }
    }
}
