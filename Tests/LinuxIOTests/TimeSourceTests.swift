// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxIO
import TestSupport
import Testing

@Suite struct TimeSourceTests {
    @Test func `the kernel's clocks run forward, and boot time counts sleep too`() {
        let clock = KernelClock()
        var boot = clock.boot
        var awake = clock.awake
        #expect(boot >= awake - .milliseconds(100))
        for _ in 0..<1000 {
            let (nextBoot, nextAwake) = (clock.boot, clock.awake)
            #expect(nextBoot >= boot && nextAwake >= awake)
            (boot, awake) = (nextBoot, nextAwake)
        }
    }

    @Test func `a moment since boot has its place in the calendar`() {
        let clock = ManualClock()
        #expect(clock.calendar(at: clock.boot) == clock.wall)
        #expect(clock.calendar(at: clock.boot - .seconds(3)) == clock.wall - .seconds(3))
        #expect(clock.calendar(at: clock.boot + .nanoseconds(1)) == clock.wall + .nanoseconds(1))
    }

    @Test func `the calendar is that of the C library`() {
        let before = Int64(time(nil))
        let seconds = KernelClock().wall.nanoseconds / 1_000_000_000
        let after = Int64(time(nil))
        #expect((before - 1...after + 1).contains(seconds))
    }

    @Test(
        arguments: [
            (.zero, 0, 0), (.nanoseconds(1), 1, 1e-9), (.milliseconds(1500), 1_500_000_000, 1.5),
            (.seconds(-2), -2_000_000_000, -2), (.milliseconds(-250), -250_000_000, -0.25),
            (.seconds(9_000_000_000), 9_000_000_000_000_000_000, 9e9),
        ] as [(Duration, Int64, Double)]
    )
    func `durations are whole nanoseconds, or seconds with a fraction`(
        duration: Duration,
        nanoseconds: Int64,
        seconds: Double
    ) {
        #expect(duration.nanoseconds == nanoseconds)
        #expect(abs(duration.seconds - seconds) <= abs(seconds) * 1e-15)
    }

    @Test func `what is smaller than a nanosecond is cut off`() {
        #expect(Duration(secondsComponent: 1, attosecondsComponent: 999_999_999).nanoseconds == 1_000_000_000)
    }

    @Test func `a manual clock tells sleep, steps and time apart`() {
        let clock = ManualClock()
        let (boot, awake, wall) = (clock.boot, clock.awake, clock.wall)
        clock.advance(by: .seconds(1))
        clock.suspend(for: .seconds(10))
        clock.step(wallBy: .seconds(-100))
        #expect(clock.boot - boot == .seconds(11))
        #expect(clock.awake - awake == .seconds(1))
        #expect(clock.wall - wall == .seconds(-89))
    }
}
