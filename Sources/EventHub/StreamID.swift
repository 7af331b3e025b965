// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Names one unbroken sequence of events: four to eight lowercase hexadecimal digits.
///
/// It changes only when the log was lost, so that equal sequence numbers never name two events.
public struct StreamID: Hashable, Sendable, CustomStringConvertible {
    public let description: String

    /// Parses four to eight lowercase hexadecimal digits.
    public init?(_ text: some StringProtocol) {
        guard (4...8).contains(text.utf8.count),
            text.utf8.allSatisfy({ (48...57).contains($0) || (97...102).contains($0) })
        else { return nil }
        description = String(text)
    }

    private init(number: UInt32) {
        let digits = String(number, radix: 16)
        description = String(repeating: "0", count: 8 - digits.count) + digits
    }

    /// A new name, for a log without a past.
    public static func random() -> StreamID {
        StreamID(number: .random(in: .min ... .max))
    }
}

/// A position in an event stream, such as `7f3a.46`: the identifier of server-sent events and ETags.
public struct EventPosition: Hashable, Sendable, CustomStringConvertible {
    public let stream: StreamID
    /// The sequence number of the last event seen; 0 before the first.
    public let sequence: UInt64

    public init(stream: StreamID, sequence: UInt64) {
        self.stream = stream
        self.sequence = sequence
    }

    /// Reads `7f3a.46`.
    ///
    /// - Throws: ``EventHubError/invalidPosition(_:)`` for any other text.
    public init(_ text: String) throws(EventHubError) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let stream = StreamID(parts[0]),
            parts[1].utf8.allSatisfy({ (48...57).contains($0) }), let sequence = UInt64(parts[1])
        else { throw .invalidPosition(String(text.prefix(64))) }
        self.init(stream: stream, sequence: sequence)
    }

    /// The text form, such as `7f3a.46`.
    public var description: String { "\(stream).\(sequence)" }
}
