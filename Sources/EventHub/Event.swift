// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import LinuxIO

/// What happened, encoded once; log, streams and pages share the bytes.
public struct Event: Hashable, Sendable {
    /// The schema of the record, `nwpath.event/1`.
    public static let schema = EventEnvelope.schema

    public let record: EventRecord
    /// When it was published, by the calendar.
    public let time: WallTime
    public let name: EventName
    public let severity: Severity
    public let message: String
    /// What it says about the status of a monitor; `nil` for events about other things.
    public let status: MonitorStatus?

    public var position: EventPosition { record.position }
    public var sequence: UInt64 { record.sequence }
    public var stream: StreamID { record.position.stream }
    /// The record as one line of JSON with its line feed.
    public var line: [UInt8] { record.line }
    /// The record without its line feed.
    public var json: ArraySlice<UInt8> { line.dropLast() }
}

/// An event as the log holds it, perhaps one of a later version of the program.
public struct EventRecord: Hashable, Sendable {
    /// Where it stands: its stream and its number, one more than that of the event before it.
    public let position: EventPosition
    /// Its type, such as `path.changed`.
    public let name: String
    /// One JSON object and a line feed.
    public let line: [UInt8]

    public init(position: EventPosition, name: String, line: [UInt8]) {
        self.position = position
        self.name = name
        self.line = line
    }

    public var sequence: UInt64 { position.sequence }
}
