// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Diagnosis
public import LinuxIO
public import OrderedJSON
public import PathModel

/// `/api/v1/paths/{monitor}`: the path of one monitor, and since when it is what it is.
public struct MonitorDocument: MemberDeclaring, Equatable, Sendable {
    public var monitor: String
    public var path: PathDocument
    public var since: String?
    public var message: String

    public static let members = Members<Self>.named("Monitor", "A monitor and its path.")
        .member("monitor") { $0.monitor }
        .member("path") { $0.path }
        .served("since", as: .time, "Since when the status stands.") { $0.since }
        .member("message", "One sentence for people.") { $0.message }

    /// Shows a monitor.
    ///
    /// - Parameters:
    ///   - monitor: Its name.
    ///   - path: Its path.
    ///   - statusSince: Since when its status stands, as time since boot; `nil` where nobody watched.
    ///   - clock: Turns moments since boot into moments of the calendar.
    public init(monitor: String, path: Path, statusSince: Duration?, clock: some TimeSource) {
        self.monitor = monitor
        self.path = PathDocument(path)
        since = statusSince.map { "\(clock.calendar(at: $0))" }
        message = PathSentence.state(of: path, monitor: monitor)
    }
}

/// The state that every answer names: which event it is as new as.
public struct StateDocument: MemberDeclaring, Equatable, Sendable {
    /// What the document is, such as `nwpath.status/1`.
    public var schema: String
    public var stream: String?
    public var seq: UInt64?
    public var time: String
    public var host: String

    public static let members = Members<Self>.object()
        .member("schema") { $0.schema }
        .served("stream", as: .stream, "The log that `seq` counts in.") { $0.stream }
        .served("seq", "The last event that is in the document.") { $0.seq }
        .member("time", as: .time, "When the document was rendered.") { $0.time }
        .member("host") { $0.host }

    public init(_ kind: String, stream: String? = nil, seq: UInt64? = nil, time: WallTime, host: String) {
        schema = DocumentSchema.name(of: kind)
        self.stream = stream
        self.seq = seq
        self.time = time.description
        self.host = host
    }
}

/// `/api/v1/status`: everything in one look.
public struct OverviewDocument: MemberDeclaring, Sendable {
    public struct Daemon: MemberDeclaring, Equatable, Sendable {
        public var version: String
        public var pid: Int32
        public var started: String

        public static let members = Members<Self>.object("The service itself.")
            .member("version") { $0.version }
            .member("pid") { Int($0.pid) }
            .member("started", as: .time, "When it started.") { $0.started }

        public init(version: String, pid: Int32, started: WallTime) {
            self.version = version
            self.pid = pid
            self.started = started.description
        }
    }

    public struct Services: MemberDeclaring, Equatable, Sendable {
        public var count: Int
        public var types: Int
        public var lastCensus: String?

        public static let members = Members<Self>.object("The census.")
            .member("count", "How many services are resolved.") { $0.count }
            .member("types") { $0.types }
            .member("last_census", as: .time, "When the last census was completed; `null` before the first.") {
                $0.lastCensus
            }

        public init(count: Int, types: Int, lastCensus: WallTime?) {
            self.count = count
            self.types = types
            self.lastCensus = lastCensus?.description
        }
    }

    var state: StateDocument
    var daemon: Daemon?
    var headline: HeadlineDocument
    var chain: [ChainElementDocument]
    var chains: [FamilyChainDocument]
    var path: PathDocument
    var since: String?
    var message: String
    var monitors: [MonitorDocument]
    var interfaces: [InterfaceDocument]
    var gateways: [GatewayDocument]
    var dns: DNSDocument
    var services: Services?
    var problems: [ProblemDocument]

    public static let members = Members<Self>(overview) { $0.state }
        .served("daemon") { $0.daemon }
        .member("headline") { $0.headline }
        .member("chain", "The path, from this machine to the name server.") { $0.chain }
        .member(
            "chains",
            "The same for IPv4 and IPv6, where something is wrong with one of them only; else empty."
        ) { $0.chains }
        .member("path") { $0.path }
        .served("since", as: .time) { $0.since }
        .member("message", "One sentence for people.") { $0.message }
        .member("monitors") { $0.monitors }
        .member("interfaces") { $0.interfaces }
        .member("gateways") { $0.gateways }
        .member("dns") { $0.dns }
        .optional("services") { $0.services }
        .member("problems") { $0.problems }

    private static var overview: Form { StateDocument.form("Status", "The overview.", isFoundDirectly: true) }

    /// Collects everything; the first monitor is `default`.
    ///
    /// - Parameters:
    ///   - state: What the document is as new as.
    ///   - daemon: Who says so; `nil` without the service.
    ///   - headline: The way out as a whole.
    ///   - headlineSince: Since when its state stands; `nil` where nobody watched.
    ///   - monitors: All monitors.
    ///   - interfaces: All interfaces that are not ignored.
    ///   - path: The default path.
    ///   - services: The census; `nil` without one.
    ///   - problems: What is wrong with the daemon's own parts.
    public init(
        state: StateDocument,
        daemon: Daemon?,
        headline: Headline,
        headlineSince: WallTime?,
        monitors: [MonitorDocument],
        interfaces: [InterfaceDocument],
        path: Path,
        services: Services?,
        problems: [ProblemDocument]
    ) {
        self.state = state
        self.daemon = daemon
        self.headline = HeadlineDocument(headline, since: headlineSince)
        chain = headline.chain.map(ChainElementDocument.init)
        chains = headline.familyChains.map(FamilyChainDocument.init)
        self.path = PathDocument(path)
        since = monitors.first.map(\.since) ?? state.time
        message = monitors.first?.message ?? ""
        self.monitors = monitors
        self.interfaces = interfaces
        gateways = path.gateways.map(GatewayDocument.init)
        dns = DNSDocument(path.dns)
        self.services = services
        self.problems = problems
    }
}

/// Something that is wrong with a part of the daemon while the path is still right.
public struct ProblemDocument: MemberDeclaring, Equatable, Sendable {
    public var part: String
    public var message: String

    public static let members = Members<Self>.object("What is wrong with a part of the service.")
        .member("part", "The part, such as `log` or `networkmanager`.") { $0.part }
        .member("message") { $0.message }

    public init(part: String, message: String) {
        self.part = part
        self.message = message
    }
}

/// What a document says of itself in its first member.
public enum DocumentSchema {
    /// Such as `nwpath.status/1`: additive changes keep it.
    public static func name(of kind: String) -> String { "nwpath.\(kind)/1" }
}

// MARK: - Forms

extension Form {
    /// A document whose first member says what it is, after its name.
    public static func document(_ name: String, _ sentence: String) -> Form {
        named(name, sentence).member("schema", .constant(DocumentSchema.name(of: name.lowercased())))
    }
}

extension StateDocument {
    /// A document that names the event it is as new as, and has other members after that.
    ///
    /// - Parameters:
    ///   - name: The name of its schema.
    ///   - sentence: What it is.
    ///   - isFoundDirectly: Whether commands find it out without the service as well; it names no event then.
    /// - Returns: The form with its first members.
    public static func form(_ name: String, _ sentence: String, isFoundDirectly: Bool = false) -> Form {
        members.form.members.dropFirst().reduce(.document(name, sentence)) { form, member in
            let isServed = member.presence == .served && isFoundDirectly
            return (isServed ? form.served : form.member)(member.key, member.form, member.sentence)
        }
    }
}
