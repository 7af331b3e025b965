// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Netlink
import PathModel
import Testing

/// What keeps packets or their answers away although link, route and address are in order.
@Suite struct ObstacleTests {
    private func clause(_ world: World) -> String? {
        let path = world.path()
        return path.reason.map { ReasonText($0, path.subject).clause }
    }

    @Test(arguments: AddressFamily.allCases) func `no rule leads to the table of local addresses`(family: AddressFamily)
    {
        var world = World.ordinary()
        world.removeRoutes(family == .ipv4 ? "::/0" : "0.0.0.0/0")
        world.route("192.0.2.0/24", "eth0")
        world.route("2001:db8::/64", "eth0")
        #expect(world.path().status == .satisfied)
        world.table.leadsToLocal = false
        #expect(world.path().reason == .noSourceAddress && world.path().interfaces.isEmpty)
        let own = family == .ipv4 ? "192.0.2.10" : "2001:db8::10"
        #expect(clause(world) == "no rule selects the table local, so replies to \(own) are dropped")
        let path = world.path()
        #expect(ReasonText(.noSourceAddress, path.subject).hint?.hasSuffix("rule add pref 0 lookup local`") == true)
    }

    @Test(arguments: [true, false]) func `an IPv6 source of lo on a link without an address of its own`(hasOwn: Bool) {
        var world = World()
        world.link("eth0", 2)
        world.add("2001:db8:8::8/128", on: "lo")
        if hasOwn { world.add("fe80::10/64", on: "eth0", scope: 253) }
        world.route("::/0", "eth0", via: "fe80::1") { $0.source = IPAddress("2001:db8:8::8") }
        #expect(world.path().supportsIPv6 == hasOwn)
        if !hasOwn {
            #expect(world.path().reason == .noSourceAddress)
            #expect(clause(world) == "eth0 has no link-local address, which neighbour discovery needs")
        }
        // Where no neighbour is looked for, none has to be found.
        world.change("eth0") { link in
            link.kind = "ipvlan"
            link.flags.insert(.noARP)
        }
        #expect(world.path().supportsIPv6)
    }

    @Test(arguments: NeighborState.allCases)
    func `without an address on the link packets leave while the router is in the cache`(entry: NeighborState) {
        var world = World()
        world.link("eth0", 2)
        world.add("2001:db8:8::8/128", on: "lo")
        world.route("::/0", "eth0", via: "fe80::1") { $0.source = IPAddress("2001:db8:8::8") }
        let router = NeighborKey(index: 2, address: IPAddress("fe80::1")!)
        #expect(world.evaluate().neighbors.rivals == [router])
        world.facts.dns.servers = [DNSServer(ScopedAddress(IPAddress("2001:db8:53::53")!))]
        world.state.learn([Neighbor(index: 2, address: router.address, state: entry)])
        let isKnown = [.reachable, .stale, .delay, .probe, .noARP, .permanent].contains(entry)
        #expect(world.path().supportsIPv6 == isKnown)
        #expect(world.path().dns.isUsable == isKnown)
        #expect(world.path().warnings.contains(.borrowedSource) == isKnown)
    }

    @Test func `an address that another machine has`() {
        var world = World()
        world.link("eth0", 2)
        world.add("2001:db8::10/64", on: "eth0", flags: [.tentative, .duplicateDetected])
        world.route("::/0", "eth0", via: "fe80::1")
        #expect(clause(world) == "2001:db8::10 on eth0 is also used by another machine")
    }

    @Test func `a default by a port of a bridge`() {
        var world = World.ordinary()
        world.removeRoutes("::/0")
        world.link("br0", 3, kind: "bridge")
        world.change("eth0") { $0.master = 3 }
        #expect(world.path().reason == .noDefaultRoute)
        #expect(clause(world)?.contains("uses eth0, a port of br0, which receives all replies") == true)
        world.link("eth1", 4)
        world.add("198.51.100.2/24", on: "eth1")
        world.route("0.0.0.0/0", "eth1", via: "198.51.100.1", metric: 900)
        #expect(world.path().status == .unsatisfied)
    }

    @Test func `every leg of a multipath route has its source`() {
        var world = World.ordinary()
        world.removeRoutes("::/0")
        world.removeRoutes("0.0.0.0/0")
        world.link("eth1", 3)
        world.add("198.51.100.2/24", on: "eth1")
        world.multipath("0.0.0.0/0", [("eth0", "192.0.2.1"), ("eth1", "198.51.100.1")])
        let path = world.path()
        #expect(path.ipv4?.sources.map { "\($0)" } == ["192.0.2.10", "198.51.100.2"])
        world.unplug("eth1")
        #expect(world.path().ipv4?.sources.map { "\($0)" } == ["192.0.2.10"])
    }
}
