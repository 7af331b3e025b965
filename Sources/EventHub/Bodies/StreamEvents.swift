// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import OrderedJSON

/// `stream.reset`: what a reader of a stream missed is no longer there; the state as of now comes with it.
///
/// Only on streams, with the number of the newest event, and never in the log.
public struct StreamReset: EventBody, MemberDeclaring {
    /// Why there is something missing.
    public enum Reason: String, Sendable, CaseIterable {
        /// The log no longer holds what came after the requested position.
        case tooOld = "too_old"
        /// The requested position is in another log.
        case otherStream = "other_stream"
        /// The reader was too slow.
        case slowClient = "slow_client"
    }

    let reason: Reason
    var snapshot: JSONValue?

    /// Describes what a reader missed.
    public init(_ reason: Reason, snapshot: JSONValue?) {
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

    public static let members = Members<Self>.object()
        .member("reset", of: .object().member("reason", as: .oneOf(Reason.self)) { $0.reason.rawValue })
        .member("snapshot", as: .anyObject, "The document of `/api/v1/status`.") { $0.snapshot }
}

/// `stream.closed`: the last of a stream that the daemon ends.
///
/// Only on streams, with the number of the newest event, and never in the log.
public struct StreamClosed: EventBody, MemberDeclaring {
    let reason: String

    /// Describes an end, such as `daemon_stopping`.
    public init(reason: String) {
        self.reason = reason
    }

    public var name: EventName { .streamClosed }
    public var severity: Severity { .info }
    public var message: String { "The stream ends: \(reason)" }

    public static let members = Members<Self>.object()
        .member("closed", of: .object().member("reason", as: .words("daemon_stopping")) { $0.reason })
}
