// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import LinuxIO
import MulticastDNS
import TestSupport
import Testing

private let lamp = MadeUpService()

private let browseQuestion = Question(lamp.typeName, .ptr)

@Suite(.inNamespace) struct QueryTrafficTests {
    @Test func `queries leave from port 5353 to the group with 255 hops, plain headers, on both families`() async throws
    {
        let bench = try EngineBench()
        bench.browse(lamp.typeName)
        await bench.loop.eventually { Set(bench.responder.packets.map(\.family)).count == 2 }
        for packet in bench.responder.packets {
            #expect(packet.origin.port == 5353 && packet.origin.hopLimit == 255)
            let group = packet.family == .ipv4 ? "224.0.0.251" : "ff02::fb"
            #expect(packet.origin.destination == IPAddress(group))
            #expect(packet.message.id == 0 && packet.message.flags == [])
            #expect(packet.message.questions.allSatisfy { $0.classCode == 1 })
        }
    }

    @Test func `the first question waits 20 ms at least, the next ones 1 s and 2 s`() async throws {
        let bench = try EngineBench()
        let start = KernelClock().boot
        bench.browse(lamp.typeName)
        await bench.loop.eventually { bench.responder.times(of: browseQuestion).count >= 3 }
        let times = bench.responder.times(of: browseQuestion)
        #expect(times[0] - start >= .milliseconds(20))
        // What is late on a busy machine makes the next gap shorter by the time the packet lay around.
        #expect(times[1] - times[0] >= .milliseconds(800) && times[2] - times[1] >= .milliseconds(1800))
    }

    @Test func `two clients with one wish cause one traffic, and both hear everything`() async throws {
        let bench = try EngineBench(families: [.ipv4])
        bench.responder.set(lamp.all)
        bench.browse(lamp.typeName)
        bench.browse(lamp.typeName)
        await bench.loop.eventually { bench.services.count == 2 }
        #expect(bench.summary.count { $0 == "resolved Lamp" } == 2)
        let late = bench.responder.packets.count
        bench.browse(lamp.typeName)
        // Known already: told within the call, without a packet.
        #expect(bench.services.count == 3 && bench.responder.packets.count == late)
        await bench.loop.eventually { bench.responder.times(of: browseQuestion).count >= 2 }
        let questions = bench.responder.queries.flatMap(\.questions).filter { $0.name == lamp.typeName }
        let times = bench.responder.times(of: browseQuestion)
        #expect(questions.count == times.count && times[1] - times[0] >= .milliseconds(800))
    }

    @Test func `repeated questions list what is known, with the time it has left`() async throws {
        let bench = try EngineBench(families: [.ipv4])
        bench.responder.answer { packet in
            packet.message.answers.isEmpty ? [Message(flags: [.response, .authoritative], answers: lamp.all)] : []
        }
        bench.browse(lamp.typeName)
        await bench.loop.eventually { bench.responder.queries.contains { !$0.answers.isEmpty } }
        let repeated = try #require(bench.responder.queries.first { !$0.answers.isEmpty })
        #expect(repeated.answers.map(\.data) == [lamp.pointer.data])
        #expect(repeated.answers.allSatisfy { !$0.flushesCache && (4400...4499).contains($0.timeToLive) })
    }

    @Test func `more known answers than fit follow at once, all packets but the last marked`() async throws {
        let bench = try EngineBench(families: [.ipv4])
        let pointers = (0..<150).map { number in
            var other = lamp
            other.name = "instance number \(number)"
            return other.pointer
        }
        for start in stride(from: 0, to: 150, by: 30) {
            bench.responder.announce(Array(pointers[start..<(start + 30)]))
        }
        // A question that is due leaves although there is more to read.
        await bench.loop.eventually { bench.counted(\.received) >= 5 }
        bench.browse(lamp.typeName)
        await bench.loop.eventually { bench.responder.queries.flatMap(\.answers).count >= 150 }
        let packets = bench.responder.packets.drop { $0.message.answers.isEmpty }
        let run = Array(packets.prefix { $0.message.flags.contains(.truncated) })
        let last = try #require(packets.dropFirst(run.count).first)
        #expect(!run.isEmpty && run[0].message.questions.map(\.name).contains(lamp.typeName))
        #expect((run.dropFirst() + [last]).allSatisfy { $0.message.questions.isEmpty && !$0.message.answers.isEmpty })
        #expect((run + [last]).allSatisfy { $0.origin.count <= 1472 })
        #expect(Set((run + [last]).flatMap(\.message.answers).map(\.data)) == Set(pointers.map(\.data)))
    }

    @Test func `a question that another host just asked counts as ours`() async throws {
        let bench = try EngineBench(families: [.ipv4])
        let echo = bench.responder
        bench.browse(lamp.typeName)
        await bench.loop.eventually { !echo.times(of: browseQuestion).isEmpty }
        echo.send(Message(questions: [browseQuestion]))
        await bench.loop.eventually { echo.times(of: browseQuestion).count >= 2 }
        // Ours was due after a second; the next one is due two seconds after the other host's.
        let times = echo.times(of: browseQuestion)
        #expect(times[1] - times[0] >= .milliseconds(1800))
    }
}

@Suite(.inNamespace) struct FloodTrafficTests {
    @Test func `a flood of pointers gets fewer bytes out than it brings, and an honest service is resolved after it`()
        async throws
    {
        let bench = try EngineBench()
        bench.browse(lamp.typeName)
        await bench.loop.eventually { !bench.responder.packets.isEmpty }
        var heard = 0
        for packet in 0..<100 {
            let pointers = (0..<80).map { number in
                var fake = lamp
                fake.name = String(packet * 80 + number, radix: 36)
                return fake.pointer
            }
            let bytes = try #require(Message(flags: [.response, .authoritative], answers: pointers).encoded())
            bench.responder.sendBytes(bytes)
            heard += 2 * bytes.count
            // So that none is lost in the socket's queue.
            await bench.loop.eventually { bench.counted(\.received) >= 2 * (packet + 1) }
        }
        // The series of questions are over after 3.4 s.
        let end = KernelClock().boot + .seconds(4)
        await bench.loop.eventually { KernelClock().boot >= end }
        let sent = bench.responder.packets.reduce(0) { $0 + $1.origin.count }
        #expect(heard > 225_000 && sent < heard, "\(sent) bytes for \(heard)")
        bench.responder.set(lamp.all)
        bench.responder.announce([lamp.pointer])
        await bench.loop.eventually { bench.services.contains { $0.name == "Lamp" } }
    }
}

@Suite(.inNamespace) struct UnicastTrafficTests {
    @Test func `the sole owner of the port welcomes unicast answers, to its first questions alone`() async throws {
        let bench = try EngineBench(families: [.ipv4])
        bench.responder.answerByUnicast()
        bench.responder.set([lamp.pointer])
        bench.browse(lamp.typeName)
        await bench.loop.eventually { bench.summary == ["found Lamp"] }
        await bench.loop.eventually { bench.responder.times(of: browseQuestion).count >= 2 }
        let welcomes = bench.responder.queries.map { $0.questions.allSatisfy(\.wantsUnicast) }
        #expect(welcomes.first == true && !welcomes.dropFirst().contains(true))
        #expect(bench.counted(\.ignored) == 0)
    }

    @Test(arguments: AddressFamily.allCases)
    func `one of several owners asks for multicast answers only`(family: AddressFamily) async throws {
        let wire = try Wire()
        let neighbour = try UnicastSocket(family)
        let responder = try SimulatedResponder(in: wire.peer, families: [family])
        let engine = MulticastEngine(loop: wire.here.loop, clock: KernelClock())
        engine.setInterfaces([try wire.interface()])
        engine.start()
        let browse = ServiceBrowse(engine, types: [lamp.typeName]) { _ in }
        await wire.here.loop.eventually { !responder.queries.isEmpty }
        #expect(responder.queries.flatMap(\.questions).allSatisfy { !$0.wantsUnicast })
        withExtendedLifetime((browse, neighbour.rawValue)) {}
        engine.stop()
    }

    @Test(arguments: ["192.0.2.1", "link-local"])
    func `what is sent to us alone is ignored unless we asked for it`(address: String) async throws {
        let bench = try EngineBench()
        bench.browse(lamp.typeName)
        await bench.loop.eventually { bench.responder.packets.count >= 2 }
        let own = try bench.wire.interface().addresses.map(\.address)
        let target = try #require(
            own.first { $0.description == address || ($0.family == .ipv6 && address != "192.0.2.1") }
        )
        var other = lamp
        other.type = "_other._tcp"
        let unasked = Message(
            flags: [.response, .authoritative],
            answers: [other.pointer],
            additionals: [lamp.pointer]
        )
        bench.responder.sendBytes(unasked.encoded() ?? [], to: target)
        await bench.loop.eventually { bench.counted(\.ignored) == 1 }
        #expect(bench.events.isEmpty)
        bench.responder.announce([lamp.pointer])
        await bench.loop.eventually { bench.summary == ["found Lamp"] }
    }

    @Test func `the port is given back with the last link, and found taken by another`() async throws {
        let bench = try EngineBench()
        #expect(AddressFamily.allCases.allSatisfy { !UnicastSocket.isAlone($0) })
        bench.engine.setInterfaces([])
        // A program that another test starts holds what is open until it is executed.
        await bench.loop.eventually("the port") { AddressFamily.allCases.allSatisfy { UnicastSocket.isAlone($0) } }
    }

    @Test func `Q19: who takes the port later gets the answers by unicast, so none are welcome any more`() async throws
    {
        let bench = try EngineBench(families: [.ipv4])
        func welcomes() -> [Bool] { bench.responder.queries.flatMap(\.questions).map(\.wantsUnicast) }
        bench.browse(lamp.typeName)
        await bench.loop.eventually("a question") { welcomes() == [true] }
        do {
            let later = try UnicastSocket(.ipv4)
            bench.engine.resume()
            await bench.loop.eventually("another question") { welcomes().count >= 2 }
            #expect(welcomes().dropFirst().allSatisfy { !$0 })
            // Nor to a probe: another host that has the name would tell the wrong program.
            try bench.engine.advertise(ServiceRegistration(name: Array("Lamp".utf8), type: "_test._tcp", port: 1))
            let count = welcomes().count
            await bench.loop.eventually("probes") { welcomes().count >= count + 3 }
            #expect(welcomes().dropFirst().allSatisfy { !$0 })
            _ = later.rawValue
        }
        // A program that another test starts holds what is open until it is executed.
        await bench.loop.eventually("its end, and unicast answers as before") {
            bench.engine.resume()
            return welcomes().last == true
        }
    }
}

@Suite(.inNamespace) struct SocketRetryTests {
    @Test func `a socket that could not be opened is tried again, for a browse alone`() async throws {
        var settings = MulticastSettings()
        settings.socketRetry = .milliseconds(100)
        let bench = try EngineBench(families: [.ipv4], settings: settings, start: false)
        bench.responder.set(lamp.all)
        // No process of this network may join a group.
        try bench.wire.here.run(["sysctl", "-qw", "net.ipv4.igmp_max_memberships=0"])
        bench.engine.start()
        bench.browse(lamp.typeName)
        await bench.loop.eventually("three attempts") { bench.counted(\.socketFailures) >= 3 }
        let errors = bench.engine.counters.filter { $0.key.family == .ipv4 }.values.map(\.lastError)
        #expect(errors == [.noBufferSpace] && bench.responder.packets.isEmpty && bench.events.isEmpty)
        try bench.wire.here.run(["sysctl", "-qw", "net.ipv4.igmp_max_memberships=20"])
        await bench.loop.eventually("the service") { bench.services.count == 1 }
        let failures = bench.counted(\.socketFailures)
        await bench.loop.eventually("another question") { bench.responder.times(of: browseQuestion).count >= 2 }
        #expect(bench.counted(\.socketFailures) == failures)
    }
}

@Suite(.inNamespace) struct HostileTrafficTests {
    @Test func `responses from other ports, with errors or other operations, are ignored and counted`() async throws {
        let bench = try EngineBench(families: [.ipv4])
        bench.browse(lamp.typeName)
        for flags in [0x8403, 0x8C00, 0xA400] as [UInt16] {
            bench.responder.send(Message(flags: .init(rawValue: flags), answers: [lamp.pointer]))
        }
        await bench.loop.eventually { bench.counted(\.ignored) == 3 }
        let bytes = try #require(Message(flags: .response, answers: [lamp.pointer]).encoded())
        let script = """
            import socket, sys
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton('192.0.2.2'))
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            s.bind(('', int(sys.argv[2])))
            s.sendto(bytes.fromhex(sys.argv[1]), ('224.0.0.251', 5353))
            """
        let digits = bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        try bench.wire.peer.run(["python3", "-c", script, digits, "0"])
        await bench.loop.eventually { bench.counted(\.ignored) == 4 }
        #expect(bench.events.isEmpty && bench.counted(\.wrongPort) == 1 && bench.counted(\.wrongHopLimit) == 0)
        // From the right port it is read, although its TTL is 1 (rule Q17).
        try bench.wire.peer.run(["python3", "-c", script, digits, "5353"])
        await bench.loop.eventually { bench.summary == ["found Lamp"] }
        #expect(bench.counted(\.wrongPort) == 1 && bench.counted(\.wrongHopLimit) == 1)
    }

    @Test func `a message of nearly 9,000 bytes is read, a longer one is not`() async throws {
        let bench = try EngineBench(families: [.ipv4])
        bench.browse(lamp.typeName)
        let filler = { (count: Int) in
            ResourceRecord(lamp.hostName, .txt, .text([UInt8](repeating: 0, count: count)), timeToLive: 9)
        }
        bench.responder.announce([lamp.pointer, filler(8700)])
        await bench.loop.eventually { bench.summary == ["found Lamp"] }
        let long = try #require(Message(flags: .response, answers: [filler(8900)]).encoded())
        bench.responder.sendBytes(long + [UInt8](repeating: 0, count: 9100 - long.count))
        await bench.loop.eventually { bench.counted(\.malformed) == 1 }
    }

    @Test func `an unreadable NSEC record does not spoil its message`() async throws {
        let bench = try EngineBench(families: [.ipv4])
        bench.browse(lamp.typeName)
        let broken = ResourceRecord(lamp.hostName, .nsec, .opaque([0xC0]), timeToLive: 120, flushesCache: true)
        bench.responder.announce([broken, lamp.pointer, lamp.location, lamp.textRecord, lamp.addressRecord])
        await bench.loop.eventually { bench.summary == ["found Lamp", "resolved Lamp"] }
    }
}

@Suite(.inNamespace) struct DoubtTrafficTests {
    @Test(arguments: [true, false])
    func `a record in doubt is asked for twice, and goes unless it is confirmed`(isThere: Bool) async throws {
        let bench = try EngineBench(families: [.ipv4])
        bench.responder.announce(lamp.all)
        bench.browse(lamp.typeName)
        await bench.loop.eventually { bench.services.count == 1 }
        let question = Question(lamp.instance, .srv)
        if isThere { bench.responder.set([lamp.location]) }
        let start = KernelClock().boot
        bench.engine.reconfirm(lamp.location)
        await bench.loop.eventually { bench.responder.times(of: question).count >= (isThere ? 1 : 2) }
        guard !isThere else {
            // Confirmed, it is not asked for again: the next doubt brings the next question.
            #expect(bench.services.count == 1 && bench.responder.times(of: question).count == 1)
            return
        }
        await bench.loop.eventually(within: .seconds(60)) { bench.services.isEmpty }
        #expect(KernelClock().boot - start >= .seconds(10))
        #expect(bench.summary.last == "lost Lamp expired")
    }

    @Test func `what others query in vain goes after ten seconds, and two queries of ours`() async throws {
        let bench = try EngineBench(families: [.ipv4])
        bench.responder.announce(lamp.all)
        bench.browse(lamp.typeName)
        await bench.loop.eventually { bench.services.count == 1 }
        let received = KernelClock().boot
        let question = Question(lamp.instance, .srv)
        // Its owner must keep silent for a second after it spoke; what is asked then proves nothing.
        await bench.loop.eventually { KernelClock().boot - received > .milliseconds(1100) }
        bench.responder.send(Message(questions: [question]))
        let first = KernelClock().boot
        await bench.loop.eventually { KernelClock().boot - first > .milliseconds(150) }
        bench.responder.send(Message(questions: [question]))
        await bench.loop.eventually(within: .seconds(60)) { bench.services.isEmpty }
        #expect(KernelClock().boot - first >= .milliseconds(9900))
        #expect(bench.responder.times(of: question).count >= 2)
    }
}
