// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Configuration
internal import Diagnosis
internal import Documents
internal import EventHub
internal import Examination
internal import Judgement
internal import LinuxIO
internal import Metrics
internal import Netlink
internal import PathEngine
internal import PathModel
internal import Probes
internal import StatusServer

/// What an examination needs to know of the machine when it starts.
struct DiagnosisSurroundings {
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

/// The daemon's continuous diagnosis: examines the network by its schedule, keeps verdicts, publishes what changes.
///
/// Unless `diagnosis.enabled`, nothing is examined or sent but for ``runNow()``. Confined to the daemon's loop.
final class DiagnosisWatch {
    private let loop: EventLoop
    private let hub: EventHub
    private let clock: any TimeSource
    private let engine: PathEngine
    private let pages: PageClient
    private var kernel: LiveKernel?
    private var settings = TargetSettings()
    private var schedule: DiagnosisSchedule
    private var keeper = VerdictTracker()
    private var carriers = CarrierMemory()
    private var examination: Examination?
    private var timer: EventLoop.Timer?
    private var isStopped = false
    /// What the calendar said when faults were first seen: told alike each time, whatever the calendar does.
    private var moments: [Duration: WallTime] = [:]
    private let metrics = DiagnosisMetrics()
    private var lastSummary: ExaminationSummary?
    /// What counts of the examination that somebody asked for while the diagnosis is off.
    private var requested: RequestedDiagnosis?
    /// What is known, as `/api/v1/diagnosis` shows it.
    private(set) var document = DiagnosisDocument.idle
    /// The examination that runs, as `/api/v1/diagnosis` shows it.
    private(set) var running: DiagnosisStateDocument.Running?
    private var isProgressUntold = false
    /// How often the document changed, for the tags of documents.
    private(set) var revision: UInt64 = 0
    private var onChange: () -> Void = {}
    /// Called when tests may still say otherwise: no host beyond the gateway answered, or some do again.
    var onContradiction: () -> Void = {}

    init(_ engine: PathEngine, loop: EventLoop, hub: EventHub, clock: any TimeSource) {
        self.engine = engine
        self.loop = loop
        self.hub = hub
        self.clock = clock
        pages = PageClient(loop: loop)
        schedule = DiagnosisSchedule(at: clock.boot)
    }

    /// The verdicts that stand, worst first.
    var standing: [VerdictTracker.Standing] { keeper.standing }

    /// The faults that the headline is judged from, worst first.
    var verdicts: [VerdictTracker.Standing] { requested?.verdicts ?? keeper.standing }

    /// Whether it examines by itself, again and again.
    var isContinuous: Bool { settings.isEnabled }

    /// What the last examination found by asking; `nil` without one.
    var summary: ExaminationSummary? { requested.map(\.summary) ?? lastSummary }

    /// Begins to examine, if the configuration says so.
    ///
    /// `onChange` is called when the document shows what an examination found, or how far it is.
    func start(_ settings: TargetSettings, onChange: @escaping () -> Void) {
        self.onChange = onChange
        take(settings)
    }

    /// Takes what the configuration says; what stands is taken back when there is to be no diagnosis any more.
    func take(_ new: TargetSettings) {
        guard new != settings else { return }
        settings = new
        cancel()
        if requested != nil { forget() }
        guard new.isEnabled else {
            for standing in keeper.standing { publish(.cleared(standing)) }
            keeper = VerdictTracker()
            lastSummary = nil
            return show(.idle)
        }
        schedule = DiagnosisSchedule(at: clock.boot)
        plan()
    }

    /// Examines at once because somebody asked for it, also where the diagnosis is off.
    func runNow() throws -> RunStart {
        guard !isStopped else { throw Problem(.notReady, status: 503, detail: "The service is stopping.") }
        let wish = schedule.runNow(isRunning: examination != nil, at: clock.boot)
        guard wish == .granted else { return RunStart(wish) }
        if settings.isEnabled { cancelTimer() }
        try examine()
        return .started
    }

    /// Examines soon when a path changed.
    func take(_ update: EngineUpdate) {
        guard settings.isEnabled else {
            for path in update.paths where path.monitor == MonitorPolicy.standardName { requested?.take(path.change) }
            return
        }
        carriers.note(DiagnosisSurroundings(engine.core).carriers, at: update.at)
        guard !update.isFirst, !update.paths.isEmpty else { return }
        schedule.pathChanged(at: clock.boot)
        plan()
    }

    /// Examines soon when a probe answers again, or fails.
    func probeChanged() {
        guard settings.isEnabled else { return }
        let isFrugal = standing.isEmpty && engine.core.path.isFrugal
        schedule.probeChanged(isFrugal: isFrugal, at: clock.boot)
        plan()
    }

    private func cancel() {
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
        guard settings.isEnabled, !isStopped, examination == nil else { return }
        cancelTimer()
        timer = loop.schedule(at: schedule.next) { [unowned self] in
            timer = nil
            // What cannot begin is tried again by the schedule.
            try? examine()
        }
    }

    private func examine() throws {
        schedule.begin(at: clock.boot)
        let around = DiagnosisSurroundings(engine.core)
        do {
            let kernel = try self.kernel ?? LiveKernel()
            self.kernel = kernel
            examination = try Examination(
                order(around),
                kernel: kernel,
                loop: loop,
                pages: pages,
                progress: { [unowned self] layer in
                    var left = running
                    left?.finish(layer)
                    // A layer may be asked once more, and end once more.
                    if left != running { show(running: left) }
                },
                completion: { [unowned self] result in
                    examination = nil
                    running = nil
                    take(result, isFrugal: around.isFrugal)
                }
            )
        } catch {
            kernel = nil
            schedule.end(.unsettled, isFrugal: around.isFrugal, at: clock.boot, chance: 0)
            plan()
            throw error
        }
        let started = clock.calendar(at: clock.boot).description
        show(running: DiagnosisStateDocument.Running(started: started, layers: Layer.ofNetwork))
    }

    private func order(_ around: DiagnosisSurroundings) -> ExaminationOrder {
        var order = ExaminationOrder(targets: settings.effectiveTargets, servers: around.servers)
        order.policy = around.policy
        guard settings.isEnabled else {
            // As `nwpath diagnose` does: nobody kept an eye on anything before.
            order.limit = .seconds(15)
            return order
        }
        order.isRepeated = true
        carriers.note(around.carriers, at: clock.boot)
        order.carriers = carriers
        return order
    }

    private func take(_ result: ExaminationResult, isFrugal: Bool) {
        let now = clock.boot
        let diagnosis = Judge(budgets: settings.effectiveTargets.budgets).judge(result.evidence)
        metrics.count(result)
        guard settings.isEnabled else { return takeRequested(diagnosis, result, at: now) }
        let changes = keeper.take(diagnosis, at: now)
        for change in changes { publish(change) }
        schedule.end(
            finding(diagnosis),
            isFrugal: isFrugal,
            at: now,
            chance: Double.random(in: 0..<1)
        )
        let standing = Set(keeper.standing.map(\.since))
        moments = moments.filter { standing.contains($0.key) }
        let validity = DiagnosisSchedule.validity(pause: schedule.next - now)
        let before = lastSummary
        lastSummary = summary(diagnosis, result, ended: now, validity: validity)
        let isRecovered = before?.reachedInternet == false && lastSummary?.reachedInternet == true
        if lastSummary?.isSilent == true || isRecovered { onContradiction() }
        var document = document(diagnosis, result)
        // What is shown as wrong is what was told, not what one round saw.
        document.verdicts = keeper.standing.map { standing in
            VerdictDocument(standing.verdict, since: moment(standing).description)
        }
        document.severity = keeper.standing.first?.verdict.severity.rawValue
        show(document)
        plan()
    }

    /// Shows for a while what was found; it raises nothing, for nobody looks a second time.
    private func takeRequested(_ diagnosis: Diagnosis, _ result: ExaminationResult, at now: Duration) {
        let validity = RequestedDiagnosis.validity
        let requested = RequestedDiagnosis(
            diagnosis.verdicts,
            summary(diagnosis, result, ended: now, validity: validity)
        )
        self.requested = requested
        if requested.summary?.isSilent == true { onContradiction() }
        cancelTimer()
        timer = loop.schedule(at: requested.end) { [unowned self] in
            timer = nil
            forget()
        }
        show(document(diagnosis, result))
    }

    private func summary(
        _ diagnosis: Diagnosis,
        _ result: ExaminationResult,
        ended: Duration,
        validity: Duration
    ) -> ExaminationSummary {
        ExaminationSummary(
            diagnosis,
            reach: result.evidence.reach,
            started: result.started,
            ended: ended,
            validity: validity
        )
    }

    private func forget() {
        requested = nil
        show(.idle)
    }

    private func finding(_ diagnosis: Diagnosis) -> DiagnosisSchedule.Finding {
        let standing = Set(keeper.standing.map { FaultName($0.verdict) })
        let seen = Set(diagnosis.verdicts.map(FaultName.init))
        guard standing == seen else {
            // A layer that was not assessed says nothing about its faults.
            let isRecovering =
                standing.isSuperset(of: seen)
                && standing.subtracting(seen).allSatisfy { diagnosis.state(of: $0.code.layer)?.isAssessed == true }
            return isRecovering ? .recovering : .unsettled
        }
        return seen.isEmpty ? .sound : .broken
    }

    private func document(_ diagnosis: Diagnosis, _ result: ExaminationResult) -> DiagnosisDocument {
        let time = clock.calendar(at: result.started).description
        return DiagnosisDocument(
            diagnosis,
            path: DiagnosedPath(result.evidence),
            targets: settings.origin,
            effort: DiagnosisDocument.Effort(
                time: time,
                duration: result.duration,
                sent: result.bytesSent,
                received: result.bytesReceived,
                isComplete: result.isComplete
            ),
            since: { _ in time }
        )
    }

    private func show(_ new: DiagnosisDocument) {
        document = new
        revision += 1
        onChange()
    }

    private func show(running new: DiagnosisStateDocument.Running?) {
        running = new
        revision += 1
        // Layers end in groups, which whoever waits gets at once.
        guard !isProgressUntold else { return }
        isProgressUntold = true
        loop.deferring { [weak self] in
            self?.isProgressUntold = false
            self?.onChange()
        }
    }

    private func publish(_ change: VerdictTracker.Change) {
        switch change {
        case .raised(let standing):
            hub.publish(VerdictChanged(standing.verdict, isRaised: true, since: moment(standing)))
        case .cleared(let standing):
            hub.publish(VerdictChanged(standing.verdict, isRaised: false, since: moment(standing)))
        }
    }

    private func moment(_ standing: VerdictTracker.Standing) -> WallTime {
        if let known = moments[standing.since] { return known }
        let moment = clock.calendar(at: standing.since)
        moments[standing.since] = moment
        return moment
    }
}

extension DiagnosisWatch: DaemonPart {
    func register(in registry: MetricRegistry) {
        metrics.register(in: registry) { [unowned self] in standing }
    }

    func stop() {
        isStopped = true
        cancel()
    }
}

extension Path {
    /// Whether it costs money or should be spared.
    fileprivate var isFrugal: Bool { isExpensive || isConstrained }
}

/// What tells one fault from another.
private struct FaultName: Hashable {
    let code: VerdictCode
    let subject: String?

    init(_ verdict: Verdict) {
        code = verdict.code
        subject = verdict.subject
    }
}
