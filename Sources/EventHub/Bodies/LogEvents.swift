// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Documents
public import OrderedJSON

/// `log.opened`: a log file begins, or is written on after a restart.
public struct LogOpened: EventBody, MemberDeclaring {
    public enum Reason: String, Sendable, CaseIterable {
        case started
        /// The file before it reached its size or age.
        case rotated
        /// The operator requested it, by SIGUSR1 for instance.
        case reopened
        /// The file was removed, renamed or replaced by somebody else.
        case replaced
        /// The file was cut by somebody else.
        case truncated
    }

    let file: String
    let reason: Reason
    let previousSequence: UInt64?
    let inode: UInt64
    let repairedBytes: Int
    let identity: DaemonIdentity

    /// Describes a file just opened.
    ///
    /// - Parameters:
    ///   - file: Its path.
    ///   - reason: Why it was opened.
    ///   - previousSequence: The number of the last record before this one; `nil` without a past.
    ///   - inode: Its inode number.
    ///   - repairedBytes: How many bytes of a torn last line were cut away.
    ///   - identity: Who writes it.
    public init(
        file: String,
        reason: Reason,
        previousSequence: UInt64?,
        inode: UInt64,
        repairedBytes: Int,
        identity: DaemonIdentity
    ) {
        self.file = file
        self.reason = reason
        self.previousSequence = previousSequence
        self.inode = inode
        self.repairedBytes = repairedBytes
        self.identity = identity
    }

    public var name: EventName { .logOpened }
    public var severity: Severity { .info }
    public var message: String { "Event log opened" }

    public static let members = Members<Self>.object()
        .member(
            "log",
            of: .object("What is known of the file.")
                .member("file", "Its path.") { $0.file }
                .added("reason", as: .oneOf(Reason.self), "Why it was opened.") { $0.reason.rawValue }
                .member("previous_seq", "The last record before this one; `null` without a past.") {
                    $0.previousSequence
                }
                .added("inode") { $0.inode }
                .member("boot_id", "The kernel's boot id, 32 hexadecimal digits; `null` when unreadable.") {
                    $0.identity.bootID
                }
                .added("repaired_bytes", "How many bytes of a torn last line were cut away.") { $0.repairedBytes }
        )
        .member(
            "daemon",
            "Who writes it.",
            of: .object()
                .member("version") { $0.identity.version }
                .member("revision", "The source revision it was built from; `unknown` where none was set.") {
                    $0.identity.revision
                }
                .member("pid") { Int($0.identity.processID) }
        )
}

/// `log.gap`: events were published that could not be written; their numbers are missing from the log.
public struct LogGap: EventBody, MemberDeclaring {
    let file: String
    let lost: ClosedRange<UInt64>
    let error: String
    let duration: Duration

    /// Describes a gap.
    ///
    /// - Parameters:
    ///   - file: The log that could not be written.
    ///   - lost: The numbers that are missing.
    ///   - error: The first error's name, such as `ENOSPC`.
    ///   - duration: How long the log could not be written.
    public init(file: String, lost: ClosedRange<UInt64>, error: String, duration: Duration) {
        self.file = file
        self.lost = lost
        self.error = error
        self.duration = duration
    }

    public var name: EventName { .logGap }
    public var severity: Severity { .warning }
    public var message: String {
        let events = count == 1 ? "1 event is" : "\(count) events are"
        return "\(events) missing from the log: \(error)"
    }

    private var count: UInt64 { lost.upperBound - lost.lowerBound + 1 }

    public static let members = Members<Self>.object().member(
        "log",
        of: .object()
            .member("file", "The log that could not be written.") { $0.file }
            .member("first_seq", as: .integer(from: 1), "The first of the records that are missing.") {
                $0.lost.lowerBound
            }
            .member("last_seq", as: .integer(from: 1), "The last of them.") { $0.lost.upperBound }
            .member("lost", as: .integer(from: 1), "How many they are.") { $0.count }
            .member("error", "The first error's name, such as `ENOSPC`.") { $0.error }
            .member("duration_seconds", as: .seconds, "How long the log could not be written.") {
                Rounded.seconds($0.duration)
            }
    )
}
