// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import LinuxIO
import MulticastDNS
import TestSupport
import Testing

@Suite(.inNamespace) struct ServiceCensusTests {
    @Test func `finds a service by asking, record after record`() async throws {
        let wire = try Wire()
        let responder = try SimulatedResponder(in: wire.peer)
        responder.set(MadeUpService().all)
        let recorder = try Recorder(wire)
        recorder.start()
        await wire.here.loop.eventually { recorder.service("Lamp") != nil }
        let service = try #require(recorder.service("Lamp"))
        #expect(service.addresses == [ScopedAddress(.v4(0xC000_0232))])
        #expect(service.port == 80 && service.host == "lamp.local" && service.timeToLive == .seconds(4500))
        #expect(recorder.events.prefix(2) == [.typeAdded("_test._tcp"), .added(service)])
        #expect(responder.queries.allSatisfy { $0.id == 0 && $0.flags == [] })
    }

    @Test func `finds a device that reads packets of one question only, and answers no more than that`() async throws {
        let wire = try Wire()
        let lamp = MadeUpService()
        let responder = try SimulatedResponder(in: wire.peer, families: [.ipv4])
        responder.answer { packet in
            guard packet.message.questions.count == 1 else { return [] }
            let answers = lamp.all.filter { record in
                packet.message.questions.contains { $0.isAnswered(by: record) }
            }
            return answers.isEmpty ? [] : [Message(flags: [.response, .authoritative], answers: answers)]
        }
        let recorder = try Recorder(wire)
        recorder.start()
        await wire.here.loop.eventually { recorder.service("Lamp") != nil }
        #expect(recorder.service("Lamp")?.rawText == lamp.text.map { Array($0.utf8) })
    }

    @Test func `a goodbye removes a service after a second, unless it comes back`() async throws {
        let wire = try Wire()
        let loop = wire.here.loop
        let lamp = MadeUpService()
        let responder = try SimulatedResponder(in: wire.peer)
        let recorder = try Recorder(wire)
        recorder.start()
        responder.announce(lamp.all)
        await loop.eventually { recorder.service("Lamp") != nil }
        responder.goodbye([lamp.pointer])
        responder.announce([lamp.pointer])
        let before = recorder.census.engine.counters.values.reduce(0) { $0 + $1.received }
        responder.announce([lamp.textRecord])
        await loop.eventually { recorder.census.engine.counters.values.reduce(0) { $0 + $1.received } > before }
        #expect(recorder.removals.isEmpty)
        responder.goodbye([lamp.pointer, lamp.location])
        await loop.eventually { recorder.service("Lamp") == nil }
        #expect(recorder.removals.map(\.reason) == [.goodbye])
        #expect(recorder.events.last == .typeRemoved("_test._tcp"))
    }

    @Test func `a service that falls silent expires, though asked for again`() async throws {
        let wire = try Wire()
        var lamp = MadeUpService()
        lamp.lifetime = 3
        let responder = try SimulatedResponder(in: wire.peer)
        let recorder = try Recorder(wire)
        recorder.start()
        responder.announce(lamp.all)
        await wire.here.loop.eventually { recorder.service("Lamp") != nil }
        await wire.here.loop.eventually(within: .seconds(60)) { recorder.service("Lamp") == nil }
        #expect(recorder.removals.map(\.reason) == [.expired])
        let refreshes = responder.queries.flatMap(\.questions).count { $0.type == .srv }
        #expect(refreshes >= 2)
    }

    @Test func `a service whose records are refreshed in time stays`() async throws {
        let wire = try Wire()
        var lamp = MadeUpService()
        lamp.lifetime = 2
        let responder = try SimulatedResponder(in: wire.peer)
        responder.set(lamp.all)
        let recorder = try Recorder(wire)
        recorder.start()
        await wire.here.loop.eventually { recorder.service("Lamp") != nil }
        await wire.here.loop.eventually(within: .seconds(60)) {
            responder.queries.flatMap(\.questions).count { $0.type == .srv } >= 4
        }
        #expect(recorder.removals.isEmpty && recorder.service("Lamp") != nil)
    }

    @Test func `a new address replaces the old one after a second`() async throws {
        let wire = try Wire()
        let loop = wire.here.loop
        var lamp = MadeUpService()
        let responder = try SimulatedResponder(in: wire.peer)
        let recorder = try Recorder(wire)
        recorder.start()
        responder.announce(lamp.all)
        await loop.eventually { recorder.service("Lamp") != nil }
        let old = ScopedAddress(lamp.address)
        // Younger than a second it would count as part of the same burst.
        await loop.eventually { recorder.age(of: "Lamp") > .milliseconds(1100) }
        lamp.address = .v4(0xC000_0263)
        responder.announce([lamp.addressRecord])
        await loop.eventually { recorder.service("Lamp")?.addresses == [ScopedAddress(lamp.address)] }
        #expect(recorder.changes.allSatisfy { $0.fields == [.addresses] })
        #expect(recorder.changes.first?.service.addresses == [old, ScopedAddress(lamp.address)])
    }

    @Test func `tells once that an announced service cannot be resolved`() async throws {
        let wire = try Wire()
        let responder = try SimulatedResponder(in: wire.peer)
        let lamp = MadeUpService()
        responder.set([lamp.enumeration, lamp.pointer, lamp.textRecord])
        let recorder = try Recorder(wire)
        recorder.start()
        await wire.here.loop.eventually(within: .seconds(60)) { !recorder.summaries.isEmpty }
        let failures = recorder.events.compactMap { event -> UnresolvedService? in
            guard case .resolveFailed(let failure) = event else { return nil }
            return failure
        }
        #expect(failures.map(\.name) == ["Lamp"] && failures.map(\.missing) == [["SRV"]])
        #expect(recorder.summaries.first?.unresolved == 1 && recorder.summaries.first?.services == 0)
        // When it can be resolved later, it is reported.
        responder.announce(lamp.all)
        await wire.here.loop.eventually { recorder.service("Lamp") != nil }
    }

    @Test func `an interface that goes takes its services along, and brings them back`() async throws {
        let wire = try Wire()
        let loop = wire.here.loop
        let responder = try SimulatedResponder(in: wire.peer)
        responder.set(MadeUpService().all)
        let recorder = try Recorder(wire)
        recorder.start()
        await loop.eventually { recorder.service("Lamp") != nil }
        recorder.census.engine.setInterfaces([])
        #expect(recorder.removals.map(\.reason) == [.interfaceDown])
        #expect(recorder.census.services.isEmpty && recorder.census.serviceTypes.isEmpty)
        await loop.eventually(within: .seconds(60)) { !recorder.census.isRunning }
        recorder.census.engine.setInterfaces([try wire.interface()])
        #expect(recorder.census.isRunning)
        await loop.eventually { recorder.service("Lamp") != nil }
    }

    @Test func `a renamed interface keeps its services under the new name`() async throws {
        let wire = try Wire()
        let responder = try SimulatedResponder(in: wire.peer)
        let recorder = try Recorder(wire)
        recorder.start()
        responder.announce(MadeUpService().all)
        await wire.here.loop.eventually { recorder.service("Lamp") != nil }
        let before = try wire.interface()
        recorder.census.engine.setInterfaces([
            MulticastInterface(index: before.index, name: "lan0", addresses: before.addresses)
        ])
        #expect(recorder.service("Lamp")?.interface == "lan0")
        #expect(recorder.removals.map(\.reason) == [.interfaceDown])
    }

    @Test func `joins again when the addresses change, and survives a link that is down`() async throws {
        let wire = try Wire()
        let loop = wire.here.loop
        let responder = try SimulatedResponder(in: wire.peer, families: [.ipv4])
        responder.set(MadeUpService().all)
        let recorder = try Recorder(wire)
        recorder.start()
        await loop.eventually { recorder.service("Lamp") != nil }
        try wire.here.set("v0", isUp: false)
        await loop.eventually(within: .seconds(60)) { !recorder.census.isRunning }
        recorder.census.setWellKnownTypes([MadeUpService(type: "_other._tcp").typeName])
        await loop.eventually { recorder.census.engine.counters.values.contains { $0.sendFailures > 0 } }
        try wire.here.set("v0", isUp: true)
        try wire.here.ip("address add 192.0.2.9/24 dev v0")
        let queries = responder.queries.count
        recorder.census.engine.setInterfaces([try wire.interface()])
        await loop.eventually { responder.queries.count > queries }
        #expect(recorder.removals.isEmpty)
    }

    @Test func `counts malformed packets, and goes on`() async throws {
        let wire = try Wire()
        let responder = try SimulatedResponder(in: wire.peer)
        let recorder = try Recorder(wire)
        recorder.start()
        responder.sendBytes([1, 2, 3])
        responder.sendBytes([0, 0, 0x84, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0xC0, 12])
        let key = MulticastCounters.Key(interface: "v0", family: .ipv6)
        await wire.here.loop.eventually { recorder.census.engine.counters[key]?.malformed == 2 }
        responder.announce(MadeUpService().all)
        await wire.here.loop.eventually { recorder.service("Lamp") != nil }
    }

    @Test func `completes each census, and begins the next by itself`() async throws {
        let wire = try Wire()
        let responder = try SimulatedResponder(in: wire.peer)
        responder.set(MadeUpService().all)
        let recorder = try Recorder(wire, interval: .seconds(1))
        recorder.start()
        await wire.here.loop.eventually(within: .seconds(60)) { recorder.summaries.count == 1 }
        let first = try #require(recorder.summaries.first)
        #expect(first.types == 1 && first.services == 1 && first.added == 1 && first.removed == 0)
        #expect(first.interfaces == ["v0"] && first.duration >= .milliseconds(3500))
        #expect(recorder.census.lastCompleted != nil)
        // An interval is at least ten seconds.
        await wire.here.loop.eventually(within: .seconds(60)) { recorder.summaries.count == 2 }
        #expect(recorder.summaries.last?.added == 0)
        recorder.stop()
        #expect(recorder.census.services.isEmpty)
    }

    @Test func `the same name on two interfaces is two services, each with its own life`() async throws {
        let wire = try Wire()
        let loop = wire.here.loop
        try wire.here.connect("w0", to: wire.peer, as: "w1")
        try wire.here.ip("address add 198.51.100.1/24 dev w0")
        try wire.here.waitForAddresses(on: "w0", isLinkLocal: true)
        try wire.peer.waitForAddresses(on: "w1", isLinkLocal: true)
        let first = try SimulatedResponder(in: wire.peer)
        let second = try SimulatedResponder(in: wire.peer, interface: "w1")
        var lamp = MadeUpService()
        first.set(lamp.all)
        lamp.address = .v4(0xC633_6450)
        second.set(lamp.all)
        let recorder = try Recorder(wire)
        recorder.census.engine.setInterfaces([try wire.interface(), try wire.here.multicastInterface("w0")])
        recorder.start()
        await loop.eventually { recorder.census.services.count == 2 }
        #expect(recorder.service("Lamp", on: "v0")?.addresses.description == "[192.0.2.50]")
        #expect(recorder.service("Lamp", on: "w0")?.addresses.description == "[198.51.100.80]")
        #expect(recorder.census.serviceTypes == ["_test._tcp"])
        recorder.census.engine.setInterfaces([try wire.interface()])
        #expect(recorder.removals.map(\.reason) == [.interfaceDown])
        #expect(recorder.census.services.map(\.interface) == ["v0"])
        #expect(!recorder.events.contains(.typeRemoved("_test._tcp")))
    }

    @Test func `shares an engine with those who browse, and leaves it to them`() async throws {
        let bench = try EngineBench(families: [.ipv4])
        let lamp = MadeUpService()
        var bulb = lamp
        (bulb.name, bulb.type) = ("Bulb", "_bulb._tcp")
        bench.responder.set(lamp.all + bulb.all)
        bench.browse(lamp.typeName)
        let census = ServiceCensus(bench.engine)
        var events: [ServiceEvent] = []
        census.start { events.append($0) }
        await bench.loop.eventually { census.services.map(\.name) == ["Bulb", "Lamp"] && bench.services.count == 1 }
        #expect(census.isRunning)
        census.stop()
        #expect(census.services.isEmpty && bench.engine.isStarted && bench.services.count == 1)
        bench.responder.goodbye([lamp.pointer, bulb.pointer])
        let count = events.count
        await bench.loop.eventually { bench.services.isEmpty }
        #expect(events.count == count && bench.summary == ["found Lamp", "resolved Lamp", "lost Lamp goodbye"])
        census.start { events.append($0) }
        bench.responder.announce(bulb.all)
        await bench.loop.eventually { census.services.map(\.name).contains("Bulb") }
    }
}
