// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
public import LinuxIO
public import OrderedJSON
public import Traffic

/// Converts times of readings, whose clock stands still while the machine is suspended, into those of the calendar.
public struct TrafficCalendar: Sendable {
    private let now: WallTime
    private let awake: Duration

    public init(_ clock: some TimeSource) {
        now = clock.wall
        awake = clock.awake
    }

    func text(_ time: Duration) -> String { "\(now + (time - awake))" }
}

/// What connections show: of all, of a path, or of a destination.
struct TrafficFiguresDocument: JSONObjectWritable, Equatable, Sendable {
    let figures: TrafficReport.Figures

    func write(to object: inout JSONObjectWriter) {
        object.write("connections", figures.connections)
        object.write("unanswered", figures.unanswered)
        object.write("last_answer_seconds", figures.lastAnswer.map(Self.milliseconds))
        object.write("rtt_seconds", figures.roundTrips.map(RoundTripDocument.init))
        object.write("retransmit_ratio", figures.loss.map(Self.ratio))
    }

    static func ratio(_ value: Double) -> Double { (value * 1e5).rounded() / 1e5 }
    static func milliseconds(_ duration: Duration) -> Double { (duration.seconds * 1000).rounded() / 1000 }
}

struct RoundTripDocument: JSONObjectWritable, Equatable, Sendable {
    let quantiles: RoundTripQuantiles

    func write(to object: inout JSONObjectWriter) {
        object.write("p50", Microseconds.round(quantiles.p50))
        object.write("p90", Microseconds.round(quantiles.p90))
        object.write("p99", Microseconds.round(quantiles.p99))
    }
}

/// `/api/v1/traffic`: how well the packets of this machine's own TCP connections get through.
public struct TrafficDocument: JSONObjectWritable, Sendable {
    /// When connections were read, and how far apart readings are.
    public struct Sampling: Hashable, Sendable {
        public var isEnabled: Bool
        /// The last reading, on the clock of the readings; `nil` before the first.
        public var sampled: Duration?
        public var interval: Duration
        public var isLimited: Bool
        /// Why connections cannot be read.
        public var problem: String?

        public init(isEnabled: Bool, sampled: Duration?, interval: Duration, isLimited: Bool, problem: String? = nil) {
            self.isEnabled = isEnabled
            self.sampled = sampled
            self.interval = interval
            self.isLimited = isLimited
            self.problem = problem
        }
    }

    private let report: TrafficReport
    private let sampling: Sampling
    private let calendar: TrafficCalendar
    private let showsAddresses: Bool

    public init(_ report: TrafficReport, _ sampling: Sampling, _ calendar: TrafficCalendar, showsAddresses: Bool) {
        self.report = report
        self.sampling = sampling
        self.calendar = calendar
        self.showsAddresses = showsAddresses
    }

    public func write(to object: inout JSONObjectWriter) {
        object.write("enabled", sampling.isEnabled)
        object.write("problem", sampling.problem)
        object.write("state", report.total.state.rawValue)
        TrafficFiguresDocument(figures: report.total).write(to: &object)
        object.write("sampled", sampling.sampled.map(calendar.text))
        object.write("interval_seconds", sampling.interval.seconds)
        object.write("limited", sampling.isLimited)
        object.write(
            "paths",
            report.paths.map { TrafficPathDocument(path: $0, calendar: calendar, showsAddresses: showsAddresses) }
        )
    }
}

struct TrafficPathDocument: JSONObjectWritable, Sendable {
    let path: TrafficReport.Path
    let calendar: TrafficCalendar
    let showsAddresses: Bool

    func write(to object: inout JSONObjectWriter) {
        object.write("interface", InterfaceReference(named: path.path.interface))
        object.write("gateway", path.path.gateway.map { "\($0)" })
        object.write("family", path.path.family.rawValue)
        object.write("range", path.path.range.rawValue)
        object.write("state", path.figures.state.rawValue)
        object.write("since", calendar.text(path.since))
        TrafficFiguresDocument(figures: path.figures).write(to: &object)
        object.write("destinations", path.groups.count)
        object.write("groups", path.groups.map { TrafficGroupDocument(group: $0, showsAddresses: showsAddresses) })
    }
}

struct TrafficGroupDocument: JSONObjectWritable, Sendable {
    let group: TrafficReport.Group
    let showsAddresses: Bool

    func write(to object: inout JSONObjectWriter) {
        object.write("destination", group.destination.description)
        object.write("state", group.figures.state.rawValue)
        TrafficFiguresDocument(figures: group.figures).write(to: &object)
        if showsAddresses { object.write("addresses", group.addresses.map(\.description)) }
    }
}

/// `/api/v1/traffic/history`: the last hour.
public struct TrafficHistoryDocument: JSONObjectWritable, Sendable {
    private let history: TrafficHistory
    private let calendar: TrafficCalendar

    public init(_ history: TrafficHistory, _ calendar: TrafficCalendar) {
        self.history = history
        self.calendar = calendar
    }

    public func write(to object: inout JSONObjectWriter) {
        object.write("step_seconds", Int(TrafficHistory.step.components.seconds))
        object.write("steps", history.steps.map { Step(step: $0, calendar: calendar) })
    }

    struct Step: JSONObjectWritable, Sendable {
        let step: TrafficHistory.Step
        let calendar: TrafficCalendar

        func write(to object: inout JSONObjectWriter) {
            object.write("start", calendar.text(TrafficHistory.step * Int(step.number)))
            object.write("rtt_seconds", step.roundTrip.map(Microseconds.round))
            object.write("retransmit_ratio", step.loss.map(TrafficFiguresDocument.ratio))
            object.write("stalled", step.isStalled)
            object.write("connections", step.connections)
        }
    }
}

/// What an event says of a path or a destination that stalls, loses segments, or is answered again.
public struct TrafficFindingDocument: JSONObjectWritable, Equatable, Sendable {
    public let finding: TrafficFinding

    public init(_ finding: TrafficFinding) { self.finding = finding }

    public func write(to object: inout JSONObjectWriter) {
        object.write("scope", finding.destination == nil ? "path" : "destination")
        object.write("interface", InterfaceReference(named: finding.path.interface))
        object.write("gateway", finding.path.gateway.map { "\($0)" })
        object.write("family", finding.path.family.rawValue)
        object.write("range", finding.path.range.rawValue)
        object.write("destination", finding.destination?.description)
        object.write("connections", finding.connections)
        object.write("unanswered", finding.unanswered)
        object.write("last_answer_seconds", finding.lastAnswer.map(TrafficFiguresDocument.milliseconds))
        object.write("retransmit_ratio", finding.loss.map(TrafficFiguresDocument.ratio))
    }
}

// MARK: - Forms

extension TrafficDocument {
    public static var form: Form {
        StateDocument.form("Traffic", "How well packets of this machine's own TCP connections get through.")
            .member("enabled", .truth, "The setting `traffic.enabled`.")
            .member("problem", .text.orNull, "Why connections cannot be read; then the state is `unknown`.")
            .member("state", .oneOf(TrafficState.self), "The worst of all paths.")
            .trafficFigures
            .member("sampled", .time.orNull, "When connections were last read; `null` where they were not.")
            .member("interval_seconds", .seconds, "How far apart readings are while nothing is lost.")
            .member("limited", .truth, "Whether there are so many connections that they are read less often.")
            .member("paths", .list(of: TrafficPathDocument.form))
    }
}

extension TrafficPathDocument {
    static var form: Form {
        .named("TrafficPath", "The connections that leave by one interface and gateway.")
            .trafficPath
            .member("state", .oneOf(TrafficState.self))
            .member("since", .time, "Since when the state stands.")
            .trafficFigures
            .member("destinations", .count)
            .member("groups", .list(of: TrafficGroupDocument.form), "By destination: /24 of IPv4, /48 of IPv6.")
    }
}

extension TrafficGroupDocument {
    static var form: Form {
        .named("TrafficGroup", "The connections to one destination.")
            .member("destination", .text, "A prefix.")
            .member("state", .oneOf(TrafficState.self))
            .trafficFigures
            .optional("addresses", .list(of: .text), "Remote addresses, at most 64; with `addresses=true` only.")
    }
}

extension TrafficHistoryDocument {
    public static var form: Form {
        StateDocument.form("TrafficHistory", "The traffic of the last hour.")
            .member("step_seconds", .integer(from: 1))
            .member("steps", .list(of: Step.form), "Steps in which connections were read, oldest first.")
    }
}

extension TrafficHistoryDocument.Step {
    static var form: Form {
        .object("A step.")
            .member("start", .time)
            .member("rtt_seconds", .seconds.orNull, "The median round trip.")
            .member("retransmit_ratio", .amount.orNull)
            .member("stalled", .truth, "Whether a path was stalled at some time of the step.")
            .member("connections", .count)
    }
}

extension TrafficFindingDocument {
    public static var form: Form {
        .named("TrafficFinding", "A path or a destination.")
            .member("scope", .words("path", "destination"), "Whether everything beyond the path is concerned.")
            .trafficPath
            .member("destination", .text.orNull, "A prefix; `null` of a path.")
            .member("connections", .count, "Those outside loopback.")
            .member("unanswered", .count, "Those whose retransmission timeout has passed without an answer.")
            .member("last_answer_seconds", .seconds.orNull, "How long ago the last answer came.")
            .member("retransmit_ratio", .amount.orNull, "The share of data segments sent again in the last 20 s.")
    }
}

extension Form {
    fileprivate var trafficPath: Form {
        member("interface", InterfaceReference.form)
            .member("gateway", .text.orNull, "`null` on the interface's own network.")
            .member("family", .family)
            .member("range", .oneOf(TrafficPath.Range.self), "Whether destinations have public or private addresses.")
    }

    fileprivate var trafficFigures: Form {
        member("connections", .count, "Those outside loopback.")
            .member("unanswered", .count, "Those whose retransmission timeout has passed without an answer.")
            .member("last_answer_seconds", .seconds.orNull, "How long ago the last answer came.")
            .member("rtt_seconds", Form.roundTrips.orNull, "Of connections answered in the last 30 s.")
            .member("retransmit_ratio", .amount.orNull, "The share of data segments sent again in the last 20 s.")
    }

    private static var roundTrips: Form {
        .named("RoundTrips", "Quantiles of round trips.")
            .member("p50", .seconds).member("p90", .seconds).member("p99", .seconds)
    }
}
