// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import DNSWire
import LinuxIO
import TestSupport
import Testing

@testable import MulticastDNS

private let lamp = MadeUpService()
private let location = Question(lamp.instance, .srv)

/// Services that lose their location while a pointer leads to them.
@Suite struct MissingServiceTests {
    /// A lamp whose location was withdrawn at 10 s, and is gone at 11 s.
    private func bench(_ subscription: Subscription = Subscription(pointers: [lamp.typeName])) -> DirectoryBench {
        var bench = DirectoryBench(subscription, families: [.ipv4])
        bench.hear(lamp.all)
        bench.run(to: 10)
        bench.goodbye([lamp.location])
        bench.run(to: 12)
        #expect(bench.summary == ["added Lamp", "removed Lamp goodbye"])
        return bench
    }

    @Test func `it is queried with growing gaps as long as the pointer lives, and found again`() {
        var bench = bench()
        #expect(bench.asked(location).count { $0 > 11 } == 1)
        bench.hear([lamp.pointer])
        bench.run(to: 300)
        let times = bench.asked(location).filter { $0 > 12 }
        let gaps = zip(times.dropFirst(), times).map { Int(($0 - $1).rounded()) }
        #expect(
            gaps.starts(with: [1, 2, 4, 8, 16, 25, 25, 25]) && gaps.dropFirst(5).allSatisfy { $0 == 25 },
            "\(gaps)"
        )
        #expect(bench.summary.count == 2 && bench.directory.unresolvedCount == 1 && !bench.directory.isResolving)
        bench.hear([lamp.location, lamp.addressRecord, lamp.denial])
        #expect(bench.summary.last == "added Lamp" && bench.directory.unresolvedCount == 0)
        let count = bench.asked(location).count
        bench.run(to: 390)
        #expect(bench.asked(location).count == count)
    }

    @Test func `one that a client follows by name is queried as often`() {
        var bench = bench(Subscription(pointers: [lamp.typeName], instances: [lamp.instance]))
        bench.hear([lamp.pointer])
        bench.run(to: 300)
        let times = bench.asked(location).filter { $0 > 11 }
        #expect(zip(times.dropFirst(), times).allSatisfy { $0 - $1 < 25.5 } && times.count < 30, "\(times)")
        bench.hear([lamp.location, lamp.addressRecord, lamp.denial])
        #expect(bench.summary.last == "added Lamp")
    }

    @Test func `it is queried at once when its pointer is confirmed`() {
        var bench = bench()
        bench.hear([lamp.pointer])
        bench.run(to: 100)
        let count = bench.asked(location).count
        bench.run(to: 110)
        #expect(bench.asked(location).count == count)
        bench.hear([lamp.pointer])
        bench.run(to: 110.2)
        #expect(bench.asked(location).count == count + 1)
    }

    @Test func `an address that is withdrawn is queried too`() {
        var bench = DirectoryBench(Subscription(pointers: [lamp.typeName]), families: [.ipv4])
        var long = lamp
        long.lifetime = 4500
        bench.hear([lamp.pointer, long.location, long.textRecord, lamp.addressRecord, long.denial])
        bench.run(to: 10)
        bench.goodbye([lamp.addressRecord])
        bench.run(to: 20)
        #expect(bench.summary == ["added Lamp", "removed Lamp unresolvable"])
        bench.hear([lamp.pointer])
        bench.run(to: 100)
        let times = bench.asked(Question(lamp.hostName, .a)).filter { $0 > 20 }
        #expect(times.count >= 6, "\(times)")
    }

    @Test func `without its pointer nobody queries it, nor one that says it has no port`() {
        var bench = bench()
        bench.run(to: 22)
        #expect(bench.directory.instances.isEmpty)
        let count = bench.asked(location).count
        bench.run(to: 300)
        #expect(bench.asked(location).count == count)
        var closed = lamp
        closed.port = 0
        var other = DirectoryBench(Subscription(pointers: [lamp.typeName]), families: [.ipv4])
        other.hear(lamp.all)
        other.run(to: 10)
        other.hear([closed.location])
        other.run(to: 12)
        #expect(other.summary.last == "removed Lamp unresolvable")
        other.hear([lamp.pointer])
        other.run(to: 60)
        #expect(other.asked(location).isEmpty)
    }

    // MARK: - Queries of others (RFC 6762 section 10.5)

    @Test(arguments: [true, false])
    func `what others query in vain is queried by us before it is given up`(isAnswered: Bool) {
        var bench = DirectoryBench(Subscription(pointers: [lamp.typeName]), families: [.ipv4])
        bench.hear(lamp.all)
        for second in [10.0, 12] {
            bench.run(to: second)
            bench.query([location])
        }
        bench.run(to: 12.9)
        #expect(bench.asked(location).isEmpty)
        bench.run(to: 13.2)
        #expect(bench.asked(location).count == 1)
        // Its owner would not answer for what it finds among our known answers.
        #expect(bench.directory.zones[.ipv4]?.cache.lists(lamp.location, at: time(13.2)) == false)
        if isAnswered { bench.hear([lamp.location]) }
        bench.run(to: 40)
        #expect(bench.summary == (isAnswered ? ["added Lamp"] : ["added Lamp", "removed Lamp expired"]))
    }
}

/// A real peer that answers one host and not another one.
@Suite(.inNamespace) struct UnansweredQueriesTests {
    @Test func `a service of python-zeroconf that answers us is not lost because others query it in vain`() async throws
    {
        let (here, peer, other) = (Namespace.current, try Namespace(), try Namespace())
        let lan = try Lan()
        try lan.join(here, "v0", "192.0.2.1/24", port: "p0")
        try lan.join(peer, "v1", "192.0.2.2/24", port: "p1")
        try lan.join(other, "v2", "192.0.2.3/24", port: "p2")
        try peer.run("nft table ip t { chain i { type filter hook input priority 0; ip saddr 192.0.2.3 drop; }; }")
        let engine = MulticastEngine(loop: here.loop, clock: KernelClock())
        let all = try here.multicastInterface("v0")
        let addresses = all.addresses.filter { $0.address.family == .ipv4 }
        engine.setInterfaces([MulticastInterface(index: all.index, name: all.name, addresses: addresses)])
        engine.start()
        let type = try #require(DomainName("_demo._tcp.local"))
        var events: [BrowseEvent] = []
        let browse = ServiceBrowse(engine, types: [type]) { events.append($0) }
        let process = try ZeroconfPeer.announce("Desk", "_demo._tcp", 8080, in: peer)
        await here.loop.eventually(within: .seconds(60)) { browse.services.first?.addresses.isEmpty == false }
        let instance = try #require(browse.services.first).instance
        let query = try #require(Message(questions: [Question(instance, .srv)]).encoded())
        let index = try other.multicastInterface("v2").index
        let found = KernelClock().boot
        for delay in [5, 7] {
            await here.loop.eventually(within: .seconds(60)) { KernelClock().boot > found + .seconds(delay) }
            other.multicast(query, from: index, by: [.ipv4])
        }
        // Given up ten seconds after the first one.
        await here.loop.eventually(within: .seconds(60)) { KernelClock().boot > found + .seconds(18) }
        #expect(events.map(BrowseEvent.text) == ["found Desk", "resolved Desk"])
        engine.stop()
        withExtendedLifetime((process, browse)) {}
    }
}
