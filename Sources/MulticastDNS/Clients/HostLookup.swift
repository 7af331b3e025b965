// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing
public import DNSWire

/// What is known of a host's addresses on one interface.
public struct HostAnswer: Hashable, Sendable {
    public let host: DomainName
    public let interface: String
    public let interfaceIndex: Int
    /// The addresses, sorted; empty when they went away, or when the host says that it has none.
    public fileprivate(set) var addresses: [ScopedAddress]
    /// Whether the host answered for every family that was queried, with addresses or by saying that it has none.
    public fileprivate(set) var isComplete: Bool
}

/// Looks up the addresses of a `.local` host, and follows them as long as it is held.
///
/// A name that is another one for a host (CNAME) has the addresses of that host.
/// Confined to the thread of its engine's loop, and to be let go there.
public final class HostLookup {
    private struct Alias {
        let record: RecordAnswer
        let lookup: HostLookup
    }

    /// How many names may lead to one another.
    private static let maximumAliases = 8

    private let engine: MulticastEngine
    private let host: DomainName
    private let families: [AddressFamily]
    /// The names that led here, this one among them: none is followed twice.
    private let path: [DomainName]
    private let interface: String?
    private let rounds: Int?
    private let onChange: (HostAnswer) -> Void
    private var records: [Int: [RecordAnswer]] = [:]
    private var reported: [Int: HostAnswer] = [:]
    private var follower: RecordFollower?
    /// Whether the name is known to stand for another one.
    private var isAlias = false
    /// Follows what it stands for.
    private var aliasFollower: RecordFollower?
    private var aliases: [Int: Alias] = [:]
    private var isCancelled = false

    /// Starts to look up; what is known already is reported within this call.
    /// - Parameters:
    ///   - engine: The engine, started or not.
    ///   - host: The host's name, such as `printer.local`.
    ///   - families: The families of addresses that are wanted.
    ///   - interface: The one interface to use, by name; `nil` is all of them.
    ///   - rounds: How often each question is sent at most; `nil` has no limit.
    ///   - onChange: Called on the loop's thread for each interface whenever its answer changed.
    public convenience init(
        _ engine: MulticastEngine,
        host: DomainName,
        families: [AddressFamily] = AddressFamily.allCases,
        interface: String? = nil,
        rounds: Int? = nil,
        onChange: @escaping (HostAnswer) -> Void
    ) {
        self.init(engine, [host], families, interface: interface, rounds: rounds, onChange: onChange)
    }

    private init(
        _ engine: MulticastEngine,
        _ path: [DomainName],
        _ families: [AddressFamily],
        interface: String?,
        rounds: Int?,
        onChange: @escaping (HostAnswer) -> Void
    ) {
        let host = path.last ?? DomainName()
        self.engine = engine
        self.host = host
        self.families = families
        self.path = path
        self.interface = interface
        self.rounds = rounds
        self.onChange = onChange
        let subscription = Subscription(
            interface: interface,
            records: Set(families.map { RecordKey(host, Self.type(of: $0)) }),
            passive: [RecordKey(host, .nsec), RecordKey(host, .cname)],
            rounds: rounds ?? .max
        )
        let follower = RecordFollower(engine, subscription) { [weak self] event in self?.receive(event) }
        self.follower = follower
        if isCancelled { follower.cancel() }
    }

    deinit { cancel() }

    /// What is known now, by interface, those with addresses only, sorted by name.
    public var answers: [HostAnswer] {
        reported.values.filter { !$0.addresses.isEmpty }.sorted { $0.interface < $1.interface }
    }

    /// Ends it: no more events and queries.
    public func cancel() {
        isCancelled = true
        follower?.cancel()
        aliasFollower?.cancel()
        for alias in aliases.values { alias.lookup.cancel() }
        aliases = [:]
    }

    static func type(of family: AddressFamily) -> RecordType { family == .ipv4 ? .a : .aaaa }

    private func receive(_ event: RecordEvent) {
        guard !isCancelled else { return }
        if event.answer.record.type == .cname { return followAliases() }
        let answer: RecordAnswer
        switch event {
        case .added(let added):
            answer = added
            records[added.interfaceIndex, default: []].append(added)
        case .removed(let removed, _):
            answer = removed
            records[removed.interfaceIndex]?.removeAll { $0 == removed }
        }
        report(on: answer)
    }

    private func report(on link: RecordAnswer) {
        let index = link.interfaceIndex
        var current = HostAnswer(host: host, families, records[index] ?? [], on: link)
        if let behind = aliases[index]?.lookup.reported[index] { current.add(behind) }
        let previous = reported[index]
        guard current != previous, previous != nil || current.isComplete || !current.addresses.isEmpty else { return }
        reported[index] = current
        onChange(current)
    }

    // MARK: - Aliases

    /// The name stands for another one: has that refreshed as long as it is looked up.
    private func followAliases() {
        guard !isAlias else { return }
        isAlias = true
        let subscription = Subscription(
            interface: interface,
            records: [RecordKey(host, .cname)],
            rounds: rounds ?? .max
        )
        let follower = RecordFollower(engine, subscription) { [weak self] event in self?.receiveAlias(event) }
        aliasFollower = follower
        if isCancelled { follower.cancel() }
    }

    private func receiveAlias(_ event: RecordEvent) {
        guard !isCancelled, case .alias(let target) = event.answer.record.data else { return }
        let index = event.answer.interfaceIndex
        switch event {
        case .added(let record):
            aliases.removeValue(forKey: index)?.lookup.cancel()
            guard path.count <= Self.maximumAliases, !path.contains(target), ReverseName.isMulticast(target) else {
                return report(on: record)
            }
            let lookup = HostLookup(
                engine,
                path + [target],
                families,
                interface: record.interface,
                rounds: rounds
            ) { [weak self] _ in
                self?.report(on: record)
            }
            guard !isCancelled else { return lookup.cancel() }
            aliases[index] = Alias(record: record, lookup: lookup)
        case .removed(let record, _):
            guard aliases[index]?.record == record else { return }
            aliases.removeValue(forKey: index)?.lookup.cancel()
        }
        report(on: event.answer)
    }
}

extension HostAnswer {
    /// Adds what is known of the host that the name stands for.
    fileprivate mutating func add(_ behind: HostAnswer) {
        addresses = Set(addresses + behind.addresses).sorted()
        isComplete = isComplete || behind.isComplete
    }

    init(host: DomainName, _ families: [AddressFamily], _ records: [RecordAnswer], on link: RecordAnswer) {
        var addresses: Set<ScopedAddress> = []
        var denied: [[RecordType]] = []
        for answer in records {
            switch answer.record.data {
            case .address(let address): addresses.insert(ScopedAddress(address, scope: link.interface))
            // A host with a CNAME record says that it has no addresses of its own.
            case .nextSecure(_, let types) where !types.contains(.cname): denied.append(types)
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
