// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing

public struct NameServerEvidence: Hashable, Sendable {
    public var address: IPAddress
    /// Whether programs query it over TCP, so that datagrams are of no importance.
    public var isQueriedOverTCP = false
    /// A unique name under a wildcard, over UDP; queried three times before it counts as silent.
    public var ipv4: Answer = .notAsked
    /// What ``ipv4`` should be, where the addresses of the wildcard are configured.
    public var wildcard: IPAddress?
    /// The same name's IPv6 address.
    public var ipv6: Answer = .notAsked
    /// A random name that does not exist.
    public var nonexistent: Answer = .notAsked
    /// The name servers of the root, which every server finds out.
    public var root: Answer = .notAsked
    /// A name whose address is known.
    public var known: Answer = .notAsked
    /// What ``known`` should be.
    public var expected: Set<IPAddress> = []
    /// The domains of the search list in which a random name got no answer.
    package var silentDomains: [String] = []
    /// A small answer over TCP.
    public var stream: Answer = .notAsked
    /// A text of 3 kB, queried over UDP, where it is truncated.
    public var textByDatagram: Delivery = .notAsked
    /// The same text over TCP.
    public var textByStream: Delivery = .notAsked
    /// The shortest duration of a query for a unique name.
    public var latency: Duration?
    /// The round trip to the server itself.
    public var roundTrip: Duration?
    /// What keeps queries on this machine, which then say nothing about the server.
    package var obstacle: LocalObstacle?

    public enum Answer: Hashable, Sendable {
        case notAsked
        case silent
        /// It answered: the addresses, or none.
        case answered(Set<IPAddress>)
        /// It said that no such name (NXDOMAIN).
        case noSuchName
        /// It failed (SERVFAIL), refused, or did not understand.
        case failed(code: String)
    }

    /// What arrived of a large text.
    public enum Delivery: Hashable, Sendable {
        case notAsked
        case silent
        /// The server has no such text, or failed.
        case missing
        /// A hint that it is too long for a datagram (TC, RFC 1035 section 4.1.1).
        case cut
        case whole(bytes: Int)
    }

    /// Makes evidence of a server that was not tested yet.
    public init(_ address: IPAddress) { self.address = address }

    /// Whether it answered anything over the transport that programs use; `nil` when nothing was queried.
    public var isAlive: Bool? {
        guard obstacle == nil else { return nil }
        if isQueriedOverTCP { return stream == .notAsked ? nil : stream != .silent }
        let tested = [ipv4, ipv6, nonexistent, root, known].filter { $0 != .notAsked }
        return tested.isEmpty ? nil : tested.contains { $0 != .silent }
    }

    /// Whether it answered for a name that no cache can hold.
    var resolvesNewNames: Bool {
        if wildcard != nil, case .answered(let addresses) = ipv4, !addresses.isEmpty { return true }
        return nonexistent == .noSuchName
    }

    /// Drops what TCP showed, where this machine's own rules kept its packets.
    package mutating func forgetStream() {
        let untested = NameServerEvidence(address)
        (stream, textByStream) = (untested.stream, untested.textByStream)
    }

    var isFailing: Bool { if case .failed = ipv4 { true } else { false } }
}
