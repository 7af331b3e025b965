// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import DNSWire

extension LinkDirectory {
    /// Sets the addresses of the interface, and the machine's others, for the responders of both families.
    mutating func setAddresses(_ addresses: [IPAddress], elsewhere: Set<IPAddress>, at now: Duration) {
        let sorted = Dictionary(grouping: addresses.sorted(), by: \.family)
        for family in AddressFamily.allCases {
            let other: AddressFamily = family == .ipv4 ? .ipv6 : .ipv4
            zones[family]?.responder.setAddresses(
                sorted[family] ?? [],
                ofOtherFamily: sorted[other] ?? [],
                elsewhere: elsewhere,
                at: now
            )
        }
    }

    mutating func carryOut(_ action: Advertiser.Command.Action, at now: Duration) {
        for family in AddressFamily.allCases {
            switch action {
            case .publish(let set): zones[family]?.responder.publish(set, at: now)
            case .withdraw(let id): zones[family]?.responder.withdraw(id, at: now)
            }
        }
    }

    /// Whether probing for the names of a set is over, where it is published.
    func isSettled(_ id: RecordSet.ID) -> Bool {
        AddressFamily.allCases.allSatisfy { family in
            switch zones[family]?.responder.holdings[id]?.state {
            case nil, .established, .yielded: true
            case .probing, .lost: false
            }
        }
    }

    /// Whether a host on the link claims a name as unique.
    func isClaimed(_ name: DomainName, at now: Duration) -> Bool {
        zones.values.contains { zone in
            [.a, .aaaa, .srv].contains { zone.cache.hasRecords(RecordKey(name, $0), at: now) }
        }
    }

    mutating func drainResponderEvents() -> [ResponderEvent] {
        AddressFamily.allCases.flatMap { zones[$0]?.responder.drainEvents() ?? [] }
    }
}
