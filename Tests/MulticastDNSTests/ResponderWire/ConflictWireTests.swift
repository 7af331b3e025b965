// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import LinuxIO
@testable import MulticastDNS
import TestSupport
import Testing

private let lamp = MadeUpService()
/// The same name, in the hands of another host.
private let theirs = MadeUpService(host: "else.local", port: 99)

@Suite(.inNamespace) struct ConflictWireTests {
    @Test func `P5, P12: a name that another host has is left to it, by both families`() async throws {
        let bench = try AdvertisingBench()
        bench.tap.own([theirs.location, theirs.textRecord])
        bench.engine.start()
        let id = try bench.advertise()
        await bench.loop.eventually("the second name by both families") {
            AddressFamily.allCases.allSatisfy { bench.tap.tells(.srv, "Lamp (2)._test._tcp.local", by: $0) }
        }
        #expect(bench.renames == ["Lamp (2)._test._tcp.local"] && bench.isRegistered)
        #expect(bench.engine.advertiser.name(of: id)?.description == "Lamp (2)._test._tcp.local")
        #expect(!bench.tap.tells(.srv, "Lamp._test._tcp.local"), "announced a name that is another's")
    }

    @Test func `P6, P7: the loser of a simultaneous probe waits and keeps the name if nobody takes it`() async throws {
        let bench = try AdvertisingBench()
        // Answers the first probe of each family with a probe of its own that wins: its port is higher.
        let rival = Message(questions: [ask("Lamp._test._tcp.local", .any)], authorities: [theirs.location])
        bench.tap.react { [tap = bench.tap] packet in
            packet.isProbe && tap.packets(packet.family).count(where: \.isProbe) == 1 ? [rival] : []
        }
        bench.engine.start()
        try bench.advertise()
        await bench.loop.eventually("announcements") {
            AddressFamily.allCases.allSatisfy { bench.tap.tells(.srv, "Lamp._test._tcp.local", by: $0) }
        }
        #expect(bench.renames.isEmpty)
        for family in AddressFamily.allCases {
            let probes = bench.tap.packets(family).filter { packet in
                packet.isProbe && packet.message.questions.contains { $0.name == lamp.instance }
            }
            #expect(probes.count >= 4)
            // A second from the defeat to the next attempt; half of it, for the tap may have been kept waiting.
            #expect(probes[1].time - probes[0].time > .milliseconds(500))
        }
    }

    @Test func `P12: a conflict after the announcements: probed for again, and renamed when the other defends it`()
        async throws
    {
        let bench = try AdvertisingBench()
        _ = try await bench.advertiseAndSettle()
        bench.tap.send(Message(flags: [.response, .authoritative], answers: [theirs.location]))
        await bench.loop.eventually("probes") {
            AddressFamily.allCases.allSatisfy { bench.tap.packets($0).contains { $0.isProbe } }
        }
        await bench.loop.eventually("announcements") {
            AddressFamily.allCases.allSatisfy { bench.tap.tells(.srv, "Lamp._test._tcp.local", by: $0) }
        }
        #expect(bench.renames.isEmpty)
        bench.tap.own([theirs.location])
        bench.tap.send(Message(flags: [.response, .authoritative], answers: [theirs.location]))
        await bench.loop.eventually("the new name") {
            AddressFamily.allCases.allSatisfy { bench.tap.tells(.srv, "Lamp (2)._test._tcp.local", by: $0) }
        }
        #expect(bench.renames == ["Lamp (2)._test._tcp.local"])
    }

    @Test func `A20: a name that we have is defended`() async throws {
        let bench = try AdvertisingBench()
        _ = try await bench.advertiseAndSettle()
        let question = ask("Lamp._test._tcp.local", .any)
        bench.tap.send(Message(questions: [question], authorities: [theirs.location]))
        await bench.loop.eventually("a defence by both families") {
            AddressFamily.allCases.allSatisfy { bench.tap.tells(.srv, "Lamp._test._tcp.local", by: $0) }
        }
        #expect(bench.tap.probes.isEmpty && bench.renames.isEmpty)
    }

    @Test func `P13: our own packets, brought back by somebody, disturb nobody`() async throws {
        let bench = try AdvertisingBench()
        bench.tap.react { packet in [packet.message] }
        bench.engine.start()
        try bench.advertise()
        await bench.loop.eventually("announcements") {
            AddressFamily.allCases.allSatisfy { bench.tap.announcements($0).count >= 3 }
        }
        #expect(bench.renames.isEmpty)
        for family in AddressFamily.allCases {
            #expect(bench.tap.packets(family).count(where: \.isProbe) == 3, "probed again for what came back")
        }
    }

    @Test func `A16: a record that somebody lets die is announced again`() async throws {
        let bench = try AdvertisingBench()
        _ = try await bench.advertiseAndSettle()
        var goodbye = lamp.pointer
        goodbye.timeToLive = 0
        bench.tap.send(Message(flags: [.response, .authoritative], answers: [goodbye]))
        await bench.loop.eventually("a correction by both families") {
            AddressFamily.allCases.allSatisfy { bench.tap.tells(.ptr, "_test._tcp.local", by: $0) }
        }
    }
}

@Suite(.inNamespace) struct TwoLinksTests {
    @Test func `A12, Q20, P12: each link has its own addresses, and one name for both`() async throws {
        let bench = try AdvertisingBench()
        let other = try Namespace()
        let lan = try Lan()
        try lan.join(bench.here, "w0", "198.51.100.1/24", port: "p0")
        try lan.join(other, "w1", "198.51.100.2/24", port: "p1")
        let tap = try PacketTap(in: other, interface: "w1")
        tap.own([theirs.location, theirs.textRecord])
        let interfaces = try ["v0", "w0"].map { try bench.here.multicastInterface($0) }
        bench.engine.setInterfaces(interfaces)
        bench.engine.start()
        try bench.advertise()
        for seen in [bench.tap, tap] {
            await bench.loop.eventually("the new name on both links") {
                AddressFamily.allCases.allSatisfy { seen.tells(.srv, "Lamp (2)._test._tcp.local", by: $0) }
                    && seen.tells(.a, "lamp.local")
            }
        }
        #expect(bench.renames == ["Lamp (2)._test._tcp.local"])
        for (seen, own) in [(bench.tap, IPAddress.v4(0xC000_0201)), (tap, .v4(0xC633_6401))] {
            let told = Set(seen.responses.flatMap(\.records).filter { $0.type == .a }.map(\.data))
            #expect(told == [.address(own)])
        }
    }

    @Test func `P13: two interfaces on one Ethernet do not take each other for strangers`() async throws {
        let bench = try AdvertisingBench()
        try bench.lan.join(bench.here, "w0", "192.0.2.3/24", port: "p2")
        let interfaces = try ["v0", "w0"].map { try bench.here.multicastInterface($0) }
        bench.engine.setInterfaces(interfaces)
        bench.engine.start()
        try bench.advertise(host: .machine)
        let sources = Set(interfaces.flatMap { $0.addresses.map(\.address) })
        await bench.loop.eventually("announcements by both interfaces and families") {
            sources.allSatisfy { source in
                bench.tap.responses.filter { $0.datagram.source == source && $0.tells(.a) }.count >= 3
            }
        }
        #expect(bench.renames.isEmpty)
        let targets = bench.tap.responses.flatMap(\.records).compactMap { record -> DomainName? in
            guard case .service(let location) = record.data else { return nil }
            return location.target
        }
        let hosts = Set(bench.tap.responses.flatMap(\.records).filter { $0.type == .a }.map(\.name))
        #expect(hosts.count == 1 && hosts == Set(targets), "the host was renamed: \(hosts) \(Set(targets))")
    }
}
