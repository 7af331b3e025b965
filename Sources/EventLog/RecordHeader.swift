// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import EventHub
public import LinuxIO

/// The first members of a record, read without parsing the rest of the line.
public struct RecordHeader: Hashable, Sendable {
    /// When the event was published, RFC 3339.
    public let timeText: String
    public let position: EventPosition
    /// The schema, such as `nwpath.event/1`.
    public let schema: String
    /// The name of the event, perhaps one of a later version.
    public let event: String

    /// When the event was published; `nil` when the text is not a time.
    public var time: WallTime? { WallTime(timeText) }
    /// The number of the event, from 1.
    public var sequence: UInt64 { position.sequence }

    /// The numbers that records have; behind a greater one there would be no room for the next event.
    static let sequences = 1...UInt64(Int64.max)

    /// Reads the head of a line, which may be cut off behind it.
    ///
    /// - Returns: `nil` when the line does not begin as our records do.
    public init?(line: ArraySlice<UInt8>) {
        var cursor = HeaderCursor(rest: line)
        guard cursor.skip("{\"time\":\""), let time = cursor.text(limit: 64),
            cursor.skip(",\"seq\":"), let sequence = cursor.number(), Self.sequences.contains(sequence),
            cursor.skip(",\"stream\":\""), let streamText = cursor.text(limit: 8), let stream = StreamID(streamText),
            cursor.skip(",\"schema\":\""), let schema = cursor.text(limit: 64), schema.hasPrefix("nwpath.event/"),
            cursor.skip(",\"event\":\""), let event = cursor.text(limit: 64)
        else { return nil }
        timeText = time
        position = EventPosition(stream: stream, sequence: sequence)
        self.schema = schema
        self.event = event
    }
}

/// Steps over the fixed words and the short values of a header.
private struct HeaderCursor {
    var rest: ArraySlice<UInt8>

    mutating func skip(_ word: String) -> Bool {
        guard rest.starts(with: word.utf8) else { return false }
        rest = rest.dropFirst(word.utf8.count)
        return true
    }

    /// The text up to the closing quote; header values never hold escapes.
    mutating func text(limit: Int) -> String? {
        guard let end = rest.prefix(limit + 1).firstIndex(of: 0x22) else { return nil }
        let value = rest[..<end]
        rest = rest[(end + 1)...]
        return value.contains(0x5C) ? nil : String(validating: value, as: UTF8.self)
    }

    mutating func number() -> UInt64? {
        let digits = rest.prefix { (48...57).contains($0) }
        guard (1...20).contains(digits.count) else { return nil }
        rest = rest.dropFirst(digits.count)
        return UInt64(String(decoding: digits, as: UTF8.self))
    }
}
