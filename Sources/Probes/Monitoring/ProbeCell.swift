// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import LinuxIO

/// What came of a probe's attempts in one stretch of time of a ``ProbeTier``.
public struct ProbeCell: Hashable, Sendable {
    /// Where it begins, a multiple of the tier's step.
    public let start: WallTime
    public private(set) var sent: Int32 = 0
    public private(set) var lost: Int32 = 0
    private var least: Int64 = .max
    private var histogram = DurationHistogram()

    init(start: WallTime) { self.start = start }

    /// Takes what an earlier run counted; `nil` when the numbers contradict each other.
    ///
    /// - Parameters:
    ///   - start: Where the cell begins.
    ///   - sent: How many attempts there were.
    ///   - lost: How many of them failed.
    ///   - minimum: The shortest duration of a right answer; `nil` without one.
    ///   - buckets: How many durations are in which bucket, in order.
    public init?(start: WallTime, sent: Int, lost: Int, minimum: Duration?, buckets: [(bucket: Int, count: Int)]) {
        guard (1...ProbeTier.mostAttempts).contains(sent), (0...sent).contains(lost) else { return nil }
        self.start = start
        (self.sent, self.lost) = (Int32(sent), Int32(lost))
        var answered = 0
        for (bucket, count) in buckets {
            guard count <= sent, histogram.append(bucket: bucket, count: count) else { return nil }
            answered += count
        }
        guard answered == sent - lost, (minimum == nil) == (answered == 0) else { return nil }
        guard let minimum else { return }
        guard minimum >= .zero, buckets.first.map({ Int(DurationScale.bucket(of: minimum)) == $0.bucket }) == true
        else { return nil }
        least = minimum.nanoseconds
        histogram.shrink()
    }

    /// The shortest duration of a right answer; `nil` without one.
    public var minimum: Duration? { sent > lost ? .nanoseconds(least) : nil }

    /// How many durations are in which bucket of the scale, in order.
    public var buckets: [(bucket: Int, count: Int)] {
        histogram.parts.reduce(into: []) { buckets, part in
            if buckets.last?.bucket == part.bucket {
                buckets[buckets.count - 1].count += part.count
            } else {
                buckets.append(part)
            }
        }
    }

    /// The same, where a bucket may come several times.
    var parts: some Sequence<(bucket: Int, count: Int)> { histogram.parts }

    /// Counts an attempt; `duration` is `nil` for one that failed.
    mutating func append(_ duration: Duration?) {
        sent += 1
        guard let duration else {
            lost += 1
            return
        }
        least = min(least, max(.zero, duration).nanoseconds)
        histogram.add(duration)
    }

    mutating func shrink() { histogram.shrink() }

    /// How many bytes of memory it has outside the array it is in.
    var storedBytes: Int { histogram.storedBytes }
}

/// What cells come to that are merged.
public struct ProbeSummary: Hashable, Sendable {
    public private(set) var sent = 0
    public private(set) var lost = 0
    /// The shortest duration of a right answer, exactly; `nil` without one.
    public private(set) var minimum: Duration?
    private var counts = [Int](repeating: 0, count: DurationScale.count)

    mutating func merge(_ cell: ProbeCell) {
        sent += Int(cell.sent)
        lost += Int(cell.lost)
        for (bucket, count) in cell.parts { counts[bucket] += count }
        guard let least = cell.minimum else { return }
        minimum = min(minimum ?? least, least)
    }

    /// The share of lost attempts in percent; `nil` without attempts.
    public var lossPercent: Double? { sent == 0 ? nil : Double(lost) * 100 / Double(sent) }

    /// The median of the durations (nearest rank), within 5 %; `nil` without a right answer.
    public var median: Duration? { quantile(percent: 50) }

    /// The least duration that 95 % are not longer than (nearest rank), within 5 %.
    public var p95: Duration? { quantile(percent: 95) }

    /// A quantile by nearest rank.
    func quantile(percent: Int) -> Duration? {
        guard let minimum else { return nil }
        var rank = max(1, ((sent - lost) * percent + 99) / 100)
        for (bucket, count) in counts.enumerated() where count > 0 {
            rank -= count
            if rank <= 0 { return max(minimum, DurationScale.duration(of: bucket)) }
        }
        return nil
    }
}
