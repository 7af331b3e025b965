// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// How many segments were sent and sent again in the last twenty seconds.
struct LossWindow: Hashable {
    static let length = 20

    private struct Second: Hashable {
        var number: Int64
        var segments: UInt32
        /// Those sent again, less those that turned out to have been received: they are reported later.
        var lost: Int
    }

    private var seconds: [Second] = []

    mutating func add(segments: UInt32, lost: Int, at now: Duration) {
        guard segments > 0 || lost != 0 else { return }
        let number = now.components.seconds
        if let last = seconds.indices.last, seconds[last].number == number {
            seconds[last].segments &+= segments
            seconds[last].lost += lost
        } else {
            seconds.removeAll { $0.number <= number - Int64(Self.length) }
            seconds.append(Second(number: number, segments: segments, lost: lost))
        }
    }

    /// The data segments sent, those sent again included, and how many of them were.
    func sum(at now: Duration) -> (segments: Int, lost: Int) {
        let start = now.components.seconds - Int64(Self.length)
        let sum = seconds.reduce(into: (segments: 0, lost: 0)) { sum, second in
            guard second.number > start else { return }
            sum.segments += Int(second.segments)
            sum.lost += second.lost
        }
        return (sum.segments, max(0, sum.lost))
    }

    /// The share that was sent again; `nil` of fewer than `least` segments.
    func ratio(at now: Duration, of least: Int = 1) -> Double? {
        let (segments, lost) = sum(at: now)
        return segments >= max(1, least) ? min(1, Double(lost) / Double(segments)) : nil
    }

    mutating func clear() { seconds = [] }
}
