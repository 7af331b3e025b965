// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import EventHub

/// How the event log is doing, for the API and for metrics.
public struct LogStatus: Hashable, Sendable {
    /// A time during which the log cannot be written.
    public struct Outage: Hashable, Sendable {
        /// When it began, as time since boot.
        public let since: Duration
        /// The first error's name, such as `ENOSPC`.
        public let error: String
        /// The numbers that were published and are in no file, in order.
        public internal(set) var lost: [ClosedRange<UInt64>] = []

        /// How many ranges are kept apart; more than these become one.
        static let maximumRanges = 64

        /// Adds the numbers of events, which follow those that were lost before.
        mutating func lose(_ numbers: ClosedRange<UInt64>) {
            if let last = lost.last, last.upperBound + 1 == numbers.lowerBound || lost.count >= Self.maximumRanges {
                lost[lost.count - 1] = last.lowerBound...numbers.upperBound
            } else {
                lost.append(numbers)
            }
        }
    }

    /// The present outage; `nil` while the log can be written.
    public internal(set) var outage: Outage?
    /// The last record in the log; `nil` in a new one.
    public internal(set) var lastRecord: EventPosition?
    /// How many bytes the file has.
    public internal(set) var size: Int64 = 0
    /// How many records were written since the start.
    public internal(set) var recordsWritten: UInt64 = 0
    /// How many events were published and are in no file since the start.
    public internal(set) var eventsLost: UInt64 = 0
    /// How many writes, rotations and reopenings failed since the start.
    public internal(set) var errors: UInt64 = 0
    /// How many files were rotated since the start.
    public internal(set) var rotations: UInt64 = 0
    /// How many times another file was opened because the old one was renamed, removed, replaced or cut.
    public internal(set) var reopenings: UInt64 = 0
    /// How many bytes of torn last lines were cut away since the start.
    public internal(set) var repairedBytes: Int64 = 0

    /// Whether the log can be written, as far as is known.
    public var isWritable: Bool { outage == nil }

    /// Counts events that are in no file; there is an outage.
    mutating func lose(_ numbers: ClosedRange<UInt64>) {
        outage?.lose(numbers)
        eventsLost += UInt64(numbers.count)
    }
}
