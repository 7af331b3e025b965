// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import DNSWire

/// What this machine advertises, and under which names: one name everywhere, whatever happens on one interface.
///
/// Pure: input are interfaces and the events of their record sets, output are commands to their zones.
struct Advertiser: Sendable {
    struct Command: Hashable, Sendable {
        enum Action: Hashable, Sendable {
            /// Publish the set, or bring it in line.
            case publish(RecordSet)
            case withdraw(RecordSet.ID)
        }

        let interface: Int
        let action: Action
    }

    private enum Kind: Sendable {
        case service(ServiceRegistration, type: DomainName, label: [UInt8], host: HostReference)
        case host(HostRegistration, name: DomainName)
    }

    private enum HostReference: Hashable, Sendable {
        case named(DomainName)
        /// The name of another registration, whatever it is called by now.
        case registered(AdvertisementID)
    }

    private struct Entry: Sendable {
        var kind: Kind
        /// Whether a client registered it; else it is a host that services need.
        var isExplicit = true
        var yieldsToNeighbour = false
        var isReported = false
        /// Whether a zone has no objection any more; reported when none has.
        var isEstablished = false
        /// Services that need this host.
        var users: Set<AdvertisementID> = []
    }

    static let maximumEntries = 4096
    private static let maximumMemories = 256

    /// The name of this machine, below `local`.
    private(set) var machineName: DomainName
    private var entries: [AdvertisementID: Entry] = [:]
    private var interfaces: [Int: [String]] = [:]
    private var lastID = 0
    private var machineHost: AdvertisementID?
    /// The host to which services go when it is established, for the machine got another name.
    private var successor: AdvertisementID?
    private var commands: [Command] = []
    private var events: [AdvertisementEvent] = []
    private var conflicts: [NameConflict] = []
    /// Which name was found free instead of one in use (rule P12).
    private(set) var memory: [DomainName: DomainName] = [:]

    /// - Parameter hostName: The kernel's host name; what follows its first dot is left out.
    init(hostName: String) {
        machineName = Self.machineName(of: hostName)
    }

    /// Applies the machine's new name.
    ///
    /// Services on this machine go on under the old one until the new one is established wherever they are; see
    /// ``reportRegistered(where:)``.
    mutating func apply(hostName: String) {
        let name = Self.machineName(of: hostName)
        guard name != machineName else { return }
        machineName = name
        let services = machineServices
        if let successor { leave(successor, services.filter { $0.host != successor }.map(\.id)) }
        (successor, machineHost) = (nil, nil)
        for service in services { successor = useMachineHost(for: service.id) }
        // No name was reported yet.
        if !services.contains(where: { entries[$0.host]?.isEstablished == true }) { finishMove() }
    }

    /// Whether nothing is advertised, and nothing is left to be said about what was.
    var isEmpty: Bool { entries.isEmpty && commands.isEmpty && events.isEmpty && conflicts.isEmpty }

    /// Makes a name that may be claimed of whatever the machine is called.
    ///
    /// A machine that has no name of its own is `linux`: `localhost` is every machine's, and an address no name.
    static func machineName(of hostName: String) -> DomainName {
        let isAddress = IPAddress(hostName) != nil
        let first = (isAddress ? "" : hostName).utf8.prefix { $0 != UInt8(ascii: ".") }
        let kept = first.map { byte -> UInt8 in
            let isFine = byte >= 0x80 || (48...57).contains(byte) || (97...122).contains(byte | 0x20)
            return isFine ? byte : UInt8(ascii: "-")
        }
        let label = kept.prefix(63).drop { $0 == UInt8(ascii: "-") }.reversed().drop { $0 == UInt8(ascii: "-") }
        let name = try? NameRules.hostName(String(decoding: label.reversed(), as: UTF8.self))
        // The kernel calls a machine without a name `(none)`.
        guard let name, name != DomainName("localhost.local"), hostName != "(none)" else {
            return DomainName("linux.local") ?? DomainName()
        }
        return name
    }

    // MARK: - Interfaces

    /// Sets the interfaces, by index, with their names: the kernel's first, alternative ones behind it.
    ///
    /// What is new gets everything; what left is forgotten without goodbye, for its zones went with it.
    mutating func setInterfaces(_ all: [Int: [String]]) {
        let old = interfaces
        interfaces = all
        for (index, names) in all.inKeyOrder where old[index] != names {
            var wanted = sets(on: index)
            if let oldNames = old[index] {
                let kept = Set(wanted.map(\.id))
                let before = Set(entries.filter { isWanted($0.value, on: oldNames) }.keys.map(Self.set))
                for id in before.subtracting(kept).sorted(by: { $0.rawValue < $1.rawValue }) {
                    commands.append(Command(interface: index, action: .withdraw(id)))
                }
                if oldNames.first == names.first { wanted.removeAll { before.contains($0.id) } }
            }
            commands += wanted.map { Command(interface: index, action: .publish($0)) }
        }
    }

    /// What is published on an interface: for a zone that was opened later than its interface came.
    func sets(on interface: Int) -> [RecordSet] {
        guard let names = interfaces[interface] else { return [] }
        return entries.inKeyOrder.filter { isWanted($0.value, on: names) }
            .map { recordSet($0.key, $0.value) }
    }

    // MARK: - Advertising

    /// Advertises a service.
    /// - Throws: What is wrong with it.
    mutating func advertise(_ service: ServiceRegistration) throws(RegistrationError) -> AdvertisementID {
        let type = try service.validate()
        // One entry for the service, one for a host that comes with it.
        guard entries.count + 2 <= Self.maximumEntries else {
            throw .tooMany(what: "advertisements", limit: Self.maximumEntries)
        }
        let id = makeID()
        let host: HostReference
        switch service.host {
        case .existing(let name): host = .named(name)
        case .machine: host = .registered(useMachineHost(for: id))
        case .claimed(let name, let addresses):
            var registration = HostRegistration(name: name, addresses: addresses)
            registration.interfaces = service.interfaces
            registration.allowsRenaming = service.allowsRenaming
            host = .registered(use(registration, for: id))
        }
        var entry = Entry(kind: .service(service, type: type, label: service.name, host: host))
        settleName(of: id, &entry)
        entries[id] = entry
        publish(id)
        return id
    }

    /// Claims a host name.
    /// - Throws: What is wrong with it.
    mutating func advertise(_ host: HostRegistration) throws(RegistrationError) -> AdvertisementID {
        try host.validate()
        guard entries.count < Self.maximumEntries else {
            throw .tooMany(what: "advertisements", limit: Self.maximumEntries)
        }
        let id = makeID()
        var entry = Entry(kind: .host(host, name: host.name))
        settleName(of: id, &entry)
        entries[id] = entry
        publish(id)
        return id
    }

    /// Changes the text of a service (rule P11).
    /// - Throws: What is wrong with it.
    mutating func update(text: [TextRecord.Entry], of id: AdvertisementID) throws(RegistrationError) {
        guard case .service(var service, _, _, _) = entries[id]?.kind else { return }
        service.text = text
        try update(service, of: id)
    }

    /// Changes a service in all but its name, type, host and interfaces, which stay (rule P11).
    /// - Throws: What is wrong with it.
    mutating func update(_ service: ServiceRegistration, of id: AdvertisementID) throws(RegistrationError) {
        guard case .service(let old, let type, let label, let host) = entries[id]?.kind else { return }
        var new = service
        (new.name, new.type, new.host, new.interfaces) = (old.name, old.type, old.host, old.interfaces)
        try new.validate()
        guard new != old else { return }
        entries[id]?.kind = .service(new, type: type, label: label, host: host)
        publish(id)
        if let name = name(of: id) { events.append(AdvertisementEvent(id: id, kind: .updated(name))) }
    }

    /// Withdraws a service or a host; a host that only it needed goes too.
    mutating func withdraw(_ id: AdvertisementID) {
        guard let entry = entries[id], entry.isExplicit else { return }
        guard entry.users.isEmpty else {
            // Services still stand on it.
            entries[id]?.isExplicit = false
            return
        }
        remove(id)
    }

    func name(of id: AdvertisementID) -> DomainName? { entries[id].flatMap(name(of:)) }

    func host(of id: AdvertisementID) -> DomainName? {
        guard case .service(_, _, _, let host) = entries[id]?.kind else { return nil }
        return resolve(host)
    }

    // MARK: - Events of zones

    /// Handles an event of a set on an interface.
    ///
    /// `isClaimed` says whether another host is known to have a name, so that it is not tried.
    mutating func handle(
        _ event: ResponderEvent,
        on interface: String,
        isClaimed: (DomainName) -> Bool = { _ in false }
    ) {
        switch event {
        case .established(let set), .yielded(let set):
            let id = AdvertisementID(rawValue: set.rawValue)
            entries[id]?.isEstablished = true
        case .conflict(let set, let name, let rivals):
            let id = AdvertisementID(rawValue: set.rawValue)
            // Another interface may have reported the same before.
            guard var entry = entries[id], self.name(of: entry) == name else { return }
            guard allowsRenaming(entry) else {
                conflicts.append(NameConflict(name: name, interface: interface, newName: nil))
                remove(id)
                if entry.isExplicit { events.append(AdvertisementEvent(id: id, kind: .conflict(name))) }
                for user in entry.users.sorted() {
                    remove(user)
                    events.append(AdvertisementEvent(id: user, kind: .conflict(name)))
                }
                return
            }
            // Each of the others uses one of the next names.
            for _ in 0..<rivals {
                repeat { rename(&entry) } while isInUse(entry, by: id) || self.name(of: entry).map(isClaimed) ?? false
            }
            entry.isEstablished = false
            entries[id] = entry
            conflicts.append(NameConflict(name: name, interface: interface, newName: self.name(of: entry)))
            remember(id, entry)
            report(id, entry, from: name)
            publish(id)
            for user in entry.users.sorted() { publish(user) }
        }
    }

    /// Reports what is registered by now: what is established wherever it is published; services move to such a host.
    /// - Parameter isSettled: Whether no zone that has the set is still probing.
    mutating func reportRegistered(where isSettled: (RecordSet.ID) -> Bool) {
        for (id, entry) in entries.inKeyOrder
        where entry.isEstablished && !entry.isReported && isSettled(Self.set(id)) {
            entries[id]?.isReported = true
            guard entry.isExplicit, let name = name(of: entry) else { continue }
            events.append(AdvertisementEvent(id: id, kind: .registered(name)))
        }
        if let successor, entries[successor]?.isEstablished == true, isSettled(Self.set(successor)) { finishMove() }
    }

    /// Restores which names were found free in an earlier run; what is wrong is left out.
    mutating func recall(_ names: [DomainName: DomainName]) {
        let possible = names.filter { old, new in
            old.labelCount == new.labelCount && old.parent == new.parent && old.isWithin(NameRules.local)
        }
        for (old, new) in possible.inKeyOrder.prefix(Self.maximumMemories) { memory[old] = new }
    }

    /// Removes and returns what zones are to do since the last call, in order.
    mutating func drainCommands() -> [Command] {
        defer { commands = [] }
        return commands
    }

    /// Removes and returns the events since the last call, in order.
    mutating func drainEvents() -> [AdvertisementEvent] {
        defer { events = [] }
        return events
    }

    /// Removes and returns the names that were lost since the last call, those of hosts that services need included.
    mutating func drainConflicts() -> [NameConflict] {
        defer { conflicts = [] }
        return conflicts
    }

    // MARK: - Names

    private func name(of entry: Entry) -> DomainName? {
        switch entry.kind {
        case .service(_, let type, let label, _): try? DomainName(labels: [label]).appending(type)
        case .host(_, let name): name
        }
    }

    private func originalName(of entry: Entry) -> DomainName? {
        switch entry.kind {
        case .service(let service, let type, _, _): try? DomainName(labels: [service.name]).appending(type)
        case .host(let host, _): host.name
        }
    }

    private func allowsRenaming(_ entry: Entry) -> Bool {
        switch entry.kind {
        case .service(let service, _, _, _): service.allowsRenaming
        case .host(let host, _): host.allowsRenaming
        }
    }

    private func rename(_ entry: inout Entry) {
        switch entry.kind {
        case .service(let service, let type, let label, let host):
            entry.kind = .service(service, type: type, label: RenamePolicy.service(after: label), host: host)
        case .host(let host, let name):
            let label = RenamePolicy.host(after: name.firstLabel ?? [])
            entry.kind = .host(host, name: (try? DomainName(labels: [label]).appending(NameRules.local)) ?? name)
        }
    }

    /// Whether another registration of ours has the name; two of ours must not fight over it.
    private func isInUse(_ entry: Entry, by id: AdvertisementID) -> Bool {
        let wanted = name(of: entry)
        return entries.contains { $0.key != id && name(of: $0.value) == wanted }
    }

    /// Begins with the name that was free the last time, and with one that no other registration has.
    private mutating func settleName(of id: AdvertisementID, _ entry: inout Entry) {
        guard let original = originalName(of: entry), allowsRenaming(entry) else { return }
        if let remembered = memory[original], let label = remembered.firstLabel {
            switch entry.kind {
            case .service(let service, let type, _, let host):
                entry.kind = .service(service, type: type, label: label, host: host)
            case .host(let host, _): entry.kind = .host(host, name: remembered)
            }
        }
        while isInUse(entry, by: id) { rename(&entry) }
        report(id, entry, from: original)
    }

    private mutating func remember(_ id: AdvertisementID, _ entry: Entry) {
        guard let original = originalName(of: entry), let name = name(of: entry) else { return }
        if memory[original] == nil, memory.count >= Self.maximumMemories { memory = [:] }
        memory[original] = name
    }

    private mutating func report(_ id: AdvertisementID, _ entry: Entry, from old: DomainName) {
        guard entry.isExplicit, let name = name(of: entry), name != old else { return }
        events.append(AdvertisementEvent(id: id, kind: .renamed(from: old, to: name)))
    }

    // MARK: - Hosts of services

    private mutating func useMachineHost(for user: AdvertisementID) -> AdvertisementID {
        if let machineHost, entries[machineHost] != nil {
            entries[machineHost]?.users.insert(user)
            return machineHost
        }
        let id = use(HostRegistration(name: machineName), for: user, yieldsToNeighbour: true)
        machineHost = id
        return id
    }

    /// The host of this name and these addresses, made when nobody needed it before.
    private mutating func use(
        _ host: HostRegistration,
        for user: AdvertisementID,
        yieldsToNeighbour: Bool = false
    ) -> AdvertisementID {
        let known = entries.first { _, entry in
            guard case .host(let other, _) = entry.kind else { return false }
            return other == host
        }
        if let known {
            entries[known.key]?.users.insert(user)
            return known.key
        }
        let id = makeID()
        var entry = Entry(kind: .host(host, name: host.name), isExplicit: false, yieldsToNeighbour: yieldsToNeighbour)
        entry.users = [user]
        settleName(of: id, &entry)
        entries[id] = entry
        publish(id)
        return id
    }

    /// The services that run on this machine, and under which of its names.
    private var machineServices: [(id: AdvertisementID, host: AdvertisementID)] {
        entries.inKeyOrder.compactMap { id, entry in
            guard case .service(let service, _, _, .registered(let host)) = entry.kind, service.host == .machine else {
                return nil
            }
            return (id, host)
        }
    }

    /// Points the services at the machine's new host, and gives up the old one when nobody else needs it.
    private mutating func finishMove() {
        guard let next = successor else { return }
        successor = nil
        let moving = machineServices.filter { $0.host != next }
        for (id, _) in moving {
            guard case .service(let service, let type, let label, _) = entries[id]?.kind else { continue }
            entries[id]?.kind = .service(service, type: type, label: label, host: .registered(next))
            publish(id)
        }
        for (id, old) in moving { leave(old, [id]) }
    }

    /// Services need a host no more; it goes with the last one, unless a client registered it.
    private mutating func leave(_ host: AdvertisementID, _ services: [AdvertisementID]) {
        entries[host]?.users.subtract(services)
        if let left = entries[host], left.users.isEmpty, !left.isExplicit { remove(host) }
    }

    private func resolve(_ host: HostReference) -> DomainName {
        switch host {
        case .named(let name): name
        case .registered(let id): name(of: id) ?? machineName
        }
    }

    // MARK: - Sets

    private static func set(_ id: AdvertisementID) -> RecordSet.ID { RecordSet.ID(rawValue: id.rawValue) }

    private mutating func makeID() -> AdvertisementID {
        lastID += 1
        return AdvertisementID(rawValue: lastID)
    }

    private func recordSet(_ id: AdvertisementID, _ entry: Entry) -> RecordSet {
        switch entry.kind {
        case .host(let host, let name):
            host.recordSet(Self.set(id), name: name, yieldsToNeighbour: entry.yieldsToNeighbour)
        case .service(let service, let type, _, let host):
            service.recordSet(
                Self.set(id),
                instance: name(of: entry) ?? type,
                type: type,
                host: resolve(host)
            )
        }
    }

    private func isWanted(_ entry: Entry, on names: [String]) -> Bool {
        let wanted: Set<String>? =
            switch entry.kind {
            case .service(let service, _, _, _): service.interfaces
            case .host(let host, _): host.interfaces
            }
        return wanted.map { !$0.isDisjoint(with: names) } ?? true
    }

    private mutating func publish(_ id: AdvertisementID) {
        guard let entry = entries[id] else { return }
        let set = recordSet(id, entry)
        for (index, names) in interfaces.inKeyOrder where isWanted(entry, on: names) {
            commands.append(Command(interface: index, action: .publish(set)))
        }
    }

    private mutating func remove(_ id: AdvertisementID) {
        guard let entry = entries.removeValue(forKey: id) else { return }
        for (index, names) in interfaces.inKeyOrder where isWanted(entry, on: names) {
            commands.append(Command(interface: index, action: .withdraw(Self.set(id))))
        }
        if machineHost == id { machineHost = nil }
        if successor == id { successor = nil }
        for host in entries.filter({ $0.value.users.contains(id) }).keys.sorted() { leave(host, [id]) }
    }
}
