// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Documents
public import OrderedJSON

/// `netlink.overrun`: the kernel's messages overran their buffer (`ENOBUFS`), and state was read again.
public struct NetlinkOverrun: EventBody {
    struct Netlink: JSONObjectWritable, Sendable {
        let overrunsTotal: UInt64
        let resyncSeconds: Double
        let changesFound: Int

        func write(to object: inout JSONObjectWriter) {
            object.write("overruns_total", overrunsTotal)
            object.write("resync_seconds", resyncSeconds)
            object.write("changes_found", changesFound)
        }
    }

    let netlink: Netlink

    /// Describes the overrun.
    ///
    /// - Parameters:
    ///   - total: How many overruns there were since the start.
    ///   - resync: The duration of reading the state again.
    ///   - changesFound: How many changes had been missed.
    public init(total: UInt64, resync: Duration, changesFound: Int) {
        netlink = Netlink(
            overrunsTotal: total,
            resyncSeconds: Rounded.seconds(resync),
            changesFound: changesFound
        )
    }

    public var name: EventName { .netlinkOverrun }
    public var severity: Severity { .warning }
    public var message: String { "Netlink receive buffer overrun; all state re-read from the kernel" }

    public func write(to object: inout JSONObjectWriter) { object.write("netlink", netlink) }
}

/// `clock.jumped`: the machine slept, the daemon did not run, or the calendar was stepped; it explains gaps between the
/// times of records.
public struct ClockJumped: EventBody {
    public enum Cause: Sendable, Equatable {
        /// The machine slept this long (`CLOCK_BOOTTIME` ran ahead of `CLOCK_MONOTONIC`).
        case suspended(for: Duration)
        /// The daemon did not run for this long although the machine did: it was stopped, or not scheduled.
        case stalled(for: Duration)
        /// The system clock was stepped by this much, forward or back (`CLOCK_REALTIME`).
        case stepped(by: Duration)
    }

    struct Clock: JSONObjectWritable, Sendable {
        let kind: String
        let jumpSeconds: Double

        func write(to object: inout JSONObjectWriter) {
            object.write("kind", kind)
            object.write("jump_seconds", jumpSeconds)
        }
    }

    let clock: Clock

    public init(_ cause: Cause) {
        switch cause {
        case .suspended(let duration): clock = Clock(kind: "suspend", jumpSeconds: Rounded.seconds(duration))
        case .stalled(let duration): clock = Clock(kind: "stall", jumpSeconds: Rounded.seconds(duration))
        case .stepped(let duration): clock = Clock(kind: "step", jumpSeconds: Rounded.seconds(duration))
        }
    }

    public var name: EventName { .clockJumped }
    public var severity: Severity { .info }
    public var message: String {
        let text = "\(abs(clock.jumpSeconds))"
        let seconds = text.hasSuffix(".0") ? text.dropLast(2) : text[...]
        if clock.kind == "suspend" { return "The machine was suspended for \(seconds) s" }
        if clock.kind == "stall" { return "The service was stalled for \(seconds) s" }
        return "The system clock was stepped \(clock.jumpSeconds < 0 ? "back" : "forward") by \(seconds) s"
    }

    public func write(to object: inout JSONObjectWriter) { object.write("clock", clock) }
}

extension NetlinkOverrun {
    public static var form: Form { .object().member("netlink", Netlink.form) }
}

extension NetlinkOverrun.Netlink {
    static var form: Form {
        .object()
            .member("overruns_total", .count, "How many overruns there were since the start.")
            .member("resync_seconds", .seconds, "How long reading the state again took.")
            .member("changes_found", .count, "How many changes had been missed.")
    }
}

extension ClockJumped {
    public static var form: Form { .object().member("clock", Clock.form) }
}

extension ClockJumped.Clock {
    static var form: Form {
        .object()
            .member("kind", .words("suspend", "stall", "step"))
            .member("jump_seconds", .number, "Negative when the calendar was stepped back.")
    }
}
