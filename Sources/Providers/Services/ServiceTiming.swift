// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public struct ServiceTiming: Sendable {
    /// How long facts of a service that went away are kept.
    public var grace: Duration
    /// How often a quiet service is checked.
    public var check: Duration
    /// The first pause before querying a failed service again; doubled up to ``check``.
    public var retry: Duration

    /// Ten seconds for a restart, half a minute between checks, one second after a failure.
    public init(grace: Duration = .seconds(10), check: Duration = .seconds(30), retry: Duration = .seconds(1)) {
        self.grace = grace
        self.check = check
        self.retry = retry
    }
}
