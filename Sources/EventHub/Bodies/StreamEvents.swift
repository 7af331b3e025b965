// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import OrderedJSON

/// `stream.reset`: what a reader of a stream missed is no longer there; the state as of now comes with it.
///
/// Only on streams, with the number of the newest event, and never in the log.
public struct StreamReset: EventBody {
    /// Why there is something missing.
    public enum Reason: String, Sendable, CaseIterable {
        /// The log no longer holds what came after the requested position.
        case tooOld = "too_old"
        /// The requested position is in another log.
        case otherStream = "other_stream"
        /// The reader was too slow.
        case slowClient = "slow_client"
    }

    struct Reset: JSONObjectWritable, Sendable {
        let reason: String

        func write(to object: inout JSONObjectWriter) { object.write("reason", reason) }
    }

    let reset: Reset
    var snapshot: JSONValue?
    private let reason: Reason

    /// Describes what a reader missed.
    public init(_ reason: Reason, snapshot: JSONValue?) {
        reset = Reset(reason: reason.rawValue)
        self.reason = reason
        self.snapshot = snapshot
    }

    public var name: EventName { .streamReset }
    public var severity: Severity { .warning }
    public var message: String {
        switch reason {
        case .otherStream: "A new log was started; this is the current state"
        case .slowClient: "Events were dropped, because the client read too slowly"
        case .tooOld: "Earlier events are no longer in the log; this is the current state"
        }
    }

    public func write(to object: inout JSONObjectWriter) {
        object.write("reset", reset)
        object.write("snapshot", snapshot)
    }
}

/// `stream.closed`: the last of a stream that the daemon ends.
///
/// Only on streams, with the number of the newest event, and never in the log.
public struct StreamClosed: EventBody {
    struct Closed: JSONObjectWritable, Sendable {
        let reason: String

        func write(to object: inout JSONObjectWriter) { object.write("reason", reason) }
    }

    let closed: Closed

    /// Describes an end, such as `daemon_stopping`.
    public init(reason: String) {
        closed = Closed(reason: reason)
    }

    public var name: EventName { .streamClosed }
    public var severity: Severity { .info }
    public var message: String { "The stream ends: \(closed.reason)" }

    public func write(to object: inout JSONObjectWriter) { object.write("closed", closed) }
}

extension StreamReset {
    public static var form: Form {
        .object()
            .member("reset", .object().member("reason", .oneOf(Reason.self)))
            .member("snapshot", .anyObject.orNull, "The document of `/api/v1/status`.")
    }
}

extension StreamClosed {
    public static var form: Form {
        .object().member("closed", .object().member("reason", .words("daemon_stopping")))
    }
}
