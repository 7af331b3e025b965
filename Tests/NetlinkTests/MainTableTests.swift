// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
@testable import Netlink
import TestSupport
import Testing

/// Lookups where nobody answers `RTM_GETROUTE` (rule S50).
@Suite struct MainTableTests {
    private static let probe = IPAddress.of("1.1.1.1")

    private static func route(
        _ prefix: [UInt8] = [],
        _ length: UInt8 = 0,
        nexthop: UInt32? = 2,
        metric: UInt32 = 0,
        table: UInt8 = 254,
        type: UInt8 = 1
    ) -> Builder {
        var route = Builder.route(length: length, table: table, type: type).attribute(6, metric)
        if let nexthop { route = route.attribute(4, nexthop) }
        return prefix.isEmpty ? route : route.attribute(1, prefix)
    }

    private static func address(
        _ text: String,
        index: Int32 = 2,
        flags: UInt8 = 0x80,
        scope: UInt8 = 0
    ) -> Builder {
        let address = IPAddress.of(text)
        let (family, width) = address.family == .ipv4 ? (2, 24) : (10, 64) as (UInt8, UInt8)
        return Builder.address(family: family, length: width, flags: flags, scope: scope, index: index)
            .attribute(1, address.bytes)
    }

    private func kernel(
        refusing code: Int32 = 95,
        _ routes: [Builder],
        addresses: [Builder] = [],
        nexthops: [FakeKernel.Answer] = []
    ) -> FakeKernel {
        FakeKernel([
            .getRoute: [.error(code), .messages(24, routes)], .getAddress: [.messages(20, addresses)],
            .getNexthop: nexthops,
        ])
    }

    private func lookup(
        _ kernel: FakeKernel,
        _ kind: RouteQuery.Kind = .entry,
        by index: Int? = nil
    )
        -> Result<RouteAnswer, RouteFailure>
    {
        kernel.lookup(RouteQuery(Self.probe, kind: kind, outputInterface: index))
    }

    @Test(arguments: [38, 95, 1] as [Int32])
    func `a kernel or a sandbox that answers no lookups is asked for its main table`(code: Int32) throws {
        let kernel = kernel(refusing: code, [Self.route(metric: 100)])
        let answer = try lookup(kernel).get()
        #expect(answer == RouteAnswer(nexthops: [RouteNexthop(index: 2)], metric: 100, origin: 4))
        #expect(kernel.asked.map(\.isDump) == [false, true])
        #expect(kernel.asked.last == .routes(.ipv4, table: 254, index: nil))
    }

    @Test(arguments: [101, 113, 13, 22, 97, 19, 105] as [Int32])
    func `an answer that is a refusal stands, whatever the table says`(code: Int32) {
        let kernel = kernel(refusing: code, [Self.route()])
        #expect(lookup(kernel) == .failure(RouteFailure(errno: code)))
        #expect(kernel.asked.count == 1)
    }

    @Test(arguments: [38, 1] as [Int32])
    func `where not even the table can be read the first refusal is told`(code: Int32) {
        let kernel = FakeKernel([.getRoute: [.error(code), .error(13)]])
        #expect(lookup(kernel) == .failure(.other(code)))
    }

    @Test(
        arguments: [
            ([route(nexthop: 2, metric: 100), route(nexthop: 3, metric: 50)], 3),
            ([route(nexthop: 2, metric: 50), route(nexthop: 3, metric: 50)], 2),
            ([route(nexthop: 2), route([1, 0, 0, 0], 8, nexthop: 3, metric: 900)], 3),
            ([route([1, 1, 1, 1], 32, nexthop: 4), route([1, 0, 0, 0], 8, nexthop: 3)], 4),
            ([route([2, 0, 0, 0], 8, nexthop: 3), route(nexthop: 2)], 2),
            ([route([1, 1, 1, 1], 32, nexthop: 4, table: 255), route(nexthop: 2)], 2),
            ([Builder([2, 0]), route(nexthop: 2)], 2),
        ] as [([Builder], Int)]
    )
    func `the longest prefix wins, then the lowest metric, of the main table alone`(
        routes: [Builder],
        index: Int
    ) throws {
        #expect(try lookup(kernel(routes)).get().nexthops.map(\.index) == [index])
    }

    @Test(
        arguments: [(7, .unreachable), (8, .prohibited), (6, .blackhole), (9, .noRoute)] as [(UInt8, RouteFailure)]
    )
    func `a route of the table that rejects is its failure`(type: UInt8, failure: RouteFailure) {
        let reject = Self.route([1, 0, 0, 0], 8, nexthop: nil, type: type)
        #expect(lookup(kernel([Self.route(), reject])) == .failure(failure))
        // Also for a packet that is bound to an interface, which the reject does not name.
        #expect(lookup(kernel([Self.route(), reject]), by: 2) == .failure(failure))
    }

    @Test func `a bound packet leaves by its interface or not at all`() throws {
        let routes = [Self.route(nexthop: 2, metric: 5), Self.route(nexthop: 3, metric: 500)]
        #expect(try lookup(kernel(routes), by: 3).get().metric == 500)
        #expect(lookup(kernel(routes), by: 4) == .failure(.unreachable))
        #expect(lookup(kernel([])) == .failure(.noRoute))
    }

    @Test func `a decision takes the first leg that works, and a bound one its own`() throws {
        let dead = Builder([8, 0, 0x10, 0, 2, 0, 0, 0]).bytes
        let live = Builder([8, 0, 0, 9, 3, 0, 0, 0]).bytes
        let route = Self.route(nexthop: nil).attribute(9, dead + live + live)
        let addresses = [Self.address("192.0.2.2", index: 2), Self.address("198.51.100.2", index: 3)]
        let unbound = try lookup(kernel([route], addresses: addresses), .decision).get()
        #expect(unbound.nexthops == [RouteNexthop(index: 3)] && unbound.preferredSource == .of("198.51.100.2"))
        #expect(unbound.prefixLength == 32)
        let bound = try lookup(kernel([route], addresses: addresses), .decision, by: 2).get()
        #expect(
            bound.nexthops == [RouteNexthop(index: 2, flags: .linkDown)] && bound.preferredSource == .of("192.0.2.2")
        )
        #expect(try lookup(kernel([route]), .entry).get().nexthops.count == 3)
    }

    @Test(
        arguments: [
            ([address("192.0.2.2"), address("192.0.2.3")], "192.0.2.2"),
            ([address("192.0.2.2", flags: 0x20), address("192.0.2.3")], "192.0.2.3"),
            ([address("169.254.0.2", scope: 253), address("192.0.2.3", flags: 0x20)], "192.0.2.3"),
            ([address("169.254.0.2", scope: 253)], "169.254.0.2"),
            ([address("127.0.0.2", scope: 254)], nil),
            ([address("192.0.2.2", flags: 0x40)], nil), ([address("192.0.2.2", flags: 0x44)], "192.0.2.2"),
            ([address("192.0.2.2", flags: 0x4C)], nil),
            ([address("198.51.100.2", index: 3)], nil), ([address("2001:db8::2")], nil), ([], nil),
        ] as [([Builder], String?)]
    )
    func `the source of a decision is the best address of the leg`(addresses: [Builder], source: String?) throws {
        let answer = try lookup(kernel([Self.route()], addresses: addresses), .decision).get()
        #expect(answer.preferredSource?.description == source)
    }

    @Test func `a source that the route or the packet names needs no address`() throws {
        let named = kernel([Self.route().attribute(7, [203, 0, 113, 9])])
        #expect(try lookup(named, .decision).get().preferredSource == .of("203.0.113.9"))
        #expect(!named.asked.contains { $0.type == .getAddress })
        let query = RouteQuery(Self.probe, kind: .decision, source: .of("203.0.113.7"))
        #expect(try kernel([Self.route()]).lookup(query).get().preferredSource == .of("203.0.113.7"))
    }

    @Test func `a route that names only its nexthop object has the legs of that`() throws {
        let object = Builder([2, 0, 0, 0, 0, 0, 0, 0]).attribute(1, 4).attribute(5, 7)
        let answers = kernel([Self.route(nexthop: nil).attribute(30, 4)], nexthops: [.messages(104, [object])])
        #expect(try lookup(answers).get().nexthops == [RouteNexthop(index: 7)])
    }
}

/// A kernel that refuses single lookups and answers all else, as a sandbox may.
private final class Sandbox: MessageSource {
    private let kernel: LiveKernel

    init() throws(NetlinkError) { kernel = try LiveKernel() }

    func request(_ question: Question, each: (UInt16, Span<UInt8>) -> Bool) throws(NetlinkError) -> Completion {
        let request = MessageType(rawValue: question.type)
        if question.type == .getRoute && !question.isDump { throw .notPermitted(request: request) }
        return try kernel.request(question, each: each)
    }

    func pauseBeforeRetry() { kernel.pauseBeforeRetry() }
}

@Suite(.inNamespace) struct SandboxTests {
    private let namespace = Namespace.current

    @Test func `without lookups the main table gives the kernel's own answers`() async throws {
        let first = try namespace.uplink()
        let second = try namespace.uplink("w0", network: "198.51.100", sixth: "2001:db8:2")
        try namespace.ipBatch([
            "route add default via 192.0.2.1 dev v0 metric 600", "route add default via 198.51.100.1 dev w0 metric 100",
            "route add 203.0.113.0/24 via 192.0.2.1 dev v0 src 192.0.2.2", "route add unreachable 203.0.113.64/26",
            "route add blackhole 10.0.0.0/8", "route add ::/0 via 2001:db8:1::1 dev v0 metric 7",
            "route add prohibit 2001:db8:9::/48", "route add 2001:db8:9:9::/64 via 2001:db8:2::1 dev w0",
            "nexthop add id 1 via 192.0.2.1 dev v0", "route add 172.16.0.0/12 nhid 1",
        ])
        let (kernel, sandbox) = (try LiveKernel(), try Sandbox())
        let probes = [
            "1.1.1.1", "203.0.113.9", "203.0.113.70", "10.1.2.3", "172.16.5.5", "192.0.2.77", "198.51.100.9",
            "2606:4700::1111", "2001:db8:9::1", "2001:db8:9:9::1", "2001:db8:1::77",
        ]
        for text in probes {
            for kind in [RouteQuery.Kind.entry, .decision] {
                let query = RouteQuery(.of(text), kind: kind)
                var (told, read) = (kernel.lookup(query), sandbox.lookup(query))
                // A decision tells neither who made the route, nor its metric or object.
                if kind == .decision { (told, read) = (told.asDecision, read.asDecision) }
                #expect(read == told, "\(text) \(kind)")
            }
        }
        withExtendedLifetime((first, second)) {}
    }
}

extension Result<RouteAnswer, RouteFailure> {
    /// What a decision tells of every family alike.
    fileprivate var asDecision: Self {
        map { RouteAnswer(type: $0.type, table: $0.table, nexthops: $0.nexthops, preferredSource: $0.preferredSource) }
    }
}
