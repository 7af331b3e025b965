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
struct TrafficFiguresDocument: MemberDeclaring, Equatable, Sendable {
    let figures: TrafficReport.Figures

    static let members = Members<Self>.object()
        .member("connections", "Those outside loopback.") { $0.figures.connections }
        .member("unanswered", "Those whose retransmission timeout has passed without an answer.") {
            $0.figures.unanswered
        }
        .member("last_answer_seconds", as: .seconds, "How long ago the last answer came.") {
            $0.figures.lastAnswer.map(milliseconds)
        }
        .member("rtt_seconds", "Of connections answered in the last 30 s.") {
            $0.figures.roundTrips.map(RoundTripDocument.init)
        }
        .member("retransmit_ratio", as: .amount, "The share of data segments sent again in the last 20 s.") {
            $0.figures.loss.map(ratio)
        }

    static func ratio(_ value: Double) -> Double { (value * 1e5).rounded() / 1e5 }
    static func milliseconds(_ duration: Duration) -> Double { (duration.seconds * 1000).rounded() / 1000 }
}

struct RoundTripDocument: MemberDeclaring, Equatable, Sendable {
    let quantiles: RoundTripQuantiles

    static let members = Members<Self>.named("RoundTrips", "Quantiles of round trips.")
        .member("p50", as: .seconds) { Microseconds.round($0.quantiles.p50) }
        .member("p90", as: .seconds) { Microseconds.round($0.quantiles.p90) }
        .member("p99", as: .seconds) { Microseconds.round($0.quantiles.p99) }
}

/// `/api/v1/traffic`: how well the packets of this machine's own TCP connections get through.
public struct TrafficDocument: MemberDeclaring, Sendable {
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

    public static let members = Members<Self>(
        StateDocument.form("Traffic", "How well packets of this machine's own TCP connections get through.")
    )
    .member("enabled", "The setting `traffic.enabled`.") { $0.sampling.isEnabled }
    .member("problem", "Why connections cannot be read; then the state is `unknown`.") { $0.sampling.problem }
    .member("state", as: .oneOf(TrafficState.self), "The worst of all paths.") { $0.report.total.state.rawValue }
    .members { TrafficFiguresDocument(figures: $0.report.total) }
    .member("sampled", as: .time, "When connections were last read; `null` where they were not.") {
        $0.sampling.sampled.map($0.calendar.text)
    }
    .member("interval_seconds", as: .seconds, "How far apart readings are while nothing is lost.") {
        $0.sampling.interval.seconds
    }
    .member("limited", "Whether there are so many connections that they are read less often.") {
        $0.sampling.isLimited
    }
    .member("paths") { document in
        document.report.paths.map {
            TrafficPathDocument(path: $0, calendar: document.calendar, showsAddresses: document.showsAddresses)
        }
    }
}

struct TrafficPathDocument: MemberDeclaring, Sendable {
    let path: TrafficReport.Path
    let calendar: TrafficCalendar
    let showsAddresses: Bool

    static let members = Members<Self>
        .named("TrafficPath", "The connections that leave by one interface and gateway.")
        .trafficPath { $0.path.path }
        .member("state", as: .oneOf(TrafficState.self)) { $0.path.figures.state.rawValue }
        .member("since", as: .time, "Since when the state stands.") { $0.calendar.text($0.path.since) }
        .members { TrafficFiguresDocument(figures: $0.path.figures) }
        .member("destinations") { $0.path.groups.count }
        .member("groups", "By destination: /24 of IPv4, /48 of IPv6.") { document in
            document.path.groups.map { TrafficGroupDocument(group: $0, showsAddresses: document.showsAddresses) }
        }
}

struct TrafficGroupDocument: MemberDeclaring, Sendable {
    let group: TrafficReport.Group
    let showsAddresses: Bool

    static let members = Members<Self>.named("TrafficGroup", "The connections to one destination.")
        .member("destination", "A prefix.") { $0.group.destination.description }
        .member("state", as: .oneOf(TrafficState.self)) { $0.group.figures.state.rawValue }
        .members { TrafficFiguresDocument(figures: $0.group.figures) }
        .optional("addresses", "Remote addresses, at most 64; with `addresses=true` only.") {
            $0.showsAddresses ? $0.group.addresses.map(\.description) : nil
        }
}

/// `/api/v1/traffic/history`: the last hour.
public struct TrafficHistoryDocument: MemberDeclaring, Sendable {
    private let history: TrafficHistory
    private let calendar: TrafficCalendar

    public init(_ history: TrafficHistory, _ calendar: TrafficCalendar) {
        self.history = history
        self.calendar = calendar
    }

    public static let members = Members<Self>(StateDocument.form("TrafficHistory", "The traffic of the last hour."))
        .member("step_seconds", as: .integer(from: 1)) { _ in Int(TrafficHistory.step.components.seconds) }
        .member("steps", "Steps in which connections were read, oldest first.") { document in
            document.history.steps.map { Step(step: $0, calendar: document.calendar) }
        }

    struct Step: MemberDeclaring, Sendable {
        let step: TrafficHistory.Step
        let calendar: TrafficCalendar

        static let members = Members<Self>.object("A step.")
            .member("start", as: .time) { $0.calendar.text(TrafficHistory.step * Int($0.step.number)) }
            .member("rtt_seconds", as: .seconds, "The median round trip.") { $0.step.roundTrip.map(Microseconds.round) }
            .member("retransmit_ratio", as: .amount) { $0.step.loss.map(TrafficFiguresDocument.ratio) }
            .member("stalled", "Whether a path was stalled at some time of the step.") { $0.step.isStalled }
            .member("connections") { $0.step.connections }
    }
}

/// What an event says of a path or a destination that stalls, loses segments, or is answered again.
public struct TrafficFindingDocument: MemberDeclaring, Equatable, Sendable {
    public let finding: TrafficFinding

    public init(_ finding: TrafficFinding) { self.finding = finding }

    public static let members = Members<Self>.named("TrafficFinding", "A path or a destination.")
        .member("scope", as: .words("path", "destination"), "Whether everything beyond the path is concerned.") {
            $0.finding.destination == nil ? "path" : "destination"
        }
        .trafficPath { $0.finding.path }
        .member("destination", "A prefix; `null` of a path.") { $0.finding.destination?.description }
        .member("connections", "Those outside loopback.") { $0.finding.connections }
        .member("unanswered", "Those whose retransmission timeout has passed without an answer.") {
            $0.finding.unanswered
        }
        .member("last_answer_seconds", as: .seconds, "How long ago the last answer came.") {
            $0.finding.lastAnswer.map(TrafficFiguresDocument.milliseconds)
        }
        .member("retransmit_ratio", as: .amount, "The share of data segments sent again in the last 20 s.") {
            $0.finding.loss.map(TrafficFiguresDocument.ratio)
        }
}

extension Members {
    fileprivate func trafficPath(_ path: @escaping @Sendable (Root) -> TrafficPath) -> Members {
        member("interface") { InterfaceReference(named: path($0).interface) }
            .member("gateway", "`null` on the interface's own network.") { path($0).gateway.map { "\($0)" } }
            .member("family", as: .family) { path($0).family.rawValue }
            .member(
                "range",
                as: .oneOf(TrafficPath.Range.self),
                "Whether destinations have public or private addresses."
            ) { path($0).range.rawValue }
    }
}
