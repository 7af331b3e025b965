// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import DNSWire

/// How often all instances of a host are evaluated because one of its addresses came or went.
///
/// One record of twenty bytes changes thousands of instances: all but the first of a host need tokens of a bucket,
/// and hosts for which there are none wait. A service with a host of its own needs none.
struct AddressRateLimit: Sendable {
    static let most = 4096.0
    /// Instances per second.
    static let rate = 256.0
    static let shortestWait = Duration.milliseconds(10)

    private var tokens = Self.most
    private var refilled = Duration.zero
    /// The hosts that wait, and until when.
    private(set) var waiting = DeadlineQueue<DomainName>()

    var nextDeadline: Duration? { waiting.next }

    /// Whether a host's instances may be evaluated now; if not, the host is among those that are due later.
    mutating func allows(_ host: DomainName, instances: Int, at now: Duration) -> Bool {
        guard instances > 1 else { return true }
        tokens = min(Self.most, tokens + max(0, (now - refilled) / .seconds(1)) * Self.rate)
        refilled = now
        guard tokens > 0 else {
            waiting.lower(host, to: now + max(Self.shortestWait, .seconds(-tokens / Self.rate)))
            return false
        }
        // The last one may overdraw it: a host with more instances than there ever are waits as long as others then.
        tokens -= Double(instances - 1)
        waiting[host] = nil
        return true
    }

    /// The hosts that are due; call ``allows(_:instances:at:)`` again for each.
    mutating func removeDue(at now: Duration) -> [DomainName] { waiting.removeDue(at: now) }

    mutating func forget(_ host: DomainName) { waiting[host] = nil }
}
