// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
public import Diagnosis
public import LinuxIO
public import Netlink
public import PathModel
public import Probes

public struct ExaminationOrder: Sendable {
    /// What it tests beyond the own machine.
    public var targets: Targets
    /// The name servers of the system, in order; `nil` when that is not known.
    public var servers: [DNSServer]?
    /// The domains in which short names are looked up (`search` of resolv.conf(5)).
    package var searchDomains: [String] = []
    public var policy = PathPolicy()
    /// Whether the environment names a proxy (libcurl-env(3)), so that requests are made through it too.
    package var usesProxy = false
    /// A destination to reach; the network is tested only when something keeps packets from it.
    public var destination: Destination?
    /// Whether nothing may be sent.
    public var isOffline = false
    /// Whether this is one of many: DHCP servers are queried only on a link without an address.
    public var isRepeated = false
    /// What answered probes recently.
    package var recent = RecentAnswers()
    /// Whether trains of packets are sent, which measure loss and jitter.
    package var isMeasuring = true
    /// What carriers did before, where that was recorded; else only what they do meanwhile counts.
    public var carriers: CarrierMemory?
    /// Whether the line may be loaded at the end, to measure what it carries; many megabytes may go over it.
    public var isLoading = false
    public var limit = Duration.seconds(10)
    /// Whether it ends then even if this machine was too busy to receive answers.
    public var isLimitFixed = false

    public init(targets: Targets, servers: [DNSServer]?) {
        self.targets = targets
        self.servers = servers
    }
}

public struct ExaminationResult: Sendable {
    public var evidence: Evidence
    /// The time since boot at which it began.
    public var started: Duration
    public var duration: Duration
    /// The bytes that were sent, without the headers of IP, TCP and UDP.
    public var bytesSent: Int
    /// The bytes that came back, counted likewise.
    public var bytesReceived: Int
    /// Whether everything ended in time.
    public var isComplete: Bool
}

/// Gathers evidence of every layer, all at once, within a time limit: runs the checks of ``Check/table``.
///
/// The kernel is queried first; where it has no route, nothing is sent. It changes nothing on the machine and leaves
/// nothing behind. Confined to the loop's thread.
public final class Examination: Cancelable {
    /// How long the name of a destination may take before the network is tested meanwhile.
    private static let lookupLimit = Duration.milliseconds(1500)

    private let loop: EventLoop
    private let pages: PageClient
    private let progress: (Layer) -> Void
    private let completion: (ExaminationResult) -> Void
    private let started: Duration
    private var state: ExaminationState
    private var stage = ExaminationStage.network
    /// When the test of the network began.
    private var networkStarted: Duration
    /// How late timers had come until then.
    private var networkLateness = Duration.zero
    private var counters: [String: Int] = [:]
    /// The counters of carrier changes at the beginning, by interface.
    private var carriers: [Int: UInt32] = [:]
    private var running: [Int: (layer: Layer, task: any Cancelable)] = [:]
    private var nextTask = 0
    private var timer: EventLoop.Timer?
    private var isOver = false

    /// Starts an examination.
    /// - Parameters:
    ///   - order: What it may do.
    ///   - kernel: Where facts come from.
    ///   - loop: Where it goes on.
    ///   - pages: What makes HTTP requests on the same loop.
    ///   - progress: Receives each layer whose last query was answered.
    ///   - completion: Receives the result, never before this call returns.
    /// - Throws: ``NetlinkError`` when the kernel cannot be queried.
    public init(
        _ order: ExaminationOrder,
        kernel: any KernelSource,
        loop: EventLoop,
        pages: PageClient,
        progress: @escaping (Layer) -> Void = { _ in },
        completion: @escaping (ExaminationResult) -> Void
    ) throws(NetlinkError) {
        self.loop = loop
        self.pages = pages
        self.progress = progress
        self.completion = completion
        started = loop.clock.boot
        networkStarted = started
        state = ExaminationState(order, kernel: kernel)
        try state.readKernel(at: started)
        carriers = Dictionary(state.facts.links.map { ($0.index, $0.carrierChanges) }) { first, _ in first }
        timer =
            if order.isLimitFixed {
                loop.schedule(at: started + order.limit) { [weak self] in self?.end(isComplete: false) }
            } else {
                loop.scheduleTimeout(after: order.limit) { [weak self] _ in self?.end(isComplete: false) }
            }
        loop.deferring { [weak self] in self?.begin() }
    }

    /// Ends it without a result.
    public func cancel() {
        isOver = true
        release()
    }

    // MARK: - Stages

    private func begin() {
        guard !isOver else { return }
        guard let destination = state.order.destination else { return examineNetwork() }
        state.evidence.isNetworkExamined = false
        stage = .destination
        record { $0.testDestination(destination) }
        if state.isLookingUp {
            loop.schedule(after: Self.lookupLimit) { [weak self] in self?.examineNetworkMeanwhile() }
        }
        report(Layer.ofDestination)
        advance()
    }

    /// Goes on once every task of a stage is over.
    private func advance() {
        while running.isEmpty, !isOver {
            switch stage {
            case .destination: explainDestination()
            case .carrier: checkCarrier()
            case .network: run(.recheck)
            case .recheck: run(.depth)
            case .depth: run(.confirmation)
            case .confirmation where !state.order.isMeasuring:
                state.evidence.gaps[.performance] = "not measured in each round"
                run(.load)
            case .confirmation: run(.quality)
            case .quality: run(.comparison)
            case .comparison: run(.load)
            case .load: end(isComplete: true)
            }
        }
    }

    private func run(_ next: ExaminationStage) {
        stage = next
        for check in Check.table where check.stage == next { record(check.start) }
    }

    /// A destination that works needs no explanation.
    private func explainDestination() {
        guard let destination = state.evidence.destination else { return end(isComplete: true) }
        let faults = RuleEvaluator().evaluate(state.evidence).verdicts
        let isOwn = destination.isGenuine && faults.allSatisfy { $0.code.layer >= .http }
        guard destination.mayBeForged || !faults.isEmpty && !isOwn else { return end(isComplete: true) }
        state.evidence.isNetworkExamined = true
        guard !state.isExplainedByKernel else {
            leave(because: "no route beyond the local networks")
            return end(isComplete: true)
        }
        examineNetwork()
    }

    /// Tests the network while the destination's name is still being looked up.
    private func examineNetworkMeanwhile() {
        guard state.isLookingUp, stage == .destination, !isOver else { return }
        state.evidence.isNetworkExamined = true
        examineNetwork()
    }

    /// Waits no longer for a name when nothing else is left to wait for and no name server answered.
    private func shortenLookup() {
        let lookups = running.values.compactMap { $0.task as? HostLookup }
        guard lookups.count == running.count, stage == .network else { return }
        guard let servers = state.evidence.dns.value, servers.contains(where: \.isAnswering) else {
            return lookups.forEach { $0.giveUp() }
        }
    }

    private func examineNetwork() {
        networkStarted = loop.clock.boot
        networkLateness = loop.lateness
        stage = .network
        guard !state.order.isOffline else {
            leave(because: "nothing is sent with --offline")
            return end(isComplete: true)
        }
        guard state.hasCarrier else { return waitForCarrier() }
        testNetwork()
    }

    private func testNetwork() {
        counters = PacketCounters.received()
        run(.network)
        report(Layer.ofNetwork.filter { $0 != .performance })
        advance()
    }

    /// Gives a carrier that was there before a second to come back: a cable that flaps is not a dead one.
    private func waitForCarrier() {
        let isFlapping = state.facts.links.contains { $0.flags.contains(.up) && $0.carrierChanges > 1 }
        guard isFlapping, !state.order.isRepeated else { return end(isComplete: true) }
        stage = .carrier
        start(
            CheckTask(layer: .link) { context in
                Pause(for: .seconds(1), loop: context.loop) { context.finish { _ in } }
            }
        )
    }

    private func checkCarrier() {
        try? state.readKernel(at: loop.clock.boot)
        guard state.hasCarrier else { return end(isComplete: true) }
        testNetwork()
    }

    /// Reports those layers for which nothing is under way.
    private func report(_ layers: [Layer]) {
        for layer in layers where !running.values.contains(where: { $0.layer == layer }) { progress(layer) }
    }

    private func leave(because reason: String) {
        for layer in Layer.ofNetwork where layer > .local { state.evidence.gaps[layer] = reason }
        for index in state.evidence.gateways.indices {
            state.evidence.gateways[index].hardwareAddresses = .unknown(because: reason)
        }
        state.evidence.portal.api = .unknown(because: reason)
    }

    // MARK: - Tasks

    /// Changes what is known, and starts the tasks that this queued.
    private func record(_ change: (inout ExaminationState) -> Void) {
        change(&state)
        let tasks = state.tasks
        state.tasks = []
        for task in tasks { start(task) }
    }

    private func start(_ task: CheckTask) {
        let number = nextTask
        nextTask += 1
        let context = CheckTask.Context(
            loop: loop,
            pages: pages,
            record: { [weak self] change in self?.record(change) },
            finish: { [weak self] change in self?.finish(number, change) }
        )
        running[number] = (task.layer, task.start(context))
    }

    private func finish(_ number: Int, _ change: (inout ExaminationState) -> Void) {
        guard let (layer, _) = running[number], !isOver else { return }
        record(change)
        running[number] = nil
        report([layer])
        if running.isEmpty { advance() } else { shortenLookup() }
    }

    // MARK: - The end

    private func end(isComplete: Bool) {
        guard !isOver else { return }
        isOver = true
        release()
        let duration = loop.clock.boot - started
        if !isComplete { recordUnfinished() }
        if state.evidence.isNetworkExamined {
            let elapsed = loop.clock.boot - networkStarted
            readNeighbors(after: elapsed)
            readCounters(after: elapsed, awake: elapsed - (loop.lateness - networkLateness))
        }
        completion(
            ExaminationResult(
                evidence: state.evidence,
                started: started,
                duration: duration,
                bytesSent: state.bytes.sent,
                bytesReceived: state.bytes.received,
                isComplete: isComplete
            )
        )
    }

    private func recordUnfinished() {
        for layer in Layer.allCases where layer > .local && state.evidence.gaps[layer] == nil {
            state.evidence.gaps[layer] = Self.unfinished
        }
        for index in state.evidence.gateways.indices
        where state.evidence.gateways[index].hardwareAddresses == .notAsked {
            state.evidence.gateways[index].hardwareAddresses = .unknown(because: Self.unfinished)
        }
    }

    private static let unfinished = "timed out"

    /// The kernel's neighbour entries of gateways that this process may not query, after a datagram that made it resolve
    /// them; and of those that seemed silent, since a neighbour that answered the kernel meanwhile is there.
    private func readNeighbors(after duration: Duration) {
        guard !state.order.isOffline, duration >= .seconds(1) else { return }
        for (index, gateway) in state.evidence.gateways.enumerated() {
            let owners = gateway.hardwareAddresses.value
            guard owners?.isEmpty ?? true,
                let link = state.facts.links.first(where: { $0.name == gateway.interface }),
                let entry = try? state.kernel.neighbor(gateway.address, index: link.index)
            else { continue }
            switch entry.state {
            case .reachable
            where entry.confirmed.map { $0 <= duration } == true
                || owners == nil && isAnswering(gateway):
                let owner = HardwareAddress(entry.hardwareAddress).map { Set([$0.description]) } ?? []
                state.evidence.gateways[index].hardwareAddresses = .known(owner)
            case .failed, .incomplete: state.evidence.gateways[index].hardwareAddresses = .known([])
            default: continue
            }
        }
    }

    /// Whether anything came back from it or through it: an entry that was confirmed before says nothing about now.
    private func isAnswering(_ gateway: GatewayEvidence) -> Bool {
        gateway.isAnswering
            || state.evidence.reach.contains { $0.family == gateway.address.family && $0.isAlive == true }
    }

    /// What was received meanwhile, and whether carriers came and went.
    private func readCounters(after duration: Duration, awake: Duration) {
        let now = state.order.isOffline ? [:] : PacketCounters.received()
        let links = (try? state.kernel.links())?.values ?? []
        for (index, link) in state.facts.links.enumerated() {
            if awake >= .milliseconds(1500), let before = counters[link.name], let after = now[link.name] {
                state.evidence.links[index].received = .known(max(0, after - before))
            }
            guard let later = links.first(where: { $0.index == link.index }) else { continue }
            if let memory = state.order.carriers {
                let changes = memory.changes(of: link.index, upTo: later.carrierChanges, at: loop.clock.boot)
                state.evidence.links[index].carrierChanges = changes
                state.evidence.links[index].window = CarrierMemory.window
            } else {
                let before = carriers[link.index] ?? link.carrierChanges
                state.evidence.links[index].carrierChanges = Int(later.carrierChanges &- before)
                state.evidence.links[index].window = duration
            }
        }
    }

    private func release() {
        if let timer { loop.cancel(timer) }
        timer = nil
        for (_, entry) in running { entry.task.cancel() }
        running = [:]
    }
}

final class Pause: Cancelable {
    private let loop: EventLoop
    private var timer: EventLoop.Timer?

    init(for duration: Duration, loop: EventLoop, completion: @escaping () -> Void) {
        self.loop = loop
        timer = loop.schedule(after: duration) { completion() }
    }

    func cancel() {
        if let timer { loop.cancel(timer) }
        timer = nil
    }
}
