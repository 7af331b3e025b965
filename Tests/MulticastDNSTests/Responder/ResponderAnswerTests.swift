// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import Testing

@testable import MulticastDNS

private let lamp = MadeUpService()
private let service = RecordSet.service(lamp, subtype: "_bright")
private let host = RecordSet.host()
private let pointer = ask("_test._tcp.local", .ptr)
private let location = ask("Lamp._test._tcp.local", .srv)

private func unicast(_ question: Question) -> Question {
    Question(question.name, question.type, wantsUnicast: true)
}

/// A responder with a service and its host.
private func bench(seed: UInt64 = 3, quietFor seconds: Double = 60) -> ResponderBench {
    var bench = ResponderBench(established: service, host, seed: seed)
    bench.run(for: seconds - 60)
    return bench
}

@Suite struct ResponderAnswerTests {
    @Test func `A2: a unique answer to a single question goes at once`() {
        for question in [location, ask("lamp.local", .a), ask("lamp.local", .any), ask("lamp.local", .srv)] {
            var bench = bench()
            let before = bench.seconds
            bench.ask(question)
            #expect(bench.responses.map(\.seconds) == [before], "\(question)")
        }
    }

    @Test(arguments: 1...20)
    func `A2: a shared answer is delayed by 20 to 120 ms`(seed: UInt64) throws {
        var bench = bench(seed: seed)
        bench.ask(pointer)
        bench.run(for: 1)
        let delay = try #require(bench.responses.first).seconds - 60
        #expect((0.020...0.120).contains(delay) && bench.responses.count == 1)
    }

    @Test func `A2: so are all answers to several questions`() throws {
        var bench = bench()
        bench.ask(location, ask("lamp.local", .a))
        #expect(bench.responses.isEmpty)
        bench.run(for: 1)
        #expect(bench.responses.count == 1 && (0.020...0.120).contains(bench.responses[0].seconds - 60))
    }

    @Test func `A9: every question of a message is answered`() {
        var bench = bench()
        bench.ask(location, ask("nobody.local", .a), pointer, ask("lamp.local", .srv), ask("lamp.local", .aaaa))
        bench.run(for: 1)
        #expect(Set(bench.answers.map(\.type)) == [.srv, .ptr, .nsec, .aaaa])
    }

    @Test func `A1: a question about others is not answered`() {
        var bench = bench()
        bench.hear(records: [MadeUpService(name: "Other").pointer, MadeUpService(name: "Other").location])
        bench.ask(ask("Other._test._tcp.local", .srv), ask("_other._tcp.local", .ptr))
        bench.run(for: 1)
        #expect(bench.sent.isEmpty)
        bench.ask(pointer)
        bench.run(for: 1)
        #expect(bench.answers.map(\.data) == [lamp.pointer.data], "answered with what another host said")
    }

    @Test func `D10: who asks for instances learns all about them`() throws {
        var bench = bench()
        bench.ask(pointer)
        bench.run(for: 1)
        let response = try #require(bench.responses.first).message
        #expect(response.answers.map(\.type) == [.ptr])
        #expect(response.additionals.map(\.type) == [.srv, .txt, .a, .aaaa])
    }

    @Test func `N8: a subtype is a way to the same instance`() throws {
        var bench = bench()
        bench.ask(ask("_bright._sub._test._tcp.local", .ptr))
        bench.run(for: 1)
        #expect(bench.answers.map(\.data) == [.pointer(lamp.instance)])
    }

    @Test func `A17: answers go to the group, whoever asks`() {
        var bench = bench()
        bench.ask(pointer)
        bench.ask(location)
        bench.run(for: 1)
        #expect(
            bench.sent.allSatisfy { $0.destination == .group && $0.message.id == 0 && $0.message.questions.isEmpty }
        )
    }

    @Test func `A5: what the asker knows is not sent, and an answer of which nothing is left is not given`() {
        var bench = bench()
        bench.ask(pointer, knowing: [lamp.pointer])
        bench.run(for: 1)
        #expect(bench.sent.isEmpty)
        var stale = lamp.pointer
        stale.timeToLive = 2249
        bench.ask(pointer, knowing: [stale])
        bench.run(for: 1)
        #expect(bench.answers.count == 1)
    }

    @Test func `A5, A19: of several addresses all are sent unless all are known`() {
        let addresses = [ResponderBench.ownAddress, .v4(0xC000_0299)]
        var bench = ResponderBench(own: addresses, other: [])
        bench.publish(host)
        bench.run(to: 60)
        bench.forget()
        let records = addresses.map { MadeUpService(address: $0).addressRecord }
        bench.ask(ask("lamp.local", .a), knowing: records)
        bench.run(for: 2)
        #expect(bench.sent.isEmpty)
        bench.ask(ask("lamp.local", .a), knowing: [records[0]])
        #expect(Set(bench.answers.map(\.data)) == Set(records.map(\.data)))
    }

    @Test(arguments: [0.1, 0.5, 0.9])
    func `A6: however often it is asked, a record is multicast once a second`(pause: Double) {
        var bench = bench()
        for _ in 0..<Int(10 / pause) {
            bench.ask(pointer)
            bench.ask(location)
            bench.run(for: pause)
        }
        for type in [RecordType.ptr, .srv, .txt, .a] {
            let times = bench.responses.filter { $0.records.contains { $0.type == type } }.map(\.seconds)
            #expect(times.count >= 4)
            for (earlier, later) in zip(times, times.dropFirst()) { #expect(later - earlier > 0.9995, "\(type)") }
        }
    }

    @Test func `A6: an answer that waits is not said again when it came along with another`() {
        var bench = bench()
        bench.ask(ask("lamp.local", .a), ask("lamp.local", .aaaa))
        bench.ask(location)
        bench.run(for: 5)
        #expect(bench.responses.map(\.seconds) == [60])
        #expect(bench.responses[0].records.map(\.type) == [.srv, .a, .aaaa])
    }

    @Test func `A6: one that may not have fitted beside the other follows a second later`() throws {
        let addresses = (1...40).map { IPAddress.v4(0xC000_0200 + $0) }
        var bench = ResponderBench(limit: 512, own: addresses)
        bench.publish(service)
        bench.publish(host)
        bench.run(to: 60)
        bench.forget()
        bench.ask(ask("lamp.local", .a), ask("lamp.local", .aaaa))
        bench.ask(location)
        bench.run(for: 5)
        #expect(Set(bench.answers.filter { $0.type == .a }.map(\.data)) == Set(addresses.map { .address($0) }))
        let first = try #require(bench.responses.first { $0.message.answers.contains { $0.type == .a } })
        #expect(first.seconds == 61)
    }

    @Test func `A6: a record that was multicast as an additional one counts too`() throws {
        var bench = bench()
        bench.ask(pointer)
        bench.run(for: 0.2)
        let first = try #require(bench.responses.first?.seconds)
        bench.ask(location)
        bench.run(for: 2)
        #expect(bench.responses.count == 2 && isAbout(bench.responses[1].seconds, first + 1))
    }

    @Test func `A8: the answers to several askers share a packet`() {
        var bench = bench()
        bench.ask(pointer)
        bench.ask(ask("_bright._sub._test._tcp.local", .ptr), from: .v4(10))
        bench.ask(ask("_services._dns-sd._udp.local", .ptr), from: .v4(11))
        bench.run(for: 1)
        #expect(bench.responses.count == 1 && bench.answers.count == 3)
    }

    @Test func `A7: an answer that another host just gave is not repeated`() {
        var bench = bench()
        bench.ask(ask("_services._dns-sd._udp.local", .ptr))
        bench.hear(records: [lamp.enumeration])
        bench.run(for: 1)
        #expect(bench.sent.isEmpty)
    }

    @Test func `A7: but it is when the other's lives shorter`() {
        var bench = bench()
        var shorter = lamp.enumeration
        shorter.timeToLive = 4499
        bench.ask(ask("_services._dns-sd._udp.local", .ptr))
        bench.hear(records: [shorter])
        bench.run(for: 1)
        #expect(bench.answers.count == 1)
    }

    @Test(arguments: [(UInt32(2249), 1), (0, 1), (2250, 0), (4500, 0), (9000, 0)])
    func `A16: a copy that dies early is corrected`(lifetime: UInt32, corrections: Int) {
        var bench = bench()
        var copy = lamp.pointer
        copy.timeToLive = lifetime
        bench.hear(records: [copy])
        bench.run(for: 10)
        #expect(bench.answers.filter { $0 == lamp.pointer }.count == corrections)
    }

    @Test func `A16, A6: a storm of false goodbyes costs one packet a second`() {
        var bench = bench()
        var goodbye = lamp.pointer
        goodbye.timeToLive = 0
        for _ in 0..<500 {
            bench.hear(records: [goodbye])
            bench.run(for: 0.01)
        }
        #expect((4...6).contains(bench.responses.count))
    }

    @Test(arguments: [(3, 0), (2, 1)])
    func `A3, A4: a truncated query is answered after half a second, less what followed`(listed: Int, answers: Int) {
        let services = (1...3).map { MadeUpService(name: "Lamp \($0)") }
        var bench = ResponderBench()
        for (index, service) in services.enumerated() { bench.publish(.service(service, id: index)) }
        bench.run(to: 60)
        bench.forget()
        let known = services.map(\.pointer)
        bench.hear(Message(flags: .truncated, questions: [pointer], answers: [known[0]]))
        bench.run(for: 0.3)
        bench.hear(Message(flags: .truncated, answers: [known[1]]))
        if listed == 3 { bench.hear(Message(answers: [known[2]])) }
        bench.run(for: 0.39)
        #expect(bench.sent.isEmpty, "answered too early")
        bench.run(for: 1)
        #expect(bench.answers.filter { $0.type == .ptr }.map(\.data) == known.suffix(answers).map(\.data))
        if let first = bench.responses.first { #expect((60.7...60.81).contains(first.seconds)) }
    }

    @Test func `C11: known answers without a question, from anybody, are nothing to remember`() {
        var bench = bench()
        for index in 0..<1000 {
            bench.hear(Message(flags: .truncated, answers: [lamp.pointer]), from: .v4(UInt32(index)))
        }
        #expect(bench.responder.nextDeadline == nil)
    }

    @Test func `F6: a thousand services are told of in packets that fit`() {
        var bench = ResponderBench()
        for index in 0..<200 { bench.publish(.service(MadeUpService(name: "Lamp \(index)"), id: index)) }
        bench.run(to: 60)
        #expect(bench.sent.allSatisfy { $0.length <= 1472 })
        bench.forget()
        bench.ask(pointer)
        bench.run(for: 1)
        #expect(bench.answers.count == 200 && bench.responses.flatMap(\.message.additionals).count >= 400)
        #expect(bench.sent.allSatisfy { $0.length <= 1472 })
    }
}

@Suite struct ResponderUnicastTests {
    private let asker = OutgoingPacket.Destination.host(ResponderBench.stranger, port: 5353)

    @Test func `A13: who welcomes unicast gets it`() throws {
        var bench = bench()
        bench.ask(location)
        bench.forget()
        bench.hear(Message(id: 7, questions: [unicast(location)]))
        let response = try #require(bench.responses.first)
        #expect(bench.responses.count == 1 && response.destination == asker)
        #expect(response.message.id == 7 && response.message.questions.isEmpty)
        #expect(response.message.answers.map(\.type) == [.srv] && response.message.answers[0].flushesCache)
    }

    @Test(arguments: [(29.0, true), (31.0, false)])
    func `A13: but all do when the record was not multicast for a quarter of its lifetime`(
        quiet: Double,
        isUnicast: Bool
    ) throws {
        // An SRV record lives 120 s; the last announcement was at about 4 s.
        var bench = bench()
        bench.ask(location)
        bench.run(for: quiet)
        bench.forget()
        bench.ask(unicast(location))
        let response = try #require(bench.responses.first)
        #expect(response.destination == (isUnicast ? asker : .group))
    }

    @Test(arguments: [[], .truncated] as [Message.Flags])
    func `A13: a source on another link is answered by multicast, though more of its query may follow`(
        flags: Message.Flags
    ) {
        var bench = bench()
        let query = Message(flags: flags, questions: [unicast(pointer)])
        bench.hear(query, from: .v4(0x0808_0808), onLink: false)
        bench.run(for: 1)
        #expect(bench.responses.map(\.destination) == [.group])
    }

    @Test func `A13: a question that is asked by both ways is answered by multicast`() {
        var bench = bench()
        bench.ask(unicast(pointer), pointer)
        bench.run(for: 1)
        #expect(bench.responses.map(\.destination) == [.group])
    }

    @Test func `A14: a question that comes by unicast is answered so`() {
        var bench = bench()
        bench.hear(Message(questions: [pointer]), multicast: false)
        bench.run(for: 1)
        #expect(bench.responses.map(\.destination) == [asker])
    }

    @Test(arguments: [UInt16(5353), 40000])
    func `A14: but not when it comes from another link`(port: UInt16) {
        var bench = bench()
        let source = IPAddress.v4(0x0808_0808)
        bench.hear(Message(questions: [pointer]), from: source, port: port, multicast: false, onLink: false)
        bench.run(for: 2)
        #expect(bench.sent.isEmpty)
    }

    @Test func `A15: a plain resolver gets an answer of its own kind`() throws {
        var bench = bench()
        bench.hear(Message(id: 4711, questions: [location]), port: 40000)
        let response = try #require(bench.responses.first)
        #expect(response.destination == .host(ResponderBench.stranger, port: 40000))
        #expect(response.message.id == 4711 && response.message.questions == [location])
        #expect(response.records.allSatisfy { $0.timeToLive <= 10 && !$0.flushesCache })
        #expect(response.message.additionals.map(\.type) == [.a, .aaaa])
        bench.run(for: 2)
        #expect(bench.sent.count == 1, "a plain resolver's question was answered to all as well")
    }

    @Test func `A15: a plain resolver on another link gets none, even by way of the group`() {
        var bench = bench()
        bench.hear(Message(questions: [location]), from: .v4(0x0808_0808), port: 40000, onLink: false)
        bench.run(for: 2)
        #expect(bench.sent.isEmpty)
    }

    @Test func `A15: what a plain resolver says it knows does not matter, nor does its truncation bit`() {
        var bench = bench()
        bench.hear(Message(flags: .truncated, questions: [location], answers: [lamp.location]), port: 40000)
        #expect(bench.responses.count == 1)
    }

    @Test func `a packet from port 0 cannot be answered`() {
        var bench = bench()
        bench.hear(Message(questions: [location]), port: 0)
        bench.run(for: 2)
        #expect(bench.sent.isEmpty)
    }

    @Test func `no amplification: forged questions get few answers by unicast`() {
        var bench = bench()
        for index in 0..<10_000 {
            bench.hear(Message(questions: [location]), from: .v4(UInt32(index)), port: 40000)
            if index % 10 == 0 { bench.run(for: 0.001) }
        }
        // In one second: fifty at once, and fifty more.
        #expect(bench.sent.count <= 101 && bench.responder.replies.count <= Responder.maximumReplies)
    }

    @Test func `who asked too often by unicast is answered by multicast, which has its own limit`() {
        var bench = bench()
        for _ in 0..<200 { bench.ask(unicast(location)) }
        bench.run(for: 0.9)
        let direct = bench.responses.filter { $0.destination == asker }
        #expect(direct.count == 10 && bench.responses.count == 11)
    }
}

@Suite struct ResponderDefenceTests {
    private var theirs: ResourceRecord { MadeUpService(port: 99).location }

    private func probe(_ question: Question = ask("Lamp._test._tcp.local", .any)) -> Message {
        Message(questions: [question], authorities: [theirs])
    }

    @Test func `A20: a probe for a name of ours is answered at once, with all there is`() {
        var bench = bench()
        let before = bench.seconds
        bench.hear(probe())
        #expect(bench.responses.map(\.seconds) == [before] && Set(bench.answers.map(\.type)) == [.srv, .txt])
        #expect(bench.events.isEmpty)
    }

    @Test func `A20: also among other questions`() {
        var bench = bench()
        bench.hear(Message(questions: [pointer, ask("Lamp._test._tcp.local", .any)], authorities: [theirs]))
        #expect(Set(bench.answers.map(\.type)) == [.srv, .txt])
        bench.run(for: 1)
        #expect(bench.answers.contains { $0.type == .ptr })
    }

    @Test func `A6: a defence need not wait a second, but 250 ms`() throws {
        var bench = bench()
        bench.hear(probe())
        bench.run(for: 0.1)
        bench.hear(probe())
        bench.run(for: 0.1)
        bench.hear(probe())
        bench.run(for: 2)
        let times = bench.responses.map(\.seconds)
        #expect(times.count == 2 && isAbout(times[1] - times[0], 0.25))
    }

    @Test func `A13: a first defence may go by unicast; who probes on did not hear it, and all do`() {
        var bench = bench()
        let question = ask("Lamp._test._tcp.local", .any, unicast: true)
        bench.ask(location)
        bench.run(for: 2)
        bench.forget()
        bench.hear(probe(question))
        bench.run(for: 0.25)
        bench.hear(probe(question))
        #expect(bench.responses.map { $0.destination == .group } == [false, true])
    }
}
