// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import DNSWire
internal import Documents
internal import LinuxIO
internal import MulticastDNS

/// Which services were ever seen on which interface: since when, until when, how often they came, and why they went.
///
/// Pure: the moments are arguments. Bounded: of services that are gone, those seen last are kept.
struct ServiceHistory: Sendable {
    /// A service on an interface; interfaces are known by name, since their numbers change with every boot.
    struct Key: Hashable, Sendable, Comparable {
        let instance: DomainName
        let interface: String

        static func < (left: Key, right: Key) -> Bool {
            (left.instance, left.interface) < (right.instance, right.interface)
        }
    }

    struct Entry: Hashable, Sendable {
        var firstSeen: WallTime
        var lastSeen: WallTime
        /// How often it came, the first time included.
        var appearances = 1
        /// Why it went; `nil` while it is there, and when the daemon ended before it did.
        var removal: RemovalReason?
        var isPresent = false
    }

    static let capacity = 4096
    /// So many more are let in before the oldest go, so that a flood of names does not sort the table each time.
    private static let slack = 512

    private(set) var entries: [Key: Entry]
    /// Whether anything was learnt since ``mark(isSaved:)``.
    private(set) var hasNews = false
    private var present = 0

    /// Begins with what an earlier run left; none of it is there yet.
    init(_ entries: [Key: Entry] = [:]) {
        self.entries = entries.mapValues { entry in
            var entry = entry
            entry.isPresent = false
            return entry
        }
        trim(to: Self.capacity)
    }

    /// What was there when the earlier run ended, or went with its link.
    var expected: [Key] {
        entries.filter { !$1.isPresent && ($1.removal == nil || $1.removal == .interfaceDown) }.map(\.key)
    }

    /// When a service was first heard of, before a restart perhaps.
    func firstSeen(_ service: Service) -> WallTime? { entries[Key(service)]?.firstSeen }

    mutating func take(_ event: ServiceEvent, clock: any TimeSource) {
        switch event {
        case .added(let service):
            come(service, clock: clock)
        case .changed(let service, _, _):
            see(service, clock: clock)
        case .removed(let service, let reason, _):
            see(service, clock: clock)
            go(Key(service), reason)
        default: return
        }
        hasNews = true
    }

    /// Takes when the services that are there were last heard of.
    mutating func refresh(_ services: [Service], clock: any TimeSource) {
        for service in services { see(service, clock: clock) }
        if !services.isEmpty { hasNews = true }
    }

    mutating func mark(isSaved: Bool) { hasNews = !isSaved }

    private mutating func come(_ service: Service, clock: any TimeSource) {
        let key = Key(service)
        if entries[key] == nil {
            // What is there now may alone be more than is kept: the rest has to do without a history.
            guard present < Self.capacity else { return }
            if entries.count >= Self.capacity + Self.slack { trim(to: Self.capacity) }
            let moment = clock.calendar(at: service.firstSeen)
            entries[key] = Entry(firstSeen: moment, lastSeen: moment)
        } else if entries[key]?.removal != nil {
            entries[key]?.appearances += 1
        }
        if entries[key]?.isPresent == false { present += 1 }
        entries[key]?.removal = nil
        entries[key]?.isPresent = true
        see(service, clock: clock)
    }

    private mutating func go(_ key: Key, _ reason: RemovalReason) {
        if entries[key]?.isPresent == true { present -= 1 }
        entries[key]?.isPresent = false
        entries[key]?.removal = reason
    }

    private mutating func see(_ service: Service, clock: any TimeSource) {
        guard var entry = entries[Key(service)] else { return }
        let moment = clock.calendar(at: service.lastSeen)
        // A calendar that was wrong then and is right now must not turn the order around.
        if moment + ServiceDocument.clockSlack < entry.firstSeen { entry.firstSeen = moment }
        entry.lastSeen = max(moment, entry.firstSeen)
        entries[Key(service)] = entry
    }

    private mutating func trim(to count: Int) {
        guard entries.count > count else { return }
        let gone = entries.filter { !$0.value.isPresent }
            .sorted { ($0.value.lastSeen, $0.key) < ($1.value.lastSeen, $1.key) }
        for entry in gone.prefix(entries.count - count) { entries[entry.key] = nil }
    }
}

extension ServiceHistory.Key {
    init(_ service: Service) { self.init(instance: service.instance, interface: service.interface) }
}
