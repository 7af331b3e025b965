// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Documents
public import LinuxIO
public import OrderedJSON
internal import PathModel

/// What led to an event: a kernel message, a timer or a provider, or an earlier event of the same change.
public struct EventCause: MemberDeclaring, Sendable, Equatable {
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

    public static let members = Members<Self>
        .named("Cause", "Why it happened: an earlier event, a message of the kernel, a timer or a provider.")
        .added("kind", as: .oneOf(CauseKind.self)) { $0.kind }
        .optional("seq", "The number of an earlier event that has the same cause in full.") { $0.seq }
        .optional("source", "The source, such as `rtnetlink`.") { $0.source }
        .optional("message", "The message, such as `RTM_NEWLINK`.") { $0.message }
        .optional("received", as: .time, "When it was received.") { $0.received }
        .optional("slept_seconds", as: .seconds, "How long the machine slept before it.") { $0.sleptSeconds }
}
