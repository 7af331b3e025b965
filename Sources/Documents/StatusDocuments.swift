// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Judgement
public import LinuxIO
public import OrderedJSON
public import PathModel

/// `/api/v1/paths/{monitor}`: the path of one monitor, and since when it is what it is.
public struct MonitorDocument: JSONObjectWritable, Equatable, Sendable {
    public var monitor: String
    public var path: PathDocument
    public var since: String?
    public var message: String

    public func write(to object: inout JSONObjectWriter) {
        object.write("monitor", monitor)
        object.write("path", path)
        object.writeIfPresent("since", since)
        object.write("message", message)
    }

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
public struct StateDocument: JSONObjectWritable, Equatable, Sendable {
    /// What the document is, such as `nwpath.status/1`.
    public var schema: String
    public var stream: String?
    /// The number of the last event.
    public var seq: UInt64?
    public var time: String
    public var host: String

    public func write(to object: inout JSONObjectWriter) {
        object.write("schema", schema)
        object.writeIfPresent("stream", stream)
        object.writeIfPresent("seq", seq)
        object.write("time", time)
        object.write("host", host)
    }

    public init(_ kind: String, stream: String? = nil, seq: UInt64? = nil, time: WallTime, host: String) {
        schema = DocumentSchema.name(of: kind)
        self.stream = stream
        self.seq = seq
        self.time = time.description
        self.host = host
    }
}

/// `/api/v1/status`: everything in one look.
public struct OverviewDocument: JSONObjectWritable, Sendable {
    public struct Daemon: JSONObjectWritable, Equatable, Sendable {
        public var version: String
        public var pid: Int32
        public var started: String

        public func write(to object: inout JSONObjectWriter) {
            object.write("version", version)
            object.write("pid", Int(pid))
            object.write("started", started)
        }

        public init(version: String, pid: Int32, started: WallTime) {
            self.version = version
            self.pid = pid
            self.started = started.description
        }
    }

    public struct Services: JSONObjectWritable, Equatable, Sendable {
        public var count: Int
        public var types: Int
        public var lastCensus: String?

        public func write(to object: inout JSONObjectWriter) {
            object.write("count", count)
            object.write("types", types)
            object.write("last_census", lastCensus)
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

    /// Writes the state's members beside the others.
    public func write(to object: inout JSONObjectWriter) {
        state.write(to: &object)
        object.writeIfPresent("daemon", daemon)
        object.write("headline", headline)
        object.write("chain", chain)
        object.write("chains", chains)
        object.write("path", path)
        object.writeIfPresent("since", since)
        object.write("message", message)
        object.write("monitors", monitors)
        object.write("interfaces", interfaces)
        object.write("gateways", gateways)
        object.write("dns", dns)
        object.writeIfPresent("services", services)
        object.write("problems", problems)
    }
}

/// Something that is wrong with a part of the daemon while the path is still right.
public struct ProblemDocument: JSONObjectWritable, Equatable, Sendable {
    public var part: String
    public var message: String

    public func write(to object: inout JSONObjectWriter) {
        object.write("part", part)
        object.write("message", message)
    }

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
        let member = isFoundDirectly ? Form.served : Form.member
        let form = member(.document(name, sentence))("stream", .stream, "The log that `seq` counts in.")
        return member(form)("seq", .count, "The last event that is in the document.")
            .member("time", .time, "When the document was rendered.")
            .member("host", .text)
    }
}

extension MonitorDocument {
    public static var form: Form {
        .named("Monitor", "A monitor and its path.")
            .member("monitor", .text)
            .member("path", PathDocument.form)
            .served("since", .time, "Since when the status stands.")
            .member("message", .text, "One sentence for people.")
    }
}

extension OverviewDocument {
    public static var form: Form {
        StateDocument.form("Status", "The overview.", isFoundDirectly: true)
            .served("daemon", Daemon.form)
            .member("headline", HeadlineDocument.form)
            .member("chain", .list(of: ChainElementDocument.form), "The path, from this machine to the name server.")
            .member(
                "chains",
                .list(of: FamilyChainDocument.form),
                "The same for IPv4 and IPv6, where something is wrong with one of them only; else empty."
            )
            .member("path", PathDocument.form)
            .served("since", .time)
            .member("message", .text, "One sentence for people.")
            .member("monitors", .list(of: MonitorDocument.form))
            .member("interfaces", .list(of: InterfaceDocument.form))
            .member("gateways", .list(of: GatewayDocument.form))
            .member("dns", DNSDocument.form)
            .optional("services", Services.form)
            .member("problems", .list(of: ProblemDocument.form))
    }
}

extension OverviewDocument.Daemon {
    static var form: Form {
        .object("The service itself.")
            .member("version", .text)
            .member("pid", .count)
            .member("started", .time, "When it started.")
    }
}

extension OverviewDocument.Services {
    static var form: Form {
        .object("The census.")
            .member("count", .count, "How many services are resolved.")
            .member("types", .count)
            .member("last_census", .time.orNull, "When the last census was completed; `null` before the first.")
    }
}

extension ProblemDocument {
    static var form: Form {
        .object("What is wrong with a part of the service.")
            .member("part", .text, "The part, such as `log` or `networkmanager`.")
            .member("message", .text)
    }
}
