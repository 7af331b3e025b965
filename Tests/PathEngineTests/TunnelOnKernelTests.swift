// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Netlink
import PathModel
import TestSupport
import Testing

/// Default routes by tunnels, whose outer packets the kernel sends by another interface (S18).
@Suite(.inNamespace) struct TunnelOnKernelTests {
    private let namespace = Namespace.current
    private let peer: Namespace

    init() throws { peer = try Namespace() }

    @Test(arguments: [
        "remote 10.1.0.1 local 10.1.0.2", "remote 10.1.0.1", "remote 10.1.0.1 dev v0", "remote 2001:db8:1::1",
        "group 239.1.1.1 dev v0", "dev v0",
    ])
    func `the cable of the outer packets is pulled and comes back`(ends: String) async throws {
        try namespace.uplink("v0", 1, to: peer, metric: nil)
        try namespace.apply([
            "link add t0 type vxlan id 7 dstport 4789 \(ends)", "link set t0 up", "addr add 10.9.0.2/24 dev t0",
            "route add default via 10.9.0.1 dev t0",
        ])
        let subject = try Subject()
        await subject.eventually("the tunnel") { $0.interfaces.map(\.name) == ["t0"] }
        try peer.set("v1", isUp: false)
        await subject.unsatisfied(.noCarrier)
        #expect(subject.path.subject?.obstacle == .lower(of: "t0") && subject.path.subject?.interface == "v0")
        #expect(try Subject().path == subject.path)
        try peer.set("v1", isUp: true)
        await subject.eventually("the tunnel") { $0.interfaces.map(\.name) == ["t0"] }
        try namespace.set("v0", isUp: false)
        await subject.unsatisfied(.linkDown)
        #expect(try Subject().path == subject.path)
    }

    @Test func `a program's tunnel loses what it ran over, and an address of the other uplink does not help`()
        async throws
    {
        try namespace.uplink("v0", 1, to: peer, metric: 100)
        try namespace.uplink("w0", 2, to: peer, metric: nil)
        let program = try RunningCommand([
            "nsenter", "--net=\(namespace.path)", "python3", "-c", Self.tunnelProgram,
        ])
        await namespace.loop.eventually("the tunnel") { (try? namespace.ip("link show t0")) != nil }
        try namespace.apply([
            "link set t0 up", "addr add 10.8.0.2/24 dev t0", "route add 0.0.0.0/1 dev t0",
            "route add 128.0.0.0/1 dev t0",
        ])
        let subject = try Subject()
        await subject.eventually("the tunnel") { $0.ipv4?.interfaces.map(\.name) == ["t0"] }
        try peer.set("v1", isUp: false)
        await subject.eventually("no IPv4") { $0.ipv4 == nil }
        #expect(try Subject().path == subject.path)
        try peer.set("v1", isUp: true)
        await subject.eventually("the tunnel") { $0.ipv4?.interfaces.map(\.name) == ["t0"] }
        withExtendedLifetime(program) {}
    }

    @Test func `a VPN that reconnects over another interface is not closed by the routes of before`() async throws {
        try namespace.uplink("v0", 1, to: peer, metric: nil)
        try namespace.uplink("w0", 2, to: peer, metric: nil)
        let program = try RunningCommand([
            "nsenter", "--net=\(namespace.path)", "python3", "-c", Self.tunnelProgram,
        ])
        await namespace.loop.eventually("the tunnel") { (try? namespace.ip("link show t0")) != nil }
        let routes = (0..<1_500).map { "route add 198.18.\($0 / 250).\($0 % 250) via 10.1.0.1 dev v0" }
        try namespace.ipBatch(routes)
        try namespace.apply([
            "link set t0 up", "addr add 10.8.0.2/24 dev t0", "route add 0.0.0.0/1 dev t0",
            "route add 128.0.0.0/1 dev t0", "route add 203.0.113.9 via 10.1.0.1 dev v0",
        ])
        let subject = try Subject()
        await subject.eventually("the tunnel") { $0.ipv4?.interfaces.map(\.name) == ["t0"] }
        try peer.set("v1", isUp: false)
        await subject.eventually("no IPv4") { $0.ipv4 == nil }
        // The host route is not announced to the engine; what is announced next concerns no link.
        try namespace.apply([
            "route replace 203.0.113.9 via 10.2.0.1 dev w0", "route add 5.0.0.0/8 dev t0",
        ])
        await subject.eventually("the tunnel") { $0.ipv4?.interfaces.map(\.name) == ["t0"] }
        withExtendedLifetime(program) {}
    }

    /// A program behind `tun` that keeps its interface.
    private static let tunnelProgram = """
        import fcntl, os, struct, time
        tun = os.open("/dev/net/tun", os.O_RDWR)
        fcntl.ioctl(tun, 0x400454ca, struct.pack("16sH", b"t0", 0x1001))
        while True: time.sleep(60)
        """

    @Test(
        arguments: [
            ("remote 10.1.0.1 local 10.1.0.2", "10.1.0.1", "10.1.0.2"), ("group 239.1.1.1 dev v0", nil, nil),
            ("remote 2001:db8:1::1 local 2001:db8:1::2", "2001:db8:1::1", "2001:db8:1::2"), ("dev v0", nil, nil),
        ] as [(String, String?, String?)]
    )
    func `the kernel tells the ends of a tunnel`(ends: String, remote: String?, local: String?) throws {
        try namespace.uplink("v0", 1, to: peer)
        try namespace.ip("link add t0 type vxlan id 7 dstport 4789 \(ends)")
        let link = try #require(try LiveKernel().link(named: "t0"))
        #expect(link.tunnelRemote == remote.flatMap { IPAddress($0) })
        #expect(link.tunnelLocal == local.flatMap { IPAddress($0) })
    }
}
