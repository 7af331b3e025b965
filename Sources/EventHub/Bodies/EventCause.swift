// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Documents
public import LinuxIO
public import OrderedJSON
internal import PathModel

/// What led to an event: a kernel message, a timer or a provider, or an earlier event of the same change.
public struct EventCause: JSONObjectWritable, Sendable, Equatable {
    /// `initial`, `link`, `addr`, `route`, `rule`, `nexthop`, `neigh`, `dns`, `policy`, `audit`, `resync`, `resume`, `expiry`
    /// or `settings`.
    public var kind: String
    public var seq: UInt64?
    public var source: String?
    public var message: String?
    public var received: String?
    public var sleptSeconds: Double?

    public init(
        kind: String,
        source: String? = nil,
        message: String? = nil,
        received: WallTime? = nil,
        sleptSeconds: Double? = nil
    ) {
        self.kind = kind
        self.source = source
        self.message = message
        self.received = received.map(\.description)
        self.sleptSeconds = sleptSeconds
    }

    /// Points to an earlier event instead of repeating the cause.
    public func pointing(to sequence: UInt64) -> EventCause {
        var cause = EventCause(kind: kind)
        cause.seq = sequence
        return cause
    }

    public func write(to object: inout JSONObjectWriter) {
        object.write("kind", kind)
        object.writeIfPresent("seq", seq)
        object.writeIfPresent("source", source)
        object.writeIfPresent("message", message)
        object.writeIfPresent("received", received)
        object.writeIfPresent("slept_seconds", sleptSeconds)
    }
}

extension EventCause {
    public static var form: Form {
        .named("Cause", "Why it happened: an earlier event, a message of the kernel, a timer or a provider.")
            .added("kind", .oneOf(CauseKind.self))
            .optional("seq", .count, "The number of an earlier event that has the same cause in full.")
            .optional("source", .text, "The source, such as `rtnetlink`.")
            .optional("message", .text, "The message, such as `RTM_NEWLINK`.")
            .optional("received", .time, "When it was received.")
            .optional("slept_seconds", .seconds, "How long the machine slept before it.")
    }
}
