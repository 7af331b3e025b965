// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Documents
public import LinuxIO
public import OrderedJSON

/// Outages and availability, worked out from the records of the event log.
///
/// Pure: records in, in order; a document out. Time that no daemon watched is unknown, not down, and durations are those
/// of the boot clock: see ``OutageCalendar``.
public struct OutageHistory: Sendable {
    /// One stretch of time in which a path was not satisfied.
    public struct Outage: Encodable, Equatable, Sendable {
        /// When it began, RFC 3339.
        public var start: String
        /// When it ended, RFC 3339; `null` while it lasts.
        @Nullable public var end: String?
        /// For how long it lasted so far.
        public var durationSeconds: Double
        /// Why it began, such as `no_carrier`.
        public var reason: String
        public var message: String

        enum CodingKeys: String, CodingKey {
            case start
            case end
            case durationSeconds = "duration_seconds"
            case reason
            case message
        }
    }

    /// One stretch of time in which nobody knew the status.
    public struct Unknown: Encodable, Equatable, Sendable {
        /// When it began, RFC 3339.
        public var start: String
        /// When it ended, RFC 3339.
        public var end: String
    }

    /// The document of `/api/v1/history` and `nwpath history`.
    public struct Document: Encodable, Equatable, Sendable {
        public let schema = DocumentSchema.name(of: "history")
        public var monitor: String
        /// Where the time looked at begins, RFC 3339.
        public var since: String
        /// Where it ends, RFC 3339.
        public var until: String
        /// For how long the daemon knew the status.
        public var knownSeconds: Double
        public var satisfiedSeconds: Double
        /// The share of the known time in percent; `null` when nothing is known.
        @Nullable public var availabilityPercent: Double?
        /// The outages, oldest first.
        public var outages: [Outage]
        /// The stretches that are not known, oldest first.
        public var unknown: [Unknown]

        enum CodingKeys: String, CodingKey {
            case schema
            case monitor
            case since
            case until
            case knownSeconds = "known_seconds"
            case satisfiedSeconds = "satisfied_seconds"
            case availabilityPercent = "availability_percent"
            case outages
            case unknown
        }
    }

    private let monitor: String
    private let since: WallTime
    private let until: WallTime?
    private var list = MarkList()

    /// Looks at a monitor from one moment to another, or without end.
    public init(monitor: String, since: WallTime, until: WallTime? = nil) {
        self.monitor = monitor
        self.since = since
        self.until = until
    }

    /// Takes the next record.
    public mutating func take(_ record: JSONValue) {
        guard let mark = OutageMark(record) else { return }
        take(at: mark.time, name: record["event"]?.string ?? "") { mark }
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
        var ledger = OutageLedger(monitor: monitor, since: since, until: until)
        for mark in OutageCalendar(list.marks).marks { ledger.take(mark) }
        return ledger.document(at: now)
    }
}

/// Adds up marks of one calendar, none of which is earlier than the one before.
private struct OutageLedger {
    typealias Outage = OutageHistory.Outage

    let monitor: String
    let since: WallTime
    let until: WallTime?
    /// Whether what comes now is after the end.
    private var isOver = false
    private var last: WallTime
    private var isSatisfied: Bool?
    private var known: Duration = .zero
    private var satisfied: Duration = .zero
    private var outages: [Outage] = []
    private var unknown: [Range<WallTime>] = []
    private var openOutage: (start: WallTime, reason: String, message: String)?

    init(monitor: String, since: WallTime, until: WallTime?) {
        self.monitor = monitor
        self.since = since
        self.until = until
        last = since
    }

    mutating func take(_ mark: OutageMark) {
        guard !isOver else { return }
        if let until, mark.time > until {
            isOver = true
            return lookAhead(mark, until: until)
        }
        switch mark {
        case .status(let time, let monitor, let isSatisfied, let reason, let message):
            guard monitor == self.monitor else { return }
            advance(to: time)
            if isSatisfied {
                close(at: last)
            } else if openOutage == nil {
                openOutage = (last, reason, message)
            }
            self.isSatisfied = isSatisfied
        case .stopped(let time):
            advance(to: time)
            forget(until: time)
        case .started(let time, let lastHeard, _):
            if let lastHeard { advance(to: lastHeard) }
            forget(until: time)
        case .unwatched(let duration, let time):
            advance(to: time - duration)
            let (state, open) = (isSatisfied, openOutage)
            forget(until: time)
            // What is so afterwards as it was before is told by nobody again.
            isSatisfied = state
            openOutage = open.map { (last, $0.reason, $0.message) }
        case .opened(let time), .alive(let time), .stepped(_, let time): advance(to: time)
        }
    }

    /// Before a later start, or a later awakening, nobody knows anything either.
    private mutating func lookAhead(_ mark: OutageMark, until: WallTime) {
        let end: WallTime
        switch mark {
        case .started(_, let lastHeard?, _): end = lastHeard
        case .unwatched(let duration, let time): end = time - duration
        default: return
        }
        guard end < until else { return }
        advance(to: end)
        forget(until: until)
    }

    /// What happens between two daemons nobody knows.
    private mutating func forget(until time: WallTime) {
        close(at: last)
        isSatisfied = nil
        advance(to: time)
    }

    func document(at now: WallTime) -> OutageHistory.Document {
        var end = self
        end.advance(to: now)
        var outages = end.outages
        if let open = end.openOutage { outages.append(Self.outage(open, end: nil, now: now)) }
        return OutageHistory.Document(
            monitor: monitor,
            since: since.description,
            until: now.description,
            knownSeconds: Self.rounded(end.known),
            satisfiedSeconds: Self.rounded(end.satisfied),
            availabilityPercent: end.known > .zero
                ? (end.satisfied.seconds / end.known.seconds * 100_000).rounded() / 1000 : nil,
            outages: outages,
            unknown: end.unknown.map { .init(start: $0.lowerBound.description, end: $0.upperBound.description) }
        )
    }

    private mutating func advance(to time: WallTime) {
        guard time > last else { return }
        if let isSatisfied {
            known += time - last
            if isSatisfied { satisfied += time - last }
        } else if unknown.last?.upperBound == last {
            unknown[unknown.count - 1] = unknown[unknown.count - 1].lowerBound..<time
        } else {
            unknown.append(last..<time)
        }
        last = time
    }

    private mutating func close(at time: WallTime) {
        guard let open = openOutage else { return }
        openOutage = nil
        // An outage that ended before the time looked at does not count.
        guard time > since else { return }
        outages.append(Self.outage(open, end: time, now: time))
    }

    private static func outage(
        _ open: (start: WallTime, reason: String, message: String),
        end: WallTime?,
        now: WallTime
    ) -> Outage {
        Outage(
            start: open.start.description,
            end: end?.description,
            durationSeconds: rounded((end ?? now) - open.start),
            reason: open.reason,
            message: open.message
        )
    }

    private static func rounded(_ duration: Duration) -> Double { (duration.seconds * 1000).rounded() / 1000 }
}
