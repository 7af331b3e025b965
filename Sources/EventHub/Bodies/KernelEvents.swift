// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Documents
public import OrderedJSON

/// `netlink.overrun`: the kernel's messages overran their buffer (`ENOBUFS`), and state was read again.
public struct NetlinkOverrun: EventBody, MemberDeclaring {
    let total: UInt64
    let resync: Duration
    let changesFound: Int

    /// Describes the overrun.
    ///
    /// - Parameters:
    ///   - total: How many overruns there were since the start.
    ///   - resync: The duration of reading the state again.
    ///   - changesFound: How many changes had been missed.
    public init(total: UInt64, resync: Duration, changesFound: Int) {
        self.total = total
        self.resync = resync
        self.changesFound = changesFound
    }

    public var name: EventName { .netlinkOverrun }
    public var severity: Severity { .warning }
    public var message: String { "Netlink receive buffer overrun; all state re-read from the kernel" }

    public static let members = Members<Self>.object().member(
        "netlink",
        of: .object()
            .member("overruns_total", "How many overruns there were since the start.") { $0.total }
            .member("resync_seconds", as: .seconds, "How long reading the state again took.") {
                Rounded.seconds($0.resync)
            }
            .member("changes_found", "How many changes had been missed.") { $0.changesFound }
    )
}

/// `clock.jumped`: the machine slept, the daemon did not run, or the calendar was stepped; it explains gaps between the
/// times of records.
public struct ClockJumped: EventBody, MemberDeclaring {
    public enum Cause: Sendable, Equatable {
        /// The machine slept this long (`CLOCK_BOOTTIME` ran ahead of `CLOCK_MONOTONIC`).
        case suspended(for: Duration)
        /// The daemon did not run for this long although the machine did: it was stopped, or not scheduled.
        case stalled(for: Duration)
        /// The system clock was stepped by this much, forward or back (`CLOCK_REALTIME`).
        case stepped(by: Duration)
    }

    let kind: String
    let jumpSeconds: Double

    public init(_ cause: Cause) {
        let jump: Duration
        switch cause {
        case .suspended(let duration): (kind, jump) = ("suspend", duration)
        case .stalled(let duration): (kind, jump) = ("stall", duration)
        case .stepped(let duration): (kind, jump) = ("step", duration)
        }
        jumpSeconds = Rounded.seconds(jump)
    }

    public var name: EventName { .clockJumped }
    public var severity: Severity { .info }
    public var message: String {
        let text = "\(abs(jumpSeconds))"
        let seconds = text.hasSuffix(".0") ? text.dropLast(2) : text[...]
        if kind == "suspend" { return "The machine was suspended for \(seconds) s" }
        if kind == "stall" { return "The service was stalled for \(seconds) s" }
        return "The system clock was stepped \(jumpSeconds < 0 ? "back" : "forward") by \(seconds) s"
    }

    public static let members = Members<Self>.object().member(
        "clock",
        of: .object()
            .member("kind", as: .words("suspend", "stall", "step")) { $0.kind }
            .member("jump_seconds", "Negative when the calendar was stepped back.") { $0.jumpSeconds }
    )
}
