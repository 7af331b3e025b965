// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Netlink
import PathModel
import Testing

/// A way out that rests on another way (S18).
@Suite struct TunnelTests {
    /// An ordinary machine whose default route goes by a tunnel; the ends are told as the kernel tells them.
    private static func world(_ kind: String, remote: String? = nil, _ change: (inout Link) -> Void = { _ in }) -> World
    {
        var world = World.ordinary()
        world.removeRoutes("::/0")
        world.route("192.0.2.0/24", "eth0")
        world.link("t0", 7, kind: kind) {
            $0.tunnelRemote = remote.flatMap { IPAddress($0) }
            $0.operationalState = .unknown
            change(&$0)
        }
        world.add("10.8.0.2/24", on: "t0")
        world.route("0.0.0.0/1", "t0")
        world.route("128.0.0.0/1", "t0")
        world.route("198.51.100.9/32", "eth0", via: "192.0.2.1")
        return world
    }

    private func clause(_ world: World) -> String? {
        let path = world.path()
        guard let reason = path.reason else { return nil }
        return ReasonText(reason, path.subject).clause
    }

    @Test(
        arguments: [
            ("vxlan", "192.0.2.9"), ("gre", "198.51.100.9"), ("tun", nil), ("wireguard", nil), ("openvpn-dco", nil),
        ] as [(String, String?)]
    )
    func `the outer packets' interface loses its cable, is switched off, and comes back`(kind: String, remote: String?)
    {
        var world = Self.world(kind == "openvpn-dco" ? "ovpn" : kind, remote: remote)
        #expect(world.path().status == .satisfied && world.path().interfaces.first?.name == "t0")
        #expect(world.path().underlyingTypes == [.wiredEthernet])
        world.unplug("eth0")
        #expect(world.path().reason == .noCarrier && world.path().interfaces.isEmpty)
        #expect(clause(world) == "t0 runs over eth0, which has no carrier")
        world.plug("eth0")
        #expect(world.path().status == .satisfied)
        let before = world
        world.setDown("eth0")
        // A service that starts now has no sign that eth0 ever carried it, unless the other end is known.
        #expect(world.path().status == (remote == nil ? .satisfied : .unsatisfied))
        _ = world.memory.note(before.path())
        #expect(world.path().reason == .linkDown)
        #expect(clause(world) == "t0 runs over eth0, which is administratively down")
    }

    @Test func `the packets of a tunnel that was made in another network namespace leave from there`() {
        var world = Self.world("vxlan", remote: "198.51.100.9") { $0.isLowerElsewhere = true }
        world.removeRoutes("198.51.100.9/32")
        world.removeRoutes("0.0.0.0/0")
        #expect(world.path().status == .satisfied && world.path().underlyingTypes.isEmpty)
        world.unplug("eth0")
        #expect(world.path().status == .satisfied)
    }

    @Test func `a network card that never carried a tunnel does not close it`() {
        var world = Self.world("tun")
        world.removeRoutes("198.51.100.9/32")
        world.removeRoutes("0.0.0.0/0")
        world.unplug("eth0")
        #expect(world.path().status == .satisfied)
        world.plug("eth0")
        world.setDown("eth0")
        #expect(world.path().status == .satisfied)
    }

    @Test(
        arguments: [
            ("tun", .elsewhere, true), ("tun", .here, false), ("tun", .unknown, false),
            ("wireguard", .elsewhere, false),
        ] as [(String, TunnelProgram, Bool)]
    )
    func `a tun interface that is served from another network namespace outlives the networks of this one`(
        kind: String,
        program: TunnelProgram,
        isOpen: Bool
    ) {
        var world = Self.world(kind)
        world.table.programs = [7: program]
        world.unplug("eth0")
        #expect((world.path().status == .satisfied) == isOpen)
    }

    @Test func `an L2TP session runs over the only network card, to a server on its network perhaps`() {
        var world = Self.world("l2tpeth") { $0.kind = nil }
        world.facts.devices[7] = DeviceFacts(role: .vpn)
        world.removeRoutes("198.51.100.9/32")
        world.removeRoutes("0.0.0.0/0")
        #expect(world.path().status == .satisfied && world.path().interfaces.first?.name == "t0")
        world.unplug("eth0")
        #expect(clause(world) == "t0 runs over eth0, which has no carrier")
        world.link("eth1", 8)
        world.add("203.0.113.2/24", on: "eth1")
        #expect(world.path().status == .satisfied)
    }

    @Test func `an interface that works and has a route keeps a tunnel open whose server is not known`() {
        var world = Self.world("tun")
        world.link("eth1", 8)
        world.add("203.0.113.2/24", on: "eth1")
        world.unplug("eth0")
        #expect(clause(world) == "t0 runs over eth0, which has no carrier", "an address alone carries nothing")
        var routed = world
        routed.route("198.51.100.8/32", "eth1", via: "203.0.113.1")
        #expect(routed.path().status == .satisfied)
        world.link("ppp0", 9, kind: "ppp") { $0.hardwareType = 512 }
        world.add("10.64.0.2/32", on: "ppp0")
        world.route("198.51.100.8/32", "ppp0")
        #expect(world.path().status == .satisfied)
    }

    @Test func `a tunnel is closed by routes that are read again before, and by no old ones`() {
        var world = Self.world("tun")
        world.link("eth1", 8)
        world.add("203.0.113.2/24", on: "eth1")
        world.unplug("eth0")
        world.route("198.51.100.8/32", "eth1", via: "203.0.113.1")
        // When they were read, only eth0 had one.
        world.table.log.carriers = [2]
        #expect(world.path().status == .satisfied && world.table.log.carriers == nil)
        world.removeRoutes("198.51.100.8/32")
        world.table.log.carriers = [2, 8]
        #expect(world.path().status == .satisfied, "what works is enough, and nothing is read again")
        world.table.log.carriers = [2]
        #expect(clause(world) == "t0 runs over eth0, which has no carrier")
    }

    @Test func `a mark without a route is no fault where the server may have a route of its own`() {
        var world = World.ordinary()
        world.link("t0", 7, kind: "tun") { $0.operationalState = .unknown }
        world.add("10.8.0.2/24", on: "t0")
        world.route("0.0.0.0/0", "t0", table: 51820)
        world.rule(100, table: 51820) {
            $0.mark = 51820
            $0.isMarkInverted = true
        }
        world.removeRoutes("::/0")
        world.removeRoutes("0.0.0.0/0", table: 254)
        #expect(world.path().status == .unsatisfied)
        world.route("198.51.100.9/32", "eth0", via: "192.0.2.1")
        #expect(world.path().status == .satisfied)
    }

    @Test func `a rule that refuses the mark of the VPN's own packets closes it, whatever routes there are`() {
        var world = World.ordinary()
        world.link("t0", 7, kind: "tun") { $0.operationalState = .unknown }
        world.add("10.8.0.2/24", on: "t0")
        world.route("0.0.0.0/0", "t0", table: 51820)
        world.rule(100, table: 51820) {
            $0.mark = 51820
            $0.isMarkInverted = true
        }
        world.removeRoutes("::/0")
        world.route("198.51.100.9/32", "eth0", via: "192.0.2.1")
        #expect(world.path().status == .satisfied)
        world.rule(50) {
            $0.mark = 51820
            $0.failure = .prohibited
            $0.family = .ipv4
        }
        #expect(world.path().reason == .routeProhibited && world.path().subject?.interface == "eth0")
        // The server may have an IPv6 address.
        world.route("2001:db8:9::/64", "eth0", via: "fe80::1")
        #expect(world.path().status == .satisfied)
    }

    @Test func `IPv4 over IPv6 is as good as IPv6 (RFC 7335)`() {
        var world = World.ordinary()
        world.removeRoutes("0.0.0.0/0")
        world.link("clat", 7, kind: "tun") { $0.operationalState = .unknown }
        world.add("192.0.0.1/32", on: "clat")
        world.route("0.0.0.0/0", "clat")
        #expect(world.path().supportsIPv4 && world.path().underlyingTypes == [.wiredEthernet])
        world.unplug("eth0")
        #expect(clause(world) == "clat runs over eth0, which has no carrier")
        world.plug("eth0")
        world.removeRoutes("::/0")
        #expect(world.path().reason == .noDefaultRoute && world.path().subject?.family == .ipv6)
        #expect(clause(world) == "clat runs over eth0: no IPv6 default route")
        world.route("::/0", type: .unreachable)
        #expect(clause(world) == "clat runs over eth0: the IPv6 default route is of type unreachable")
        // The NAT64 may be behind a route of its own.
        world.removeRoutes("::/0")
        world.route("198.51.100.0/24", "eth0", via: "192.0.2.1")
        #expect(clause(world) == "clat runs over eth0: no IPv6 default route", "an IPv4 route is none to it")
        world.route("2001:db8:64::/64", "eth0", via: "fe80::1")
        #expect(world.path().status == .satisfied)
        world.removeRoutes("2001:db8:64::/64")
        // What the translator sends does not have the mark of a view.
        world.route("::/0", "eth0", via: "fe80::1")
        world.rule(50) {
            $0.mark = 7
            $0.failure = .unreachable
            $0.family = .ipv6
        }
        #expect(world.path(MonitorPolicy(mark: 7)).status == .satisfied)
    }

    @Test func `rules that exempt the mark of a VPN's own packets tell what carries it`() throws {
        var world = World.ordinary()
        world.link("t0", 7, kind: "tun") { $0.operationalState = .unknown }
        world.add("10.8.0.2/24", on: "t0")
        world.route("0.0.0.0/0", "t0", table: 51820)
        world.rule(100, table: 51820) {
            $0.mark = 51820
            $0.isMarkInverted = true
        }
        #expect(world.path().ipv4?.interfaces.map(\.name) == ["t0"])
        world.removeRoutes("::/0")
        world.removeRoutes("0.0.0.0/0", table: 254)
        #expect(world.path().reason == .noDefaultRoute)
        #expect(clause(world) == "t0 runs over eth0: no IPv4 default route")
        // `nwpath why` says so as well.
        let explained = try ExplanationWorld(world).host("1.1.1.1")
        #expect(explained.broken?.fault == "t0 runs over eth0: no IPv4 default route")
        world.route("0.0.0.0/0", "eth0", via: "192.0.2.1")
        #expect(world.path().status == .satisfied)
        world.unplug("eth0")
        #expect(clause(world) == "t0 runs over eth0, which has no carrier")
    }

    @Test func `no route to the other end`() {
        var world = Self.world("gre", remote: "198.51.100.9")
        #expect(world.path().status == .satisfied)
        world.removeRoutes("198.51.100.9/32")
        #expect(world.path().reason == .noDefaultRoute)
        #expect(clause(world) == "t0 has no route to its remote end 198.51.100.9")
        world.route("198.51.100.9/32", type: .prohibit)
        #expect(clause(world) == "t0 has no route to its remote end 198.51.100.9")
    }

    @Test func `an other end that only the tunnel itself leads to`() {
        let world = Self.world("vxlan", remote: "198.51.100.8")
        #expect(world.path().status == .unsatisfied)
    }

    @Test func `the other end is behind the other uplink`() {
        var world = Self.world("gre", remote: "198.51.100.9")
        world.link("eth1", 8)
        world.add("203.0.113.2/24", on: "eth1")
        world.removeRoutes("198.51.100.9/32")
        world.route("198.51.100.9/32", "eth1", via: "203.0.113.1")
        world.unplug("eth0")
        #expect(world.path().status == .satisfied)
        world.plug("eth0")
        world.unplug("eth1")
        #expect(clause(world) == "t0 runs over eth1, which has no carrier")
    }

    @Test func `a tunnel in a tunnel`() {
        var world = Self.world("gre", remote: "10.9.0.1")
        world.link("wg0", 8, kind: "wireguard")
        world.add("10.9.0.2/24", on: "wg0")
        world.route("10.9.0.0/24", "wg0")
        #expect(world.path().status == .satisfied)
        world.unplug("eth0")
        #expect(clause(world) == "wg0 runs over eth0, which has no carrier")
    }

    @Test func `one leg of two runs over a dead link`() {
        var world = Self.world("gre", remote: "192.0.2.9")
        world.link("eth1", 8)
        world.add("203.0.113.2/24", on: "eth1")
        world.removeRoutes("0.0.0.0/1")
        world.removeRoutes("128.0.0.0/1")
        world.removeRoutes("0.0.0.0/0")
        world.multipath("0.0.0.0/0", [("t0", "10.8.0.1"), ("eth1", "203.0.113.1")])
        #expect(world.path().interfaces.map(\.name).sorted() == ["eth1", "t0"])
        world.unplug("eth0")
        #expect(world.path().interfaces.map(\.name) == ["eth1"])
        #expect(world.path().warnings.contains(.degraded))
    }

    @Test func `nobody is accused where nothing is known`() {
        // No interface but the tunnel, as in a container that a program serves.
        var container = World()
        container.link("tap0", 2, kind: "tun")
        container.add("10.0.2.100/24", on: "tap0")
        container.route("0.0.0.0/0", "tap0", via: "10.0.2.2")
        #expect(container.path().status == .satisfied)
        // An empty bridge beside it.
        container.link("docker0", 3, kind: "bridge")
        container.add("172.17.0.1/16", on: "docker0")
        container.unplug("docker0")
        #expect(container.path().status == .satisfied)
        // A serial line beside an unused network card.
        var serial = World()
        serial.link("ppp0", 2, kind: "ppp") { $0.hardwareType = 512 }
        serial.add("10.64.0.2/32", on: "ppp0")
        serial.route("0.0.0.0/0", "ppp0")
        serial.link("eth0", 3)
        serial.unplug("eth0")
        #expect(serial.path().status == .satisfied)
        // A VPN whose way leads over an interface without a default route.
        var routed = Self.world("tun")
        routed.removeRoutes("0.0.0.0/0")
        #expect(routed.path().status == .satisfied)
        routed.unplug("eth0")
        #expect(routed.path().status == .unsatisfied)
    }

    // MARK: - What the tunnel says itself

    @Test(
        arguments: [
            (.noPeer, "no peer of t0 has IPv4 allowed addresses for the Internet"),
            (.noEndpoint, "the peer of t0 has no endpoint"),
            (.noPolicy, "t0 has no IPsec policy and state for IPv4 packets"),
        ] as [(TunnelRefusal, String)]
    )
    func `a tunnel that refuses packets to the Internet is none of its ways out`(refusal: TunnelRefusal, words: String)
    {
        var world = Self.world("wireguard")
        world.table.tunnels[7] = .refused(refusal)
        #expect(world.path().reason == .noPeer && world.path().subject?.interface == "t0")
        #expect(clause(world) == words)
        // Nothing announces the end of it.
        #expect(world.evaluate().nextCheck == world.now + .seconds(2))
        world.table.tunnels[7] = .unknown
        #expect(world.path().status == .satisfied)
    }

    @Test func `the endpoint that WireGuard tells decides, whatever other interfaces reach`() {
        var world = Self.world("wireguard")
        world.table.tunnels[7] = .sent(to: .v4(0xC633_6409), by: nil, mark: 0)
        #expect(world.path().status == .satisfied && world.path().underlyingTypes == [.wiredEthernet])
        world.removeRoutes("198.51.100.9/32")
        // What is left leads into the tunnel itself.
        #expect(
            world.path().reason == .noDefaultRoute && clause(world) == "t0 has no route to its remote end 198.51.100.9"
        )
        world.route("198.51.100.9/32", type: .unreachable)
        #expect(world.path().status == .unsatisfied)
    }

    @Test func `a name server behind a peer that there is not`() {
        var world = Self.world("wireguard")
        world.facts.dns = DNSConfiguration(servers: [DNSServer(ScopedAddress(.v4(0x0808_0404)))])
        #expect(world.path().supportsDNS)
        world.table.tunnels[7] = .refused(.noEndpoint)
        #expect(!world.path().supportsDNS)
    }

    @Test func `the mark of WireGuard's own packets leads them past the tunnel`() {
        var world = Self.world("wireguard")
        world.removeRoutes("198.51.100.9/32")
        world.rule(5, table: 7) { $0.mark = 51820 }
        world.route("0.0.0.0/0", "eth0", via: "192.0.2.1", table: 7)
        world.table.tunnels[7] = .sent(to: .v4(0xC633_6409), by: nil, mark: 0)
        #expect(world.path().status == .unsatisfied)
        world.table.tunnels[7] = .sent(to: .v4(0xC633_6409), by: nil, mark: 51820)
        #expect(world.path().status == .satisfied)
        // The endpoint is of a family that the underlay lost.
        world.table.tunnels[7] = .sent(to: .v6(0x2001_0db8_0000_0000_0000_0000_0000_0009), by: nil, mark: 51820)
        #expect(clause(world) == "t0 has no route to its remote end 2001:db8::9")
    }

    @Test func `a name server behind a tunnel that leads nowhere`() {
        var world = Self.world("gre", remote: "192.0.2.9")
        world.facts.dns = DNSConfiguration(servers: [DNSServer(ScopedAddress(.v4(0x0A08_0001)))])
        world.route("10.8.0.0/24", "t0")
        #expect(world.path().supportsDNS)
        world.unplug("eth0")
        #expect(!world.path().supportsDNS)
    }
}
