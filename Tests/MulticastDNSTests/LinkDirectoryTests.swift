// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import Testing

@testable import MulticastDNS

private let lamp = MadeUpService()

private typealias Bench = DirectoryBench

@Suite struct ServiceResolutionTests {
    @Test func `reports a complete service at once`() throws {
        var bench = Bench()
        bench.hear(lamp.all)
        #expect(bench.summary == ["added Lamp"])
        let service = try #require(bench.directory.services.first)
        #expect(service.name == "Lamp" && service.type == "_test._tcp" && service.domain == "local")
        #expect(service.interface == "eth0" && service.interfaceIndex == 2 && service.port == 80)
        #expect(service.addresses == [ScopedAddress(lamp.address)] && service.host == "lamp.local")
        #expect(service.rawText == [Array("a=1".utf8)] && service.text == [.init(key: "a", value: [49])])
        #expect(service.firstSeen == time(0) && service.timeToLive == .seconds(4500))
        #expect(service.id == .init(instance: lamp.instance, interfaceIndex: 2))
        bench.run(to: 60)
        #expect(bench.summary == ["added Lamp"] && bench.questions.isEmpty)
    }

    @Test func `asks only for what is missing, batched, within 120 ms`() {
        var bench = Bench(families: [.ipv4])
        bench.hear([lamp.pointer, lamp.textRecord])
        bench.run(to: 0.5)
        #expect(bench.questions.map(\.question.type) == [.srv])
        bench.hear([lamp.location])
        bench.run(to: 0.9)
        #expect(Set(bench.questions.dropFirst().map(\.question.type)) == [.a])
        #expect(Set(bench.questions.dropFirst().map(\.time)).count == 1)
        #expect(bench.questions.allSatisfy { $0.question.name == lamp.instance || $0.question.name == lamp.hostName })
        bench.hear([lamp.addressRecord, lamp.denial])
        #expect(bench.summary == ["added Lamp"])
    }

    @Test func `a pointer into another domain is found, not asked for, and told as unresolved`() throws {
        var bench = Bench(Subscription(pointers: [lamp.typeName]), families: [.ipv4])
        let elsewhere = try #require(DomainName("Lamp._test._tcp.example.com"))
        bench.hear([ResourceRecord(lamp.typeName, .ptr, .pointer(elsewhere), timeToLive: 4500)])
        bench.run(to: 10)
        #expect(bench.summary == ["failed Lamp [\"SRV\", \"TXT\"]"] && bench.told[1]?.count == 2)
        #expect(!bench.questions.contains { $0.question.name == elsewhere })
    }

    @Test func `a repetition that brings an instance is reason to ask once more, before the next one`() throws {
        var bench = Bench(Subscription(pointers: [lamp.typeName]), families: [.ipv4])
        bench.run(to: 0.5)
        var other = lamp
        other.name = "Late"
        bench.hear(lamp.all)
        bench.run(to: 1.5)
        bench.hear(other.all)
        bench.run(to: 5)
        let asked = bench.questions.filter { $0.question.name == lamp.typeName }
        #expect(asked.map(\.question.type) == [.ptr, .ptr, .any, .ptr])
        let start = try #require(asked.first).time
        #expect(asked.map { Int((($0.time - start) * 1000).rounded()) } == [0, 1000, 2100, 3200])
    }

    @Test func `asks at 0, 1 and 3 seconds by both families, then says what is missing, once`() {
        var bench = Bench()
        bench.hear([lamp.pointer, lamp.textRecord])
        bench.run(to: 30)
        for family in AddressFamily.allCases {
            let times = bench.asked(.srv, family)
            #expect(times.count == 3 && times[0] <= 0.12 && times[1] - times[0] >= 1 && times[2] - times[1] >= 2)
        }
        #expect(bench.summary == ["failed Lamp [\"SRV\"]"])
        #expect(bench.directory.unresolvedCount == 1 && bench.directory.services.isEmpty)
    }

    @Test func `tries again with gaps that double up to an hour, without telling again`() {
        var bench = Bench(families: [.ipv4])
        bench.hear([lamp.pointer, lamp.textRecord])
        bench.run(to: 4000)
        let times = bench.asked(.srv)
        let tries = times.filter { time in !times.contains { $0 < time && time - $0 < 5 } }
        #expect(zip(tries.dropFirst(), tries).map { Int(($0 - $1).rounded()) } == [35, 65, 125, 245, 485, 965, 1925])
        #expect(times.count == 3 * tries.count && bench.summary.count == 1)
        bench.hear([lamp.location, lamp.addressRecord, lamp.denial])
        #expect(bench.summary.last == "added Lamp" && bench.directory.unresolvedCount == 0)
    }

    @Test func `waits a moment for a host's other family, once per host`() {
        var bench = Bench()
        bench.hear([lamp.pointer, lamp.location, lamp.textRecord, lamp.addressRecord])
        bench.run(to: 0.05)
        #expect(bench.summary.isEmpty)
        bench.run(to: 0.07)
        #expect(bench.summary == ["added Lamp"])
        bench.run(to: 0.2)
        #expect(bench.asked(.aaaa, .ipv4).count == 1)
        var bulb = lamp
        bulb.name = "Bulb"
        bench.hear([bulb.pointer, bulb.location, bulb.textRecord])
        #expect(bench.summary == ["added Lamp", "added Bulb"])
    }

    @Test func `merges the families into one service with scoped addresses`() throws {
        var bench = Bench()
        var six = lamp
        six.address = try #require(IPAddress("fe80::7"))
        bench.hear([lamp.pointer, lamp.location, lamp.textRecord, lamp.addressRecord], .ipv4)
        bench.hear([six.pointer, six.location, six.textRecord, six.addressRecord], .ipv6)
        #expect(bench.summary == ["added Lamp"])
        #expect(bench.directory.services.first?.addresses.map(\.description) == ["192.0.2.50", "fe80::7%eth0"])
    }

    @Test func `a service without text is reported when nobody sent one`() {
        var bench = Bench()
        bench.hear([lamp.pointer, lamp.location, lamp.addressRecord, lamp.denial])
        bench.run(to: 1.4)
        #expect(bench.summary.isEmpty && bench.asked(.txt, .ipv4).count == 2)
        bench.run(to: 1.6)
        #expect(bench.summary == ["added Lamp"])
        #expect(bench.directory.services.first?.rawText == [])
        bench.run(to: 90)
        #expect(bench.summary == ["added Lamp"] && bench.asked(.txt, .ipv4).count == 3)
    }

    @Test func `a text that is denied is not waited for`() {
        for denials in [[lamp.textDenial], [lamp.textDenial, lamp.denial]] {
            var bench = Bench(families: [.ipv4])
            bench.hear([lamp.pointer, lamp.location, lamp.addressRecord] + denials)
            bench.run(to: 0.1)
            #expect(bench.summary == ["added Lamp"])
            bench.run(to: 10)
            #expect(bench.asked(.txt, .ipv4).isEmpty)
        }
    }

    @Test func `a text that comes after the service was shown is a change`() {
        var bench = Bench()
        bench.hear([lamp.pointer, lamp.location, lamp.addressRecord, lamp.denial])
        bench.run(to: 3)
        bench.hear([lamp.textRecord])
        bench.run(to: 4)
        #expect(bench.summary == ["added Lamp", "changed Lamp [\"txt\"]"])
    }

    @Test func `a text that comes late is shown at once, whatever else is missing`() {
        var bench = Bench()
        bench.hear([lamp.pointer, lamp.location, lamp.addressRecord])
        bench.run(to: 0.2)
        #expect(bench.summary.isEmpty)
        bench.hear([lamp.textRecord])
        #expect(bench.summary == ["added Lamp"])
        #expect(bench.directory.services.first?.rawText == [Array("a=1".utf8)])
    }

    @Test func `a family that the link gets later is asked for`() throws {
        var bench = Bench(families: [.ipv4])
        bench.hear([lamp.pointer, lamp.location, lamp.textRecord, lamp.addressRecord])
        bench.run(to: 10)
        #expect(bench.summary == ["added Lamp"] && bench.asked(.aaaa).isEmpty)
        bench.directory.open(.ipv6, mtu: 1500, at: time(10))
        bench.run(to: 15.5)
        #expect(bench.asked(.aaaa, .ipv6).count == 1)
        var six = lamp
        six.address = try #require(IPAddress("fe80::7"))
        bench.hear([six.addressRecord], .ipv6)
        bench.run(to: 17)
        #expect(bench.summary.last == "changed Lamp [\"addresses\"]")
        #expect(bench.directory.services.first?.addresses.count == 2)
    }

    @Test func `a service on port 0 is not offered`() {
        var bench = Bench()
        var placeholder = lamp
        placeholder.port = 0
        bench.hear(placeholder.all)
        bench.run(to: 0.1)
        // Known at once, with its text; its host does not matter.
        guard case .unresolved(let service) = bench.events.first else {
            Issue.record("not told")
            return
        }
        #expect(!service.isOffered && service.missing.isEmpty && service.rawText == [Array("a=1".utf8)])
        bench.run(to: 30)
        #expect(bench.directory.services.isEmpty && bench.questions.isEmpty && bench.summary.count == 1)
        #expect(bench.directory.unresolvedCount == 0)
        bench.hear([lamp.location])
        #expect(bench.directory.services.count == 1)
    }

    @Test(
        arguments: [
            ([(0, 0, 1), (1, 0, 2)], 1), ([(5, 0, 1), (1, 0, 2)], 2), ([(1, 3, 1), (1, 9, 2)], 2),
            ([(1, 9, 1), (0, 0, 2)], 2),
        ] as [([(UInt16, UInt16, UInt16)], UInt16)]
    )
    func `of several locations the one of lowest priority and greatest weight is shown`(
        locations: [(UInt16, UInt16, UInt16)],
        port: UInt16
    ) {
        var bench = Bench()
        let records = locations.map { priority, weight, port in
            let data = ServiceLocation(priority: priority, weight: weight, port: port, target: lamp.hostName)
            return ResourceRecord(lamp.instance, .srv, .service(data), timeToLive: 120)
        }
        bench.hear([lamp.pointer, lamp.textRecord, lamp.addressRecord, lamp.denial] + records)
        #expect(bench.directory.services.first?.port == port)
    }

    @Test func `a census shows what only a subtype leads to, and follows no subtypes besides a type`() {
        var bench = Bench(families: [.ipv4])
        var long = lamp
        long.lifetime = 4500
        bench.hear([long.subtypePointer, long.location, long.textRecord, long.addressRecord, long.denial])
        #expect(bench.summary == ["added Lamp"])
        // Its pointer is refreshed, since nothing else leads to it.
        bench.run(to: 3700)
        #expect(bench.asked(Question(lamp.subtypeName, .ptr)).count == 1)
        bench.hear(long.all)
        bench.hear([long.subtypePointer])
        bench.run(to: 3800)
        bench.goodbye([long.subtypePointer])
        bench.run(to: 3810)
        #expect(bench.directory.services.count == 1)
        bench.hear([long.subtypePointer])
        bench.goodbye([long.pointer])
        bench.run(to: 3820)
        #expect(bench.directory.services.isEmpty)
    }

    @Test func `several text records are all shown, the first key wins`() {
        var bench = Bench()
        let other = ResourceRecord(lamp.instance, .txt, .text([3, 65, 61, 50, 1, 98]), timeToLive: 4500)
        bench.hear(lamp.all + [other])
        let service = bench.directory.services.first
        #expect(service?.rawText == [Array("a=1".utf8), Array("A=2".utf8), Array("b".utf8)])
        #expect(service?.text.map(\.key) == ["a", "b"])
    }

    @Test(arguments: [
        ("Dr. No's \\ Printer", "Dr. No's \\\\ Printer"), ("\u{1B}[2J", "\\027[2J"), ("Büro", "Büro"),
        ("<b>&\"", "<b>&\""),
    ])
    func `shows exotic names safely`(name: String, shown: String) {
        var bench = Bench()
        var service = lamp
        service.name = name
        bench.hear(service.all)
        #expect(bench.directory.services.first?.name == shown)
        #expect(bench.directory.services.first?.instance == service.instance)
    }

    @Test(arguments: [
        ("_x._tcp.local", true), ("_X._UDP.LOCAL", true), ("_dyson_mqtt._tcp.local", true), ("x._tcp.local", false),
        ("_x._sctp.local", false), ("_x._tcp.example", false), ("_sub._x._tcp.local", false), ("_tcp.local", false),
    ])
    func `is lenient about the names of types`(name: String, isType: Bool) throws {
        #expect(ServiceName.isType(try #require(DomainName(name))) == isType)
    }
}

@Suite struct ServiceChangeTests {
    private func settled() -> Bench {
        var bench = Bench()
        bench.hear(lamp.all, .ipv4)
        bench.run(to: 10)
        return bench
    }

    @Test func `a new text is a change, a repeated one is not`() {
        var bench = settled()
        bench.hear(lamp.all)
        bench.run(to: 12)
        var changed = lamp
        changed.text = ["a=2"]
        bench.hear([changed.textRecord])
        bench.run(to: 14)
        // The old one lives on for a second, and is shown no more.
        #expect(bench.summary == ["added Lamp", "changed Lamp [\"txt\"]"])
        #expect(bench.directory.services.first?.rawText == [Array("a=2".utf8)])
        #expect(bench.directory.services.first?.firstSeen == time(0))
    }

    @Test func `a host that a service goes back to is looked after at once, without another wake-up`() throws {
        var bench = settled()
        var guest = lamp
        guest.host = "guest.local"
        guest.lifetime = 10
        var visit = guest.location
        visit.flushesCache = false
        bench.hear([visit, guest.addressRecord, guest.denial])
        bench.run(to: 19)
        #expect(bench.directory.services.first?.host == "guest.local")
        // Both records of the visit are gone when time goes on.
        bench.directory.advance(to: time(21))
        _ = bench.directory.packets(at: time(21))
        #expect(bench.directory.activeQueries.hosts[lamp.hostName] == [lamp.instance])
        #expect(try #require(bench.directory.nextDeadline) > time(21))
    }

    @Test func `a burst of changes is one event with the right previous state`() throws {
        var bench = settled()
        var changed = lamp
        changed.port = 81
        changed.text = ["a=2"]
        bench.hear([changed.location])
        bench.hear([changed.textRecord])
        bench.run(to: 10.3)
        #expect(bench.events.count == 2)
        guard case .changed(let new, let fields, let previous) = bench.events.last else {
            Issue.record("there is no change")
            return
        }
        #expect(previous.port == 80 && new.port == 81 && Set(fields) == [.port, .text])
    }

    @Test func `an update storm cannot make more than four events per second`() {
        var bench = settled()
        for number in 0..<200 {
            var changed = lamp
            changed.text = ["n=\(number)"]
            bench.hear([changed.textRecord])
            bench.run(to: 10 + Double(number + 1) / 50)
        }
        #expect(bench.events.count <= 18 && bench.events.count > 8)
    }

    @Test func `a new host is looked up`() {
        var bench = settled()
        var moved = lamp
        moved.host = "lamp-2.local"
        moved.address = .v4(0xC000_0240)
        bench.hear([moved.location])
        bench.run(to: 11.5)
        #expect(bench.questions.contains { $0.question == Question(moved.hostName, .a) })
        bench.hear([moved.addressRecord, moved.denial])
        bench.run(to: 13)
        let service = bench.directory.services.first
        #expect(service?.host == "lamp-2.local" && service?.addresses == [ScopedAddress(moved.address)])
        #expect(!bench.summary.contains { $0.hasPrefix("removed") })
    }

    @Test func `renaming the interface moves the services`() {
        var bench = settled()
        bench.directory.rename(to: "lan0", at: time(10))
        bench.run(to: 10)
        #expect(bench.summary == ["added Lamp", "removed Lamp interface_down", "added Lamp"])
        #expect(bench.directory.services.first?.interface == "lan0")
        bench.directory.rename(to: "lan0", at: time(11))
        bench.run(to: 11)
        #expect(bench.events.count == 3)
    }
}

@Suite struct ServiceRemovalTests {
    @Test(arguments: [[lamp.pointer], [lamp.location], [lamp.pointer, lamp.location, lamp.textRecord]])
    func `a goodbye to pointer or location is one, a second later`(records: [ResourceRecord]) {
        var bench = Bench()
        bench.hear(lamp.all)
        bench.run(to: 10)
        bench.goodbye(records)
        bench.run(to: 10.9)
        #expect(bench.summary == ["added Lamp"])
        bench.run(to: 60)
        #expect(bench.summary == ["added Lamp", "removed Lamp goodbye"])
        guard case .lost(_, _, _, let seenFor) = bench.events.last else { return }
        #expect(seenFor == .seconds(11))
    }

    @Test func `a partial withdrawal by one family keeps the service`() {
        var bench = Bench()
        bench.hear(lamp.all, .ipv4)
        bench.hear(lamp.all, .ipv6)
        bench.run(to: 10)
        bench.goodbye([lamp.pointer, lamp.location, lamp.textRecord], .ipv4)
        bench.run(to: 20)
        #expect(bench.summary == ["added Lamp"])
        bench.goodbye([lamp.pointer], .ipv6)
        bench.run(to: 22)
        #expect(bench.summary == ["added Lamp", "removed Lamp goodbye"])
        #expect(bench.directory.instances.isEmpty && bench.directory.activeQueries.hosts.isEmpty)
        #expect(bench.directory.activeQueries.types.isEmpty)
    }

    @Test func `a crash is noticed by the location's TTL, and the stale pointer goes too`() {
        var bench = Bench()
        bench.hear(lamp.all)
        bench.run(to: 119.9)
        #expect(bench.summary == ["added Lamp"])
        #expect(bench.asked(.srv, .ipv4).count == 4 && bench.asked(.srv, .ipv6).count == 3)
        bench.run(to: 140)
        #expect(bench.summary == ["added Lamp", "removed Lamp expired"])
        #expect(bench.directory.instances.isEmpty)
        #expect(bench.asked(.ptr).filter { $0 >= 120 }.count >= 2)
    }

    @Test func `a service whose answers were lost is asked for again as soon as its pointer has run out`() {
        var bench = Bench(Subscription(pointers: [lamp.typeName]), families: [.ipv4])
        let short = ResourceRecord(lamp.typeName, .ptr, .pointer(lamp.instance), timeToLive: 10)
        let rest = [lamp.location, lamp.textRecord, lamp.addressRecord, lamp.denial]
        bench.hear([short] + rest)
        bench.run(to: 9.9)
        let pointer = Question(lamp.typeName, .ptr)
        let before = bench.asked(pointer).count
        bench.run(to: 13)
        #expect(bench.summary == ["added Lamp", "removed Lamp expired"])
        #expect(bench.asked(pointer).count == before + 2)
        // A goodbye needs no question, nor what was never resolved.
        var other = Bench(Subscription(pointers: [lamp.typeName]), families: [.ipv4])
        other.hear([short])
        other.run(to: 9.9)
        let others = other.asked(pointer).count
        other.run(to: 12)
        #expect(other.asked(pointer).count == others)
    }

    @Test func `a pointer that outlives its service brings it back from the cache`() {
        var bench = Bench()
        bench.hear(lamp.all)
        bench.run(to: 10)
        bench.goodbye([lamp.pointer])
        bench.run(to: 12)
        bench.hear([lamp.pointer])
        #expect(bench.summary == ["added Lamp", "removed Lamp goodbye", "added Lamp"])
    }

    @Test func `a goodbye of the host's addresses is no other reason than one of the service`() {
        for subscription in [Subscription(census: CensusSettings()), Subscription(instances: [lamp.instance])] {
            var bench = DirectoryBench(subscription)
            bench.hear(subscription.census == nil ? Array(lamp.all.dropFirst(2)) : lamp.all)
            bench.run(to: 10)
            bench.goodbye([lamp.addressRecord])
            bench.run(to: 10.4)
            bench.goodbye([lamp.location, lamp.textRecord])
            bench.run(to: 20)
            #expect(bench.summary == ["added Lamp", "removed Lamp goodbye"])
        }
    }

    @Test func `what nobody announces goes for the reason why its host went`() {
        for isGoodbye in [true, false] {
            var bench = DirectoryBench(Subscription(instances: [lamp.instance]))
            var long = lamp
            long.lifetime = 4500
            bench.hear([long.location, long.textRecord, lamp.addressRecord, long.denial])
            bench.run(to: 10)
            if isGoodbye { bench.goodbye([lamp.addressRecord]) }
            bench.run(to: 130)
            #expect(bench.summary == ["added Lamp", "removed Lamp \(isGoodbye ? "goodbye" : "expired")"])
        }
    }

    @Test func `a type that is watched from now on is asked for at once`() throws {
        var bench = DirectoryBench()
        bench.beginCensus()
        bench.run(to: 10)
        bench.directory.endCensus()
        var settings = CensusSettings()
        settings.wellKnownTypes.append(lamp.typeName)
        let question = Question(lamp.typeName, .ptr)
        #expect(bench.asked(question).isEmpty)
        bench.directory.change(Subscription(census: settings), of: 1, at: time(10))
        bench.run(to: 11)
        #expect(bench.asked(question).first.map { $0 < 10.2 } == true && bench.asked(question, .ipv6).count == 1)
        bench.hear(lamp.all)
        bench.run(to: 12)
        #expect(bench.summary == ["added Lamp"])
        bench.directory.change(Subscription(census: settings), of: 1, at: time(12))
        let before = bench.asked(question).count
        bench.run(to: 12.5)
        #expect(bench.asked(question).count == before, "it is known already")
    }

    @Test func `losing all addresses makes a service unresolvable after asking`() {
        var bench = Bench()
        var long = lamp
        long.lifetime = 4500
        bench.hear([long.pointer, long.location, long.textRecord, lamp.addressRecord, long.denial])
        bench.run(to: 121)
        #expect(bench.summary == ["added Lamp"])
        bench.run(to: 126)
        #expect(bench.summary == ["added Lamp", "removed Lamp unresolvable"])
        #expect(bench.asked(.a, .ipv4).filter { $0 > 120 && $0 < 125 }.count == 3)
    }

    @Test func `an address that comes back in time hides the gap`() {
        var bench = Bench()
        var long = lamp
        long.lifetime = 4500
        bench.hear([long.pointer, long.location, long.textRecord, lamp.addressRecord, long.denial])
        bench.run(to: 122)
        bench.hear([lamp.addressRecord])
        bench.run(to: 200)
        #expect(bench.summary == ["added Lamp"])
    }

    @Test func `an interface that goes down says so`() {
        var bench = Bench()
        bench.hear(lamp.all, .ipv4)
        bench.hear(lamp.all, .ipv6)
        bench.close(.ipv4)
        #expect(bench.summary == ["added Lamp"])
        bench.close(.ipv6)
        #expect(bench.summary == ["added Lamp", "removed Lamp interface_down"])
        bench.close(.ipv6)
        #expect(bench.events.count == 2 && bench.directory.nextDeadline == nil)
    }
}

@Suite struct LinkCensusTests {
    @Test func `asks for types and instances at 0, 1, 3 and 7 seconds, by both families`() {
        var bench = Bench()
        bench.beginCensus()
        bench.run(to: 30)
        for family in AddressFamily.allCases {
            let times = bench.questions.filter {
                $0.family == family && $0.question.name == ServiceName.enumeration
            }.map(\.time)
            #expect(times.count == 4 && (times.first ?? 1) <= 0.12)
            #expect(zip(times.dropFirst(), times).map { ($0 - $1).rounded() } == [1, 2, 4])
        }
        let types = Set(bench.questions.map(\.question.name))
        #expect(types.count == CensusSettings().wellKnownTypes.count + 1)
        // One packet per round and family.
        #expect(Set(bench.asked(.ptr, .ipv4)).count == 4)
    }

    @Test func `its end ends its questions`() {
        var bench = Bench()
        bench.beginCensus()
        bench.run(to: 2)
        let before = bench.questions.count
        bench.directory.endCensus()
        bench.run(to: 100)
        #expect(bench.questions.count == before && !bench.directory.isCensusRunning)
    }

    @Test func `a type that is learned during it is asked for at once, later ones next time`() {
        var bench = Bench(families: [.ipv4])
        bench.beginCensus()
        bench.run(to: 1.5)
        bench.hear([lamp.enumeration])
        bench.run(to: 1.7)
        #expect(bench.questions.last?.question == Question(lamp.typeName, .ptr))
        bench.directory.endCensus()
        var other = lamp
        other.type = "_other._udp"
        bench.hear([other.enumeration])
        bench.run(to: 60)
        #expect(!bench.questions.contains { $0.question.name == other.typeName })
        bench.beginCensus()
        bench.run(to: 61)
        #expect(bench.questions.contains { $0.question.name == other.typeName })
    }

    @Test func `a family that opens during it is asked too`() {
        var bench = Bench(families: [.ipv4])
        bench.beginCensus()
        bench.run(to: 1)
        bench.directory.open(.ipv6, mtu: 1500, at: time(1))
        bench.run(to: 2)
        #expect(!bench.asked(.ptr, .ipv6).isEmpty)
    }

    @Test func `only the first two labels of an enumerated type count`() throws {
        var bench = Bench(families: [.ipv4])
        bench.beginCensus()
        let odd = try #require(DomainName("_odd._tcp.example.com"))
        bench.hear([ResourceRecord(ServiceName.enumeration, .ptr, .pointer(odd), timeToLive: 10)])
        bench.run(to: 1)
        #expect(bench.questions.contains { $0.question.name == DomainName("_odd._tcp.local") })
        let bad = try #require(DomainName("printer"))
        bench.hear([ResourceRecord(ServiceName.enumeration, .ptr, .pointer(bad), timeToLive: 10)])
        bench.run(to: 2)
        #expect(!bench.questions.contains { $0.question.name == bad })
    }

    @Test func `survives fuzzed packets, and an honest service afterwards`() throws {
        var bench = Bench()
        var random = RandomSource(seed: 99)
        let original = try #require(Message(flags: .response, answers: lamp.all).encoded())
        for _ in 0..<2000 {
            var bytes = original
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            _ = bench.directory.receive(bytes.span, .ipv4, from: PacketOrigin(source: .v4(1), port: 5353), at: time(0))
        }
        bench.run(to: 30)
        var honest = lamp
        honest.name = "Honest"
        bench.hear(honest.all)
        bench.run(to: 31)
        #expect(bench.directory.services.contains { $0.name == "Honest" })
    }
}
