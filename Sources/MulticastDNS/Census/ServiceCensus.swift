// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import DNSWire
public import LinuxIO

/// Finds the services on all given interfaces by multicast DNS, and follows them: a client of ``MulticastEngine``.
///
/// Confined to the thread of its loop. The service types are queried once per interval; between two censuses it
/// listens, and refreshes what it reported.
public final class ServiceCensus {
    public private(set) var lastCompleted: WallTime?
    /// The engine it uses; other clients may share it.
    public let engine: MulticastEngine

    private var settings: CensusSettings
    private var onInstance: (BrowseEvent) -> Void = { _ in }
    private var onEvent: (ServiceEvent) -> Void = { _ in }
    private var reportedTypes: Set<String> = []
    private var list: BrowseList
    private var id: Int?
    private var run: CensusRun?
    private var tally = CensusSummary(empty: ())
    private var nextCensus: Duration?
    private var hasLostServices = false

    /// Makes a census on an engine that others start, stop and configure.
    ///
    /// It does nothing before ``start(onInstance:onEvent:)``.
    public init(_ engine: MulticastEngine, settings: CensusSettings = CensusSettings()) {
        self.engine = engine
        self.settings = settings
        list = BrowseList(Subscription(census: settings))
    }

    deinit {
        if let id { engine.detach(id) }
    }

    /// The types that have a service, sorted, such as `_ipp._tcp`.
    public var serviceTypes: [String] { reportedTypes.sorted() }

    /// The resolved services, sorted by type, name and interface.
    public var services: [Service] {
        list.services.sorted {
            ($0.type, $0.name, $0.interface, $0.instance) < ($1.type, $1.name, $1.interface, $1.instance)
        }
    }

    public var isRunning: Bool { run != nil }

    /// Begins the first census.
    /// - Parameters:
    ///   - onInstance: Called before `onEvent` for what a browse of every type would report, such as one that is not
    ///     resolved yet.
    ///   - onEvent: Called on the loop's thread for everything that happens, in order, until ``stop()``.
    public func start(
        onInstance: @escaping (BrowseEvent) -> Void = { _ in },
        onEvent: @escaping (ServiceEvent) -> Void
    ) {
        guard id == nil else { return }
        (self.onInstance, self.onEvent) = (onInstance, onEvent)
        id = engine.attach(self)
        if run == nil { beginCensus(at: engine.clock.boot) }
        engine.pump()
    }

    /// Forgets everything, without a word, for what was found is not gone.
    public func stop() {
        run = nil
        nextCensus = nil
        (onInstance, onEvent) = ({ _ in }, { _ in })
        if let id { engine.detach(id) }
        id = nil
        reportedTypes = []
        list = BrowseList(subscription)
    }

    /// Sets the types that are queried before anybody announced them; new ones are queried at once.
    public func setWellKnownTypes(_ types: [DomainName]) {
        guard types != settings.wellKnownTypes else { return }
        settings.wellKnownTypes = types
        if let id { engine.changeCensus(of: id) }
    }

    // MARK: - The census

    private var isResolving: Bool { engine.links.values.contains { $0.directory.isResolving } }

    private var answersUntil: Duration { engine.links.values.map(\.directory.answersUntil).max() ?? .zero }

    private func beginCensus(at now: Duration) {
        run = CensusRun(at: now)
        nextCensus = now + max(settings.interval, .seconds(10))
        tally = CensusSummary(empty: ())
        for link in engine.links.values { link.directory.beginCensus(at: now) }
    }

    private func stepCensus(at now: Duration) {
        while let step = run?.step(at: now, isResolving: isResolving, answersUntil: answersUntil) {
            switch step {
            case .wait: return
            case .provisional: onEvent(.censusProvisional(summary(at: now)))
            case .complete:
                let summary = summary(at: now)
                run = nil
                lastCompleted = engine.clock.wall
                for link in engine.links.values { link.directory.endCensus() }
                onEvent(.censusCompleted(summary))
            }
        }
    }

    private func summary(at now: Duration) -> CensusSummary {
        var summary = tally
        summary.duration = now - (run?.started ?? now)
        summary.types = reportedTypes.count
        summary.services = list.services.count
        summary.unresolved = engine.links.values.reduce(0) { $0 + $1.directory.unresolvedCount }
        summary.interfaces = engine.links.values.map(\.name).sorted()
        return summary
    }

    // MARK: - Reports

    private func publish(_ event: BrowseEvent, at now: Duration) {
        onInstance(event)
        switch event {
        case .found:
            run?.noteChange(at: now)
        case .resolved(let service):
            run?.noteChange(at: now)
            tally.added += 1
            if reportedTypes.insert(service.type).inserted { onEvent(.typeAdded(service.type)) }
            onEvent(.added(service))
        case .changed(let service, let fields, let previous):
            tally.changed += 1
            onEvent(.changed(service, fields: fields, previous: previous))
        case .unresolved(let service):
            // An instance that only reserves a name is not at fault.
            if service.isOffered { onEvent(.resolveFailed(service)) }
        case .lost(_, let service, let reason, let seenFor):
            guard let service else { return }
            tally.removed += 1
            hasLostServices = true
            onEvent(.removed(service, reason: reason, seenFor: seenFor))
        }
    }

    private func publishLostTypes() {
        guard hasLostServices else { return }
        hasLostServices = false
        let present = Set(list.services.map(\.type))
        for type in reportedTypes.subtracting(present).sorted() {
            reportedTypes.remove(type)
            onEvent(.typeRemoved(type))
        }
    }
}

extension ServiceCensus: EngineClient {
    var subscription: Subscription { Subscription(census: settings) }

    var nextDeadline: Duration? {
        guard var run,
            case .wait(let until) = run.step(
                at: engine.clock.boot,
                isResolving: isResolving,
                answersUntil: answersUntil
            )
        else { return run == nil ? nextCensus : engine.clock.boot }
        return min(nextCensus ?? until, until)
    }

    func receive(_ events: [DirectoryEvent], on link: LinkIdentity, at now: Duration) {
        for event in events {
            for change in list.apply(event) { publish(change, at: now) }
        }
        publishLostTypes()
    }

    func advance(to now: Duration) {
        if let nextCensus, nextCensus <= now, run == nil { beginCensus(at: now) }
        stepCensus(at: now)
    }

    func linkOpened(at now: Duration) {
        // Query a newly opened link at once, not at the next census.
        guard id != nil else { return }
        if run == nil { beginCensus(at: now) } else { run?.noteChange(at: now) }
        for link in engine.links.values where !link.directory.isCensusRunning { link.directory.beginCensus(at: now) }
    }
}
