// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import LinuxIO

public struct Event: Hashable, Sendable {
    /// The schema of the record, `nwpath.event/1`.
    public static let schema = EventEnvelope.schema

    /// Where the event stands: its stream and its number, one more than that of the event before it.
    public let position: EventPosition
    /// When it was published, by the calendar.
    public let time: WallTime
    public let name: EventName
    public let severity: Severity
    public let message: String
    /// What it says about the status of a monitor; `nil` for events about other things.
    public let status: MonitorStatus?
    /// The record as one line of JSON with its line feed: encoded once, shared by log, streams and pages.
    public let line: [UInt8]

    public var sequence: UInt64 { position.sequence }
    public var stream: StreamID { position.stream }
    /// The record without its line feed.
    public var json: ArraySlice<UInt8> { line.dropLast() }
}
