// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import TestSupport
import Testing

@testable import MulticastDNS

/// Services, some of which share hosts and types, and the packets that tell of them.
private let services: [MadeUpService] = (0..<6).map { number in
    var service = MadeUpService()
    service.name = "Service \(number)"
    service.type = "_t\(number % 2)._tcp"
    service.host = "host-\(number % 3).local"
    service.lifetime = [2, 30, 120][number % 3]
    return service
}

private let subscriptions: [Subscription] = [
    Subscription(pointers: [services[0].typeName]), Subscription(pointers: Set(services.map(\.typeName))),
    Subscription(pointers: [services[1].subtypeName]), Subscription(instances: [services[2].instance]),
    Subscription(records: [RecordKey(services[0].hostName, .a)], passive: [RecordKey(services[0].hostName, .nsec)]),
    Subscription(census: CensusSettings()), Subscription(records: [RecordKey(services[3].instance, .srv)], rounds: 1),
    Subscription(pointers: [services[1].typeName], records: [RecordKey(services[1].typeName, .ptr)]),
]

@Suite(.computing) struct DirectoryInvariantTests {
    /// Does one thing or another.
    private func step(_ bench: inout DirectoryBench, _ now: inout Double, _ random: inout RandomSource) {
        let service = services.randomElement(using: &random) ?? services[0]
        let family: AddressFamily = Bool.random(using: &random) ? .ipv4 : .ipv6
        let parts = (service.all + [service.subtypePointer]).filter { _ in Int.random(in: 0..<3, using: &random) > 0 }
        switch Int.random(in: 0..<12, using: &random) {
        case 0...4: bench.hear(parts.shuffled(using: &random), family)
        case 5: bench.goodbye(parts, family)
        case 6:
            let client = Int.random(in: 0..<subscriptions.count, using: &random)
            bench.add(subscriptions[client], as: client)
        case 7: bench.remove(Int.random(in: 0..<subscriptions.count, using: &random))
        case 8: bench.close(family)
        case 9: bench.open(family)
        case 10: bench.rename(to: ["eth0", "lan0"].randomElement(using: &random) ?? "eth0")
        default:
            now += [0.01, 0.3, 1.1, 40, 500].randomElement(using: &random) ?? 1
            bench.run(to: now)
        }
    }

    /// What must hold between any two packets.
    private func check(_ bench: DirectoryBench, _ comment: Comment) {
        let directory = bench.directory
        let instances = Set(directory.instances.keys)
        #expect(directory.activeQueries.instances == instances, comment)
        #expect(
            directory.activeQueries.reported == Set(directory.instances.filter { $0.value.published != nil }.keys),
            comment
        )
        #expect(directory.activeQueries.types == Set(directory.instances.values.flatMap(\.sources)), comment)
        #expect(Set(directory.activeQueries.hosts.values.flatMap(\.self)).isSubset(of: instances), comment)
        #expect(
            directory.resolving.isSubset(of: instances) && Set(directory.waiting.keys).isSubset(of: instances),
            comment
        )
        for (name, state) in directory.instances {
            #expect(directory.isWanted(name, by: state.sources), comment)
            #expect(state.announced == state.sources, comment)
            #expect(state.published.map { $0.port != 0 && !$0.addresses.isEmpty } ?? true, comment)
        }
    }

    @Test(arguments: 0..<40 as Range<UInt64>)
    func `tables agree with each other whatever happens, and nothing is left when all clients have gone`(seed: UInt64) {
        var random = RandomSource(seed: seed)
        var bench = DirectoryBench(nil)
        var now = 0.0
        for number in 0..<150 {
            step(&bench, &now, &random)
            check(bench, "seed \(seed), step \(number)")
        }
        for client in subscriptions.indices { bench.remove(client) }
        check(bench, "seed \(seed), at the end")
        let directory = bench.directory
        #expect(
            directory.instances.isEmpty && directory.activeQueries.records.isEmpty
                && directory.instancesBySource.isEmpty
        )
        #expect(directory.zones.values.allSatisfy { $0.schedule.count == 0 } && directory.waiting.count == 0)
        let before = bench.questions.count
        bench.run(to: now + 20_000)
        #expect(bench.questions.count == before)
        #expect(bench.directory.zones.values.allSatisfy { $0.cache.count == 0 && $0.cache.bytes == 0 })
    }

    @Test(arguments: 0..<40 as Range<UInt64>)
    func `a client that comes late knows the same as one that was there all the time`(seed: UInt64) {
        var random = RandomSource(seed: seed &+ 1000)
        var bench = DirectoryBench(nil)
        let subscription = Subscription(pointers: Set(services.map(\.typeName)))
        bench.add(subscription, as: 100)
        var now = 0.0
        for _ in 0..<100 { step(&bench, &now, &random) }
        bench.add(subscription, as: 101)
        #expect(bench.present(100) == bench.present(101))
    }

    @Test(arguments: 0..<10 as Range<UInt64>)
    func `what is said last counts, in whatever order it came`(seed: UInt64) {
        var random = RandomSource(seed: seed &+ 2000)
        var bench = DirectoryBench(Subscription(pointers: Set(services.map(\.typeName))), families: [.ipv4])
        for _ in 0..<5 {
            let records = services.flatMap(\.all).shuffled(using: &random)
            for record in records { bench.hear([record]) }
        }
        bench.run(to: 0.5)
        #expect(bench.present(1).count == services.count)
        for record in services.map(\.pointer).shuffled(using: &random) { bench.goodbye([record]) }
        bench.run(to: 2)
        #expect(bench.present(1).isEmpty && bench.directory.instances.isEmpty)
    }
}

@Suite(.computing) struct DirectoryBoundTests {
    private func honest(_ type: String = "_honest._tcp") -> MadeUpService {
        var service = MadeUpService()
        service.type = type
        service.host = "honest.local"
        return service
    }

    private func fake(_ number: Int) -> MadeUpService {
        var service = MadeUpService()
        (service.name, service.host) = ("fake \(number)", "fake-\(number).local")
        return service
    }

    @Test(arguments: [1, 0])
    func `a flood of services that resolve keeps neither the one before nor the one after it out`(source: UInt32) {
        var settings = MulticastSettings()
        settings.maximumInstances = 64
        settings.maximumRecords = 512
        var bench = DirectoryBench(families: [.ipv4], settings: settings)
        var before = honest()
        before.name = "Before"
        bench.hear(before.all)
        for number in 0..<1000 { bench.hear(fake(number).all, from: source == 0 ? UInt32(number) : source) }
        var after = honest()
        after.name = "After"
        bench.hear(after.all, from: 70_000)
        let names = Set(bench.directory.services.map(\.name))
        #expect(names.isSuperset(of: ["Before", "After"]))
        #expect(bench.directory.instances.count <= 64 && (bench.directory.zones[.ipv4]?.cache.count ?? 0) <= 512)
    }

    @Test func `an instance that a client named never makes room`() {
        var settings = MulticastSettings()
        settings.maximumInstances = 16
        let named = honest()
        var bench = DirectoryBench(Subscription(instances: [named.instance]), families: [.ipv4], settings: settings)
        bench.add(Subscription(census: CensusSettings()), as: 2)
        for number in 0..<500 { bench.hear([fake(number).pointer]) }
        #expect(bench.directory.instances[named.instance] != nil && bench.directory.instances.count <= 16)
        bench.hear(named.all)
        #expect(bench.story().last == "resolved Lamp")
    }

    @Test func `questions do not grow with what strangers say`() {
        var bench = DirectoryBench(families: [.ipv4])
        for number in 0..<300 {
            bench.hear([fake(number).pointer])
            bench.run(to: Double(number) / 1000)
        }
        let first = bench.questions.count
        bench.run(to: 29)
        // Each is asked for three times, location and text, and then left alone for a while.
        #expect(bench.questions.count <= 300 * 2 * 3 && first <= 300 * 2)
        for _ in 0..<50 { bench.hear([fake(1).pointer]) }
        let before = bench.questions.count
        bench.run(to: 30)
        #expect(bench.questions.count == before, "hearing of it again is no reason to ask again")
    }

    @Test func `a pointer out of local is shown as what it is, and asked for nowhere`() throws {
        let type = honest().typeName
        let far = try #require(DomainName("Printer._honest._tcp.example.com"))
        var bench = DirectoryBench(Subscription(pointers: [type]), families: [.ipv4])
        bench.hear([ResourceRecord(type, .ptr, .pointer(far), timeToLive: 4500)])
        bench.run(to: 6)
        #expect(bench.story().first == "found Printer" && bench.story().last?.hasPrefix("unresolved") == true)
        #expect(!bench.questions.contains { $0.question.name == far })
    }
}
