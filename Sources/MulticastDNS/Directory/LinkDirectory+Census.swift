// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import DNSWire

extension LinkDirectory {
    mutating func beginCensus(at now: Duration) {
        guard memory != nil else { return }
        isCensusRunning = true
        let backed = backedTypes(at: now)
        memory?.beginCensus { backed.contains($0) }
        for family in AddressFamily.allCases { queryTypes(in: family, at: now) }
    }

    mutating func endCensus() {
        isCensusRunning = false
        guard let memory else { return }
        for type in [ServiceName.enumeration] + memory.types where !subscriptions.wants(pointersOf: type) {
            guard !subscriptions.wants(record: RecordKey(type, .ptr)) else { continue }
            for family in AddressFamily.allCases { zones[family]?.schedule.endSeries(Question(type, .ptr)) }
        }
    }

    /// The types that have instances, or that somebody listed.
    private func backedTypes(at now: Duration) -> Set<DomainName> {
        var types = activeQueries.types
        for family in AddressFamily.allCases {
            types.formUnion(zones[family]?.cache.names(of: .ptr) ?? [])
            for record in zones[family]?.cache.records(RecordKey(ServiceName.enumeration, .ptr), at: now) ?? [] {
                if case .pointer(let target) = record.data, let type = ServiceName.type(enumerated: target) {
                    types.insert(type)
                }
            }
        }
        return types
    }

    mutating func queryTypes(in family: AddressFamily, at now: Duration) {
        guard let memory else { return }
        for type in [ServiceName.enumeration] + memory.types {
            zones[family]?.query(Question(type, .ptr), times: CensusRun.rounds, at: now)
        }
    }

    /// Applies other settings of a census: the types that are new among the well-known ones are queried at once.
    mutating func change(_ subscription: Subscription, of client: Int, at now: Duration) {
        subscriptions.add(subscription, of: client)
        memory?.setWellKnown(subscription.census?.wellKnownTypes ?? [])
        let inUse = activeQueries.types
        for type in subscription.census?.wellKnownTypes ?? []
        where memory?.remember(type, at: now, isInUse: { inUse.contains($0) }) == true {
            for family in AddressFamily.allCases {
                zones[family]?.query(Question(type, .ptr), times: CensusRun.rounds, at: now)
            }
        }
    }

    // MARK: - What records say

    /// Records what a record of a response says beyond its own life.
    mutating func learn(
        _ record: ResourceRecord,
        by family: AddressFamily,
        from source: IPAddress,
        at now: Duration,
        touched: inout Set<DomainName>
    ) {
        guard record.timeToLive > 0, record.classCode == 1 else { return }
        if record.flushesCache {
            // Answered by one family, it need not be queried by the other (rule Q5), unless it expires there.
            let question = Question(record.name, record.type)
            for other in AddressFamily.allCases { zones[other]?.schedule.endSeries(question) }
            zones[family]?.schedule.cancel(question)
        }
        switch record.data {
        case .pointer(let target) where record.name == ServiceName.enumeration:
            guard let type = ServiceName.type(enumerated: target) else { return }
            admit(type, from: source, at: now)
        case .pointer(let target):
            if ServiceName.isType(record.name), target.labelCount >= 2 { admit(record.name, from: source, at: now) }
            follow(target, by: record.name, at: now, touched: &touched)
        case .nextSecure(_, let types):
            // What is denied need not be queried again (rule C9).
            guard !types.contains(.cname) else { return }
            for type in [RecordType.a, .aaaa, .srv, .txt] where !types.contains(type) {
                for family in AddressFamily.allCases { zones[family]?.schedule.cancel(Question(record.name, type)) }
            }
        case .alias where record.flushesCache:
            // It has no records of its own (RFC 1034 section 3.6.2); the querier follows the canonical name.
            for type in [RecordType.a, .aaaa] {
                for family in AddressFamily.allCases { zones[family]?.schedule.cancel(Question(record.name, type)) }
            }
        case .service, .text:
            instances[record.name]?.lastSeen = now
        default: break
        }
    }

    private mutating func admit(_ type: DomainName, from source: IPAddress, at now: Duration) {
        let inUse = activeQueries.types
        guard memory?.admit(type, from: source, at: now, isInUse: { inUse.contains($0) }) == true, isCensusRunning
        else { return }
        let (question, delay) = (Question(type, .ptr), QuestionSchedule.gatheringDelay)
        for family in AddressFamily.allCases {
            zones[family]?.query(question, times: CensusRun.rounds, within: delay, at: now)
        }
    }
}
