// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import Glibc
import LinuxIO
import MulticastDNS
import TestSupport
import Testing

@Suite(.inNamespaceAtOnce) struct ZeroconfLifetimeTests {
    @Test func `a service whose records live for 20 s is never lost in three of its lifetimes`() async throws {
        let bench = try EngineBench()
        bench.browse(try #require(DomainName("_brief._tcp.local")))
        let process = try ZeroconfPeer.announce("Brief", "_brief._tcp", 9, in: bench.wire.peer, lifetime: 20)
        await bench.loop.eventually(within: .seconds(60)) { bench.services.first?.addresses.count == 2 }
        let (end, told) = (KernelClock().boot + .seconds(62), bench.summary)
        await bench.loop.eventually(within: .seconds(120)) { KernelClock().boot > end }
        #expect(bench.summary == told && bench.services.count == 1)
        #expect(bench.services.first?.timeToLive == .seconds(20))
        process.signal(SIGTERM)
        await bench.loop.eventually(within: .seconds(60)) { bench.services.isEmpty }
        #expect(bench.summary.last == "lost Brief goodbye")
    }
}

@Suite(.inNamespace) struct ZeroconfTests {
    @Test func `finds, follows and loses a service of python-zeroconf`() async throws {
        let wire = try Wire()
        let loop = wire.here.loop
        let recorder = try Recorder(wire)
        recorder.start()
        let process = try ZeroconfPeer.announce("Wohn.zimmer", "_demo._tcp", 8080, in: wire.peer)
        await loop.eventually(within: .seconds(60)) { recorder.service("Wohn.zimmer")?.addresses.count == 2 }
        let service = try #require(recorder.service("Wohn.zimmer"))
        #expect(service.type == "_demo._tcp" && service.port == 8080 && service.host == "zc-host.local")
        #expect(service.rawText.contains(Array("version=1".utf8)) && service.rawText.contains(Array("flag".utf8)))

        process.signal(SIGUSR1)
        await loop.eventually(within: .seconds(60)) {
            recorder.service("Wohn.zimmer")?.rawText.contains(Array("version=2".utf8)) == true
        }
        #expect(recorder.changes.last?.fields.contains(.text) == true)

        // What came within the last second counts as part of the same burst.
        await loop.eventually(within: .seconds(60)) { recorder.age(of: "Wohn.zimmer") > .seconds(2) }
        // The old address dies one second after the new one came: a second event must follow.
        process.signal(SIGUSR2)
        let moved = ScopedAddress(.v4(0xC000_024D))
        await loop.eventually(within: .seconds(60)) {
            recorder.service("Wohn.zimmer")?.addresses.filter { $0.address.family == .ipv4 } == [moved]
        }
        #expect(recorder.changes.last?.fields.contains(.addresses) == true)

        process.signal(SIGTERM)
        await loop.eventually(within: .seconds(60)) { recorder.census.services.isEmpty }
        #expect(recorder.removals.map(\.reason) == [.goodbye])
    }

    @Test(arguments: AddressFamily.allCases)
    func `finds a service when only one family is in use`(family: AddressFamily) async throws {
        let wire = try Wire()
        let all = try wire.interface()
        let recorder = try Recorder(wire)
        recorder.census.engine.setInterfaces([
            MulticastInterface(
                index: all.index,
                name: all.name,
                addresses: all.addresses.filter { $0.address.family == family }
            )
        ])
        recorder.start()
        let process = try ZeroconfPeer.announce("Single", "_demo._udp", 9, in: wire.peer)
        await wire.here.loop.eventually(within: .seconds(60)) { recorder.service("Single") != nil }
        #expect(recorder.census.engine.counters.keys.map(\.family) == [family])
        process.signal(SIGTERM)
        await wire.here.loop.eventually(within: .seconds(60)) { recorder.service("Single") == nil }
        #expect(recorder.removals.map(\.reason) == [.goodbye])
    }

    @Test(arguments: [true, false])
    func `shares the port with a python-zeroconf on the same host, whoever comes first`(
        zeroconfFirst: Bool
    ) async throws {
        let wire = try Wire()
        let loop = wire.here.loop
        let recorder = try Recorder(wire)
        let responder = try SimulatedResponder(in: wire.peer)
        responder.set(MadeUpService().all)
        if !zeroconfFirst { recorder.start() }
        let process = try ZeroconfPeer.announce("Local", "_demo._tcp", 9, in: wire.here, interface: "v0", "192.0.2.1")
        if zeroconfFirst {
            await loop.eventually(within: .seconds(60)) { responder.queries.contains { !$0.authorities.isEmpty } }
            recorder.start()
        }
        await loop.eventually(within: .seconds(60)) {
            recorder.service("Local")?.host == "zc-host.local" && recorder.service("Lamp") != nil
        }
        process.signal(SIGTERM)
        await loop.eventually(within: .seconds(60)) { recorder.service("Local") == nil }
        #expect(recorder.removals.map(\.reason) == [.goodbye])
    }
}
