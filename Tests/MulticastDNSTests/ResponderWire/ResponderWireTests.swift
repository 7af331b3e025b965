// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import LinuxIO
import TestSupport
import Testing

@testable import MulticastDNS

private let lamp = MadeUpService()
private let pointer = ask("_test._tcp.local", .ptr)
private let location = ask("Lamp._test._tcp.local", .srv)

@Suite(.inNamespace) struct AnnouncementWireTests {
    @Test func `P1 to P4, P9, P10, P14, A18, A19, D5, F1 to F7: from the first probe to the goodbye, by both families`()
        async throws
    {
        let bench = try AdvertisingBench()
        bench.engine.start()
        try bench.advertise()
        await bench.loop.eventually("three announcements") {
            AddressFamily.allCases.allSatisfy { bench.tap.announcements($0).count >= 3 }
        }
        #expect(bench.isRegistered)
        let own6 = try bench.here.multicastInterface("v0").addresses.count { $0.address.family == .ipv6 }
        for family in AddressFamily.allCases {
            let packets = bench.tap.packets(family)
            let probes = packets.filter(\.isProbe)
            #expect(probes.count == 3)
            for probe in probes {
                #expect(Set(probe.message.questions.map(\.name)) == [lamp.instance, lamp.hostName])
                #expect(probe.message.questions.allSatisfy { $0.type == .any && $0.wantsUnicast })
                #expect(Set(probe.message.authorities.map(\.type)) == [.srv, .txt, .a, .aaaa])
                #expect(probe.message.authorities.allSatisfy { !$0.flushesCache } && probe.message.id == 0)
            }
            // Half of the nominal times: the tap may have been kept waiting.
            let announcements = bench.tap.announcements(family)
            #expect(announcements[0].time - probes[0].time > .milliseconds(375))
            #expect(announcements[1].time - announcements[0].time > .milliseconds(500))
            for packet in packets {
                #expect(packet.datagram.port == 5353 && packet.datagram.hopLimit == 255 && packet.wasMulticast)
            }
            for packet in packets.filter(\.isResponse) {
                #expect(packet.message.id == 0 && packet.message.flags.rawValue == 0x8400)
                #expect(packet.message.questions.isEmpty && !packet.message.answers.isEmpty)
                for record in packet.records {
                    #expect(record.flushesCache == (record.type != .ptr))
                    let isOfHost = [.srv, .a, .aaaa, .nsec].contains(record.type)
                    #expect(record.timeToLive == (isOfHost ? 120 : 4500))
                    if record.type == .txt { #expect(record.data == .text([0])) }
                }
                // All addresses of a family, or none.
                let addresses = packet.records.filter { $0.type == .aaaa }.count
                #expect(addresses == 0 || addresses == own6)
            }
            #expect(Set(announcements[0].records.map(\.type)).isSuperset(of: [.ptr, .srv, .txt, .a, .aaaa]))
        }
        bench.tap.forget()
        bench.engine.stop()
        await bench.loop.eventually("a goodbye by both families") { Set(bench.tap.responses.map(\.family)).count == 2 }
        for packet in bench.tap.responses {
            #expect(packet.records.allSatisfy { $0.timeToLive == 0 && $0.name != ServiceName.enumeration })
            #expect(Set(packet.records.map(\.type)).isSuperset(of: [.ptr, .srv, .txt]))
        }
    }

    @Test func `P11: new text is announced at once and not probed for`() async throws {
        let bench = try AdvertisingBench()
        let id = try await bench.advertiseAndSettle()
        try bench.engine.update(text: [.init(key: "v", value: [0x32])], of: id)
        await bench.loop.eventually("the new text") {
            bench.tap.responses.contains { packet in
                packet.records.contains { $0.data == .text([3] + Array("v=2".utf8)) && $0.flushesCache }
            }
        }
        #expect(bench.tap.probes.isEmpty)
        #expect(bench.events.map(\.kind).contains(.updated(lamp.instance)))
    }

    @Test func `A12, P11: a new address is announced together with the old one`() async throws {
        let bench = try AdvertisingBench()
        _ = try await bench.advertiseAndSettle()
        try bench.here.ip("address add 192.0.2.77/24 dev v0")
        bench.engine.setInterfaces([try bench.here.multicastInterface("v0")])
        let both: Set<RecordData> = [.address(.v4(0xC000_0201)), .address(.v4(0xC000_024D))]
        await bench.loop.eventually("both addresses in one packet") {
            bench.tap.responses.contains { packet in
                Set(packet.records.filter { $0.type == .a && $0.flushesCache }.map(\.data)) == both
            }
        }
    }

    @Test func `P1: an interface that was down is probed on again`() async throws {
        let bench = try AdvertisingBench()
        _ = try await bench.advertiseAndSettle()
        bench.engine.setInterfaces([])
        bench.engine.setInterfaces([try bench.here.multicastInterface("v0")])
        await bench.loop.eventually("probes and announcements") {
            AddressFamily.allCases.allSatisfy { family in
                bench.tap.packets(family).contains { $0.isProbe } && !bench.tap.announcements(family).isEmpty
            }
        }
    }

    @Test func `P1: an interface that was down while nobody looked is probed and asked on again`() async throws {
        let bench = try AdvertisingBench()
        let browse = ServiceBrowse(bench.engine, types: [pointer.name]) { _ in }
        _ = try await bench.advertiseAndSettle()
        let link = try bench.here.multicastInterface("v0")
        bench.engine.setInterfaces([link])
        bench.engine.setInterfaces([
            MulticastInterface(index: link.index, name: link.name, addresses: link.addresses, carrierChanges: 2)
        ])
        await bench.loop.eventually("probes, announcements and questions that welcome a unicast answer") {
            AddressFamily.allCases.allSatisfy { family in
                bench.tap.packets(family).contains { $0.isProbe } && !bench.tap.announcements(family).isEmpty
                    && bench.tap.packets(family).contains { packet in
                        !packet.isProbe && packet.message.questions.contains { $0.wantsUnicast }
                    }
            }
        }
        withExtendedLifetime(browse) {}
    }
}

@Suite(.inNamespace) struct AnswerWireTests {
    @Test(arguments: AddressFamily.allCases)
    func `A2, A5, A17, D10: questions to the group are answered to the group`(family: AddressFamily) async throws {
        let bench = try AdvertisingBench()
        _ = try await bench.advertiseAndSettle()
        bench.tap.send(Message(questions: [pointer], answers: [lamp.pointer]), by: [family])
        bench.tap.send(Message(questions: [ask("nobody.local", .a)]), by: [family])
        bench.tap.send(Message(questions: [location]), by: [family])
        await bench.loop.eventually("an answer") { !bench.tap.responses.isEmpty }
        let response = try #require(bench.tap.responses.first)
        #expect(response.family == family && response.wasMulticast && response.message.answers.map(\.type) == [.srv])
        #expect(Set(response.message.additionals.map(\.type)) == [.a, .aaaa])
        #expect(!bench.tap.tells(.ptr, "_test._tcp.local"), "what the asker knows was sent")
        bench.tap.send(Message(questions: [pointer]), by: [family])
        await bench.loop.eventually("a pointer") { bench.tap.tells(.ptr, "_test._tcp.local", by: family) }
    }

    @Test(arguments: AddressFamily.allCases)
    func `A9 to A11: every question is answered, ANY with everything, what is missing with a denial`(
        family: AddressFamily
    ) async throws {
        let bench = try AdvertisingBench()
        _ = try await bench.advertiseAndSettle()
        let questions = [ask("Lamp._test._tcp.local", .any), ask("lamp.local", .srv), ask("lamp.local", .a)]
        bench.tap.send(Message(questions: questions), by: [family])
        await bench.loop.eventually("all answers") {
            Set(bench.tap.responses.flatMap(\.message.answers).map(\.type)).isSuperset(of: [.srv, .txt, .nsec, .a])
        }
        let denial = bench.tap.responses.flatMap(\.message.answers).first { $0.type == .nsec }
        #expect(denial?.data == .nextSecure(next: lamp.hostName, types: [.a, .aaaa]))
    }

    @Test(arguments: AddressFamily.allCases)
    func `A13, A14: who welcomes unicast, or asks by unicast, is answered alone`(family: AddressFamily) async throws {
        let bench = try AdvertisingBench()
        _ = try await bench.advertiseAndSettle()
        var welcome = location
        welcome.wantsUnicast = true
        bench.tap.send(Message(id: 9, questions: [welcome]), by: [family])
        await bench.loop.eventually("an answer by unicast") { bench.tap.responses.count == 1 }
        bench.tap.send(Message(id: 10, questions: [location]), to: try bench.address(family))
        await bench.loop.eventually("an answer to a question by unicast") { bench.tap.responses.count == 2 }
        for (response, id) in zip(bench.tap.responses, [9, 10] as [UInt16]) {
            #expect(!response.wasMulticast && response.message.id == id && response.family == family)
            #expect(response.datagram.port == 5353 && response.message.answers.map(\.type) == [.srv])
        }
    }

    @Test func `A14: questions from another link are not answered`() async throws {
        let bench = try AdvertisingBench()
        _ = try await bench.advertiseAndSettle()
        // Reachable, but not in a prefix of the interface.
        try bench.peer.ip("address add 198.51.100.9/32 dev v1")
        try bench.here.ip("route add 198.51.100.9/32 dev v0")
        let script = """
            import socket, sys, time
            message = bytes.fromhex(sys.argv[1])
            for port in (5353, 0):
                s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                s.bind(("198.51.100.9", port))
                s.sendto(message, ("192.0.2.1", 5353))
                s.settimeout(1.5)
                try: print("answered", s.recv(9000).hex())
                except TimeoutError: pass
                except socket.timeout: pass
            """
        let query = try #require(Message(questions: [location]).encoded())
        let asker = try Asking(in: bench.peer, script, [hex(query)])
        await bench.loop.eventually("the end of the asker") { asker.isDone }
        #expect(asker.printed.isEmpty && bench.tap.responses.isEmpty)
    }

    @Test(arguments: AddressFamily.allCases)
    func `A15: a plain resolver is answered as it expects`(family: AddressFamily) async throws {
        let bench = try AdvertisingBench()
        _ = try await bench.advertiseAndSettle()
        let script = """
            import socket, sys
            message, family = bytes.fromhex(sys.argv[1]), sys.argv[2]
            if family == "ipv4":
                s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("192.0.2.2"))
                target = ("224.0.0.251", 5353)
            else:
                s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
                target = ("ff02::fb", 5353, 0, socket.if_nametoindex("v1"))
            s.settimeout(30)
            s.sendto(message, target)
            data, source = s.recvfrom(9000)
            print(source[1], data.hex())
            """
        let query = try #require(Message(id: 4711, questions: [location]).encoded())
        let asker = try Asking(in: bench.peer, script, [hex(query), family.rawValue])
        await bench.loop.eventually("the end of the asker") { asker.isDone }
        let words = asker.printed.split(whereSeparator: \.isWhitespace)
        try #require(words.count == 2, "no answer: \(asker.printed)")
        let bytes = bytes(String(words[1]))
        let answer = try Message(parsing: bytes.span)
        #expect(words[0] == "5353" && answer.id == 4711 && answer.questions == [location])
        #expect(answer.answers.map(\.type) == [.srv])
        #expect((answer.answers + answer.additionals).allSatisfy { $0.timeToLive <= 10 && !$0.flushesCache })
        #expect(bench.tap.responses.isEmpty, "answered to all as well")
    }

    @Test func `A3, A4: a truncated query waits for what follows`() async throws {
        let bench = try AdvertisingBench()
        _ = try await bench.advertiseAndSettle()
        bench.tap.send(Message(flags: .truncated, questions: [pointer, location]), by: [.ipv4])
        bench.tap.send(Message(answers: [lamp.pointer]), by: [.ipv4])
        let asked = KernelClock().boot
        await bench.loop.eventually("an answer") { !bench.tap.responses.isEmpty }
        let response = try #require(bench.tap.responses.first)
        #expect(response.time - asked > .milliseconds(350))
        #expect(response.message.answers.map(\.type) == [.srv])
    }
}

/// A program that asks from outside, and what it printed.
final class Asking {
    private let scratch: Scratch
    private let process: RunningCommand

    init(in namespace: Namespace, _ script: String, _ arguments: [String]) throws {
        scratch = try Scratch()
        let file = try scratch.write(script, to: "ask.py")
        let command = "python3 \"$@\" > \(scratch.path)/out; touch \(scratch.path)/done"
        process = try RunningCommand(
            ["nsenter", "--net=\(namespace.path)", "sh", "-c", command, "sh", file] + arguments
        )
    }

    var isDone: Bool { (try? Command.run(["test", "-e", "\(scratch.path)/done"])) != nil }
    var printed: String { (try? Command.run(["cat", "\(scratch.path)/out"])) ?? "" }
}

private func hex(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}

private func bytes(_ hex: String) -> [UInt8] {
    let digits = hex.utf8.compactMap { UInt8(String(UnicodeScalar($0)), radix: 16) }
    return stride(from: 0, to: digits.count - 1, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
}
