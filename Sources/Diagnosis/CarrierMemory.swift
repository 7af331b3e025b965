// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Counts carrier changes of the last minute from the kernel's counters, however often these are read.
///
/// Pure: counters and times in, numbers out.
public struct CarrierMemory: Hashable, Sendable {
    /// How far back it reaches.
    public static let window = Duration.seconds(60)
    /// The most readings that are kept of an interface.
    private static let most = 64

    /// The value of a counter from this reading until the next.
    private struct Reading: Hashable {
        let at: Duration
        let count: UInt32
    }

    private var readings: [Int: [Reading]] = [:]

    public init() {}

    /// Records the counters of all interfaces by index (`IFLA_CARRIER_CHANGES`); those that are missing are gone.
    public mutating func record(_ counters: [Int: UInt32], at now: Duration) {
        readings = readings.filter { counters[$0.key] != nil }
        for (index, count) in counters {
            var known = readings[index] ?? []
            // An interface of the same index that counts less is another one.
            if let last = known.last, count < last.count { known = [] }
            if known.last?.count != count { known.append(Reading(at: now, count: count)) }
            // The reading that held when the window began is its base.
            while known.count > 1, known.count > Self.most || known[1].at <= now - Self.window { known.removeFirst() }
            readings[index] = known
        }
    }

    /// How often the carrier of an interface changed in the last minute, or since it is known.
    public func changes(of index: Int, upTo count: UInt32, at now: Duration) -> Int {
        let known = readings[index] ?? []
        guard let base = known.last(where: { $0.at <= now - Self.window }) ?? known.first, base.count <= count else {
            return 0
        }
        return Int(count - base.count)
    }
}
