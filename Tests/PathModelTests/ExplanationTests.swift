// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Netlink
import PathModel
import Testing

/// One thing that is broken, and how the explanation tells it.
struct BrokenCase: Sendable, CustomTestStringConvertible {
    let name: String
    let element: ExplanationElement
    let fault: String
    let signs: String
    let breaking: @Sendable (inout ExplanationWorld) -> Void

    var testDescription: String { name }

    init(
        _ name: String,
        _ element: ExplanationElement,
        _ fault: String,
        _ signs: String,
        _ breaking: @escaping @Sendable (inout ExplanationWorld) -> Void
    ) {
        self.name = name
        self.element = element
        self.fault = fault
        self.signs = signs
        self.breaking = breaking
    }
}

@Suite struct ExplanationTests {
    static let rules: [BrokenCase] = [
        BrokenCase("no rules", .rule, "no IPv4 rule selects a routing table", "!?????????") {
            $0.rules = []
            $0.world.table.rules = []
        },
        BrokenCase("only the rule of local addresses", .rule, "no IPv4 rule selects a routing table", "!?????????") {
            $0.rules.removeAll { $0.table != 255 }
            $0.world.table.rules = []
        },
        BrokenCase("a rule that prohibits", .rule, "the IPv4 rule 10: from all prohibit refuses packets", "!?????????")
        {
            $0.rule(10, action: 8)
        },
        BrokenCase("a rule that drops", .rule, "the IPv4 rule 10: from all blackhole refuses packets", "!?????????") {
            $0.rule(10, action: 6)
        },
        BrokenCase(
            "a rule without a way",
            .rule,
            "the IPv4 rule 10: from all unreachable refuses packets",
            "!?????????"
        ) {
            $0.rule(10, action: 7)
        },
        BrokenCase("a kernel without the family", .rule, "IPv4 is disabled in the kernel", "!?????????") { world in
            world.world.table.refusals[.ipv4] = .familyUnsupported
        },
    ]

    static let routes: [BrokenCase] = [
        BrokenCase(
            "a default route nobody looks up",
            .table,
            "no rule selects table 999, which has the IPv4 default route",
            "+!????????"
        ) {
            $0.world.removeRoutes("0.0.0.0/0")
            $0.world.route("0.0.0.0/0", "eth0", via: "192.0.2.1", table: 999)
        },
        BrokenCase("no default route", .route, "no IPv4 default route", "++!???????") {
            $0.world.removeRoutes("0.0.0.0/0")
        },
        BrokenCase("an unreachable default", .route, "the IPv4 default route is of type unreachable", "++!???????") {
            $0.world.route("0.0.0.0/0", metric: 50, type: .unreachable)
        },
        BrokenCase("a prohibited default", .route, "the IPv4 default route or a rule is of type prohibit", "++!???????")
        {
            $0.world.route("0.0.0.0/0", metric: 50, type: .prohibit)
        },
        BrokenCase("a black hole", .route, "the IPv4 default route is a black hole", "++!???????") {
            $0.world.route("0.0.0.0/0", metric: 50, type: .blackhole)
        },
        BrokenCase("a refusal nobody admits to", .route, "the IPv4 default route is of type unreachable", "??!???????")
        {
            world in
            world.world.table.refusals[.ipv4] = .unreachable
        },
    ]

    static let ways: [BrokenCase] = [
        BrokenCase("a nexthop object that drops", .nexthop, "nexthop object 7 drops packets", "+++!??????") { world in
            world.world.removeRoutes("0.0.0.0/0")
            world.world.route("0.0.0.0/0") { $0.nexthopID = 7 }
            world.nexthops = [Nexthop(id: 7, isBlackhole: true)]
            world.world.table.refusals[.ipv4] = .blackhole
        },
        BrokenCase("a nexthop object that is empty", .nexthop, "nexthop object 7 has no usable nexthop", "+++!??????") {
            $0.world.removeRoutes("0.0.0.0/0")
            $0.world.route("0.0.0.0/0") { $0.nexthopID = 7 }
        },
        BrokenCase("an interface that is gone", .nexthop, "interface 9 does not exist", "+++!??????") {
            $0.world.removeRoutes("0.0.0.0/0")
            $0.world.route("0.0.0.0/0") { $0.nexthops = [RouteNexthop(index: 9)] }
        },
        BrokenCase(
            "a leg that is held for dead",
            .nexthop,
            "the kernel marks the nexthop via 192.0.2.1 dev eth0 dead as dead although eth0 works",
            "+++!??????"
        ) {
            $0.world.removeRoutes("0.0.0.0/0")
            $0.world.route("0.0.0.0/0", "eth0", via: "192.0.2.1") { $0.nexthops[0].flags = .dead }
        },
        BrokenCase(
            "two dead legs",
            .nexthop,
            "all 2 nexthops of the route are dead: via 192.0.2.1 dev eth0 linkdown (no_carrier); "
                + "via 198.51.100.1 dev eth1 linkdown (no_carrier)",
            "+++!??????"
        ) { world in
            world.world.link("eth1", 3)
            world.world.removeRoutes("0.0.0.0/0")
            world.world.multipath("0.0.0.0/0", [("eth0", "192.0.2.1"), ("eth1", "198.51.100.1")])
            for name in ["eth0", "eth1"] {
                world.world.unplug(name)
                world.world.change(name) { $0.operationalState = .down }
            }
        },
        BrokenCase("a link that is switched off", .link, "eth0 is administratively down", "++??!?????") {
            $0.world.flush("eth0")
            $0.world.setDown("eth0")
        },
        BrokenCase("no link", .link, "there is no network interface", "++??!?????") { $0.world.delete("eth0") },
        BrokenCase("a link that is off below a route", .link, "eth0 is administratively down", "++++!?????") {
            $0.world.change("eth0") { $0.flags.remove(.up) }
        },
        BrokenCase("no carrier", .carrier, "eth0 has no carrier", "+++++!????") { $0.world.unplug("eth0") },
        BrokenCase("no carrier, and the route is passed over", .carrier, "eth0 has no carrier", "+++++!????") { world in
            world.world.unplug("eth0")
            world.world.table.refusals[.ipv4] = .noRoute
        },
        BrokenCase("no carrier and no route", .carrier, "eth0 has no carrier", "++??+!????") {
            $0.world.unplug("eth0")
            $0.world.table.routes = []
        },
        BrokenCase("802.1X", .carrier, "eth0 is waiting for authentication", "++??+!????") {
            $0.world.change("eth0") { $0.operationalState = .dormant }
            $0.world.flush("eth0")
            $0.world.table.routes = []
        },
        BrokenCase(
            "Wi-Fi without an access point",
            .carrier,
            "eth0 is not associated with an access point",
            "+++++!????"
        ) {
            $0.world.facts.wireless[2] = WirelessFacts(mode: 2)
            $0.world.unplug("eth0")
        },
        BrokenCase(
            "Wi-Fi before it is authorized",
            .carrier,
            "eth0 is associated with office-7 but not authorized",
            "+++++!????"
        ) {
            $0.world.facts.wireless[2] = WirelessFacts(mode: 2, ssid: Array("office-7".utf8), signal: -47)
            $0.world.change("eth0") { $0.operationalState = .dormant }
        },
        BrokenCase("Wi-Fi that rfkill switched off", .link, "Wi-Fi is disabled by rfkill", "++++!?????") {
            $0.world.facts.wireless[2] = WirelessFacts(mode: 2)
            $0.world.facts.radios = RadioFacts(isWifiBlocked: true, hasWifi: true)
            $0.world.change("eth0") { $0.flags = [] }
        },
        BrokenCase(
            "the better route is down",
            .carrier,
            "the kernel prefers the IPv4 default route via eth0, which is down, over the one via eth1",
            "+++++!????"
        ) {
            $0.world.link("eth1", 3)
            $0.world.add("198.51.100.2/24", on: "eth1")
            $0.world.route("0.0.0.0/0", "eth1", via: "198.51.100.1", metric: 200)
            $0.world.removeRoutes("::/0")
            $0.world.unplug("eth0")
        },
    ]

    static let ends: [BrokenCase] = [
        BrokenCase("no address, no route", .source, "eth0 has no address", "++??++!???") {
            $0.world.flush("eth0")
            $0.world.table.routes = []
            $0.world.now += .seconds(60)
        },
        BrokenCase("no address", .source, "eth0 has an IPv4 default route but no address to send from", "++++++!???") {
            $0.world.flush("eth0")
        },
        BrokenCase(
            "a dead gateway behind 802.1X",
            .neighbour,
            "the IPv4 gateway 192.0.2.1 does not answer on eth0, which is waiting for authentication",
            "++++++++!?"
        ) {
            $0.world.change("eth0") { $0.operationalState = .dormant }
            $0.neighbors = [Neighbor(index: 2, address: .v4(0xC000_0201), state: .failed)]
        },
        BrokenCase("a dead gateway", .neighbour, "the IPv4 gateway 192.0.2.1 does not answer on eth0", "++++++++!?") {
            $0.neighbors = [Neighbor(index: 2, address: .v4(0xC000_0201), state: .failed)]
        },
        BrokenCase("no name server in reach", .dns, "no name server is reachable: 127.0.0.1", "++++++++?!") {
            $0.world.facts.dns = DNSConfiguration()
        },
        BrokenCase(
            "no name server in resolv.conf",
            .dns,
            "no name server is configured in /etc/resolv.conf, and none answers at 127.0.0.1",
            "++++++++?!"
        ) {
            $0.world.facts.dns = DNSConfiguration(source: "/etc/resolv.conf")
            $0.world.facts.dns.isWithoutServer = true
        },
        BrokenCase("no name server", .dns, "no name server is configured", "++++++++?!") {
            $0.world.facts.dns = DNSConfiguration(servers: [])
        },
    ]

    @Test(arguments: rules + routes + ways + ends)
    func `the first broken element is named, and nothing after it is judged`(broken: BrokenCase) throws {
        var world = ExplanationWorld()
        broken.breaking(&world)
        let explanation = try world.internet()
        #expect(explanation.broken?.element == broken.element)
        #expect(explanation.broken?.fault == broken.fault)
        #expect(explanation.signs == broken.signs)
        #expect(explanation.steps.map(\.element) == ExplanationElement.allCases)
    }

    @Test func `every element is the broken one of some case`() {
        let elements = Set((Self.rules + Self.routes + Self.ways + Self.ends).map(\.element))
        // A filter that refuses datagrams may let connections pass.
        #expect(elements == Set(ExplanationElement.allCases).subtracting([.firewall]))
    }

    @Test(arguments: rules.dropLast() + routes + ways + ends)
    func `what is broken comes with what mends it`(broken: BrokenCase) throws {
        var world = ExplanationWorld()
        broken.breaking(&world)
        #expect(try world.internet().broken?.hint?.isEmpty == false)
    }

    @Test(arguments: AddressFamily.allCases)
    func `an ordinary machine has nothing broken`(family: AddressFamily) throws {
        let explanation = try ExplanationWorld().internet(family)
        #expect(explanation.broken == nil && !explanation.isAbsent)
        #expect(explanation.interface == "eth0")
        #expect(explanation.signs == "++++++++?+")
        #expect(explanation.text(.rule) == "32766: from all lookup main")
        #expect(explanation.text(.table) == "main")
    }

    @Test func `what cannot be tried behind the table is not known, and no fault`() throws {
        var world = ExplanationWorld()
        world.world.table.output = .unknown
        let explanation = try world.internet()
        #expect(explanation.broken == nil && explanation.signs == "+++++++??+")
        #expect(explanation.text(.firewall) == "unknown without a test packet")
    }

    @Test func `packet filters are tested for the port that is meant, or for none`() throws {
        var world = ExplanationWorld()
        #expect(try world.host("198.51.100.9").text(.firewall) == "TCP and UDP port 443 are allowed")
        let named = try world.host("198.51.100.9", transport: Transport(number: 6, port: 22))
        #expect(named.text(.firewall) == "TCP port 22 is allowed")
        world.world.table.output = .refused(.ipsecPolicy)
        #expect(try world.host("198.51.100.9").broken?.element == .firewall)
        let untested = try world.host("198.51.100.9", transport: nil)
        #expect(untested.text(.firewall) == "not tested" && untested.broken == nil && untested.doubtful == nil)
    }

    @Test func `each element is told in one line`() throws {
        var world = ExplanationWorld()
        let hardware: [UInt8] = [2, 0, 0, 0, 0, 0x1F]
        world.neighbors = [
            Neighbor(index: 2, address: .v4(0xC000_0201), state: .reachable, hardwareAddress: hardware)
        ]
        let explanation = try world.internet()
        #expect(explanation.text(.route) == "default via 192.0.2.1 dev eth0 metric 100")
        #expect(explanation.text(.nexthop) == "192.0.2.1 on eth0")
        #expect(explanation.text(.link) == "eth0: up, wiredEthernet, mtu 1500")
        #expect(explanation.text(.carrier) == "eth0: carrier, operational state up")
        #expect(explanation.text(.source) == "192.0.2.10 (eth0)")
        #expect(explanation.text(.neighbour) == "192.0.2.1 on eth0 at 02:00:00:00:00:1f: reachable")
        #expect(explanation.text(.dns) == "192.0.2.53 (/etc/resolv.conf)")
    }
}
