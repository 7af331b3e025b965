// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Holds back a recovery until it has lasted (rule S43); a loss is published at once.
public struct RecoveryHold: Hashable, Sendable {
    /// For how long a recovery has to last; zero holds nothing back.
    public let duration: Duration
    private var raw: Path?
    private var damped: Path?
    private var satisfiedSince: Duration?

    /// Holds recoveries back for `duration`.
    public init(duration: Duration = .zero) {
        self.duration = max(duration, .zero)
    }

    public var isHolding: Bool { raw != damped }

    /// Applies the path of an evaluation.
    /// - Returns: The path to publish: the one before, while a recovery is held back.
    public mutating func update(_ path: Path, at now: Duration) -> Path {
        let before = damped
        raw = path
        guard path.status == .satisfied, let before, before.status != .satisfied else {
            satisfiedSince = nil
            damped = path
            return path
        }
        let since = satisfiedSince ?? now
        satisfiedSince = since
        guard now - since < duration else {
            satisfiedSince = nil
            damped = path
            return path
        }
        return before
    }

    /// When a recovery that is held back may be published, as time since boot; evaluate again then.
    public var releaseAt: Duration? { satisfiedSince.map { $0 + duration } }
}
