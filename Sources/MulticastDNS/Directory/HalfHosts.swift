// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import DNSWire

/// When hosts are queried again for the address family that they have not answered, so that one lost answer is not lost
/// for good.
///
/// The pauses double up to the lifetime of the addresses that are known; then refreshing these queries the others.
struct HalfHosts: Sendable {
    static let firstPause = Duration.seconds(5)

    private var pauses: [DomainName: Duration] = [:]
    private var waiting = DeadlineQueue<DomainName>()

    var nextDeadline: Duration? { waiting.next }

    /// Starts with a host, unless it waits already.
    mutating func begin(_ host: DomainName, at now: Duration) {
        guard waiting[host] == nil else { return }
        pauses[host] = Self.firstPause
        waiting[host] = now + Self.firstPause
    }

    /// The hosts to query now; each goes on with ``wait(for:lifetime:at:)``, or ends.
    mutating func removeDue(at now: Duration) -> [DomainName] { waiting.removeDue(at: now) }

    /// Waits for twice as long as the last time, when that is shorter than `lifetime`.
    mutating func wait(for host: DomainName, lifetime: Duration, at now: Duration) {
        guard let pause = pauses[host].map({ $0 * 2 }), pause < lifetime else { return end(host) }
        pauses[host] = pause
        waiting[host] = now + pause
    }

    mutating func end(_ host: DomainName) {
        pauses[host] = nil
        waiting[host] = nil
    }
}
