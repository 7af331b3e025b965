// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import FoundationEssentials
internal import LinuxIO
internal import PathEngine
internal import PathModel

/// What engines do for one connection: they carry out what ``ConnectionLife``, ``HappyEyeballs`` and the queues decide.
///
/// Confined to the thread of its engines.
final class ConnectionSession: EngineSession, PathFollower {
    /// The events for the connection.
    enum Event: Sendable {
        case state(NWConnection.State)
        case path(NWPath)
        case viability(Bool)
        case betterPath(Bool)
        case opened(metadata: [any NWProtocolMetadata], maximumDatagramSize: Int, EstablishmentRecord)
        case counted(TransferCounts)
    }

    /// How long what was sent has to be sent once a connection is cancelled.
    static let longestFinish = Duration.seconds(30)
    /// How long an endpoint is searched, unless parameters say otherwise.
    static let longestSearch = Duration.seconds(30)

    let id: UInt64
    let engines: Engines
    let settings: FlowSettings
    let endpoint: NWEndpoint
    /// Whether a listener accepted it.
    let isServer: Bool
    /// Calls completions; `nil` before the connection was started.
    var queue: CallQueue?
    var sink: @Sendable (Event) -> Void = { _ in }
    /// Keeps the thread while what waits is sent after the last reference to the connection is gone.
    var retainedThread: EngineThread?

    var life = ConnectionLife()
    var eyeballs: HappyEyeballs?
    var search: EndpointSearch?
    var attempts: [Int: ConnectAttempt] = [:]
    var timer: EventLoop.Timer?
    var searchLimit: EventLoop.Timer?
    var finishLimit: EventLoop.Timer?
    var flow: (any Flow)?
    /// The socket for the first attempt, where the program's thread has opened it.
    var opened: SharedDescriptor?
    /// A flow that a listener accepted, until the program starts the connection.
    var accepted: (any Flow)?
    var receives: ReceiveQueue<ConnectionRequest.Receipt>
    var sends = SendQueue<NWConnection.SendCompletion>()
    /// Whether it comes back for what the flow holds.
    var isResting = false
    /// Pieces of messages that are not complete, by their context.
    var pieces: [ObjectIdentifier: (context: NWConnection.ContentContext, bytes: Data)] = [:]
    var establishment = EstablishmentRecord()
    /// How many bytes of the program came, and went.
    var (received, sent) = (UInt64(0), UInt64(0))
    /// What went when the flow was closed, if it was requested before.
    private var lastCounts: TransferCounts?
    private var isCounted = false
    let question: PathQuestion
    private var followsPath = false
    private var reportedPath: NWPath?
    private var hasEnded = false

    /// A connection to be made, or one that was accepted.
    init(_ id: UInt64, to endpoint: NWEndpoint, settings: FlowSettings, engines: Engines, accepted: (any Flow)? = nil) {
        self.id = id
        self.endpoint = endpoint
        self.settings = settings
        self.engines = engines
        self.accepted = accepted
        isServer = accepted != nil
        receives = ReceiveQueue(isStream: !settings.hasMessages)
        question = settings.pathQuestion
    }

    /// Lets go of everything, with an error for whoever waits.
    func end() {
        guard !hasEnded else { return }
        hasEnded = true
        perform(life.forceCancel())
    }

    /// The program started the connection.
    func start(queue: CallQueue, sink: @escaping @Sendable (Event) -> Void) {
        self.queue = queue
        self.sink = sink
        perform(life.start())
    }

    /// The program is done with the connection.
    func cancel(keeping retainedThread: EngineThread, isForced: Bool) {
        self.retainedThread = retainedThread
        perform(isForced ? life.forceCancel() : life.cancel())
    }

    /// Handles a request, as far as the life of the connection allows.
    func handle(_ request: ConnectionRequest) {
        enqueue(request)
        pump()
    }

    private func enqueue(_ request: ConnectionRequest) {
        switch request {
        case .batch(let requests): for request in requests { enqueue(request) }
        case .retry: perform(life.retry())
        case .skipEndpoint: skipEndpoint()
        case .count(let completion):
            isCounted = true
            completion(counts)
        case .send(let content): enqueue(content)
        case .receive(let amount, let receipt):
            // After a failure what came before it is still handed out.
            receives.enqueue(amount, receipt)
            deliver(receives.completions())
        }
    }

    // MARK: - Actions

    /// Carries actions out, in order.
    func perform(_ actions: [ConnectionLife.Action]) {
        for action in actions { perform(action) }
    }

    private func perform(_ action: ConnectionLife.Action) {
        switch action {
        case .enter(let state): enter(state)
        case .connect: connect()
        case .disconnect(let isAbrupt): disconnect(isAbrupt: isAbrupt)
        case .endReceives(let error):
            receives.fail(error)
            deliver(life.state == .cancelled || life.isFinishing ? receives.cancel(error) : receives.completions())
        case .endSends(let error):
            pieces = [:]
            for completion in sends.cancel() { complete(completion, error) }
        case .finish: finish()
        case .viability(let isViable): sink(.viability(isViable))
        case .betterPath(let isThere): sink(.betterPath(isThere))
        }
    }

    private func enter(_ state: NWConnection.State) {
        // A handler of the ready state finds both ends in the path.
        if state == .ready { reportPath() }
        if state == .cancelled, isCounted { sink(.counted(counts)) }
        sink(.state(state))
        switch state {
        case .preparing:
            establishment.begin(at: engines.loop.clock.boot)
            followPath()
        case .cancelled:
            engines.paths.unfollow(id)
            search?.cancel()
            search = nil
            // The session goes once its callers have returned, and with it perhaps the thread.
            engines.loop.deferring { [self] in
                hasEnded = true
                engines.end(id)
                if let retainedThread { engines.linger(retainedThread) }
                retainedThread = nil
            }
        default: return
        }
    }

    private func disconnect(isAbrupt: Bool) {
        for attempt in attempts.values { attempt.cancel() }
        attempts = [:]
        eyeballs = nil
        for timer in [timer, searchLimit, finishLimit].compactMap(\.self) { engines.loop.cancel(timer) }
        (timer, searchLimit, finishLimit) = (nil, nil, nil)
        if isCounted, flow != nil { lastCounts = counts }
        flow?.onReadiness = { _ in }
        flow?.close(isAbrupt: isAbrupt)
        flow = nil
        accepted?.close(isAbrupt: isAbrupt)
        accepted = nil
        opened = nil
    }

    private func finish() {
        pump()
        guard life.isFinishing else { return }
        finishLimit = engines.loop.schedule(after: Self.longestFinish) { [weak self] in
            guard let self else { return }
            finishLimit = nil
            perform(life.finished())
        }
    }

    /// What went so far.
    private var counts: TransferCounts {
        if let lastCounts { return lastCounts }
        return TransferCounts(
            at: engines.loop.clock.boot,
            // The path of an open connection has its ends.
            interface: reportedPath?.localEndpoint == nil ? nil : reportedPath?.availableInterfaces.first,
            transport: flow?.transport ?? TransferCounts.Transport(),
            received: received,
            sent: sent
        )
    }

    // MARK: - Path

    private func followPath() {
        guard !followsPath else { return }
        followsPath = true
        engines.followPath().follow(id, self)
        reportPath()
    }

    func networkChanged() {
        guard life.state != .cancelled else { return }
        reportPath()
        if case .waiting = life.state { return perform(life.retry()) }
        reconsider()
    }

    /// Re-evaluates the network for the open connection.
    func reconsider() {
        guard life.isReady, !isLocal else { return }
        let route = route
        perform(life.routed(isViable: route.isViable, hasBetterPath: route.hasBetterPath))
        reportPath()
    }

    /// Whether packets stay within the machine, whatever happens to its interfaces.
    private var isLocal: Bool { life.isReady && flow?.local?.address.isLoopback == true && flow?.remote != nil }

    private var route: FlowRoute {
        routeEvaluator?.route(local: flow?.local, remote: flow?.remote) ?? FlowRoute()
    }

    /// The route evaluator, while the kernel can be queried.
    var routeEvaluator: FlowRouteEvaluator? {
        let paths = engines.paths
        return paths.core.map { FlowRouteEvaluator(state: $0.state, classifier: $0.classifier, lookup: paths.lookup) }
    }

    private var currentPath: SharedPath {
        if isLocal { return engines.paths.localPath(question) }
        let path = engines.paths.path(question)
        return life.isReady && flow != nil ? SharedPath(route.path(from: path.value)) : path
    }

    private func reportPath() {
        guard followsPath else { return }
        let now = NWPath(currentPath, local: flow?.local?.endpoint, remote: flow?.remote?.endpoint)
        guard now != reportedPath else { return }
        reportedPath = now
        sink(.path(now))
    }
}
