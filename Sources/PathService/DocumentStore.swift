// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Documents
internal import EventHub
internal import EventLog
internal import Diagnosis
internal import LinuxIO
internal import MulticastDNS
internal import Netlink
internal import OrderedJSON
internal import PathEngine
internal import PathModel
internal import StatusServer

/// Renders each document at most once per change and serves it from memory.
///
/// Confined to the daemon's loop. A document is rendered when it is requested first after a change. Nearly all that it
/// shows is in an event, whose number is the tag. Ignored interfaces are in none, so what is rendered also ends with the
/// next evaluation, and the tags of the documents that show them count their changes since the last event. So does the
/// tag of the overview with problems, headline and last census, and those of services, probes, diagnosis and traffic with
/// what no event has yet.
final class DocumentStore {
    private let hub: EventHub
    private let engine: PathEngine
    /// The services of the neighbourhood; `nil` without a census.
    let services: ServiceDiscovery?
    let clock: any TimeSource
    private let daemon: OverviewDocument.Daemon
    /// The machine's name.
    var host: String {
        didSet { hostChanges += 1 }
    }
    private var hostChanges = 0
    private let parts: DaemonParts
    /// The way out as a whole.
    private let headline: HeadlineService
    /// The active probes; their results are no events, so their documents count them in their tags.
    let probes: ProbeService
    private var probeRevision: UInt64 = 0
    let diagnosis: DiagnosisService
    private var diagnosisRevision: UInt64 = 0
    private let traffic: TrafficMonitor
    private var trafficRevision: UInt64 = 0
    /// The counters of links, which are in no event.
    private let linkHealth: LinkHealthMonitor
    private var healthRevision: UInt64 = 0
    /// The revision of the services at the last event, and the one that is rendered.
    private var serviceRevisions = (event: 0, rendered: 0)
    private let configuration: () -> JSONValue
    private let configurationSchema: () -> JSONValue

    private var rendered: [StatusDocument: Snapshot] = [:]
    private var revision: EventPosition?
    private var evaluations: UInt64 = 0
    /// What no event tells of the overview, as it was shown last, and how often it changed since the last event.
    private var shown: Untold?
    private var untoldChanges = 0

    private struct Untold: Equatable {
        let problems: [ProblemDocument]
        let headline: Headline
        /// Since when the headline's state stands.
        let since: Duration
        let lastCensus: WallTime?
        let services: Int
    }
    /// The interfaces that documents showed last, and how often they changed since the last event.
    private var shownInterfaces: [InterfaceView] = []
    private var interfaceChanges = 0
    /// How many rendered documents are kept; filtered lists of services are what could become many.
    private static let capacity = 64

    init(
        hub: EventHub,
        engine: PathEngine,
        parts: DaemonParts,
        services: ServiceDiscovery?,
        probes: ProbeService,
        diagnosis: DiagnosisService,
        traffic: TrafficMonitor,
        linkHealth: LinkHealthMonitor,
        headline: HeadlineService,
        clock: any TimeSource,
        daemon: OverviewDocument.Daemon,
        host: String,
        configuration: @escaping () -> JSONValue,
        configurationSchema: @escaping () -> JSONValue
    ) {
        self.hub = hub
        self.engine = engine
        self.parts = parts
        self.services = services
        self.probes = probes
        self.diagnosis = diagnosis
        self.traffic = traffic
        self.linkHealth = linkHealth
        self.headline = headline
        self.clock = clock
        self.daemon = daemon
        self.host = host
        self.configuration = configuration
        self.configurationSchema = configurationSchema
    }

    /// Forgets what was rendered, for changes that no event tells.
    func invalidate() { rendered = [:] }

    /// The document as of the last event; `nil` when it shows something that does not exist.
    func snapshot(of document: StatusDocument) throws -> Snapshot? {
        if revision != hub.position {
            rendered = [:]
            revision = hub.position
            untoldChanges = 0
            shown = untold
            interfaceChanges = 0
            serviceRevisions.event = services?.revision ?? 0
            shownInterfaces = engine.core.interfaces
        }
        if evaluations != engine.core.evaluations || rendered.count >= Self.capacity {
            rendered = [:]
            evaluations = engine.core.evaluations
        }
        if document == .status { lookForUntold() }
        if document.isOfProbes, probes.revision != probeRevision {
            probeRevision = probes.revision
            rendered = rendered.filter { !$0.key.isOfProbes }
        }
        if document == .diagnosis, diagnosis.revision != diagnosisRevision {
            diagnosisRevision = diagnosis.revision
            rendered[.diagnosis] = nil
        }
        if document.isOfTraffic, traffic.revision != trafficRevision {
            trafficRevision = traffic.revision
            rendered = rendered.filter { !$0.key.isOfTraffic }
        }
        if document.showsServices, let services, services.revision != serviceRevisions.rendered {
            serviceRevisions.rendered = services.revision
            rendered = rendered.filter { !$0.key.showsServices }
        }
        if document.showsIgnoredInterfaces { lookForInterfaces() }
        if let snapshot = rendered[document] { return snapshot }
        guard let bytes = try render(document) else { return nil }
        let snapshot = Snapshot(bytes + [0x0A], tag: tag(of: document))
        rendered[document] = snapshot
        return snapshot
    }

    func isSatisfied(_ monitor: String) -> Bool? {
        engine.core.monitor(named: monitor).map { $0.path.status == .satisfied }
    }

    /// The way out as a whole for the default monitor, and the status of another one's path.
    func badge(of monitor: String) -> BadgeState? {
        isSatisfied(monitor).map { isSatisfied in
            guard monitor == MonitorPolicy.standardName else {
                return isSatisfied ? BadgeState("satisfied", .good) : BadgeState("unsatisfied", .bad)
            }
            let state = headline.current.headline.state
            let levels: [Headline.Level: BadgeState.Level] = [.good: .good, .untested: .untested, .worse: .worse]
            return BadgeState(state.word, levels[state.level] ?? .bad)
        }
    }

    private var untold: Untold {
        let (headline, since) = headline.current
        return Untold(
            problems: parts.problems,
            headline: headline,
            since: since,
            lastCensus: services?.census.lastCompleted,
            services: services?.census.services.count ?? 0
        )
    }

    private func lookForUntold() {
        let untold = untold
        guard untold != shown else { return }
        shown = untold
        untoldChanges += 1
        rendered[.status] = nil
    }

    private func lookForInterfaces() {
        let interfaces = engine.core.interfaces
        guard interfaces != shownInterfaces || healthRevision != linkHealth.revision else { return }
        (shownInterfaces, healthRevision) = (interfaces, linkHealth.revision)
        interfaceChanges += 1
        for document in Array(rendered.keys) where document.showsIgnoredInterfaces { rendered[document] = nil }
    }

    /// Such as `7f3a.45`, and `7f3a.45.1` after something changed that the document shows and no event tells.
    private func tag(of document: StatusDocument) -> String {
        // Names come seldom, and only they may make tags longer for ever.
        let name = hostChanges > 0 ? "n\(hostChanges)" : ""
        let tag = "\(hub.position.stream).\(hub.position.sequence)\(name)"
        if document.isOfProbes { return "\(tag).\(probeRevision)" }
        if document == .diagnosis { return "\(tag).\(diagnosisRevision)" }
        if document.isOfTraffic { return "\(tag).\(trafficRevision)" }
        let changes =
            switch document {
            case .status: untoldChanges
            case _ where document.showsServices: serviceRevisions.rendered - serviceRevisions.event
            case _ where document.showsIgnoredInterfaces: interfaceChanges
            default: 0
            }
        return changes > 0 ? "\(tag).\(changes)" : tag
    }

    private func render(_ document: StatusDocument) throws -> [UInt8]? {
        let encoder = OrderedJSONEncoder()
        switch document {
        case .status: return try encoder.encode(overview)
        case .paths: return try stated("monitors") { $0.write("paths", monitors) }
        case .path(let name): return try monitors.first { $0.monitor == name }.map { try stated("monitorstate", $0) }
        case .interfaces: return try stated("interfaces") { $0.write("interfaces", measuredInterfaces) }
        case .interface(let name):
            let name = interfaceName(name)
            return try measuredInterfaces.first { $0.name == name }.map { try stated("interfacestate", $0) }
        case .gateways: return try stated("gateways") { $0.write("gateways", path.gateways.map(GatewayDocument.init)) }
        case .dns: return try stated("nameserverstate", DNSDocument(path.dns))
        case .diagnosis:
            return try encoder.encode(DiagnosisStateDocument(diagnosis.document, running: diagnosis.running))
        case .traffic(let showsAddresses):
            let calendar = TrafficCalendar(clock)
            let state = traffic.samplingState
            return try stated(
                "traffic",
                TrafficDocument(traffic.report, state, calendar, showsAddresses: showsAddresses)
            )
        case .trafficHistory:
            return try stated("traffichistory", TrafficHistoryDocument(traffic.history, TrafficCalendar(clock)))
        case .probes: return try stated("probes") { $0.write("probes", probes.documents) }
        case .probe(let name):
            return try probes.documents.first { $0.name == name }.map { try stated("probestate", $0) }
        case .services(let type, let name, let interface):
            let services = services(try selection(type, name, interface))
            return try stated("services") { $0.write("services", services) }
        case .serviceTypes:
            return try stated("servicetypes", ServiceTypesDocument(services?.census.serviceTypes ?? []))
        case .service(let type, let name):
            let services = try services(type: type, named: name)
            return try stated("services") { $0.write("services", services) }
        case .serviceHistory(let type, let name, let interface):
            let services = pastServices(try selection(type, name, interface))
            return try stated("pastservices") { $0.write("services", services) }
        case .scrapeTargets(let type, let name, let interface, let family):
            let filter = try selection(type, name, interface)
            return try encoder.encode(scrapeTargets(filter, family: family))
        case .configuration: return try encoder.encode(configuration())
        case .eventSchema: return try encoder.encode(EventSchema.document)
        case .configurationSchema: return try encoder.encode(configurationSchema())
        }
    }

    /// Members after those of the state that they show; its schema has the name of the description's component.
    private func stated(_ kind: String, _ members: (inout JSONObjectWriter) -> Void) throws(JSONError) -> [UInt8] {
        try OrderedJSONEncoder().encode { object in
            state(kind).write(to: &object)
            members(&object)
        }
    }

    private func stated(_ kind: String, _ document: some JSONObjectWritable) throws(JSONError) -> [UInt8] {
        try stated(kind) { document.write(to: &$0) }
    }

    /// A filter of services; an alternative name means the interface that has it.
    private func selection(_ type: String?, _ name: String?, _ interface: String?) throws(Problem) -> ServiceFilter {
        try ServiceFilter(type: type, name: name, interface: interface.map(interfaceName))
    }

    /// The name of the interface that has this name or alternative name; the text itself without one.
    private func interfaceName(_ text: String) -> String { engine.core.state.link(named: text)?.name ?? text }

    // MARK: - Parts

    /// What the document `kind` is as new as.
    private func state(_ kind: String) -> StateDocument {
        StateDocument(
            kind,
            stream: "\(hub.position.stream)",
            seq: hub.position.sequence,
            time: clock.wall,
            host: host
        )
    }

    private var path: Path { engine.core.path }

    private var monitors: [MonitorDocument] {
        engine.core.monitors.map { monitor in
            MonitorDocument(
                monitor: monitor.policy.name,
                path: monitor.path,
                statusSince: monitor.tracker.statusSince,
                clock: clock
            )
        }
    }

    private var interfaces: [InterfaceDocument] {
        let now = clock.boot
        return engine.core.interfaces.map { InterfaceDocument($0, at: now) }
    }

    /// The interfaces with what was counted of them.
    private var measuredInterfaces: [InterfaceDocument] {
        let counters = linkHealth.shown
        return interfaces.map { interface in
            var interface = interface
            interface.counters = counters[interface.index]
            return interface
        }
    }

    private var overview: OverviewDocument {
        let shown = shown ?? untold
        return OverviewDocument(
            state: state("status"),
            daemon: daemon,
            headline: shown.headline,
            headlineSince: clock.calendar(at: shown.since),
            monitors: monitors,
            interfaces: interfaces.filter { !$0.ignored },
            path: path,
            services: (services?.census).map {
                .init(count: $0.services.count, types: $0.serviceTypes.count, lastCensus: $0.lastCompleted)
            },
            problems: shown.problems
        )
    }
}

extension StatusDocument {
    fileprivate var isOfProbes: Bool {
        switch self {
        case .probes, .probe: true
        default: false
        }
    }

    fileprivate var isOfTraffic: Bool {
        switch self {
        case .traffic, .trafficHistory: true
        default: false
        }
    }

    fileprivate var showsServices: Bool {
        switch self {
        case .services, .serviceTypes, .service, .serviceHistory, .scrapeTargets: true
        default: false
        }
    }

    /// Whether it shows interfaces of which no event tells.
    fileprivate var showsIgnoredInterfaces: Bool {
        switch self {
        case .interfaces, .interface: true
        default: false
        }
    }
}
