// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import EventHub
public import LinuxIO
public import OrderedJSON

/// What is known of the events after some number.
public enum EventReplay: Equatable, Sendable {
    /// The events that follow, oldest first; none when there is nothing newer.
    case events([EventRecord])
    /// The log begins later: events are lost.
    case tooOld(oldest: UInt64)
    /// Memory begins with `oldest`; the archive may have what is between.
    case archived(oldest: UInt64)
}

/// Where a reader of events begins.
public enum EventPlace: Equatable, Sendable {
    /// After this number.
    case after(UInt64)
    /// After everything that is older than this.
    case age(Duration)
}

/// Events of the past, read in one pass away from the event loop; on the loop's thread only.
public protocol EventArchive: AnyObject {
    /// Reads on, until there are `limit` events or so many bytes of them.
    ///
    /// `completion` is called on the loop, unless the archive is closed before; one call at a time.
    func read(limit: Int, bytes: Int, completion: @escaping (Result<ArchivePage, any Error>) -> Void)
    /// Ends what is under way, and lets go of the files.
    func close()
}

/// What an archive found.
public struct ArchivePage: Equatable, Sendable {
    /// The events that were wanted, oldest first.
    public var events: [EventRecord]
    /// The number of the last event that was looked at.
    public var last: UInt64
    /// Whether there was nothing newer.
    public var isAtEnd: Bool
    /// Whether the archive lacks what follows the place that was asked for.
    public var isCut: Bool
    /// The oldest number that it holds; `nil` for none.
    public var oldest: UInt64?

    public init(events: [EventRecord], last: UInt64, isAtEnd: Bool, isCut: Bool = false, oldest: UInt64? = nil) {
        self.events = events
        self.last = last
        self.isAtEnd = isAtEnd
        self.isCut = isCut
        self.oldest = oldest
    }
}

public enum StatusDocument: Hashable, Sendable {
    /// `/api/v1/status`.
    case status
    /// `/api/v1/paths`.
    case paths
    /// `/api/v1/paths/{monitor}`.
    case path(monitor: String)
    /// `/api/v1/interfaces`.
    case interfaces
    /// `/api/v1/interfaces/{name}`.
    case interface(name: String)
    /// `/api/v1/gateways`.
    case gateways
    /// `/api/v1/dns`.
    case dns
    /// `/api/v1/diagnosis`.
    case diagnosis
    /// `/api/v1/traffic`, with remote addresses or without.
    case traffic(showsAddresses: Bool)
    /// `/api/v1/traffic/history`.
    case trafficHistory
    /// `/api/v1/probes`.
    case probes
    /// `/api/v1/probes/{name}`.
    case probe(name: String)
    /// `/api/v1/services`, narrowed by what is not `nil`.
    case services(type: String?, name: String?, interface: String?)
    /// `/api/v1/services/types`.
    case serviceTypes
    /// `/api/v1/services/history`, narrowed by what is not `nil`.
    case serviceHistory(type: String?, name: String?, interface: String?)
    /// `/api/v1/services/{type}/{name}`.
    case service(type: String, name: String)
    /// `/api/v1/sd/prometheus`: services of one type, or of several with commas between them.
    case scrapeTargets(type: String, name: String?, interface: String?, family: String?)
    /// `/api/v1/config`, secrets redacted.
    case configuration
    /// `/api/v1/schema/event.json`.
    case eventSchema
    /// `/api/v1/schema/config.json`.
    case configurationSchema
}

extension StatusDocument {
    /// The scrape targets that a query asks for.
    /// - Throws: ``Problem`` with status 400 for no type, or none that can be, or another family.
    init(scrapeTargets query: QueryParameters) throws(Problem) {
        let expected = "a type such as _prometheus-http._tcp, or several with commas between them"
        guard let type = query["type"] else {
            throw Problem(.badParameter, status: 400, detail: "Parameter 'type' is missing; expected \(expected).")
        }
        guard type.split(separator: ",", omittingEmptySubsequences: false).allSatisfy(Self.isServiceType) else {
            throw query.bad("type", type, expected)
        }
        let family = query["family"]
        if let family, !["ipv4", "ipv6"].contains(family) { throw query.bad("family", family, "ipv4 or ipv6") }
        self = .scrapeTargets(type: type, name: query["name"], interface: query["interface"], family: family)
    }

    /// The traffic of a query.
    /// - Throws: ``Problem`` with status 400 for another value than `true` or `false`.
    init(traffic query: QueryParameters) throws(Problem) {
        let value = query["addresses"] ?? "false"
        guard ["true", "false"].contains(value) else { throw query.bad("addresses", value, "true or false") }
        self = .traffic(showsAddresses: value == "true")
    }

    private static func isServiceType(_ text: Substring) -> Bool {
        let labels = text.split(separator: ".", omittingEmptySubsequences: false)
        return labels.count == 2 && labels[0].count > 1 && labels[0].hasPrefix("_")
            && ["_tcp", "_udp"].contains(labels[1].lowercased())
    }
}

/// The stretch of time that a history is asked of, and of what.
public struct HistoryRequest: Equatable, Sendable {
    public enum Subject: Equatable, Sendable {
        /// The status of a monitor's path; `nil` for the default monitor.
        case path(monitor: String?)
        /// The headline.
        case headline
    }

    public var subject: Subject
    public var since: WallTime
    public var until: WallTime
    /// How long each step is, the first of which begins at `since`; `nil` for a history without steps.
    public var step: Duration?

    public init(_ subject: Subject, since: WallTime, until: WallTime, step: Duration? = nil) {
        self.subject = subject
        self.since = since
        self.until = until
        self.step = step
    }
}

public enum Readiness: Equatable, Sendable {
    case ready
    /// It cannot, or not yet; the text says why.
    case notReady(reason: String)
}

/// What becomes of the wish to run a probe or an examination at once.
public enum RunStart: Equatable, Sendable {
    /// It runs, or is about to.
    case started
    /// It ran moments ago; ask again after so long.
    case tooSoon(Duration)
}

/// What a badge says.
public struct BadgeState: Hashable, Sendable {
    public enum Level: Hashable, Sendable {
        case good, untested, worse, bad
    }

    public let word: String
    public let level: Level

    /// - Parameters:
    ///   - word: The state in one word or two, of letters and spaces only.
    ///   - level: How bad it is.
    public init(_ word: String, _ level: Level) {
        self.word = word
        self.level = level
    }
}

/// What the daemon tells the HTTP routes.
///
/// Every call is on the event loop and must not wait. An error that is not a ``Problem`` becomes a 500 whose
/// `instance` is handed to ``internalError(_:instance:)``.
public protocol StatusProviding: AnyObject {
    /// The rendered document; `nil` when there is no such monitor, interface or service, or nothing to show yet.
    /// - Throws: A ``Problem`` where more can be said, such as the nearest name or what is wrong with a pattern.
    func snapshot(of document: StatusDocument) throws -> Snapshot?
    /// Whether a monitor's path is satisfied; `nil` when there is no such monitor.
    func isSatisfied(monitor: String) throws -> Bool?
    /// What a monitor's badge says; `nil` when there is no such monitor.
    func badge(of monitor: String) throws -> BadgeState?
    /// Whether the process works.
    var health: Readiness { get }
    /// Whether the first status is known.
    var readiness: Readiness { get }
    /// What its documents look like; asked for with the description of the API.
    var forms: [Form] { get }
    /// The newest event; its number is 0 before the first.
    var position: EventPosition { get }
    /// The event by which one stream is told what happens to it; it has the number of the newest event.
    func notice(_ body: some EventBody) -> EventRecord
    /// Up to `limit` events after a number, as far as memory has them; the newest is there before it is broadcast.
    func events(after sequence: UInt64, limit: Int) throws -> EventReplay
    /// The number of the newest event that is older than `age`, 0 when there is none; `nil` where the archive must be
    /// asked.
    func sequence(olderThan age: Duration) throws -> UInt64?
    /// Opens the archive at a place, for events with names that are wanted.
    /// - Throws: A ``Problem`` with status 503 when there are too many readers already.
    func archive(
        from place: EventPlace,
        where isWanted: @escaping @Sendable (String) -> Bool
    ) throws -> any EventArchive
    /// Outages and availability of a stretch of time, a JSON object.
    func history(_ request: HistoryRequest) throws -> [UInt8]
    /// The least step in which what came of a probe is kept since a moment; all steps are multiples of it.
    func leastProbeStep(since: WallTime) -> Duration
    /// What came of a probe, a JSON object; `nil` when there is no such probe.
    func probeHistory(_ name: String, since: WallTime, until: WallTime, step: Duration) throws -> [UInt8]?
    /// Reads the configuration again; the answer is a JSON object.
    /// - Throws: A ``Problem`` of kind `configInvalid` when the new one is not valid.
    func reload() throws -> [UInt8]
    /// Runs an active probe at once; `nil` when there is no such probe.
    func startProbe(_ name: String) throws -> RunStart?
    /// Examines the network at once.
    func startDiagnosis() throws -> RunStart
    /// Takes an error that was answered with a 500, for the journal.
    func internalError(_ error: any Error, instance: String)
}
