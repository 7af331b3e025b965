// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Netlink
import PathModel
import TestSupport
import Testing

/// Finding out about sleep (rule S49).
@Suite struct SleepDetectorTests {
    @Test func `the first look compares with nothing (S49)`() {
        var detector = SleepDetector()
        #expect(detector.observe(boot: .seconds(5000), awake: .seconds(100)) == nil)
    }

    @Test func `a gap between the clocks is sleep, told once (S49)`() {
        var detector = SleepDetector()
        _ = detector.observe(boot: .seconds(100), awake: .seconds(100))
        #expect(detector.observe(boot: .seconds(130), awake: .seconds(130)) == nil)
        #expect(detector.observe(boot: .seconds(3730), awake: .seconds(140)) == .seconds(3590))
        #expect(detector.observe(boot: .seconds(3740), awake: .seconds(150)) == nil)
    }

    @Test func `noise of reading two clocks is no sleep (S49)`() {
        var detector = SleepDetector()
        var random = SeededRandom(seed: 8)
        for second in 0..<500 {
            let jitter = Duration.microseconds(Int.random(in: -400...400, using: &random))
            #expect(detector.observe(boot: .seconds(second) + jitter, awake: .seconds(second)) == nil)
        }
    }
}
