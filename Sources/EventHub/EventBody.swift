// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import OrderedJSON
public import PathModel

/// What happened, without the envelope.
///
/// `encode(to:)` writes the data members; they follow the envelope in the same object, so their keys must differ from
/// the eight keys of ``EventEnvelope``.
public protocol EventBody: Encodable, Sendable {
    var name: EventName { get }
    var severity: Severity { get }
    /// One sentence for people, without a full stop.
    var message: String { get }
    /// What the event says about the status of a monitor; `nil` for events about other things.
    var status: MonitorStatus? { get }
    /// Writes the data members, where the type does so itself.
    ///
    /// Types that are ``JSONObjectWritable`` have it, and are encoded in a fraction of the time.
    /// - Returns: Whether it did; otherwise `encode(to:)` has to.
    func writeMembers(to object: inout JSONObjectWriter) -> Bool
}

extension EventBody {
    public func writeMembers(to object: inout JSONObjectWriter) -> Bool { false }
}

extension EventBody where Self: JSONObjectWritable {
    public func writeMembers(to object: inout JSONObjectWriter) -> Bool {
        write(to: &object)
        return true
    }
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

/// The eight members with which every record begins, in this order.
struct EventEnvelope: JSONObjectWritable {
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

    func write(to object: inout JSONObjectWriter) {
        object.write("time", time)
        object.write("seq", seq)
        object.write("stream", stream.description)
        object.write("schema", schema)
        object.write("event", event.rawValue)
        object.write("severity", severity.rawValue)
        object.write("host", host)
        object.write("message", message)
    }
}

/// A whole record: envelope and data in one object.
struct RecordMembers<Body: EventBody>: Encodable {
    let envelope: EventEnvelope
    let body: Body

    func encode(to encoder: any Encoder) throws {
        try envelope.encode(to: encoder)
        try body.encode(to: encoder)
    }
}

/// What is published for a body that cannot be encoded: the envelope, and why.
struct UnencodableBody: EventBody {
    let name: EventName
    let severity: Severity
    let message: String
    let reason: String

    private enum CodingKeys: String, CodingKey {
        case reason = "encoding_error"
    }
}
