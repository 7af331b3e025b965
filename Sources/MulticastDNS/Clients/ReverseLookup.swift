// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing
public import DNSWire

/// Queries the link for the names of an address, and follows them as long as it is held.
///
/// Confined to the thread of its engine's loop, and to be let go there.
public final class ReverseLookup {
    private let follower: RecordFollower

    /// Queries the names of an address; what is known already is reported within this call.
    /// - Parameters:
    ///   - engine: The engine, started or not.
    ///   - address: The address.
    ///   - interface: The one interface to use, by name; `nil` is all of them.
    ///   - rounds: How often the question is sent at most; `nil` has no limit.
    ///   - onEvent: Called on the loop's thread whenever a PTR record comes or goes.
    public init(
        _ engine: MulticastEngine,
        address: IPAddress,
        interface: String? = nil,
        rounds: Int? = nil,
        onEvent: @escaping (RecordEvent) -> Void
    ) {
        let key = RecordKey(ReverseName.name(of: address), .ptr)
        follower = RecordFollower(
            engine,
            Subscription(interface: interface, records: [key], rounds: rounds ?? .max),
            onEvent: onEvent
        )
    }

    deinit { follower.cancel() }

    /// The names known now, those that came first first.
    public var names: [DomainName] {
        follower.list.answers.compactMap { answer in
            guard case .pointer(let name) = answer.record.data else { return nil }
            return name
        }
    }

    /// Ends it: no more events and queries.
    public func cancel() { follower.cancel() }
}

/// The names below `in-addr.arpa` and `ip6.arpa` that stand for addresses (RFC 1035 section 3.5, RFC 3596).
public enum ReverseName {
    public static func name(of address: IPAddress) -> DomainName {
        let labels: [String]
        switch address {
        case .v4: labels = address.bytes.reversed().map { String($0) } + ["in-addr", "arpa"]
        case .v6:
            let digits = address.bytes.reversed().flatMap { [$0 & 15, $0 >> 4] }
            labels = digits.map { String($0, radix: 16) } + ["ip6", "arpa"]
        }
        return (try? DomainName(labels: labels.map { Array($0.utf8) })) ?? DomainName()
    }

    /// Whether a name is to be queried by multicast alone: one below `local`, or that of a link-local address
    /// (RFC 6762 sections 3 and 4, rules N1 and N2).
    public static func isMulticast(_ name: DomainName) -> Bool { zones.contains { name.isWithin($0) } }

    private static let zones = [
        "local", "254.169.in-addr.arpa", "8.e.f.ip6.arpa", "9.e.f.ip6.arpa", "a.e.f.ip6.arpa", "b.e.f.ip6.arpa",
    ].compactMap { DomainName($0) }
}
