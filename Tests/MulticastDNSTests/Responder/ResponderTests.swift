// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import Testing

@testable import MulticastDNS

private let lamp = MadeUpService()
private let service = RecordSet.service(lamp)
private let host = RecordSet.host()

/// The records of the sets, addresses included, that are announced.
private let announced: Set<RecordType> = [.ptr, .srv, .txt, .a, .aaaa]

@Suite struct ResponderStartTests {
    @Test func `P1: probes, then announces, then is silent`() throws {
        var bench = ResponderBench()
        bench.publish(service)
        bench.publish(host)
        bench.run(to: 3600)
        #expect(bench.probes.count == 3 && bench.sent.prefix(3).allSatisfy { $0.isProbe })
        #expect(bench.responses.count == Announcer.announcements)
        let lastProbe = try #require(bench.probes.last?.seconds)
        let first = try #require(bench.responses.first?.seconds)
        #expect(isAbout(first, lastProbe + 0.25))
        #expect(bench.events == [.established(host.id), .established(service.id)])
        #expect(bench.responder.nextDeadline == nil)
    }

    @Test func `P3, P4: one message probes for all names, with all their records`() throws {
        var bench = ResponderBench()
        bench.publish(service)
        bench.publish(host)
        bench.run(to: 1)
        for probe in bench.probes {
            #expect(Set(probe.message.questions.map(\.name)) == [lamp.instance, lamp.hostName])
            #expect(probe.message.questions.allSatisfy { $0.type == .any })
            #expect(Set(probe.message.authorities.map(\.type)) == [.srv, .txt, .a, .aaaa])
            #expect(probe.destination == .group)
        }
    }

    @Test(arguments: [true, false])
    func `Q19: probes ask for unicast answers only when these would reach us`(welcome: Bool) {
        var bench = ResponderBench()
        bench.responder.welcomesUnicast = welcome
        bench.publish(service)
        bench.run(to: 1)
        #expect(bench.probes.flatMap(\.message.questions).allSatisfy { $0.wantsUnicast == welcome })
    }

    @Test func `P9, P10: announces everything, unique records with the cache-flush bit`() throws {
        var bench = ResponderBench()
        bench.publish(service)
        bench.publish(host)
        bench.run(to: 60)
        for response in bench.responses {
            #expect(Set(response.message.answers.map(\.type)) == announced)
            for record in response.records { #expect(record.flushesCache == (record.type != .ptr)) }
        }
        let times = bench.responses.map(\.seconds)
        #expect(isAbout(times[1] - times[0], 1) && isAbout(times[2] - times[1], 2))
    }

    @Test func `A1: says nothing about names that are not its own yet`() {
        var bench = ResponderBench()
        bench.publish(service)
        bench.publish(host)
        bench.run(to: 0.6)
        bench.ask(ask("_test._tcp.local", .ptr), ask("lamp.local", .a), ask("Lamp._test._tcp.local", .srv))
        bench.run(to: 0.7)
        #expect(bench.responses.isEmpty)
    }

    @Test func `shared records alone need no probe`() {
        var set = RecordSet(id: .init(rawValue: 5))
        set.shared = [lamp.pointer]
        var bench = ResponderBench()
        bench.publish(set)
        #expect(bench.probes.isEmpty && bench.responses.count == 1 && bench.events == [.established(set.id)])
    }

    @Test func `publishing the same again does nothing`() {
        var bench = ResponderBench(established: service)
        bench.publish(service)
        bench.run(to: 120)
        #expect(bench.sent.isEmpty && bench.events.isEmpty)
    }

    @Test func `a second set with a name of the first is refused at once`() {
        var bench = ResponderBench(established: service)
        bench.publish(.service(lamp, id: 2))
        bench.run(to: 61)
        #expect(bench.events == [.conflict(.init(rawValue: 2), name: lamp.instance)] && bench.sent.isEmpty)
        bench.withdraw(.service(lamp, id: 2))
        bench.ask(ask("Lamp._test._tcp.local", .srv))
        #expect(bench.answers.map(\.type) == [.srv])
    }

    @Test func `P1: after link up or wake it probes and announces everything again`() {
        var bench = ResponderBench(established: service, host)
        bench.responder.restart(at: bench.now)
        bench.ask(ask("lamp.local", .a))
        #expect(bench.responses.isEmpty, "answered for what is being probed for")
        bench.run(for: 60)
        #expect(bench.probes.count == 3 && bench.responses.count == 3)
        #expect(Set(bench.answers.map(\.type)) == announced && bench.events.count == 2)
    }

    @Test func `Q21: names are published on IPv6 just as on IPv4, with the addresses of both`() {
        var bench = ResponderBench(.ipv6, own: [ResponderBench.ownAddress6], other: [ResponderBench.ownAddress])
        bench.publish(host)
        bench.run(to: 2)
        #expect(Set(bench.answers.map(\.type)) == [.a, .aaaa] && bench.probes.count == 3)
    }
}

@Suite struct ResponderChangeTests {
    @Test func `P11: changed data is announced at once, with the cache-flush bit, and not probed for`() throws {
        var bench = ResponderBench(established: service, host)
        bench.update(.service(MadeUpService(text: ["a=2"])))
        #expect(bench.responses.count == 1 && bench.probes.isEmpty)
        let text = try #require(bench.answers.first { $0.type == .txt })
        #expect(text.data == .text([3] + Array("a=2".utf8)) && text.flushesCache && text.timeToLive == 4500)
        bench.run(for: 60)
        #expect(bench.responses.count == 3)
    }

    @Test func `P11: shared data that changed gets a goodbye`() {
        let old = RecordSet.service(lamp, subtype: "_dim")
        var bench = ResponderBench(established: old)
        bench.update(.service(lamp, subtype: "_bright"))
        let goodbyes = bench.answers.filter { $0.timeToLive == 0 }
        #expect(goodbyes.map(\.name) == [DomainName("_dim._sub._test._tcp.local")])
        #expect(bench.answers.contains { $0.name == DomainName("_bright._sub._test._tcp.local") && $0.timeToLive > 0 })
    }

    @Test func `P11: a burst of changes is announced twice, first and last, but answers are true at once`() throws {
        var bench = ResponderBench(established: service)
        for index in 1...50 {
            bench.update(.service(MadeUpService(text: ["n=\(index)"])))
            bench.run(for: 0.01)
        }
        let texts = bench.responses.filter { packet in packet.message.answers.contains { $0.type == .txt } }
        #expect(texts.count == 1)
        var passive = bench
        passive.run(for: 0.51)
        #expect(passive.answers.last { $0.type == .txt }?.data == .text([4] + Array("n=50".utf8)))
        bench.ask(ask("Lamp._test._tcp.local", .txt))
        bench.run(for: 1.1)
        #expect(bench.answers.last { $0.type == .txt }?.data == .text([4] + Array("n=50".utf8)))
        bench.forget()
        bench.run(for: 120)
        #expect(bench.answers.contains { $0.data == .text([4] + Array("n=50".utf8)) }, "the last was never announced")
    }

    @Test func `a change while probing goes into the next probe`() throws {
        var bench = ResponderBench()
        bench.publish(service)
        bench.run(to: 0.3)
        bench.update(.service(MadeUpService(text: ["a=2"])))
        bench.run(to: 0.8)
        let last = try #require(bench.probes.last)
        #expect(last.message.authorities.contains { $0.data == .text([3] + Array("a=2".utf8)) })
        #expect(bench.probes.count == 3)
    }

    @Test func `A12: a new address is announced with those that stay, and an old one is answered with no more`() {
        var bench = ResponderBench(established: host)
        let new = IPAddress.v4(0xC000_0263)
        bench.responder.setAddresses([ResponderBench.ownAddress, new], ofOtherFamily: [], at: bench.now)
        bench.act()
        let live = bench.answers.filter { $0.timeToLive > 0 }
        #expect(Set(live.map(\.data)) == [.address(ResponderBench.ownAddress), .address(new)])
        // The family that is gone gets a goodbye, for no new record flushes it.
        #expect(bench.answers.filter { $0.timeToLive == 0 }.map(\.type) == [.aaaa])
        bench.responder.setAddresses([new], ofOtherFamily: [], at: bench.now)
        bench.run(for: 2)
        bench.forget()
        bench.ask(ask("lamp.local", .a))
        bench.run(for: 2)
        #expect(Set(bench.answers.map(\.data)) == [.address(new)])
    }

    @Test func `the same addresses again change nothing`() {
        var bench = ResponderBench(established: host)
        bench.responder.setAddresses(
            [ResponderBench.ownAddress],
            ofOtherFamily: [ResponderBench.ownAddress6],
            elsewhere: [.v4(1)],
            at: bench.now
        )
        bench.run(for: 10)
        #expect(bench.sent.isEmpty)
    }

    @Test func `P12: a set with another name says goodbye to the old one, probes and announces`() {
        var bench = ResponderBench(established: service)
        bench.publish(.service(MadeUpService(name: "Lamp (2)")))
        let goodbyes = bench.answers
        #expect(goodbyes.allSatisfy { $0.timeToLive == 0 } && Set(goodbyes.map(\.type)) == [.ptr, .srv, .txt])
        #expect(!goodbyes.contains { $0.name == ServiceName.enumeration })
        bench.run(for: 10)
        #expect(bench.probes.count == 3 && bench.events == [.established(service.id)])
        bench.forget()
        bench.ask(ask("Lamp._test._tcp.local", .srv))
        bench.run(for: 1)
        #expect(bench.sent.isEmpty)
    }
}

@Suite struct ResponderGoodbyeTests {
    @Test func `P14: goodbye to everything but the shared enumeration, at once`() {
        var bench = ResponderBench(established: service, host)
        bench.withdraw(service)
        bench.withdraw(host)
        #expect(bench.answers.allSatisfy { $0.timeToLive == 0 })
        #expect(Set(bench.answers.map(\.type)) == [.ptr, .srv, .txt, .a, .aaaa])
        #expect(!bench.answers.contains { $0.name == ServiceName.enumeration || $0.type == .nsec })
        #expect(bench.sent.allSatisfy { $0.destination == .group && $0.message.id == 0 })
        bench.run(for: 3600)
        #expect(bench.responses.allSatisfy { $0.isGoodbye } && bench.responder.nextDeadline == nil)
    }

    @Test func `P14: what a service shares with another one stays`() {
        let other = RecordSet.service(MadeUpService(name: "Other"), id: 2)
        var bench = ResponderBench(established: service, other)
        bench.withdraw(service)
        bench.forget()
        bench.ask(ask("_services._dns-sd._udp.local", .ptr))
        bench.ask(ask("_test._tcp.local", .ptr))
        bench.run(for: 1)
        #expect(bench.answers.filter { $0.type == .ptr }.count == 2)
    }

    @Test func `what nobody heard of gets no goodbye`() {
        var bench = ResponderBench()
        bench.publish(service)
        bench.run(to: 0.5)
        bench.withdraw(service)
        bench.run(to: 10)
        #expect(bench.responses.isEmpty)
    }

    @Test func `what was announced and is being probed for again gets one`() {
        var bench = ResponderBench(established: service)
        bench.responder.restart(at: bench.now)
        bench.withdraw(service)
        #expect(Set(bench.answers.map(\.type)) == [.ptr, .srv, .txt] && bench.responses.allSatisfy { $0.isGoodbye })
    }

    @Test func `nothing that was planned waits for the next set`() {
        var bench = ResponderBench(established: service)
        bench.ask(ask("_test._tcp.local", .ptr))
        bench.hear(Message(flags: .truncated, questions: [ask("_test._tcp.local", .ptr)]))
        bench.withdraw(service)
        #expect(bench.responder.nextDeadline == nil && bench.responder.replies.isEmpty)
        #expect(bench.responder.truncated.nextDeadline == nil && bench.responder.queue.count == 0)
    }

    @Test func `planned answers do not outlive their records`() {
        var bench = ResponderBench(established: service)
        bench.ask(ask("_test._tcp.local", .ptr))
        bench.withdraw(service)
        bench.run(for: 10)
        #expect(bench.responses.allSatisfy { $0.isGoodbye })
    }
}
