// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import EventHub
internal import Diagnosis
public import LinuxIO
public import OrderedJSON
internal import PathModel

/// The little of a record that outages are worked out from.
public enum OutageMark: Equatable, Sendable {
    /// A monitor's path is in this state from now on; the reason and the message explain one that is not satisfied.
    case status(WallTime, monitor: String, isSatisfied: Bool, reason: String, message: String)
    /// The headline is in this state since a moment that lies before the one in which it is told; the reason and the
    /// message explain one that is bad.
    case headline(WallTime, since: WallTime, isBad: Bool, reason: String, message: String)
    /// The daemon ended in order.
    case stopped(WallTime)
    /// A daemon opened its log; the next record tells of its start, unless that record was lost.
    case opened(WallTime)
    /// A daemon started; the one before it was alive for the last time at `lastHeard`, by its own calendar.
    ///
    /// `unwatched` is the time between the two by the boot clock, where both ran in one boot.
    case started(WallTime, lastHeard: WallTime?, unwatched: Duration? = nil)
    case alive(WallTime)
    /// The system clock was stepped; `at` is a moment of the new calendar.
    case stepped(by: Duration, at: WallTime)
    /// Until `at` the daemon did not run, since the machine slept for instance.
    case unwatched(for: Duration, at: WallTime)

    public var time: WallTime {
        switch self {
        case .status(let time, _, _, _, _), .headline(let time, _, _, _, _), .stopped(let time), .opened(let time),
            .started(let time, _, _),
            .alive(let time), .stepped(_, let time), .unwatched(_, let time):
            time
        }
    }

    /// The same mark at another time.
    func moved(to time: WallTime) -> OutageMark {
        switch self {
        case .status(_, let monitor, let isSatisfied, let reason, let message):
            .status(time, monitor: monitor, isSatisfied: isSatisfied, reason: reason, message: message)
        case .headline(_, let since, let isBad, let reason, let message):
            .headline(time, since: since, isBad: isBad, reason: reason, message: message)
        case .stopped: .stopped(time)
        case .opened: .opened(time)
        case .started(_, let lastHeard, let unwatched): .started(time, lastHeard: lastHeard, unwatched: unwatched)
        case .alive: .alive(time)
        case .stepped(let step, _): .stepped(by: step, at: time)
        case .unwatched(let duration, _): .unwatched(for: duration, at: time)
        }
    }

    /// A start before which the earlier daemon was heard at `time` too; other marks stay as they are.
    func hearing(_ time: WallTime?) -> OutageMark {
        guard case .started(let start, let lastHeard, let unwatched) = self, let time else { return self }
        guard let lastHeard else { return .started(start, lastHeard: time) }
        guard time > lastHeard else { return self }
        return .started(start, lastHeard: time, unwatched: unwatched.map { max(.zero, $0 - (time - lastHeard)) })
    }

    /// What a record of the log says, from the event it was made of.
    public init(_ event: Event) {
        switch event.name {
        case .daemonStopping: self = .stopped(event.time)
        case .daemonStarted, .logOpened, .clockJumped, .headlineChanged:
            // They are rare, and their members lie in the record alone.
            self = (try? JSONValue(parsing: event.json)).flatMap { OutageMark($0) } ?? .alive(event.time)
        default:
            guard let status = event.status else {
                self = .alive(event.time)
                return
            }
            let isSatisfied = status.status == .satisfied
            self = .status(
                event.time,
                monitor: status.monitor,
                isSatisfied: isSatisfied,
                reason: isSatisfied ? "" : status.reason?.rawValue ?? "unknown",
                message: isSatisfied ? "" : event.message
            )
        }
    }

    /// Reads a record; `nil` when it has no time.
    public init?(_ record: JSONValue) {
        guard let event = record["event"]?.string, let time = record["time"]?.string.flatMap(WallTime.init) else {
            return nil
        }
        switch event {
        case "path.snapshot", "path.changed":
            guard let monitor = record["monitor"]?.string, let path = record["path"] else { return nil }
            let isSatisfied = path["status"]?.string == "satisfied"
            self = .status(
                time,
                monitor: monitor,
                isSatisfied: isSatisfied,
                reason: isSatisfied ? "" : path["unsatisfied_reason"]?.string ?? "unknown",
                message: isSatisfied ? "" : record["message"]?.string ?? ""
            )
        case "headline.changed": self = Self.headline(record, at: time)
        case "daemon.stopping": self = .stopped(time)
        case "daemon.started":
            let daemon = record["daemon"]
            let alive = daemon?["previous_alive"]?.string.flatMap(WallTime.init)
            self = .started(
                time,
                lastHeard: alive,
                unwatched: alive == nil
                    ? nil : Self.duration(daemon?["unwatched_seconds"]).flatMap { $0 < .zero ? nil : $0 }
            )
        case "log.opened": self = record["log"]?["reason"]?.string == "started" ? .opened(time) : .alive(time)
        case "clock.jumped": self = Self.jump(record["clock"], at: time)
        default: self = .alive(time)
        }
    }

    private static func headline(_ record: JSONValue, at time: WallTime) -> OutageMark {
        let headline = record["headline"]
        guard let state = headline?["state"]?.string else { return .alive(time) }
        let known = Headline.State(rawValue: state)
        // Tests decide soon whether the state before it lasts.
        guard known != .checking else { return .alive(time) }
        let isBad = known?.level == .bad
        return .headline(
            time,
            since: headline?["since"]?.string.flatMap(WallTime.init) ?? time,
            isBad: isBad,
            reason: isBad ? state : "",
            message: isBad ? record["message"]?.string ?? "" : ""
        )
    }

    private static func jump(_ clock: JSONValue?, at time: WallTime) -> OutageMark {
        guard let jump = duration(clock?["jump_seconds"]) else { return .alive(time) }
        switch clock?["kind"]?.string {
        case "step": return .stepped(by: jump, at: time)
        case "suspend", "stall": return jump > .zero ? .unwatched(for: jump, at: time) : .alive(time)
        default: return .alive(time)
        }
    }

    /// Seconds of a record; what a hundred years do not hold is none.
    private static func duration(_ seconds: JSONValue?) -> Duration? {
        guard let seconds = seconds?.double, seconds.magnitude < 3_155_760_000 else { return nil }
        return .nanoseconds(Int64((seconds * 1e9).rounded()))
    }
}

/// Makes marks from records in the order of the log; what says nothing of a status is remembered as a time only.
struct MarkList {
    private(set) var marks: [OutageMark] = []
    /// The time of the last record, whatever it was.
    private(set) var lastHeard: WallTime?
    /// When a daemon opened its log whose start was not told yet.
    private var opened: WallTime?
    private let capacity: Int

    /// Keeps the newest marks, at most `capacity`.
    init(capacity: Int = .max) {
        self.capacity = capacity
    }

    /// Takes a record; `read` is called only for those that matter.
    mutating func take(at time: WallTime?, name: String, read: () -> OutageMark?) {
        let mark = name == EventName.logOpened.rawValue || Self.isKept(name) ? read() : nil
        if case .opened(let time)? = mark {
            // Written by the next daemon already: no word of the one before it.
            opened = opened ?? time
            return
        }
        defer {
            lastHeard = time ?? lastHeard
            opened = nil
        }
        if case .started? = mark { opened = nil }
        // The record of the start was lost.
        if let opened { append(.started(opened, lastHeard: lastHeard)) }
        switch mark {
        case nil, .alive?: return
        case let mark?: append(mark.hearing(lastHeard))
        }
    }

    /// Whether outages are worked out from the records of a name, so that they are kept apart from all others.
    static func isKept(_ name: String) -> Bool {
        name.hasPrefix("daemon.")
            || ["path.snapshot", "path.changed", "headline.changed", "clock.jumped"].contains(name)
    }

    mutating func append(_ mark: OutageMark) {
        marks.append(mark)
        if marks.count > capacity { marks.removeFirst(capacity / 4) }
    }
}
