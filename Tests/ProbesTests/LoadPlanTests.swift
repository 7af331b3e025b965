// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Testing

@testable import Probes

@Suite struct LoadPlanTests {
    private static func page(_ path: String) throws -> LoadOrder.Page {
        LoadOrder.Page(try #require(PageAddress("http://a.test\(path)")), at: ScopedAddress(.v4(0xC000_0202)))
    }

    private static func plan(
        _ directions: [LoadDirection] = LoadDirection.allCases,
        isSmall: Bool = true,
        bytes: Int = 40_000_000,
        seconds: Int = 5
    ) throws -> LoadPlan {
        var order = LoadOrder()
        if directions.contains(.down) { order.download = try page("/large") }
        if directions.contains(.up) { order.upload = try page("/slurp") }
        if isSmall { order.small = try page("/small") }
        order.maximumBytes = bytes
        order.maximumDuration = .seconds(seconds)
        return LoadPlan(order)
    }

    @Test(
        arguments: [
            ([.down, .up], true, 40_000_000, 5), ([.down], true, 40_000_000, 5), ([.up], false, 6_000_000, 6),
            ([.down, .up], true, 1_000_000, 1), ([.down, .up], false, 1_000_000, 6),
        ] as [([LoadDirection], Bool, Int, Int)]
    )
    func `time and bytes stay within the order`(
        directions: [LoadDirection],
        isSmall: Bool,
        bytes: Int,
        seconds: Int
    ) throws {
        let plan = try Self.plan(directions, isSmall: isSmall, bytes: bytes, seconds: seconds)
        #expect(plan.directions == directions)
        #expect(plan.idle + plan.loading * directions.count <= .seconds(seconds))
        #expect(plan.loading > .milliseconds(300))
        let pairs = plan.idlePairs + plan.loadedPairs * directions.count
        #expect(pairs * LoadPlan.pairCost + plan.share * LoadPlan.flows * directions.count <= bytes)
        #expect((pairs == 0) == !isSmall)
        #expect(!isSmall || plan.idlePairs > 0 && plan.loadedPairs > 0)
    }

    @Test func `without a small page the whole time is for the load`() throws {
        let plan = try Self.plan(isSmall: false, seconds: 4)
        #expect(plan.idle == .zero && plan.loading == .seconds(2))
    }

    @Test func `nothing to load is no plan`() throws {
        #expect(try Self.plan([]).directions.isEmpty)
    }
}

@Suite struct LoadMeterTests {
    private static func meter(_ samples: [(milliseconds: Int, bytes: Int)]) -> LoadMeter {
        var meter = LoadMeter()
        for sample in samples { meter.note(sample.bytes, at: .milliseconds(sample.milliseconds)) }
        return meter
    }

    @Test func `a steady load is what it is`() {
        let meter = Self.meter((0...20).map { (100 + $0 * 50, $0 * 62_500) })
        #expect(meter.megabitsPerSecond == 10)
    }

    @Test func `a slow start does not count`() {
        let meter = Self.meter([(0, 0), (100, 0), (200, 1_000), (250, 2_000), (500, 252_000), (1000, 752_000)])
        #expect(meter.megabitsPerSecond == 8)
    }

    @Test(
        arguments: [([], 0), ([(5, 9)], 0), ([(0, 0), (100, 125_000)], 10), ([(0, 0), (100, 0)], 0)]
            as [([(Int, Int)], Double)]
    )
    func `few samples are all there is`(samples: [(Int, Int)], expected: Double) {
        #expect(Self.meter(samples.map { (milliseconds: $0.0, bytes: $0.1) }).megabitsPerSecond == expected)
    }

    @Test func `time and bytes do not run backwards`() {
        let meter = Self.meter([(0, 0), (100, 100_000), (50, 5), (100, 900_000), (150, 50_000), (200, 250_000)])
        #expect(meter.megabitsPerSecond == 10)
    }

    @Test func `what arrives between two samples is counted, however late they are`() {
        // Seen on a busy machine: all bytes had arrived when the second sample was taken, and none came after it.
        let meter = Self.meter([(0, 0), (1, 0), (40, 500_000), (41, 500_000)])
        #expect((95...105).contains(meter.megabitsPerSecond))
    }
}
