// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

@_exported public import Dispatch
internal import Glibc
internal import LinuxIO
internal import Synchronization

/// A connection to an endpoint, by TCP, UDP or a unix socket, with TLS or DTLS upon it if parameters say so.
///
/// What can be reached later is waited for: a refused connection, a missing route or a name that does not resolve makes
/// it wait (``State/waiting(_:)``), and it tries again when the network changes, or on ``restart()``. It is in the
/// network namespace of the thread that starts it. It must be kept: dropping the last reference cancels it, and what was
/// sent before still goes out.
public final class NWConnection: Sendable {
    private struct Handlers: Sendable {
        var state: (@Sendable (State) -> Void)?
        var path: (@Sendable (NWPath) -> Void)?
        var viability: (@Sendable (Bool) -> Void)?
        var betterPath: (@Sendable (Bool) -> Void)?
    }

    private struct Content: Sendable {
        var state = State.setup
        var handlers = Handlers()
        var queue: DispatchQueue?
        /// Calls handlers and completions one after another, in order, on the queue.
        var serial: CallQueue?
        var thread: EngineThread?
        var path: NWPath?
        var metadata: [any NWProtocolMetadata] = []
        var maximumDatagramSize = 0
        var establishment: EstablishmentRecord?
        /// What went until the connection was over, where somebody wants to know.
        var counts: TransferCounts?
        /// Requests made before the start.
        var early: [ConnectionRequest] = []
        /// Requests made within ``NWConnection/batch(_:)``.
        var batch: [ConnectionRequest]?
        var isCancelling = false
    }

    /// What goes over to the engines with the start.
    private struct Start: Sendable {
        let settings: FlowSettings
        let opened: SharedDescriptor?
        let early: [ConnectionRequest]
        let serial: CallQueue

        /// Notes who has the connection from now on; `nil` when it was cancelled meanwhile.
        init?(_ content: inout Content, _ settings: FlowSettings, _ opened: SharedDescriptor?, _ thread: EngineThread) {
            guard !content.isCancelling, let serial = content.serial else { return nil }
            self.settings = settings
            self.opened = opened
            self.serial = serial
            early = content.early
            content.early = []
            content.thread = thread
        }
    }

    /// What is connected to.
    public let endpoint: NWEndpoint
    /// How; what is changed after the start does not count.
    public let parameters: NWParameters
    private let content: Mutex<Content>
    private let id: UInt64

    /// Prepares a connection; ``start(queue:)`` begins.
    public convenience init(to endpoint: NWEndpoint, using parameters: NWParameters) {
        self.init(to: endpoint, using: parameters, id: EngineThread.makeID(), thread: nil)
    }

    /// Prepares a connection to a port of a host.
    public convenience init(host: NWEndpoint.Host, port: NWEndpoint.Port, using parameters: NWParameters) {
        self.init(to: .hostPort(host: host, port: port), using: parameters)
    }

    /// A connection whose session is there already, when a listener accepted it.
    init(to endpoint: NWEndpoint, using parameters: NWParameters, id: UInt64, thread: EngineThread?) {
        self.endpoint = endpoint
        self.parameters = parameters
        self.id = id
        content = Mutex(Content(thread: thread))
    }

    deinit {
        guard let thread = content.withLock({ $0.thread }) else { return }
        thread.perform { [id] engines in
            engines.session(id, as: ConnectionSession.self)?.cancel(keeping: thread, isForced: false)
        }
    }

    /// What became of the connection.
    public var state: State { content.withLock { $0.state } }
    /// The queue of ``start(queue:)``; `nil` before.
    public var queue: DispatchQueue? { content.withLock { $0.queue } }
    /// The path of the connection, with both ends once it is ready; `nil` before the start.
    public var currentPath: NWPath? { content.withLock { $0.path } }

    /// The largest datagram in bytes that goes unfragmented; 0 before the connection is ready, and for streams.
    ///
    /// For a connection that a listener accepted it is the largest that UDP has. With DTLS it is without what records add,
    /// and 16384 at most.
    public var maximumDatagramSize: Int { content.withLock { $0.maximumDatagramSize } }

    /// Called on the queue with every new state.
    @preconcurrency public var stateUpdateHandler: (@Sendable (_ state: State) -> Void)? {
        get { content.withLock { $0.handlers.state } }
        set { content.withLock { $0.handlers.state = newValue } }
    }

    /// Called on the queue with the path of the connection whenever it differs from the one before.
    @preconcurrency public var pathUpdateHandler: (@Sendable (_ newPath: NWPath) -> Void)? {
        get { content.withLock { $0.handlers.path } }
        set { content.withLock { $0.handlers.path = newValue } }
    }

    /// Called on the queue with `true` when the connection is ready, with `false` when packets cannot leave any more
    /// because its address, its link or its route is gone, and with `true` when they can again.
    @preconcurrency public var viabilityUpdateHandler: (@Sendable (_ isViable: Bool) -> Void)? {
        get { content.withLock { $0.handlers.viability } }
        set { content.withLock { $0.handlers.viability = newValue } }
    }

    /// Called on the queue with `true` when a new connection would leave by another interface than this one, as when a
    /// cable is plugged in beside Wi-Fi, and with `false` when that is over.
    @preconcurrency public var betterPathUpdateHandler: (@Sendable (_ betterPathAvailable: Bool) -> Void)? {
        get { content.withLock { $0.handlers.betterPath } }
        set { content.withLock { $0.handlers.betterPath = newValue } }
    }

    /// What one protocol knows of the connection; `nil` before it is ready, and for protocols that it does not use.
    public func metadata(definition: NWProtocolDefinition) -> (any NWProtocolMetadata)? {
        content.withLock { $0.metadata.first { $0.definition == definition } }
    }

    // MARK: - Life

    /// Begins to connect; only the first call counts.
    ///
    /// Parameters without a transport, or no more descriptors (`EMFILE`), make the connection fail.
    public func start(queue: DispatchQueue) {
        let isFirst = content.withLock { content in
            guard content.queue == nil, content.state == .setup else { return false }
            content.queue = queue
            content.serial = CallQueue(queue)
            return true
        }
        guard isFirst else { return }
        do throws(NWError) {
            try begin()
        } catch {
            handle(.state(.failed(error)))
            refuseEarly(error)
        }
    }

    /// Ends the connection when everything that was sent has gone; the last state is ``State/cancelled``.
    ///
    /// Receives that wait end with `ECANCELED`. What the peer does not receive within 30 seconds is given up.
    public func cancel() { cancel(isForced: false) }

    /// Ends the connection at once; a TCP connection is reset.
    public func forceCancel() { cancel(isForced: true) }

    /// Gives up the addresses that are tried now, and goes on with the next ones; nothing once it is ready.
    public func cancelCurrentEndpoint() { submit(.skipEndpoint) }

    /// Tries again now, where the connection waits.
    public func restart() { submit(.retry) }

    /// Gathers what is sent and received within `block`, and hands it over at once.
    public func batch(_ block: () -> Void) {
        let isOuter = content.withLock { content in
            guard content.batch == nil else { return false }
            content.batch = []
            return true
        }
        block()
        guard isOuter else { return }
        let requests = content.withLock { content in
            defer { content.batch = nil }
            return content.batch ?? []
        }
        if !requests.isEmpty { submit(.batch(requests)) }
    }

    /// What a batch has gathered precedes what comes now.
    private func handOverBatch() {
        let requests = content.withLock { content -> [ConnectionRequest] in
            guard let requests = content.batch else { return [] }
            content.batch = []
            return requests
        }
        if !requests.isEmpty { submit(.batch(requests), isGathered: false) }
    }

    // MARK: - Internal

    /// How the connection came about; `nil` before it was ready.
    var establishment: EstablishmentRecord? { content.withLock { $0.establishment } }

    /// Reports what was transferred so far, or until the connection was over, once.
    func count(_ completion: @escaping @Sendable (TransferCounts) -> Void) {
        let isStarted = content.withLock { $0.queue != nil && $0.state != .cancelled }
        guard isStarted else { return completion(lastCounts) }
        submit(.count { [self] in completion($0 ?? lastCounts) })
    }

    private var lastCounts: TransferCounts {
        content.withLock { $0.counts } ?? TransferCounts(at: KernelClock().boot)
    }

    /// Hands a request over, now, with the batch that is gathered, or with the start.
    func submit(_ request: ConnectionRequest, isGathered: Bool = true) {
        enum Handover {
            case kept
            case refused(CallQueue?)
            case handed(EngineThread, CallQueue)
        }
        let handover = content.withLock { content -> Handover in
            if isGathered, content.batch != nil {
                content.batch?.append(request)
                return .kept
            }
            guard content.state != .cancelled else { return .refused(content.serial) }
            guard let serial = content.serial, let thread = content.thread else {
                if case .failed = content.state { return .refused(content.serial) }
                content.early.append(request)
                return .kept
            }
            return .handed(thread, serial)
        }
        switch handover {
        case .kept: return
        case .refused(let queue): request.refuse(.posix(.ECANCELED), on: queue)
        case .handed(let thread, let serial):
            let work: @Sendable (Engines) -> Void = { [id] engines in
                if let session = engines.session(id, as: ConnectionSession.self) {
                    session.handle(request)
                } else {
                    request.refuse(.posix(.ECANCELED), on: serial)
                }
            }
            if request.isTransfer { thread.performSoonest(work) } else { thread.perform(work) }
        }
    }

    private func begin() throws(NWError) {
        guard let settings = FlowSettings(parameters) else { throw .posix(.EINVAL) }
        let known = content.withLock { $0.thread }
        let thread: EngineThread
        let opened = known == nil ? settings.openAtOnce(to: endpoint) : nil
        do throws(Errno) {
            if let known {
                thread = known
            } else if let number = opened?.current {
                thread = try EngineThread.current(by: number)
            } else {
                thread = try EngineThread.current()
            }
        } catch {
            throw NWError(error)
        }
        // What is requested from now on comes after the start, whichever thread that is on.
        if opened != nil {
            let isBegun = thread.performNow { engines in
                guard let start = content.withLock({ Start(&$0, settings, opened, thread) }) else { return }
                begin(start, engines)
            }
            if isBegun { return }
        }
        content.withLock { content in
            guard let start = Start(&content, settings, opened, thread) else { return }
            thread.perform { [weak self] engines in self?.begin(start, engines) }
        }
    }

    private func begin(_ start: Start, _ engines: Engines) {
        let session: ConnectionSession
        if let known = engines.session(id, as: ConnectionSession.self) {
            session = known
        } else {
            session = ConnectionSession(id, to: endpoint, settings: start.settings, engines: engines)
            session.opened = start.opened
            engines.add(session, as: id)
        }
        start.serial.gathering {
            session.start(queue: start.serial) { [weak self] event in self?.handle(event) }
            for request in start.early { session.handle(request) }
        }
    }

    private func cancel(isForced: Bool) {
        handOverBatch()
        let thread = content.withLock { content -> EngineThread? in
            guard !content.isCancelling || isForced else { return nil }
            content.isCancelling = true
            return content.thread
        }
        guard let thread else {
            // It was never started, or could not be; a running start sees that it is over.
            handle(.state(.cancelled))
            return refuseEarly(.posix(.ECANCELED))
        }
        thread.performSoonest { [self] engines in end(engines, thread, isForced: isForced) }
    }

    private func end(_ engines: Engines, _ thread: EngineThread, isForced: Bool) {
        let work = {
            if let session = engines.session(self.id, as: ConnectionSession.self) {
                session.cancel(keeping: thread, isForced: isForced)
            }
            // One that was accepted and never started has no events.
            if self.state == .setup { self.handle(.state(.cancelled)) }
        }
        if let serial = content.withLock({ $0.serial }) { serial.gathering(work) } else { work() }
    }

    private func refuseEarly(_ error: NWError) {
        let (early, queue) = content.withLock { content in
            defer { content.early = [] }
            return (content.early, content.serial)
        }
        for request in early { request.refuse(error, on: queue) }
    }

    private func handle(_ event: ConnectionSession.Event) {
        switch event {
        case .state(let state): enter(state)
        case .path(let path):
            content.withLock { $0.path = path }
            call { [self] in handlers.path?(path) }
        case .viability(let isViable): call { [self] in handlers.viability?(isViable) }
        case .betterPath(let isThere): call { [self] in handlers.betterPath?(isThere) }
        case .opened(let metadata, let size, let establishment):
            content.withLock { content in
                content.metadata = metadata
                content.maximumDatagramSize = size
                content.establishment = establishment
            }
        case .counted(let counts): content.withLock { $0.counts = counts }
        }
    }

    /// What the program has set; all of them, for a bare closure comes out of a lock wrapped in another one.
    private var handlers: Handlers { content.withLock { $0.handlers } }

    /// Calls a handler on the queue: the one that is set when the queue comes to it.
    private func call(_ handler: @escaping @Sendable () -> Void) { content.withLock { $0.serial }?.async(handler) }

    private func enter(_ state: State) {
        let isLast = if case .cancelled = state { true } else { false }
        let isNew = content.withLock { content in
            guard content.state != .cancelled else { return false }
            content.state = state
            if isLast { content.thread = nil }
            return true
        }
        guard isNew else { return }
        call { [self] in
            handlers.state?(state)
            // What handlers hold is let go with the last call.
            if isLast { content.withLock { $0.handlers = Handlers() } }
        }
    }
}

extension NWConnection: CustomDebugStringConvertible {
    /// What is connected to, and what became of it.
    public var debugDescription: String { "NWConnection(\(endpoint), \(state))" }
}
