// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

@_exported public import Dispatch
internal import Glibc
internal import LinuxIO
internal import Synchronization

/// Accepts connections by TCP, UDP or a unix socket, and can advertise a service for them.
///
/// With UDP each remote address and port is a connection of its own, which begins with its first datagram; with DTLS it
/// begins when the client has shown by a cookie that datagrams reach it (RFC 6347 section 4.2.1). A listener is in the
/// network namespace of the thread that starts it. It must be kept: dropping the last reference ends it, while connections
/// that it accepted go on.
public final class NWListener: Sendable {
    private struct Handlers: Sendable {
        var state: (@Sendable (State) -> Void)?
        var connection: (@Sendable (NWConnection) -> Void)?
        var service: (@Sendable (ServiceRegistrationChange) -> Void)?
    }

    private struct Content: Sendable {
        var state = State.setup
        var handlers = Handlers()
        var queue: DispatchQueue?
        /// Calls handlers one after another, in order, on the queue.
        var serial: DispatchQueue?
        var thread: EngineThread?
        var service: Service?
        var port: NWEndpoint.Port?
        var limit = NWListener.InfiniteConnectionLimit
    }

    /// A ``newConnectionLimit`` that is none.
    public static let InfiniteConnectionLimit = Int.max

    /// How it listens; what is changed after the start does not count.
    public let parameters: NWParameters
    private let wantedPort: NWEndpoint.Port
    private let content: Mutex<Content>
    private let id = EngineThread.makeID()

    /// Prepares to listen at a port; any port is one that the kernel chooses.
    ///
    /// A port that is in use makes the listener fail once it is started.
    /// - Throws: `EINVAL` when the parameters have no transport.
    public init(using parameters: NWParameters, on port: NWEndpoint.Port = .any) throws {
        guard FlowSettings(parameters) != nil else { throw NWError.posix(.EINVAL) }
        self.parameters = parameters
        wantedPort = port
        content = Mutex(Content())
    }

    /// Prepares to listen at a port that the kernel chooses, and to advertise a service there.
    /// - Throws: `EINVAL` when the parameters have no transport.
    public convenience init(service: Service?, using parameters: NWParameters) throws {
        try self.init(using: parameters)
        content.withLock { $0.service = service }
    }

    deinit {
        if let thread = content.withLock({ $0.thread }) { thread.perform { [id] engines in engines.end(id) } }
    }

    /// What became of the listener.
    public var state: State { content.withLock { $0.state } }
    /// The queue of ``start(queue:)``; `nil` before.
    public var queue: DispatchQueue? { content.withLock { $0.queue } }
    /// The port, while the listener is ready; `nil` otherwise, and for unix sockets.
    public var port: NWEndpoint.Port? { content.withLock { $0.port } }

    /// The service to be advertised while the listener is ready; it may be set at any time.
    ///
    /// One of the same name, type and domain updates the text, and another one replaces the one before.
    public var service: Service? {
        get { content.withLock { $0.service } }
        set {
            content.withLock { content in
                content.service = newValue
                content.thread?.perform { [id] engines in
                    engines.session(id, as: ListenerSession.self)?.advertise(newValue)
                }
            }
        }
    }

    /// How many connections more are accepted; each one counts it down.
    ///
    /// At 0 those who connect by TCP wait, and new peers by UDP are ignored, until it is raised.
    public var newConnectionLimit: Int {
        get { content.withLock { $0.limit } }
        set {
            content.withLock { content in
                content.limit = max(0, newValue)
                content.thread?.perform { [id] engines in engines.session(id, as: ListenerSession.self)?.resume() }
            }
        }
    }

    /// Called on the queue with every new state.
    @preconcurrency public var stateUpdateHandler: (@Sendable (_ newState: State) -> Void)? {
        get { content.withLock { $0.handlers.state } }
        set { content.withLock { $0.handlers.state = newValue } }
    }

    /// Called on the queue with every connection, which is to be started or cancelled; it must be set before the start.
    @preconcurrency public var newConnectionHandler: (@Sendable (_ connection: NWConnection) -> Void)? {
        get { content.withLock { $0.handlers.connection } }
        set { content.withLock { $0.handlers.connection = newValue } }
    }

    /// Called on the queue when the service is advertised, with the name that was free, and when it is no more.
    @preconcurrency public var serviceRegistrationUpdateHandler:
        (@Sendable (_ change: ServiceRegistrationChange) -> Void)?
    {
        get { content.withLock { $0.handlers.service } }
        set { content.withLock { $0.handlers.service = newValue } }
    }

    /// Begins to listen; only the first call counts.
    ///
    /// The listener becomes ready, or fails: with `EINVAL` without a handler for connections, with `EADDRINUSE`
    /// when the port is in use, with `kDNSServiceErr_BadParam` or `kDNSServiceErr_NameConflict` when the service cannot
    /// be advertised.
    public func start(queue: DispatchQueue) {
        let isFirst = content.withLock { content in
            guard content.queue == nil, content.state == .setup else { return false }
            content.queue = queue
            content.serial = DispatchQueue(label: "network.listener", target: queue)
            return true
        }
        guard isFirst else { return }
        do throws(NWError) {
            try begin()
        } catch {
            enter(.failed(error))
        }
    }

    /// Ends the listener for good; connections that it accepted go on.
    ///
    /// When the last state, ``State/cancelled``, is reported, nobody can connect any more and the port is free.
    public func cancel() {
        guard change(to: .cancelled) else { return }
        let thread = content.withLock { content in
            defer { content.thread = nil }
            return content.thread
        }
        guard let thread else { return notify(.cancelled) }
        thread.perform { [self] engines in
            engines.end(id)
            notify(.cancelled)
        }
    }

    // MARK: - Internal

    private func begin() throws(NWError) {
        guard newConnectionHandler != nil, let settings = FlowSettings(parameters) else { throw .posix(.EINVAL) }
        let thread: EngineThread
        do throws(Errno) {
            thread = try EngineThread.current()
        } catch {
            throw NWError(error)
        }
        content.withLock { content in
            guard content.state != .cancelled else { return }
            content.thread = thread
            thread.perform { [weak self, id, wantedPort] engines in
                guard let self, state == .setup else { return }
                let session = ListenerSession(
                    settings,
                    port: wantedPort.rawValue,
                    engines: engines,
                    admit: { [weak self] in self?.count(1) ?? false },
                    sink: { [weak self] event in self?.handle(event, engines) }
                )
                session.release = { [weak self] in _ = self?.count(-1) }
                engines.add(session, as: id)
                session.start(advertising: service)
            }
        }
    }

    /// Counts connections.
    /// - Returns: Whether there was room.
    private func count(_ number: Int) -> Bool {
        content.withLock { content in
            guard content.limit != Self.InfiniteConnectionLimit else { return true }
            guard content.limit >= number else { return false }
            content.limit -= number
            return true
        }
    }

    private func handle(_ event: ListenerSession.Event, _ engines: Engines) {
        switch event {
        case .ready(let port):
            content.withLock { $0.port = port == 0 ? nil : NWEndpoint.Port(port) }
            enter(.ready)
        case .failed(let error):
            engines.end(id)
            enter(.failed(error))
        case .service(let change): notify { $0.service?(change) }
        case .accepted(let session, let endpoint):
            // It may have been cancelled since.
            guard let thread = content.withLock({ $0.thread }) else { return engines.end(session) }
            let connection = NWConnection(to: endpoint, using: parameters.copy(), id: session, thread: thread)
            notify { $0.connection?(connection) }
        }
    }

    /// Calls a handler on the queue: the one that is set when the queue comes to it.
    private func notify(_ call: @escaping @Sendable (Handlers) -> Void) {
        guard let serial = content.withLock({ $0.serial }) else { return }
        serial.async { [self] in call(content.withLock { $0.handlers }) }
    }

    private func enter(_ state: State) {
        if change(to: state) { notify(state) }
    }

    /// Enters a state, unless what there is lasts for good.
    private func change(to state: State) -> Bool {
        content.withLock { content in
            guard content.state != .cancelled else { return false }
            if case .failed = content.state, state != .cancelled { return false }
            content.state = state
            if state != .ready { content.port = nil }
            return true
        }
    }

    private func notify(_ state: State) {
        notify { $0.state?(state) }
        guard case .cancelled = state else { return }
        // What handlers hold is let go with the last call.
        notify { [self] _ in content.withLock { $0.handlers = Handlers() } }
    }
}

extension NWListener: CustomDebugStringConvertible {
    /// The port, and what became of the listener.
    public var debugDescription: String { "NWListener(port \(port ?? wantedPort), \(state))" }
}
