// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Netlink
import PathModel
import TestSupport
import Testing

/// Link quality that does not dither (rule S39).
@Suite struct LinkQualityMeterTests {
    @Test(
        arguments: [
            (.unknown, .unknown), (.wireless(signal: -40), .good), (.wireless(signal: -60), .good),
            (.wireless(signal: -61), .moderate), (.wireless(signal: -72), .moderate),
            (.wireless(signal: -73), .minimal),
            (.cellular(percent: 60), .good), (.cellular(percent: 59), .moderate), (.cellular(percent: 30), .moderate),
            (.cellular(percent: 29), .minimal), (.wired(megabits: 1000, isFullDuplex: true), .good),
            (.wired(megabits: 100, isFullDuplex: true), .good), (.wired(megabits: 100, isFullDuplex: false), .unknown),
            (.wired(megabits: 10, isFullDuplex: true), .unknown),
            (.wired(megabits: 10, isFullDuplex: false), .minimal),
            (.wired(megabits: -1, isFullDuplex: true), .unknown), (.wired(megabits: 0, isFullDuplex: false), .unknown),
        ] as [(LinkReading, LinkQuality)]
    )
    func `a first reading is graded as it is (S39)`(reading: LinkReading, quality: LinkQuality) {
        var meter = LinkQualityMeter()
        #expect(meter.read(reading, at: .zero) == quality)
        #expect(meter.quality == quality)
    }

    @Test func `a border has to be passed by the hysteresis (S39)`() {
        var meter = LinkQualityMeter(holdTime: .zero)
        let steps: [(Int, LinkQuality)] = [
            (-55, .good), (-61, .good), (-62, .good), (-63, .moderate), (-60, .moderate), (-59, .moderate),
            (-58, .good),
            (-74, .moderate), (-75, .minimal), (-72, .minimal), (-71, .minimal), (-70, .moderate), (-50, .good),
            (-90, .minimal),
        ]
        for (step, (signal, quality)) in steps.enumerated() {
            #expect(meter.read(.wireless(signal: signal), at: .seconds(step)) == quality, "step \(step)")
        }
    }

    @Test func `changes are thirty seconds apart (S39)`() {
        var meter = LinkQualityMeter()
        #expect(meter.read(.wireless(signal: -50), at: .seconds(100)) == .good)
        #expect(meter.read(.wireless(signal: -90), at: .seconds(101)) == .minimal)
        #expect(meter.read(.wireless(signal: -50), at: .seconds(102)) == .minimal)
        #expect(meter.read(.wireless(signal: -50), at: .seconds(130)) == .minimal)
        #expect(meter.read(.wireless(signal: -50), at: .seconds(131)) == .good)
    }

    @Test func `a signal that dithers around a border changes nothing (S39)`() {
        var meter = LinkQualityMeter(holdTime: .zero)
        var random = SeededRandom(seed: 21)
        _ = meter.read(.wireless(signal: -58), at: .zero)
        for second in 1..<500 {
            let signal = -60 + Int.random(in: -2...2, using: &random)
            #expect(meter.read(.wireless(signal: signal), at: .seconds(second)) == .good)
        }
    }
}
