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
internal import OrderedJSON
internal import PathEngine
internal import PathModel
internal import Probes
internal import Providers
internal import StatusServer
internal import Traffic

/// The service: owns every engine, wires them on one loop, and starts, reloads and stops them in order.
///
/// Confined to the loop's thread. Nothing in it waits: once a kernel message was debounced, its evaluation, log line and
/// bytes for every stream are one call.
public final class Daemon {
    let loop: EventLoop
    let clock = KernelClock()
    let options: ServiceOptions
    let settings: ConfigurationKeeper
    var configuration: Configuration { settings.current }
    let log: EventLog
    let hub: EventHub
    let system: PathSystem
    var engine: PathEngine { system.engine }
    /// `nil` without multicast DNS.
    let services: ServiceDiscovery?
    let probes: ProbeService
    let diagnosis: DiagnosisService
    let traffic: TrafficMonitor
    let linkHealth: LinkHealthMonitor
    let headline: HeadlineService
    let store: DocumentStore
    let source: StatusSource
    private let registry: MetricRegistry
    private let parts: DaemonParts
    private let counters = UpdateCounters()
    let server: StatusServer
    let manager = ServiceManager()
    /// Has a worker of its own: readers of the log must not hold it up.
    let index: HistoryIndex
    private let outages: OutageLog
    /// The status and the reason of each monitor that were kept last.
    private var keptStates: [String: [String]] = [:]
    /// Where earlier runs end; `nil` without any.
    private let past: EventPosition?
    private let worker: Worker
    private let identity: DaemonIdentity
    private var alive: AliveFile
    private var stall = StallDetector()
    let updates: UpdatePublisher
    private let recorder: NetlinkRecorder?
    private let calendar: CalendarMonitor
    let hostName: HostNameMonitor
    private let started: Duration
    private var logRetry: EventLoop.Timer?
    private let saver: LogSaver
    private var releaseTimer: EventLoop.Timer?
    private(set) var isStopping = false
    /// Updates that are being told, the one in hand first.
    private var waiting: [EngineUpdate] = []
    private var onStopped: () -> Void = {}

    /// Opens log and netlink; nothing listens yet.
    /// - Throws: ``ServiceError`` with the first thing that cannot be had.
    public init(loop: EventLoop, options: ServiceOptions) throws(ServiceError) {
        self.loop = loop
        self.options = options
        let (configuration, clock) = (options.configuration, clock)
        started = clock.boot
        identity = DaemonIdentity(version: options.version)
        try RuntimeDirectories().prepare(configuration)
        log = try Self.openLog(configuration, identity: identity)
        saver = LogSaver(loop: loop, log: log)
        alive = AliveFile(directory: configuration.stateDirectory)
        hostName = HostNameMonitor(loop: loop)
        let host = hostName.name
        var hubOptions = EventHub.Options(host: host)
        hubOptions.minimumSeverity = configuration.minimumSeverity
        let place = SignOfLife.continuation(of: log.recovered, after: alive.earlier, bootID: identity.bootID)
        hub = EventHub(hubOptions, after: place, clock: clock)
        hub.attach(log)
        outages = OutageLog(directory: configuration.stateDirectory)
        past = log.recovered == nil && !outages.exists ? nil : hub.position
        recorder = try Self.openRecording(options.recording)
        calendar = try Self.watchCalendar(on: loop, clock: clock)
        system = try Self.openSystem(loop: loop, configuration: configuration, recorder: recorder)
        let engine = system.engine
        let settings = ConfigurationKeeper(options, engine: engine, hub: hub)
        self.settings = settings
        services =
            configuration.mdns.isEnabled
            ? ServiceDiscovery(settings, hub: hub, loop: loop, clock: clock, hostName: host) : nil
        probes = ProbeService(engine, loop: loop, hub: hub, clock: clock, stateDirectory: configuration.stateDirectory)
        diagnosis = DiagnosisService(engine, loop: loop, hub: hub, clock: clock)
        traffic = TrafficMonitor(engine, loop: loop, hub: hub, recorder: recorder)
        linkHealth = LinkHealthMonitor(system, loop: loop)
        headline = HeadlineService(engine, hub: hub, probes: probes, diagnosis: diagnosis, host: hostName, loop: loop)
        registry = MetricRegistry()
        parts = DaemonParts(registry: registry)
        store = DocumentStore(
            hub: hub,
            engine: engine,
            parts: parts,
            services: services,
            probes: probes,
            diagnosis: diagnosis,
            traffic: traffic,
            linkHealth: linkHealth,
            headline: headline,
            clock: clock,
            daemon: .init(version: identity.version, pid: identity.processID, started: clock.wall),
            host: host,
            configuration: { settings.current.json },
            configurationSchema: { [paths = options.paths] in JSONValue(Configuration.schema(paths: paths)) }
        )
        worker = Worker(loop: loop)
        index = HistoryIndex(loop: loop)
        updates = UpdatePublisher(hub: hub)
        source = StatusSource(
            hub: hub,
            store: store,
            clock: clock,
            logFile: configuration.log.file == EventLog.standardOutput ? nil : configuration.log.file,
            index: index,
            worker: worker,
            report: options.report
        )
        let protection = ProtectionFiles(configuration)
        if let complaint = protection.complaints.first {
            throw .unprotected(key: complaint.key, reason: complaint.sentence)
        }
        do {
            server = try StatusServer(
                loop: loop,
                provider: source,
                registry: registry,
                configuration: configuration.serverConfiguration(protection),
                // Signals are measured only while somebody looks on (rule S39).
                onListening: { [providers = system.providers] in providers.samplesSignals = $0 }
            )
        } catch {
            throw .server(error)
        }
    }

    /// Looks at the kernel, listens, and tells the service manager that it is ready.
    /// - Parameter onStopped: Called when everything is closed; the process may end then.
    /// - Throws: ``ServiceError`` when an address cannot be listened on or the kernel does not answer; everything is
    ///   closed then.
    public func start(onStopped: @escaping () -> Void) throws(ServiceError) {
        self.onStopped = onStopped
        hub.addSink { [unowned self] event in deliver(event) }
        headline.onEvaluation = { [manager] headline in manager.show(headline.sentence) }
        if JournalSocket.isStandardError(options.environment) {
            let journal = JournalSocket()
            hub.addSink { event in journal.take(event) }
        } else if configuration.log.file != EventLog.standardOutput {
            headline.onChange = options.report
        }
        do throws(ServiceError) {
            // Clients that come early wait in the queue of the socket until the first status is known.
            try listen()
            registerMetrics()
            try startParts()
        } catch {
            close(within: .zero) {}
            throw error
        }
        source.open { [unowned self] in try reloadForRequest() }
        options.report("listening on \(server.addresses.map(\.description).joined(separator: ", "))")
        options.report("event log: \(configuration.log.file)")
        if let page { options.report("status page: \(page)") }
        if let warning = server.warning { options.report(warning) }
        headline.reevaluate()
        options.report(headline.current.headline.sentence)
        manager.start(on: loop)
        // By then the census has run once: what stays resident is what an idle daemon uses.
        releaseTimer = loop.schedule(after: .seconds(10)) { try? ProgramText.release() }
    }

    /// Starts the parts, each with what becomes of its news.
    private func startParts() throws(ServiceError) {
        parts.add(saver)
        try parts.start(calendar) { calendar throws(ServiceError) in
            do throws(Errno) {
                try calendar.start { [unowned self] step in hub.publish(ClockJumped(.stepped(by: step))) }
            } catch {
                throw .loop(error)
            }
        }
        parts.start(hostName) { $0.start { [unowned self] name in take(hostName: name) } }
        publishStart()
        // The first headline knows which results are to come.
        probes.apply(configuration)
        try parts.start(system) { system throws(ServiceError) in
            do throws(NetlinkError) {
                try system.start { [unowned self] event in hear(event) }
            } catch {
                hub.publish(DaemonStopping(signal: nil, uptime: clock.boot - started))
                throw .netlink(error)
            }
        }
        parts.add(settings)
        parts.start(probes) { probes in
            probes.start { [unowned self] in
                diagnosis.probeChanged(isReported: $0)
            } onResult: { [unowned self] in
                publishAnswers()
            }
        }
        connectDiagnosis()
        parts.start(diagnosis) { $0.start(configuration) { [unowned self] in publishAnswers() } }
        parts.start(traffic) { $0.apply(isEnabled: configuration.traffic.isEnabled) }
        parts.start(linkHealth) { $0.start { [unowned diagnosis] in diagnosis.healthChanged($0) } }
        if let services {
            parts.start(services) { services in
                services.start(on: configuration.multicastInterfaces(of: engine.core)) { [unowned self] in
                    server.documentsChanged()
                }
            }
        }
        parts.add(headline)
        parts.add(outages)
        parts.start(index) { index in
            guard configuration.log.file != EventLog.standardOutput else { return }
            index.read(log: configuration.log.file, outages: outages.path, upTo: past)
        }
    }

    /// What diagnosis, headline and traffic read of each other.
    private func connectDiagnosis() {
        diagnosis.onContradiction = { [unowned self] in probes.runAll() }
        headline.traffic = { [unowned traffic] in traffic.observations(of: $0) }
        diagnosis.traffic = { [unowned traffic] in traffic.evidence }
        diagnosis.isProvedByTraffic = { [unowned self] in traffic.isProving(engine.core.path) }
        diagnosis.probes = { [unowned probes] in probes.states }
        diagnosis.isFailing = { [unowned self] in
            let path = engine.core.path
            return path.status != .satisfied || path.gateways.contains { $0.isReachable == false } || probes.isFailing
        }
        traffic.onReading = { [unowned self] in publishAnswers() }
        traffic.onChange = { [unowned self] in diagnosis.trafficChanged(isPath: $0.concernsReach) }
    }

    private func registerMetrics() {
        registry.add { [version = options.version] writer in
            writer.write(info: Family.build, version, Build.revision, Build.swiftVersion)
        }
        registry.add { [hub] writer in
            for (name, count) in hub.publishedCounts {
                writer.write(Family.eventsPublished, Double(count), name.rawValue)
            }
        }
        counters.register(in: registry)
        ProcessMetrics().register(in: registry)
    }

    /// The first address that a browser opens.
    private var page: String? {
        let scheme = configuration.tls.certificateFile == nil ? "http" : "https"
        return server.addresses.compactMap { address -> String? in
            guard case .tcp = address else { return nil }
            return "\(scheme)://\(address)/"
        }.first
    }

    private func publishStart() {
        if let problem = alive.problem { options.report(problem) }
        let earlier = alive.earlier.flatMap { $0.isOfRun(endingAt: log.recovered) ? $0 : nil }
        let start = DaemonStarted(
            identity: identity,
            configuration: settings.file,
            digest: nil,
            previousAlive: earlier?.time,
            unwatched: earlier?.unwatched(until: clock.boot, of: identity.bootID),
            boundInterface: engine.core.settings.policy.boundInterface
        )
        hub.publish(start)
        loop.onIteration { [unowned self] in turn() }
    }

    /// Leaves a sign of life, and tells when there was none for long; in every turn of the loop.
    private func turn() {
        if let stalled = stall.observe(asleep: clock.boot - clock.awake, lateness: loop.lateness) {
            index.skip(stalled)
            hub.publish(ClockJumped(.stalled(for: stalled)))
        }
        if alive.isDue(clock) { alive.write(sign()) }
        traffic.tick()
    }

    private func sign(isFinal: Bool = false) -> SignOfLife {
        SignOfLife(
            bootID: identity.bootID,
            boot: clock.boot,
            time: clock.wall,
            position: hub.position,
            isFinal: isFinal
        )
    }

    private func hear(_ event: PathEngine.Event) {
        switch event {
        case .firstReading: break
        case .update(let update): take(update)
        case .notices(let batch):
            traffic.receive(batch)
            if batch.concernsConnections { headline.reevaluateSoon() }
            if configuration.minimumSeverity == .debug { updates.publish(batch) }
        case .links: services?.setInterfaces(configuration.multicastInterfaces(of: engine.core))
        case .resync(let duration, let found):
            traffic.invalidateRoutes()
            updates.publishResync(total: engine.statistics.overruns, duration: duration, found: found)
        case .resume(let slept):
            index.skip(slept)
            traffic.resume()
            hub.publish(ClockJumped(.suspended(for: slept)))
            services?.resume()
        case .audit:
            hostName.poll()
            // Where it is refused, the socket's own error is told.
            try? RuntimeDirectories().prepareSockets(of: configuration)
            for line in server.renewSockets() { options.report(line) }
            headline.reevaluate()
            // A part that fell silent since then is no event, but a problem.
            server.documentsChanged()
        }
    }

    /// Publishes updates and passes them on, one after the other: a request that is served in between may cause the next.
    private func take(_ update: EngineUpdate) {
        waiting.append(update)
        guard waiting.count == 1 else { return }
        while let update = waiting.first {
            let cause = updates.publish(update)
            services?.record(update, cause: cause)
            counters.observe(update, at: clock)
            probes.apply(update)
            diagnosis.apply(update)
            headline.reevaluate()
            waiting.removeFirst()
        }
    }

    /// Re-evaluates the headline after a result of a probe, a diagnosis or a reading, and wakes long polls.
    func publishAnswers() {
        headline.reevaluate()
        server.documentsChanged()
    }

    /// Hands an event that the log has taken to streams and waiting requests.
    private func deliver(_ event: Event) {
        server.broadcast(event.record)
        // The status of a path is on its way before anything else is done.
        if event.status != nil { server.flush() }
        server.documentsChanged()
        index.take(event)
        keepOutage(event)
        // What is not in the log was given out all the same.
        if log.status.outage != nil { alive.write(sign()) }
        scheduleLogRetry()
        if configuration.log.file != EventLog.standardOutput { saver.schedule() }
    }

    /// Writes what outages are worked out from where other events cannot displace it.
    private func keepOutage(_ event: Event) {
        guard configuration.log.file != EventLog.standardOutput, MarkList.isKept(event.name.rawValue) else { return }
        if let status = event.status {
            // Routers and neighbours can change a path that stays as satisfied as it was.
            let state = [status.status.rawValue, status.reason?.rawValue ?? ""]
            guard keptStates.updateValue(state, forKey: status.monitor) != state else { return }
        }
        outages.append(event)
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
            server.documentsChanged()
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
        manager.stopping()
        source.close("the service is stopping")
        hub.publish(DaemonStopping(signal: signal, uptime: clock.boot - started))
        close(within: .seconds(1)) { [unowned self] in onStopped() }
    }

    private func close(within limit: Duration, completion: @escaping () -> Void) {
        isStopping = true
        loop.onIteration {}
        for timer in [logRetry, releaseTimer].compactMap(\.self) { loop.cancel(timer) }
        parts.stop()
        log.synchronize()
        alive.write(sign(isFinal: true))
        recorder?.finish()
        server.stop(within: limit, completion: completion)
    }
}

private enum Family {
    static let build = MetricFamily.info("build", "The running build.", ["version", "revision", "swift_version"])
    static let eventsPublished = MetricFamily.counter("events_published", "Events by name.", ["event"])
}
