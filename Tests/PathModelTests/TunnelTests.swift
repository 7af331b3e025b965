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
        world.setDown("eth0")
        #expect(world.path().reason == .linkDown)
        #expect(clause(world) == "t0 runs over eth0, which is administratively down")
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
