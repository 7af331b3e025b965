// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import CLinuxShims
import LinuxIO
import Netlink
import Synchronization
import TestSupport
import Testing

@Suite(.inNamespace) struct LookupTests {
    private let kernel: LiveKernel
    private let namespace = Namespace.current
    private static let probe4 = IPAddress.of("1.1.1.1")
    private static let probe6 = IPAddress.of("2606:4700::1111")

    init() throws { kernel = try LiveKernel() }

    private func probe(_ family: AddressFamily) -> IPAddress { family == .ipv4 ? Self.probe4 : Self.probe6 }

    private func index(_ name: String) throws -> Int { try #require(try kernel.link(named: name)).index }

    private func entry(_ address: IPAddress = probe4) throws -> RouteAnswer {
        try kernel.lookup(RouteQuery(address, kind: .entry)).get()
    }

    @Test(arguments: AddressFamily.allCases, [RouteQuery.Kind.entry, .decision])
    func `without a route there is no route`(family: AddressFamily, kind: RouteQuery.Kind) async throws {
        #expect(kernel.lookup(RouteQuery(probe(family), kind: kind)) == .failure(.noRoute))
    }

    @Test(
        arguments: [
            ("unreachable", RouteFailure.unreachable), ("prohibit", .prohibited), ("blackhole", .blackhole),
            ("throw", .noRoute),
        ],
        AddressFamily.allCases
    )
    func `a route that rejects is its failure`(
        type: (word: String, failure: RouteFailure),
        family: AddressFamily
    ) async throws {
        try namespace.ip("\(family == .ipv4 ? "-4" : "-6") route add \(type.word) default metric 50")
        for kind in [RouteQuery.Kind.entry, .decision] {
            #expect(kernel.lookup(RouteQuery(probe(family), kind: kind)) == .failure(type.failure))
        }
    }

    @Test(arguments: [
        ("unreachable", RouteFailure.noRoute), ("prohibit", .prohibited), ("blackhole", .blackhole),
    ])
    func `a rule that rejects is its failure`(word: String, failure: RouteFailure) async throws {
        try namespace.ip("rule add pref 10 \(word)")
        #expect(kernel.lookup(RouteQuery(Self.probe4, kind: .entry)) == .failure(failure))
    }

    @Test func `where IPv6 is switched off, lookups fail and dumps do not`() async throws {
        let peer = try namespace.uplink()
        try namespace.run("sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1")
        #expect(kernel.lookup(RouteQuery(Self.probe6, kind: .entry)) == .failure(.noRoute))
        #expect(try kernel.addresses().values.allSatisfy { $0.address.family == .ipv4 })
        #expect(try kernel.defaultRoutes(.ipv6).values.isEmpty)
        withExtendedLifetime(peer) {}
    }

    @Test func `a socket stays in the namespace it was opened in`() async throws {
        let peer = try namespace.uplink()
        let index = try index("v0")
        let seen = Mutex<[String]>([])
        let own = kernel
        #expect(try own.links().values.map(\.name) == ["lo", "v0"])
        peer.loop.perform {
            let names = try? LiveKernel().links().values.map(\.name)
            seen.withLock { $0 = names ?? ["none"] }
        }
        await namespace.loop.eventually("the peer's answer") { seen.withLock { $0 } == ["lo", "v1"] }
        #expect(try own.link(index: index)?.name == "v0")
    }

    @Test func `an interface that does not exist is told`() async throws {
        let query = RouteQuery(Self.probe4, kind: .entry, outputInterface: 4711)
        #expect(kernel.lookup(query) == .failure(.noSuchInterface))
    }

    @Test func `a source of the other family is refused without asking`() async throws {
        let query = RouteQuery(Self.probe4, kind: .entry, source: .of("::1"))
        #expect(kernel.lookup(query) == .failure(.familyUnsupported))
        #expect(kernel.questions == 0)
    }

    @Test func `local, broadcast and multicast destinations have their types`() async throws {
        let peer = try namespace.uplink()
        #expect(try entry(.of("192.0.2.2")).type == .local)
        #expect(try entry(.of("192.0.2.255")).type == .broadcast)
        #expect(try entry(.of("192.0.2.9")).prefixLength == 24)
        #expect(try entry(.of("2001:db8:1::2")).type == .local)
        #expect(try entry(.of("ff02::1")).type == .multicast)
        withExtendedLifetime(peer) {}
    }

    @Test(arguments: AddressFamily.allCases)
    func `the metric decides, and tells`(family: AddressFamily) async throws {
        let peer = try namespace.uplink()
        let gateway = family == .ipv4 ? "192.0.2.1" : "2001:db8:1::1"
        try namespace.ip("route add default via \(gateway) dev v0 metric 600 proto ra")
        try namespace.ip("route add default via \(gateway) dev v0 metric 100 proto dhcp")
        let answer = try entry(probe(family))
        #expect(answer.metric == 100 && answer.origin == 16 && answer.table == 254 && answer.prefixLength == 0)
        #expect(answer.nexthops == [RouteNexthop(index: try index("v0"), gateway: .of(gateway))])
        withExtendedLifetime(peer) {}
    }

    @Test func `a bound lookup fails where the plain decision guesses`() async throws {
        let peer = try namespace.uplink()
        let index = try index("v0")
        let bound = RouteQuery(Self.probe4, kind: .entry, outputInterface: index)
        #expect(kernel.lookup(bound) == .failure(.unreachable) || kernel.lookup(bound) == .failure(.noRoute))
        let guess = RouteQuery(Self.probe4, kind: .decision, outputInterface: index)
        #expect(try kernel.lookup(guess).get().nexthops == [RouteNexthop(index: index)])
        withExtendedLifetime(peer) {}
    }

    @Test func `an IPv6 decision with a source may name another interface than the one that is meant`() async throws {
        let peer = try namespace.uplink()
        try namespace.ipBatch([
            "link add w0 type veth peer name w1", "link set w0 up", "link set w1 up",
            "address add 2001:db8:2::2/64 dev w0 nodad",
            "route add default via 2001:db8:1::1 dev v0 metric 100", "route add ::/0 dev w0 metric 1",
        ])
        let (bound, other) = (try index("v0"), try index("w0"))
        let decision = { source in
            try kernel.lookup(RouteQuery(probe(.ipv6), kind: .decision, source: source, outputInterface: bound)).get()
        }
        #expect(try decision(nil).onlyInterface == bound)
        #expect(try decision(.of("2001:db8:1::2")).onlyInterface == other)
        withExtendedLifetime(peer) {}
    }

    @Test func `mark, uid, source and interface choose the table`() async throws {
        let peer = try namespace.uplink()
        try namespace.ipBatch([
            "route add default via 192.0.2.1 dev v0 table 201", "route add default via 192.0.2.9 dev v0 table 1000",
            "rule add pref 10 fwmark 7 table 201", "rule add pref 20 uidrange 4000-4001 table 1000",
            "rule add pref 30 from 192.0.2.2 table 201", "rule add pref 40 oif v0 table 1000",
            "rule add pref 50 iif lo ipproto 99 table 1000",
        ])
        #expect(kernel.lookup(RouteQuery(Self.probe4, kind: .entry)) == .failure(.noRoute))
        let table = { (query: RouteQuery) in try kernel.lookup(query).get().table }
        #expect(try table(RouteQuery(Self.probe4, kind: .entry, mark: 7)) == 201)
        #expect(try table(RouteQuery(Self.probe4, kind: .entry, uid: 4001)) == 1000)
        #expect(try table(RouteQuery(Self.probe4, kind: .entry, source: .of("192.0.2.2"))) == 201)
        #expect(try table(RouteQuery(Self.probe4, kind: .entry, outputInterface: try index("v0"))) == 1000)
        withExtendedLifetime(peer) {}
    }

    @Test func `a packet that came in is routed by its interface`() async throws {
        let peer = try namespace.uplink()
        try namespace.run("sysctl -qw net.ipv4.ip_forward=1")
        try namespace.ipBatch(["route add default via 192.0.2.1 dev v0 table 202", "rule add pref 10 iif v0 table 202"])
        let query = RouteQuery(Self.probe4, kind: .entry, source: .of("192.0.2.7"), inputInterface: try index("v0"))
        #expect(try kernel.lookup(query).get().table == 202)
        withExtendedLifetime(peer) {}
    }

    @Test(arguments: [(0, false), (1, true), (2, false)])
    func `what a strict reverse path filter drops is a failure of its own`(mode: Int, isDropped: Bool) async throws {
        let first = try namespace.uplink()
        let second = try namespace.uplink("w0", network: "198.51.100", sixth: "2001:db8:2")
        try namespace.run("sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.w0.rp_filter=\(mode)")
        try namespace.ip("route add default via 192.0.2.1 dev v0")
        let own = try #require(IPAddress("198.51.100.2"))
        let query = RouteQuery(own, kind: .decision, source: Self.probe4, inputInterface: try index("w0"))
        let answer = kernel.lookup(query)
        #expect((answer == .failure(.blackhole)) == isDropped, "\(answer)")
        if !isDropped { #expect(try answer.get().type == .local) }
        withExtendedLifetime((first, second)) {}
    }

    @Test func `a gateway may be of the other family`() async throws {
        let peer = try namespace.uplink()
        try namespace.ip("-4 route add default via inet6 fe80::1 dev v0")
        #expect(try entry().nexthops == [RouteNexthop(index: try index("v0"), gateway: .of("fe80::1"))])
        withExtendedLifetime(peer) {}
    }

    @Test(arguments: AddressFamily.allCases)
    func `a leg that loses its carrier is flagged`(family: AddressFamily) async throws {
        let first = try namespace.uplink()
        let second = try namespace.uplink("w0", network: "198.51.100", sixth: "2001:db8:2")
        let gateways = family == .ipv4 ? ["192.0.2.1", "198.51.100.1"] : ["2001:db8:1::1", "2001:db8:2::1"]
        let flag = family == .ipv4 ? "-4" : "-6"
        try namespace.ip(
            "\(flag) route add default nexthop via \(gateways[0]) dev v0 nexthop via \(gateways[1]) dev w0"
        )
        let before = try entry(probe(family)).nexthops.sorted { $0.index < $1.index }
        #expect(before.map(\.flags) == [[], []])
        #expect(before.map(\.gateway) == gateways.map { IPAddress($0) })
        try first.set("v1", isUp: false)
        try await namespace.loop.eventually("the flag") {
            try entry(probe(family)).nexthops.sorted { $0.index < $1.index }.map(\.flags) == [.linkDown, []]
        }
        withExtendedLifetime((first, second)) {}
    }

    @Test(arguments: [0, 1])
    func `nexthop objects and groups are resolved`(compatibility: Int) async throws {
        let first = try namespace.uplink()
        let second = try namespace.uplink("w0", network: "198.51.100", sixth: "2001:db8:2")
        try namespace.run("sysctl -qw net.ipv4.nexthop_compat_mode=\(compatibility)")
        try namespace.ipBatch([
            "nexthop add id 1 via 192.0.2.1 dev v0", "nexthop add id 2 via 198.51.100.1 dev w0",
            "nexthop add id 10 group 1/2", "nexthop add id 6 via 2001:db8:1::1 dev v0",
            "route add default nhid 10", "route add 203.0.113.0/24 nhid 1", "route add ::/0 nhid 6",
        ])
        let (v0, w0) = (try index("v0"), try index("w0"))
        let group = try entry()
        #expect(group.nexthopID == 10)
        #expect(
            group.nexthops == [
                RouteNexthop(index: v0, gateway: .of("192.0.2.1")),
                RouteNexthop(index: w0, gateway: .of("198.51.100.1")),
            ]
        )
        #expect(try entry(.of("203.0.113.9")).nexthops == [RouteNexthop(index: v0, gateway: .of("192.0.2.1"))])
        #expect(try entry(Self.probe6).nexthops == [RouteNexthop(index: v0, gateway: .of("2001:db8:1::1"))])
        #expect(try kernel.nexthop(id: 10) == Nexthop(id: 10, members: [1, 2]))
        #expect(try kernel.nexthop(id: 11) == nil)
        #expect(try kernel.nexthops().values.map(\.id).sorted() == [1, 2, 6, 10])
        try namespace.ip("nexthop del id 10")
        #expect(kernel.lookup(RouteQuery(Self.probe4, kind: .entry)) == .failure(.noRoute))
        withExtendedLifetime((first, second)) {}
    }

    @Test func `an IPv6 route tells when it expires`() async throws {
        let peer = try namespace.uplink()
        try namespace.ip("-6 route add default via 2001:db8:1::1 dev v0 expires 30")
        let seconds = try #require(try entry(Self.probe6).expiresIn)
        #expect((25...30).contains(seconds))
        try namespace.ip("-6 route replace default via 2001:db8:1::1 dev v0")
        #expect(try entry(Self.probe6).expiresIn == nil)
        withExtendedLifetime(peer) {}
    }

    @Test func `defaults are found among many routes without reading all`() async throws {
        let peer = try namespace.uplink()
        try namespace.ipBatch(
            ["route add default via 192.0.2.1 dev v0 metric 5", "route add default via 192.0.2.9 dev v0 metric 9"]
                + (0..<2000).map { "route add 10.\($0 / 256).\($0 % 256).0/24 dev v0" }
                + ["route add ::/0 via 2001:db8:1::1 dev v0", "route add default dev v0 table 1001"]
        )
        let defaults = try kernel.defaultRoutes(.ipv4, limit: 100)
        #expect(defaults.values.map(\.answer.metric) == [5, 9])
        #expect(defaults.isComplete)
        // The socket was left in the middle of a dump; the next question works.
        let sixth = try kernel.defaultRoutes(.ipv6)
        #expect(sixth.values.map(\.answer.nexthops.first?.gateway) == [.of("2001:db8:1::1")])
        #expect(try kernel.defaultRoutes(.ipv4, table: 1001).values.map(\.answer.table) == [1001])
        #expect(try kernel.defaultRoutes(.ipv4, table: 77).values.isEmpty)
        #expect(try kernel.defaultRoutes(.ipv4, index: try index("lo")).values.isEmpty)
        #expect(try kernel.defaultRoutes(.ipv4, limit: 1).isComplete == false)
        withExtendedLifetime(peer) {}
    }

    /// Every kind of answer: two families, a refusal, a rule's table, a nexthop object, an interface that is not there.
    @Test(arguments: [0, 1])
    func `questions asked together get the answers they get alone`(compatibility: Int) async throws {
        try namespace.run("sysctl -qw net.ipv4.nexthop_compat_mode=\(compatibility)")
        let peer = try namespace.uplink()
        try namespace.ipBatch([
            "nexthop add id 1 via 192.0.2.1 dev v0", "route replace default nhid 1",
            "route add prohibit 9.9.9.9/32", "rule add pref 50 fwmark 7 lookup 77",
            "route add blackhole default table 77",
        ])
        let index = try index("v0")
        let queries = [RouteQuery.Kind.entry, .decision].flatMap { kind in
            [
                RouteQuery(Self.probe4, kind: kind), RouteQuery(Self.probe6, kind: kind),
                RouteQuery(.of("9.9.9.9"), kind: kind), RouteQuery(Self.probe4, kind: kind, mark: 7),
                RouteQuery(Self.probe4, kind: kind, outputInterface: index),
                RouteQuery(Self.probe4, kind: kind, outputInterface: 9999),
                RouteQuery(Self.probe6, kind: kind, uid: 12), RouteQuery(.of("127.0.0.1"), kind: kind),
            ]
        }
        var together = PreparedLookups(queries)
        var answers: [Result<RouteAnswer, RouteFailure>?] = []
        for _ in 0..<3 {
            let alone = queries.map(kernel.lookup)
            kernel.lookup(&together, into: &answers)
            #expect(answers == alone.map(Optional.some))
        }
        #expect(Set(queries.map { "\(kernel.lookup($0))" }).count > 6, "the questions are not alike")
        try namespace.ip("route del default")
        kernel.lookup(&together, into: &answers)
        #expect(answers[0] == .failure(.noRoute), "each answer is of its moment")
        withExtendedLifetime(peer) {}
    }

    @Test func `as many questions as are ever asked together all get an answer`() async throws {
        let peer = try namespace.uplink()
        try namespace.ip("route add default via 192.0.2.1")
        var together = PreparedLookups((0..<64).map { RouteQuery(.v4(0x0101_0100 + $0), kind: .decision) })
        var answers: [Result<RouteAnswer, RouteFailure>?] = []
        kernel.lookup(&together, into: &answers)
        #expect(answers.count == 64 && answers.allSatisfy { (try? $0?.get().type) == .unicast })
        withExtendedLifetime(peer) {}
    }

    @Test func `no question at all is not asked, nor one from a source of the other family`() async throws {
        var none = PreparedLookups([])
        var answers: [Result<RouteAnswer, RouteFailure>?] = [.failure(.noRoute)]
        kernel.lookup(&none, into: &answers)
        #expect(answers.isEmpty)
        let bound = RouteQuery(Self.probe4, kind: .entry, source: .of("192.0.2.2"))
        let strange = RouteQuery(Self.probe4, kind: .entry, source: .of("2001:db8::1"))
        let plain = RouteQuery(Self.probe4, kind: .entry)
        #expect(PreparedLookups([bound, strange, plain]).queries == [bound, plain])
    }

    @Test func `an ordinary user may look up, dump and hear, but not probe a neighbour`() async throws {
        let peer = try namespace.uplink()
        try namespace.ip("route add default via 192.0.2.1 dev v0")
        let index = try index("v0")
        try #require(nwp_become_user(65_534) == 0)
        let own = try LiveKernel()
        #expect(try own.lookup(RouteQuery(Self.probe4, kind: .entry)).get().nexthops.count == 1)
        #expect(try own.links().values.count == 2)
        _ = try EventSocket(groups: Set(EventGroup.allCases))
        #expect(throws: NetlinkError.notPermitted(request: MessageType(rawValue: 28))) {
            try own.probeNeighbor(.of("192.0.2.1"), index: index)
        }
        withExtendedLifetime(peer) {}
    }
}
