// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing
public import LinuxIO
public import Netlink
public import PathModel

/// The pure part of the engine: kernel events, provider facts and times in; updates and deadlines out.
///
/// It is the same for the running kernel and for a recording, which is why a recorded bug becomes a test.
public struct EngineCore: Sendable {
    /// Links, addresses and monitored neighbours.
    public private(set) var state = KernelState()
    public private(set) var facts = ProviderFacts()
    public private(set) var settings: EngineSettings
    /// The monitors by name, `default` first.
    public private(set) var monitors: [MonitorState]
    public private(set) var evaluations: UInt64 = 0
    /// When to evaluate again even without an event, as time since boot (rule S28).
    public private(set) var nextCheck: Duration?
    /// Grows with every change of a link or an address, whether or not an answer rests on it.
    public private(set) var linkRevision: UInt64 = 0

    private var memory = InterfaceMemory()
    private var qualities = QualityTable()
    private var debounce: DebounceState
    private var cause: EngineCause?
    /// The last announcement of a change that routes rest on, and whether an answer was given while the kernel may not have
    /// made the change yet (rule S42).
    private var announced: (cause: EngineCause, at: Duration, isAnswered: Bool)?
    /// Links that were read again, as long as answers count them as down.
    private var confirmed: Set<Int> = []
    private var interfaceTracker = InterfaceTracker()
    private var updatesAll = true
    /// Whether something else that evaluations rest on changed during the last one or after it.
    private var isOutdated = false
    /// Addresses whose routes the answers rest on although their prefixes may be long.
    public private(set) var restsOn: Set<IPAddress> = []

    public init(_ settings: EngineSettings) {
        self.settings = settings
        debounce = DebounceState(quiet: settings.quiet, cap: settings.cap)
        monitors = Self.monitors(for: settings.policy, keeping: [])
    }

    private static func monitors(for policy: PathPolicy, keeping old: [MonitorState]) -> [MonitorState] {
        ([policy.standardMonitor] + policy.monitors).map { monitor in
            old.first { $0.policy == monitor } ?? MonitorState(monitor)
        }
    }

    /// Classifies the interfaces of the present state.
    public var classifier: InterfaceClassifier {
        InterfaceClassifier(state: state, facts: facts, policy: settings.policy, memory: memory)
    }

    /// The interfaces by which packets of the default path leave, by index; none while it has no path.
    public var interfacesInUse: [Int] { [path.ipv4, path.ipv6].compactMap { $0?.interfaces }.joined().map(\.index) }

    /// The links whose counters are read, of which `used` carry the path; those that were `known` before stay.
    public func measuredLinks(used: [Int], known: [Int]) -> [MeasuredLink] {
        classifier.measuredLinks(used: used, others: monitors.flatMap(\.path.interfaces).map(\.index) + known)
    }

    /// Whether a link works; `false` where there is none of that index.
    public func isUsable(_ index: Int) -> Bool { state.links[index].map(classifier.isUsable) ?? false }
}

// MARK: - What comes in

extension EngineCore {
    /// Applies notifications of the kernel.
    /// - Returns: Links to read at once, because the kernel announces their new state late (rules S7, S14).
    public mutating func apply(_ batch: EventBatch) -> [Int] {
        var reread: [Int] = []
        for notice in batch.notices {
            guard let trigger = state.apply(notice.event, at: batch.boot) else { continue }
            for index in trigger.reread where !reread.contains(index) { reread.append(index) }
            guard trigger.needsEvaluation else { continue }
            if [.link, .address].contains(trigger.cause) { linkRevision += 1 }
            let cause = EngineCause(
                trigger.cause,
                source: "rtnetlink",
                message: notice.type.description,
                received: batch.wall
            )
            self.trigger(cause, at: batch.boot)
            guard notice.event.concernsRoutes else { continue }
            announced = (self.cause ?? cause, batch.boot, announced?.isAnswered ?? false)
        }
        return reread
    }

    /// Applies a reading that ``apply(_:)`` requested.
    public mutating func reread(_ index: Int, as link: Link?, cause: EngineCause, at now: Duration) {
        guard state.reread(index, as: link, at: now) else { return }
        linkRevision += 1
        trigger(cause, at: now)
    }

    /// Applies new facts of the providers; before the first evaluation they are part of it.
    public mutating func apply(_ facts: ProviderFacts, cause: EngineCause, at now: Duration) {
        guard facts != self.facts else { return }
        self.facts = facts
        updatesAll = true
        if evaluations > 0 { trigger(cause, at: now) }
    }

    /// Applies the entry of a monitored neighbour that was read, not announced; `nil` when there is none.
    /// - Returns: Whether an evaluation could come out differently.
    @discardableResult
    public mutating func apply(_ neighbor: Neighbor?, of key: NeighborKey) -> Bool {
        let mayDiffer = state.note(neighbor, of: key)
        isOutdated = isOutdated || mayDiffer
        return mayDiffer
    }

    /// Notes that the machine slept: nobody saw what happened meanwhile, so it is no flapping (rule S49).
    public mutating func slept(until now: Duration) {
        for position in monitors.indices { monitors[position].slept(until: now) }
    }

    /// Applies a full reading of links and addresses.
    /// - Returns: What no event had announced.
    public mutating func replace(
        links: [Link],
        addresses: [InterfaceAddress],
        at now: Duration
    ) -> StateDifference {
        let difference = state.replace(links: links, addresses: addresses, at: now)
        if difference.count > 0 { linkRevision += 1 }
        return difference
    }

    /// Applies new settings; monitors that did not change keep their history.
    public mutating func apply(_ settings: EngineSettings, cause: EngineCause, at now: Duration) {
        let probesGateways = settings.gatewayInterval != nil
        // Verdicts of probes do not count without probes, nor the reverse.
        if probesGateways != (self.settings.gatewayInterval != nil) {
            _ = state.track(NeighborDependencies(), probesGateways: probesGateways)
        }
        self.settings = settings
        debounce = DebounceState(quiet: settings.quiet, cap: settings.cap)
        monitors = Self.monitors(for: settings.policy, keeping: monitors)
        updatesAll = true
        if evaluations > 0 { trigger(cause, at: now) }
    }

    /// Notes a trigger; the first one of a burst is what events name as its cause.
    public mutating func trigger(_ cause: EngineCause, at now: Duration) {
        if self.cause == nil { self.cause = cause }
        debounce.trigger(at: now)
    }
}

// MARK: - What comes out

extension EngineCore {
    /// Whether a burst has begun that was not evaluated yet.
    public var isPending: Bool { debounce.isPending }

    /// How long the kernel may still look up by the old state after it announced another one.
    ///
    /// It announces that an IPv4 route is removed, a link is down or a next hop is gone before its lookups notice: some
    /// microseconds on two processors, and longer where the kernel is interrupted in between.
    static let changeTime = Duration.milliseconds(20)

    /// When the last announced change is made, where nothing evaluates after that anyway.
    private var changeDue: Duration? { cause == nil ? announced.map { $0.at + Self.changeTime } : nil }

    /// Whether an announced change is made by now that an answer may have missed.
    public func isChangeDue(at now: Duration) -> Bool {
        announced.map { $0.isAnswered && $0.at + Self.changeTime <= now } ?? false
    }

    /// Whether something was known to run out by now, or an announced change to be made.
    public func isCheckDue(at now: Duration) -> Bool { nextCheck.earlier(changeDue).map { $0 <= now } ?? false }

    /// Whether an announced change is all that an answer may have missed, so that the same answers of the kernel give the same
    /// paths (rule S42).
    public func isConfirmable(at now: Duration) -> Bool {
        guard isChangeDue(at: now), cause == nil, !isOutdated, !updatesAll, !state.hasTouched else { return false }
        return nextCheck.map { $0 > now } ?? true
    }

    /// What an evaluation is for.
    public struct Due {
        /// See ``isConfirmable(at:)``.
        public var isConfirmable: Bool
        /// See ``isChangeDue(at:)``.
        public var change: Bool
        /// See ``isCheckDue(at:)``.
        public var check: Bool
    }

    /// Mutating, so that a class reads its core without a copy, which has forty references to count.
    public mutating func due(at now: Duration) -> Due {
        Due(isConfirmable: isConfirmable(at: now), change: isChangeDue(at: now), check: isCheckDue(at: now))
    }

    /// Notes that the kernel gives the same answers once the announced change is made.
    public mutating func confirm() { announced = nil }

    public mutating func next(at now: Duration) -> DebounceState.Action {
        let action = debounce.next(at: now)
        guard let check = nextCheck.earlier(changeDue), action != .evaluate else { return action }
        // What runs out does not wait for the end of a burst, which may be a second away.
        guard now < check else { return .evaluate }
        if case .wait(let delay) = action { return .wait(min(delay, check - now)) }
        return .wait(check - now)
    }

    /// Queries the kernel's table and compares with what was published.
    ///
    /// - Parameters:
    ///   - table: The forwarding table.
    ///   - clock: What the time is; also measures the evaluation.
    ///   - neighbor: Reads the entry of a neighbour that is monitored from now on, and behind which port of a bridge it is.
    ///   - link: Reads a link whose last message is out of date; `nil` when it cannot be read.
    /// - Returns: What to publish; `nil` when nothing material changed.
    public mutating func evaluate(
        _ table: some ForwardingTable,
        clock: some TimeSource,
        neighbor: (_ key: NeighborKey, _ bridge: Int?) -> Neighbor? = { _, _ in nil },
        link: (_ index: Int) -> Link? = { _ in nil }
    ) -> EngineUpdate? {
        let started = clock.boot
        let isFirst = evaluations == 0
        evaluations += 1
        isOutdated = false
        debounce = DebounceState(quiet: settings.quiet, cap: settings.cap)
        let reason = cause ?? announced?.cause ?? EngineCause(.expiry, source: "timer", received: clock.wall)
        cause = nil
        announced?.isAnswered = true
        if let change = announced, change.at + Self.changeTime <= started { announced = nil }
        var touched = state.dequeueTouched()
        for index in touched where state.links[index] == nil { memory.forget(index) }
        let answers = answers(of: table, at: started, neighbor: neighbor, link: link)
        touched.formUnion(state.dequeueTouched())
        restsOn = answers.reduce(into: []) { $0.formUnion($1.restsOn) }
        nextCheck = qualities.nextCheck
        var paths: [EngineUpdate.MonitorChange] = []
        var flappingEnded: [String: Int] = [:]
        for position in answers.indices {
            let outcome = monitors[position].apply(answers[position], hold: settings.recoveryHold, at: started)
            let new = memory.note(outcome.path)
            if !new.isEmpty {
                touched.formUnion(new)
                isOutdated = true
            }
            nextCheck = nextCheck.earlier(outcome.nextCheck)
            let name = monitors[position].policy.name
            if let suppressed = outcome.suppressed { flappingEnded[name] = suppressed }
            guard let change = outcome.change else { continue }
            paths.append(EngineUpdate.MonitorChange(monitor: name, change: change, flapping: outcome.flapping))
        }
        var changes: [ModelChange] = []
        if updatesAll {
            changes = interfaceTracker.updateAll(classifier: classifier)
        } else if !touched.isEmpty {
            changes = interfaceTracker.update(touched, classifier: classifier)
        }
        updatesAll = false
        guard isFirst || !changes.isEmpty || !paths.isEmpty || !flappingEnded.isEmpty else { return nil }
        return EngineUpdate(
            cause: reason,
            changes: isFirst ? [] : changes,
            paths: paths,
            flappingEnded: flappingEnded,
            evaluation: clock.boot - started,
            at: started,
            isFirst: isFirst
        )
    }

    /// Evaluates every monitor; again, when the entry of a new neighbour or of a link out of date says more than was known.
    private mutating func answers(
        of table: some ForwardingTable,
        at now: Duration,
        neighbor: (NeighborKey, Int?) -> Neighbor?,
        link: (Int) -> Link?
    ) -> [Evaluation] {
        let levels = qualities.read(facts, isNew: updatesAll, at: now)
        var answers = evaluations(of: table, levels, at: now)
        for _ in 0..<2 {
            let dependencies = answers.reduce(into: NeighborDependencies()) { $0.formUnion($1.neighbors) }
            let new = state.track(dependencies, probesGateways: settings.gatewayInterval != nil)
            var hasChanged = new.map { state.note(neighbor($0, state.bridge(below: $0.index)), of: $0) }.contains(true)
            let outdated = Set(answers.flatMap(\.outdatedLinks))
            confirmed.formIntersection(outdated)
            for index in outdated where confirmed.insert(index).inserted {
                guard let link = link(index), state.reread(index, as: link, at: now) else { continue }
                linkRevision += 1
                hasChanged = true
            }
            guard hasChanged else { break }
            answers = evaluations(of: table, levels, at: now)
        }
        return answers
    }

    private func evaluations(
        of table: some ForwardingTable,
        _ levels: [Int: LinkQuality],
        at now: Duration
    ) -> [Evaluation] {
        let evaluator = PathEvaluator(classifier)
        return monitors.indices.map { position in
            evaluator.evaluate(monitors[position].policy, table: table, qualities: levels, at: now)
        }
    }

    /// The path of the first monitor, as it was last published.
    public var path: Path { monitors.isEmpty ? Path() : monitors[0].path }

    /// The interfaces as they were last published, ignored ones included, by rising index.
    public var interfaces: [InterfaceView] {
        interfaceTracker.views.values.sorted { $0.index < $1.index }
    }

    public func monitor(named name: String) -> MonitorState? {
        monitors.first { $0.policy.name == name }
    }
}
