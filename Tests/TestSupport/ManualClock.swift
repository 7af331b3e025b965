// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import LinuxIO
internal import Synchronization

/// A clock that stands until a test moves it.
public final class ManualClock: TimeSource {
    private let state: Mutex<(boot: Duration, awake: Duration, wall: WallTime)>

    /// Starts at 1,000 s after boot, on 2026-11-20 at noon.
    public init() {
        state = Mutex((.seconds(1000), .seconds(1000), WallTime(nanoseconds: 1_795_176_000_000_000_000)))
    }

    /// Time since boot, asleep or not.
    public var boot: Duration { state.withLock { $0.boot } }
    /// Time since boot without time asleep.
    public var awake: Duration { state.withLock { $0.awake } }
    /// The calendar.
    public var wall: WallTime { state.withLock { $0.wall } }

    /// Lets time pass.
    public func advance(by duration: Duration) {
        state.withLock { $0 = ($0.boot + duration, $0.awake + duration, $0.wall + duration) }
    }

    /// Lets time pass while the machine sleeps.
    public func suspend(for duration: Duration) {
        state.withLock { $0 = ($0.boot + duration, $0.awake, $0.wall + duration) }
    }

    /// Steps the calendar alone, as NTP does.
    public func step(wallBy duration: Duration) {
        state.withLock { $0.wall = $0.wall + duration }
    }
}
