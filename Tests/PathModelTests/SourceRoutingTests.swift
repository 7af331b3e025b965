// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Netlink
import PathModel
import Testing

/// Routes and rules that hold for one source: what connect(2) would find (S20).
@Suite struct SourceRoutingTests {
    /// An ordinary machine with a second uplink.
    private static func world() -> World {
        var world = World.ordinary()
        world.link("eth1", 3)
        world.add("198.51.100.2/24", on: "eth1")
        world.add("2001:db8:1::2/64", on: "eth1")
        world.route("0.0.0.0/0", "eth1", via: "198.51.100.1", metric: 200)
        world.route("::/0", "eth1", via: "fe80::2", metric: 2000)
        return world
    }

    @Test(arguments: [
        (RouteFailure.prohibited, UnsatisfiedReason.routeProhibited), (.blackhole, .routeBlackhole),
        (.noRoute, .noDefaultRoute),
    ])
    func `an IPv4 source that a rule refuses`(failure: RouteFailure, reason: UnsatisfiedReason) {
        var world = Self.world()
        world.removeRoutes("::/0")
        world.rule(10) {
            $0.failure = failure
            $0.origin = IPPrefix("192.0.2.10/32")
        }
        let path = world.path()
        #expect(path.status == .unsatisfied && path.reason == reason)
        #expect(path.subject?.obstacle == IPAddress("192.0.2.10").map { .source($0) } && path.subject?.family == .ipv4)
        #expect(path.warnings == [.datagramsDiffer])
        let text = ReasonText(reason, path.subject)
        #expect(text.clause.hasSuffix(" for packets from 192.0.2.10"), "\(text.clause)")
        #expect(text.hint?.contains("192.0.2.10") == true)
    }

    @Test func `another source than the one that is refused`() {
        var world = Self.world()
        world.rule(10) {
            $0.failure = .prohibited
            $0.origin = IPPrefix("198.51.100.2/32")
        }
        #expect(world.path().status == .satisfied && world.path().warnings.isEmpty)
    }

    @Test func `an IPv4 source whose table leads by the other uplink`() {
        var world = Self.world()
        world.removeRoutes("::/0")
        world.route("0.0.0.0/0", "eth1", via: "198.51.100.9", table: 77)
        world.rule(10, table: 77) { $0.origin = IPPrefix("192.0.2.0/24") }
        let path = world.path()
        #expect(path.ipv4?.interfaces.map(\.name) == ["eth1"])
        #expect(path.gatewayTexts == ["198.51.100.9"])
        #expect(path.ipv4?.source == IPAddress("192.0.2.10"))
        #expect(path.warnings == [.borrowedSource, .datagramsDiffer])
        world.unplug("eth1")
        #expect(world.path().status == .unsatisfied)
    }

    @Test func `a rule for a protocol or a port holds for such packets alone`() {
        var plain = Self.world()
        plain.facts.dns = DNSConfiguration(servers: [DNSServer(ScopedAddress(.v4(0x0808_0404)))])
        func path(_ transport: Transport, table: UInt32? = nil) -> Path {
            var world = plain
            world.route("0.0.0.0/0", "eth1", via: "198.51.100.1", table: 77)
            world.rule(10, table: table ?? 254) {
                $0.transport = transport
                if table == nil { $0.failure = .prohibited }
            }
            return world.path()
        }
        let usual = plain.path()
        #expect(usual.warnings == [] && usual.dns.isUsable)
        #expect(plain.table.log.queries.allSatisfy { $0.transport == nil })
        let refused = path(.https)
        #expect(refused.reason == .routeProhibited && refused.warnings == [.datagramsDiffer] && refused.dns.isUsable)
        #expect(path(Transport(number: 0, port: 443)).reason == .routeProhibited)
        let moved = path(.https, table: 77)
        #expect(moved.names.first == "eth1" && moved.warnings == [.datagramsDiffer])
        let datagrams = path(Transport(number: 17, port: 0))
        #expect(datagrams.supportsIPv4 && datagrams.warnings == [.datagramsDiffer] && !datagrams.dns.isUsable)
        let questions = path(.dns)
        #expect(questions.supportsIPv4 && questions.warnings == [.datagramsDiffer] && !questions.dns.isUsable)
        let others = path(Transport(number: 6, port: 25))
        #expect(others == usual)
        #expect(path(Transport(number: 0, port: 0)).warnings == [], "all are refused alike")
    }

    @Test func `a preferred source of the route that a rule refuses`() {
        var world = World.ordinary()
        world.removeRoutes("0.0.0.0/0")
        world.removeRoutes("::/0")
        world.add("192.0.2.11/24", on: "eth0")
        world.route("0.0.0.0/0", "eth0", via: "192.0.2.1") { $0.source = IPAddress("192.0.2.11") }
        #expect(world.path().ipv4?.source == IPAddress("192.0.2.11"))
        world.rule(10) {
            $0.failure = .prohibited
            $0.origin = IPPrefix("192.0.2.11/32")
        }
        #expect(world.path().reason == .routeProhibited)
    }

    @Test func `legs of a multipath route whose source is refused`() {
        var world = Self.world()
        world.removeRoutes("0.0.0.0/0")
        world.multipath("0.0.0.0/0", [("eth0", "192.0.2.1"), ("eth1", "198.51.100.1")])
        #expect(world.path().ipv4?.gateways.count == 2)
        for (source, gateway) in [("192.0.2.10/32", "198.51.100.1"), ("198.51.100.2/32", "192.0.2.1")] {
            var world = world
            world.rule(10) {
                $0.failure = .prohibited
                $0.origin = IPPrefix(source)
            }
            #expect(world.path().ipv4?.gateways.map { "\($0.address)" } == [gateway])
            #expect(world.path().warnings.contains(.degraded))
        }
    }

    @Test func `an IPv6 default for a source prefix alone, as OpenWrt has it`() {
        var world = World.ordinary()
        world.removeRoutes("0.0.0.0/0")
        world.removeRoutes("::/0")
        world.route("::/0", "eth0", via: "fe80::1") { $0.origin = IPPrefix("2001:db8::/64") }
        let path = world.path()
        #expect(path.supportsIPv6 && path.ipv6?.source == IPAddress("2001:db8::10"))
        #expect(path.gatewayTexts == ["fe80::1%eth0"])
        world.remove("2001:db8::10/64", from: "eth0")
        #expect(!world.path().supportsIPv6)
    }

    @Test func `an IPv6 source rule, and one for a prefix nobody has`() {
        for (prefix, isOpen) in [("2001:db8::/64", true), ("2001:db8:9::/64", false)] {
            var world = World.ordinary()
            world.removeRoutes("0.0.0.0/0")
            world.removeRoutes("::/0")
            world.route("::/0", "eth0", via: "fe80::1", table: 77)
            world.rule(10, table: 77) { $0.origin = IPPrefix(prefix) }
            #expect(world.path().supportsIPv6 == isOpen)
            if !isOpen { #expect(world.path().reason == .noDefaultRoute) }
        }
    }

    @Test(arguments: [true, false]) func `a name server that the source is refused for`(isRefused: Bool) throws {
        var world = Self.world()
        let server = try #require(IPAddress("8.8.8.8"))
        world.facts.dns = DNSConfiguration(servers: [DNSServer(ScopedAddress(server))])
        world.route("0.0.0.0/0", "eth0", via: "192.0.2.1", table: 77)
        world.rule(10, table: 77) { $0.origin = IPPrefix("192.0.2.10/32") }
        if isRefused { world.route("8.8.8.8/32", table: 77, type: .prohibit) }
        #expect(world.path().supportsDNS == !isRefused)
    }
}
