// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Netlink
import PathModel
import Testing

@Suite struct ExplanationHostTests {
    @Test func `a host on the link is its own neighbour`() throws {
        var world = ExplanationWorld()
        world.world.route("192.0.2.0/24", "eth0")
        world.neighbors = [Neighbor(index: 2, address: .v4(0xC000_0209), state: .failed)]
        #expect(try world.host("192.0.2.9").broken?.fault == "192.0.2.9 does not answer on eth0")
        #expect(try world.host("192.0.2.8").broken == nil)
        #expect(try world.host("192.0.2.8").text(.nexthop) == "directly on eth0")
        #expect(try world.host("192.0.2.8").text(.route) == "192.0.2.0/24 dev eth0")
    }

    @Test func `a redirect and a path MTU are those of the destination`() throws {
        var world = ExplanationWorld()
        world.world.table.redirects = [.v4(0x0808_0808): .v4(0xC000_0202)]
        world.world.table.pathMTUs = [.v4(0x0808_0404): 1300]
        world.neighbors = [Neighbor(index: 2, address: .v4(0xC000_0202), state: .failed)]
        let redirected = try world.host("8.8.8.8")
        #expect(redirected.text(.route) == "default via 192.0.2.1 dev eth0 metric 100")
        #expect(redirected.text(.nexthop) == "192.0.2.2 on eth0, by an ICMP redirect")
        #expect(redirected.broken?.fault == "the IPv4 gateway 192.0.2.2 does not answer on eth0")
        let narrow = try world.host("8.8.4.4")
        #expect(narrow.text(.nexthop) == "192.0.2.1 on eth0" && narrow.broken == nil)
        #expect(narrow.text(.link).hasSuffix("mtu 1500; path MTU 1300 to 8.8.4.4, learned by ICMP, expires in 300 s"))
    }

    @Test func `this machine needs no neighbour and no name`() throws {
        var world = ExplanationWorld()
        world.world.route("192.0.2.10/32", "eth0", type: .local)
        let explanation = try world.host("192.0.2.10")
        #expect(explanation.broken == nil && explanation.signs == "++++++++++")
        #expect(explanation.text(.rule) == "0: from all lookup local")
        #expect(explanation.text(.route) == "local 192.0.2.10 dev eth0")
        #expect(explanation.text(.nexthop) == "this machine")
        #expect(explanation.text(.neighbour) == "not needed: the destination is this machine")
        #expect(explanation.text(.dns) == "not needed for an address")
    }

    @Test(arguments: [RouteType.blackhole, .unreachable, .prohibit])
    func `the longest route that rejects the host is named`(type: RouteType) throws {
        var world = ExplanationWorld()
        world.world.route("10.0.0.0/8", type: type)
        world.world.route("10.1.0.0/16", type: type)
        let explanation = try world.host("10.1.2.3")
        #expect(explanation.broken?.element == .route)
        #expect(explanation.text(.route) == "\(type) 10.1.0.0/16")
        #expect(explanation.broken?.fault == "the IPv4 route \(type) 10.1.0.0/16 refuses packets")
    }

    @Test func `a route that rejects in a table nobody looks up is innocent`() throws {
        var world = ExplanationWorld()
        world.world.removeRoutes("0.0.0.0/0")
        world.world.route("0.0.0.0/0", table: 999, type: .blackhole)
        #expect(try world.internet().broken?.fault == "no IPv4 default route")
    }

    @Test func `a point-to-point link needs no neighbour`() throws {
        var world = ExplanationWorld()
        world.world.link("tun0", 5, kind: "tun") { $0.flags.insert([.pointToPoint, .noARP]) }
        world.world.add("10.8.0.2/32", on: "tun0")
        world.world.route("10.0.0.0/8", "tun0")
        #expect(try world.host("10.1.2.3").text(.neighbour) == "not needed on tun0")
    }

    @Test(arguments: [
        (NeighborState.incomplete, ExplanationStep.Verdict.unknown), (.none, .unknown), (.stale, .fine),
        (.permanent, .fine), (.probe, .fine), (.delay, .fine), (.noARP, .fine), (.failed, .broken),
    ])
    func `the state of the neighbour decides`(state: NeighborState, verdict: ExplanationStep.Verdict) throws {
        var world = ExplanationWorld()
        world.neighbors = [Neighbor(index: 2, address: .v4(0xC000_0201), state: state)]
        #expect(try world.host("203.0.113.1").verdict(.neighbour) == verdict)
    }

    @Test func `of several legs the dead ones are told`() throws {
        var world = ExplanationWorld()
        world.world.link("eth1", 3)
        world.world.add("198.51.100.2/24", on: "eth1")
        world.world.removeRoutes("0.0.0.0/0")
        world.world.multipath("0.0.0.0/0", [("eth0", "192.0.2.1"), ("eth1", "198.51.100.1")])
        world.world.unplug("eth0")
        let explanation = try world.internet()
        #expect(explanation.broken == nil && explanation.interface == "eth1")
        let expected = "198.51.100.1 on eth1, one of 2; dead: via 192.0.2.1 dev eth0 linkdown"
        #expect(explanation.text(.nexthop) == expected)
        // This host's packets are hashed onto the dead one.
        let host = try world.host("203.0.113.1")
        #expect(host.broken?.fault == "eth0 has no carrier" && host.interface == "eth0")
    }

    @Test func `a link-local host is looked for on its interface`() throws {
        var world = ExplanationWorld()
        world.world.route("fe80::/64", "eth0") { $0.source = IPAddress("fe80::10") }
        #expect(try world.host("fe80::99", by: "eth0").text(.source) == "fe80::10")
        #expect(try world.host("fe80::99", by: "eth9").broken?.fault == "there is no interface eth9")
    }

    @Test func `a pending address is not a missing one`() throws {
        var world = ExplanationWorld()
        world.world.flush("eth0")
        world.world.add("2001:db8::10/64", on: "eth0", flags: .tentative)
        let explanation = try world.internet(.ipv6)
        #expect(explanation.broken?.element == .source)
        #expect(explanation.broken?.fault == "eth0 is checking its address for duplicates")
        #expect(explanation.broken?.hint == nil)
    }

    @Test func `a borrowed source is told`() throws {
        var world = ExplanationWorld()
        world.world.link("eth1", 3)
        world.world.removeRoutes("0.0.0.0/0")
        world.world.route("0.0.0.0/0", "eth1")
        #expect(try world.internet().text(.source) == "192.0.2.10 (eth0, borrowed_source)")
    }

    @Test func `a family without route and address is absent, not broken by a fault`() throws {
        var world = ExplanationWorld()
        world.world.removeRoutes("::/0")
        #expect(try !world.internet(.ipv6).isAbsent)
        world.world.remove("2001:db8::10/64", from: "eth0")
        #expect(try world.internet(.ipv6).isAbsent)
        #expect(try !world.internet(.ipv4).isAbsent)
    }

    @Test func `names are told as they ended`() throws {
        let world = ExplanationWorld()
        let found = try world.host("203.0.113.1", names: .answered("host.example"))
        #expect(found.text(.dns) == "host.example resolves; servers 192.0.2.53 (/etc/resolv.conf)")
        let failed = try world.internet(names: .failed("host.example", reason: "name or service not known"))
        #expect(failed.broken?.element == .dns)
        #expect(failed.broken?.fault == "host.example: name or service not known")
    }

    @Test func `without probes of a family there is nothing to explain`() {
        var world = ExplanationWorld()
        world.world.policy.probes[.ipv6] = []
        #expect(!world.canExplain(.ipv6) && world.canExplain(.ipv4))
    }

    @Test func `origins and expiry are told`() throws {
        var world = ExplanationWorld()
        world.world.removeRoutes("::/0")
        world.world.route("::/0", "eth0", via: "fe80::1", metric: 1024) { $0.expiresIn = 12.7 }
        #expect(
            try world.internet(.ipv6).text(.route) == "default via fe80::1 dev eth0 metric 1024 expires in 12 s"
        )
    }
}
