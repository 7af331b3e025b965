// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// The result of a check that may not have run.
///
/// A check without an answer never makes a verdict: it is not assessed, and says why.
public enum Assessment<Value: Hashable & Sendable>: Hashable, Sendable {
    case known(Value)
    /// Why nothing is known, such as `needs CAP_NET_RAW`.
    case unknown(because: String)

    /// What was found; `nil` when the check has no result.
    public var value: Value? {
        if case .known(let value) = self { value } else { nil }
    }

    /// Why nothing is known; `nil` when something is.
    public var reason: String? {
        if case .unknown(let reason) = self { reason } else { nil }
    }

    /// The initial value: the check has not run.
    public static var notAsked: Assessment { .unknown(because: "not tested") }
}
