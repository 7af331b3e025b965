// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import TestSupport
import Testing

@testable import MulticastDNS

private func name(_ text: String) -> DomainName { DomainName(text) ?? DomainName() }

private func service(
    _ name: String = "Lamp",
    host: ServiceRegistration.Host = .existing(name("lamp.local")),
    on interfaces: Set<String>? = nil
) -> ServiceRegistration {
    var registration = ServiceRegistration(name: Array(name.utf8), type: "_ipp._tcp", port: 631)
    registration.host = host
    registration.interfaces = interfaces
    return registration
}

/// An advertiser on two interfaces, with what it published on each.
private struct Bench {
    var advertiser = Advertiser(hostName: "box")
    private(set) var published: [Int: [RecordSet.ID: RecordSet]] = [:]
    private(set) var withdrawn: [Int: [RecordSet.ID]] = [:]
    private(set) var events: [AdvertisementEvent.Kind] = []
    private(set) var conflicts: [NameConflict] = []

    init(_ interfaces: [Int: String] = [1: "eth0", 2: "wlan0"]) { setInterfaces(interfaces) }

    mutating func setInterfaces(_ interfaces: [Int: String]) { setInterfaces(interfaces.mapValues { [$0] }) }

    mutating func setInterfaces(_ interfaces: [Int: [String]]) {
        advertiser.setInterfaces(interfaces)
        act()
    }

    /// Sets that some zone still asks for.
    var asking: Set<RecordSet.ID> = []

    mutating func act() {
        advertiser.reportRegistered { [asking] in !asking.contains($0) }
        for command in advertiser.drainCommands() {
            switch command.action {
            case .publish(let set): published[command.interface, default: [:]][set.id] = set
            case .withdraw(let id):
                published[command.interface]?[id] = nil
                withdrawn[command.interface, default: []].append(id)
            }
        }
        events += advertiser.drainEvents().map(\.kind)
        conflicts += advertiser.drainConflicts()
    }

    mutating func advertise(_ service: ServiceRegistration) throws -> AdvertisementID {
        defer { act() }
        return try advertiser.advertise(service)
    }

    mutating func advertise(host: HostRegistration) throws -> AdvertisementID {
        defer { act() }
        return try advertiser.advertise(host)
    }

    mutating func withdraw(_ id: AdvertisementID) {
        advertiser.withdraw(id)
        act()
    }

    mutating func conflict(
        _ id: AdvertisementID,
        over text: String,
        on interface: String = "eth0",
        rivals: Int = 1,
        claimed: Set<String> = []
    ) {
        let event = ResponderEvent.conflict(set(id), name: name(text), rivals: rivals)
        advertiser.handle(event, on: interface) { claimed.contains($0.description) }
        act()
    }

    mutating func establish(_ id: AdvertisementID) {
        advertiser.handle(.established(set(id)), on: "eth0")
        act()
    }

    mutating func apply(hostName: String) {
        advertiser.apply(hostName: hostName)
        act()
    }

    func set(_ id: AdvertisementID) -> RecordSet.ID { RecordSet.ID(rawValue: id.rawValue) }

    /// The names published on an interface.
    func names(_ interface: Int) -> Set<String> {
        Set((published[interface] ?? [:]).values.flatMap(\.uniqueNames).map(\.description))
    }

    /// Where the services of an interface point to.
    func targets(_ interface: Int) -> [String] {
        (published[interface] ?? [:]).values.flatMap(\.unique).compactMap { record in
            guard case .service(let location) = record.data else { return nil }
            return location.target.description
        }
    }
}

@Suite(.computing) struct AdvertiserTests {
    @Test func `a service is published on all interfaces, or on those that were named`() throws {
        var bench = Bench()
        _ = try bench.advertise(service())
        _ = try bench.advertise(service("Disc", on: ["wlan0"]))
        #expect(bench.names(1) == ["Lamp._ipp._tcp.local"])
        #expect(bench.names(2) == ["Lamp._ipp._tcp.local", "Disc._ipp._tcp.local"])
    }

    @Test func `an interface that comes later gets everything, and so does a zone of it`() throws {
        var bench = Bench([1: "eth0"])
        _ = try bench.advertise(service())
        bench.setInterfaces([1: "eth0", 7: "eth7"])
        #expect(bench.names(7) == ["Lamp._ipp._tcp.local"] && bench.advertiser.sets(on: 7).count == 1)
        #expect(bench.advertiser.sets(on: 9).isEmpty)
        bench.setInterfaces([1: "eth0"])
        #expect(bench.advertiser.sets(on: 7).isEmpty && bench.withdrawn.isEmpty)
    }

    @Test func `an interface that gets another name gets and loses what was for a name`() throws {
        var bench = Bench([1: "eth0"])
        let old = try bench.advertise(service("Old", on: ["eth0"]))
        _ = try bench.advertise(service("New", on: ["lan"]))
        bench.setInterfaces([1: "lan"])
        #expect(bench.names(1) == ["New._ipp._tcp.local"] && bench.withdrawn[1] == [bench.set(old)])
    }

    @Test func `an alternative name that comes brings what was for it, and takes it along`() throws {
        var bench = Bench([1: "eth0"])
        _ = try bench.advertise(service())
        let named = try bench.advertise(service("New", on: ["enp0s31f6"]))
        bench.setInterfaces([1: ["eth0", "enp0s31f6"]])
        #expect(bench.names(1) == ["Lamp._ipp._tcp.local", "New._ipp._tcp.local"] && bench.withdrawn.isEmpty)
        bench.setInterfaces([1: ["eth0"]])
        #expect(bench.withdrawn[1] == [bench.set(named)])
    }

    @Test func `what is wrong is refused before anything is sent`() {
        var bench = Bench()
        #expect(throws: RegistrationError.labelLength(field: "instance name", length: 0)) {
            try bench.advertise(service(""))
        }
        #expect(throws: RegistrationError.hostName("a.b.local")) {
            try bench.advertise(host: HostRegistration(name: name("a.b.local")))
        }
        #expect(bench.advertiser.isEmpty && bench.published.isEmpty)
    }

    @Test func `C11: there is an end to what is advertised`() throws {
        var advertiser = Advertiser(hostName: "box")
        for index in 0..<Advertiser.maximumEntries - 1 {
            let host = HostRegistration(name: name("h\(index).local"))
            _ = try advertiser.advertise(host)
        }
        #expect(throws: RegistrationError.tooMany(what: "advertisements", limit: 4096)) {
            _ = try advertiser.advertise(service())
        }
    }

    @Test func `registered is told once, whatever number of interfaces and families says so`() throws {
        var bench = Bench()
        let id = try bench.advertise(service())
        for _ in 0..<4 { bench.establish(id) }
        #expect(bench.events == [.registered(name("Lamp._ipp._tcp.local"))])
    }

    @Test func `P11: new text is published everywhere under the same name, the same text is nothing new`() throws {
        var bench = Bench()
        let id = try bench.advertise(service())
        let text = [TextRecord.Entry(key: "a", value: [0x31])]
        try bench.advertiser.update(text: text, of: id)
        try bench.advertiser.update(text: text, of: id)
        bench.act()
        for interface in [1, 2] {
            #expect(bench.published[interface]?[bench.set(id)]?.unique.last?.data == .text([3] + Array("a=1".utf8)))
        }
        #expect(bench.events == [.updated(name("Lamp._ipp._tcp.local"))])
        #expect(throws: RegistrationError.textKey("")) {
            try bench.advertiser.update(text: [.init(key: "", value: nil)], of: id)
        }
    }

    @Test func `P14: withdrawing is told to every interface`() throws {
        var bench = Bench()
        let id = try bench.advertise(service())
        bench.withdraw(id)
        bench.withdraw(id)
        #expect(bench.withdrawn == [1: [bench.set(id)], 2: [bench.set(id)]] && bench.advertiser.isEmpty)
    }
}

@Suite struct AdvertiserProgressTests {
    @Test func `registered is told when no zone asks any more, and once`() throws {
        var bench = Bench()
        let id = try bench.advertise(service())
        bench.asking = [bench.set(id)]
        bench.establish(id)
        #expect(bench.events.isEmpty, "a zone still asks")
        bench.asking = []
        bench.act()
        bench.establish(id)
        #expect(bench.events == [.registered(name("Lamp._ipp._tcp.local"))])
    }

    @Test func `a conflict before that makes it wait for the new name`() throws {
        var bench = Bench()
        let id = try bench.advertise(service())
        bench.asking = [bench.set(id)]
        bench.establish(id)
        bench.conflict(id, over: "Lamp._ipp._tcp.local", on: "wlan0")
        bench.asking = []
        bench.act()
        #expect(bench.events.count == 1, "nobody has the new name yet")
        bench.establish(id)
        #expect(bench.events.last == .registered(name("Lamp (2)._ipp._tcp.local")))
    }

    @Test func `P11: everything but name, type, host and places changes in place`() throws {
        var bench = Bench()
        let id = try bench.advertise(service())
        var new = service("Other", on: ["eth0"])
        new.port = 99
        new.subtypes = [Array("_color".utf8)]
        try bench.advertiser.update(new, of: id)
        bench.act()
        for interface in [1, 2] {
            let set = try #require(bench.published[interface]?[bench.set(id)])
            #expect(set.uniqueNames == [name("Lamp._ipp._tcp.local")])
            #expect(set.shared.map(\.name).contains(name("_color._sub._ipp._tcp.local")))
            let ports = set.unique.compactMap { record -> UInt16? in
                guard case .service(let location) = record.data else { return nil }
                return location.port
            }
            #expect(ports == [99])
        }
        #expect(bench.events == [.updated(name("Lamp._ipp._tcp.local"))] && bench.withdrawn.isEmpty)
        try bench.advertiser.update(new, of: id)
        bench.act()
        #expect(bench.events.count == 1, "the same again is no news")
        new.text = [.init(key: "=", value: nil)]
        #expect(throws: RegistrationError.textKey("=")) { try bench.advertiser.update(new, of: id) }
    }

    @Test func `P12: names of an earlier run are tried first, unless they cannot be such names`() throws {
        var bench = Bench()
        let lamp = name("Lamp._ipp._tcp.local")
        bench.advertiser.recall([
            lamp: name("Lamp (7)._ipp._tcp.local"), name("box.local"): name("box-2.local"),
            name("a.local"): name("a.example"), name("b.example"): name("c.example"), name("d.local"): name("local"),
        ])
        #expect(bench.advertiser.memory.count == 2)
        let id = try bench.advertise(service(host: .machine))
        #expect(bench.advertiser.name(of: id) == name("Lamp (7)._ipp._tcp.local"))
        #expect(bench.targets(1) == ["box-2.local"] && bench.conflicts.isEmpty)
    }
}

@Suite struct AdvertiserNameTests {
    @Test func `P12: a conflict on one interface renames everywhere, and is told once`() throws {
        var bench = Bench()
        let id = try bench.advertise(service())
        bench.conflict(id, over: "Lamp._ipp._tcp.local")
        // The other interface, or the other family, lost the same name a moment later.
        bench.conflict(id, over: "Lamp._ipp._tcp.local", on: "wlan0")
        for interface in [1, 2] {
            #expect(bench.names(interface) == ["Lamp (2)._ipp._tcp.local"])
            #expect(
                bench.published[interface]?[bench.set(id)]?.shared.map(\.data) == [
                    .pointer(name("Lamp (2)._ipp._tcp.local"))
                ]
            )
        }
        #expect(bench.events == [.renamed(from: name("Lamp._ipp._tcp.local"), to: name("Lamp (2)._ipp._tcp.local"))])
        #expect(bench.advertiser.name(of: id) == name("Lamp (2)._ipp._tcp.local"))
        bench.conflict(id, over: "Lamp (2)._ipp._tcp.local", on: "wlan0")
        #expect(bench.names(1) == ["Lamp (3)._ipp._tcp.local"])
        let names = (1...3).map { name($0 == 1 ? "Lamp._ipp._tcp.local" : "Lamp (\($0))._ipp._tcp.local") }
        #expect(
            bench.conflicts == [
                NameConflict(name: names[0], interface: "eth0", newName: names[1]),
                NameConflict(name: names[1], interface: "wlan0", newName: names[2]),
            ]
        )
    }

    @Test func `P12: names that others claim, or will, are left out`() throws {
        var bench = Bench()
        let id = try bench.advertise(service())
        let claimed: Set<String> = ["Lamp (2)._ipp._tcp.local", "Lamp (4)._ipp._tcp.local"]
        bench.conflict(id, over: "Lamp._ipp._tcp.local", rivals: 2, claimed: claimed)
        #expect(bench.names(1) == ["Lamp (5)._ipp._tcp.local"])
    }

    @Test func `P12: the new name is remembered for the next time`() throws {
        var bench = Bench()
        let id = try bench.advertise(service())
        bench.conflict(id, over: "Lamp._ipp._tcp.local")
        bench.withdraw(id)
        let again = try bench.advertise(service())
        #expect(bench.advertiser.name(of: again) == name("Lamp (2)._ipp._tcp.local"))
        #expect(bench.events.count == 2, "a service that starts with another name must be told so")
    }

    @Test func `two of our own do not fight over a name`() throws {
        var bench = Bench()
        _ = try bench.advertise(service())
        let second = try bench.advertise(service("LAMP"))
        let third = try bench.advertise(service())
        #expect(bench.advertiser.name(of: second) == name("LAMP (2)._ipp._tcp.local"))
        #expect(bench.advertiser.name(of: third) == name("Lamp (3)._ipp._tcp.local"))
        #expect(bench.events.count == 2 && bench.names(1).count == 3)
    }

    @Test func `a new name is not one that another registration of ours has`() throws {
        var bench = Bench()
        let first = try bench.advertise(service())
        _ = try bench.advertise(service("Lamp (2)"))
        bench.conflict(first, over: "Lamp._ipp._tcp.local")
        #expect(bench.names(1) == ["Lamp (3)._ipp._tcp.local", "Lamp (2)._ipp._tcp.local"])
    }

    @Test func `what may not be renamed is withdrawn, and told so`() throws {
        var bench = Bench()
        var registration = service()
        registration.allowsRenaming = false
        let id = try bench.advertise(registration)
        bench.conflict(id, over: "Lamp._ipp._tcp.local")
        #expect(bench.events == [.conflict(name("Lamp._ipp._tcp.local"))])
        let lost = NameConflict(name: name("Lamp._ipp._tcp.local"), interface: "eth0", newName: nil)
        #expect(bench.conflicts == [lost], "a name that is lost must be told, whatever becomes of its service")
        #expect(bench.names(1).isEmpty && bench.advertiser.isEmpty)
    }

    @Test func `P12: a host is renamed, and its services point to the new name`() throws {
        var bench = Bench()
        let claimed = ServiceRegistration.Host.claimed(name("lamp.local"), addresses: nil)
        _ = try bench.advertise(service(host: claimed))
        let hostID = try #require(bench.published[1]?.values.first { !$0.hosts.isEmpty }?.id)
        bench.conflict(AdvertisementID(rawValue: hostID.rawValue), over: "lamp.local")
        for interface in [1, 2] {
            #expect(bench.names(interface) == ["Lamp._ipp._tcp.local", "lamp-2.local"])
            #expect(bench.targets(interface) == ["lamp-2.local"])
        }
        let lost = NameConflict(name: name("lamp.local"), interface: "eth0", newName: name("lamp-2.local"))
        #expect(bench.conflicts == [lost], "nobody asked for the host, yet its name is lost")
    }

    @Test func `a host that may not be renamed takes its services with it`() throws {
        var bench = Bench()
        var registration = service(host: .claimed(name("lamp.local"), addresses: [.v4(1)]))
        registration.allowsRenaming = false
        _ = try bench.advertise(registration)
        let hostID = try #require(bench.published[1]?.values.first { $0.unique.contains { $0.type == .a } }?.id)
        bench.conflict(AdvertisementID(rawValue: hostID.rawValue), over: "lamp.local")
        #expect(bench.names(1).isEmpty && bench.events == [.conflict(name("lamp.local"))])
    }
}

@Suite struct AdvertiserHostTests {
    @Test func `the machine's name is claimed with the first service that needs it, and left with the last`() throws {
        var bench = Bench()
        #expect(bench.names(1).isEmpty)
        let first = try bench.advertise(service("A", host: .machine))
        let second = try bench.advertise(service("B", host: .machine))
        #expect(bench.names(1) == ["A._ipp._tcp.local", "B._ipp._tcp.local", "box.local"])
        #expect(Set(bench.targets(1)) == ["box.local"] && bench.advertiser.host(of: first) == name("box.local"))
        bench.withdraw(first)
        #expect(bench.names(1).contains("box.local"))
        bench.withdraw(second)
        #expect(bench.names(1).isEmpty && bench.advertiser.isEmpty)
    }

    @Test func `it gives way to another responder on the machine; a name that was asked for does not`() throws {
        var bench = Bench()
        _ = try bench.advertise(service(host: .machine))
        let soft = try #require(bench.published[1]?.values.first { !$0.hosts.isEmpty })
        #expect(soft.yieldsToNeighbour)
        _ = try bench.advertise(host: HostRegistration(name: name("printer.local")))
        let hard = try #require(bench.published[1]?.values.first { $0.hosts.contains(name("printer.local")) })
        #expect(!hard.yieldsToNeighbour)
    }

    @Test func `nobody is told of hosts that only services need`() throws {
        var bench = Bench()
        let id = try bench.advertise(service(host: .machine))
        for set in bench.published[1]?.values.map(\.id) ?? [] { bench.advertiser.handle(.yielded(set), on: "eth0") }
        bench.act()
        #expect(bench.events == [.registered(name("Lamp._ipp._tcp.local"))])
        #expect(bench.advertiser.name(of: id) != nil)
    }

    @Test func `a host that services need outlives its own withdrawal`() throws {
        var bench = Bench()
        let host = try bench.advertise(host: HostRegistration(name: name("lamp.local")))
        let user = try bench.advertise(service(host: .claimed(name("lamp.local"), addresses: nil)))
        #expect(bench.names(1).count == 2, "the same host was claimed twice")
        bench.withdraw(host)
        #expect(bench.names(1).contains("lamp.local"))
        bench.withdraw(user)
        #expect(bench.names(1).isEmpty)
    }

    @Test func `two services may have hosts of one name only when these are the same`() throws {
        var bench = Bench()
        _ = try bench.advertise(service("A", host: .claimed(name("lamp.local"), addresses: [.v4(1)])))
        _ = try bench.advertise(service("B", host: .claimed(name("lamp.local"), addresses: [.v4(1)])))
        _ = try bench.advertise(service("C", host: .claimed(name("lamp.local"), addresses: [.v4(2)])))
        #expect(bench.targets(1).sorted() == ["lamp-2.local", "lamp.local", "lamp.local"])
    }

    @Test func `services move to the machine's new name when it is established, and the old one goes then`() throws {
        var bench = Bench([1: "eth0"])
        let id = try bench.advertise(service(host: .machine))
        let old = AdvertisementID(rawValue: id.rawValue + 1)
        bench.establish(old)
        bench.apply(hostName: "ship")
        let next = AdvertisementID(rawValue: id.rawValue + 2)
        #expect(bench.targets(1) == ["box.local"] && bench.names(1).isSuperset(of: ["box.local", "ship.local"]))
        bench.asking = [bench.set(next)]
        bench.establish(next)
        #expect(bench.targets(1) == ["box.local"])
        bench.asking = []
        bench.act()
        #expect(bench.targets(1) == ["ship.local"] && bench.names(1).isDisjoint(with: ["box.local"]))
        bench.withdraw(id)
        #expect(bench.names(1).isEmpty && bench.advertiser.isEmpty)
    }

    @Test func `the machine may change its mind about its name, and services come and go meanwhile`() throws {
        var bench = Bench([1: "eth0"])
        let first = try bench.advertise(service(host: .machine))
        bench.establish(AdvertisementID(rawValue: first.rawValue + 1))
        for name in ["ship", "boat", "box", "boat"] { bench.apply(hostName: name) }
        #expect(Set(bench.names(1).filter { !$0.hasPrefix("Lamp") }) == ["box.local", "boat.local"])
        let second = try bench.advertise(service("Disc", host: .machine))
        #expect(bench.targets(1).sorted() == ["boat.local", "box.local"])
        bench.apply(hostName: "ferry")
        bench.withdraw(first)
        #expect(Set(bench.names(1).filter { !$0.hasPrefix("Disc") }) == ["boat.local", "ferry.local"])
        bench.withdraw(second)
        #expect(bench.names(1).isEmpty && bench.advertiser.isEmpty)
    }

    @Test func `a name that nobody was told is left at once`() throws {
        var bench = Bench([1: "eth0"])
        _ = try bench.advertise(service(host: .machine))
        bench.apply(hostName: "ship")
        #expect(bench.targets(1) == ["ship.local"] && bench.names(1).isDisjoint(with: ["box.local"]))
    }

    @Test(
        arguments: [
            ("box", "box.local"), ("box.example.com", "box.local"), ("Böx", "Böx.local"), ("my_box", "my-box.local"),
            ("-box-", "box.local"), ("", "linux.local"), ("...", "linux.local"), ("_", "linux.local"),
            ("xn--bx-fka", "linux.local"), ("localhost", "linux.local"),
            ("Localhost.localdomain", "linux.local"), ("(none)", "linux.local"), ("192.0.2.7", "linux.local"),
            ("fe80::7", "linux.local"), ("localhost-2", "localhost-2.local"), ("7", "7.local"),
            (String(repeating: "a", count: 64), String(repeating: "a", count: 63) + ".local"),
        ]
    )
    func `whatever the machine is called, there is a name to claim`(hostName: String, claimed: String) {
        #expect(Advertiser(hostName: hostName).machineName.description == claimed)
    }
}
