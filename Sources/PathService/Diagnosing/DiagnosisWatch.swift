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

/// What an examination needs to know of the machine when it starts.
struct DiagnosisSurroundings {
    /// The name servers in use, in order.
    let servers: [DNSServer]
    let policy: PathPolicy
    /// Whether the path costs money or should be spared.
    let isFrugal: Bool
    /// How often each interface's carrier changed, by index (`IFLA_CARRIER_CHANGES`).
    let carriers: [Int: UInt32]

    init(_ path: Path, policy: PathPolicy, links: [Int: Link]) {
        carriers = links.mapValues(\.carrierChanges)
        servers = path.dns.servers
        self.policy = policy
        isFrugal = path.isExpensive || path.isConstrained
    }
}

/// The daemon's continuous diagnosis: examines the network by its schedule, keeps verdicts, publishes what changes.
///
/// Nothing is examined or sent unless `diagnosis.enabled`. Confined to the daemon's loop.
final class DiagnosisWatch {
    private let loop: EventLoop
    private let hub: EventHub
    private let clock: any TimeSource
    private let surroundings: () -> DiagnosisSurroundings
    private let pages: PageClient
    private var kernel: LiveKernel?
    private var settings = TargetSettings()
    private var schedule: DiagnosisSchedule
    private var keeper = VerdictKeeper()
    private var carriers = CarrierMemory()
    private var examination: Examination?
    private var timer: EventLoop.Timer?
    private var isStopped = false
    /// What the calendar said when faults were first seen: told alike each time, whatever the calendar does.
    private var moments: [Duration: WallTime] = [:]
    let metrics = DiagnosisMetrics()
    /// What the last examination found by asking; `nil` without one.
    private(set) var sign: ExaminationSign?
    /// What is known, as `/api/v1/diagnosis` shows it.
    private(set) var document = DiagnosisDocument.idle
    /// How often the document changed, for the tags of documents.
    private(set) var revision: UInt64 = 0
    /// Called when the document shows something new.
    var onResult: () -> Void = {}

    init(
        loop: EventLoop,
        hub: EventHub,
        clock: any TimeSource,
        surroundings: @escaping () -> DiagnosisSurroundings
    ) {
        self.loop = loop
        self.hub = hub
        self.clock = clock
        self.surroundings = surroundings
        pages = PageClient(loop: loop)
        schedule = DiagnosisSchedule(at: clock.boot)
    }

    /// The verdicts that stand, worst first.
    var standing: [VerdictKeeper.Standing] { keeper.standing }

    /// Takes what the configuration says; what stands is taken back when there is to be no diagnosis any more.
    func take(_ new: TargetSettings) {
        guard new != settings else { return }
        settings = new
        cancel()
        guard new.isEnabled else {
            for standing in keeper.standing { publish(.cleared(standing)) }
            keeper = VerdictKeeper()
            sign = nil
            return show(.idle)
        }
        schedule = DiagnosisSchedule(at: clock.boot)
        plan()
    }

    /// Examines soon when a path changed.
    func take(_ update: EngineUpdate) {
        guard settings.isEnabled else { return }
        carriers.note(surroundings().carriers, at: update.at)
        guard !update.isFirst, !update.paths.isEmpty else { return }
        schedule.pathChanged(at: clock.boot)
        plan()
    }

    func stop() {
        isStopped = true
        cancel()
    }

    private func cancel() {
        examination?.cancel()
        examination = nil
        if let timer { loop.cancel(timer) }
        timer = nil
    }

    private func plan() {
        guard settings.isEnabled, !isStopped, examination == nil else { return }
        if let timer { loop.cancel(timer) }
        timer = loop.schedule(at: schedule.next) { [unowned self] in
            timer = nil
            examine()
        }
    }

    private func examine() {
        schedule.begin(at: clock.boot)
        let around = surroundings()
        var order = ExaminationOrder(targets: settings.effectiveTargets, servers: around.servers)
        order.policy = around.policy
        order.isRepeated = true
        carriers.note(around.carriers, at: clock.boot)
        order.carriers = carriers
        do {
            let kernel = try self.kernel ?? LiveKernel()
            self.kernel = kernel
            examination = try Examination(order, kernel: kernel, loop: loop, pages: pages) { [unowned self] result in
                examination = nil
                take(result, isFrugal: around.isFrugal)
            }
        } catch {
            kernel = nil
            schedule.end(.unsettled, isFrugal: around.isFrugal, at: clock.boot, chance: 0)
            plan()
        }
    }

    private func take(_ result: ExaminationResult, isFrugal: Bool) {
        let now = clock.boot
        let diagnosis = Judge(budgets: settings.effectiveTargets.budgets).judge(result.evidence)
        let changes = keeper.take(diagnosis, at: now)
        metrics.count(result)
        for change in changes { publish(change) }
        schedule.end(
            finding(diagnosis),
            isFrugal: isFrugal,
            at: now,
            chance: Double.random(in: 0..<1)
        )
        let standing = Set(keeper.standing.map(\.since))
        moments = moments.filter { standing.contains($0.key) }
        // It counts until the next but one would have ended.
        sign = ExaminationSign(diagnosis, ended: now, validity: (schedule.next - now) * 2 + .seconds(30))
        show(shown(diagnosis, result))
        plan()
    }

    private func finding(_ diagnosis: Diagnosis) -> DiagnosisSchedule.Finding {
        let standing = Set(keeper.standing.map { FaultName($0.verdict) })
        let seen = Set(diagnosis.verdicts.map(FaultName.init))
        guard standing == seen else { return .unsettled }
        return seen.isEmpty ? .sound : .broken
    }

    private func shown(_ diagnosis: Diagnosis, _ result: ExaminationResult) -> DiagnosisDocument {
        let time = clock.calendar(at: result.started).description
        var document = DiagnosisDocument(
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
        // What is shown as wrong is what was told, not what one round saw.
        document.verdicts = keeper.standing.map { standing in
            VerdictDocument(standing.verdict, since: moment(standing).description)
        }
        document.severity = keeper.standing.first?.verdict.severity.rawValue
        return document
    }

    private func show(_ new: DiagnosisDocument) {
        document = new
        revision += 1
        onResult()
    }

    private func publish(_ change: VerdictKeeper.Change) {
        switch change {
        case .raised(let standing):
            hub.publish(VerdictChanged(standing.verdict, isRaised: true, since: moment(standing)))
        case .cleared(let standing):
            hub.publish(VerdictChanged(standing.verdict, isRaised: false, since: moment(standing)))
        }
    }

    private func moment(_ standing: VerdictKeeper.Standing) -> WallTime {
        if let known = moments[standing.since] { return known }
        let moment = clock.calendar(at: standing.since)
        moments[standing.since] = moment
        return moment
    }
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
