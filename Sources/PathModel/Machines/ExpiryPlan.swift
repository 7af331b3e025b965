// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Plans checks of routes and addresses that expire, and warns before they do (rule S28).
///
/// The kernel reports what remains, not what was granted: the plan uses the longest that it saw since the last refresh
/// for the promise.
public struct ExpiryPlan: Hashable, Sendable {
    /// The kernel's clock may be late by this much; check only then.
    public static let grace: Duration = .milliseconds(50)

    /// The shortest time between two planned checks, should the kernel keep something past its end.
    public static let pause: Duration = .milliseconds(250)

    private struct Promise: Hashable {
        var end: Duration
        var lifetime: Duration
    }

    private var promises: [Expiry.Subject: Promise] = [:]

    public init() {}

    /// Adds the warning to a path whose route or address has at most a quarter of its time left; plans the next check.
    public mutating func apply(to evaluation: inout Evaluation, at now: Duration) {
        var kept: [Expiry.Subject: Promise] = [:]
        var next: [Duration] = []
        var isExpiring = false
        for expiry in evaluation.expiries {
            let left = max(expiry.at - now, .zero)
            var promise = promises[expiry.subject] ?? Promise(end: expiry.at, lifetime: left)
            // A second more than expected is a refresh; less is the kernel's rounding.
            if expiry.at > promise.end + .seconds(1) { promise.lifetime = left }
            promise.end = expiry.at
            promise.lifetime = max(promise.lifetime, left)
            kept[expiry.subject] = promise
            if left * 4 <= promise.lifetime {
                isExpiring = true
                next.append(expiry.at + Self.grace)
            } else {
                next.append(expiry.at - promise.lifetime / 4 + .milliseconds(1))
            }
        }
        promises = kept
        if isExpiring, evaluation.path.status == .satisfied, !evaluation.path.warnings.contains(.expiring) {
            evaluation.path.warnings.append(.expiring)
        }
        let others = evaluation.expiries.isEmpty ? evaluation.nextCheck : otherCheck(of: evaluation)
        evaluation.nextCheck = (next + [others].compactMap(\.self)).min().map { max($0, now + Self.pause) }
    }

    /// What is left of the evaluator's own plan without its expiries.
    private func otherCheck(of evaluation: Evaluation) -> Duration? {
        guard let check = evaluation.nextCheck, !evaluation.expiries.contains(where: { $0.at == check }) else {
            return nil
        }
        return check
    }
}
