// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// The last results of a probe: what became of them, and how long answers took.
public struct ProbeHistory: Hashable, Sendable {
    public static let capacity = 60

    /// The durations of the last results, oldest first; `nil` is a failure.
    public private(set) var durations: [Duration?] = []

    /// Remembers a result; one that could not be assessed says nothing.
    public mutating func append(_ result: ProbeResult) {
        if case .notAssessed = result.outcome { return }
        if durations.count == Self.capacity { durations.removeFirst() }
        durations.append(result.isSuccess ? result.duration : nil)
    }

    /// The share of failures in percent; `nil` without results.
    public var lossPercent: Double? {
        guard !durations.isEmpty else { return nil }
        return Double(durations.count { $0 == nil }) * 100 / Double(durations.count)
    }

    /// What the durations of the successes come to; `nil` without successes.
    public var summary: DurationSummary? { DurationSummary(durations.compactMap(\.self)) }
}

public struct DurationSummary: Hashable, Sendable {
    public let minimum: Duration
    public let average: Duration
    public let maximum: Duration
    /// The least one that 95 % are not longer than (nearest rank).
    public let p95: Duration

    /// Sums up; `nil` when there are none.
    public init?(_ durations: [Duration]) {
        let sorted = durations.sorted()
        guard let first = sorted.first, let last = sorted.last else { return nil }
        minimum = first
        maximum = last
        average = sorted.reduce(.zero, +) / sorted.count
        let rank = (sorted.count * 95 + 99) / 100
        p95 = sorted[max(0, rank - 1)]
    }
}
