// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import EventHub
public import LinuxIO
public import OrderedJSON
internal import PathModel

/// The little of a record that outages are worked out from.
public enum OutageMark: Equatable, Sendable {
    /// A monitor's path is in this state from now on; the reason and the message explain one that is not satisfied.
    case status(WallTime, monitor: String, isSatisfied: Bool, reason: String, message: String)
    /// The daemon ended in order.
    case stopped(WallTime)
    /// A daemon started; the one before it was heard for the last time at `lastHeard`.
    case started(WallTime, lastHeard: WallTime?)
    case alive(WallTime)

    public var time: WallTime {
        switch self {
        case .status(let time, _, _, _, _), .stopped(let time), .started(let time, _), .alive(let time): time
        }
    }

    /// What a record of the log says, from the event it was made of.
    public init(_ event: Event) {
        switch event.name {
        case .daemonStopping: self = .stopped(event.time)
        case .daemonStarted: self = .started(event.time, lastHeard: nil)
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
        case "daemon.stopping": self = .stopped(time)
        case "daemon.started": self = .started(time, lastHeard: nil)
        default: self = .alive(time)
        }
    }
}
