// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import Testing

@testable import MulticastDNS

private let lamp = MadeUpService()
private let browse = Subscription(pointers: [lamp.typeName])
private let question = Question(lamp.typeName, .ptr)
private let resolve = Subscription(instances: [lamp.instance])
private let address = RecordKey(lamp.hostName, .a)
private let host = Subscription(
    records: [address, RecordKey(lamp.hostName, .aaaa)],
    passive: [RecordKey(lamp.hostName, .nsec)]
)

@Suite struct BrowseSubscriptionTests {
    @Test func `follows what is wished for, and nothing else`() {
        var bench = DirectoryBench(browse)
        var other = lamp
        other.type = "_other._tcp"
        bench.hear(lamp.all)
        bench.hear(other.all)
        bench.run(to: 30)
        #expect(bench.story() == ["found Lamp", "resolved Lamp"])
        #expect(bench.directory.instances.count == 1)
        #expect(Set(bench.questions.map(\.question)) == [question])
    }

    @Test func `several types and subtypes go in one packet, each repeated for ever`() {
        var bench = DirectoryBench(Subscription(pointers: [lamp.typeName, lamp.subtypeName]), families: [.ipv4])
        bench.run(to: 20_000)
        let times = bench.asked(question)
        #expect(times == bench.asked(Question(lamp.subtypeName, .ptr)))
        let gaps = zip(times.dropFirst(), times).map { Int(($0 - $1).rounded()) }
        #expect(Array(gaps.prefix(13)) == (0..<12).map { 1 << $0 } + [3600])
        #expect(gaps.last == 3600)
    }

    @Test func `finds an instance by its subtype, as an instance of its type`() {
        var bench = DirectoryBench(Subscription(pointers: [lamp.subtypeName]))
        bench.hear([lamp.pointer])
        #expect(bench.story().isEmpty)
        bench.hear([lamp.subtypePointer, lamp.location, lamp.textRecord, lamp.addressRecord, lamp.denial])
        #expect(bench.story() == ["found Lamp _color", "resolved Lamp"])
        #expect(
            bench.told[1]?.compactMap { if case .resolved(let service) = $0 { service.type } else { nil } } == [
                "_test._tcp"
            ]
        )
        bench.run(to: 5)
        bench.goodbye([lamp.subtypePointer])
        bench.run(to: 7)
        #expect(bench.story().last == "lost Lamp goodbye")
    }

    @Test func `an instance with two names is one, and stays while one of them does`() {
        var bench = DirectoryBench(Subscription(pointers: [lamp.typeName, lamp.subtypeName]))
        bench.hear(lamp.all)
        bench.hear([lamp.subtypePointer])
        bench.run(to: 5)
        bench.goodbye([lamp.pointer])
        bench.run(to: 7)
        #expect(bench.story() == ["found Lamp", "resolved Lamp", "found Lamp _color"])
        bench.goodbye([lamp.subtypePointer])
        bench.run(to: 9)
        #expect(bench.story().last == "lost Lamp goodbye" && bench.directory.instances.isEmpty)
    }

    @Test func `what was heard before is found within the call, without a question for it`() {
        var bench = DirectoryBench(nil)
        bench.hear(lamp.all)
        #expect(bench.directory.instances.isEmpty)
        bench.run(to: 20)
        bench.add(browse)
        #expect(bench.story() == ["found Lamp", "resolved Lamp"])
        bench.run(to: 40)
        #expect(Set(bench.questions.map(\.question)) == [question])
    }

    @Test func `a second client hears what the first one knows, and adds no traffic`() {
        var bench = DirectoryBench(browse)
        bench.hear(lamp.all)
        bench.run(to: 10)
        let before = bench.questions.count
        bench.add(browse, as: 2)
        #expect(bench.story(2) == ["found Lamp", "resolved Lamp"] && bench.story(1) == bench.story(2))
        bench.run(to: 14)
        #expect(bench.questions.count == before)
        bench.goodbye([lamp.pointer])
        bench.run(to: 16)
        #expect(bench.story(1).last == "lost Lamp goodbye" && bench.story(1) == bench.story(2))
    }

    @Test func `a wish ends with the last client that has it, and with it questions and refreshes`() {
        var bench = DirectoryBench(browse)
        bench.add(browse, as: 2)
        bench.hear(lamp.all)
        bench.run(to: 2)
        bench.remove(1)
        bench.run(to: 8)
        let before = bench.questions.count
        #expect(bench.asked(question).contains { $0 > 2 })
        bench.remove(2)
        bench.run(to: 5000)
        #expect(bench.questions.count == before)
        #expect(bench.directory.instances.isEmpty && bench.directory.activeQueries.records.isEmpty)
        #expect(bench.directory.activeQueries.hosts.isEmpty && bench.directory.waiting.count == 0)
    }

    @Test func `an old record is refreshed when somebody becomes interested late`() {
        var bench = DirectoryBench(nil, families: [.ipv4])
        bench.hear(lamp.all)
        bench.run(to: 105)
        #expect(bench.questions.isEmpty)
        bench.add(browse)
        bench.run(to: 107)
        #expect(!bench.asked(Question(lamp.instance, .srv)).isEmpty)
        bench.hear([lamp.location, lamp.addressRecord, lamp.denial])
        bench.run(to: 200)
        #expect(bench.story() == ["found Lamp", "resolved Lamp"])
    }

    @Test func `what a client asked for ever does not go on because a census asked for it too`() {
        var settings = CensusSettings()
        settings.wellKnownTypes = []
        settings.maximumTypes = 2
        var bench = DirectoryBench(Subscription(census: settings))
        bench.beginCensus()
        bench.hear([lamp.enumeration])
        bench.add(browse, as: 2)
        bench.run(to: 2)
        bench.remove(2)
        for type in ["_b._tcp", "_c._tcp"] {
            var other = lamp
            other.type = type
            bench.hear([other.enumeration])
        }
        #expect(bench.directory.memory?.contains(lamp.typeName) == false, "there was no room for it any more")
        bench.directory.endCensus()
        bench.remove(1)
        bench.run(to: 100)
        #expect(bench.directory.zones.values.allSatisfy { $0.schedule.count == 0 })
    }

    @Test func `an instance that was asked for by name is asked for a few times more while it is browsed`() {
        var bench = DirectoryBench(browse, families: [.ipv4])
        bench.add(Subscription(instances: [lamp.instance]), as: 2)
        bench.hear([lamp.pointer])
        bench.run(to: 2)
        bench.remove(2)
        bench.run(to: 20)
        let location = Question(lamp.instance, .srv)
        #expect((4...6).contains(bench.questions.count { $0.question == location }))
        #expect(bench.directory.zones[.ipv4]?.schedule.isPending(location) == true, "a few times more")
        bench.goodbye([lamp.pointer])
        bench.run(to: 22)
        #expect(bench.directory.zones[.ipv4]?.schedule.isPending(location) == false)
    }

    @Test func `a census that ends leaves the rest to those who browse`() {
        var bench = DirectoryBench(Subscription(census: CensusSettings()))
        bench.add(browse, as: 2)
        bench.beginCensus()
        var other = lamp
        other.type = "_other._tcp"
        bench.hear(lamp.all + other.all)
        bench.run(to: 2)
        #expect(bench.directory.instances.count == 2)
        bench.remove(1)
        #expect(bench.directory.instances.count == 1 && !bench.directory.isCensusRunning)
        let before = bench.questions.count
        bench.run(to: 60)
        #expect(Set(bench.questions.dropFirst(before).map(\.question)) == [question])
    }

    @Test func `the wish of a client that takes another one is replaced`() {
        var bench = DirectoryBench(browse)
        bench.add(Subscription(pointers: [lamp.subtypeName]))
        bench.run(to: 1)
        #expect(Set(bench.questions.map(\.question.name)) == [lamp.subtypeName])
    }

    @Test func `a family that opens later is asked too`() {
        var bench = DirectoryBench(browse, families: [.ipv4])
        bench.run(to: 100)
        bench.directory.open(.ipv6, mtu: 1500, at: time(100))
        bench.run(to: 104)
        #expect(bench.asked(question, .ipv6).count == 3)
    }

    @Test func `what failed is tried again when its location comes`() {
        var bench = DirectoryBench(browse, families: [.ipv4])
        bench.hear([lamp.pointer, lamp.textRecord])
        bench.run(to: 30)
        #expect(bench.story() == ["found Lamp", "unresolved Lamp [\"SRV\"]"])
        bench.hear([lamp.location])
        bench.run(to: 31)
        #expect(bench.asked(Question(lamp.hostName, .a)).count == 1)
        bench.hear([lamp.addressRecord, lamp.denial])
        #expect(bench.story().last == "resolved Lamp")
    }
}

@Suite struct InstanceSubscriptionTests {
    @Test func `an instance is asked for by name until it comes, announced or not`() {
        var bench = DirectoryBench(resolve, families: [.ipv4])
        bench.run(to: 20)
        let times = bench.asked(Question(lamp.instance, .srv))
        #expect(times.count == 5 && times == bench.asked(Question(lamp.instance, .txt)))
        #expect(bench.story() == ["unresolved Lamp [\"SRV\", \"TXT\"]"])
        bench.hear([lamp.location, lamp.textRecord])
        bench.run(to: 21)
        bench.hear([lamp.addressRecord, lamp.denial])
        #expect(bench.story().last == "resolved Lamp" && bench.asked(.ptr).isEmpty)
        let before = bench.questions.count
        bench.run(to: 80)
        #expect(bench.questions.count == before)
    }

    @Test func `who only connects asks for no text and waits for none`() {
        var bench = DirectoryBench(Subscription(instances: [lamp.instance], wantsText: false), families: [.ipv4])
        bench.run(to: 0.5)
        #expect(Set(bench.questions.map(\.question.type)) == [.srv])
        bench.hear([lamp.location, lamp.addressRecord, lamp.denial])
        bench.run(to: 0.6)
        #expect(bench.story() == ["resolved Lamp"])
        bench.run(to: 90)
        #expect(bench.asked(.txt, .ipv4).isEmpty)
        // Until somebody browses it.
        bench.add(browse, as: 2)
        bench.hear([lamp.pointer])
        bench.run(to: 90.5)
        #expect(bench.asked(.txt, .ipv4).count == 1)
        bench.hear([lamp.textRecord])
        bench.run(to: 92)
        #expect(bench.story(2) == ["found Lamp", "resolved Lamp", "changed Lamp [\"txt\"]"])
        #expect(bench.asked(.txt, .ipv4).count == 1)
    }

    @Test func `it is not asked for any more when its client has gone, even if the link came up anew before`() {
        var bench = DirectoryBench(resolve, families: [.ipv4])
        bench.run(to: 2)
        bench.directory.open(.ipv4, mtu: 1500, at: time(2))
        bench.remove(1)
        let asked = bench.questions.count
        bench.run(to: 20_000)
        #expect(asked > 0 && bench.questions.count == asked)
    }

    @Test func `its changes and its end are told, and it is looked for again`() {
        var bench = DirectoryBench(resolve, families: [.ipv4])
        bench.hear(lamp.all)
        bench.run(to: 5)
        var moved = lamp
        moved.port = 81
        bench.hear([moved.location])
        bench.run(to: 7)
        bench.goodbye([moved.location])
        bench.run(to: 9)
        #expect(bench.story() == ["resolved Lamp", "changed Lamp [\"port\"]", "lost Lamp goodbye"])
        bench.run(to: 12)
        #expect(bench.asked(Question(lamp.instance, .srv)).count >= 2)
        bench.hear([lamp.location])
        bench.run(to: 13)
        #expect(bench.story().last == "resolved Lamp")
    }

    @Test func `a goodbye to its pointer is news for those who browse alone`() {
        var bench = DirectoryBench(resolve, families: [.ipv4])
        bench.add(browse, as: 2)
        bench.hear(lamp.all)
        bench.run(to: 5)
        bench.goodbye([lamp.pointer])
        bench.run(to: 7)
        #expect(bench.story(1) == ["resolved Lamp"])
        #expect(bench.story(2) == ["found Lamp", "resolved Lamp", "lost Lamp goodbye"])
        bench.hear([lamp.pointer])
        #expect(bench.story(2).suffix(2) == ["found Lamp", "resolved Lamp"] && bench.story(1).count == 1)
    }

    @Test func `it can be known by a name of several labels, or of another domain's form`() throws {
        let odd = try #require(DomainName("a.b.c.local"))
        var bench = DirectoryBench(Subscription(instances: [odd]), families: [.ipv4])
        bench.run(to: 10)
        #expect(bench.asked(Question(odd, .srv)).count == 4)
        #expect(bench.story() == ["unresolved a [\"SRV\", \"TXT\"]"])
    }
}

@Suite struct RecordSubscriptionTests {
    private func story(_ bench: DirectoryBench, _ client: Int = 1) -> [String] {
        (bench.records[client] ?? []).map { event in
            switch event {
            case .added(let answer): "+\(answer.record.type.rawValue) \(answer.interface)"
            case .removed(let answer, let reason):
                "-\(answer.record.type.rawValue) \(answer.interface) \(reason.rawValue)"
            }
        }
    }

    @Test func `asks for each record of a host, and never for what only comes along`() {
        var bench = DirectoryBench(host, families: [.ipv4])
        bench.run(to: 4)
        #expect(bench.asked(.a).count == 3 && bench.asked(.aaaa).count == 3 && bench.asked(.nsec).isEmpty)
        bench.hear([lamp.addressRecord, lamp.denial])
        #expect(story(bench) == ["+1 eth0", "+47 eth0"])
        bench.run(to: 90)
        #expect(bench.asked(.a).count == 3, "a unique answer ends the series")
    }

    @Test func `what is known to be unique, or denied, is not asked for`() {
        var bench = DirectoryBench(nil)
        bench.hear([lamp.addressRecord, lamp.denial])
        bench.add(host)
        #expect(story(bench) == ["+1 eth0", "+47 eth0"])
        bench.run(to: 60)
        #expect(bench.questions.isEmpty)
    }

    @Test func `a record that another host may have too is asked for all the same`() {
        var bench = DirectoryBench(nil, families: [.ipv4])
        var shared = lamp.addressRecord
        shared.flushesCache = false
        bench.hear([shared])
        bench.add(host)
        bench.run(to: 1)
        #expect(bench.asked(.a).count == 1)
    }

    @Test func `one record by two families is one, gone when both have lost it`() {
        var bench = DirectoryBench(host)
        bench.hear([lamp.addressRecord], .ipv4)
        bench.hear([lamp.addressRecord], .ipv6)
        bench.run(to: 5)
        bench.goodbye([lamp.addressRecord], .ipv4)
        bench.run(to: 7)
        #expect(story(bench) == ["+1 eth0"])
        bench.close(.ipv6)
        #expect(story(bench) == ["+1 eth0", "-1 eth0 interface_down"])
    }

    @Test func `what was lost is looked for again`() {
        var bench = DirectoryBench(host, families: [.ipv4])
        bench.hear([lamp.addressRecord, lamp.denial])
        bench.run(to: 119)
        let refreshes = bench.asked(.a).count
        #expect(refreshes == 4)
        bench.run(to: 130)
        #expect(story(bench).contains("-1 eth0 expired"))
        #expect(bench.asked(.a).filter { $0 >= 120 }.count >= 3)
    }

    @Test func `a one-shot question is asked once`() {
        var subscription = host
        subscription.rounds = 1
        var bench = DirectoryBench(subscription, families: [.ipv4])
        bench.run(to: 100)
        #expect(bench.asked(.a).count == 1 && bench.asked(.aaaa).count == 1)
    }

    @Test func `a renamed interface takes its records along`() {
        var bench = DirectoryBench(host, families: [.ipv4])
        bench.hear([lamp.addressRecord])
        bench.rename(to: "lan0")
        #expect(story(bench) == ["+1 eth0", "-1 eth0 interface_down", "+1 lan0"])
    }

    @Test func `the last of two clients ends the questions for a record`() {
        var bench = DirectoryBench(host, families: [.ipv4])
        bench.add(Subscription(records: [address]), as: 2)
        bench.remove(1)
        bench.run(to: 10)
        #expect(bench.asked(.a).count == 4 && bench.asked(.aaaa).isEmpty)
        bench.remove(2)
        bench.run(to: 1000)
        #expect(bench.asked(.a).count == 4)
    }
}
