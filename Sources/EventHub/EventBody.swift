// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Documents
public import OrderedJSON
public import PathModel

/// What happened, without the envelope.
///
/// Its members follow the envelope in the same object, so their keys must differ from the eight keys of
/// ``EventEnvelope``.
public protocol EventBody: JSONObjectWritable, Sendable {
    var name: EventName { get }
    var severity: Severity { get }
    /// One sentence for people, without a full stop.
    var message: String { get }
    /// What the event says about the status of a monitor; `nil` for events about other things.
    var status: MonitorStatus? { get }
}

extension EventBody {
    public var status: MonitorStatus? { nil }
}

/// The status of one monitor from an event on.
public struct MonitorStatus: Hashable, Sendable {
    public let monitor: String
    public let status: PathStatus
    /// Why it is not satisfied.
    public let reason: UnsatisfiedReason?
}

/// The members with which every record begins, in this order.
struct EventEnvelope: MemberDeclaring {
    /// The value of `schema`: additive changes keep it, any other makes it `/2`.
    static let schema = "nwpath.event/1"

    let time: String
    let seq: UInt64
    let stream: StreamID
    let schema = Self.schema
    let event: EventName
    let severity: Severity
    let host: String
    let message: String

    static let members = Members<Self>
        .named("Event", "A record of the event log; `/api/v1/schema/event.json` describes all of it.")
        .member("time", as: .time, "When the event was published.") { $0.time }
        .member("seq", as: .integer(from: 1, to: .max), "One more than that of the record before, over restarts.") {
            $0.seq
        }
        .member("stream", as: .stream, "Changes only when the log was lost.") { $0.stream.description }
        .member("schema", as: .constant(schema)) { $0.schema }
        .member("event", as: .oneOf(EventName.self)) { $0.event.rawValue }
        .member("severity", as: .oneOf(Severity.self)) { $0.severity.rawValue }
        .member("host") { $0.host }
        .member("message", "One sentence for people; its wording may change.") { $0.message }
}
