// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Where time comes from: the one clock seam of the project.
///
/// Pure code has a `Duration` since boot as an argument; shells read it here; tests hand in a clock of their own.
public protocol TimeSource: Sendable {
    /// Time since boot with time asleep, `CLOCK_BOOTTIME`: deadlines, TTLs and ages.
    var boot: Duration { get }
    /// Time since boot without time asleep, `CLOCK_MONOTONIC`: only to find out how long the machine slept.
    var awake: Duration { get }
    /// The calendar, `CLOCK_REALTIME`: only for what people read.
    var wall: WallTime { get }
}

extension TimeSource {
    /// The calendar time of a time since boot, unless the calendar was stepped between then and now.
    public func calendar(at time: Duration) -> WallTime { wall + (time - boot) }
}

public struct KernelClock: TimeSource {
    /// The kernel's clocks; the value has no state.
    public init() {}

    /// `CLOCK_BOOTTIME`.
    public var boot: Duration { .nanoseconds(Self.read(CLOCK_BOOTTIME)) }
    /// `CLOCK_MONOTONIC`.
    public var awake: Duration { .nanoseconds(Self.read(CLOCK_MONOTONIC)) }
    /// `CLOCK_REALTIME`.
    public var wall: WallTime { WallTime(nanoseconds: Self.read(CLOCK_REALTIME)) }

    /// The time of a clock in nanoseconds.
    private static func read(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        unsafe clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}

extension Duration {
    /// Whole nanoseconds; holds 292 years.
    public var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }

    /// Seconds with a fraction, as JSON and metrics publish them.
    public var seconds: Double {
        let (seconds, attoseconds) = components
        return Double(seconds) + Double(attoseconds) / 1e18
    }
}
