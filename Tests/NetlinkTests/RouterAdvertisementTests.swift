// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import LinuxIO
import Netlink
import TestSupport
import Testing

/// What a real kernel does with router advertisements (RFC 4861) of a router in the next namespace.
@Suite(.inNamespace) struct RouterAdvertisementTests {
    private let namespace = Namespace.current
    private static let probe = RouteQuery(.of("2606:4700::1111"), kind: .entry)

    /// A link whose other end can advertise; nothing is advertised yet.
    private func link() throws -> Namespace {
        let peer = try Namespace()
        try namespace.connect("v0", to: peer, as: "v1")
        try namespace.run("sysctl -qw net.ipv6.conf.v0.accept_ra=2 net.ipv6.conf.v0.router_solicitations=0")
        try peer.ip("addr add fe80::1/64 dev v1 nodad")
        return peer
    }

    /// Sends one advertisement to all nodes, with a prefix and, where asked for, name servers.
    private func advertise(from peer: Namespace, lifetime: Int, servers: [String] = [], serverLifetime: Int = 60) throws
    {
        let script = """
            import socket, struct, sys
            lifetime, server_lifetime, servers = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
            s = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
            s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)
            index = socket.if_nametoindex('v1')
            s.bind(('fe80::1', 0, 0, index))
            packet = struct.pack('!BBHBBHII', 134, 0, 0, 64, 0, lifetime, 0, 0)
            prefix = socket.inet_pton(socket.AF_INET6, '2001:db8:9::')
            packet += struct.pack('!BBBBIII', 3, 4, 64, 0xC0, 600, 300, 0) + prefix
            if servers:
                packet += struct.pack('!BBHI', 25, 1 + 2 * len(servers), 0, server_lifetime)
                for server in servers: packet += socket.inet_pton(socket.AF_INET6, server)
            s.sendto(packet, ('ff02::1', 0, 0, index))
            """
        try peer.run(["python3", "-c", script, String(lifetime), String(serverLifetime)] + servers)
    }

    /// Advertises until the link's own address is checked and the kernel listens.
    private func advertise(
        from peer: Namespace,
        lifetime: Int,
        servers: [String] = [],
        until condition: () -> Bool
    ) async throws {
        for _ in 0..<200 where !condition() {
            try advertise(from: peer, lifetime: lifetime, servers: servers)
            await namespace.loop.sleep(for: .milliseconds(50))
        }
        #expect(condition())
    }

    @Test func `a default route lives as long as its advertisement, and goes without an event`() async throws {
        let peer = try link()
        let kernel = try LiveKernel()
        let monitor = try KernelMonitor(loop: namespace.loop)
        var removals = 0
        monitor.onEvents = { batch in
            for notice in batch.notices {
                if case .route(let route) = notice.event, route.removed, route.prefixLength == 0 { removals += 1 }
            }
        }
        try monitor.start()
        defer { monitor.stop() }
        try await advertise(from: peer, lifetime: 2) { (try? kernel.lookup(Self.probe).get()) != nil }
        let answer = try kernel.lookup(Self.probe).get()
        #expect(answer.origin == 9 && answer.metric == 1024 && answer.prefixLength == 0)
        #expect(answer.nexthops.map(\.gateway) == [.of("fe80::1")])
        let seconds = try #require(answer.expiresIn)
        #expect((0...2).contains(seconds))
        await namespace.loop.eventually("the expiry") { kernel.lookup(Self.probe) == .failure(.noRoute) }
        // The lookup tells at once; the kernel may take half a minute to clean up and to say so.
        #expect(removals == 0)
    }

    @Test func `an advertisement without a lifetime withdraws the route`() async throws {
        let peer = try link()
        let kernel = try LiveKernel()
        try await advertise(from: peer, lifetime: 1800) { (try? kernel.lookup(Self.probe).get()) != nil }
        #expect(try #require(kernel.lookup(Self.probe).get().expiresIn) > 1700)
        try advertise(from: peer, lifetime: 0)
        await namespace.loop.eventually("the withdrawal") { kernel.lookup(Self.probe) == .failure(.noRoute) }
    }

    @Test func `the address of a prefix is dynamic and has lifetimes`() async throws {
        let peer = try link()
        let kernel = try LiveKernel()
        let own = { (try? kernel.addresses().values.first { $0.address.description.hasPrefix("2001:db8:9:") }) ?? nil }
        try await advertise(from: peer, lifetime: 1800) { own() != nil }
        let address = try #require(own())
        #expect(!address.flags.contains(.permanent) && address.prefixLength == 64 && address.scope == 0)
        #expect((500...600).contains(try #require(address.validSeconds)))
        #expect((200...300).contains(try #require(address.preferredSeconds)))
        await namespace.loop.eventually("the check for duplicates") { own()?.flags.contains(.tentative) == false }
    }

    @Test func `name servers are told in an event of their own`() async throws {
        let peer = try link()
        let index = try #require(try LiveKernel().link(named: "v0")).index
        let monitor = try KernelMonitor(loop: namespace.loop, groups: [.routerDNS])
        var heard: [KernelEvent] = []
        monitor.onEvents = { heard += $0.notices.map(\.event) }
        try monitor.start()
        defer { monitor.stop() }
        let servers = ["2001:db8::53", "fe80::53"]
        try await advertise(from: peer, lifetime: 1800, servers: servers) { !heard.isEmpty }
        #expect(heard.first == .routerDNS(index: index, servers: servers.map { .of($0) }, lifetime: 60))
        #expect(monitor.statistics.messages[.routerDNS, default: 0] >= 1)
        #expect(monitor.statistics.undecodable == 0)
    }

    @Test func `servers that are withdrawn have no lifetime`() async throws {
        let peer = try link()
        let monitor = try KernelMonitor(loop: namespace.loop, groups: [.routerDNS])
        var lifetimes: [UInt32] = []
        monitor.onEvents = { batch in
            lifetimes += batch.notices.compactMap {
                if case .routerDNS(_, _, let time) = $0.event { time } else { nil }
            }
        }
        try monitor.start()
        defer { monitor.stop() }
        for _ in 0..<200 where lifetimes.isEmpty {
            try advertise(from: peer, lifetime: 1800, servers: ["2001:db8::53"], serverLifetime: 0)
            await namespace.loop.sleep(for: .milliseconds(50))
        }
        #expect(lifetimes.first == 0)
    }
}
