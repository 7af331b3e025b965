// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import TestSupport
import Testing

@testable import MulticastDNS

private let lamp = MadeUpService()
private let service = RecordSet.service(lamp)
private let host = RecordSet.host()
private let ours = ResponderBench.ownAddress

private func address(_ address: IPAddress, lifetime: UInt32 = 120) -> ResourceRecord {
    MadeUpService(address: address, lifetime: lifetime).addressRecord
}

/// A responder that has sent its first probe.
private func probing(_ set: RecordSet) -> ResponderBench {
    var bench = ResponderBench()
    bench.publish(set)
    bench.run(to: 0.251)
    #expect(!bench.probes.isEmpty)
    return bench
}

@Suite struct ResponderProbingConflictTests {
    @Test(
        arguments: [
            MadeUpService(port: 81).location, MadeUpService(text: ["b=2"]).textRecord,
            MadeUpService(host: "else.local").location,
            ResourceRecord(lamp.instance, .hinfo, .hostInformation(cpu: [], system: []), timeToLive: 120),
            ResourceRecord(lamp.instance, .a, .address(.v4(1)), timeToLive: 120),
        ]
    )
    func `P5: any record of the name in a response is a conflict`(record: ResourceRecord) {
        var bench = probing(service)
        bench.hear(records: [record])
        #expect(bench.events == [.conflict(service.id, name: lamp.instance)])
        bench.forget()
        bench.run(to: 60)
        #expect(bench.sent.isEmpty, "went on with a name that is another's")
    }

    @Test func `P5: in the additional section too`() {
        var bench = probing(service)
        let other = MadeUpService(port: 81)
        bench.hear(
            Message(flags: [.response, .authoritative], answers: [other.pointer], additionals: [other.location])
        )
        #expect(bench.events.count == 1)
    }

    @Test func `P5: what was said before the first probe does not count`() {
        var bench = ResponderBench()
        bench.publish(service)
        #expect(bench.probes.isEmpty)
        bench.hear(records: [MadeUpService(port: 81).location])
        bench.run(to: 10)
        #expect(bench.events == [.established(service.id)])
    }

    @Test(
        arguments: [
            lamp.location, lamp.textRecord, lamp.pointer, MadeUpService(name: "Other", port: 81).location,
            MadeUpService(lifetime: 0).location, MadeUpService(port: 81, lifetime: 0).location,
        ]
    )
    func `P13: the same data, other names and goodbyes are no conflict`(record: ResourceRecord) {
        var bench = probing(service)
        bench.hear(records: [record])
        bench.run(to: 10)
        #expect(bench.events == [.established(service.id)])
    }

    @Test func `P13: addresses of another interface of this machine are no conflict`() {
        let elsewhere = IPAddress.v4(0x0A00_0001)
        for (known, isConflict) in [(Set([elsewhere]), false), ([], true)] {
            var bench = ResponderBench()
            bench.responder.setAddresses(
                [ours],
                ofOtherFamily: [ResponderBench.ownAddress6],
                elsewhere: known,
                at: bench.now
            )
            bench.publish(host)
            bench.run(to: 0.3)
            bench.hear(records: [address(elsewhere)])
            #expect(bench.events.isEmpty != isConflict)
        }
    }

    @Test func `F9: a record of another class is none of our business`() {
        var bench = probing(service)
        var record = MadeUpService(port: 81).location
        record.classCode = 3
        bench.hear(records: [record])
        bench.run(to: 10)
        #expect(bench.events == [.established(service.id)])
    }

    @Test(arguments: [(true, true, true), (true, false, false), (false, true, false)])
    func `Q15: an answer by unicast counts when it was welcome and comes from this link`(
        welcome: Bool,
        onLink: Bool,
        counts: Bool
    ) {
        var bench = ResponderBench()
        bench.responder.welcomesUnicast = welcome
        bench.publish(service)
        bench.run(to: 0.251)
        let answer = Message(flags: [.response, .authoritative], answers: [MadeUpService(port: 81).location])
        bench.hear(answer, multicast: false, onLink: onLink)
        #expect(bench.events.isEmpty != counts)
    }

    @Test func `P12: a set that lost goes on with another name`() {
        var bench = probing(service)
        bench.hear(records: [MadeUpService(port: 81).location])
        bench.forget()
        bench.publish(.service(MadeUpService(name: "Lamp (2)")))
        bench.run(to: 10)
        #expect(bench.events == [.established(service.id)] && bench.probes.count == 3)
        #expect(bench.responses.allSatisfy { !$0.isGoodbye }, "said goodbye to another host's name")
    }

    @Test func `P8: a link full of conflicts is not flooded with probes`() {
        var bench = ResponderBench()
        var name = 1
        bench.publish(service)
        // Somebody answers every single probe.
        for _ in 0..<6000 {
            bench.run(for: 0.01)
            guard bench.responder.prober.hasProbed(service.id) else { continue }
            bench.hear(records: [MadeUpService(name: name == 1 ? "Lamp" : "Lamp (\(name))", port: 81).location])
            name += 1
            bench.publish(.service(MadeUpService(name: "Lamp (\(name))")))
        }
        let late = bench.probes.map(\.seconds).filter { $0 > 20 }
        for (earlier, later) in zip(late, late.dropFirst()) { #expect(later - earlier >= 4.99) }
        #expect(bench.probes.count < 15 + 60 / 5 + 5)
    }
}

@Suite(.computing) struct ResponderTiebreakTests {
    /// A probe for our host name with another address.
    private func probe(_ addresses: IPAddress...) -> Message {
        let question = ask("lamp.local", .any)
        return Message(questions: [question], authorities: addresses.map { address($0) })
    }

    private func bench(_ limit: Double) -> ResponderBench {
        var bench = ResponderBench(own: [ours], other: [])
        bench.publish(host)
        bench.run(to: limit)
        return bench
    }

    @Test(arguments: [0.0, 0.3])
    func `P7: the loser of a simultaneous probe waits a second, then probes with the same name`(after: Double) throws {
        var bench = bench(after)
        let before = bench.seconds
        bench.forget()
        bench.hear(probe(.v4(0xC000_02FE)))
        bench.run(to: 20)
        let first = try #require(bench.probes.first)
        #expect(bench.probes.count == 3 && isAbout(first.seconds, before + 1))
        #expect(bench.events == [.established(host.id)])
    }

    @Test func `P6: the winner goes on`() {
        var bench = bench(0.3)
        bench.hear(probe(.v4(0xC000_0200)))
        bench.run(to: 1.01)
        #expect(bench.events == [.established(host.id)])
    }

    @Test func `P6: equal records are no conflict: it is our own probe that came back`() {
        var bench = bench(0.3)
        bench.hear(probe(ours))
        bench.run(to: 1.01)
        #expect(bench.events == [.established(host.id)])
    }

    @Test func `P13: nor is the probe of our other interface on a bridged link`() {
        var bench = bench(0.3)
        let elsewhere = IPAddress.v4(0xC000_02FE)
        bench.responder.setAddresses([ours], ofOtherFamily: [], elsewhere: [elsewhere], at: bench.now)
        bench.hear(probe(elsewhere))
        bench.run(to: 1.01)
        #expect(bench.events == [.established(host.id)])
    }

    @Test func `P7: what the winner announces while we wait is a conflict`() {
        var bench = bench(0.3)
        bench.hear(probe(.v4(0xC000_02FE)))
        bench.run(to: 0.8)
        bench.hear(records: [address(.v4(0xC000_02FE))])
        #expect(bench.events == [.conflict(host.id, name: lamp.hostName)])
    }

    @Test func `all who win a tiebreak get a name before us, and so does who has it already`() {
        var bench = bench(0.3)
        for last in [0xFC, 0xFD, 0xFC, 0x01] as [UInt32] { bench.hear(probe(.v4(0xC000_0200 + last))) }
        var other = bench
        bench.hear(records: [address(.v4(0xC000_02FD))])
        #expect(bench.events == [.conflict(host.id, name: lamp.hostName, rivals: 2)])
        other.hear(records: [address(.v4(0xC000_0203))])
        #expect(other.events == [.conflict(host.id, name: lamp.hostName, rivals: 3)])
    }

    @Test func `P7: the other host has the name after all: its answer to our second attempt is a conflict`() {
        var bench = bench(0.3)
        bench.hear(probe(.v4(0xC000_02FE)))
        bench.run(to: 1.35)
        bench.hear(records: [address(.v4(0xC000_02FE))])
        #expect(bench.events == [.conflict(host.id, name: lamp.hostName)])
    }

    @Test func `P6: two responders that start at once never both keep the name, and one always does`() {
        for seed in 1...40 as ClosedRange<UInt64> {
            var left = ResponderBench(seed: seed, own: [ours], other: [])
            var right = ResponderBench(seed: seed * 77, own: [.v4(0xC000_0202)], other: [])
            left.publish(host)
            right.publish(host)
            for _ in 0..<800 {
                left.run(for: 0.005)
                right.run(for: 0.005)
                let (fromLeft, fromRight) = (left.sent, right.sent)
                let (leftEvents, rightEvents) = (left.events, right.events)
                left.forgetPackets()
                right.forgetPackets()
                for packet in fromLeft { right.hear(packet.message, from: ours) }
                for packet in fromRight { left.hear(packet.message, from: .v4(0xC000_0202)) }
                #expect(leftEvents.count <= 1 && rightEvents.count <= 1)
            }
            let outcomes = [left.events, right.events].map { $0.contains(.established(host.id)) }
            #expect(outcomes.count { $0 } == 1, "seed \(seed): \(left.events) \(right.events)")
        }
    }
}

@Suite struct ResponderEstablishedConflictTests {
    @Test func `P12: a conflicting record sends a unique name back to probing, silently`() {
        var bench = ResponderBench(established: service)
        bench.hear(records: [MadeUpService(port: 81).location])
        bench.ask(ask("Lamp._test._tcp.local", .srv))
        #expect(bench.responses.isEmpty && bench.events.isEmpty)
        bench.run(for: 10)
        #expect(bench.probes.count == 3 && bench.events == [.established(service.id)])
    }

    @Test func `P12: who then defends the name has it, and we take another`() {
        var bench = ResponderBench(established: service)
        bench.hear(records: [MadeUpService(port: 81).location])
        bench.run(for: 0.3)
        bench.hear(records: [MadeUpService(port: 81).location])
        #expect(bench.events == [.conflict(service.id, name: lamp.instance)])
    }

    @Test(
        arguments: [
            lamp.location, MadeUpService(name: "Other", port: 81).location,
            MadeUpService(port: 81, lifetime: 0).location,
            ResourceRecord(lamp.instance, .hinfo, .hostInformation(cpu: [], system: []), timeToLive: 120),
            MadeUpService(name: "Other").pointer,
        ]
    )
    func `P13: the same data, other names or types, shared records and goodbyes disturb nobody`(record: ResourceRecord)
    {
        var bench = ResponderBench(established: service)
        bench.hear(records: [record])
        bench.run(for: 10)
        #expect(bench.probes.isEmpty && bench.events.isEmpty)
    }

    @Test func `P13: an address that was ours a moment ago comes back from a bridge without harm`() {
        var bench = ResponderBench(established: host)
        bench.responder.setAddresses([.v4(0xC000_0277)], ofOtherFamily: [], at: bench.now)
        bench.run(for: 2)
        bench.forget()
        bench.hear(records: [address(ours)])
        bench.run(for: 2)
        #expect(bench.probes.isEmpty)
        // But not for ever: by then it may be another host's.
        bench.run(for: 10)
        bench.hear(records: [address(ours)])
        bench.run(for: 0.3)
        #expect(!bench.probes.isEmpty)
    }

    @Test func `P13: NSEC records of others say nothing against us`() {
        var bench = ResponderBench(established: host)
        bench.hear(records: [lamp.denial])
        bench.run(for: 2)
        #expect(bench.probes.isEmpty && bench.events.isEmpty)
    }

    @Test func `C11: a storm of conflicting records costs no more than a few probes`() {
        var bench = ResponderBench(established: host)
        for index in 0..<2000 {
            bench.hear(records: [address(.v4(UInt32(index) + 5000))])
            bench.run(for: 0.001)
            if bench.events.contains(where: { if case .conflict = $0 { true } else { false } }) { break }
        }
        #expect(bench.sent.count <= 4)
    }
}

@Suite struct ResponderYieldTests {
    private let soft = RecordSet.host(yields: true)

    private func probed(_ bench: inout ResponderBench) {
        bench.publish(soft)
        bench.run(to: 0.251)
    }

    @Test func `the machine's name is left to a responder on this machine that has it`() {
        var bench = ResponderBench()
        probed(&bench)
        bench.hear(records: [address(ours)], from: ours)
        bench.run(to: 60)
        #expect(bench.events == [.yielded(soft.id)] && bench.responses.isEmpty)
    }

    @Test func `and claimed when nobody answers`() {
        var bench = ResponderBench()
        probed(&bench)
        bench.run(to: 10)
        #expect(bench.events == [.established(soft.id)])
    }

    @Test func `another host that has the name makes us take another one`() {
        var bench = ResponderBench()
        probed(&bench)
        bench.hear(records: [address(.v4(0xC000_0299))])
        #expect(bench.events == [.conflict(soft.id, name: lamp.hostName)])
    }

    @Test func `a neighbour that starts later gets the name without a fight, and without a goodbye`() {
        var bench = ResponderBench(established: soft)
        let probe = Message(questions: [ask("lamp.local", .any)], authorities: [address(ours)])
        bench.hear(probe, from: ours)
        bench.ask(ask("lamp.local", .a))
        bench.run(for: 10)
        #expect(bench.events == [.yielded(soft.id)] && bench.sent.isEmpty)
    }

    @Test func `another host's probe for it is fought`() {
        var bench = ResponderBench(established: soft)
        bench.hear(Message(questions: [ask("lamp.local", .any)], authorities: [address(.v4(0xC000_0299))]))
        #expect(bench.responses.count == 1 && bench.events.isEmpty)
    }

    @Test func `a name that was asked for by the user is not left to anybody`() {
        var bench = ResponderBench(established: host)
        bench.hear(records: [address(ours)], from: ours)
        bench.run(for: 2)
        bench.ask(ask("lamp.local", .a))
        bench.run(for: 2)
        #expect(bench.events.isEmpty && bench.answers.contains { $0.type == .a })
    }

    @Test func `when the neighbour says goodbye, the name is probed for and claimed`() {
        var bench = ResponderBench()
        probed(&bench)
        bench.hear(records: [address(ours)], from: ours)
        bench.forget()
        bench.hear(records: [address(ours, lifetime: 0)], from: ours)
        bench.run(for: 5)
        #expect(bench.probes.count == 3 && bench.events == [.established(soft.id)])
    }

    @Test func `a neighbour that fell silent is noticed when its records end, one that answers is not disturbed`() {
        var bench = ResponderBench()
        probed(&bench)
        bench.hear(records: [address(ours)], from: ours)
        for _ in 0..<10 {
            bench.run(for: 100)
            bench.hear(records: [address(ours)], from: ours)
        }
        #expect(bench.probes.count == 1)
        bench.run(for: 130)
        #expect(bench.events == [.yielded(soft.id), .established(soft.id)])
    }

    @Test func `a neighbour that took another name leaves ours to whoever took it`() {
        var bench = ResponderBench()
        probed(&bench)
        bench.hear(records: [address(ours)], from: ours)
        bench.hear(records: [address(.v4(0xC000_0299))])
        bench.run(for: 1.3)
        bench.hear(records: [address(.v4(0xC000_0299))])
        #expect(bench.events == [.yielded(soft.id), .conflict(soft.id, name: lamp.hostName)])
    }

    @Test func `our own announcement on another interface of the link is not a neighbour`() {
        var bench = ResponderBench()
        let elsewhere = IPAddress.v4(0xC000_02AA)
        bench.responder.setAddresses([ours], ofOtherFamily: [], elsewhere: [elsewhere], at: bench.now)
        probed(&bench)
        bench.hear(records: [address(elsewhere)], from: elsewhere)
        bench.run(to: 5)
        #expect(bench.events == [.established(soft.id)])
    }
}
