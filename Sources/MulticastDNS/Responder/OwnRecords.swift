// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import DNSWire

/// The records that are answered with, found by name (rules A9 to A12, D10).
///
/// They are kept in units that are always sent whole: all unique records of a name and type (rule A19), or one shared
/// record. A unit may belong to several sets, as the pointer that enumerates a type does.
struct OwnRecords: Sendable {
    struct Key: Hashable, Sendable {
        let name: DomainName
        let type: RecordType
        /// The data of a shared record; `nil` for unique ones.
        var data: RecordData?
    }

    struct Unit: Sendable {
        let key: Key
        /// As they are sent: with their whole TTL and the cache-flush bit of unique ones.
        var records: [ResourceRecord]
        /// Whether others may have it just the same, so that it gets no goodbye.
        var isCommon = false
        /// Whether it is the NSEC record that lists which types a unique name has (rule A11).
        var isDenial = false
        var owners: Set<RecordSet.ID> = []
        var lastMulticast: Duration?

        /// The TTL in seconds.
        var timeToLive: UInt32 { records.map(\.timeToLive).min() ?? 0 }

        /// Whether a second, or less for a defence, has gone by since it was multicast (rule A6).
        func mayBeMulticast(at now: Duration, gap: Duration = AnswerQueue.gap) -> Bool {
            lastMulticast.map { now - $0 >= gap } ?? true
        }
    }

    private var units: [Key: Unit] = [:]
    private var keys: [DomainName: [Key]] = [:]

    var isEmpty: Bool { units.isEmpty }

    subscript(key: Key) -> Unit? { units[key] }

    /// Gives a set these units, and removes its other ones.
    /// - Returns: The units that nobody owns any more, and the old form of those that changed.
    mutating func assign(_ new: [Unit], to owner: RecordSet.ID) -> (gone: [Unit], changed: [Unit]) {
        let wanted = Set(new.map(\.key))
        var gone: [Unit] = []
        var changed: [Unit] = []
        for unit in units.values where unit.owners.contains(owner) && !wanted.contains(unit.key) {
            units[unit.key]?.owners.remove(owner)
            guard unit.owners == [owner] else { continue }
            units[unit.key] = nil
            keys[unit.key.name]?.removeAll { $0 == unit.key }
            if keys[unit.key.name]?.isEmpty == true { keys[unit.key.name] = nil }
            gone.append(unit)
        }
        for var unit in new {
            if let old = units[unit.key] {
                unit.owners = old.owners
                if old.records == unit.records { unit.lastMulticast = old.lastMulticast } else { changed.append(old) }
            } else {
                keys[unit.key.name, default: []].append(unit.key)
            }
            unit.owners.insert(owner)
            units[unit.key] = unit
        }
        return (gone, changed)
    }

    mutating func noteMulticast(_ key: Key, at now: Duration) { units[key]?.lastMulticast = now }

    /// What answers a question: records, or the denial that there are any.
    func answers(to question: Question) -> [Key] {
        guard question.classCode == 1 || question.classCode == 255, let keys = keys[question.name] else { return [] }
        let found = keys.filter { key in
            question.type == .any ? units[key]?.isDenial == false : key.type == question.type
        }
        return found.isEmpty ? keys.filter { units[$0]?.isDenial == true } : found
    }

    func unit(of record: ResourceRecord) -> Unit? {
        units[Key(name: record.name, type: record.type)]
            ?? units[Key(name: record.name, type: record.type, data: record.data)]
    }

    /// What comes along with an answer (rules A12, D10): nearest first, without the answer itself.
    func additionals(to key: Key) -> [Key] {
        guard let unit = units[key] else { return [] }
        var found: [Key] = []
        switch unit.records.first?.data {
        case .pointer(let instance):
            let own = [RecordType.srv, .txt].map { Key(name: instance, type: $0) }.filter { units[$0] != nil }
            found = own + own.prefix(1).flatMap(additionals)
        case .service(let location): found = addresses(of: location.target)
        case .address: found = addresses(of: key.name)
        case .nextSecure: found = addresses(of: key.name)
        default: break
        }
        return found.filter { $0 != key }
    }

    /// The addresses of a name, and its denial when it has but one family.
    private func addresses(of host: DomainName) -> [Key] {
        let found = [RecordType.a, .aaaa].map { Key(name: host, type: $0) }.filter { units[$0] != nil }
        guard found.count == 1 else { return found }
        return found + (keys[host] ?? []).filter { units[$0]?.isDenial == true }
    }
}

extension RecordSet {
    /// The names that are probed for.
    var uniqueNames: Set<DomainName> { Set(unique.map(\.name)).union(hosts) }

    /// The unique records, with the addresses of the interface instead of `hosts`.
    func proposed(with addresses: [IPAddress]) -> [ResourceRecord] {
        unique.map { record in
            var record = record
            record.flushesCache = true
            return record
        }
            + hosts.sorted().flatMap { host in
                addresses.map { address in
                    ResourceRecord(
                        host,
                        address.family == .ipv4 ? .a : .aaaa,
                        .address(address),
                        timeToLive: Self.hostLifetime,
                        flushesCache: true
                    )
                }
            }
    }

    /// The pointers from the reverse names of addresses.
    private func reversed(_ addresses: [IPAddress]) -> [ResourceRecord] {
        guard let reverseTarget else { return [] }
        return addresses.map { address in
            ResourceRecord(
                ReverseName.name(of: address),
                .ptr,
                .pointer(reverseTarget),
                timeToLive: Self.hostLifetime,
                flushesCache: true
            )
        }
    }

    /// TTL of what stands and falls with a host: its addresses, and where services are (rule A18).
    static let hostLifetime: UInt32 = 120
    /// TTL of everything else: 75 minutes.
    static let otherLifetime: UInt32 = 4500

    /// The set as it is answered with on an interface with these addresses.
    func units(with addresses: [IPAddress]) -> [OwnRecords.Unit] {
        let proposed = proposed(with: addresses) + reversed(addresses)
        var units: [OwnRecords.Unit] = []
        for record in proposed {
            let key = OwnRecords.Key(name: record.name, type: record.type)
            if let index = units.firstIndex(where: { $0.key == key }) {
                if !units[index].records.contains(record) { units[index].records.append(record) }
            } else {
                units.append(.init(key: key, records: [record]))
            }
        }
        for name in Set(proposed.map(\.name)).sorted() {
            let own = proposed.filter { $0.name == name }
            let denial = ResourceRecord(
                name,
                .nsec,
                .nextSecure(next: name, types: Set(own.map(\.type)).sorted()),
                timeToLive: own.map(\.timeToLive).min() ?? Self.hostLifetime,
                flushesCache: true
            )
            units.append(.init(key: .init(name: name, type: .nsec), records: [denial], isDenial: true))
        }
        for (records, isCommon) in [(shared, false), (common, true)] {
            for record in records {
                var record = record
                record.flushesCache = false
                let key = OwnRecords.Key(name: record.name, type: record.type, data: record.data)
                units.append(.init(key: key, records: [record], isCommon: isCommon))
            }
        }
        return units
    }
}
