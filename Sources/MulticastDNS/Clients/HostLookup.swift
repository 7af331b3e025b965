// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing
public import DNSWire

/// What is known of a host's addresses on one interface.
public struct HostAnswer: Hashable, Sendable {
    public let host: DomainName
    public let interface: String
    public let interfaceIndex: Int
    /// The addresses, sorted; empty when they went away, or when the host says that it has none.
    public let addresses: [ScopedAddress]
    /// Whether the host answered for every family that was asked for, with addresses or by saying that it has none.
    public let isComplete: Bool
}

/// Looks up the addresses of a `.local` host, and follows them as long as it is held.
///
/// Confined to the thread of its engine's loop, and to be let go there.
public final class HostLookup {
    private let host: DomainName
    private let families: [AddressFamily]
    private let onChange: (HostAnswer) -> Void
    private var records: [Int: [RecordAnswer]] = [:]
    private var told: [Int: HostAnswer] = [:]
    private var follower: RecordFollower?
    private var isCancelled = false

    /// Starts to look up; what is known already is told within this call.
    /// - Parameters:
    ///   - engine: The engine, started or not.
    ///   - host: The host's name, such as `printer.local`.
    ///   - families: The families of addresses that are wanted.
    ///   - interface: The one interface to look on, by name; `nil` is all of them.
    ///   - rounds: How often each question is asked at most; `nil` has no limit.
    ///   - onChange: Called on the loop's thread for each interface whenever its answer changed.
    public init(
        _ engine: MulticastEngine,
        host: DomainName,
        families: [AddressFamily] = AddressFamily.allCases,
        interface: String? = nil,
        rounds: Int? = nil,
        onChange: @escaping (HostAnswer) -> Void
    ) {
        self.host = host
        self.families = families
        self.onChange = onChange
        let wish = Wish(
            interface: interface,
            records: Set(families.map { RecordKey(host, Self.type(of: $0)) }),
            passive: [RecordKey(host, .nsec)],
            rounds: rounds ?? .max
        )
        let follower = RecordFollower(engine, wish) { [weak self] event in self?.take(event) }
        self.follower = follower
        if isCancelled { follower.cancel() }
    }

    deinit { follower?.cancel() }

    /// What is known now, by interface, those with addresses only, sorted by name.
    public var answers: [HostAnswer] {
        told.values.filter { !$0.addresses.isEmpty }.sorted { $0.interface < $1.interface }
    }

    /// Ends it: nothing is told any more, and nothing asked.
    public func cancel() {
        isCancelled = true
        follower?.cancel()
    }

    static func type(of family: AddressFamily) -> RecordType { family == .ipv4 ? .a : .aaaa }

    private func take(_ event: RecordEvent) {
        guard !isCancelled else { return }
        let answer: RecordAnswer
        switch event {
        case .added(let added):
            answer = added
            records[added.interfaceIndex, default: []].append(added)
        case .removed(let removed, _):
            answer = removed
            records[removed.interfaceIndex]?.removeAll { $0 == removed }
        }
        let current = HostAnswer(host: host, families, records[answer.interfaceIndex] ?? [], on: answer)
        let previous = told[answer.interfaceIndex]
        guard current != previous, previous != nil || current.isComplete || !current.addresses.isEmpty else { return }
        told[answer.interfaceIndex] = current
        onChange(current)
    }
}

extension HostAnswer {
    init(host: DomainName, _ families: [AddressFamily], _ records: [RecordAnswer], on link: RecordAnswer) {
        var addresses: Set<ScopedAddress> = []
        var denied: [[RecordType]] = []
        for answer in records {
            switch answer.record.data {
            case .address(let address): addresses.insert(ScopedAddress(address, scope: link.interface))
            case .nextSecure(_, let types): denied.append(types)
            default: break
            }
        }
        self.init(
            host: host,
            interface: link.interface,
            interfaceIndex: link.interfaceIndex,
            addresses: addresses.sorted(),
            isComplete: families.allSatisfy { family in
                addresses.contains { $0.address.family == family }
                    || denied.contains { !$0.contains(HostLookup.type(of: family)) }
            }
        )
    }
}
