// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import LinuxIO

/// How long to wait before the next attempt to reach the daemon: ever longer, up to a bound.
struct Backoff: Equatable {
    private static let first = Duration.milliseconds(50)
    private static let longest = Duration.seconds(1)
    private var last: Duration?

    mutating func next() -> Duration {
        let pause = last.map { min($0 * 2, Self.longest) } ?? Self.first
        last = pause
        return pause
    }

    /// Begins with short pauses again.
    mutating func reset() { last = nil }
}

/// Lets time pass; only for commands, which have nothing else to do.
enum Pause {
    /// Sleeps, nanosleep(2).
    static func sleep(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        var wanted = timespec(tv_sec: Int(max(0, seconds)), tv_nsec: Int(max(0, attoseconds) / 1_000_000_000))
        var rest = timespec()
        while unsafe nanosleep(&wanted, &rest) != 0 && errno == EINTR { wanted = rest }
    }
}
