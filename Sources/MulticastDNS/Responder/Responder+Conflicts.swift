// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import DNSWire

extension Responder {
    /// Evaluates what others say about our names (rules P5, P12, P13, A7, A16).
    mutating func receive(response: Message, from origin: PacketOrigin, at now: Duration) {
        guard !holdings.isEmpty else { return }
        // By unicast only answers to our probes are accepted, and only from this link.
        guard origin.wasMulticast || (origin.isOnLink && welcomesUnicast && !prober.probing.isEmpty) else { return }
        let records = (response.answers + response.additionals).filter { $0.classCode == 1 }
        for record in records { evaluate(record, from: origin, at: now) }
        if origin.wasMulticast { compare(records, at: now) }
    }

    /// Evaluates another host's probe: who gets a name that both want (rules P6, P7).
    mutating func receiveProbe(_ query: Message, from origin: PacketOrigin, at now: Duration) {
        let proposals = Dictionary(grouping: query.authorities.filter { $0.classCode == 1 }, by: \.name)
        for name in Set(query.questions.map(\.name)).sorted() {
            guard let theirs = proposals[name], let id = owners[name], let holding = holdings[id] else { continue }
            if isNeighbours(theirs, of: holding, from: origin) {
                yield(id, for: lifetime(of: theirs), at: now)
                continue
            }
            guard holding.state == .probing else { continue }
            guard !theirs.allSatisfy({ isOurs($0, in: holding.set, at: now) }) else { continue }
            let ours = holding.set.proposed(with: addresses).filter { $0.name == name }
            switch Tiebreak.compare(ours: ours, theirs: theirs) {
            case .lost:
                prober.lostTiebreak(id, at: now)
                guard holding.rivals.count < Self.maximumRivals else { break }
                holdings[id]?.rivals.insert(Set(theirs.map(\.data)))
            // Silent as the set is until its host is ours, only a probe shows the other host that it lost.
            case .won where prober.isHeld(id): prober.start(id, at: now, random: &random)
            case .won, .equal: break
            }
        }
    }

    /// Whether a responder on this machine, on this interface, has these addresses for a name that yields.
    private func isNeighbours(_ records: [ResourceRecord], of holding: Holding, from origin: PacketOrigin) -> Bool {
        guard holding.set.yieldsToNeighbour, own.contains(origin.source) else { return false }
        return records.contains { record in
            guard case .address(let address) = record.data, holding.set.hosts.contains(record.name) else {
                return false
            }
            return record.timeToLive > 0 && isOfThisMachine(address)
        }
    }

    private func lifetime(of records: [ResourceRecord]) -> Duration {
        .seconds(Int64(min(records.map(\.timeToLive).max() ?? 0, RecordCache.maximumLifetime)))
    }

    /// One record of a response about one of our names.
    private mutating func evaluate(_ record: ResourceRecord, from origin: PacketOrigin, at now: Duration) {
        guard record.type != .nsec, let id = owners[record.name], let holding = holdings[id] else { return }
        if case .yielded(let until) = holding.state {
            follow(record, of: id, until: until, from: origin, at: now)
            return
        }
        guard record.timeToLive > 0 else { return }
        if isNeighbours([record], of: holding, from: origin) {
            yield(id, for: lifetime(of: [record]), at: now)
            return
        }
        switch holding.state {
        case .probing:
            guard prober.hasProbed(id), !isOurs(record, in: holding.set, at: now) else { return }
            lose(id, to: record, at: now)
        case .established:
            guard records[OwnRecords.Key(name: record.name, type: record.type)] != nil,
                !isOurs(record, in: holding.set, at: now)
            else { return }
            prober.noteConflict(at: now)
            probeAgain(id, at: now)
            suspend(dependentsOf: holding.set.uniqueNames, isLost: false, at: now)
        case .lost, .yielded: break
        }
    }

    /// Follows the neighbour that we yielded to: its goodbye, or another host's claim, makes us probe again.
    private mutating func follow(
        _ record: ResourceRecord,
        of id: RecordSet.ID,
        until: Duration,
        from origin: PacketOrigin,
        at now: Duration
    ) {
        guard case .address(let address) = record.data else { return }
        if isOfThisMachine(address), record.timeToLive > 0 {
            let renewed = max(until, now + lifetime(of: [record]))
            holdings[id]?.state = .yielded(until: renewed)
        } else {
            // In a second, so that a goodbye before a new announcement does not wake us.
            holdings[id]?.state = .yielded(until: min(until, now + .seconds(1)))
        }
    }

    /// Compares another host's copies of our records: an answer that it gave need not be given (rule A7), and one
    /// that it lets die early is announced again (rule A16).
    private mutating func compare(_ received: [ResourceRecord], at now: Duration) {
        var copies: [OwnRecords.Key: [ResourceRecord]] = [:]
        for record in received {
            guard let unit = records.unit(of: record), !unit.isDenial,
                unit.records.contains(where: { $0.isSame(as: record) })
            else { continue }
            copies[unit.key, default: []].append(record)
        }
        for (key, copies) in copies {
            guard let unit = records[key] else { continue }
            if copies.contains(where: { UInt64($0.timeToLive) * 2 < UInt64(unit.timeToLive) }) {
                queue.plan(key, at: now, due: now, lastMulticast: unit.lastMulticast)
            } else if unit.records.allSatisfy({ own in
                copies.contains { $0.timeToLive >= own.timeToLive && $0.isSame(as: own) }
            }) {
                queue.drop(key)
                records.noteMulticast(key, at: now)
            }
        }
    }
}
