// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import LinuxIO
public import PathModel

/// Why the engine evaluated: the first trigger of the burst that led to an update (rule S44).
public struct EngineCause: Hashable, Sendable {
    public var kind: CauseKind
    /// Who gave it: `rtnetlink`, a provider's name, or `timer`.
    public var source: String
    /// The kernel's message, such as `RTM_NEWLINK`, or what a provider says.
    public var message: String?
    public var received: WallTime
    /// How long the machine slept before it.
    public var slept: Duration?

    public init(
        _ kind: CauseKind,
        source: String,
        message: String? = nil,
        received: WallTime,
        slept: Duration? = nil
    ) {
        self.kind = kind
        self.source = source
        self.message = message
        self.received = received
        self.slept = slept
    }
}
