// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import PathModel

public struct EngineSettings: Hashable, Sendable {
    public var policy: PathPolicy
    /// How long it has to be quiet before a change is published (rule S42).
    public var quiet: Duration
    /// The longest wait after the first trigger (rule S42).
    public var cap: Duration
    /// How often everything is read again without a trigger; zero never (rule S9).
    public var auditInterval: Duration
    /// For how long a recovered path must last before it is published; zero at once (rule S43).
    public var recoveryHold: Duration
    /// How often gateways are probed; `nil` never (rule S52).
    public var gatewayInterval: Duration?

    /// The settings of an empty configuration.
    public init(
        policy: PathPolicy = PathPolicy(),
        quiet: Duration = .milliseconds(100),
        cap: Duration = .seconds(1),
        auditInterval: Duration = .seconds(30),
        recoveryHold: Duration = .zero,
        gatewayInterval: Duration? = nil
    ) {
        self.policy = policy
        self.quiet = quiet
        self.cap = cap
        self.auditInterval = auditInterval
        self.recoveryHold = recoveryHold
        self.gatewayInterval = gatewayInterval
    }
}
