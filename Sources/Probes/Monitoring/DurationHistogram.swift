// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import LinuxIO

/// The scale of ``DurationHistogram``: 205 buckets from 1 us to 5 min, each a tenth longer than the one before.
enum DurationScale {
    static let count = 205

    /// The least duration of each bucket, and of the one that would come after the last, in nanoseconds.
    private static let edges: [Int64] = (0...count).map { index in
        Int64((0..<index).reduce(1000.0) { edge, _ in edge * 1.1 }.rounded())
    }

    /// The bucket of a duration; what is shorter or longer than all of them is in the first or the last one.
    static func bucket(of duration: Duration) -> UInt8 {
        let nanoseconds = duration.nanoseconds
        var (low, high) = (0, count - 1)
        while low < high {
            let middle = (low + high + 1) / 2
            if edges[middle] <= nanoseconds { low = middle } else { high = middle - 1 }
        }
        return UInt8(low)
    }

    /// What stands for a bucket: no duration in it differs by more than 4.8 %.
    static func duration(of bucket: Int) -> Duration {
        let (low, high) = (Double(edges[bucket]), Double(edges[bucket + 1]))
        return .nanoseconds(Int64(2 * low * high / (low + high)))
    }
}

/// How often answers took how long, in as few bytes as that needs.
///
/// An entry of 16 bits is a bucket of ``DurationScale`` and how many durations are in it; where 255 are not enough, the
/// bucket has several entries.
struct DurationHistogram: Hashable, Sendable {
    /// In the order of their buckets; the high byte is the bucket.
    private(set) var entries: [UInt16] = []

    /// How many durations are in which bucket, in order; a bucket may come several times.
    var parts: some Sequence<(bucket: Int, count: Int)> {
        entries.lazy.map { (Int($0 >> 8), Int($0 & 0xFF)) }
    }

    mutating func add(_ duration: Duration) { add(DurationScale.bucket(of: duration)) }

    private mutating func add(_ bucket: UInt8) {
        let place = entries.firstIndex { $0 >> 8 >= UInt16(bucket) } ?? entries.endIndex
        if place < entries.endIndex, entries[place] >> 8 == UInt16(bucket), entries[place] & 0xFF < 0xFF {
            entries[place] += 1
        } else {
            // A full entry is followed by others of its bucket, of which the first alone grows.
            entries.insert(UInt16(bucket) << 8 | 1, at: place)
        }
    }

    /// Adds what an earlier run counted.
    /// - Returns: Whether it comes after everything that was added before, and is in range.
    mutating func append(bucket: Int, count: Int) -> Bool {
        guard (0..<DurationScale.count).contains(bucket), count > 0,
            entries.last.map({ Int($0 >> 8) < bucket }) ?? true
        else { return false }
        let (full, rest) = count.quotientAndRemainder(dividingBy: 0xFF)
        if rest > 0 { entries.append(UInt16(bucket) << 8 | UInt16(rest)) }
        for _ in 0..<full { entries.append(UInt16(bucket) << 8 | 0xFF) }
        return true
    }

    /// Gives back the memory that was set aside for more entries.
    mutating func shrink() {
        guard entries.capacity > entries.count else { return }
        var exact: [UInt16] = []
        exact.reserveCapacity(entries.count)
        exact.append(contentsOf: entries)
        entries = exact
    }

    /// How many bytes of memory the entries have, the array's header of 32 included.
    var storedBytes: Int { entries.capacity == 0 ? 0 : 32 + 2 * entries.capacity }
}
