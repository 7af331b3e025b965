// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing

/// Limits half-open inbound connections, and the rate of invitations; pure.
struct UnauthenticatedPeers: Sendable {
    enum Admission: Hashable, Sendable {
        case admitted
        case refused
        /// Admitted instead of another one, which has waited longest at the busiest address.
        case replacing(UInt64)
    }

    private struct Caller: Sendable {
        let id: UInt64
        let address: IPAddress
    }

    private struct TokenBucket: Sendable {
        var tokens: Double
        var since: Duration
        var pending = 0
    }

    /// Connections that have not said who they are.
    static let mostHalfOpen = 32
    static let mostHalfOpenPerAddress = 8
    /// Invitations of one peer that wait for an answer.
    static let mostPending = 5
    static let mostPendingInAll = 64
    /// One invitation in this time, after a few at once.
    static let interval = Duration.seconds(2)
    static let burst = 5.0
    private static let mostKnown = 1024

    private var callers: [Caller] = []
    private var buckets: [PeerKey: TokenBucket] = [:]

    mutating func admit(_ id: UInt64, from address: IPAddress) -> Admission {
        let address = address.unmapped
        guard callers.count(where: { $0.address == address }) < Self.mostHalfOpenPerAddress else { return .refused }
        defer { callers.append(Caller(id: id, address: address)) }
        guard callers.count >= Self.mostHalfOpen else { return .admitted }
        let counts = Dictionary(callers.map { ($0.address, 1) }, uniquingKeysWith: +)
        let most = counts.values.max() ?? 0
        guard let index = callers.firstIndex(where: { counts[$0.address] == most }) else { return .admitted }
        return .replacing(callers.remove(at: index).id)
    }

    /// One has said who it is, or gone.
    mutating func forget(_ id: UInt64) { callers.removeAll { $0.id == id } }

    /// Whether a peer may invite once more.
    mutating func allowsInvitation(from key: PeerKey, at now: Duration) -> Bool {
        var bucket = buckets[key] ?? TokenBucket(tokens: Self.burst, since: now)
        bucket.tokens = min(bucket.tokens + (now - bucket.since) / Self.interval, Self.burst)
        bucket.since = now
        let pending = buckets.values.reduce(0) { $0 + $1.pending }
        let isAllowed = bucket.tokens >= 1 && bucket.pending < Self.mostPending && pending < Self.mostPendingInAll
        if isAllowed {
            bucket.tokens -= 1
            bucket.pending += 1
        }
        if buckets[key] == nil, buckets.count >= Self.mostKnown { dropOldest() }
        buckets[key] = bucket
        return isAllowed
    }

    /// An invitation was answered, or its peer has gone; one that was accepted counts no more.
    mutating func answered(_ key: PeerKey, isAccepted: Bool = false) {
        if isAccepted { buckets[key]?.tokens += 1 }
        if let pending = buckets[key]?.pending, pending > 0 { buckets[key]?.pending = pending - 1 }
    }

    private mutating func dropOldest() {
        let idle = buckets.filter { $0.value.pending == 0 }
        if let oldest = idle.min(by: { $0.value.since < $1.value.since }) { buckets[oldest.key] = nil }
    }
}
