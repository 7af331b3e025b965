// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import FuzzKit

@testable import FuzzScripts
@testable import MulticastDNS

/// An advertiser, a directory that carries its commands out, a clock, and what they must hold to.
struct Bench: LinkBench {
    static let beginnings = (0..<64).map { Bench($0) }

    private struct Multicast: Hashable {
        let family: AddressFamily
        let name: DomainName
        let type: RecordType
        let data: RecordData
    }

    private var advertiser = Advertiser(hostName: "h3")
    var directory: LinkDirectory
    var now = Duration.seconds(5000)
    var lastSent: [AddressFamily: [UInt8]] = [:]
    private var ids: [AdvertisementID] = []
    private var addresses: [IPAddress] = []
    private var opened: [AddressFamily: Duration] = [:]
    private var unicasts: [AddressFamily: Int] = [:]
    private var onLink: Set<IPAddress> = []
    private var lastMulticast: [Multicast: Duration] = [:]

    private init(_ flags: Int) {
        let random = RandomSource(seed: UInt64(flags & 3))
        directory = LinkDirectory(index: 2, name: "eth0", settings: MulticastSettings(), random: random)
        advertiser.setInterfaces([2: ["eth0"]])
        open(.ipv4, mtu: flags & 4 == 0 ? 1500 : 576)
        if flags & 8 == 0 { open(.ipv6, mtu: 1500) }
        setAddresses(7)
        if flags & 16 == 0 { advertise(0, 0) }
        if flags & 32 == 0 { settle() }
    }

    // MARK: - Steps

    mutating func open(_ family: AddressFamily, mtu: Int) {
        if directory.zones[family] == nil {
            opened[family] = now
            unicasts[family] = 0
            forgetMulticasts()
        }
        directory.open(family, mtu: mtu, at: now)
        directory.setAddresses(addresses, elsewhere: [], at: now)
        for set in advertiser.sets(on: 2) { directory.carryOut(.publish(set), at: now) }
        act()
    }

    mutating func setAddresses(_ mask: UInt8) {
        let all: [IPAddress] = [.v4(0xC000_0201), .v4(0xC000_0202), .v6(0xFE80 << 112 | 1), .v6(0x2001 << 112 | 1)]
        addresses = all.enumerated().filter { mask & 1 << $0.offset != 0 }.map(\.element)
        forgetMulticasts()
        directory.setAddresses(addresses, elsewhere: mask & 16 == 0 ? [] : [.v4(0xC000_0203)], at: now)
        act()
    }

    mutating func restart() {
        for family in AddressFamily.allCases { directory.zones[family]?.responder.restart(at: now) }
        forgetMulticasts()
        act()
    }

    /// Advertises a service or a host under a name that others use too.
    mutating func advertise(_ number: UInt8, _ form: UInt8) {
        guard ids.count < 6 else { return }
        let host = Scripts.hosts[Int(number & 15)]
        forgetMulticasts()
        if form & 7 == 7 {
            var registration = HostRegistration(name: host, addresses: form & 8 == 0 ? nil : [.v4(1), .v6(1)])
            registration.allowsRenaming = form & 16 == 0
            if let id = try? advertiser.advertise(registration) { ids.append(id) }
        } else {
            let name = Scripts.instances[Int(number & 31)].firstLabel ?? []
            var registration = ServiceRegistration(name: name, type: "_t\(number & 7)._tcp", port: UInt16(form) + 1)
            registration.host =
                switch form & 3 {
                case 0: .machine
                case 1: .claimed(host, addresses: nil)
                case 2: .claimed(host, addresses: [.v4(9)])
                default: .existing(host)
                }
            registration.allowsRenaming = form & 16 == 0
            if form & 32 != 0 { registration.subtypes = [[95, 115]] }
            if let id = try? advertiser.advertise(registration) { ids.append(id) }
        }
        act()
    }

    mutating func update(_ number: UInt8) {
        guard let id = pick(number) else { return }
        forgetMulticasts()
        let value = [UInt8](repeating: 65, count: Int(number))
        try? advertiser.update(text: [TextRecord.Entry(key: "a", value: value)], of: id)
        act()
    }

    mutating func withdraw(_ number: UInt8) {
        guard let id = pick(number) else { return }
        forgetMulticasts()
        advertiser.withdraw(id)
        ids.removeAll { $0 == id }
        act()
    }

    mutating func receive(_ bytes: Span<UInt8>, _ family: AddressFamily, from origin: PacketOrigin) {
        if origin.isOnLink { onLink.insert(origin.source) }
        _ = directory.receive(bytes, family, from: origin, at: now)
    }

    /// Somebody probes for one of our names.
    mutating func probe(_ family: AddressFamily, _ number: UInt8) {
        guard let id = pick(number >> 5), let name = advertiser.name(of: id) else { return }
        let location = ServiceLocation(port: UInt16(number & 3), target: Scripts.hosts[Int(number & 15)])
        let message = Message(
            questions: [Question(name, .any, wantsUnicast: number & 16 == 0)],
            authorities: [ResourceRecord(name, .srv, .service(location), timeToLive: 120)]
        )
        let bytes = message.encoded() ?? []
        receive(bytes.span, family, from: 77)
    }

    mutating func finish(_ choice: UInt8) {
        if choice == 2 { settle() }
        if choice == 3 { comeToRest() }
    }

    /// In peace, everything that is advertised is established.
    private mutating func settle() {
        let end = now + .seconds(1200)
        pass(until: end, orFail: "it does not settle")
        now = end
        act()
        for zone in directory.zones.values where !addresses.isEmpty {
            for holding in zone.responder.holdings.values {
                switch holding.state {
                case .established, .yielded: break
                case .probing: fatalError("still probes after twenty minutes of peace")
                case .lost: fatalError("a set was lost and not renamed")
                }
            }
        }
    }

    /// When all is withdrawn, everything ends.
    private mutating func comeToRest() {
        for id in ids { advertiser.withdraw(id) }
        ids = []
        forgetMulticasts()
        act()
        pass(orFail: "it does not come to rest")
        require(advertiser.isEmpty, "something is advertised still")
        for zone in directory.zones.values {
            let responder = zone.responder
            require(responder.holdings.isEmpty && responder.owners.isEmpty, "sets outlived their advertisement")
            require(responder.replies.isEmpty && responder.nextDeadline == nil, "answers outlived their records")
        }
    }

    // MARK: - What must hold

    private func pick(_ number: UInt8) -> AdvertisementID? {
        ids.isEmpty ? nil : ids[Int(number) % ids.count]
    }

    /// What this machine's own users do may be announced at once.
    private mutating func forgetMulticasts() { lastMulticast = [:] }

    mutating func act() {
        var rounds = 0
        repeat {
            rounds += 1
            require(rounds < 100, "renames without end")
            for command in advertiser.drainCommands() { directory.carryOut(command.action, at: now) }
            directory.advance(to: now)
            for (family, packets) in directory.packets(at: now) {
                for packet in packets { check(packet, family) }
                lastSent[family] = packets.last?.bytes
            }
            for event in directory.drainResponderEvents() { advertiser.handle(event, on: "eth0") }
            advertiser.reportRegistered { [directory] in directory.isSettled($0) }
            for conflict in advertiser.drainConflicts() {
                require(conflict.name != conflict.newName, "goes on under the name that it lost")
            }
            for event in advertiser.drainEvents() { check(event) }
        } while !isQuiet()
        _ = directory.drainEvents()
        if let deadline = directory.nextDeadline { require(deadline > now, "wants to be woken in the past") }
    }

    /// Whether the advertiser wants nothing more; its commands are carried out at once.
    private mutating func isQuiet() -> Bool {
        let commands = advertiser.drainCommands()
        for command in commands { directory.carryOut(command.action, at: now) }
        return commands.isEmpty
    }

    private mutating func check(_ event: AdvertisementEvent) {
        switch event.kind {
        case .renamed(let from, let to):
            require(from != to, "renamed to the same name")
            forgetMulticasts()
        case .conflict: ids.removeAll { $0 == event.id }
        case .registered, .updated: break
        }
    }

    private mutating func check(_ packet: OutgoingPacket, _ family: AddressFamily) {
        guard let zone = directory.zones[family], let start = opened[family] else { fatalError("sent without a link") }
        guard let message = try? Message(parsing: packet.bytes.span) else { fatalError("cannot read what it sent") }
        let records = message.answers + message.additionals
        let isAlone = message.answers.count == 1 && message.additionals.isEmpty
        require(packet.bytes.count <= zone.payloadLimit || isAlone, "a packet is longer than the link allows")
        guard message.flags.contains(.response) else {
            require(packet.destination == .group && !message.questions.isEmpty, "a question to one host")
            return
        }
        require(message.flags.contains(.authoritative) && !message.answers.isEmpty, "a response that says nothing")
        switch packet.destination {
        case .group:
            require(message.id == 0 && message.questions.isEmpty, "a response with what only a query has")
            for record in records where record.timeToLive > 0 { noteMulticast(record, family) }
        case .host(let address, _):
            require(onLink.contains(address), "an answer to a stranger who may not have asked")
            unicasts[family, default: 0] += 1
            // Every reply is one packet here: nothing advertised fills a second.
            let allowed = UnicastRateLimit.inTotal * (1 + (now - start) / .seconds(1))
            require(Double(unicasts[family] ?? 0) <= allowed + 0.01, "more unicast than the budget allows")
        }
    }

    /// Whatever others send, a record is multicast four times a second at most (RFC 6762 section 6).
    private mutating func noteMulticast(_ record: ResourceRecord, _ family: AddressFamily) {
        let key = Multicast(family: family, name: record.name, type: record.type, data: record.data)
        if let last = lastMulticast[key] {
            require(now - last >= AnswerQueue.defenceGap, "a record is multicast again too soon")
        }
        lastMulticast[key] = now
    }

    func checkTables() {
        let names = ids.compactMap { advertiser.name(of: $0) }
        require(names.count == ids.count, "an advertisement lost its name")
        for zone in directory.zones.values {
            let responder = zone.responder
            require(responder.replies.count <= Responder.maximumReplies, "too many replies wait")
            // A host for each service, and the machine's.
            require(responder.holdings.count <= 2 * 6 + 1, "more sets than were published")
            for (name, id) in responder.owners {
                require(responder.holdings[id]?.set.uniqueNames.contains(name) == true, "a name without a set")
            }
        }
    }
}
