// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Diagnosis
internal import EventHub
internal import LinuxIO
internal import Metrics
internal import Netlink
internal import PathEngine
internal import PathModel
internal import Probes

/// The headline of the machine's connection: evaluated when a fact changes or a time limit expires, and only then.
///
/// Confined to the daemon's loop.
final class HeadlineService {
    private let loop: EventLoop
    private let hub: EventHub
    private let engine: PathEngine
    private let probes: ProbeService
    private let diagnosis: DiagnosisService
    private let hostName: HostNameMonitor
    private var record = HeadlineRecord()
    private var timer: (timer: EventLoop.Timer, due: Duration)?
    /// What connections through the gateways of a path show.
    var traffic: (Path) -> [TrafficObservation] = { _ in [] }
    /// Receives the headline after each evaluation.
    var onEvaluation: (Headline) -> Void = { _ in }
    /// Receives a line for people about each change that is published.
    var onChange: (String) -> Void = { _ in }

    init(
        _ engine: PathEngine,
        hub: EventHub,
        probes: ProbeService,
        diagnosis: DiagnosisService,
        host hostName: HostNameMonitor,
        loop: EventLoop
    ) {
        self.engine = engine
        self.hub = hub
        self.probes = probes
        self.diagnosis = diagnosis
        self.hostName = hostName
        self.loop = loop
    }

    /// What the daemon's parts know.
    private var facts: HeadlineFacts {
        let (path, now) = (engine.path, loop.clock.boot)
        let statusSince = engine.statusSince ?? now
        var facts = HeadlineFacts(host: hostName.name, path: path, statusSince: statusSince, now: now)
        facts.verdicts = diagnosis.verdicts
        facts.examination = diagnosis.summary
        facts.awaitsExamination = diagnosis.isPeriodic && (diagnosis.summary?.ended ?? .zero) < statusSince
        facts.examinesFailures = diagnosis.isAutomatic
        facts.traffic = traffic(path)
        if !probes.states.isEmpty {
            let (state, servers) = (engine.core.state, path.dns.servers)
            facts.probes = probes.states.map { probe in
                ProbeObservation(probe, state: state, servers: servers) { [engine] address, route in
                    engine.isOnPath(address, by: route, path)
                }
            }
        }
        return facts
    }

    /// The headline, and since when its state stands, as time since boot; reading it records nothing.
    var current: (headline: Headline, since: Duration) {
        record.current ?? (HeadlineEvaluator(facts).headline, engine.statusSince ?? .zero)
    }

    private var asleep: Duration { loop.clock.boot - loop.clock.awake }

    /// Evaluates the facts, and plans when to do that again although none of them changes.
    func reevaluate() {
        record.reevaluate(facts, asleep: asleep)
        schedule(record.due)
        onEvaluation(current.headline)
    }

    /// Evaluates the facts within a second: routes changed, which targets of probes may have, and many may follow.
    func reevaluateSoon() {
        guard !probes.states.isEmpty else { return }
        schedule(min(timer?.due ?? .seconds(Int64.max), loop.clock.boot + .seconds(1)))
    }

    private func schedule(_ due: Duration?) {
        guard due != timer?.due else { return }
        stop()
        guard let due else { return }
        let timer = loop.schedule(at: due) { [weak self] in self?.handleTimer() }
        self.timer = (timer, due)
    }

    /// Publishes the state, when it is another one than was reported before, and stood long enough.
    private func handleTimer() {
        timer = nil
        reevaluate()
        guard let change = record.dequeueChange(at: loop.clock.boot) else { return }
        let previousSince = loop.clock.calendar(at: change.previousSince)
        let since = loop.clock.calendar(at: change.since)
        let event = HeadlineChanged(change, since: since, previousSince: previousSince)
        if hub.publish(event) != nil { onChange(event.line) }
        // What was reported is a fact as well.
        reevaluate()
    }
}

extension Headline {
    /// Such as `✓ Online: all tests answer via eth0 and 192.0.2.1`.
    var sentence: String { "\(state.level.symbol) \(state.word): \(message)" }
}

extension HeadlineService: DaemonPart {
    func register(in registry: MetricRegistry) {
        registry.add { [unowned self] writer in
            let (current, now, asleep) = (current.headline.state, loop.clock.boot, asleep)
            for state in Headline.State.allCases {
                writer.write(Family.headline, current == state, state.rawValue)
                writer.write(Family.seconds, record.seconds(of: state, at: now, asleep: asleep), state.rawValue)
            }
        }
    }

    func stop() {
        if let timer { loop.cancel(timer.timer) }
        timer = nil
    }
}

extension ProbeObservation {
    /// What a probe says; a target on one of this machine's networks says nothing of what is beyond.
    init(
        _ probe: ProbeState,
        state: KernelState,
        servers: [DNSServer],
        isOnPath: (IPAddress, ProbeRoute) -> Bool
    ) {
        let (definition, last) = (probe.definition, probe.last)
        let address = last?.address?.address
        let position: Position =
            switch (definition.method, definition.target) {
            case (.dns, _) where definition.question.server.map { $0.isAmong(servers) } ?? true: .nameServer
            case (_, .gateway): .gateway
            default:
                if let address, state.isNear(address) {
                    .near
                } else {
                    address.map { isOnPath($0, definition.route) } ?? true ? .beyond : .elsewhere
                }
            }
        var (failure, detail): (String?, String?)
        if case .failure(let reason, let text) = last?.outcome { (failure, detail) = (reason.rawValue, text) }
        let server = position == .nameServer ? definition.question.server?.address.address : nil
        self.init(
            definition.name,
            position,
            address: (server ?? address).map { "\($0)" },
            family: definition.family ?? address?.family,
            isFailing: probe.schedule.isFailing,
            failingSince: probe.schedule.failingSince,
            isCaptive: probe.schedule.isCaptive,
            captiveSince: probe.schedule.captiveSince,
            lastCaptive: probe.schedule.lastCaptive,
            answered: probe.lastSuccess,
            answeringSince: probe.schedule.answeringSince,
            lastStart: probe.lastStart,
            isAssessable: last?.isAssessed ?? true,
            assessed: probe.lastAssessed,
            validity: definition.interval * (definition.threshold + 1) + definition.timeout,
            roundTrip: last?.isSuccess == true ? last?.duration : nil,
            findsName: last?.isSuccess == true && last?.resolution != nil,
            bypassesGateway: server.map { state.isNear($0) || !isOnPath($0, definition.route) } ?? false,
            failure: failure,
            failureDetail: detail
        )
    }
}

extension SocketAddress {
    /// Whether it is one of these name servers.
    fileprivate func isAmong(_ servers: [DNSServer]) -> Bool {
        servers.contains { $0.address.address.unmapped == address.address.unmapped && ($0.port ?? 53) == port }
    }
}

extension PathEngine {
    /// Whether the kernel sends packets to an address by an interface and a gateway of the path.
    fileprivate func isOnPath(_ address: IPAddress, by route: ProbeRoute, _ path: Path) -> Bool {
        let query = RouteQuery(
            address,
            kind: .decision,
            outputInterface: route.interface.flatMap { name in
                let name = core.state.namesByAlternative[name] ?? name
                return core.state.links.values.first { $0.name == name }?.index
            },
            mark: route.mark ?? 0,
            uid: route.userID
        )
        guard let answer = try? table.lookup(query).get(), let index = answer.onlyInterface else { return true }
        guard path.interfaces.contains(where: { $0.index == index }) else { return false }
        return answer.onlyGateway.map { gateway in path.gateways.contains { $0.address.address == gateway } } ?? true
    }
}

extension KernelState {
    /// Whether an address is this machine's, or on one of the networks that it has an address of.
    func isNear(_ address: IPAddress) -> Bool {
        if address.isLoopback || address.isLinkLocal { return true }
        return addresses.values.joined().contains { held in
            IPPrefix(held.value.address, length: held.value.prefixLength).contains(address)
        }
    }
}

private enum Family {
    static let headline = MetricFamily.gauge(
        "headline",
        "1 for the current state of the headline.",
        ["state"]
    )
    static let seconds = MetricFamily.counter(
        "headline_seconds",
        "Seconds of the headline in each state.",
        ["state"]
    )
}
