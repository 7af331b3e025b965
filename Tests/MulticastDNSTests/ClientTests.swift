// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import LinuxIO
import MulticastDNS
import TestSupport
import Testing

private let lamp = MadeUpService()

@Suite(.inNamespace) struct InstanceResolveTests {
    @Test func `resolves an instance by name, asking for what is missing`() async throws {
        let bench = try EngineBench(families: [.ipv4])
        bench.responder.set([lamp.location, lamp.textRecord, lamp.addressRecord, lamp.denial])
        let resolve = InstanceResolve(bench.engine, instance: lamp.instance) { bench.events.append($0) }
        await bench.loop.eventually { bench.summary == ["resolved Lamp"] }
        #expect(resolve.services.map(\.port) == [80] && resolve.services.first?.type == "_test._tcp")
        #expect(bench.responder.queries.flatMap(\.questions).allSatisfy { $0.type != .ptr })
        bench.responder.goodbye([lamp.location])
        bench.responder.set([])
        await bench.loop.eventually { bench.summary.last == "lost Lamp goodbye" }
        #expect(resolve.services.isEmpty)
    }

    @Test func `several locations are kept in the order in which they are to be tried`() async throws {
        let bench = try EngineBench(families: [.ipv4])
        let locations = [(1, 0, 83), (0, 1, 82), (0, 5, 81)].map { priority, weight, port in
            ServiceLocation(
                priority: UInt16(priority),
                weight: UInt16(weight),
                port: UInt16(port),
                target: lamp.hostName
            )
        }
        let records = locations.map { ResourceRecord(lamp.instance, .srv, .service($0), timeToLive: 120) }
        bench.responder.set(records + [lamp.textRecord, lamp.addressRecord, lamp.denial])
        let resolve = InstanceResolve(bench.engine, instance: lamp.instance) { _ in }
        await bench.loop.eventually { resolve.services.first?.locations.count == 3 }
        #expect(resolve.services.first?.locations.map(\.port) == [81, 82, 83] && resolve.services.first?.port == 81)
    }
}

@Suite(.inNamespace) struct HostLookupTests {
    @Test func `finds a host's addresses of both families, with their scope`() async throws {
        let bench = try EngineBench()
        var six = lamp
        six.address = try #require(IPAddress("fe80::7"))
        bench.responder.set([lamp.addressRecord, six.addressRecord])
        var told: [HostAnswer] = []
        let lookup = HostLookup(bench.engine, host: lamp.hostName) { told.append($0) }
        await bench.loop.eventually { told.last?.isComplete == true }
        #expect(lookup.answers.flatMap(\.addresses).map(\.description) == ["192.0.2.50", "fe80::7%v0"])
        #expect(lookup.answers.map(\.interface) == ["v0"])
    }

    @Test func `a family that the host denies is not waited for`() async throws {
        let bench = try EngineBench(families: [.ipv4])
        bench.responder.answer { packet in
            guard packet.message.questions.contains(where: { $0.type == .a }) else { return [] }
            let flags: Message.Flags = [.response, .authoritative]
            return [Message(flags: flags, answers: [lamp.addressRecord], additionals: [lamp.denial])]
        }
        var told: [HostAnswer] = []
        let lookup = HostLookup(bench.engine, host: lamp.hostName) { told.append($0) }
        await bench.loop.eventually { told.last?.isComplete == true }
        #expect(lookup.answers.first?.addresses == [ScopedAddress(lamp.address)])
        lookup.cancel()
        bench.responder.goodbye([lamp.addressRecord])
        let received = bench.counted(\.received)
        await bench.loop.eventually { bench.counted(\.received) > received }
        #expect(told.last?.addresses.count == 1, "a cancelled lookup tells nothing")
    }

    @Test(arguments: [true, false])
    func `a name that stands for another one has the addresses behind it`(isWhole: Bool) async throws {
        let bench = try EngineBench(families: [.ipv4])
        let names = try ["git.box.local", "box.local", "lamp.local"].map { try #require(DomainName($0)) }
        let aliases = zip(names, names.dropFirst()).map { name, target in
            ResourceRecord(name, .cname, .alias(target), timeToLive: 120, flushesCache: true)
        }
        // As avahi answers: with the alias, and with what is behind it or not.
        bench.responder.answer { packet in
            let asked = packet.message.questions.filter { [.a, .aaaa, .cname].contains($0.type) }.map(\.name)
            var answers = aliases.filter { asked.contains($0.name) }
            if isWhole, !answers.isEmpty { answers = aliases }
            let hasAddress = isWhole ? !answers.isEmpty : false
            if hasAddress || asked.contains(lamp.hostName) { answers += [lamp.addressRecord, lamp.denial] }
            return answers.isEmpty ? [] : [Message(flags: [.response, .authoritative], answers: answers)]
        }
        var told: [HostAnswer] = []
        let lookup = HostLookup(bench.engine, host: names[0]) { told.append($0) }
        await bench.loop.eventually { told.last?.isComplete == true }
        #expect(told.last?.host == names[0] && told.last?.addresses == [ScopedAddress(lamp.address)])
        // The middle of the chain goes, and comes back as another one.
        bench.responder.answer { _ in [] }
        bench.responder.goodbye([aliases[1]])
        await bench.loop.eventually { told.last?.addresses == [] }
        bench.responder.announce([
            ResourceRecord(names[1], .cname, .alias(lamp.hostName), timeToLive: 120, flushesCache: true)
        ])
        await bench.loop.eventually { told.last?.addresses == [ScopedAddress(lamp.address)] }
        bench.responder.goodbye([lamp.addressRecord])
        await bench.loop.eventually { told.last?.addresses == [] }
        lookup.cancel()
    }

    @Test func `names that stand for each other, or for what is not on the link, lead nowhere`() async throws {
        let bench = try EngineBench(families: [.ipv4])
        let names = try ["a.local", "b.local", "c.example"].map { try #require(DomainName($0)) }
        func alias(_ name: Int, _ target: Int) -> ResourceRecord {
            ResourceRecord(names[name], .cname, .alias(names[target]), timeToLive: 120, flushesCache: true)
        }
        var told: [HostAnswer] = []
        let lookup = HostLookup(bench.engine, host: names[0]) { told.append($0) }
        bench.responder.announce([alias(0, 1), alias(1, 0)])
        bench.responder.announce([alias(0, 2)])
        bench.responder.announce([alias(0, 0)])
        bench.responder.announce([ResourceRecord(names[0], .a, .address(lamp.address), timeToLive: 120)])
        await bench.loop.eventually { told.last?.addresses == [ScopedAddress(lamp.address)] }
        let questions = bench.responder.queries.flatMap(\.questions)
        #expect(!questions.contains { $0.name == names[2] })
        lookup.cancel()
    }

    @Test func `follows addresses that come and go`() async throws {
        let bench = try EngineBench(families: [.ipv4])
        var told: [[String]] = []
        let lookup = HostLookup(bench.engine, host: lamp.hostName, families: [.ipv4]) { answer in
            told.append(answer.addresses.map(\.description))
        }
        bench.responder.announce([lamp.addressRecord])
        await bench.loop.eventually { told.last == ["192.0.2.50"] }
        bench.responder.goodbye([lamp.addressRecord])
        await bench.loop.eventually { told.last == [] }
        #expect(lookup.answers.isEmpty)
        bench.engine.setInterfaces([])
        bench.engine.setInterfaces([try bench.wire.interface()])
        bench.responder.set([lamp.addressRecord])
        await bench.loop.eventually { told.last == ["192.0.2.50"] }
    }

    @Test func `one interface of two can be asked alone`() async throws {
        let bench = try EngineBench(families: [.ipv4], start: false)
        try bench.wire.here.connect("w0", to: bench.wire.peer, as: "w1")
        try bench.wire.here.ip("address add 198.51.100.1/24 dev w0")
        let second = try SimulatedResponder(in: bench.wire.peer, interface: "w1", families: [.ipv4])
        for responder in [bench.responder, second] { responder.set([lamp.addressRecord, lamp.denial]) }
        bench.engine.setInterfaces([try bench.wire.interface(), try bench.wire.here.multicastInterface("w0")])
        bench.engine.start()
        let everywhere = HostLookup(bench.engine, host: lamp.hostName) { _ in }
        await bench.loop.eventually { everywhere.answers.map(\.interface) == ["v0", "w0"] }
        let here = HostLookup(bench.engine, host: lamp.hostName, interface: "w0") { _ in }
        #expect(here.answers.map(\.interface) == ["w0"])
        // A name that the interface gets later counts as well.
        let later = HostLookup(bench.engine, host: lamp.hostName, interface: "lan") { _ in }
        #expect(later.answers.isEmpty)
        let w0 = try bench.wire.here.multicastInterface("w0")
        bench.engine.setInterfaces([
            try bench.wire.interface(), MulticastInterface(index: w0.index, name: "lan", addresses: w0.addresses),
        ])
        #expect(later.answers.map(\.interface) == ["lan"] && here.answers.isEmpty)
    }
}

@Suite(.inNamespace) struct RecordClientTests {
    @Test(arguments: [
        ("169.254.7.9", "9.7.254.169.in-addr.arpa", true), ("192.0.2.2", "2.2.0.192.in-addr.arpa", false),
        ("fe80::1", "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.e.f.ip6.arpa", true),
        ("febf::", String(repeating: "0.", count: 28) + "f.b.e.f.ip6.arpa", true),
        ("fec0::", String(repeating: "0.", count: 28) + "0.c.e.f.ip6.arpa", false),
    ])
    func `the names of addresses, and which of them are for multicast alone`(
        address: String,
        name: String,
        isMulticast: Bool
    ) throws {
        let reverse = ReverseName.name(of: try #require(IPAddress(address)))
        #expect(reverse.description == name && ReverseName.isMulticast(reverse) == isMulticast)
    }

    @Test(arguments: [("printer.local", true), ("LOCAL", true), ("local.example", false), ("mylocal", false)])
    func `what lies below local is for multicast alone`(name: String, isMulticast: Bool) throws {
        #expect(ReverseName.isMulticast(try #require(DomainName(name))) == isMulticast)
    }

    @Test func `asks the link for the name of an address`() async throws {
        let bench = try EngineBench()
        let address = try #require(IPAddress("fe80::1"))
        let name = ReverseName.name(of: address)
        bench.responder.set([ResourceRecord(name, .ptr, .pointer(lamp.hostName), timeToLive: 120, flushesCache: true)])
        let lookup = ReverseLookup(bench.engine, address: address) { _ in }
        await bench.loop.eventually { lookup.names == [lamp.hostName] }
        lookup.cancel()
    }

    @Test func `a one-shot question is asked once, of any type`() async throws {
        let bench = try EngineBench(families: [.ipv4])
        let record = ResourceRecord(
            lamp.hostName,
            .hinfo,
            .hostInformation(cpu: [65], system: [66]),
            timeToLive: 9,
            flushesCache: true
        )
        var told: [RecordEvent] = []
        let query = RecordQuery(bench.engine, name: lamp.hostName, types: [.hinfo], rounds: 1) { told.append($0) }
        await bench.loop.eventually { bench.responder.queries.count == 1 }
        bench.responder.announce([record])
        await bench.loop.eventually { query.answers.count == 1 }
        #expect(query.answers.first?.record.data == record.data && query.answers.first?.interface == "v0")
        query.cancel()
        bench.responder.announce([lamp.addressRecord])
        #expect(told.count == 1)
    }

    @Test func `a client may end itself from its first report, or be let go`() async throws {
        let bench = try EngineBench(families: [.ipv4])
        bench.responder.announce(lamp.all)
        bench.browse(lamp.typeName)
        await bench.loop.eventually { bench.services.count == 1 }
        final class Box { var browse: ServiceBrowse?; var count = 0 }
        let box = Box()
        box.browse = ServiceBrowse(bench.engine, types: [lamp.typeName]) { _ in
            box.count += 1
            box.browse = nil
        }
        #expect(box.count == 2, "both events of the snapshot came within the call")
        box.browse?.cancel()
        box.browse = nil
        bench.responder.goodbye(lamp.all)
        await bench.loop.eventually { bench.services.isEmpty }
        #expect(box.count == 2)
    }
}

@Suite(.inNamespace) struct EngineLinkTests {
    @Test(arguments: AddressFamily.allCases)
    func `a link with link-local addresses alone is enough`(family: AddressFamily) async throws {
        let bench = try EngineBench(families: [family], start: false)
        for (namespace, device, host) in [(bench.wire.here, "v0", 1), (bench.wire.peer, "v1", 2)] {
            try namespace.ip("-4 address flush dev \(device)")
            if family == .ipv4 { try namespace.ip("address add 169.254.0.\(host)/16 dev \(device) scope link") }
        }
        let interface = try bench.wire.interface()
        bench.engine.setInterfaces([
            MulticastInterface(
                index: interface.index,
                name: interface.name,
                addresses: interface.addresses.filter { $0.address.family == family }
            )
        ])
        bench.engine.start()
        var near = lamp
        near.address = try #require(IPAddress(family == .ipv4 ? "169.254.0.2" : "fe80::2"))
        bench.responder.answerByUnicast()
        bench.responder.set(near.all)
        bench.browse(lamp.typeName)
        await bench.loop.eventually { bench.services.first?.addresses.map(\.address) == [near.address] }
    }

    @Test func `several hosts on a bridge are told apart, and each other's news are used`() async throws {
        let bench = try EngineBench(families: [.ipv4], start: false)
        let other = try Namespace()
        try bench.wire.peer.connect("b2", to: other, as: "x1")
        try bench.wire.peer.ipBatch([
            "link add br0 type bridge", "link set v1 master br0", "link set b2 master br0", "link set br0 up",
            "address flush dev v1",
            "address add 192.0.2.3/24 dev br0",
        ])
        try other.ip("address add 192.0.2.4/24 dev x1")
        let far = try SimulatedResponder(in: other, interface: "x1", families: [.ipv4])
        let near = try SimulatedResponder(in: bench.wire.peer, interface: "br0", families: [.ipv4])
        var bulb = lamp
        bulb.name = "Bulb"
        bulb.host = "bulb.local"
        near.set(lamp.all)
        far.set(bulb.all)
        bench.engine.start()
        bench.browse(lamp.typeName)
        await bench.loop.eventually { Set(bench.services.map(\.name)) == ["Lamp", "Bulb"] }
        // What one host tells the other on the bridge is heard, and need not be asked for.
        far.goodbye([bulb.pointer])
        await bench.loop.eventually { bench.services.map(\.name) == ["Lamp"] }
    }

    @Test func `a link that flaps brings its services back, each time once`() async throws {
        let bench = try EngineBench(families: [.ipv4])
        bench.responder.set(lamp.all)
        bench.browse(lamp.typeName)
        for round in 1...3 {
            await bench.loop.eventually { bench.services.count == 1 }
            bench.engine.setInterfaces([])
            #expect(bench.services.isEmpty && bench.summary.count { $0 == "lost Lamp interface_down" } == round)
            bench.engine.setInterfaces([try bench.wire.interface()])
        }
        await bench.loop.eventually { bench.services.count == 1 }
        #expect(bench.summary.count == 11)
    }

    @Test func `an interface that is made anew under its name is a new one`() async throws {
        let bench = try EngineBench(families: [.ipv4])
        bench.responder.set(lamp.all)
        bench.browse(lamp.typeName, interface: "v0")
        await bench.loop.eventually { bench.services.count == 1 }
        try bench.wire.here.ip("link delete v0")
        try bench.wire.here.connect("v0", to: bench.wire.peer, as: "v1")
        try bench.wire.here.ip("address add 192.0.2.1/24 dev v0")
        try bench.wire.peer.ip("address add 192.0.2.2/24 dev v1")
        let again = try SimulatedResponder(in: bench.wire.peer, families: [.ipv4])
        again.set(lamp.all)
        bench.engine.setInterfaces([try bench.wire.interface()])
        #expect(bench.services.isEmpty)
        await bench.loop.eventually { bench.services.count == 1 }
        #expect(bench.summary.contains("lost Lamp interface_down"))
    }

    @Test func `an engine that stops and starts again serves the clients it has`() async throws {
        let bench = try EngineBench(families: [.ipv4])
        bench.responder.set(lamp.all)
        bench.browse(lamp.typeName)
        await bench.loop.eventually { bench.services.count == 1 }
        bench.engine.stop()
        let count = bench.responder.packets.count
        bench.engine.start()
        await bench.loop.eventually { bench.responder.packets.count > count }
        #expect(bench.services.count == 1 && !bench.summary.contains { $0.hasPrefix("lost") })
    }
}
