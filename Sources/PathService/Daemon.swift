// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Configuration
internal import Documents
internal import EventHub
internal import EventLog
internal import Glibc
public import LinuxIO
internal import Metrics
internal import MulticastDNS
internal import Netlink
internal import PathEngine
internal import PathModel
internal import Providers
internal import StatusServer

/// The service: owns every engine, wires them on one loop, and starts, reloads and stops them in order.
///
/// Confined to the loop's thread. Nothing in it waits: a kernel message becomes a log line, a new document and bytes
/// for every stream in one call.
public final class Daemon {
    let loop: EventLoop
    let clock = KernelClock()
    let options: ServiceOptions
    var configuration: Configuration
    let log: EventLog
    let hub: EventHub
    let engine: PathEngine
    let providers: ProviderSet
    let census: ServiceCensus?
    let store: DocumentStore
    let source: StatusSource
    let registry = MetricRegistry()
    let counters = ServiceCounters()
    let server: StatusServer
    let manager = ServiceManager()
    private let recorder: NetlinkRecorder?
    private let started: Duration
    private var logRetry: EventLoop.Timer?
    private var isStopping = false
    /// Called when everything is closed; the process may end then.
    public var onStopped: () -> Void = {}

    /// Opens log and netlink; nothing listens yet.
    /// - Throws: ``ServiceError`` with the first thing that cannot be had.
    public init(loop: EventLoop, options: ServiceOptions) throws(ServiceError) {
        self.loop = loop
        self.options = options
        let (configuration, clock) = (options.configuration, clock)
        self.configuration = configuration
        started = clock.boot
        let identity = DaemonIdentity(version: options.version)
        log = try Self.openLog(configuration, identity: identity)
        let host = HostName.current
        var hubOptions = EventHub.Options(host: host)
        hubOptions.minimumSeverity = configuration.minimumSeverity
        hub = EventHub(hubOptions, after: log.recovered, clock: clock)
        hub.attach(log)
        recorder = try Self.openRecording(options.recording)
        engine = try Self.makeEngine(loop: loop, configuration: configuration, recorder: recorder)
        providers = ProviderSet(loop: loop, options: configuration.providerOptions, listening: Self.listening)
        census =
            configuration.mdns.isEnabled
            ? ServiceCensus(loop: loop, clock: clock, settings: configuration.censusSettings) : nil
        store = DocumentStore(
            hub: hub,
            engine: engine,
            census: census,
            clock: clock,
            daemon: .init(version: identity.version, pid: identity.processID, started: clock.wall),
            host: host
        )
        let engine = engine
        source = StatusSource(
            hub: hub,
            store: store,
            clock: clock,
            logFile: configuration.log.file == EventLog.standardOutput ? nil : configuration.log.file,
            satisfied: { name in engine.core.monitor(named: name).map { $0.path.status == .satisfied } }
        )
        do {
            server = try StatusServer(
                loop: loop,
                provider: source,
                registry: registry,
                configuration: configuration.serverConfiguration
            )
        } catch {
            throw .server(error)
        }
    }

    /// Looks at the kernel, listens, and tells the service manager that it is ready.
    /// - Throws: ``ServiceError`` when an address cannot be listened on; what was opened is closed with the process.
    public func start() throws(ServiceError) {
        connect()
        let identity = DaemonIdentity(version: options.version)
        hub.publish(DaemonStarted(identity: identity, configuration: configurationFile, digest: nil))
        providers.start()
        engine.take(providers.facts, from: "start")
        do {
            try engine.start()
        } catch {
            throw .netlink(error)
        }
        source.readiness = .ready
        try listen()
        census?.setInterfaces(configuration.multicastInterfaces(of: engine.core))
        census?.start()
        manager.start(on: loop) { [unowned self] in sentence }
    }

    /// The configuration file, when there is one.
    private var configurationFile: String? {
        unsafe access(options.files.file, R_OK) == 0 ? options.files.file : nil
    }

    private var sentence: String {
        PathSentence.state(of: engine.core.monitors.first?.path ?? Path(), monitor: MonitorPolicy.standardName)
    }

    private func connect() {
        let updates = UpdatePublisher(hub: hub, clock: clock)
        let services = ServicePublisher(hub: hub, clock: clock)
        _ = hub.addSink { [unowned self] event in deliver(event) }
        engine.onUpdate = { [unowned self] update in
            counters.observe(update, at: clock)
            updates.publish(update)
            census?.setInterfaces(configuration.multicastInterfaces(of: engine.core))
            manager.tell(sentence)
        }
        engine.onResync = { [unowned self] duration, found in
            updates.publishResync(total: engine.statistics.overruns, duration: duration, found: found)
        }
        engine.onResume = { [unowned self] slept in hub.publish(ClockJumped(.suspended(for: slept))) }
        providers.onChange = { [unowned self] facts, cause in engine.take(facts, from: cause) }
        providers.onResume = { [unowned self] in engine.resume() }
        census?.onEvent = { [unowned self] event in
            counters.count(event)
            services.publish(event)
        }
        store.problems = { [unowned self] in problems }
        store.configuration = { [unowned self] in configuration.json }
        source.onReload = { [unowned self] in try reloadForRequest() }
        source.onError = { [unowned self] line in options.report(line) }
        registerMetrics()
    }

    /// Hands an event that the log has taken to streams and waiting requests.
    private func deliver(_ event: Event) {
        server.broadcast(StreamEvent(event))
        server.documentsChanged()
        scheduleLogRetry()
    }

    private func listen() throws(ServiceError) {
        for address in configuration.listen {
            do {
                try server.listen(on: address)
            } catch .addressNotAvailable where address.isLocal {
                // A machine without IPv6 has no [::1].
                options.report("not listening on \(address): no interface has this address")
            } catch {
                throw .server(error)
            }
        }
        options.report("listening on \(server.addresses.map(\.description).joined(separator: ", "))")
        options.report("event log: \(configuration.log.file)")
    }

    // MARK: - The log's disk

    /// While the log cannot be written it is tried once a second, so that the gap is told soon after it can.
    private func scheduleLogRetry() {
        guard log.status.outage != nil, logRetry == nil, !isStopping else { return }
        store.invalidate()
        logRetry = loop.schedule(after: .seconds(1)) { [unowned self] in
            logRetry = nil
            hub.prepareJournal()
            store.invalidate()
            scheduleLogRetry()
        }
    }

    /// Opens the log file anew after somebody renamed it (SIGUSR1).
    public func reopenLog() {
        log.reopen()
        hub.prepareJournal()
    }

    // MARK: - Stopping

    /// Tells readers why, closes everything, and calls ``onStopped``; takes at most two seconds.
    public func stop(signal: String?) {
        guard !isStopping else { return }
        isStopping = true
        manager.stopping()
        hub.publish(DaemonStopping(signal: signal, uptime: clock.boot - started))
        engine.stop()
        census?.stop()
        providers.stop()
        log.synchronize()
        recorder?.finish()
        server.stop(within: .seconds(1)) { [unowned self] in onStopped() }
    }
}
