// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Tells throughput from how many bytes had arrived when; the first quarter of the time, in which connections are still
/// finding their pace, does not count.
struct LoadMeter {
    private var samples: [(time: Duration, bytes: Int)] = []

    /// Notes how many bytes arrived until now; what does not lie after the sample before is passed over.
    mutating func note(_ bytes: Int, at time: Duration) {
        if let last = samples.last, time <= last.time || bytes < last.bytes { return }
        samples.append((time, bytes))
    }

    /// Megabits per second; 0 before two samples.
    var megabitsPerSecond: Double {
        guard let first = samples.first, let last = samples.last, last.time > first.time else { return 0 }
        let settled = first.time + (last.time - first.time) / 4
        // On a fast line everything may have arrived between two samples, so the one before counts, not the one after.
        let start = samples.last { $0.time <= settled } ?? first
        return Double(last.bytes - start.bytes) * 8 / ((last.time - start.time) / .microseconds(1))
    }
}
