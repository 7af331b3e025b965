// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Documents
internal import EventHub
internal import EventLog
internal import LinuxIO
internal import MulticastDNS
internal import OrderedJSON
internal import PathEngine
internal import PathModel
internal import StatusServer

/// Renders each document once per change and serves it from memory.
///
/// Confined to the daemon's loop. Nearly all that a document shows is told by an event, whose number is the tag. Of
/// ignored interfaces no event tells, so what is rendered also ends with the next evaluation. Nor does one tell of
/// problems of the daemon's own parts, so the tag of the overview counts their changes since the last event as well.
final class DocumentStore {
    private let hub: EventHub
    private let engine: PathEngine
    let census: ServiceCensus?
    let clock: any TimeSource
    private let daemon: OverviewDocument.Daemon
    private let host: String
    /// What is wrong with the daemon's own parts right now.
    var problems: () -> [ProblemDocument] = { [] }
    /// What is remembered of services; `nil` without a census.
    var history: ServiceHistoryKeeper?
    /// The effective configuration as JSON.
    var configuration: () -> JSONValue = { .null }

    private var rendered: [StatusDocument: Snapshot] = [:]
    private var revision: EventPosition?
    private var evaluations: UInt64 = 0
    /// The problems that the overview showed last, and how often they changed since the last event.
    private var shownProblems: [ProblemDocument] = []
    private var problemChanges = 0
    /// How many rendered documents are kept; filtered lists of services are what could become many.
    private static let capacity = 64

    init(
        hub: EventHub,
        engine: PathEngine,
        census: ServiceCensus?,
        clock: any TimeSource,
        daemon: OverviewDocument.Daemon,
        host: String
    ) {
        self.hub = hub
        self.engine = engine
        self.census = census
        self.clock = clock
        self.daemon = daemon
        self.host = host
    }

    /// Forgets what was rendered, for changes that no event tells.
    func invalidate() { rendered = [:] }

    /// The document as of the last event; `nil` when it shows something that does not exist.
    func snapshot(of document: StatusDocument) throws -> Snapshot? {
        if revision != hub.position {
            rendered = [:]
            revision = hub.position
            problemChanges = 0
            shownProblems = problems()
        }
        if evaluations != engine.core.evaluations || rendered.count >= Self.capacity {
            rendered = [:]
            evaluations = engine.core.evaluations
        }
        if document == .status { lookForProblems() }
        if let snapshot = rendered[document] { return snapshot }
        guard let bytes = try render(document) else { return nil }
        let snapshot = Snapshot(bytes + [0x0A], tag: tag(of: document))
        rendered[document] = snapshot
        return snapshot
    }

    private func lookForProblems() {
        let problems = problems()
        guard problems != shownProblems else { return }
        shownProblems = problems
        problemChanges += 1
        rendered[.status] = nil
    }

    /// Such as `7f3a.45`, and `7f3a.45.1` after the problems changed without an event.
    private func tag(of document: StatusDocument) -> String {
        let tag = "\(hub.position.stream).\(hub.position.sequence)"
        return document == .status && problemChanges > 0 ? "\(tag).\(problemChanges)" : tag
    }

    private func render(_ document: StatusDocument) throws -> [UInt8]? {
        let encoder = OrderedJSONEncoder()
        switch document {
        case .status: return try encoder.encode(overview)
        case .paths: return try encoder.encode(Listing("paths", state, monitors))
        case .path(let name):
            return try monitors.first { $0.monitor == name }.map { try encoder.encode(Stated(state, $0)) }
        case .interfaces: return try encoder.encode(Listing("interfaces", state, interfaces))
        case .interface(let name):
            return try interfaces.first { $0.name == name }.map { try encoder.encode(Stated(state, $0)) }
        case .gateways: return try encoder.encode(Listing("gateways", state, path.gateways.map(GatewayDocument.init)))
        case .dns: return try encoder.encode(Stated(state, DNSDocument(path.dns)))
        case .services(let type, let name, let interface):
            let filter = try ServiceFilter(type: type, name: name, interface: interface)
            return try encoder.encode(Listing("services", state, services(filter)))
        case .serviceTypes: return try encoder.encode(Listing("types", state, census?.serviceTypes ?? []))
        case .service(let type, let name):
            return try encoder.encode(Listing("services", state, try services(type: type, named: name)))
        case .serviceHistory(let type, let name, let interface):
            let filter = try ServiceFilter(type: type, name: name, interface: interface)
            return try encoder.encode(Listing("services", state, pastServices(filter)))
        case .scrapeTargets(let type, let name, let interface, let family):
            let filter = try ServiceFilter(type: type, name: name, interface: interface)
            return try encoder.encode(scrapeTargets(filter, family: family))
        case .configuration: return try encoder.encode(configuration())
        case .eventSchema: return EventSchema.bytes
        }
    }

    // MARK: - Parts

    private var state: StateDocument {
        StateDocument(
            stream: "\(hub.position.stream)",
            seq: hub.position.sequence,
            time: clock.wall,
            host: host
        )
    }

    private var path: Path { engine.core.monitors.first?.path ?? Path() }

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

    private var overview: OverviewDocument {
        OverviewDocument(
            state: state,
            daemon: daemon,
            monitors: monitors,
            interfaces: interfaces.filter { !$0.ignored },
            path: path,
            services: census.map {
                .init(count: $0.services.count, types: $0.serviceTypes.count, lastCensus: $0.lastCompleted)
            },
            problems: shownProblems
        )
    }
}

/// A list under its name, beside the state it shows.
private struct Listing<Element: Encodable>: Encodable {
    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    let name: String
    let state: StateDocument
    let elements: [Element]

    init(_ name: String, _ state: StateDocument, _ elements: [Element]) {
        self.name = name
        self.state = state
        self.elements = elements
    }

    func encode(to encoder: any Encoder) throws {
        try state.encode(to: encoder)
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(elements, forKey: Key(stringValue: name))
    }
}

/// A document beside the state it shows.
private struct Stated<Document: Encodable>: Encodable {
    let state: StateDocument
    let document: Document

    init(_ state: StateDocument, _ document: Document) {
        self.state = state
        self.document = document
    }

    func encode(to encoder: any Encoder) throws {
        try state.encode(to: encoder)
        try document.encode(to: encoder)
    }
}
