// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Configuration
internal import Diagnosis
internal import Documents
internal import EventHub
internal import Examination
internal import LinuxIO
internal import Metrics
internal import Netlink
internal import PathEngine
internal import PathModel
internal import Probes
internal import StatusServer

/// The facts of the machine that an examination starts with.
struct ExaminationContext {
    /// The name servers in use, in order.
    let servers: [DNSServer]
    let policy: PathPolicy
    /// Whether the path costs money or should be spared.
    let isFrugal: Bool
    /// How often each interface's carrier changed, by index (`IFLA_CARRIER_CHANGES`).
    let carriers: [Int: UInt32]

    init(_ core: EngineCore) {
        let path = core.path
        carriers = core.state.links.mapValues(\.carrierChanges)
        servers = path.dns.servers
        policy = core.settings.policy
        isFrugal = path.isFrugal
    }
}

/// The daemon's diagnosis: examines the network when something fails, and by its schedule; tracks and publishes verdicts.
///
/// Without `diagnosis.enabled`, nothing is examined or sent but for ``runNow()``. Confined to the daemon's loop.
final class DiagnosisService {
    private let loop: EventLoop
    private let hub: EventHub
    private let clock: any TimeSource
    private let engine: PathEngine
    private let pages: PageClient
    private var kernel: LiveKernel?
    private var settings: TargetSettings?
    private var check = ConnectivitySettings.Check.local
    /// What is examined without being requested, and how often; `nil` when nothing is.
    private var automatic: (targets: Targets, interval: Duration?)?
    private var schedule: DiagnosisSchedule
    private var tracker = VerdictTracker() { didSet { metrics.record(tracker.standing) } }
    private var carriers = CarrierMemory()
    private var examination: Examination?
    private var confirmation: Confirmation?
    /// When trains of packets were last sent that measure loss, and whether they found something.
    private var measured: (at: Duration, isFaulty: Bool)?
    private var timer: EventLoop.Timer?
    private var forgetTimer: EventLoop.Timer?
    /// Whether the examination that runs was requested, beside those that the schedule plans.
    private var isRequested = false
    private var isStopped = false
    /// The calendar time when each fault was first seen: the same in each event, whatever the calendar does.
    private var startTimes: [Duration: WallTime] = [:]
    private let metrics = DiagnosisMetrics()
    private var lastSummary: ExaminationSummary?
    /// The result of a requested examination where none is made periodically, while it counts.
    private var requested: RequestedDiagnosis?
    /// The result, as `/api/v1/diagnosis` shows it.
    private(set) var document = DiagnosisDocument.idle
    /// The examination that runs, as `/api/v1/diagnosis` shows it.
    private(set) var running: DiagnosisStateDocument.Running?
    private var isProgressPending = false
    /// Whether the examination that runs measures loss, and how long after one that did the next does.
    private var isMeasuring = true
    private var isRoutine = false
    private static let measuringInterval = Duration.seconds(300)
    /// The same while nothing is wrong.
    private static let routineMeasuringInterval = Duration.seconds(3300)
    /// What the last examination of the schedule found.
    private var lastDocument = DiagnosisDocument.idle
    /// The results that are shown, with the origin of their targets.
    private var lastResult: (examination: ExaminationResult, targets: String)?
    private var requestedResult: (examination: ExaminationResult, targets: String)?
    /// How often the document changed, for the tags of documents.
    private(set) var revision: UInt64 = 0
    private var onChange: () -> Void = {}
    /// Called when tests may still say otherwise: no host beyond the gateway or no name server answered, or some do again.
    var onContradiction: () -> Void = {}
    /// What the machine's own connections show.
    var traffic: () -> [TrafficEvidence] = { [] }
    /// Whether connections show that all is well, so that nothing needs to be sent to find that out.
    var isProvedByTraffic: () -> Bool = { false }
    /// Whether a gateway or a probe fails now.
    var isFailing: () -> Bool = { false }
    /// What probes found, so that it need not be queried again.
    var probes: () -> [ProbeState] = { [] }
    /// The faults that counters of links show.
    private var health: [Verdict] = []

    init(_ engine: PathEngine, loop: EventLoop, hub: EventHub, clock: any TimeSource) {
        self.engine = engine
        self.loop = loop
        self.hub = hub
        self.clock = clock
        pages = PageClient(loop: loop)
        schedule = DiagnosisSchedule(at: clock.boot)
    }

    /// The verdicts that stand, worst first.
    var standing: [VerdictTracker.Standing] { tracker.standing }

    /// The faults that the headline is evaluated from, worst first.
    var verdicts: [VerdictTracker.Standing] {
        guard let requested else { return tracker.standing }
        return requested.verdicts(at: clock.boot) + tracker.standing.filter(\.verdict.code.isOfCounters)
    }

    /// Whether it examines by itself when something fails.
    var isAutomatic: Bool { automatic != nil }

    /// Whether it examines by itself, again and again.
    var isPeriodic: Bool { automatic?.interval != nil }

    /// The summary of the last examination; `nil` without one.
    var summary: ExaminationSummary? { requested.map(\.summary) ?? lastSummary }

    /// Begins to examine, if the configuration says so.
    ///
    /// `onChange` is called when the document shows what an examination found, or how far it is.
    func start(_ configuration: Configuration, onChange: @escaping () -> Void) {
        self.onChange = onChange
        apply(configuration)
    }

    /// Applies the configuration; what stands is cleared when there is to be no diagnosis any more.
    func apply(_ configuration: Configuration) {
        let (new, newCheck) = (configuration.diagnosis, configuration.connectivity.check)
        guard new != settings || newCheck != check else { return }
        (settings, check) = (new, newCheck)
        automatic = new.automaticExamination(newCheck)
        cancel()
        if requested != nil { forget() }
        guard let automatic else {
            for change in tracker.forgetExaminations() { publish(change) }
            (lastSummary, lastResult, measured) = (nil, nil, nil)
            return healthChanged(health)
        }
        schedule = DiagnosisSchedule(at: clock.boot, interval: automatic.interval)
        plan()
    }

    /// Examines at once because a request came, also where the diagnosis is off.
    func runNow() throws -> RunStart {
        guard !isStopped else { throw Problem(.notReady, status: 503, detail: "The service is stopping.") }
        let outcome = schedule.runNow(isRunning: examination != nil, at: clock.boot)
        guard outcome == .granted else { return RunStart(outcome) }
        cancelTimer()
        isRoutine = false
        try examine(isRequested: !isPeriodic)
        return .started
    }

    /// Examines soon when a path changed.
    func apply(_ update: EngineUpdate) {
        let change = update.paths.first { $0.monitor == MonitorPolicy.standardName }?.change
        if let change { requested?.apply(change) }
        guard automatic != nil else { return }
        carriers.record(ExaminationContext(engine.core).carriers, at: update.at)
        guard isPeriodic ? !update.isFirst : isFailing() || isAnythingStanding, !update.paths.isEmpty else {
            return
        }
        if change?.isOfExamination == true { abandon() }
        schedule.pathChanged(at: clock.boot)
        plan()
    }

    /// Gives up the round that runs: what it found out until now is from before.
    private func abandon() {
        endConfirmation()
        guard !isRequested, let running = examination, schedule.abandon(at: clock.boot) else { return }
        running.cancel()
        examination = nil
        if self.running != nil { show(running: nil) }
    }

    /// Examines soon when a probe fails or recovers (`isReported`), or, while a verdict stands, answers after any failure.
    func probeChanged(isReported: Bool) {
        guard automatic != nil, isReported && (isPeriodic || isFailing()) || isAnythingStanding else { return }
        let isFrugal = !isAnythingStanding && engine.core.path.isFrugal
        // What began while one failed says nothing of a network that has recovered.
        if !isFailing() { abandon() }
        schedule.partChanged(isFrugal: isFrugal, at: clock.boot)
        plan()
    }

    /// Examines at once when connections are no longer answered, or are again.
    func trafficChanged(isPath: Bool) {
        guard automatic != nil else { return }
        if isPath {
            onContradiction()
            abandon()
            schedule.pathChanged(at: clock.boot)
        } else {
            schedule.partChanged(isFrugal: false, at: clock.boot)
        }
        plan()
    }

    /// Publishes what counters of links show, without an examination.
    func healthChanged(_ verdicts: [Verdict]) {
        guard !isStopped else { return }
        health = verdicts
        let changes = tracker.apply(health: verdicts, at: clock.boot)
        for change in changes { publish(change) }
        forgetTimes()
        lastDocument = lastResult.map { self.document($0.examination, $0.targets) } ?? unexamined
        showVerdicts(in: &lastDocument)
        let isShowingRequest = requested != nil
        document =
            isShowingRequest
            ? requestedResult.map { self.document($0.examination, $0.targets) } ?? document : lastDocument
        revision += 1
        onChange()
    }

    /// The document without an examination.
    private var unexamined: DiagnosisDocument {
        guard !health.isEmpty else { return .idle }
        var evidence = Evidence()
        evidence.isNetworkExamined = false
        return DiagnosisDocument(
            diagnosis(of: evidence),
            path: DiagnosedPath(evidence),
            targets: "none",
            effort: nil,
            since: { _ in "" }
        )
    }

    private func diagnosis(of evidence: Evidence) -> Diagnosis {
        var evidence = evidence
        evidence.health = health
        return RuleEvaluator(budgets: (settings ?? TargetSettings()).targets.budgets).evaluate(evidence)
    }

    private func showVerdicts(in document: inout DiagnosisDocument) {
        document.verdicts = tracker.standing.map { standing in
            VerdictDocument(standing.verdict, since: startTime(standing).description)
        }
        document.severity = tracker.standing.first?.verdict.severity.rawValue
    }

    private func forgetTimes() {
        let standing = Set(tracker.standing.map(\.since))
        startTimes = startTimes.filter { standing.contains($0.key) }
    }

    /// Whether something stands that an examination found.
    private var isAnythingStanding: Bool { tracker.standing.contains { !$0.verdict.code.isOfCounters } }

    private func cancel() {
        endConfirmation()
        examination?.cancel()
        examination = nil
        if running != nil { show(running: nil) }
        cancelTimer()
    }

    private func cancelTimer() {
        if let timer { loop.cancel(timer) }
        timer = nil
    }

    private func plan() {
        guard automatic != nil, !isStopped, examination == nil else { return }
        cancelTimer()
        guard let next = schedule.next else { return }
        timer = loop.schedule(at: next) { [unowned self] in
            timer = nil
            let step = schedule.step(at: clock.boot)
            isRoutine = step == .routine
            switch step {
            case .confirmation where !isFailing(), .routine where isWell: confirm()
            // What cannot begin is tried again by the schedule.
            case .confirmation, .routine, .round: try? examine(isRequested: false)
            }
        }
    }

    /// Whether connections of this machine show that all is well.
    private var isWell: Bool { isProvedByTraffic() && traffic().allSatisfy { $0.state == .proved } && !isFailing() }

    private func endConfirmation() {
        confirmation?.cancel()
        confirmation = nil
    }

    /// Finds out by as few packets as possible whether what answered still does; a round follows where it does not.
    private func confirm() {
        let (path, now) = (engine.core.path, clock.boot)
        endConfirmation()
        schedule.confirm(isFrugal: path.isFrugal, at: now)
        plan()
        guard !isWell, let evidence = lastResult?.examination.evidence else { return }
        let since = max(schedule.lastEvent, now - (automatic?.interval ?? .zero))
        let definitions = Confirmation.definitions(
            evidence,
            servers: StandardTests(check: .local).definitions(for: path),
            recent: RecentAnswers(probes(), since: since)
        )
        guard !definitions.isEmpty else { return renew(since: since) }
        confirmation = Confirmation(definitions, loop: loop, pages: pages) { [unowned self] isAnswered in
            confirmation = nil
            if isAnswered { return renew(since: since) }
            schedule.reject(at: clock.boot)
            plan()
        }
    }

    /// What the last round proved is so still.
    private func renew(since: Duration) {
        lastSummary?.renew(since: since, at: clock.boot)
        onChange()
    }

    private func examine(isRequested: Bool) throws {
        self.isRequested = isRequested
        endConfirmation()
        schedule.begin(isOther: isRequested, at: clock.boot)
        let context = ExaminationContext(engine.core)
        do {
            let kernel = try self.kernel ?? LiveKernel()
            self.kernel = kernel
            examination = try Examination(
                order(context),
                kernel: kernel,
                loop: loop,
                pages: pages,
                progress: { [unowned self] layer in
                    var left = running
                    left?.finish(layer)
                    // A layer may be examined again, and end again.
                    if left != running { show(running: left) }
                },
                completion: { [unowned self] result in
                    examination = nil
                    running = nil
                    handle(result, isFrugal: context.isFrugal)
                }
            )
        } catch {
            kernel = nil
            schedule.end(.unsettled, isFrugal: context.isFrugal, at: clock.boot, chance: 0)
            plan()
            throw error
        }
        let started = clock.calendar(at: clock.boot).description
        show(running: DiagnosisStateDocument.Running(started: started, layers: Layer.ofNetwork))
    }

    private func order(_ context: ExaminationContext) -> ExaminationOrder {
        let targets = isRequested ? settings?.effectiveTargets : automatic?.targets
        var order = ExaminationOrder(targets: targets ?? Targets(), servers: context.servers)
        order.policy = context.policy
        guard !isRequested else {
            // As `nwpath diagnose` does, which has no earlier rounds.
            order.limit = .seconds(15)
            return order
        }
        order.isRepeated = true
        order.recent = RecentAnswers(probes(), since: max(schedule.lastEvent, clock.boot - RecentAnswers.validity))
        let interval = isRoutine ? Self.routineMeasuringInterval : Self.measuringInterval
        order.isMeasuring = measured.map { $0.isFaulty || clock.boot - $0.at >= interval } ?? true
        isMeasuring = order.isMeasuring
        carriers.record(context.carriers, at: clock.boot)
        order.carriers = carriers
        return order
    }

    private func handle(_ result: ExaminationResult, isFrugal: Bool) {
        let now = clock.boot
        var result = result
        result.evidence.traffic = traffic()
        let diagnosis = diagnosis(of: result.evidence)
        metrics.count(result)
        guard !isRequested else { return handleRequested(diagnosis, result, at: now) }
        if isMeasuring { measured = (now, diagnosis.verdicts.contains { $0.code.isMeasured }) }
        if requested != nil { forget() }
        let stalled = AddressFamily.allCases.filter(result.evidence.isStalled)
        let changes = tracker.apply(diagnosis, at: now, stalled: Set(stalled))
        for change in changes { publish(change) }
        if tracker.standing.contains(where: { $0.verdict.code.isMeasured }) { measured?.isFaulty = true }
        schedule.end(finding(diagnosis), isFrugal: isFrugal, at: now, chance: Double.random(in: 0..<1))
        forgetTimes()
        let pause = schedule.next.map { $0 - now } ?? DiagnosisSchedule.interval
        let validity = DiagnosisSchedule.validity(pause: pause)
        let before = lastSummary
        lastResult = (result, targetsOrigin)
        lastSummary = summary(diagnosis, result, ended: now, validity: validity)
        let isRecovered = before?.reachedInternet == false && lastSummary?.reachedInternet == true
        let isWithoutNames = before?.reachedDNS != true || lastSummary?.reachedDNS != true
        if lastSummary?.isSilent == true || isRecovered || isWithoutNames { onContradiction() }
        var document = document(result, targetsOrigin)
        // The verdicts that stand, not those of one round.
        showVerdicts(in: &document)
        lastDocument = document
        show(document)
        plan()
    }

    /// Shows for a while what was found; one round raises nothing.
    private func handleRequested(
        _ diagnosis: Diagnosis,
        _ result: ExaminationResult,
        at now: Duration
    ) {
        let validity = RequestedDiagnosis.validity
        let requested = RequestedDiagnosis(
            diagnosis.verdicts.filter { !$0.code.isOfCounters },
            summary(diagnosis, result, ended: now, validity: validity)
        )
        (self.requested, requestedResult) = (requested, (result, targetsOrigin))
        if requested.summary?.isSilent == true { onContradiction() }
        if let forgetTimer { loop.cancel(forgetTimer) }
        forgetTimer = loop.schedule(at: requested.end) { [unowned self] in
            forgetTimer = nil
            forget()
        }
        show(document(result, targetsOrigin))
        plan()
    }

    private func summary(
        _ diagnosis: Diagnosis,
        _ result: ExaminationResult,
        ended: Duration,
        validity: Duration
    ) -> ExaminationSummary {
        var summary = ExaminationSummary(
            diagnosis,
            reach: result.evidence.reach,
            started: result.started,
            ended: ended,
            validity: validity
        )
        // A server that answers each query with an error finds no names.
        if result.evidence.dns.value?.contains(where: \.findsNames) != true { summary.reachedDNS = false }
        return summary
    }

    private func forget() {
        if let forgetTimer { loop.cancel(forgetTimer) }
        (forgetTimer, requested, requestedResult) = (nil, nil, nil)
        show(lastDocument)
    }

    private func finding(_ diagnosis: Diagnosis) -> DiagnosisSchedule.Finding {
        // An examination finds nothing out about what counters show.
        let standing = Set(tracker.standing.map(\.verdict).filter { !$0.code.isOfCounters }.map(FaultName.init))
        let seen = Set(diagnosis.verdicts.filter { !$0.code.isOfCounters }.map(FaultName.init))
        guard standing == seen else {
            // A layer that was not assessed says nothing about its faults.
            let isRecovering =
                standing.isSuperset(of: seen)
                && standing.subtracting(seen).allSatisfy { diagnosis.state(of: $0.code)?.isAssessed == true }
            return isRecovering ? .recovering : .unsettled
        }
        return seen.isEmpty ? .sound : .wrong(diagnosis.severity ?? .broken)
    }

    private func document(_ result: ExaminationResult, _ targets: String) -> DiagnosisDocument {
        let time = clock.calendar(at: result.started).description
        let counted = tracker.standing.filter(\.verdict.code.isOfCounters)
        return DiagnosisDocument(
            diagnosis(of: result.evidence),
            path: DiagnosedPath(result.evidence),
            targets: targets,
            effort: DiagnosisDocument.Effort(
                time: time,
                duration: result.duration,
                sent: result.bytesSent,
                received: result.bytesReceived,
                isComplete: result.isComplete
            ),
            since: { verdict in
                let standing = counted.first {
                    $0.verdict.code == verdict.code && $0.verdict.subject == verdict.subject
                }
                return standing.map { startTime($0).description } ?? time
            }
        )
    }

    private var targetsOrigin: String {
        let isLocal = !isRequested && automatic?.targets.anchors.isEmpty == true
        return isLocal ? "local" : (settings ?? TargetSettings()).origin
    }

    private func show(_ new: DiagnosisDocument) {
        document = new
        revision += 1
        onChange()
    }

    private func show(running new: DiagnosisStateDocument.Running?) {
        running = new
        revision += 1
        // Layers end in groups: one update for all.
        guard !isProgressPending else { return }
        isProgressPending = true
        loop.deferring { [weak self] in
            self?.isProgressPending = false
            self?.onChange()
        }
    }

    private func publish(_ change: VerdictTracker.Change) {
        switch change {
        case .raised(let standing):
            hub.publish(VerdictChanged(standing.verdict, isRaised: true, since: startTime(standing)))
        case .cleared(let standing):
            hub.publish(VerdictChanged(standing.verdict, isRaised: false, since: startTime(standing)))
        }
    }

    private func startTime(_ standing: VerdictTracker.Standing) -> WallTime {
        if let known = startTimes[standing.since] { return known }
        let time = clock.calendar(at: standing.since)
        startTimes[standing.since] = time
        return time
    }
}

extension DiagnosisService: DaemonPart {
    func register(in registry: MetricRegistry) {
        metrics.register(in: registry)
    }

    func stop() {
        isStopped = true
        cancel()
    }
}

extension PathChange {
    /// Whether what an examination depends on is another one, or a gateway stopped answering or answers again.
    fileprivate var isOfExamination: Bool {
        guard let previous else { return true }
        return previous.hasSilentGateways != current.hasSilentGateways
            || ExaminedPath(previous) != ExaminedPath(current)
    }
}

extension ExaminationSummary {
    /// Counts from another time on.
    fileprivate mutating func renew(since start: Duration, at now: Duration) {
        (started, ended) = (max(started, start), now)
    }
}

extension NameServerEvidence {
    fileprivate var findsNames: Bool {
        [ipv4, ipv6, nonexistent, root, known, stream].contains { answer in
            switch answer {
            case .answered, .noSuchName: true
            default: false
            }
        }
    }
}

extension VerdictCode {
    /// Whether trains of packets show it.
    fileprivate var isMeasured: Bool { layer == .performance && !isOfTraffic || self == .linkLoss }
}

extension Path {
    /// Whether it costs money or should be spared.
    fileprivate var isFrugal: Bool { isExpensive || isConstrained }
}

/// What distinguishes faults.
private struct FaultName: Hashable {
    let code: VerdictCode
    let subject: String?

    init(_ verdict: Verdict) {
        code = verdict.code
        subject = verdict.subject
    }
}
