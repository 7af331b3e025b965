// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import EventHub
internal import LinuxIO
internal import OrderedJSON

/// Checks the envelope of one record: schema, order of the members, and their values.
enum RecordChecker {
    /// The members of every record, in their order.
    static let envelope = ["time", "seq", "stream", "schema", "event", "severity", "host", "message"]

    /// What is wrong with a record; `nil` when nothing is.
    static func problem(in record: JSONValue) -> LogProblem.Kind? {
        guard let object = record.object else { return .misplaced(expected: envelope[0], found: nil) }
        for (index, expected) in envelope.enumerated() {
            guard object.members.count > index else { return .misplaced(expected: expected, found: nil) }
            let member = object.members[index]
            guard member.key == expected else { return .misplaced(expected: expected, found: member.key) }
            guard isValid(member.value, of: expected) else { return .invalid(member: expected) }
        }
        return nil
    }

    private static func isValid(_ value: JSONValue, of member: String) -> Bool {
        switch member {
        case "time":
            guard let text = value.string, text.utf8.count == 30, text.hasSuffix("Z") else { return false }
            return WallTime(text) != nil
        case "seq": return value.uint64.map(RecordHeader.sequences.contains) ?? false
        case "stream": return value.string.flatMap { StreamID($0) } != nil
        case "schema": return value.string == Event.schema
        case "event": return value.string.map(isEventName) ?? false
        case "severity": return value.string.flatMap(Severity.init(rawValue:)) != nil
        case "host": return value.string?.isEmpty == false
        default: return value.string != nil
        }
    }

    /// Whether a text has the form of an event's name; names of later versions are no error.
    private static func isEventName(_ text: String) -> Bool {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 2
            && parts.allSatisfy { part in
                !part.isEmpty && part.utf8.allSatisfy { (97...122).contains($0) || $0 == UInt8(ascii: "_") }
            }
    }
}
