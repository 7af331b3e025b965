// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
@testable import Netlink
import Testing

@Suite struct DumpTests {
    private static let lo = Builder.link(index: 1).attribute(3, "lo")
    private static let eth0 = Builder.link(index: 2).attribute(3, "eth0")

    @Test func `a bridge is asked for one address, and read as a whole where it keeps it for a VLAN`() throws {
        func entry(_ port: UInt8, _ address: [UInt8]) -> Builder {
            Builder([7, 0, 0, 0] + [port, 0, 0, 0] + [2, 0, 0, 0]).attribute(2, address).attribute(9, 20)
        }
        let (one, two): ([UInt8], [UInt8]) = ([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2])
        let known = FakeKernel([.getNeighbor: [.messages(28, [entry(5, one)])]])
        #expect(try known.bridgePort(of: one, bridge: 20) == 5)
        #expect(known.asked.count == 1)
        let all = [entry(5, one), entry(6, two), entry(7, one)]
        let tagged = FakeKernel([.getNeighbor: [.error(2), .messages(28, all)]])
        #expect(try tagged.bridgePort(of: two, bridge: 20) == 6)
        let unknown = FakeKernel([.getNeighbor: [.error(2), .messages(28, [entry(5, one)])]])
        #expect(try unknown.bridgePort(of: two, bridge: 20) == nil)
    }

    @Test func `a whole dump is asked for once`() throws {
        let kernel = FakeKernel([.getLink: [.messages(16, [Self.lo, Self.eth0])]])
        let links = try kernel.links()
        #expect(links.values.map(\.name) == ["lo", "eth0"])
        #expect(links.isConsistent && links.isComplete && links.undecodable == 0)
        #expect(kernel.asked.count == 1 && kernel.pauses == 0)
    }

    @Test(arguments: 1...4)
    func `a torn dump is asked for again, from an empty list`(times: Int) throws {
        let torn = Array(repeating: FakeKernel.Answer.messages(16, [Self.lo, Self.lo], isTorn: true), count: times)
        let kernel = FakeKernel([.getLink: torn + [.messages(16, [Self.lo, Self.eth0])]])
        let links = try kernel.links()
        #expect(links.values.map(\.name) == ["lo", "eth0"] && links.isConsistent)
        #expect(kernel.asked.count == times + 1 && kernel.pauses == times)
    }

    @Test func `a dump that is torn five times is handed out as such`() throws {
        let kernel = FakeKernel([.getLink: [.messages(16, [Self.lo], isTorn: true)]])
        let links = try kernel.links()
        #expect(!links.isConsistent && links.values.map(\.name) == ["lo"])
        #expect(kernel.asked.count == 5 && kernel.pauses == 4)
    }

    @Test func `what cannot be understood is counted, not dropped in silence`() throws {
        let kernel = FakeKernel([.getLink: [.messages(16, [Self.lo, Builder.link(index: 3), Builder([]), Self.eth0])]])
        let links = try kernel.links()
        #expect(links.values.count == 2 && links.undecodable == 2)
    }

    @Test func `rules of multicast routing are none of ours`() throws {
        let ours = Builder([2, 0, 0, 0, 254, 0, 0, 1, 0, 0, 0, 0])
        let multicast = Builder([128, 0, 0, 0, 254, 0, 0, 1, 0, 0, 0, 0])
        let kernel = FakeKernel([.getRule: [.messages(32, [ours, multicast, Builder([2, 0])])]])
        let rules = try kernel.rules()
        #expect(rules.values.map(\.table) == [254])
        #expect(rules.undecodable == 1)
    }

    @Test(
        arguments: [
            (1, .notPermitted(request: MessageType(rawValue: 18))),
            (95, .refused(request: MessageType(rawValue: 18), code: 95, detail: nil)),
        ] as [(Int32, NetlinkError)]
    )
    func `a refusal is thrown, not retried`(code: Int32, error: NetlinkError) {
        let kernel = FakeKernel([.getLink: [.error(code)]])
        #expect(throws: error) { try kernel.links() }
        #expect(kernel.asked.count == 1 && kernel.pauses == 0)
    }

    @Test func `every table is read by its own question`() throws {
        let address = Builder.address(family: 2, length: 24).attribute(2, [192, 0, 2, 1])
        let neighbor = Builder([2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 1]).attribute(1, [192, 0, 2, 9])
        let nexthop = Builder([2, 0, 0, 0, 0, 0, 0, 0]).attribute(1, 4).attribute(5, 2)
        let kernel = FakeKernel([
            .getAddress: [.messages(20, [address])], .getNeighbor: [.messages(28, [neighbor])],
            .getNexthop: [.messages(104, [nexthop])],
        ])
        #expect(try kernel.addresses().values.map(\.address) == [.of("192.0.2.1")])
        #expect(try kernel.neighbors().values.map(\.address) == [.of("192.0.2.9")])
        #expect(try kernel.neighbors(index: 3).values.map(\.state) == [.stale])
        #expect(try kernel.nexthops().values.map(\.id) == [4])
        #expect(kernel.asked.map(\.type) == [.getAddress, .getNeighbor, .getNeighbor, .getNexthop])
        #expect(kernel.asked.allSatisfy { $0.isDump })
    }
}

@Suite struct SingleAnswerTests {
    private static let eth0 = Builder.link(index: 2).attribute(3, "eth0")

    @Test(arguments: [2, 19] as [Int32])
    func `an entry that is not there is nil`(code: Int32) throws {
        let kernel = FakeKernel([.getLink: [.error(code)], .getNeighbor: [.error(code)], .getNexthop: [.error(code)]])
        #expect(try kernel.link(index: 2) == nil)
        #expect(try kernel.link(named: "eth0") == nil)
        #expect(try kernel.neighbor(.of("192.0.2.1"), index: 2) == nil)
        #expect(try kernel.nexthop(id: 7) == nil)
    }

    @Test(arguments: [1, 12, 22] as [Int32])
    func `another error is thrown`(code: Int32) {
        let kernel = FakeKernel([.getLink: [.error(code)]])
        #expect(throws: NetlinkError.self) { try kernel.link(index: 2) }
    }

    @Test func `an answer that cannot be understood is an error, not nothing`() {
        let kernel = FakeKernel([.getLink: [.messages(16, [Builder.link(index: 2)])]])
        #expect(throws: NetlinkError.malformedAnswer(request: MessageType(rawValue: 18))) { try kernel.link(index: 2) }
        let silent = FakeKernel([.getLink: [.messages(16, [])]])
        #expect(throws: NetlinkError.malformedAnswer(request: MessageType(rawValue: 18))) { try silent.link(index: 2) }
    }

    @Test func `only the first message of a single answer counts`() throws {
        let kernel = FakeKernel([
            .getLink: [.messages(16, [Self.eth0, Builder.link(index: 3).attribute(3, "eth1")])]
        ])
        #expect(try kernel.link(named: "eth0")?.index == 2)
        #expect(kernel.handedOver == 1)
    }

    @Test(arguments: ["", String(repeating: "a", count: 128), String(repeating: "ü", count: 64)])
    func `a name that cannot be one is not asked for`(name: String) throws {
        let kernel = FakeKernel([.getLink: [.messages(16, [Self.eth0])]])
        #expect(try kernel.link(named: name) == nil)
        #expect(kernel.asked.isEmpty)
    }
}

@Suite struct DefaultRouteTests {
    private static func route(
        _ address: [UInt8],
        _ length: UInt8,
        family: UInt8 = 2,
        metric: UInt32 = 0
    ) -> Builder {
        let route = Builder.route(family: family, length: length).attribute(4, 2).attribute(6, metric)
        return length == 0 && address.isEmpty ? route : route.attribute(1, address)
    }

    private static let wide = Array(IPAddress.of("2001:db8::").bytes)

    private func kernel(_ routes: [Builder]) -> FakeKernel { FakeKernel([.getRoute: [.messages(24, routes)]]) }

    @Test func `IPv4 defaults come first, and reading ends with the first other route`() throws {
        let kernel = kernel([
            Self.route([], 0, metric: 5), Self.route([], 0, metric: 9), Self.route([10, 0, 0, 0], 8),
            Self.route([], 0, metric: 99),
        ])
        let defaults = try kernel.defaultRoutes(.ipv4)
        #expect(defaults.values.map(\.answer.metric) == [5, 9])
        #expect(defaults.isComplete && kernel.handedOver == 3)
    }

    @Test func `halves of IPv4 do not end the reading`() throws {
        let kernel = kernel([
            Self.route([0, 0, 0, 0], 1), Self.route([], 0, metric: 7), Self.route([128, 0, 0, 0], 1),
        ])
        #expect(try kernel.defaultRoutes(.ipv4).values.map(\.answer.metric) == [7])
    }

    @Test func `IPv6 defaults come last, and are found there`() throws {
        let routes =
            (0..<500).map { _ in Self.route(Self.wide, 32, family: 10) } + [Self.route([], 0, family: 10, metric: 1024)]
        let kernel = kernel(routes)
        let defaults = try kernel.defaultRoutes(.ipv6)
        #expect(defaults.values.map(\.answer.metric) == [1024] && defaults.isComplete)
        #expect(kernel.handedOver == 501)
    }

    @Test func `a table over the limit is given up, and says so`() throws {
        let routes = (0..<500).map { _ in Self.route(Self.wide, 32, family: 10) } + [Self.route([], 0, family: 10)]
        let kernel = kernel(routes)
        let defaults = try kernel.defaultRoutes(.ipv6, limit: 100)
        #expect(defaults.values.isEmpty && !defaults.isComplete)
        #expect(kernel.handedOver == 100)
    }

    @Test func `what cannot be understood counts, and ends at the limit too`() throws {
        let kernel = kernel(Array(repeating: Builder([2, 0]), count: 50))
        let defaults = try kernel.defaultRoutes(.ipv4, limit: 20)
        #expect(defaults.undecodable == 20 && kernel.handedOver == 20)
    }

    @Test func `a table that never was is empty, another error is thrown`() throws {
        #expect(try FakeKernel([.getRoute: [.error(2)]]).defaultRoutes(.ipv4, table: 77).values.isEmpty)
        #expect(throws: NetlinkError.notPermitted(request: MessageType(rawValue: 26))) {
            try FakeKernel([.getRoute: [.error(1)]]).defaultRoutes(.ipv4)
        }
    }

    @Test func `a table that changed is read again`() throws {
        let torn = FakeKernel.Answer.messages(24, [Self.route([], 0, metric: 1)], isTorn: true)
        let kernel = FakeKernel([.getRoute: [torn, torn, .messages(24, [Self.route([], 0, metric: 2)])]])
        #expect(try kernel.defaultRoutes(.ipv4).values.map(\.answer.metric) == [2])
        #expect(kernel.pauses == 2)
        let restless = FakeKernel([.getRoute: [torn]])
        #expect(try !restless.defaultRoutes(.ipv4).isConsistent)
        #expect(restless.asked.count == 5)
    }
}

@Suite struct LookupAnswerTests {
    private static let query = RouteQuery(.of("1.1.1.1"), kind: .entry)

    private func lookup(
        _ answer: FakeKernel.Answer,
        nexthops: [FakeKernel.Answer] = []
    ) -> Result<RouteAnswer, RouteFailure> {
        FakeKernel([.getRoute: [answer], .getNexthop: nexthops]).lookup(Self.query)
    }

    private static func nexthop(_ id: UInt32, _ index: UInt32) -> FakeKernel.Answer {
        .messages(104, [Builder([2, 0, 0, 0, 0, 0, 0, 0]).attribute(1, id).attribute(5, index)])
    }

    private static func group(_ members: [UInt32]) -> FakeKernel.Answer {
        let bytes: [UInt8] = members.flatMap { Question.bytes(of: $0) + [0, 0, 0, 0] as [UInt8] }
        return .messages(104, [Builder([0, 0, 0, 0, 0, 0, 0, 0]).attribute(1, 10).attribute(2, bytes)])
    }

    @Test(
        arguments: [
            (101, .noRoute), (113, .unreachable), (13, .prohibited), (22, .blackhole), (97, .familyUnsupported),
            (19, .noSuchInterface), (1, .other(1)), (105, .other(105)),
        ] as [(Int32, RouteFailure)]
    )
    func `an errno is the failure a packet would meet`(code: Int32, failure: RouteFailure) {
        #expect(lookup(.error(code)) == .failure(failure))
        #expect(RouteFailure(errno: code) == failure)
    }

    @Test(
        arguments: [
            (7, .unreachable), (8, .prohibited), (6, .blackhole), (9, .noRoute),
        ] as [(UInt8, RouteFailure)]
    )
    func `a route that rejects is a failure even where the kernel answers with it`(type: UInt8, failure: RouteFailure) {
        #expect(lookup(.messages(24, [Builder.route(family: 10, type: type)])) == .failure(failure))
    }

    @Test(arguments: [RouteType.unicast, .local, .broadcast, .anycast, .multicast])
    func `other types are answers`(type: RouteType) throws {
        let answer = try lookup(.messages(24, [Builder.route(type: type.rawValue).attribute(4, 2)])).get()
        #expect(answer.type == type && answer.nexthops == [RouteNexthop(index: 2)])
    }

    @Test func `nonsense is a failure with EBADMSG`() {
        #expect(lookup(.messages(24, [Builder([2, 0])])) == .failure(.other(74)))
        #expect(lookup(.messages(24, [])) == .failure(.other(74)))
    }

    @Test func `a route that names only its nexthop object has the legs of that`() throws {
        let route = FakeKernel.Answer.messages(24, [Builder.route().attribute(30, 4)])
        #expect(try lookup(route, nexthops: [Self.nexthop(4, 7)]).get().nexthops == [RouteNexthop(index: 7)])
    }

    @Test func `a group has the legs of its members, those gone left out`() throws {
        let route = FakeKernel.Answer.messages(24, [Builder.route().attribute(30, 10)])
        let members: [FakeKernel.Answer] = [Self.group([1, 2, 3]), Self.nexthop(1, 7), .error(2), Self.nexthop(3, 9)]
        let answer = try lookup(route, nexthops: members).get()
        #expect(answer.nexthops == [RouteNexthop(index: 7), RouteNexthop(index: 9)] && answer.nexthopID == 10)
    }

    @Test func `an object that is gone leaves no legs, and an error is the failure`() throws {
        let route = FakeKernel.Answer.messages(24, [Builder.route().attribute(30, 4)])
        #expect(try lookup(route, nexthops: [.error(2)]).get().nexthops.isEmpty)
        #expect(lookup(route, nexthops: [.error(1)]) == .failure(.other(1)))
    }

    @Test func `legs that are told are not asked for`() throws {
        let route = FakeKernel.Answer.messages(24, [Builder.route().attribute(30, 4).attribute(4, 3)])
        let kernel = FakeKernel([.getRoute: [route]])
        #expect(try kernel.lookup(Self.query).get().nexthops == [RouteNexthop(index: 3)])
        #expect(kernel.asked.map(\.type) == [.getRoute])
    }
}

@Suite struct ProbeDecisionTests {
    private static let router = IPAddress.of("192.0.2.1")

    private func kernel(_ state: NeighborState?, flags: UInt8 = 0, extended: UInt32? = nil) -> FakeKernel {
        let entry = state.map { state in
            var entry = Builder([2, 0, 0, 0, 3, 0, 0, 0] + Question.bytes(of: state.rawValue) + [flags, 1])
                .attribute(1, Self.router.bytes)
            if let extended { entry = entry.attribute(15, extended) }
            return FakeKernel.Answer.messages(28, [entry])
        }
        return FakeKernel([.getNeighbor: [entry ?? .error(2)], .newNeighbor: [.messages(2, [])]])
    }

    @Test(arguments: [NeighborState.permanent, .noARP, .probe, .incomplete])
    func `an entry that is certain, or being asked, is left alone`(state: NeighborState) throws {
        let kernel = kernel(state)
        try kernel.probeNeighbor(Self.router, index: 3)
        #expect(kernel.asked.map(\.type) == [.getNeighbor])
    }

    @Test(arguments: [NeighborState.reachable, .stale, .delay])
    func `an entry with an address is set to probing`(state: NeighborState) throws {
        let kernel = kernel(state)
        try kernel.probeNeighbor(Self.router, index: 3)
        #expect(kernel.asked.last == .setNeighbor(Self.router, index: 3, state: .probe))
    }

    /// Learned from a routing daemon, managed, validated elsewhere; and flags that nobody knows yet.
    @Test(
        arguments: [NeighborState.reachable, .stale, .delay, .failed],
        [(0x10, nil), (0, 1), (0x80, 4), (0x40, nil), (0, 0x8000_0000)] as [(UInt8, UInt32?)]
    )
    func `an entry of another program is left alone`(state: NeighborState, flags: (UInt8, UInt32?)) throws {
        let kernel = kernel(state, flags: flags.0, extended: flags.1)
        #expect(try !kernel.probeNeighbor(Self.router, index: 3))
        #expect(kernel.asked.map(\.type) == [.getNeighbor])
    }

    /// `NTF_ROUTER` is repeated; `NTF_OFFLOADED` is the driver's, and stays by itself.
    @Test(arguments: [(0x80, true), (0x20, false), (0xA0, true)] as [(UInt8, Bool)])
    func `a router stays one`(flags: UInt8, isRouter: Bool) throws {
        let kernel = kernel(.stale, flags: flags, extended: 0)
        #expect(try kernel.probeNeighbor(Self.router, index: 3))
        #expect(kernel.asked.last == .setNeighbor(Self.router, index: 3, state: .probe, isRouter: isRouter))
    }

    @Test(arguments: [.some(.failed), .some(NeighborState.none), nil] as [NeighborState?])
    func `without an address resolution is started`(state: NeighborState?) throws {
        let kernel = kernel(state)
        try kernel.probeNeighbor(Self.router, index: 3)
        #expect(kernel.asked.last == .setNeighbor(Self.router, index: 3, state: nil))
    }

    @Test func `a refusal is thrown`() {
        let kernel = FakeKernel([.getNeighbor: [.error(2)], .newNeighbor: [.error(1)]])
        #expect(throws: NetlinkError.notPermitted(request: MessageType(rawValue: 28))) {
            try kernel.probeNeighbor(Self.router, index: 3)
        }
    }
}
