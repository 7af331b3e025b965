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
        #expect(found == [Listener(transport: transport, address: .of(address), port: 53)])
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
