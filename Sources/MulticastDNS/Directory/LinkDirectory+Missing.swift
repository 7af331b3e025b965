// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import DNSWire

/// What was queried and neither answered nor denied is queried again; what came is left alone.
extension LinkDirectory {
    /// Starts to query the address family that a reported host has not answered.
    mutating func beginHalfHost(of view: View, at now: Duration) {
        guard let host = view.location?.target, view.missing.contains(where: { $0.name == host && $0.isOfAddress })
        else { return }
        halfHosts.begin(host, at: now)
    }

    /// Queries a host again for the missing address family, and waits for longer the next time.
    mutating func queryOtherFamily(of host: DomainName, at now: Duration) {
        let keys = [RecordKey(host, .a), RecordKey(host, .aaaa)]
        let known = keys.filter { isKnown($0, at: now) }
        guard known.count == 1, let key = known.first, let other = key.companion, activeQueries.hosts[host] != nil,
            isMissing(other, at: now)
        else { return halfHosts.end(host) }
        halfHosts.wait(for: host, lifetime: lifetime(of: key, at: now), at: now)
        for family in AddressFamily.allCases { queryMissing(other, by: family, at: now) }
    }

    /// A record is refreshed by a family: queries with it what its owner has not answered.
    mutating func queryCompanion(of key: RecordKey, by family: AddressFamily, at now: Duration) {
        guard let companion = key.companion, activeQueries.contains(companion), isMissing(companion, at: now) else {
            return
        }
        queryMissing(companion, by: family, at: now)
    }

    /// A record expired in one family: queries it there once more while the other family has it, so that it is known
    /// by both again.
    mutating func queryAgain(_ record: ResourceRecord, by family: AddressFamily, at now: Duration) {
        let key = RecordKey(record.name, record.type)
        guard activeQueries.contains(key), isKnown(record, besides: family, at: now) else { return }
        zones[family]?.renew(Question(record.name, record.type), times: 2, at: now)
    }

    mutating func queryMissing(_ key: RecordKey, by family: AddressFamily, at now: Duration) {
        guard ReverseName.isMulticast(key.name) else { return }
        let question = Question(key.name, key.type)
        // A client's own series may wait for an hour; what a record made us query goes as far as others pay for it.
        if subscriptions.wants(record: key) || subscriptions.wants(instance: key.name) {
            zones[family]?.renew(question, at: now)
        } else {
            zones[family]?.query(question, times: 1, isResponseTriggered: true, at: now)
        }
    }

    private func isMissing(_ key: RecordKey, at now: Duration) -> Bool {
        guard !isKnown(key, at: now), !isDenied(key, at: now) else { return false }
        return !key.isOfAddress || subscriptions.wants(record: key) || isUseful(key, at: now)
    }

    private func isKnown(_ key: RecordKey, at now: Duration) -> Bool {
        AddressFamily.allCases.contains { zones[$0]?.cache.hasRecords(key, at: now) == true }
    }

    private func lifetime(of key: RecordKey, at now: Duration) -> Duration {
        let records = AddressFamily.allCases.flatMap { zones[$0]?.cache.records(key, at: now) ?? [] }
        return .seconds(Int64(records.map(\.timeToLive).max() ?? 0))
    }
}

extension RecordKey {
    fileprivate var isOfAddress: Bool { type == .a || type == .aaaa }

    /// What the same owner usually has too.
    fileprivate var companion: RecordKey? {
        switch type {
        case .a: RecordKey(name, .aaaa)
        case .aaaa: RecordKey(name, .a)
        case .srv: RecordKey(name, .txt)
        default: nil
        }
    }
}
