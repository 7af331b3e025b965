// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Judgement
public import LinuxIO
public import OrderedJSON
public import PathModel

/// `/api/v1/paths/{monitor}`: the path of one monitor, and since when it is what it is.
public struct MonitorDocument: Encodable, Equatable, Sendable {
    public var monitor: String
    public var path: PathDocument
    /// Since when the status stands, RFC 3339.
    public var since: String
    /// The status in one sentence.
    public var message: String
    /// Deprecated: ``message``.
    public var sentence: String

    /// Shows a monitor.
    ///
    /// - Parameters:
    ///   - monitor: Its name.
    ///   - path: Its path.
    ///   - statusSince: Since when its status stands, as time since boot.
    ///   - clock: Turns moments since boot into moments of the calendar.
    public init(monitor: String, path: Path, statusSince: Duration, clock: some TimeSource) {
        self.monitor = monitor
        self.path = PathDocument(path)
        since = "\(clock.calendar(at: statusSince))"
        message = PathSentence.state(of: path, monitor: monitor)
        sentence = message
    }
}

/// The state that every answer names: which event it is as new as.
public struct StateDocument: Encodable, Equatable, Sendable {
    /// What the document is, such as `nwpath.status/1`.
    public var schema: String
    public var stream: String
    /// The number of the last event.
    public var seq: UInt64
    /// When the document was rendered, RFC 3339.
    public var time: String
    public var host: String

    public init(_ kind: String, stream: String, seq: UInt64, time: WallTime, host: String) {
        schema = DocumentSchema.name(of: kind)
        self.stream = stream
        self.seq = seq
        self.time = time.description
        self.host = host
    }
}

/// `/api/v1/status`: everything in one look.
public struct OverviewDocument: Encodable, Sendable {
    public struct Daemon: Encodable, Equatable, Sendable {
        public var version: String
        public var pid: Int32
        /// When it started, RFC 3339.
        public var started: String

        public init(version: String, pid: Int32, started: WallTime) {
            self.version = version
            self.pid = pid
            self.started = started.description
        }
    }

    public struct Services: Encodable, Equatable, Sendable {
        /// How many services are resolved.
        public var count: Int
        public var types: Int
        /// When the last census was completed; `null` before the first.
        @Nullable public var lastCensus: String?

        enum CodingKeys: String, CodingKey {
            case count
            case types
            case lastCensus = "last_census"
        }

        public init(count: Int, types: Int, lastCensus: WallTime?) {
            self.count = count
            self.types = types
            self.lastCensus = lastCensus?.description
        }
    }

    var state: StateDocument
    var daemon: Daemon
    var headline: HeadlineDocument
    var chain: [ChainElementDocument]
    var chains: [FamilyChainDocument]
    var path: PathDocument
    var since: String
    var message: String
    var sentence: String
    var monitors: [MonitorDocument]
    var interfaces: [InterfaceDocument]
    var gateways: [GatewayDocument]
    var dns: DNSDocument
    var services: Services?
    var problems: [ProblemDocument]

    enum CodingKeys: String, CodingKey {
        case daemon
        case headline
        case chain
        case chains
        case path
        case since
        case message
        case sentence
        case monitors
        case interfaces
        case gateways
        case dns
        case services
        case problems
    }

    /// Collects everything; the first monitor is `default`.
    ///
    /// - Parameters:
    ///   - state: What the document is as new as.
    ///   - daemon: Who says so.
    ///   - headline: The way out as a whole.
    ///   - headlineSince: Since when its state stands.
    ///   - monitors: All monitors.
    ///   - interfaces: All interfaces that are not ignored.
    ///   - path: The default path.
    ///   - services: The census; `nil` without one.
    ///   - problems: What is wrong with the daemon's own parts.
    public init(
        state: StateDocument,
        daemon: Daemon,
        headline: Headline,
        headlineSince: WallTime,
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
        since = monitors.first?.since ?? state.time
        message = monitors.first?.message ?? ""
        sentence = message
        self.monitors = monitors
        self.interfaces = interfaces
        gateways = path.gateways.map(GatewayDocument.init)
        dns = DNSDocument(path.dns)
        self.services = services
        self.problems = problems
    }

    /// Writes the state's members beside the others.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try state.encode(to: encoder)
        try container.encode(daemon, forKey: .daemon)
        try container.encode(headline, forKey: .headline)
        try container.encode(chain, forKey: .chain)
        try container.encode(chains, forKey: .chains)
        try container.encode(path, forKey: .path)
        try container.encode(since, forKey: .since)
        try container.encode(message, forKey: .message)
        try container.encode(sentence, forKey: .sentence)
        try container.encode(monitors, forKey: .monitors)
        try container.encode(interfaces, forKey: .interfaces)
        try container.encode(gateways, forKey: .gateways)
        try container.encode(dns, forKey: .dns)
        try container.encodeIfPresent(services, forKey: .services)
        try container.encode(problems, forKey: .problems)
    }
}

/// Something that is wrong with a part of the daemon while the path is still right.
public struct ProblemDocument: Encodable, Equatable, Sendable {
    /// The part, such as `log` or `networkmanager`.
    public var part: String
    public var message: String

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
