// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import LinuxIO

public struct ProbeState: Hashable, Sendable {
    public internal(set) var definition: ProbeDefinition
    /// When it runs, and whether it fails.
    public internal(set) var schedule: ProbeSchedule
    /// Its last results.
    public internal(set) var history = ProbeHistory()
    /// The last result; `nil` before the first.
    public internal(set) var last: ProbeResult?
    /// When the run of the last result started, as time since boot.
    public internal(set) var lastStart: Duration?
    /// When it ended.
    public internal(set) var lastEnd: Duration?
    /// When the last right answer came, as time since boot.
    public internal(set) var lastSuccess: Duration?
    /// When the last result came that was assessed, as time since boot.
    public internal(set) var lastAssessed: Duration?
    /// How many runs ended, without those that could not be assessed.
    public internal(set) var attempts: UInt64 = 0
    public internal(set) var failures: UInt64 = 0

    public var isRunning: Bool { schedule.isRunning }
}

/// The configured probes: runs each on its schedule and tells what changes.
///
/// Confined to the loop's thread. Without probes it has no timer, no descriptor and no memory to speak of; it sends
/// nothing that a definition does not ask for.
public final class ProbeSet {
    public enum Event: Hashable, Sendable {
        case finished(ProbeState, ProbeResult)
        case transition(ProbeState, ProbeSchedule.Transition, ProbeResult)
        /// It answers after one failure or more, whether they were reported or not.
        case answersAgain(ProbeState)
        /// It failed for the first time, or its answer is later than usual.
        case suspicious(ProbeState)
    }

    private let loop: EventLoop
    private let pages: PageClient
    private let context: () -> ProbeContext
    private var entries: [Entry] = []
    private var timer: (timer: EventLoop.Timer, deadline: Duration)?
    /// Takes what there is to tell, on the loop's thread.
    public var onEvent: (Event) -> Void = { _ in }

    fileprivate struct Entry {
        var state: ProbeState
        /// The runs that are going on, by their start.
        var attempts: [Duration: ProbeAttempt] = [:]
        var isPaused = false

        mutating func cancel() {
            for attempt in attempts.values { attempt.cancel() }
            attempts = [:]
        }
    }

    /// Makes a set without probes.
    /// - Parameters:
    ///   - loop: Where they run.
    ///   - context: The routers and name servers at the moment.
    public init(loop: EventLoop, context: @escaping () -> ProbeContext) {
        self.loop = loop
        self.context = context
        pages = PageClient(loop: loop)
    }

    /// What is known of each probe, in the order of the configuration.
    public var states: [ProbeState] { entries.map(\.state) }

    /// Replaces the probes; those whose definition did not change go on as if nothing had happened.
    /// - Parameters:
    ///   - definitions: The probes. One that tests the same as before at other times keeps what is known.
    ///   - paused: The names of those that do not run for now.
    public func setDefinitions(_ definitions: [ProbeDefinition], paused: Set<String> = []) {
        let isKept = zip(entries, definitions).allSatisfy { entry, definition in
            entry.state.definition == definition && entry.isPaused == paused.contains(definition.name)
        }
        if isKept, entries.count == definitions.count { return }
        var old = entries
        for index in old.indices where !definitions.contains(old[index].state.definition) { old[index].cancel() }
        let now = loop.clock.boot
        entries = definitions.map { definition in
            var entry =
                old.first { $0.state.definition == definition }
                ?? old.first { $0.state.definition.isTheSameTest(as: definition) }?.changed(to: definition, at: now)
                ?? made(definition)
            let isPaused = paused.contains(definition.name)
            guard isPaused != entry.isPaused else { return entry }
            entry.cancel()
            entry.state.schedule.restart(at: now)
            entry.isPaused = isPaused
            return entry
        }
        arm()
    }

    private func made(_ definition: ProbeDefinition) -> Entry {
        let schedule = ProbeSchedule(
            interval: definition.interval,
            retryInterval: definition.retryInterval,
            threshold: definition.threshold,
            at: loop.clock.boot,
            chance: .random(in: 0..<1)
        )
        return Entry(state: ProbeState(definition: definition, schedule: schedule))
    }

    /// Runs every probe soon: the answers of before say nothing about the path of now.
    public func pathChanged() {
        for index in entries.indices {
            entries[index].state.schedule.pathChanged(at: loop.clock.boot, chance: .random(in: 0..<1))
        }
        arm()
    }

    /// Runs every probe at once because something else found that its answer may be out of date.
    public func runAll() {
        for index in entries.indices { entries[index].state.schedule.otherAnswered(at: loop.clock.boot) }
        arm()
    }

    /// A probe failed for the first time, or is late: whether it is that target alone, the others show.
    private func repeatAnswering() {
        for index in entries.indices where entries[index].state.schedule.failingSince == nil {
            entries[index].state.schedule.otherFailed(at: loop.clock.boot)
        }
    }

    /// A probe answers again: perhaps the others do too.
    private func repeatFailing() {
        for index in entries.indices where entries[index].state.schedule.failingSince != nil {
            entries[index].state.schedule.otherAnswered(at: loop.clock.boot)
        }
    }

    /// Runs a probe at once, a paused one as well; `nil` when there is none of that name.
    public func runNow(_ name: String) -> ProbeSchedule.Wish? {
        guard let index = entries.firstIndex(where: { $0.state.definition.name == name }) else { return nil }
        defer { arm() }
        entries[index].isPaused = false
        return entries[index].state.schedule.runNow(at: loop.clock.boot)
    }

    /// Ends everything that is going on, and plans nothing more.
    public func stop() { setDefinitions([]) }

    private func arm() {
        let next = entries.filter { !$0.isPaused }.compactMap(\.state.schedule.deadline).min()
        guard timer?.deadline != next else { return }
        if let timer { loop.cancel(timer.timer) }
        timer = next.map { next in (loop.schedule(at: next) { [weak self] in self?.runDue() }, next) }
    }

    private func runDue() {
        timer = nil
        let now = loop.clock.boot
        let asleep = now - loop.clock.awake
        let context = context()
        for index in entries.indices where !entries[index].isPaused && entries[index].state.schedule.isDue(at: now) {
            let definition = entries[index].state.definition
            let isRetry = entries[index].state.isRunning
            entries[index].state.schedule.start(at: now, isPrompt: entries[index].state.isPrompt)
            entries[index].attempts[now] = ProbeAttempt(
                definition,
                context: context,
                loop: loop,
                pages: pages
            ) { [weak self, clock = loop.clock] result in
                // A run that the machine slept through is no evidence.
                let hasSlept = !result.isSuccess && (clock.boot - clock.awake) - asleep > .seconds(1)
                self?.finish(definition, hasSlept ? result.discarded : result, started: now)
            }
            if isRetry, entries[index].state.schedule.failingSince == nil {
                repeatAnswering()
                onEvent(.suspicious(entries[index].state))
            }
        }
        arm()
    }

    private func finish(_ definition: ProbeDefinition, _ result: ProbeResult, started: Duration) {
        guard let index = entries.firstIndex(where: { $0.state.definition == definition }) else { return }
        let now = loop.clock.boot
        entries[index].attempts[started] = nil
        let before = entries[index].state.schedule
        let transitions = entries[index].state.schedule.finish(
            result,
            started: started,
            at: now,
            chance: .random(in: 0..<1)
        )
        entries[index].state.record(result, started: started, at: now)
        let state = entries[index].state
        if before.failingSince == nil, state.schedule.failingSince != nil { repeatAnswering() }
        if before.answeringSince == nil, state.schedule.answeringSince != nil { repeatFailing() }
        arm()
        onEvent(.finished(state, result))
        if before.failingSince == nil, state.schedule.failingSince != nil { onEvent(.suspicious(state)) }
        if before.failingSince != nil, state.schedule.failingSince == nil { onEvent(.answersAgain(state)) }
        for transition in transitions { onEvent(.transition(state, transition, result)) }
    }
}

extension ProbeSet.Entry {
    /// The same with other settings.
    fileprivate func changed(to definition: ProbeDefinition, at now: Duration) -> Self {
        var entry = self
        entry.cancel()
        entry.state.definition = definition
        entry.state.schedule.apply(
            interval: definition.interval,
            retryInterval: definition.retryInterval,
            threshold: definition.threshold,
            at: now
        )
        return entry
    }
}

extension ProbeDefinition {
    /// Whether two send the same packets to the same target, at other times perhaps.
    fileprivate func isTheSameTest(as other: ProbeDefinition) -> Bool {
        var same = self
        (same.interval, same.retryInterval) = (other.interval, other.retryInterval)
        (same.timeout, same.threshold) = (other.timeout, other.threshold)
        same.question.namesIfRefused = other.question.namesIfRefused
        return same == other
    }
}

extension ProbeResult {
    /// The same run, which says nothing.
    fileprivate var discarded: ProbeResult {
        var result = self
        result.outcome = .notAssessed(advice: "the machine was suspended meanwhile")
        return result
    }
}

extension ProbeState {
    /// Whether its answers come long before a retry is due.
    var isPrompt: Bool {
        guard let usual = history.summary?.p95 else { return false }
        return usual * 2 < definition.retryInterval
    }

    mutating func record(_ result: ProbeResult, started: Duration, at now: Duration) {
        history.append(result)
        // The failure of a run that a newer one overtook with success counts as loss only.
        let isNewest = started >= lastStart ?? started
        if isNewest, result.reason == nil || schedule.failingSince != nil {
            (last, lastStart, lastEnd) = (result, started, now)
        }
        if case .notAssessed = result.outcome { return }
        lastAssessed = now
        attempts += 1
        if result.isSuccess { lastSuccess = now } else { failures += 1 }
    }
}
