// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
public import Diagnosis
public import LinuxIO
public import Netlink
public import PathModel
public import Probes

public struct ExaminationOrder: Sendable {
    /// Whom it asks beyond the own machine.
    public var targets: Targets
    /// The name servers of the system, in order; `nil` when that is not known.
    public var servers: [DNSServer]?
    public var policy = PathPolicy()
    /// The destination that somebody wants to reach; the network is looked at only when something keeps them from it.
    public var destination: Destination?
    /// Whether nothing may be sent.
    public var isOffline = false
    /// Whether this is one of many: servers that hand out addresses are asked only by a link that has none.
    public var isRepeated = false
    /// What carriers did before, where somebody kept an eye on them; else only what they do meanwhile counts.
    public var carriers: CarrierMemory?
    /// Whether the line may be loaded at the end, to measure what it carries; many megabytes may go over it.
    public var isLoading = false
    public var limit = Duration.seconds(10)
    /// Whether it ends then even if this machine was too busy to listen.
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

/// Gathers evidence of every layer, all at once, within a time limit.
///
/// Asks the kernel first; where its answer leaves no way, nobody is asked. It changes nothing on the machine and leaves
/// nothing behind. Confined to the loop's thread.
public final class Examination: Cancelable {
    let order: ExaminationOrder
    let loop: EventLoop
    let pages: PageClient
    var evidence = Evidence()
    var facts = KernelFacts()
    let kernel: any KernelSource
    var hasRequestedPage = false
    /// The look-up of the destination's name, while it is under way.
    var lookup: HostLookup?
    /// Interfaces of captive portals that were asked.
    var portals: Set<PageAddress> = []
    var roundTrips: [IPAddress: Duration] = [:]
    private let progress: (Layer) -> Void
    private let completion: (ExaminationResult) -> Void
    private let started: Duration
    /// When the network was begun to be looked at.
    private var networkStarted: Duration
    /// How late timers had come until then.
    private var networkLateness = Duration.zero
    private var stage = Stage.network
    private var bytes = (sent: 0, received: 0)
    private var counters: [String: Int] = [:]
    /// The counters of carrier changes at the beginning, by interface.
    private var carriers: [Int: UInt32] = [:]
    private var errands: [Int: (layer: Layer, errand: any Cancelable)] = [:]
    private var nextErrand = 0
    private var timer: EventLoop.Timer?
    private var isOver = false

    /// What is asked at once; each stage waits for all answers of the one before.
    private enum Stage: CaseIterable {
        case destination
        /// A carrier that is gone may come back at once.
        case carrier
        case network
        /// What depends on who answers: where packets end, and how large they may be.
        case depth
        /// Whether packets that are too large bring transfers to a halt.
        case confirmation
        /// Trains of packets, alone, so that nothing disturbs them.
        case quality
        /// The line under load, alone as well.
        case load
    }

    /// Starts an examination.
    /// - Parameters:
    ///   - order: What it may do.
    ///   - kernel: Where facts come from.
    ///   - loop: Where it goes on.
    ///   - pages: What makes HTTP requests on the same loop.
    ///   - progress: Is told each layer whose last question was answered.
    ///   - completion: Takes the result, never before this call returns.
    /// - Throws: ``NetlinkError`` when the kernel cannot be asked.
    public init(
        _ order: ExaminationOrder,
        kernel: any KernelSource,
        loop: EventLoop,
        pages: PageClient,
        progress: @escaping (Layer) -> Void = { _ in },
        completion: @escaping (ExaminationResult) -> Void
    ) throws(NetlinkError) {
        self.order = order
        self.kernel = kernel
        self.loop = loop
        self.pages = pages
        self.progress = progress
        self.completion = completion
        started = loop.clock.boot
        networkStarted = started
        facts = try KernelSurvey(kernel: kernel, policy: order.policy, targets: order.targets).read(at: started)
        takeKernelFacts()
        carriers = Dictionary(facts.links.map { ($0.index, $0.carrierChanges) }) { first, _ in first }
        timer =
            if order.isLimitFixed {
                loop.schedule(at: started + order.limit) { [weak self] in self?.end(isComplete: false) }
            } else {
                loop.scheduleSilence(after: order.limit) { [weak self] _ in self?.end(isComplete: false) }
            }
        loop.deferring { [weak self] in self?.begin() }
    }

    /// Ends it without a result.
    public func cancel() {
        isOver = true
        release()
    }

    private func takeKernelFacts() {
        evidence.links = facts.links.map { LinkEvidence($0, facts.addresses[$0.index] ?? []) }
        evidence.sending = facts.ways.map { way in
            var sending = SendEvidence(way.family)
            sending.route = way.route
            return sending
        }
        evidence.gateways = facts.ways.flatMap { way in
            way.legs.compactMap { leg in
                leg.gateway.flatMap { gateway in
                    facts.link(leg.index).map { GatewayEvidence(gateway, on: $0.name) }
                }
            }
        }
        let hasServers = order.servers.map { servers in
            servers.map { server in
                var evidence = NameServerEvidence(server.address.address)
                evidence.isQueriedOverTCP = server.isQueriedOverTCP
                return evidence
            }
        }
        evidence.dns = hasServers.map { .known($0) } ?? .unknown(because: "name servers unknown")
    }

    private func begin() {
        guard !isOver else { return }
        guard let destination = order.destination else { return examineNetwork() }
        evidence.isNetworkExamined = false
        stage = .destination
        askDestination(destination)
        tick(Layer.ofDestination)
        advance()
    }

    /// Goes on once every question of a stage was answered: a destination that works needs no explanation.
    private func advance() {
        while errands.isEmpty, !isOver {
            switch stage {
            case .destination: explainDestination()
            case .carrier: lookForCarrier()
            case .network:
                stage = .depth
                askDepth()
            case .depth:
                stage = .confirmation
                confirmSizes()
            case .confirmation:
                stage = .quality
                measureQuality()
            case .quality:
                stage = .load
                measureLoad()
            case .load: end(isComplete: true)
            }
        }
    }

    private func explainDestination() {
        guard let destination = evidence.destination else { return end(isComplete: true) }
        let faults = Judge().judge(evidence).verdicts
        let isOwn = destination.isGenuine && faults.allSatisfy { $0.code.layer >= .http }
        guard destination.mayBeForged || !faults.isEmpty && !isOwn else { return end(isComplete: true) }
        evidence.isNetworkExamined = true
        guard !isExplainedByKernel else {
            leave(because: "no route beyond the local networks")
            return end(isComplete: true)
        }
        examineNetwork()
    }

    /// Looks at the network while the destination's name is still being looked up.
    func lookAround() {
        guard stage == .destination, !isOver else { return }
        evidence.isNetworkExamined = true
        examineNetwork()
    }

    /// Waits no longer for a name when everybody else has answered, or has not, and no name server is among those who did.
    private func shortenLookup() {
        guard let lookup, errands.count == 1, stage == .network else { return }
        guard let servers = evidence.dns.value, servers.contains(where: \.isAnswering) else { return lookup.giveUp() }
    }

    private func examineNetwork() {
        networkStarted = loop.clock.boot
        networkLateness = loop.lateness
        stage = .network
        guard !order.isOffline else {
            leave(because: "nothing is sent with --offline")
            return end(isComplete: true)
        }
        guard evidence.links.contains(where: { $0.isUp && $0.hasCarrier }) else { return waitForCarrier() }
        askNetwork()
    }

    private func askNetwork() {
        counters = PacketCounters.received()
        askNeighbors()
        askAnchors()
        askPages()
        askNameServers()
        askTime()
        askRouters()
        askLeases()
        tick(Layer.ofNetwork.filter { $0 != .performance })
        advance()
    }

    // MARK: - Carriers

    /// Gives a carrier that was there before a second to come back: cables that flap are to be told from dead ones.
    private func waitForCarrier() {
        let isFlapping = facts.links.contains { $0.flags.contains(.up) && $0.carrierChanges > 1 }
        guard isFlapping, !order.isRepeated else { return end(isComplete: true) }
        stage = .carrier
        send(.link) { done in Pause(for: .seconds(1), loop: loop, completion: done) }
    }

    private func lookForCarrier() {
        let survey = KernelSurvey(kernel: kernel, policy: order.policy, targets: order.targets)
        if let found = try? survey.read(at: loop.clock.boot) {
            facts = found
            takeKernelFacts()
        }
        guard evidence.links.contains(where: { $0.isUp && $0.hasCarrier }) else { return end(isComplete: true) }
        stage = .network
        askNetwork()
    }

    /// Tells those layers that nobody is asked about.
    private func tick(_ layers: [Layer]) {
        for layer in layers where !errands.values.contains(where: { $0.layer == layer }) { progress(layer) }
    }

    private func leave(because reason: String) {
        for layer in Layer.ofNetwork where layer > .local { evidence.gaps[layer] = reason }
        for place in evidence.gateways.indices {
            evidence.gateways[place].hardwareAddresses = .unknown(because: reason)
        }
        evidence.portal.api = .unknown(because: reason)
    }

    // MARK: - Errands

    /// Sends somebody off for an answer; `make` gets what it must call once the answer was taken.
    func send(_ layer: Layer, _ make: (_ done: @escaping () -> Void) -> any Cancelable) {
        let number = nextErrand
        nextErrand += 1
        let errand = make { [weak self] in self?.finish(number) }
        errands[number] = (layer, errand)
    }

    private func finish(_ number: Int) {
        guard let (layer, _) = errands.removeValue(forKey: number), !isOver else { return }
        if !errands.values.contains(where: { $0.layer == layer }) { progress(layer) }
        if errands.isEmpty { advance() } else { shortenLookup() }
    }

    func count(sent: Int, received: Int) {
        bytes.sent += sent
        bytes.received += received
    }

    /// Counts packets that were handed to the kernel, and those that a local filter refused.
    func count(_ family: AddressFamily, attempts: Int, refused: Int) {
        guard let place = evidence.sending.firstIndex(where: { $0.family == family }) else { return }
        evidence.sending[place].attempts += attempts
        evidence.sending[place].refused += refused
    }

    private func end(isComplete: Bool) {
        guard !isOver else { return }
        isOver = true
        release()
        let duration = loop.clock.boot - started
        if !isComplete { noteUnfinished() }
        if evidence.isNetworkExamined {
            let elapsed = loop.clock.boot - networkStarted
            askKernelAboutGateways(after: elapsed)
            lookAgain(after: elapsed, awake: elapsed - (loop.lateness - networkLateness))
        }
        completion(
            ExaminationResult(
                evidence: evidence,
                started: started,
                duration: duration,
                bytesSent: bytes.sent,
                bytesReceived: bytes.received,
                isComplete: isComplete
            )
        )
    }

    private func noteUnfinished() {
        for layer in Layer.allCases where layer > .local && evidence.gaps[layer] == nil {
            evidence.gaps[layer] = Self.unfinished
        }
        for place in evidence.gateways.indices where evidence.gateways[place].hardwareAddresses == .notAsked {
            evidence.gateways[place].hardwareAddresses = .unknown(because: Self.unfinished)
        }
    }

    private static let unfinished = "timed out"

    /// What the kernel thinks of gateways that this process may not ask, after a datagram that made it look for them; and
    /// of those that seemed silent, since a neighbour that answered the kernel meanwhile is there.
    private func askKernelAboutGateways(after duration: Duration) {
        guard !order.isOffline, duration >= .seconds(1) else { return }
        for (place, gateway) in evidence.gateways.enumerated() {
            let owners = gateway.hardwareAddresses.value
            guard owners?.isEmpty ?? true, let link = facts.links.first(where: { $0.name == gateway.interface }),
                let entry = try? kernel.neighbor(gateway.address, index: link.index)
            else { continue }
            switch entry.state {
            case .reachable
            where entry.confirmed.map { $0 <= duration } == true || owners == nil && isAnswering(gateway):
                let owner = HardwareAddress(entry.hardwareAddress).map { Set([$0.description]) } ?? []
                evidence.gateways[place].hardwareAddresses = .known(owner)
            case .failed, .incomplete: evidence.gateways[place].hardwareAddresses = .known([])
            default: continue
            }
        }
    }

    /// Whether anything came back from it or through it: an entry that was confirmed before says nothing of now.
    private func isAnswering(_ gateway: GatewayEvidence) -> Bool {
        gateway.isAnswering
            || evidence.reach.contains { $0.family == gateway.address.family && $0.isAlive == true }
    }

    /// What came in meanwhile, and whether carriers came and went.
    private func lookAgain(after duration: Duration, awake: Duration) {
        let now = order.isOffline ? [:] : PacketCounters.received()
        let links = (try? kernel.links())?.values ?? []
        for (place, link) in facts.links.enumerated() {
            if awake >= .milliseconds(1500), let before = counters[link.name], let after = now[link.name] {
                evidence.links[place].received = .known(max(0, after - before))
            }
            guard let later = links.first(where: { $0.index == link.index }) else { continue }
            if let memory = order.carriers {
                let changes = memory.changes(of: link.index, upTo: later.carrierChanges, at: loop.clock.boot)
                evidence.links[place].carrierChanges = changes
                evidence.links[place].window = CarrierMemory.window
            } else {
                let before = carriers[link.index] ?? link.carrierChanges
                evidence.links[place].carrierChanges = Int(later.carrierChanges &- before)
                evidence.links[place].window = duration
            }
        }
    }

    private func release() {
        if let timer { loop.cancel(timer) }
        timer = nil
        for (_, entry) in errands { entry.errand.cancel() }
        errands = [:]
    }
}

private final class Pause: Cancelable {
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
