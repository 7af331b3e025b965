// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import LinuxIO
import MulticastDNS
import TestSupport
import Testing

private let lamp = MadeUpService()
private let pointer = ask("_test._tcp.local", .ptr)
private let color = ask("_color._sub._test._tcp.local", .ptr)

/// When and in which packets answers go, as the packets on the wire tell; one link for several rules.
@Suite(.inNamespace) struct PacingWireTests {
    /// The packets of a family that tell a pointer of this name.
    private func pointers(_ name: String, _ bench: AdvertisingBench, _ family: AddressFamily) -> [TappedPacket] {
        let name = DomainName(name)
        return bench.tap.packets(family).filter { packet in
            packet.isResponse && packet.records.contains { $0.type == .ptr && $0.name == name && $0.timeToLive > 0 }
        }
    }

    /// Waits until the one-second rule lets everything go again.
    private func rest(_ bench: AdvertisingBench) async {
        let end = KernelClock().boot + .milliseconds(1100)
        await bench.loop.eventually("a quiet second") { KernelClock().boot > end }
        bench.tap.forget()
    }

    @Test func `A6 to A8, P11: answers share a packet, come once a second, and not when another host gave them`()
        async throws
    {
        let bench = try AdvertisingBench()
        bench.engine.start()
        let id = try bench.advertise { $0.subtypes = [Array("_color".utf8)] }
        await bench.loop.eventually("three announcements by each family") {
            AddressFamily.allCases.allSatisfy { bench.tap.announcements($0).count >= 3 }
        }
        try await shares(bench)
        try await waits(bench)
        try await keepsSilent(bench)
        await rest(bench)
        try await changes(bench, id)
    }

    /// A8: two questions at once, as two hosts would ask them, get one packet; at times the second one is late, but not
    /// always.
    private func shares(_ bench: AdvertisingBench) async throws {
        var shared: Set<AddressFamily> = []
        for _ in 0..<10 where shared.count < 2 {
            await rest(bench)
            bench.tap.send(Message(questions: [pointer]))
            bench.tap.send(Message(questions: [color]))
            for family in AddressFamily.allCases {
                await bench.loop.eventually("both answers by \(family)") {
                    !pointers("_test._tcp.local", bench, family).isEmpty
                        && !pointers("_color._sub._test._tcp.local", bench, family).isEmpty
                }
                if bench.tap.packets(family).count(where: \.isResponse) == 1 { shared.insert(family) }
            }
        }
        #expect(shared.count == 2, "two packets for two questions")
    }

    /// A6: whoever asks again gets the record a second after it was multicast, once.
    private func waits(_ bench: AdvertisingBench) async throws {
        for _ in 0..<5 { bench.tap.send(Message(questions: [pointer])) }
        for family in AddressFamily.allCases {
            await bench.loop.eventually("the second answer by \(family)") {
                pointers("_test._tcp.local", bench, family).count >= 2
            }
            let told = pointers("_test._tcp.local", bench, family)
            // A second from one to the next; half of it, for the tap may have been kept waiting.
            #expect(told[1].time - told[0].time > .milliseconds(500), "\(family): too soon")
            #expect(told.count == 2, "\(family): five questions are no reason for more answers")
        }
    }

    /// A7: an answer that another host gives meanwhile is dropped; at times the machine is too slow for that, but not
    /// always.
    private func keepsSilent(_ bench: AdvertisingBench) async throws {
        var copy = lamp.pointer
        copy.timeToLive = 4500
        var silent: Set<AddressFamily> = []
        for _ in 0..<10 where silent.count < 2 {
            await rest(bench)
            bench.tap.send(Message(questions: [pointer]))
            bench.tap.send(Message(flags: [.response, .authoritative], answers: [copy]))
            bench.tap.send(Message(questions: [color]))
            for family in AddressFamily.allCases {
                await bench.loop.eventually("the answer that nobody gave, by \(family)") {
                    !pointers("_color._sub._test._tcp.local", bench, family).isEmpty
                }
                if pointers("_test._tcp.local", bench, family).isEmpty { silent.insert(family) }
            }
        }
        #expect(silent.count == 2, "repeated what another host had just said")
    }

    /// P11: changed data is announced with the cache-flush bit and without probes, what is shared and gone with a goodbye.
    private func changes(_ bench: AdvertisingBench, _ id: AdvertisementID) async throws {
        var service = ServiceRegistration(name: Array("Lamp".utf8), type: "_test._tcp", port: 81)
        service.subtypes = []
        try bench.engine.update(service, of: id)
        for family in AddressFamily.allCases {
            await bench.loop.eventually("the new port by \(family)") {
                bench.tap.packets(family).flatMap(\.records).contains { record in
                    guard case .service(let location) = record.data else { return false }
                    return location.port == 81 && record.flushesCache && record.timeToLive > 0
                }
            }
            await bench.loop.eventually("the goodbye of the subtype by \(family)") {
                bench.tap.packets(family).flatMap(\.records).contains { $0.name == color.name && $0.timeToLive == 0 }
            }
        }
        #expect(bench.tap.probes.isEmpty && !bench.tap.tells(.ptr, "_color._sub._test._tcp.local"))
    }

    @Test func `P8: after fifteen conflicts in ten seconds the link hears of us every five seconds only`() async throws
    {
        let bench = try AdvertisingBench()
        // Whatever name is probed for is another host's already.
        bench.tap.react { packet in
            guard packet.isProbe else { return [] }
            let answers = Set(packet.message.questions.map(\.name)).filter { $0.labelCount == 4 }.map { name in
                ResourceRecord(
                    name,
                    .srv,
                    .service(ServiceLocation(priority: 0, weight: 0, port: 9, target: theirHost)),
                    timeToLive: 120,
                    flushesCache: true
                )
            }
            return answers.isEmpty ? [] : [Message(flags: [.response, .authoritative], answers: answers)]
        }
        bench.engine.start()
        // Three at once, so that fifteen conflicts take a few rounds of probing and not fifteen.
        for name in ["Lamp", "Door", "Bell"] { try bench.advertise(name) }
        func attempts() -> [Duration] {
            var first: [DomainName: Duration] = [:]
            for packet in bench.tap.probes {
                for question in packet.message.questions where question.name.labelCount == 4 {
                    first[question.name] = min(first[question.name] ?? packet.time, packet.time)
                }
            }
            return first.values.sorted()
        }
        func pause() -> Int? {
            let times = attempts()
            return zip(times, times.dropFirst()).enumerated().first { $1.1 - $1.0 > .milliseconds(3500) }?.offset
        }
        await bench.loop.eventually("a pause between two attempts") { pause() != nil }
        let before = try #require(pause()) + 1
        // A name that one family lost is tried anew by both, so each counts about half of them, or all.
        #expect((15...40).contains(before), "\(before) names were tried before the first pause")
        #expect(!bench.isRegistered)
    }

    @Test func `F6: fifty services with long texts are told of in packets that fit the MTU`() async throws {
        let bench = try AdvertisingBench()
        bench.engine.start()
        for number in 0..<50 {
            try bench.advertise("Lamp \(number)") { service in
                service.text = [
                    .init(key: "a", value: [UInt8](repeating: 0x61, count: 250)),
                    .init(key: "b", value: [UInt8](repeating: 0x62, count: 50 + number)),
                ]
            }
        }
        func told(_ family: AddressFamily) -> Set<DomainName> {
            let records = bench.tap.packets(family).filter(\.isResponse).flatMap(\.records)
            return Set(records.filter { $0.type == .txt }.map(\.name))
        }
        await bench.loop.eventually("all of them by both families") {
            AddressFamily.allCases.allSatisfy { told($0).count == 50 }
        }
        bench.tap.send(Message(questions: [pointer]))
        func answered(_ family: AddressFamily) -> Int {
            let records = bench.tap.packets(family).filter(\.isResponse).flatMap(\.message.answers)
            return Set(records.filter { $0.type == .ptr && $0.name == pointer.name }.map(\.data)).count
        }
        await bench.loop.eventually("all pointers") { AddressFamily.allCases.allSatisfy { answered($0) == 50 } }
        for packet in bench.tap.packets {
            #expect(packet.datagram.count <= 1500 - (packet.family == .ipv4 ? 28 : 48), "would be cut in pieces")
        }
    }
}

private let theirHost = DomainName("else.local") ?? DomainName()
