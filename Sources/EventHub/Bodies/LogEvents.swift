// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Documents
public import OrderedJSON

/// `log.opened`: a log file begins, or is written on after a restart.
public struct LogOpened: EventBody {
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

    /// What is known of the file.
    struct Log: JSONObjectWritable, Sendable {
        let file: String
        let reason: Reason
        var previousSeq: UInt64?
        let inode: UInt64
        var bootId: String?
        let repairedBytes: Int

        func write(to object: inout JSONObjectWriter) {
            object.write("file", file)
            object.write("reason", reason.rawValue)
            object.write("previous_seq", previousSeq)
            object.write("inode", inode)
            object.write("boot_id", bootId)
            object.write("repaired_bytes", repairedBytes)
        }
    }

    struct Daemon: JSONObjectWritable, Sendable {
        let version: String
        let revision: String
        let pid: Int32

        func write(to object: inout JSONObjectWriter) {
            object.write("version", version)
            object.write("revision", revision)
            object.write("pid", Int(pid))
        }
    }

    let log: Log
    let daemon: Daemon

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
        log = Log(
            file: file,
            reason: reason,
            previousSeq: previousSequence,
            inode: inode,
            bootId: identity.bootID,
            repairedBytes: repairedBytes
        )
        daemon = Daemon(version: identity.version, revision: identity.revision, pid: identity.processID)
    }

    public var name: EventName { .logOpened }
    public var severity: Severity { .info }
    public var message: String { "Event log opened" }

    public func write(to object: inout JSONObjectWriter) {
        object.write("log", log)
        object.write("daemon", daemon)
    }
}

/// `log.gap`: events were published that could not be written; their numbers are missing from the log.
public struct LogGap: EventBody {
    struct Log: JSONObjectWritable, Sendable {
        let file: String
        let firstSeq: UInt64
        let lastSeq: UInt64
        let lost: UInt64
        let error: String
        let durationSeconds: Double

        func write(to object: inout JSONObjectWriter) {
            object.write("file", file)
            object.write("first_seq", firstSeq)
            object.write("last_seq", lastSeq)
            object.write("lost", lost)
            object.write("error", error)
            object.write("duration_seconds", durationSeconds)
        }
    }

    let log: Log

    /// Describes a gap.
    ///
    /// - Parameters:
    ///   - file: The log that could not be written.
    ///   - lost: The numbers that are missing.
    ///   - error: The first error's name, such as `ENOSPC`.
    ///   - duration: How long the log could not be written.
    public init(file: String, lost: ClosedRange<UInt64>, error: String, duration: Duration) {
        log = Log(
            file: file,
            firstSeq: lost.lowerBound,
            lastSeq: lost.upperBound,
            lost: lost.upperBound - lost.lowerBound + 1,
            error: error,
            durationSeconds: Rounded.seconds(duration)
        )
    }

    public var name: EventName { .logGap }
    public var severity: Severity { .warning }
    public var message: String {
        let events = log.lost == 1 ? "1 event is" : "\(log.lost) events are"
        return "\(events) missing from the log: \(log.error)"
    }

    public func write(to object: inout JSONObjectWriter) { object.write("log", log) }
}

// MARK: - Forms

extension LogOpened {
    public static var form: Form {
        .object()
            .member("log", Log.form)
            .member("daemon", Daemon.form, "Who writes it.")
    }
}

extension LogOpened.Log {
    static var form: Form {
        .object("What is known of the file.")
            .member("file", .text, "Its path.")
            .added("reason", .oneOf(LogOpened.Reason.self), "Why it was opened.")
            .member("previous_seq", .count.orNull, "The last record before this one; `null` without a past.")
            .added("inode", .count)
            .member("boot_id", .text.orNull, "The kernel's boot id, 32 hexadecimal digits; `null` when unreadable.")
            .added("repaired_bytes", .count, "How many bytes of a torn last line were cut away.")
    }
}

extension LogOpened.Daemon {
    static var form: Form {
        .object()
            .member("version", .text)
            .member("revision", .text, "The source revision it was built from; `unknown` where none was set.")
            .member("pid", .count)
    }
}

extension LogGap {
    public static var form: Form { .object().member("log", Log.form) }
}

extension LogGap.Log {
    static var form: Form {
        .object()
            .member("file", .text, "The log that could not be written.")
            .member("first_seq", .integer(from: 1), "The first of the records that are missing.")
            .member("last_seq", .integer(from: 1), "The last of them.")
            .member("lost", .integer(from: 1), "How many they are.")
            .member("error", .text, "The first error's name, such as `ENOSPC`.")
            .member("duration_seconds", .seconds, "How long the log could not be written.")
    }
}
