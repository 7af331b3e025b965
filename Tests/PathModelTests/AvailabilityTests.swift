// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Netlink
import PathModel
import Testing

/// Which interfaces a path lists, and in which order (rules S15 to S18).
@Suite struct AvailabilityTests {
    /// `eth0` with metric 100 and `wlan0` without a route.
    private func pair() -> World {
        var world = World()
        world.link("eth0", 2)
        world.add("192.0.2.10/24", on: "eth0")
        world.route("0.0.0.0/0", "eth0", via: "192.0.2.1", metric: 100)
        world.link("wlan0", 3)
        world.facts.wireless[3] = WirelessFacts(mode: 2)
        world.add("198.51.100.7/24", on: "wlan0")
        return world
    }

    @Test func `an interface without a default route is not available, with one it is second (S16)`() {
        var world = pair()
        #expect(world.path().names == ["eth0"])
        world.route("0.0.0.0/0", "wlan0", via: "198.51.100.1", metric: 600)
        #expect(world.path().names == ["eth0", "wlan0"])
        #expect(world.path().interfaces.map(\.type) == [.wiredEthernet, .wifi])
    }

    @Test func `bound lookups end with the table's entry, since a decision guesses (S16)`() {
        var world = pair()
        world.route("0.0.0.0/0", "wlan0", via: "198.51.100.1", metric: 600)
        _ = world.path()
        let bound = world.table.log.queries.filter { $0.outputInterface != nil }
        #expect(bound.map(\.kind) == [.decision, .entry])
        #expect(bound.map(\.source) == [nil, .v4(0xC633_6407)])
    }

    @Test func `an available interface without carrier is not listed (S16)`() {
        var world = pair()
        world.route("0.0.0.0/0", "wlan0", via: "198.51.100.1", metric: 600)
        world.unplug("wlan0")
        #expect(world.path().names == ["eth0"])
    }

    @Test func `an interface without a usable source address is not listed (S16, S24)`() {
        var world = pair()
        world.route("::/0", "wlan0", via: "fe80::1", metric: 600)
        world.flush("wlan0")
        world.add("2001:db8::7/64", on: "wlan0", flags: .tentative)
        #expect(world.path().names == ["eth0"])
        world.flush("wlan0")
        world.add("2001:db8::7/64", on: "wlan0")
        #expect(world.path().names == ["eth0", "wlan0"])
    }

    @Test func `an interface that is available by IPv6 only is listed (S16)`() {
        var world = pair()
        world.add("2001:db8::7/64", on: "wlan0")
        world.route("::/0", "wlan0", via: "fe80::1", metric: 600)
        let path = world.path()
        #expect(path.names == ["eth0", "wlan0"])
        #expect(path.supportsIPv6)
    }

    @Test func `others come by metric, then by type, then by index (S17)`() {
        var world = pair()
        world.route("0.0.0.0/0", "wlan0", via: "198.51.100.1", metric: 600)
        for (index, name) in [(9, "eth9"), (8, "eth8"), (7, "wwan0")] {
            world.link(name, index, kind: name == "wwan0" ? "wwan" : nil)
            world.add("10.0.\(index).2/24", on: name)
        }
        world.route("0.0.0.0/0", "eth9", via: "10.0.9.1", metric: 600)
        world.route("0.0.0.0/0", "eth8", via: "10.0.8.1", metric: 600)
        world.route("0.0.0.0/0", "wwan0", via: "10.0.7.1", metric: 300)
        #expect(world.path().names == ["eth0", "wwan0", "eth8", "eth9", "wlan0"])
    }

    @Test func `the interface for both families comes before one for IPv4, that before one for IPv6 (S17)`() {
        var world = pair()
        world.add("2001:db8::7/64", on: "wlan0")
        world.route("::/0", "wlan0", via: "fe80::1", metric: 1)
        #expect(world.path().names == ["eth0", "wlan0"])
        world.removeRoutes("0.0.0.0/0")
        world.route("0.0.0.0/0", "wlan0", via: "198.51.100.1", metric: 50)
        world.route("0.0.0.0/0", "eth0", via: "192.0.2.1", metric: 100)
        #expect(world.path().names == ["wlan0", "eth0"])
        #expect(world.path().ipv4?.interfaces.map(\.name) == ["wlan0"])
    }

    @Test func `an interface for both families comes before a better type for one (S17)`() {
        var world = pair()
        world.removeRoutes("0.0.0.0/0")
        world.multipath("0.0.0.0/0", [("eth0", "192.0.2.1"), ("wlan0", "198.51.100.1")])
        world.add("2001:db8::7/64", on: "wlan0")
        #expect(world.path().names == ["eth0", "wlan0"])
        world.route("::/0", "wlan0", via: "fe80::1")
        #expect(world.path().names == ["wlan0", "eth0"])
    }

    @Test(arguments: ["bridge", "bond", "team", "openvswitch"])
    func `a port is not listed, its master is (S15)`(kind: String) {
        var world = World()
        world.link("br0", 5, kind: kind)
        world.link("eth0", 2) {
            $0.master = 5
            $0.portKind = kind
        }
        world.add("192.0.2.10/24", on: "br0")
        world.add("203.0.113.10/24", on: "eth0")
        world.route("0.0.0.0/0", "br0", via: "192.0.2.1")
        world.route("0.0.0.0/0", "eth0", via: "203.0.113.1", metric: 500)
        #expect(world.path().names == ["br0"])
    }

    @Test func `container links cause no lookups and no path change (S15)`() {
        var world = World.ordinary()
        let before = world.evaluate()
        world.link("docker0", 50, kind: "bridge") { $0.operationalState = .up }
        for index in 100..<164 {
            world.link("veth\(index)", index, kind: "veth") {
                $0.master = 50
                $0.portKind = "bridge"
            }
            world.add("fe80::\(index)/64", on: "veth\(index)", scope: 253)
        }
        let after = world.evaluate()
        #expect(after.path == before.path)
        #expect(after.lookups == before.lookups)
        world.add("172.17.0.1/16", on: "docker0")
        #expect(world.path() == before.path)
        #expect(world.evaluate().lookups == before.lookups + 1)
    }

    @Test func `five thousand interfaces without global addresses cost no lookups`() {
        var world = World.ordinary()
        for index in 100..<5100 {
            world.link("veth\(index)", index, kind: "veth")
            world.add("fe80::\(String(index, radix: 16))/64", on: "veth\(index)", scope: 253)
        }
        #expect(world.evaluate().lookups == 6)
    }

    @Test func `more addressed interfaces than the limit are not all asked about`() {
        var world = World.ordinary()
        for index in 100..<600 {
            world.link("eth0.\(index)", index, kind: "vlan") { $0.lower = 2 }
            world.add("10.\(index / 256).\(index % 256).1/24", on: "eth0.\(index)")
        }
        world.route("0.0.0.0/0", "eth0.599", via: "10.2.87.2", metric: 500)
        #expect(world.evaluate().lookups <= 6 + 3 * PathEvaluator.maximumBoundInterfaces)
        #expect(world.path().names == ["eth0"])
        _ = world.memory.note(Path(interfaces: [PathInterface(name: "eth0.599", index: 599, type: .wiredEthernet)]))
        #expect(world.path().names == ["eth0", "eth0.599"])
    }

    @Test func `the ignore list leaves an interface out (S15)`() {
        var world = pair()
        world.route("0.0.0.0/0", "wlan0", via: "198.51.100.1", metric: 600)
        world.policy.ignore = ["wl*"]
        #expect(world.path().names == ["eth0"])
    }

    // MARK: - S18 tunnels

    /// The rules that wg-quick(8) installs.
    private func wireguard() -> World {
        var world = pair()
        world.link("wg0", 7, kind: "wireguard") {
            $0.operationalState = .unknown
            $0.hardwareType = 65534
        }
        world.add("10.99.0.2/32", on: "wg0")
        world.route("0.0.0.0/0", "wg0", table: 51820)
        world.rule(32764) { $0.suppressedLength = 0 }
        world.rule(32765, table: 51820) {
            $0.mark = 0xCA6C
            $0.isMarkInverted = true
        }
        return world
    }

    @Test func `a full tunnel is first, what carries it follows (S17, S18)`() {
        let path = wireguard().path()
        #expect(path.status == .satisfied)
        #expect(path.names == ["wg0", "eth0"])
        #expect(path.interfaces.map(\.type) == [.other, .wiredEthernet])
        #expect(path.underlyingTypes == [.wiredEthernet])
        #expect(path.gateways.isEmpty)
    }

    @Test func `the mark of a tunnel's own packets finds what carries it (S18)`() {
        var world = wireguard()
        world.change("wg0") { $0.tunnelMark = 0xCA6C }
        world.route("0.0.0.0/0", "wlan0", via: "198.51.100.1", metric: 50)
        let path = world.path()
        #expect(path.names == ["wg0", "wlan0", "eth0"])
        #expect(path.underlyingTypes == [.wifi])
    }

    @Test func `what carries a tunnel is available with the tunnel's mark alone (S17)`() {
        var world = wireguard()
        world.change("wg0") { $0.tunnelMark = 0xCA6C }
        world.table.routes.removeAll { $0.table == 254 }
        world.route("0.0.0.0/0", "eth0", via: "192.0.2.1", table: 77)
        world.rule(100, table: 77) { $0.mark = 0xCA6C }
        #expect(world.path().names == ["wg0", "eth0"])
    }

    @Test func `a tunnel tells the link that it stands on (S18)`() {
        var world = pair()
        world.link("gre1", 8, kind: "gre") {
            $0.lower = 3
            $0.hardwareType = 778
        }
        world.add("10.5.0.1/30", on: "gre1")
        world.route("0.0.0.0/0", "gre1", metric: 1)
        #expect(world.path().names == ["gre1", "eth0"])
        #expect(world.path().underlyingTypes == [.wifi])
    }

    @Test func `a tunnel over a tunnel ends at what is no tunnel, or nowhere (S18)`() {
        var world = pair()
        world.link("gre1", 8, kind: "gre") { $0.lower = 9 }
        world.link("gre2", 9, kind: "gre") { $0.lower = 2 }
        world.add("10.5.0.1/30", on: "gre1")
        world.route("0.0.0.0/0", "gre1", metric: 1)
        #expect(world.path().underlyingTypes == [.wiredEthernet])
        world.change("gre2") { $0.lower = 8 }
        #expect(world.path().underlyingTypes.isEmpty)
    }

    @Test func `a tunnel without anything below has no underlying types (S18)`() {
        var world = World()
        world.link("tun0", 3, kind: "tun") { $0.operationalState = .unknown }
        world.add("10.8.0.2/24", on: "tun0")
        world.route("0.0.0.0/0", "tun0")
        #expect(world.path().status == .satisfied)
        #expect(world.path().underlyingTypes.isEmpty)
    }

    @Test func `a demanded VPN is satisfied by a tunnel (S22)`() {
        var world = wireguard()
        world.policy.requiresVPN = true
        #expect(world.path().status == .satisfied)
        world.table.routes.removeAll { $0.table == 51820 }
        #expect(world.path().reason == .policy)
    }

    @Test func `a demanded VPN does not count what leaks around it (S22)`() {
        var world = wireguard()
        world.policy.requiresVPN = true
        world.add("2001:db8::10/64", on: "eth0")
        world.route("::/0", "eth0", via: "fe80::1")
        let path = world.path()
        #expect(path.supportsIPv4)
        #expect(!path.supportsIPv6)
    }
}
