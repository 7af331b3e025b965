// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import Testing

@testable import MulticastDNS

private let lamp = MadeUpService()
private let service = RecordSet.service(lamp)
private let host = RecordSet.host()
private let moved = RecordSet.service(MadeUpService(host: "lamp-2.local"))
private let foreign = MadeUpService(address: .v4(0xC000_02FE)).addressRecord

private func probe(_ records: ResourceRecord...) -> Message {
    Message(questions: records.map { Question($0.name, .any) }, authorities: records)
}

extension ResponderBench {
    /// The hosts that were told as locations, goodbyes left out.
    fileprivate var toldHosts: Set<String> { hosts { $0.timeToLive > 0 } }

    /// The hosts that were taken back as locations.
    fileprivate var withdrawnHosts: Set<String> { hosts { $0.timeToLive == 0 } }

    private func hosts(where isWanted: (ResourceRecord) -> Bool) -> Set<String> {
        Set(
            responses.flatMap(\.records).filter(isWanted).compactMap { record in
                if case .service(let location) = record.data { location.target.description } else { nil }
            }
        )
    }
}

/// The machine's addresses have its name.
@Suite struct ResponderReverseTests {
    private var machine: RecordSet {
        var set = RecordSet.host(yields: true)
        set.reverseTarget = lamp.hostName
        return set
    }

    private func pointer(_ address: IPAddress, lifetime: UInt32 = 120) -> ResourceRecord {
        ResourceRecord(
            ReverseName.name(of: address),
            .ptr,
            .pointer(lamp.hostName),
            timeToLive: lifetime,
            flushesCache: true
        )
    }

    private func question(_ address: IPAddress) -> Question { Question(ReverseName.name(of: address), .ptr) }

    @Test(arguments: [ResponderBench.ownAddress, ResponderBench.ownAddress6])
    func `an address of the interface is answered for with the machine's name, and no other one is`(own: IPAddress) {
        var bench = ResponderBench(established: machine)
        bench.ask(question(own))
        bench.ask(question(ResponderBench.stranger))
        bench.run(for: 1)
        #expect(bench.answers == [pointer(own)])
    }

    @Test func `reverse names are announced, but not probed for, and not told before the host is ours`() {
        var bench = ResponderBench()
        bench.publish(machine)
        bench.run(to: 0.7)
        bench.ask(question(ResponderBench.ownAddress))
        #expect(bench.responses.isEmpty)
        bench.run(to: 10)
        #expect(Set(bench.probes.flatMap(\.message.questions).map(\.name)) == [lamp.hostName])
        #expect(bench.answers.contains(pointer(ResponderBench.ownAddress)))
    }

    @Test func `they follow the addresses, and end with the host`() {
        var bench = ResponderBench(established: machine)
        let new = IPAddress.v4(0xC000_0277)
        bench.responder.setAddresses([new], ofOtherFamily: [], at: bench.now)
        bench.run(for: 5)
        #expect(bench.answers.contains(pointer(new)))
        #expect(bench.answers.contains(pointer(ResponderBench.ownAddress, lifetime: 0)))
        bench.forget()
        bench.withdraw(machine)
        #expect(bench.answers.contains(pointer(new, lifetime: 0)))
    }

    @Test func `another host with the same pointer or another one disturbs nobody`() {
        var bench = ResponderBench(established: machine)
        var other = pointer(ResponderBench.ownAddress)
        other = ResourceRecord(other.name, .ptr, .pointer(lamp.instance), timeToLive: 120, flushesCache: true)
        bench.hear(records: [other])
        bench.run(for: 5)
        #expect(bench.sent.isEmpty && bench.events.isEmpty)
    }
}

/// A location is told when its host is ours, and no longer than it is.
@Suite struct ResponderHostTests {
    @Test func `a service waits for its host, which lost a tiebreak, and is asked for again when that took long`() {
        var bench = ResponderBench(own: [ResponderBench.ownAddress], other: [])
        bench.publish(service)
        bench.publish(host)
        bench.run(to: 0.3)
        bench.hear(probe(foreign))
        bench.run(to: 1.9)
        #expect(bench.events.isEmpty && bench.responses.isEmpty)
        bench.ask(ask("Lamp._test._tcp.local", .srv))
        #expect(bench.responses.isEmpty)
        bench.run(to: 10)
        #expect(bench.events == [.established(host.id), .established(service.id)])
        let first = bench.responses.first { $0.records.contains { $0.type == .srv } }?.seconds ?? 0
        let last = bench.probes.last { $0.message.questions.contains { $0.name == lamp.instance } }?.seconds ?? 0
        #expect(first - last < 1 && bench.toldHosts == ["lamp.local"])
    }

    @Test func `a host that is lost before it was ours is never told as a location`() {
        var bench = ResponderBench(own: [ResponderBench.ownAddress], other: [])
        bench.publish(service)
        bench.publish(host)
        bench.run(to: 0.6)
        bench.hear(records: [foreign])
        bench.run(to: 1.2)
        bench.publish(.host("lamp-2.local"))
        bench.publish(moved)
        bench.run(to: 10)
        #expect(bench.toldHosts == ["lamp-2.local"] && bench.withdrawnHosts.isEmpty)
        #expect(bench.events.suffix(2) == [.established(host.id), .established(service.id)])
    }

    @Test func `while a host is in doubt its services are silent; they come back with it`() {
        var bench = ResponderBench(established: service, host)
        bench.hear(records: [foreign])
        bench.ask(ask("Lamp._test._tcp.local", .srv))
        bench.ask(ask("_test._tcp.local", .ptr))
        bench.run(for: 0.5)
        #expect(bench.responses.isEmpty && bench.events.isEmpty)
        bench.run(for: 10)
        #expect(bench.events == [.established(host.id), .established(service.id)])
        #expect(bench.toldHosts == ["lamp.local"] && bench.withdrawnHosts.isEmpty)
    }

    @Test func `when a host is lost its locations are taken back at once, and told anew with the next host`() {
        var bench = ResponderBench(established: service, host)
        bench.hear(records: [foreign])
        bench.run(for: 0.3)
        bench.hear(records: [foreign])
        #expect(bench.withdrawnHosts == ["lamp.local"] && bench.toldHosts.isEmpty)
        #expect(bench.answers.map(\.type) == [.srv])
        bench.publish(.host("lamp-2.local"))
        bench.publish(moved)
        bench.run(for: 10)
        #expect(bench.toldHosts == ["lamp-2.local"])
        #expect(Set(bench.answers.filter { $0.timeToLive > 0 }.map(\.type)) == [.ptr, .srv, .txt, .a, .aaaa])
    }

    @Test func `a host that gets another name because of another interface takes its services along`() {
        var bench = ResponderBench(established: service, host)
        bench.publish(.host("lamp-2.local"))
        bench.publish(moved)
        bench.run(for: 0.5)
        #expect(bench.withdrawnHosts == ["lamp.local"] && bench.toldHosts.isEmpty)
        bench.run(for: 10)
        #expect(bench.toldHosts == ["lamp-2.local"])
    }

    @Test func `a host that a neighbour answers for will do, also while it is asked again`() {
        let soft = RecordSet.host(yields: true)
        var bench = ResponderBench()
        bench.publish(service)
        bench.publish(soft)
        bench.run(to: 0.251)
        let neighbours = MadeUpService(address: ResponderBench.ownAddress).addressRecord
        bench.hear(records: [neighbours], from: ResponderBench.ownAddress)
        bench.run(to: 119)
        #expect(bench.events == [.yielded(soft.id), .established(service.id)])
        bench.forget()
        // Its records have run out: it is asked, and answers.
        bench.run(to: 120.6)
        bench.ask(ask("Lamp._test._tcp.local", .srv))
        #expect(!bench.probes.isEmpty && bench.toldHosts == ["lamp.local"])
    }

    @Test func `a host that somebody else answers for is not waited for`() {
        var bench = ResponderBench()
        bench.publish(service)
        bench.run(to: 10)
        #expect(bench.events == [.established(service.id)] && bench.toldHosts == ["lamp.local"])
    }

    @Test func `a service that waits for its host defends its name by a probe`() {
        var bench = ResponderBench(own: [ResponderBench.ownAddress], other: [])
        bench.publish(service)
        bench.publish(host)
        bench.run(to: 0.3)
        bench.hear(probe(foreign))
        bench.run(to: 1.1)
        bench.forget()
        #expect(bench.responder.prober.isHeld(service.id))
        let other = MadeUpService(port: 1)
        bench.hear(
            Message(questions: [Question(lamp.instance, .any)], authorities: [other.location, other.textRecord])
        )
        bench.run(for: 0.26)
        #expect(bench.probes.contains { $0.message.questions.contains { $0.name == lamp.instance } })
    }
}
