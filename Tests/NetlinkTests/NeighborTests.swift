// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import LinuxIO
@testable import Netlink
import TestSupport
import Testing

@Suite(.inNamespace) struct NeighborTests {
    private let kernel: LiveKernel
    private let namespace = Namespace.current

    init() throws { kernel = try LiveKernel() }

    @Test func `entries are what ip prints`() async throws {
        let peer = try namespace.uplink()
        try namespace.ipBatch([
            "neigh add 192.0.2.7 lladdr 02:00:00:00:00:07 dev v0 nud stale",
            "neigh add 2001:db8:1::7 lladdr 02:00:00:00:00:07 dev v0 nud permanent router",
            "neigh add 127.0.0.9 lladdr 00:00:00:00:00:00 dev lo nud permanent",
        ])
        let index = try #require(try kernel.link(named: "v0")).index
        let printed = try namespace.printed("neigh", as: PrintedNeighbor.self)
        let all = try kernel.neighbors().values
        for other in printed {
            let entry = try #require(all.first { $0.address == IPAddress(other.dst) })
            #expect(entry.state.printed == other.state.first)
        }
        let own = try kernel.neighbors(index: index)
        #expect(own.values.allSatisfy { $0.index == index })
        #expect(own.undecodable == 0)
        var router = try kernel.neighbor(.of("2001:db8:1::7"), index: index)
        #expect(router?.confirmed != nil)
        router?.confirmed = nil
        #expect(
            router
                == Neighbor(
                    index: index,
                    address: .of("2001:db8:1::7"),
                    state: .permanent,
                    hardwareAddress: [2, 0, 0, 0, 0, 7],
                    isRouter: true
                )
        )
        #expect(try kernel.neighbor(.of("192.0.2.99"), index: index) == nil)
        withExtendedLifetime(peer) {}
    }

    @Test(arguments: ["192.0.2.1", "2001:db8:1::1"])
    func `a probe finds a neighbour that answers`(gateway: String) async throws {
        let peer = try namespace.uplink()
        let index = try #require(try kernel.link(named: "v0")).index
        try kernel.probeNeighbor(.of(gateway), index: index)
        await namespace.loop.eventually("the answer") {
            (try? kernel.neighbor(.of(gateway), index: index))??.state == .reachable
        }
        let confirmed = try #require(try kernel.neighbor(.of(gateway), index: index)?.confirmed)
        #expect(confirmed < .seconds(60))
        try namespace.ip("neigh change \(gateway) dev v0 nud stale")
        try kernel.probeNeighbor(.of(gateway), index: index)
        await namespace.loop.eventually("the answer") {
            (try? kernel.neighbor(.of(gateway), index: index))??.state == .reachable
        }
        withExtendedLifetime(peer) {}
    }

    @Test func `a probe finds that nobody answers`() async throws {
        let peer = try namespace.uplink()
        try namespace.run("sysctl -qw net.ipv4.neigh.v0.retrans_time_ms=50")
        let index = try #require(try kernel.link(named: "v0")).index
        try kernel.probeNeighbor(.of("192.0.2.77"), index: index)
        await namespace.loop.eventually("the failure") {
            (try? kernel.neighbor(.of("192.0.2.77"), index: index))??.state == .failed
        }
        withExtendedLifetime(peer) {}
    }

    @Test func `a permanent entry stays as it is`() async throws {
        let peer = try namespace.uplink()
        try namespace.ip("neigh add 192.0.2.7 lladdr 02:00:00:00:00:07 dev v0")
        let index = try #require(try kernel.link(named: "v0")).index
        try kernel.probeNeighbor(.of("192.0.2.7"), index: index)
        #expect(try kernel.neighbor(.of("192.0.2.7"), index: index)?.state == .permanent)
        withExtendedLifetime(peer) {}
    }

    /// Nobody answers there, so that nothing but the probe could change the entry.
    @Test(
        arguments: ["192.0.2.77", "2001:db8:1::77"],
        [("extern_learn", .stale), ("managed", nil), ("router", .probe)] as [(String, NeighborState?)]
    )
    func `a probe leaves the flags of an entry as they are`(
        gateway: String,
        entry: (flag: String, state: NeighborState?)
    ) throws {
        let peer = try namespace.uplink()
        let index = try #require(try kernel.link(named: "v0")).index
        try namespace.ip("neigh add \(gateway) lladdr 02:00:00:00:00:77 dev v0 nud stale \(entry.flag)")
        let isProbed = try kernel.probeNeighbor(.of(gateway), index: index)
        let printed = try namespace.ip("neigh show \(gateway) dev v0")
        #expect(printed.split(separator: " ").contains(Substring(entry.flag)), "\(printed)")
        // The kernel itself probes what it manages.
        guard let state = entry.state else { return }
        #expect(try kernel.neighbor(.of(gateway), index: index)?.state == state && isProbed == (state == .probe))
        withExtendedLifetime(peer) {}
    }

    @Test func `a probe on an interface that is not there is refused`() async throws {
        let error = #expect(throws: NetlinkError.self) { try kernel.probeNeighbor(.of("192.0.2.1"), index: 4711) }
        #expect(error?.code == 19)
    }
}

@Suite struct NeighborDecodingTests {
    private static let header: [UInt8] = [2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0x80, 1]

    @Test func `reads an entry`() {
        let bytes = Builder(Self.header).attribute(1, [192, 0, 2, 1]).attribute(2, [1, 2, 3, 4, 5, 6]).bytes
        let expected = Neighbor(
            index: 3,
            address: .of("192.0.2.1"),
            state: .stale,
            hardwareAddress: [1, 2, 3, 4, 5, 6],
            isRouter: true
        )
        #expect(Neighbor(bytes: bytes) == expected)
    }

    @Test(
        arguments: [
            [], Array(header.dropLast()), header, [7] + header.dropFirst() + [8, 0, 1, 0, 192, 0, 2, 1],
            header + [7, 0, 1, 0, 192, 0, 2], header + [8, 0, 1, 0, 192, 0, 2, 1, 1],
        ] as [[UInt8]]
    )
    func `what is not whole is no entry`(bytes: [UInt8]) {
        #expect(Neighbor(bytes: bytes) == nil)
    }
}

@Suite(.inNamespace) struct ListenerTests {
    private let namespace = Namespace.current

    @Test(arguments: [
        ("SOCK_DGRAM", "AF_INET", "127.0.0.53", Listener.Transport.udp), ("SOCK_DGRAM", "AF_INET6", "::1", .udp),
        ("SOCK_STREAM", "AF_INET", "0.0.0.0", .tcp), ("SOCK_STREAM", "AF_INET6", "::", .tcp),
    ])
    func `a server on port 53 is found`(
        kind: String,
        family: String,
        address: String,
        transport: Listener.Transport
    ) async throws {
        var socket = try ListenerSocket()
        let nobody = try socket.listeners(port: 53)
        #expect(nobody == [])
        let server = try RunningCommand([
            "nsenter", "--net=\(namespace.path)", "python3", "-c",
            """
            import socket, sys
            s = socket.socket(socket.\(family), socket.\(kind)); s.bind(('\(address)', 53))
            if socket.\(kind) == socket.SOCK_STREAM: s.listen()
            sys.stdin.read()
            """,
        ])
        var found: [Listener] = []
        for _ in 0..<30_000 where found.isEmpty {
            found = try socket.listeners(port: 53)
            await namespace.loop.sleep(for: .milliseconds(2))
        }
        #expect(found.map(\.transport) == [transport] && found.map(\.address) == [.of(address)])
        #expect(found.map(\.port) == [53] && found.map(\.index) == [nil])
        #expect(ListenerSocket.served([.of("127.0.0.53"), .of("::1")], over: transport).isEmpty == false)
        #expect(ListenerSocket.served([.of("127.0.0.53")], over: transport == .udp ? .tcp : .udp).isEmpty)
        let elsewhere = try socket.listeners(port: 54)
        #expect(elsewhere == [])
        #expect(found.allSatisfy { $0.serves(.of(address == "0.0.0.0" ? "127.0.0.53" : address)) })
        withExtendedLifetime(server) {}
    }

    @Test(arguments: [
        ("127.0.0.53", "127.0.0.53", true), ("127.0.0.53", "127.0.0.54", false), ("0.0.0.0", "127.0.0.53", true),
        ("::", "127.0.0.53", true), ("::", "::1", true), ("0.0.0.0", "::1", false), ("::1", "127.0.0.1", false),
    ])
    func `an address is served by its own socket or one bound to any`(
        bound: String,
        asked: String,
        expected: Bool
    ) async {
        #expect(Listener(transport: .udp, address: .of(bound), port: 53).serves(.of(asked)) == expected)
    }

    private func addAddresses() throws {
        try namespace.ipBatch([
            "link set lo up", "link add d0 type ifb", "link set d0 up", "addr add 192.0.2.2/24 dev d0",
            "addr add 2001:db8::2/64 dev d0 nodad",
        ])
    }

    @Test(
        arguments: [
            ("AF_INET", "0.0.0.0", "lo", false, ["127.0.0.1"]), ("AF_INET", "0.0.0.0", "d0", false, ["192.0.2.2"]),
            ("AF_INET", "192.0.2.2", "lo", false, []), ("AF_INET6", "::", nil, true, ["2001:db8::2", "::1"]),
            ("AF_INET6", "::", nil, false, ["192.0.2.2", "127.0.0.1", "2001:db8::2", "::1"]),
            ("AF_INET6", "::ffff:192.0.2.2", nil, false, ["192.0.2.2"]),
            ("AF_INET6", "::", "d0", false, ["192.0.2.2", "2001:db8::2"]),
            ("AF_INET6", "::", "lo", true, ["::1"]),
        ] as [(String, String, String?, Bool, [String])]
    )
    func `what the kernel delivers to a socket is what it is said to serve`(
        family: String,
        bound: String,
        device: String?,
        isIPv6Only: Bool,
        served: [String]
    ) async throws {
        try addAddresses()
        let server = try RunningCommand([
            "nsenter", "--net=\(namespace.path)", "python3", "-c",
            """
            import socket, sys
            s = socket.socket(socket.\(family), socket.SOCK_DGRAM)
            if socket.\(family) == socket.AF_INET6: s.setsockopt(41, socket.IPV6_V6ONLY, \(isIPv6Only ? 1 : 0))
            if '\(device ?? "")': s.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b'\(device ?? "")')
            s.bind(('\(bound)', 53))
            while True:
                query, peer = s.recvfrom(512)
                s.sendto(query[:2] + b"\\x80\\x05" + query[4:], peer)
            """,
        ])
        await namespace.loop.eventually("the socket") { (try? namespace.run("ss -Hlun"))?.contains(":53") == true }
        await namespace.loop.eventually { LocalDestinations.among([.of("2001:db8::2")], as: .dns).count == 1 }
        let all: Set<IPAddress> = Set(["192.0.2.2", "127.0.0.1", "2001:db8::2", "::1"].map { .of($0) })
        #expect(ListenerSocket.served(all) == Set(served.map { .of($0) }))
        let answered = all.filter { address in
            guard var query = try? LocalServerQuery(to: address) else { return false }
            return query.wait(until: KernelClock().boot + .milliseconds(300)) == .answered
        }
        #expect(answered == Set(served.map { .of($0) }))
        withExtendedLifetime(server) {}
    }

    @Test func `an address of another machine is not queried`() async throws {
        try addAddresses()
        for address in ["192.0.2.1", "198.51.100.1", "2001:db8::1"] {
            #expect(throws: Errno.addressNotAvailable) { _ = try LocalServerQuery(to: .of(address)) }
            #expect(throws: Errno.addressNotAvailable) { _ = try LocalServerQuery(to: .of(address), isStream: true) }
        }
        let own: Set<IPAddress> = Set(["192.0.2.2", "127.0.0.1", "2001:db8::2", "::1"].map { .of($0) })
        let all = own.union([.of("192.0.2.1"), .of("2001:db8::1")])
        // The kernel adds the route of an IPv6 address a little later.
        await namespace.loop.eventually { LocalDestinations.among(all, as: .dns) == own }
    }
}

extension NeighborState {
    /// As iproute2 prints it.
    fileprivate var printed: String {
        switch self {
        case .none: "NONE"
        case .incomplete: "INCOMPLETE"
        case .reachable: "REACHABLE"
        case .stale: "STALE"
        case .delay: "DELAY"
        case .probe: "PROBE"
        case .failed: "FAILED"
        case .noARP: "NOARP"
        case .permanent: "PERMANENT"
        }
    }
}
