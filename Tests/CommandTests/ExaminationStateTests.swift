// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Diagnosis
import Netlink
import PathModel
import Probes
import Testing

@testable import Examination

/// A kernel with one link, `eth0`, on which 192.0.2.10 is, and 192.0.2.1 as the router of IPv4.
private final class OneLinkKernel: KernelSource {
    static let router = IPAddress.v4(0xC000_0201)
    private let link = Link(
        index: 2,
        name: "eth0",
        flags: [.up, .lowerUp, .multicast],
        carrier: true,
        hardwareAddress: [2, 0, 0, 0, 0, 1]
    )

    func links() -> Dump<Link> { Dump([link]) }
    func link(index: Int) -> Link? { index == link.index ? link : nil }
    func link(named name: String) -> Link? { name == link.name ? link : nil }
    func addresses() -> Dump<InterfaceAddress> {
        Dump([
            InterfaceAddress(index: 2, address: .v4(0xC000_020A), prefixLength: 24),
            InterfaceAddress(index: 2, address: .v6(0xFE80 << 112 | 10), prefixLength: 64, scope: 253),
        ])
    }
    func rules() -> Dump<PolicyRule> { Dump([]) }
    func nexthops() -> Dump<Nexthop> { Dump([]) }
    func nexthop(id: UInt32) -> Nexthop? { nil }
    func neighbors(index: Int?) -> Dump<Neighbor> { Dump([]) }
    func neighbor(_ address: IPAddress, index: Int) -> Neighbor? { nil }
    func bridgePort(of hardwareAddress: [UInt8], bridge: Int) -> Int? { nil }
    func defaultRoutes(_ family: AddressFamily, table: UInt32, index: Int?, limit: Int) -> Dump<RouteEntry> { Dump([]) }
    func routes(
        _ family: AddressFamily,
        type: RouteType?,
        limit: Int,
        where isWanted: (RouteEntry) -> Bool
    ) -> Dump<RouteEntry> { Dump([]) }
    func lookup(_ query: RouteQuery) -> Swift.Result<RouteAnswer, RouteFailure> {
        guard query.destination.family == .ipv4 else { return .failure(.noRoute) }
        return .success(RouteAnswer(nexthops: [RouteNexthop(index: 2, gateway: Self.router)]))
    }
    func probeNeighbor(_ address: IPAddress, index: Int) -> Bool { false }
}

/// What checks queue and conclude, without a socket.
@Suite struct ExaminationStateTests {
    private static let anchor = IPAddress.v4(0xC633_6401)

    private static func state(
        isRepeated: Bool = false,
        isQueriedOverTCP: Bool = false,
        _ change: (inout Targets) -> Void = { _ in }
    ) throws -> ExaminationState {
        var targets = Targets()
        targets.anchors = [Targets.Anchor("a", host: nil, ipv4: anchor, ipv6: nil)]
        targets.names.wildcard = "p.example.test"
        targets.timeServers = [.v4(0xC633_6402)]
        targets.peers = [.v4(0xC000_0207)]
        change(&targets)
        var server = DNSServer(ScopedAddress(.v4(0xC000_0235)))
        server.isQueriedOverTCP = isQueriedOverTCP
        var order = ExaminationOrder(targets: targets, servers: [server])
        order.isRepeated = isRepeated
        var state = ExaminationState(order, kernel: OneLinkKernel())
        try state.readKernel(at: .zero)
        return state
    }

    /// The layers of what a check queues.
    private static func layers(_ check: Check, _ state: ExaminationState) -> [Layer] {
        var state = state
        check.start(&state)
        return state.tasks.map(\.layer)
    }

    /// Evidence of the anchor: what became of its echo requests.
    private static func reached(_ answers: Bool, _ state: ExaminationState) -> ExaminationState {
        var state = state
        var reach = ReachEvidence(.ipv4)
        reach.anchors = [ReachEvidence.Anchor("a", anchor)]
        reach.anchors[0].echo = .known(answers)
        state.evidence.reach = [reach]
        return state
    }

    @Test func `the first stage queues what the documentation says, in its order`() throws {
        let state = try Self.state()
        let expected: [(Check, [Layer])] = [
            (.neighbors, [.address, .link, .link, .gateway, .gateway, .gateway]),
            (.anchors, [.wan]), (.pages, [.captive, .application]),
            (.nameServers, [.dns, .dns]), (.time, [.application]), (.routers, [.address]), (.dhcp, [.address]),
        ]
        for (check, layers) in expected { #expect(Self.layers(check, state) == layers) }
        let network = Check.table.filter { $0.stage == .network }
        #expect(network.flatMap { Self.layers($0, state) } == expected.flatMap(\.1))
        let echoing = try Self.state { $0.echoPort = 7 }
        #expect(Self.layers(.anchors, echoing) == [.wan, .wan])
    }

    @Test func `the connection of a page stands for one to its port, unless it could not be tested`() throws {
        var state = try Self.state()
        Check.anchors.start(&state)
        state.tasks = []
        var result = ProbeResult(.failure(.timeout, detail: "no answer in time"))
        state.recordConnection(result, to: Self.anchor, 80)
        result.isConnected = true
        state.recordConnection(result, to: Self.anchor, 443)
        state.recordConnection(ProbeResult(.failure(.refused, detail: "")), to: Self.anchor, 443)
        #expect(state.evidence.reach[0].anchors[0].ports == [80: .silent, 443: .connected])
        state.evidence.reach[0].anchors[0].ports = [:]
        state.recordConnection(ProbeResult(.notAssessed(advice: "no libcurl")), to: Self.anchor, 80)
        #expect(state.evidence.reach[0].anchors[0].ports.isEmpty && state.tasks.map(\.layer) == [.transport])
        let without = try Self.state { $0.anchors[0].hasPage = false }
        #expect(Self.layers(.anchors, without) == [.wan, .transport])
    }

    @Test func `one of many examinations leaves out what disturbs others`() throws {
        let state = try Self.state(isRepeated: true)
        #expect(Self.layers(.routers, state).isEmpty && Self.layers(.dhcp, state).isEmpty)
        var unnumbered = state
        unnumbered.evidence.links[0].addresses = []
        #expect(Self.layers(.dhcp, unnumbered) == [.address] && Self.layers(.routers, unnumbered).isEmpty)
    }

    @Test func `a name server is queried over connections at once only where programs do so`() throws {
        let byStream = try Self.state(isQueriedOverTCP: true)
        #expect(Self.layers(.nameServers, byStream) == [.dns, .dns])
        let withText = try Self.state(isQueriedOverTCP: true) { $0.names.bigText = "big.example.test" }
        #expect(Self.layers(.nameServers, withText) == [.dns, .dns, .dns])
        let datagrams = try Self.state { $0.names.bigText = "big.example.test" }
        #expect(Self.layers(.nameServers, datagrams) == [.dns, .dns])
        let nameless = try Self.state { $0.names.wildcard = nil }
        #expect(Self.layers(.nameServers, nameless).isEmpty)
    }

    @Test func `where packets end is searched only where nothing answers and the router is there`() throws {
        let state = try Self.state()
        var dead = Self.reached(false, state)
        #expect(Self.layers(.traceroute, dead) == [.wan] && Self.layers(.packetSizes, dead).isEmpty)
        dead.evidence.gateways[0].hardwareAddresses = .known([])
        #expect(Self.layers(.traceroute, dead).isEmpty)
        let alive = Self.reached(true, state)
        #expect(Self.layers(.traceroute, alive).isEmpty && Self.layers(.packetSizes, alive) == [.transport])
    }

    @Test func `quality is measured of what replies`() throws {
        var state = try Self.state()
        Check.quality.start(&state)
        #expect(state.tasks.isEmpty && state.evidence.gaps[.performance] == "no host beyond the gateway replies")
        var alive = Self.reached(true, try Self.state())
        #expect(Self.layers(.quality, alive) == [.performance])
        alive.evidence.gateways[0].answersEcho = .known(true)
        #expect(Self.layers(.quality, alive) == [.performance, .performance])
    }

    /// - Returns: Why no load test was made, and how many tasks there are.
    private static func load(
        isLoading: Bool = true,
        _ targets: (inout Targets) -> Void = { $0.load.download = "http://192.0.2.80/large" },
        evidence: (inout Evidence) -> Void = { _ in }
    ) throws -> (gap: String?, tasks: Int) {
        let plain = try state(targets)
        var order = plain.order
        order.isLoading = isLoading
        var state = ExaminationState(order, kernel: plain.kernel)
        try state.readKernel(at: .zero)
        evidence(&state.evidence)
        Check.load.start(&state)
        return (state.evidence.performance.loadGap, state.tasks.count)
    }

    @Test func `the line is loaded only where that means something`() throws {
        let unwanted = try Self.load(isLoading: false)
        #expect(unwanted.gap == nil && unwanted.tasks == 0)
        #expect(try Self.load().tasks == 1)
        let nothing = try Self.load { _ in }
        #expect(nothing.tasks == 0 && nothing.gap?.hasPrefix("nothing to load") == true)
    }
}
