// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Configuration
internal import Documents
internal import EventHub
internal import LinuxIO
internal import Metrics
internal import Netlink
internal import PathEngine
internal import PathModel
internal import Probes
internal import StatusServer

/// The daemon's active probes: runs what the configuration names and publishes what changes.
///
/// Confined to the daemon's loop.
final class ProbeService {
    private let probes: ProbeSet
    private let hub: EventHub
    private let clock: any TimeSource
    private let histories: ProbeHistoryStore
    private let engine: PathEngine
    private let loop: EventLoop
    private let metrics = ProbeMetrics()
    private var onResult: () -> Void = {}
    private var onChange: (_ isReported: Bool) -> Void = { _ in }
    private var configured: [ProbeDefinition] = []
    private var standard = StandardTests(check: .off)
    /// The standard tests of the last path that was satisfied; they pause while the kernel would send nothing.
    private var lastStandard: [ProbeDefinition] = []
    /// When routers were probed last because a test failed, as time since boot.
    private var gatewaysProbed: Duration?
    private var gatewayTimer: EventLoop.Timer?
    /// How many results there were, for the tags of documents.
    private(set) var revision: UInt64 = 0

    init(
        _ engine: PathEngine,
        loop: EventLoop,
        hub: EventHub,
        clock: any TimeSource,
        stateDirectory: String
    ) {
        self.engine = engine
        self.loop = loop
        probes = ProbeSet(loop: loop) { ProbeContext(engine.core) }
        histories = ProbeHistoryStore(loop: loop, clock: clock, directory: stateDirectory)
        self.hub = hub
        self.clock = clock
        probes.onEvent = { [unowned self] event in handle(event) }
    }

    var states: [ProbeState] { probes.states }

    /// The documents, in the order of the configuration.
    var documents: [ProbeDocument] { probes.states.map { ProbeDocument($0, clock: clock) } }

    /// Begins to report; `onResult` is called when a document of a probe shows something new, `onChange` after a transition
    /// that is reported, and when a probe answers after any other failure.
    func start(onChange: @escaping (_ isReported: Bool) -> Void, onResult: @escaping () -> Void) {
        self.onChange = onChange
        self.onResult = onResult
    }

    /// Applies the configuration.
    func apply(_ configuration: Configuration) {
        configured = configuration.probeDefinitions
        let old = standard.check
        standard = StandardTests(check: configuration.connectivity.check)
        if standard.check != old { lastStandard = [] }
        updateDefinitions()
    }

    /// Runs what is configured, and the standard tests for the path of now.
    private func updateDefinitions() {
        let path = engine.path
        let isPaused = path.status != .satisfied
        if !isPaused { lastStandard = standard.definitions(for: path) }
        let names = Set(configured.map(\.name))
        let tests = lastStandard.filter { !names.contains($0.name) }
        let all = configured + tests
        if all != probes.states.map(\.definition) {
            metrics.expect(all)
            histories.expect(all)
            revision += 1
        }
        probes.setDefinitions(all, paused: isPaused ? Set(tests.map(\.name)) : [])
        if gatewayTimer == nil, tests.isEmpty { probeUncoveredGateways() }
    }

    /// Runs every probe soon when a path changed.
    func apply(_ update: EngineUpdate) {
        updateDefinitions()
        if !update.paths.isEmpty && !update.isFirst { probes.pathChanged() }
    }

    /// Whether a probe failed as often as its threshold or found a portal, and has not succeeded since.
    var isFailing: Bool { probes.states.contains { $0.schedule.isFailing || $0.schedule.isCaptive } }

    /// Runs every probe at once because an examination contradicts their results.
    func runAll() { probes.runAll() }

    /// Runs a probe at once; `nil` when there is no such probe.
    func runNow(_ name: String) -> RunStart? { probes.runNow(name).map { RunStart($0) } }

    /// The history of a probe, step by step; `nil` when there is none of that name.
    func history(_ name: String, since: WallTime, until: WallTime, step: Duration) -> ProbeHistoryDocument? {
        guard let definition = probes.states.map(\.definition).first(where: { $0.name == name }) else { return nil }
        let (record, now) = (histories.record(of: definition), clock.wall)
        return ProbeHistoryDocument(record, of: definition, since: since, until: until, step: step, at: now)
    }

    /// Has the kernel probe the routers, once in the time that it needs for an answer.
    private func probeGateways() {
        guard gatewaysProbed.map({ clock.boot - $0 >= .seconds(5) }) ?? true else { return }
        gatewaysProbed = clock.boot
        engine.probeGateways()
    }

    /// Has the kernel probe the gateways that no standard test passes: beside the first of these tests, so that the
    /// machine wakes up once for both, or by a timer where there are none.
    private func probeUncoveredGateways() {
        if let gatewayTimer { loop.cancel(gatewayTimer) }
        gatewayTimer = nil
        let path = engine.path
        let gateways = standard.uncoveredGateways(of: path) { [table = engine.table] address in
            try? table.lookup(RouteQuery(address, kind: .entry)).get().onlyGateway
        }.map(\.address.address)
        guard !gateways.isEmpty else { return }
        engine.probeGateways(gateways.contains)
        guard standard.definitions(for: path).isEmpty else { return }
        gatewayTimer = loop.schedule(after: StandardTests.interval) { [weak self] in self?.probeUncoveredGateways() }
    }

    private func handle(_ event: ProbeSet.Event) {
        switch event {
        case .finished(let state, let result):
            metrics.count(state, result)
            histories.record(result, of: state.definition)
            revision += 1
            onResult()
            if state.definition == standard.definitions(for: engine.path).first { probeUncoveredGateways() }
        case .answersAgain: onChange(false)
        case .suspicious: probeGateways()
        case .transition(let state, let transition, let result):
            switch transition {
            case .failed: hub.publish(ProbeFailed(state, result))
            case .recovered(let failed): hub.publish(ProbeRecovered(state, result, after: failed))
            case .portalDetected: hub.publish(CaptivePortal(state, result, isDetected: true))
            case .portalCleared: hub.publish(CaptivePortal(state, result, isDetected: false))
            }
            onChange(true)
        }
    }
}

extension ProbeService: DaemonPart {
    /// Probes that this process cannot run, with what would allow it, and what is wrong with the file of their histories.
    var problems: [ProblemDocument] {
        let refused = probes.states.compactMap { state -> String? in
            guard case .notAssessed(let advice) = state.last?.outcome else { return nil }
            return "probe \(state.definition.name) is not assessed: \(advice)"
        }
        return (refused + [histories.problem].compactMap(\.self)).map { ProblemDocument(part: "probes", message: $0) }
    }

    func register(in registry: MetricRegistry) {
        metrics.register(
            in: registry,
            states: { [unowned self] in states },
            paths: { [unowned self] in
                engine.core.monitors.map { monitor in
                    let link = monitor.path.interfaces.first.flatMap { engine.core.state.links[$0.index] }
                    return (monitor.policy.name, link?.names ?? [])
                }
            }
        )
    }

    func stop() {
        if let gatewayTimer { loop.cancel(gatewayTimer) }
        gatewayTimer = nil
        probes.stop()
        histories.close()
    }
}

extension RunStart {
    init(_ outcome: ProbeSchedule.Wish) {
        switch outcome {
        case .granted, .running: self = .started
        case .tooSoon(let wait): self = .tooSoon(wait)
        }
    }
}

extension ProbeContext {
    /// What the engine knows.
    init(_ core: EngineCore) {
        let path = core.path
        self.init(
            gateways: path.gateways,
            servers: path.dns.servers,
            interfaceNames: core.state.namesByAlternative,
            blockade: path.blockade
        )
    }
}

extension Path {
    /// Why the kernel sends nothing beyond this machine's networks, which a policy alone does not keep it from.
    fileprivate var blockade: String? {
        guard status != .satisfied, let reason, reason != .policy else { return nil }
        return ReasonText(reason, subject).clause
    }
}
