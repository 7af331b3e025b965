// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Documents
public import LinuxIO
public import OrderedJSON

/// Outages and availability, worked out from the records of the event log.
///
/// Pure: records in, in order; a document out. Time that no daemon watched is unknown, not down, and durations are those
/// of the boot clock: see ``OutageCalendar``.
public struct OutageHistory: Sendable {
    /// Whose outages they are.
    public enum State: String, CaseIterable, Sendable {
        /// The status of a monitor's path.
        case path
        /// The headline, which is judged of the default monitor: the path, or what was asked, says that something is
        /// down.
        case headline
    }

    /// One stretch of time in which a path was not satisfied, or the headline bad.
    public struct Outage: MemberDeclaring, Equatable, Sendable {
        public var start: String
        public var end: String?
        public var durationSeconds: Double
        public var reason: String
        public var message: String

        public static let members = Members<Self>.object("An outage.")
            .member("start", as: .time, "When it began.") { $0.start }
            .member("end", as: .time, "When it ended; `null` while it is ongoing.") { $0.end }
            .member("duration_seconds", as: .seconds, "For how long it lasted so far.") { $0.durationSeconds }
            .member("reason", "Such as `no_carrier`; of a headline its last state, such as `no_internet`.") {
                $0.reason
            }
            .member("message") { $0.message }
    }

    /// One stretch of time in which nobody knew the status.
    public struct Unknown: MemberDeclaring, Equatable, Sendable {
        public var start: String
        public var end: String

        public static let members = Members<Self>
            .object("A time without records: the service did not run, or the machine was suspended.")
            .member("start", as: .time, "When it began.") { $0.start }
            .member("end", as: .time, "When it ended.") { $0.end }
    }

    /// A part of the time looked at.
    public struct Step: MemberDeclaring, Equatable, Sendable {
        public var start: String
        /// For how long the daemon knew the status.
        public var knownSeconds: Double
        public var downSeconds: Double

        public static let members = Members<Self>.object()
            .member("start", as: .time, "When it begins; it ends with the next one.") { $0.start }
            .member("known_seconds", as: .seconds, "For how long of it the service recorded.") { $0.knownSeconds }
            .member("down_seconds", as: .seconds, "For how long of that it was an outage.") { $0.downSeconds }
    }

    /// The document of `/api/v1/history` and `nwpath history`.
    public struct Document: MemberDeclaring, Equatable, Sendable {
        public var monitor: String
        public var state: State
        public var since: String
        public var until: String
        /// For how long the daemon knew the status.
        public var knownSeconds: Double
        public var satisfiedSeconds: Double
        public var availabilityPercent: Double?
        public var outages: [Outage]
        public var unknown: [Unknown]
        public var stepSeconds: Int?
        /// All steps, oldest first, which add up to the seconds above; left out unless they were asked for.
        public var steps: [Step]?

        public static let members = Members<Self>
            .document(
                "History",
                "Outages and availability. Durations are those of the boot clock; "
                    + "times are those of the calendar after its last step."
            )
            .member("monitor") { $0.monitor }
            .member(
                "state",
                as: .words(in: OutageHistory.State.allCases.map(\.rawValue)),
                "What it is the history of."
            ) { $0.state.rawValue }
            .member("since", as: .time, "Where the time looked at begins.") { $0.since }
            .member("until", as: .time, "Where it ends.") { $0.until }
            .member("known_seconds", as: .seconds, "For how long the service recorded.") { $0.knownSeconds }
            .member("satisfied_seconds", as: .seconds) { $0.satisfiedSeconds }
            .member(
                "availability_percent",
                as: .percent,
                "The share of the known time, 100 only without an outage; `null` when nothing is known."
            ) { $0.availabilityPercent }
            .member("outages", "The outages, oldest first.") { $0.outages }
            .member("unknown", "The stretches that are not known, oldest first.") { $0.unknown }
            .optional("step_seconds", as: .integer(from: 1), "How long a step is; only with `step`.") { $0.stepSeconds }
            .optional(
                "steps",
                "Every step from `since` to `until`, of which the last may be shorter; only with `step`. "
                    + "They add up to `known_seconds`, and what is down to the rest of `satisfied_seconds`."
            ) { $0.steps }
    }

    private let monitor: String
    private let since: WallTime
    private let until: WallTime?
    private let state: State
    private let step: Duration?
    private var list = MarkList()

    /// Looks at a monitor from one moment to another, or without end; with `step` also by steps from the first on.
    public init(
        monitor: String,
        since: WallTime,
        until: WallTime? = nil,
        state: State = .path,
        step: Duration? = nil
    ) {
        self.monitor = monitor
        self.since = since
        self.until = until
        self.state = state
        self.step = step
    }

    /// Takes the next record; `read` is called only for those that matter.
    public mutating func take(at time: WallTime?, name: String, read: () -> OutageMark?) {
        list.take(at: time, name: name, read: read)
    }

    /// Takes the next mark.
    public mutating func take(_ mark: OutageMark) {
        list.append(mark)
    }

    /// Ends what is known with the last record, or with a later sign of life: whether a daemon runs nobody knows.
    public mutating func end(alive: WallTime? = nil) {
        guard let end = [list.lastHeard, alive].compactMap(\.self).max() else { return }
        list.append(.stopped(end))
    }

    /// The document, as of `now`.
    public func document(at now: WallTime) -> Document {
        var ledger = OutageLedger(monitor: monitor, since: since, until: until, state: state, step: step)
        for mark in OutageCalendar(list.marks.filter(isOfInterest)).marks { ledger.take(mark) }
        return ledger.document(at: now)
    }

    private func isOfInterest(_ mark: OutageMark) -> Bool {
        if case .headline = mark { state == .headline } else { true }
    }
}
