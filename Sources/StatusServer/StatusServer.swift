// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing
public import EventHub
public import LinuxIO
public import Metrics

/// The daemon's HTTP endpoint: routes, streams and sockets together.
///
/// Confined to one event loop, on which it makes every call to its provider. It never waits for a client.
public final class StatusServer {
    public struct Configuration: Equatable, Sendable {
        /// Names besides `localhost` and IP literals that a `Host` field may have.
        public var hostNames: [String] = []
        /// Whether pages of other sites may show the badge.
        public var embedsBadge = false
        /// What clients of TCP sockets must show.
        public var access = AccessRules()
        /// How TCP connections are encrypted; `nil` in the clear.
        public var tls: TLSSettings?
        public var server = ServerLimits()
        public var api = StatusLimits()
        /// What is not to be expected of the HTTP library; `nil` when a trial shall find out.
        var doubts: LibraryDoubts?

        public init() {}
    }

    /// How many descriptors a process needs that serves others beside its own work.
    public static let leastDescriptors = MicrohttpdServer.reserve + MicrohttpdServer.leastRoom

    private let loop: EventLoop
    let api: StatusAPI
    /// What is not checked because the loaded HTTP library is not as expected; `nil` when it is.
    public let warning: String?
    private let server: any HTTPServing
    private let gate: AccessGate
    private let encrypt: (TLSSettings?) throws(StatusServerError) -> Void
    private let setHosts: (HostPolicy) -> Void
    private let pingInterval: Duration
    private var pingTimer: EventLoop.Timer?

    /// Makes an endpoint that listens nowhere yet.
    ///
    /// Its own metrics are added to `registry`, which is what `/metrics` shows. The provider is kept alive. `onListening`
    /// is called with `true` when the first event stream is opened, and with `false` when the last one has ended.
    public init(
        loop: EventLoop,
        provider: any StatusProviding,
        registry: MetricRegistry,
        configuration: Configuration = Configuration(),
        onListening: @escaping (Bool) -> Void = { _ in }
    ) throws(StatusServerError) {
        self.loop = loop
        pingInterval = configuration.api.pingInterval
        let router = Router()
        let httpMetrics = HTTPMetrics(routes: router.readable)
        let streamMetrics = EventStreamMetrics()
        httpMetrics.register(in: registry)
        streamMetrics.register(in: registry)
        let api = StatusAPI(
            loop: loop,
            provider: provider,
            limits: configuration.api,
            router: router,
            registry: registry,
            streamMetrics: streamMetrics,
            onListening: onListening
        )
        self.api = api
        let hosts = HostPolicy(names: configuration.hostNames)
        api.hosts = hosts
        api.embedsBadge = configuration.embedsBadge
        let gate = AccessGate(loop: loop, rules: configuration.access)
        self.gate = gate
        weak var this: StatusServer?
        let doubts = configuration.doubts ?? LibraryTrial.doubts
        warning = doubts.sentence(version: LibraryTrial.version)
        let server = try MicrohttpdServer(
            loop: loop,
            limits: configuration.server,
            hosts: hosts,
            metrics: httpMetrics,
            doubts: doubts
        ) { request, responder in
            gate.admit(request, responder) { request in
                api.handle(request, responder)
                this?.schedulePing()
            }
        }
        self.server = server
        encrypt = { [unowned server] (tls) throws(StatusServerError) in try server.encrypt(with: tls) }
        setHosts = { [unowned server] in server.hosts = $0 }
        this = self
        do {
            try server.encrypt(with: configuration.tls)
        } catch {
            server.close()
            throw error
        }
    }

    deinit {
        if let pingTimer { loop.cancel(pingTimer) }
        server.close()
    }

    /// Where it listens, with the ports the kernel chose.
    public var addresses: [ListenAddress] { server.addresses }

    public var connectionCount: Int { server.connectionCount }

    /// Takes new host names, a new limit of streams, and what guards TCP sockets; what is open stays open.
    /// - Throws: ``StatusServerError/libraryFailed`` when new TLS settings cannot be used; the old ones stay then.
    public func take(_ configuration: Configuration) throws(StatusServerError) {
        let hosts = HostPolicy(names: configuration.hostNames)
        setHosts(hosts)
        api.hosts = hosts
        api.embedsBadge = configuration.embedsBadge
        api.limits.streams = configuration.api.streams
        gate.rules = configuration.access
        try encrypt(configuration.tls)
    }

    public func listen(on address: ListenAddress) throws(StatusServerError) {
        try server.listen(on: address)
    }

    /// Takes a listening socket that the service manager opened, such as systemd's socket activation.
    ///
    /// A unix socket's file stays where it is when the endpoint stops.
    /// - Parameters:
    ///   - descriptor: The socket, which is closed with the endpoint.
    ///   - name: What errors call it.
    /// - Throws: ``StatusServerError/notListening(name:errno:)`` for anything else.
    public func listen(handed descriptor: consuming FileDescriptor, name: String) throws(StatusServerError) {
        try server.listen(handed: descriptor, name: name)
    }

    /// Listens again on the unix sockets whose files were removed; looks only at files, so call it now and then.
    ///
    /// A socket that was handed over is left alone, and so is a file that somebody else put in the place of one.
    /// - Returns: Lines that say what happened, each once.
    public func renewSockets() -> [String] { server.renewSockets() }

    /// Sends an event to every stream; the provider must already hold it.
    public func broadcast(_ event: EventRecord) {
        api.streams.broadcast(event)
    }

    /// Sends what streams have to send now rather than after the events in hand.
    ///
    /// Requests that have come meanwhile are served, too.
    public func flush() { server.flush() }

    /// Answers the requests that wait for documents that have changed.
    public func documentsChanged() {
        api.polls.changed()
    }

    /// Ends streams with a reason, answers waiting requests, and closes everything within `limit`.
    public func stop(within limit: Duration = .seconds(1), completion: @escaping () -> Void) {
        if let pingTimer { loop.cancel(pingTimer) }
        pingTimer = nil
        api.streams.close(reason: "daemon_stopping")
        api.polls.close()
        server.stop(within: limit, completion: completion)
    }

    /// Keeps writing to streams while there are any; an idle endpoint has no timer.
    private func schedulePing() {
        guard pingTimer == nil, api.streams.count > 0 else { return }
        pingTimer = loop.schedule(after: pingInterval) { [weak self] in
            guard let self else { return }
            pingTimer = nil
            api.streams.ping()
            schedulePing()
        }
    }
}
