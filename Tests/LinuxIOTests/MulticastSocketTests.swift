// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Glibc
import LinuxIO
import TestSupport
import Testing

@Suite(.inNamespace) struct MulticastSocketTests {
    private let namespace = Namespace.current

    /// Makes a link to a new namespace, with addresses of both families here and there.
    private func link(_ name: String, network: Int) throws -> (peer: Namespace, index: Int) {
        let peer = try Namespace()
        for end in [namespace, peer] { try end.run("sysctl -qw net.ipv6.conf.default.accept_dad=0") }
        try namespace.connect(name, to: peer, as: "p0")
        try namespace.ip("addr add 192.0.\(network).2/24 dev \(name)")
        try namespace.ip("addr add fe80::\(network)/64 dev \(name) nodad")
        try peer.ip("addr add 192.0.\(network).1/24 dev p0")
        try peer.ip("addr add fe80::1:\(network)/64 dev p0 nodad")
        try namespace.waitForAddresses(on: name, isLinkLocal: true)
        try peer.waitForAddresses(on: "p0", isLinkLocal: true)
        let words = try namespace.ip("-o link show \(name)").split(separator: ":")
        return (peer, try #require(Int(words[0])))
    }

    /// What a socket has, as text; `nil` when there is nothing.
    private func receive(
        _ socket: borrowing MulticastSocket,
        capacity: Int = 9000
    ) throws -> (datagram: MulticastSocket.Datagram, text: String)? {
        var buffer = [UInt8](repeating: 0, count: capacity)
        guard let datagram = try socket.receive(into: &buffer) else { return nil }
        return (datagram, String(decoding: buffer.prefix(min(datagram.count, capacity)), as: UTF8.self))
    }

    /// The same once there is something: even what a host sends to itself comes when the kernel has time for it.
    private func arrival(
        at socket: borrowing MulticastSocket,
        capacity: Int = 9000
    ) async throws -> (datagram: MulticastSocket.Datagram, text: String)? {
        for _ in 0..<30_000 {
            if let found = try receive(socket, capacity: capacity) { return found }
            await namespace.loop.sleep(for: .milliseconds(2))
        }
        return nil
    }

    /// Sends from the other side of a link, to the group.
    private func send(_ text: String, from peer: Namespace, _ family: AddressFamily, hopLimit: Int = 255) throws {
        let group = family == .ipv4 ? "224.0.0.251" : "ff02::fb%p0"
        let script = """
            import socket, sys
            v6 = ':' in sys.argv[1]
            s = socket.socket(socket.AF_INET6 if v6 else socket.AF_INET, socket.SOCK_DGRAM)
            if v6: s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, int(sys.argv[3]))
            else:
                s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, int(sys.argv[3]))
                s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(sys.argv[4]))
            s.bind(('', 40000))
            s.sendto(sys.argv[2].encode(), socket.getaddrinfo(sys.argv[1], 5353, type=socket.SOCK_DGRAM)[0][4])
            """
        let address = try peer.ip("-4 -o addr show p0").split(separator: " ")[3].split(separator: "/")[0]
        try peer.run(["python3", "-c", script, group, text, String(hopLimit), String(address)])
    }

    @Test(arguments: AddressFamily.allCases)
    func `what others send to the group arrives with its origin`(family: AddressFamily) async throws {
        let (peer, index) = try link("v0", network: 2)
        let socket = try MulticastSocket(family, interface: index)
        #expect(socket.family == family && socket.interface == index)
        #expect(try receive(socket) == nil)
        try send("hello", from: peer, family, hopLimit: 7)
        let found = try await arrival(at: socket)
        let (datagram, text) = try #require(found)
        #expect(text == "hello" && datagram.count == 5)
        #expect(datagram.port == 40_000 && datagram.interface == index && datagram.hopLimit == 7)
        let expected = family == .ipv4 ? ["192.0.2.1"] : ["fe80::1:2"]
        #expect(family == .ipv6 ? datagram.source.isLinkLocal : expected.contains(datagram.source.description))
        #expect(datagram.dropped == 0 && !datagram.isTruncated)
    }

    @Test(arguments: AddressFamily.allCases)
    func `sockets of one host hear each other, from port 5353 with 255 hops`(family: AddressFamily) async throws {
        let (peer, index) = try link("v0", network: 2)
        let first = try MulticastSocket(family, interface: index)
        let second = try MulticastSocket(family, interface: index)
        try first.send(Array("hi".utf8).span)
        for socket in [0, 1] {
            let found = try await socket == 0 ? arrival(at: first) : arrival(at: second)
            let (datagram, text) = try #require(found)
            #expect(text == "hi" && datagram.port == 5353 && datagram.hopLimit == 255)
            #expect(datagram.interface == index)
        }
        #expect(try receive(first) == nil)
        withExtendedLifetime(peer) {}
    }

    @Test(arguments: AddressFamily.allCases)
    func `a socket hears its own link only`(family: AddressFamily) async throws {
        let (one, v0) = try link("v0", network: 2)
        let (other, w0) = try link("w0", network: 3)
        let first = try MulticastSocket(family, interface: v0)
        let second = try MulticastSocket(family, interface: w0)
        try send("for w0", from: other, family)
        let found = try await arrival(at: second)
        #expect(found?.text == "for w0" && found?.datagram.interface == w0)
        #expect(try receive(first) == nil)
        withExtendedLifetime(one) {}
    }

    @Test func `a packet longer than the buffer is told as cut`() async throws {
        let (peer, index) = try link("v0", network: 2)
        let socket = try MulticastSocket(.ipv4, interface: index)
        try socket.send([UInt8](repeating: 65, count: 1200).span)
        let cut = try await arrival(at: socket, capacity: 100)
        let (datagram, text) = try #require(cut)
        #expect(datagram.isTruncated && text.allSatisfy { $0 == "A" } && text.utf8.count <= 100)
        try socket.send([UInt8](repeating: 66, count: 100).span)
        let whole = try await arrival(at: socket, capacity: 100)
        let next = try #require(whole)
        #expect(!next.datagram.isTruncated && next.datagram.count == 100)
        withExtendedLifetime(peer) {}
    }

    @Test func `packets that overrun the buffer are counted`() async throws {
        let (peer, index) = try link("v0", network: 2)
        let socket = try MulticastSocket(.ipv4, interface: index, receiveBuffer: 4096)
        for _ in 0..<200 { try socket.send([UInt8](repeating: 65, count: 1000).span) }
        let first = try await arrival(at: socket)
        var received = first == nil ? 0 : 1
        while try receive(socket) != nil { received += 1 }
        #expect((1..<200).contains(received))
        try socket.send([1].span)
        let last = try await arrival(at: socket)
        let after = try #require(last)
        #expect(Int(after.datagram.dropped) == 200 - received)
        withExtendedLifetime(peer) {}
    }

    @Test func `a link that is down refuses packets, and takes them when it is up`() async throws {
        let (peer, index) = try link("v0", network: 2)
        let socket = try MulticastSocket(.ipv4, interface: index)
        try namespace.set("v0", isUp: false)
        #expect(throws: Errno.self) { try socket.send([1].span) }
        try namespace.set("v0", isUp: true)
        try socket.send([1].span)
        withExtendedLifetime(peer) {}
    }

    @Test(arguments: [4711, -1, Int.max])
    func `an interface that is not there is refused`(interface: Int) {
        #expect(throws: Errno.self) { _ = try MulticastSocket(.ipv4, interface: interface).rawValue }
    }

    @Test func `a loop can watch it`() async throws {
        let (peer, index) = try link("v0", network: 2)
        let socket = try MulticastSocket(.ipv4, interface: index)
        let number = socket.rawValue
        var calls = 0
        var watch: EventLoop.Registration?
        watch = try namespace.loop.register(number, for: .readable) { [namespace] _ in
            calls += 1
            if let watch { namespace.loop.unregister(watch) }
        }
        try socket.send([1].span)
        await namespace.loop.eventually { calls == 1 }
        #expect(try receive(socket)?.datagram.count == 1)
        withExtendedLifetime(peer) {}
    }

    /// What a unicast socket has, waited for.
    private func receive(_ socket: borrowing UnicastSocket) async throws -> MulticastSocket.Datagram? {
        var buffer = [UInt8](repeating: 0, count: 9000)
        for _ in 0..<5000 {
            if let datagram = try socket.receive(into: &buffer) { return datagram }
            await namespace.loop.sleep(for: .milliseconds(2))
        }
        return nil
    }

    @Test(arguments: AddressFamily.allCases)
    func `nobody else takes unicast packets until somebody has the port`(family: AddressFamily) async throws {
        let (peer, index) = try link("v0", network: 2)
        let other: AddressFamily = family == .ipv4 ? .ipv6 : .ipv4
        #expect(UnicastSocket.isAlone(family))
        let group = try MulticastSocket(family, interface: index)
        #expect(UnicastSocket.isAlone(family), "one of the group takes none")
        do {
            let own = try UnicastSocket(family)
            #expect(!UnicastSocket.isAlone(family) && UnicastSocket.isAlone(family, besides: own.inode))
            #expect(UnicastSocket.isAlone(other) && own.family == family)
            // It shares: who comes later is not kept out.
            let later = try UnicastSocket(family)
            #expect(!UnicastSocket.isAlone(family, besides: own.inode))
            _ = (later.rawValue, group.rawValue)
        }
        // A program that another test starts holds what is open until it is executed.
        await namespace.loop.eventually("the port") { UnicastSocket.isAlone(family) }
        withExtendedLifetime(peer) {}
    }

    @Test(arguments: AddressFamily.allCases)
    func `a packet to one host goes from port 5353 to its unicast socket alone`(family: AddressFamily) async throws {
        let (peer, index) = try link("v0", network: 2)
        let own = try UnicastSocket(family)
        let group = try MulticastSocket(family, interface: index)
        let target = try #require(IPAddress(family == .ipv4 ? "192.0.2.2" : "fe80::2"))
        try group.send([1, 2, 3].span)
        try group.send([1, 2, 3, 4].span, to: target, port: 5353)
        let datagram = try #require(try await receive(own))
        #expect(datagram.count == 4, "what was sent to the group is not for this socket")
        #expect(datagram.port == 5353 && datagram.destination == target && datagram.source == target)
        let (looped, _) = try #require(try receive(group))
        #expect(looped.count == 3 && looped.destination.isMulticast)
        #expect(try receive(group) == nil)
        withExtendedLifetime(peer) {}
    }

    @Test func `a packet to a host of the other family is refused`() throws {
        let (peer, index) = try link("v0", network: 2)
        let socket = try MulticastSocket(.ipv4, interface: index)
        #expect(throws: Errno.invalid) { try socket.send([1].span, to: .v6(1), port: 5353) }
        withExtendedLifetime(peer) {}
    }
}
