// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import LinuxIO
import TestSupport
import Testing

@testable import Probes

@Suite struct ProbeRecordTests {
    /// The beginning of a day.
    static let start = WallTime(nanoseconds: 1_795_132_800_000_000_000)

    static func answer(_ duration: Duration) -> ProbeResult { ProbeResult(.success, duration: duration) }

    static let loss = ProbeResult(.failure(.timeout, detail: ""), duration: .seconds(1))

    /// A duration from 1 us to 5 min, as often between any two powers of ten.
    static func duration(_ generator: inout SeededRandom) -> Duration {
        let digits = Int.random(in: 3...11, using: &generator)
        let ten = (0..<digits).reduce(Int64(1)) { power, _ in power * 10 }
        return min(.seconds(300), .nanoseconds(Int64.random(in: ten...ten * 10, using: &generator)))
    }

    private func steps(
        _ record: ProbeRecord,
        since: Duration,
        until: Duration,
        step: Duration
    ) -> (steps: [ProbeRecord.Step], total: ProbeSummary) {
        let now = Self.start + until
        return record.steps(since: Self.start + since, until: now, step: step, at: now)
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func `quantiles are within five percent of the exact ones`(seed: UInt64) throws {
        var generator = SeededRandom(seed: seed)
        for count in [1, 2, 3, 19, 20, 21, 500] {
            var record = ProbeRecord()
            var durations: [Duration] = []
            for second in 0..<count {
                durations.append(Self.duration(&generator))
                record.append(Self.answer(durations[second]), at: Self.start + .seconds(second))
            }
            durations.sort()
            let total = steps(record, since: .zero, until: .seconds(count), step: .seconds(5)).total
            #expect(total.sent == count && total.lost == 0 && total.minimum == durations[0])
            for percent in 1...100 {
                let exact = durations[max(1, (count * percent + 99) / 100) - 1]
                let found = try #require(total.quantile(percent: percent))
                #expect(abs(found.seconds / exact.seconds - 1) <= 0.05, "\(percent) % of \(count): \(found), \(exact)")
            }
            #expect(total.median == total.quantile(percent: 50) && total.p95 == total.quantile(percent: 95))
        }
    }

    @Test(arguments: [Duration.nanoseconds(0), .nanoseconds(1), .nanoseconds(999), .seconds(301), .seconds(86_400)])
    func `what is off the scale is counted at its end, and its minimum is exact`(duration: Duration) throws {
        var record = ProbeRecord()
        record.append(Self.answer(duration), at: Self.start)
        let total = steps(record, since: .zero, until: .seconds(5), step: .seconds(5)).total
        #expect(total.sent == 1 && total.minimum == duration)
        #expect(try #require(total.median) >= duration)
        let bucket = Int(DurationScale.bucket(of: duration))
        #expect(bucket == (duration < .microseconds(1) ? 0 : DurationScale.count - 1))
    }

    @Test(arguments: [4, 5] as [UInt64])
    func `cells that are merged come to the same as one`(seed: UInt64) {
        var generator = SeededRandom(seed: seed)
        var record = ProbeRecord()
        for second in stride(from: 0, to: 3600, by: 2) {
            let isLost = Int.random(in: 0..<5, using: &generator) == 0
            let result = isLost ? Self.loss : Self.answer(Self.duration(&generator))
            record.append(result, at: Self.start + .seconds(second))
        }
        let hour = steps(record, since: .zero, until: .seconds(3600), step: .seconds(3600))
        #expect(hour.steps.map(\.summary) == [hour.total] && hour.total.sent == 1800)
        for step in [5, 10, 30, 600, 1200, 3600] {
            let (steps, total) = steps(record, since: .zero, until: .seconds(3600), step: .seconds(step))
            #expect(total == hour.total, "\(step)")
            #expect(steps.count == 3600 / step)
            #expect(steps.reduce(0) { $0 + $1.summary.sent } == 1800)
            #expect(steps.reduce(0) { $0 + $1.summary.lost } == total.lost)
        }
        // Each tier has it all.
        for tier in ProbeTier.allCases { #expect(record[tier].reduce(0) { $0 + Int($1.sent) } == 1800) }
    }

    @Test func `the share of losses, and steps in which nothing was asked`() {
        var record = ProbeRecord()
        for second in [0, 3, 20, 21] { record.append(Self.loss, at: Self.start + .seconds(second)) }
        record.append(Self.answer(.milliseconds(2)), at: Self.start + .seconds(22))
        record.append(ProbeResult(.notAssessed(advice: "x")), at: Self.start + .seconds(40))
        let (steps, total) = steps(record, since: .zero, until: .seconds(60), step: .seconds(10))
        #expect(steps.map(\.start) == [Self.start, Self.start + .seconds(20)])
        #expect(steps.map(\.summary.sent) == [2, 3] && steps.map(\.summary.lost) == [2, 2])
        #expect(steps[0].summary.minimum == nil && steps[0].summary.median == nil && steps[0].summary.p95 == nil)
        #expect(total.lossPercent == 80 && ProbeSummary().lossPercent == nil)
        #expect(self.steps(record, since: .seconds(10), until: .seconds(20), step: .seconds(10)).steps.isEmpty)
    }

    @Test(
        arguments: [
            (0, .fine), (3600, .fine), (3900, .fine), (3901, .medium), (604_800, .medium), (608_401, .coarse),
            (2_592_000, .coarse), (31_536_000, .coarse),
        ] as [(Int, ProbeTier)]
    )
    func `the finest cells that reach back far enough are chosen`(age: Int, tier: ProbeTier) {
        #expect(ProbeTier.finest(reachingTo: Self.start - .seconds(age), at: Self.start) == tier)
    }
}

@Suite(.computing) struct ProbeRecordBoundTests {
    private static let start = ProbeRecordTests.start

    @Test func `a probe takes no more than it may, whatever it measures`() {
        var record = ProbeRecord()
        var generator = SeededRandom(seed: 6)
        for tier in ProbeTier.allCases {
            let buckets = Self.fullestBuckets(tier)
            let list = (0..<tier.capacity + 50).compactMap { index in
                ProbeCell(
                    start: Self.start - tier.step * (tier.capacity + 49 - index),
                    sent: tier.mostAttempts,
                    lost: 0,
                    minimum: .microseconds(1),
                    buckets: buckets
                )
            }
            record.restore(list, to: tier, at: Self.start)
            #expect(record[tier].count == tier.capacity)
        }
        for second in 0..<20 {
            record.append(
                ProbeRecordTests.answer(ProbeRecordTests.duration(&generator)),
                at: Self.start + .seconds(second)
            )
        }
        #expect(record.storedBytes > ProbeRecord.mostBytes / 2)
        #expect(record.storedBytes <= ProbeRecord.mostBytes)
        #expect(ProbeRecord.mostBytes < 1_100_000)
    }

    /// As many entries as attempts allow: every bucket, and as full as the rest makes the last one.
    private static func fullestBuckets(_ tier: ProbeTier) -> [(bucket: Int, count: Int)] {
        let count = min(tier.mostAttempts, DurationScale.count)
        return (0..<count).map { ($0, $0 == count - 1 ? tier.mostAttempts - count + 1 : 1) }
    }

    @Test func `a month of an ordinary probe takes a fraction of it`() {
        var record = ProbeRecord()
        var generator = SeededRandom(seed: 7)
        for attempt in 0..<86_400 {
            let duration = Duration.microseconds(Int.random(in: 8000...24_000, using: &generator))
            record.append(ProbeRecordTests.answer(duration), at: Self.start + .seconds(attempt * 30))
        }
        #expect(record[.coarse].count == 720 && record[.medium].count <= ProbeTier.medium.capacity)
        #expect(record.storedBytes < 300_000, "\(record.storedBytes)")
    }

    @Test func `cells are dropped when they are too old`() {
        var record = ProbeRecord()
        for minute in 0..<31 * 24 * 60 {
            record.append(ProbeRecordTests.loss, at: Self.start + .seconds(minute * 60))
            for tier in ProbeTier.allCases { #expect(record[tier].count <= tier.capacity) }
        }
        let now = Self.start + .seconds((31 * 24 * 60 - 1) * 60)
        for tier in ProbeTier.allCases {
            #expect(record[tier].allSatisfy { $0.start >= now - tier.reach })
            let latest = now - tier.reach + tier.step + .seconds(60)
            #expect((record[tier].first?.start ?? now) <= latest)
        }
    }

    @Test func `one moment that comes again and again does not overflow`() {
        var record = ProbeRecord()
        for _ in 0..<10_000 { record.append(ProbeRecordTests.answer(.milliseconds(1)), at: Self.start) }
        for tier in ProbeTier.allCases { #expect(record[tier].map { Int($0.sent) } == [tier.mostAttempts]) }
        #expect(record[.coarse][0].buckets.map(\.count) == [ProbeTier.coarse.mostAttempts])
    }

    @Test func `a calendar that goes back leaves nothing in the future, and cells stay in order`() {
        var record = ProbeRecord()
        for second in stride(from: 0, to: 7200, by: 5) {
            record.append(ProbeRecordTests.loss, at: Self.start + .seconds(second))
        }
        let back = Self.start + .seconds(3000)
        record.append(ProbeRecordTests.answer(.milliseconds(1)), at: back)
        for tier in ProbeTier.allCases {
            #expect(record[tier].allSatisfy { $0.start <= back })
            #expect(zip(record[tier], record[tier].dropFirst()).allSatisfy { $0.start < $1.start })
            #expect(record[tier].last?.minimum == .milliseconds(1))
        }
        #expect(record[.medium].map(\.start) == (0...5).map { Self.start + .seconds($0 * 600) })
    }

    @Test func `a calendar that goes far forward leaves nothing of before`() {
        var record = ProbeRecord()
        record.append(ProbeRecordTests.loss, at: Self.start)
        let later = Self.start + .seconds(400 * 86_400)
        record.append(ProbeRecordTests.loss, at: later)
        for tier in ProbeTier.allCases { #expect(record[tier].map(\.start) == [tier.start(of: later)]) }
    }

    @Test func `a calendar before 1970 is one too`() {
        var record = ProbeRecord()
        record.append(ProbeRecordTests.loss, at: WallTime(nanoseconds: -1))
        record.append(ProbeRecordTests.loss, at: WallTime(nanoseconds: 1))
        #expect(record[.fine].map(\.start.nanoseconds) == [-5_000_000_000, 0])
    }

    @Test func `numbers that contradict each other make no cell`() {
        func cell(_ sent: Int, _ lost: Int, _ minimum: Duration?, _ buckets: [(bucket: Int, count: Int)]) -> ProbeCell?
        {
            ProbeCell(start: Self.start, sent: sent, lost: lost, minimum: minimum, buckets: buckets)
        }
        #expect(cell(3, 1, .microseconds(1), [(0, 1), (7, 1)]) != nil)
        #expect(cell(3, 3, nil, []) != nil)
        #expect(cell(0, 0, nil, []) == nil)
        #expect(cell(3, 4, nil, []) == nil)
        #expect(cell(3, -1, .microseconds(1), [(0, 4)]) == nil)
        #expect(cell(ProbeTier.mostAttempts + 1, ProbeTier.mostAttempts + 1, nil, []) == nil)
        #expect(cell(3, 1, .microseconds(1), [(0, 1)]) == nil)
        #expect(cell(3, 1, .microseconds(1), [(7, 1), (0, 1)]) == nil)
        #expect(cell(3, 1, .microseconds(1), [(0, 1), (0, 1)]) == nil)
        #expect(cell(3, 1, .microseconds(1), [(0, 1), (205, 1)]) == nil)
        #expect(cell(3, 1, .microseconds(1), [(0, 3), (1, -1)]) == nil)
        #expect(cell(3, 1, .microseconds(1), [(0, .max), (1, .max)]) == nil)
        #expect(cell(3, 1, .milliseconds(1), [(0, 1), (7, 1)]) == nil)
        #expect(cell(3, 1, .microseconds(-1), [(0, 2)]) == nil)
        #expect(cell(3, 1, nil, [(0, 2)]) == nil)
        #expect(cell(3, 3, .microseconds(1), []) == nil)
    }
}
