// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import DNSWire

/// Services wait for their hosts: a location is never sent before the name that it points to is ours, on this interface
/// and by this family, and no longer than it is.
extension Responder {
    /// Whether the hosts that the set's records point to are ours or a neighbour's, as far as it is us who claim them.
    func standsOnOurs(_ set: RecordSet) -> Bool {
        set.targets.allSatisfy { target in
            guard let owner = owners[target], owner != set.id else { return true }
            switch holdings[owner]?.state {
            case nil, .established, .yielded: return true
            case .probing, .lost: return false
            }
        }
    }

    /// Nobody objected to the names of these sets.
    mutating func conclude(_ finished: [RecordSet.ID], at now: Duration) {
        let sets = finished.compactMap { holdings[$0]?.set }
        // Hosts first, so that what came along with them need not wait.
        for set in sets.filter(\.targets.isEmpty) + sets.filter({ !$0.targets.isEmpty }) {
            if standsOnOurs(set) { establish(set.id, at: now) } else { prober.hold(set.id, at: now) }
        }
    }

    /// A host is ours, or a neighbour's: what waits for it goes on.
    mutating func resume(dependentsOf host: RecordSet, at now: Duration) {
        for set in dependents(of: host.hostNames) where prober.isHeld(set.id) && standsOnOurs(set) {
            if prober.release(set.id, at: now, random: &random) { establish(set.id, at: now) }
        }
    }

    /// A host is disputed, or another's: what points to it is silent until it has one.
    mutating func suspend(dependentsOf names: Set<DomainName>, isLost: Bool, at now: Duration) {
        for set in dependents(of: names) {
            let isEstablished = holdings[set.id]?.state == .established
            if isEstablished || isLost { suspend(set, from: isLost ? names : [], at: now) }
            if isEstablished { prober.hold(set.id, at: now) }
        }
    }

    /// Withdraws a set, with a goodbye to the locations on hosts that were lost.
    mutating func suspend(_ set: RecordSet, from lost: Set<DomainName>, at now: Duration) {
        guard let holding = holdings[set.id], holding.state == .established || holding.state == .probing else { return }
        stopAnswering(set.id)
        holdings[set.id]?.state = .probing
        guard holding.wasAnnounced else { return }
        sayGoodbye(set.proposed(with: []).filter { $0.serviceTarget.map(lost.contains) ?? false })
    }

    private func dependents(of names: Set<DomainName>) -> [RecordSet] {
        guard !names.isEmpty else { return [] }
        return holdings.values.map(\.set).filter { !$0.targets.isDisjoint(with: names) }.sorted { $0.id < $1.id }
    }
}

extension RecordSet {
    /// The hosts that its records point to.
    var targets: Set<DomainName> { Set(unique.compactMap(\.serviceTarget)) }

    /// The names of hosts in it.
    var hostNames: Set<DomainName> {
        hosts.union(unique.filter { $0.type == .a || $0.type == .aaaa }.map(\.name))
    }
}

extension ResourceRecord {
    /// The host of a location.
    fileprivate var serviceTarget: DomainName? {
        if case .service(let location) = data { location.target } else { nil }
    }
}
