// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import LinuxIO
import Netlink
@testable import PathEngine
import PathModel
import TestSupport
import Testing

/// What routes, rules and addresses of the running kernel make of a path.
@Suite(.inNamespace) struct RoutingTests {
    private let namespace = Namespace.current
    private let peer: Namespace

    init() throws { peer = try Namespace() }

    // MARK: - Order and multipath

    @Test func `a full-tunnel VPN comes first and what it runs over follows (S17, S18)`() async throws {
        try namespace.uplink("v0", 1, to: peer, metric: 100)
        try namespace.uplink("w0", 2, to: peer, metric: 600)
        try namespace.ipBatch([
            "route del ::/0 dev v0", "route del ::/0 dev w0", "tuntap add dev t0 mode tun", "link set t0 up",
            "addr add 10.8.0.2/24 dev t0",
            "route add default dev t0 table 51820", "rule add pref 90 not fwmark 0xca6c lookup 51820",
        ])
        let settings = EngineSettings.prompt.with { $0.interfaces = [InterfacePolicy(match: "w*", type: .wifi)] }
        let subject = try Subject(settings)
        let program = try RunningCommand([
            "nsenter", "--net=\(namespace.path)", "python3", "-c",
            """
            import fcntl, os, struct, time
            tun = os.open("/dev/net/tun", os.O_RDWR)
            fcntl.ioctl(tun, 0x400454ca, struct.pack("16sH", b"t0", 0x1001))
            while True: time.sleep(1)
            """,
        ])
        await subject.eventually("the VPN in front") { $0.ipv4?.interfaces.first?.name == "t0" }
        try await subject.caughtUp()
        #expect(subject.path.interfaces.map(\.name) == ["t0", "v0", "w0"])
        #expect(subject.path.interfaces.map(\.type) == [.other, .wiredEthernet, .wifi])
        #expect(subject.path.underlyingTypes == [.wiredEthernet])
        withExtendedLifetime(program) {}
    }

    @Test func `an interface without a default route is not available until it gets one (S16)`() async throws {
        try namespace.uplink("v0", 1, to: peer, metric: 100)
        try namespace.uplink("w0", 2, to: peer, metric: nil)
        let subject = try Subject()
        #expect(subject.path.interfaces.map(\.name) == ["v0"])
        try namespace.ip("route add default via 10.2.0.1 dev w0 metric 600")
        await subject.eventually("a second interface") { $0.interfaces.map(\.name) == ["v0", "w0"] }
        #expect(subject.changes.last?.changed == [.interfaces])
    }

    @Test func `a multipath route is degraded by one dead leg and lost by two (S31)`() async throws {
        try namespace.uplink("v0", 1, to: peer, metric: nil)
        try namespace.uplink("w0", 2, to: peer, metric: nil)
        try namespace.ip("route add default metric 50 nexthop via 10.1.0.1 dev v0 nexthop via 10.2.0.1 dev w0")
        let subject = try Subject()
        #expect(subject.path.ipv4?.interfaces.map(\.name) == ["v0", "w0"])
        #expect(subject.path.gateways.map { "\($0.address)" } == ["10.1.0.1", "10.2.0.1"])
        #expect(subject.path.warnings.isEmpty)
        try peer.set("v1", isUp: false)
        await subject.eventually("one leg") { $0.warnings == [.degraded] }
        #expect(subject.path.status == .satisfied)
        #expect(subject.path.interfaces.map(\.name) == ["w0"])
        try peer.set("v2", isUp: false)
        await subject.unsatisfied(.noCarrier)
        try peer.set("v1", isUp: true)
        await subject.eventually("the other leg") { $0.status == .satisfied && $0.interfaces.map(\.name) == ["v0"] }
    }

    @Test func `the kernel deletes nexthop objects with their carrier, and the path follows (S31)`() async throws {
        try namespace.uplink("v0", 1, to: peer, metric: nil)
        try namespace.uplink("w0", 2, to: peer, metric: nil)
        try namespace.ipBatch([
            "nexthop add id 1 via 10.1.0.1 dev v0", "nexthop add id 2 via 10.2.0.1 dev w0",
            "nexthop add id 9 group 1/2", "route add default metric 50 nhid 9",
        ])
        let subject = try Subject()
        #expect(subject.path.ipv4?.interfaces.map(\.name) == ["v0", "w0"])
        try peer.set("v1", isUp: false)
        await subject.eventually("one leg") { $0.status == .satisfied && $0.interfaces.map(\.name) == ["w0"] }
        try peer.set("v2", isUp: false)
        await subject.eventually("none") { $0.status == .unsatisfied }
        try peer.apply(["link set v1 up", "link set v2 up"])
        await subject.unsatisfied(.noDefaultRoute)
    }

    @Test func `a route that tells only its nexthop object is resolved (S31)`() async throws {
        try namespace.uplink("v0", 1, to: peer, metric: nil)
        try namespace.run("sysctl -qw net.ipv4.nexthop_compat_mode=0")
        try namespace.ipBatch(["nexthop add id 1 via 10.1.0.1 dev v0", "route add default nhid 1"])
        let subject = try Subject()
        #expect(subject.path.gateways.map { "\($0.address)" } == ["10.1.0.1"])
        try namespace.ip("nexthop del id 1")
        await subject.unsatisfied(.noDefaultRoute)
    }

    @Test func `IPv4 over an IPv6 router has that router as gateway (S34)`() async throws {
        try namespace.uplink("v0", 1, to: peer, metric: nil)
        try namespace.ip("-4 route add default via inet6 2001:db8:1::1 dev v0")
        let subject = try Subject()
        #expect(subject.path.ipv4?.gateways.map { "\($0.address)" } == ["2001:db8:1::1"])
        #expect(subject.path.supportsIPv4 && !subject.path.supportsIPv6)
    }

    // MARK: - Views

    @Test func `views ask for marked packets, for a user's and for bound ones (S29)`() async throws {
        try namespace.uplink("v0", 1, to: peer, metric: 100)
        try namespace.uplink("w0", 2, to: peer, metric: 600)
        try namespace.ipBatch([
            "route add default via 10.2.0.1 dev w0 table 201", "rule add pref 80 fwmark 0x7 lookup 201",
            "rule add pref 81 uidrange 12345-12345 prohibit",
        ])
        let settings = EngineSettings.prompt.with {
            $0.monitors = [
                MonitorPolicy(name: "marked", mark: 7), MonitorPolicy(name: "user", uid: 12345),
                MonitorPolicy(name: "bound", outputInterface: "w0"),
                MonitorPolicy(name: "missing", outputInterface: "eth9"),
                MonitorPolicy(name: "wifi", requiredType: .wifi),
            ]
        }
        let subject = try Subject(settings)
        #expect(subject.path.ipv4?.interfaces.map(\.name) == ["v0"])
        #expect(subject.path(of: "marked")?.ipv4?.interfaces.map(\.name) == ["w0"])
        #expect(subject.path(of: "user")?.supportsIPv4 == false)
        #expect(subject.path(of: "user")?.supportsIPv6 == true, "the rule is about IPv4")
        #expect(subject.path(of: "bound")?.interfaces.map(\.name) == ["w0"])
        #expect(subject.path(of: "missing")?.reason == .noInterface)
        #expect(subject.path(of: "wifi")?.status == .unsatisfied)
        let first = try #require(subject.updates.first)
        #expect(first.paths.map(\.monitor) == ["default", "marked", "user", "bound", "missing", "wifi"])

        try namespace.ip("rule del pref 80")
        await subject.loop.eventually("the view without its rule") {
            subject.path(of: "marked")?.ipv4?.interfaces.map(\.name) == ["v0"]
        }
        #expect(subject.changes.isEmpty, "the default monitor has nothing to tell")
        let update = try #require(subject.updates.last { !$0.paths.isEmpty })
        #expect(update.cause.kind == .rule && update.paths.map(\.monitor) == ["marked"])
    }

    // MARK: - Probes

    @Test func `host routes to probes mislead nobody (S20)`() async throws {
        try namespace.uplink("v0", 1, to: peer, metric: 100)
        try namespace.uplink("w0", 2, to: peer, metric: nil)
        try namespace.ipBatch([
            "route add 1.1.1.1/32 via 10.2.0.1 dev w0", "route add unreachable 8.8.8.8/32",
        ])
        let subject = try Subject()
        #expect(subject.path.ipv4?.interfaces.map(\.name) == ["v0"])
        try namespace.ip("route del default dev v0")
        await subject.eventually("no IPv4") { !$0.supportsIPv4 }
    }

    @Test func `the halves of a VPN are a default, and half of one is not all (S20)`() async throws {
        try namespace.uplink("v0", 1, to: peer, metric: nil)
        try namespace.ip("route add 0.0.0.0/1 via 10.1.0.1 dev v0")
        let subject = try Subject()
        await subject.satisfied()
        try namespace.ip("route add 128.0.0.0/1 via 10.1.0.1 dev v0")
        try await subject.caughtUp()
        #expect(subject.path.status == .satisfied)
        try namespace.ipBatch(["route del 0.0.0.0/1", "route del 128.0.0.0/1"])
        await subject.unsatisfied(.noDefaultRoute)
    }

    @Test func `a full table without a default is the Internet when most probes are in it (S20)`() async throws {
        try namespace.uplink("v0", 1, to: peer, metric: nil)
        try namespace.ipBatch(["1.1.1.0", "8.8.8.0", "9.9.9.0"].map { "route add \($0)/24 via 10.1.0.1 dev v0" })
        let subject = try Subject()
        #expect(subject.path.status == .satisfied)
        #expect(subject.path.interfaces.map(\.name) == ["v0"])
    }

    // MARK: - Sources

    struct Source: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var commands: [String]
        var warnings: [PathWarning]
        var families: Set<AddressFamily>
    }

    @Test(arguments: [
        Source(
            testDescription: "no IPv6 address but the default",
            commands: ["-6 addr flush dev v0 scope global", "route replace ::/0 dev v0 metric 100"],
            warnings: [],
            families: [.ipv4]
        ),
        Source(
            testDescription: "the IPv4 address of another interface",
            commands: [
                "addr del 10.1.0.2/24 dev v0", "addr add 10.9.0.1/32 dev lo",
                "route add default via 10.1.0.1 dev v0 onlink",
            ],
            warnings: [.borrowedSource],
            families: [.ipv4, .ipv6]
        ),
        Source(
            testDescription: "an IPv4 link-local address",
            commands: [
                "addr del 10.1.0.2/24 dev v0", "addr add 169.254.7.7/16 dev v0 scope link", "route add default dev v0",
            ],
            warnings: [.linkLocalSource],
            families: [.ipv4, .ipv6]
        ),
        Source(
            testDescription: "a deprecated address",
            commands: ["addr change 2001:db8:1::2/64 dev v0 preferred_lft 0 valid_lft forever"],
            warnings: [.deprecatedSource],
            families: [.ipv4, .ipv6]
        ),
        Source(
            testDescription: "a unique local address",
            commands: [
                "-6 addr flush dev v0 scope global", "addr add fd00:1::2/64 dev v0 nodad",
                "route replace ::/0 via fd00:1::1 dev v0 metric 100",
            ],
            warnings: [.ulaOnly],
            families: [.ipv4, .ipv6]
        ),
    ])
    func `sources are judged as rule S24 has it`(example: Source) async throws {
        try namespace.uplink("v0", 1, to: peer)
        let subject = try Subject()
        #expect(subject.path.supportsIPv4 && subject.path.supportsIPv6 && subject.path.warnings.isEmpty)
        try namespace.apply(example.commands)
        await subject.eventually("\(example.warnings) \(example.families)") { path in
            path.warnings == example.warnings && path.supportsIPv4 == example.families.contains(.ipv4)
                && path.supportsIPv6 == example.families.contains(.ipv6)
        }
    }

    @Test func `a host of a more specific route says nothing of a default route without a router (S52)`() async throws {
        try namespace.uplink("v0", 1, to: peer, metric: nil)
        try peer.ip("addr add 10.9.0.1/32 dev v1")
        try namespace.apply(["route add default dev v0", "route add 10.9.0.0/16 dev v0"])
        let subject = try Subject()
        try namespace.run("ping -c 1 -W 5 10.9.0.1")
        // Packets to the probe of the path find nobody.
        #expect(throws: CommandFailure.self) { try namespace.run("ping -c 1 -W 4 1.1.1.1") }
        await subject.eventually("a warning") { $0.warnings == [.gatewayUnresolved] }
        #expect(try Subject().path.warnings == [.gatewayUnresolved])
        // Without that route it is a destination beyond, which answers.
        try namespace.ip("neigh del 10.9.0.1 dev v0")
        try namespace.ip("route del 10.9.0.0/16 dev v0")
        try namespace.run("ping -c 1 -W 5 10.9.0.1")
        #expect(try Subject().path.warnings == [])
    }

    @Test func `a machine without IPv6 is not in error (S50)`() async throws {
        try namespace.uplink("v0", 1, to: peer)
        let subject = try Subject()
        try namespace.run("sysctl -qw net.ipv6.conf.all.disable_ipv6=1")
        await subject.eventually("IPv4 alone") { $0.supportsIPv4 && !$0.supportsIPv6 }
        #expect(subject.path.status == .satisfied && subject.path.warnings.isEmpty)
    }

    @Test func `an optimistic address is used before it is checked, where the kernel uses it (S26)`() async throws {
        try namespace.cable("v0", 1, to: peer)
        // Neighbor Solicitation comes from another address than an optimistic one.
        try namespace.ip("addr add fe80::2/64 dev v0 nodad")
        for setting in ["optimistic_dad=1", "use_optimistic=1", "dad_transmits=5"] {
            try namespace.run("sysctl -qw net.ipv6.conf.v0.\(setting)")
        }
        let subject = try Subject()
        try namespace.ipBatch([
            "addr add 2001:db8:1::2/64 dev v0 optimistic", "route add ::/0 via 2001:db8:1::1 dev v0",
        ])
        await subject.satisfied()
        // The kernel uses the address before it tells of it.
        await subject.loop.eventually("the address") {
            subject.engine.core.state.addresses.values.joined().contains {
                $0.value.address == .of("2001:db8:1::2") && $0.value.flags.contains(.optimistic)
            }
        }
        await subject.eventually("a source of its own") { $0.warnings.isEmpty }
        #expect(subject.path.ipv6?.source == .of("2001:db8:1::2"))
    }
}
