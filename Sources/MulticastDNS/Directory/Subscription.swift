// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import DNSWire

/// What one client wants of its links (rule Q7: nothing is queried or refreshed without one).
struct Subscription: Sendable {
    /// The one interface to use, by name; `nil` is all of them.
    var interface: String?
    /// Every service of every type, queried whenever a census runs.
    var census: CensusSettings?
    /// Types and subtypes whose instances are wanted.
    var pointers: Set<DomainName> = []
    /// Instances that are to be resolved, announced or not.
    var instances: Set<DomainName> = []
    /// Whether the text of these instances is wanted too; a connection needs none.
    var wantsText = true
    var records: Set<RecordKey> = []
    /// Records that are reported when they come, and never queried.
    var passive: Set<RecordKey> = []
    /// How often each question is sent; without end when `Int.max`.
    var rounds = Int.max
}

/// The subscriptions of all clients of a link, each question counted once however many want it.
struct Subscriptions: Sendable {
    private(set) var byClient: [Int: Subscription] = [:]
    private var pointerCounts: [DomainName: Int] = [:]
    private var instanceCounts: [DomainName: Int] = [:]
    private var textCounts: [DomainName: Int] = [:]
    private var recordCounts: [RecordKey: Int] = [:]

    var wantsAll: Bool { byClient.values.contains { $0.census != nil } }

    /// The records that some client subscribed to.
    var subscribedRecords: [RecordKey] { Array(recordCounts.keys) }

    func wants(pointersOf name: DomainName) -> Bool { pointerCounts[name] != nil }
    func wants(instance: DomainName) -> Bool { instanceCounts[instance] != nil }
    func wants(textOf instance: DomainName) -> Bool { textCounts[instance] != nil }
    func wants(record: RecordKey) -> Bool { !recordCounts.isEmpty && recordCounts[record] != nil }

    mutating func add(_ subscription: Subscription, of client: Int) {
        remove(client)
        byClient[client] = subscription
        for name in subscription.pointers { pointerCounts[name, default: 0] += 1 }
        for name in subscription.instances { instanceCounts[name, default: 0] += 1 }
        for name in subscription.instances where subscription.wantsText { textCounts[name, default: 0] += 1 }
        for key in subscription.records.union(subscription.passive) { recordCounts[key, default: 0] += 1 }
    }

    @discardableResult
    mutating func remove(_ client: Int) -> Subscription? {
        guard let subscription = byClient.removeValue(forKey: client) else { return nil }
        for name in subscription.pointers { Self.lower(&pointerCounts[name]) }
        for name in subscription.instances { Self.lower(&instanceCounts[name]) }
        for name in subscription.instances where subscription.wantsText { Self.lower(&textCounts[name]) }
        for key in subscription.records.union(subscription.passive) { Self.lower(&recordCounts[key]) }
        return subscription
    }

    private static func lower(_ count: inout Int?) {
        guard let value = count else { return }
        count = value > 1 ? value - 1 : nil
    }
}

struct LinkIdentity: Hashable, Sendable {
    let index: Int
    let name: String
}
