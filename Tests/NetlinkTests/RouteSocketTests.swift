// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import LinuxIO
@testable import Netlink
import TestSupport
import Testing

@Suite(.inNamespace) struct RouteSocketTests {
    private let namespace = Namespace.current

    /// A control message without a request for acknowledgement: the kernel never answers.
    private static let silence = Question(type: 1, flags: 0, body: [])

    @Test func `a kernel that does not answer is given up after the limit`() async throws {
        var socket = try RouteSocket(limit: .milliseconds(30))
        let start = namespace.loop.clock.boot
        let error = #expect(throws: NetlinkError.self) { _ = try socket.exchange(Self.silence) { _, _ in true } }
        #expect(error == .timedOut(request: MessageType(rawValue: 1)) && error?.code == 110)
        #expect(namespace.loop.clock.boot - start >= .milliseconds(20))
        // The socket is as good as before.
        var names: [String] = []
        let completion = try socket.exchange(.links) { _, body in
            names += Link(decoding: body).map { [$0.name] } ?? []
            return true
        }
        #expect(completion == .done(isConsistent: true) && names == ["lo"])
    }

    @Test func `a live kernel throws the timeout too, and goes on`() async throws {
        let kernel = try LiveKernel(limit: .milliseconds(30))
        #expect(throws: NetlinkError.timedOut(request: MessageType(rawValue: 1))) {
            try kernel.request(Self.silence) { _, _ in true }
        }
        #expect(try kernel.links().values.count == 1)
        #expect(kernel.questions == 2)
    }

    @Test func `a refusal has the kernel's own words`() async throws {
        var socket = try RouteSocket()
        // Strict checking refuses an index in the header of a dump of addresses of no family.
        var bad = Question(type: 18, flags: Question.dump, body: [UInt8](repeating: 0, count: 16))
        bad = Question(type: bad.type, flags: bad.flags, body: [0, 0, 9, 9] + bad.body.dropFirst(4))
        let error = #expect(throws: NetlinkError.self) { _ = try socket.exchange(bad) { _, _ in true } }
        guard case .refused(let request, 22, let detail?) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(request.description == "RTM_GETLINK")
        #expect(detail.contains("Invalid values in header"))
    }

    @Test(arguments: [200, 60_000] as [UInt16])
    func `a request the kernel does not know is refused`(type: UInt16) async throws {
        var socket = try RouteSocket()
        let question = Question(type: type, flags: Question.acknowledge, body: [UInt8](repeating: 0, count: 16))
        let error = #expect(throws: NetlinkError.self) { _ = try socket.exchange(question) { _, _ in true } }
        #expect(error?.code == 95)
    }

    @Test func `a dump that was stopped uses the socket up`() async throws {
        try namespace.ipBatch((0..<60).map { "link add a\($0) type veth peer name b\($0)" })
        var socket = try RouteSocket()
        var seen = 0
        let completion = try socket.exchange(.links) { _, _ in
            seen += 1
            return seen < 3
        }
        #expect(completion == .stopped && seen == 3)
        let isUsedUp = socket.isUsedUp
        #expect(isUsedUp)
        let error = #expect(throws: NetlinkError.self) { _ = try socket.exchange(.links) { _, _ in true } }
        #expect(error?.code == Errno.again.rawValue)
    }

    @Test func `a single answer that was enough does not`() async throws {
        var socket = try RouteSocket()
        for _ in 0..<3 {
            let completion = try socket.exchange(.link(named: "lo")) { _, _ in false }
            let isUsedUp = socket.isUsedUp
            #expect(completion == .stopped && !isUsedUp)
        }
    }

    @Test func `what a refused request leaves behind is passed over by the next`() async throws {
        let kernel = try LiveKernel()
        for _ in 0..<20 {
            #expect(try kernel.link(index: 4711) == nil)
            #expect(try kernel.link(named: "lo")?.index == 1)
            #expect(kernel.lookup(RouteQuery(.of("1.1.1.1"), kind: .entry)) == .failure(.noRoute))
        }
        #expect(kernel.questions == 60)
    }

    @Test func `local, broadcast and loopback answers stand in the local table`() async throws {
        let peer = try namespace.uplink()
        let kernel = try LiveKernel()
        let lo = try #require(try kernel.link(named: "lo")).index
        // Without rules of one's own the kernel keeps IPv4's local table in the main one, and tells that one's number.
        try namespace.ip("rule add pref 99 fwmark 1 table 201")
        let local = try kernel.lookup(RouteQuery(.of("192.0.2.2"), kind: .entry)).get()
        #expect(local.table == 255 && local.type == .local && local.prefixLength == 32 && local.origin == 2)
        #expect(local.preferredSource == .of("192.0.2.2"))
        let broadcast = try kernel.lookup(RouteQuery(.of("192.0.2.255"), kind: .entry)).get()
        #expect(broadcast.table == 255 && broadcast.type == .broadcast)
        let loopback = try kernel.lookup(RouteQuery(.of("127.9.9.9"), kind: .decision)).get()
        #expect(loopback.type == .local && loopback.nexthops.map(\.index) == [lo])
        let sixth = try kernel.lookup(RouteQuery(.of("2001:db8:1::2"), kind: .entry)).get()
        #expect(sixth.table == 255 && sixth.type == .local && sixth.prefixLength == 128)
        withExtendedLifetime(peer) {}
    }

    @Test(arguments: [
        ("unreachable", RouteFailure.noRoute), ("prohibit", .prohibited), ("blackhole", .blackhole),
    ])
    func `an IPv6 rule that rejects is its failure`(word: String, failure: RouteFailure) async throws {
        let peer = try namespace.uplink()
        try namespace.ip("-6 route add default via 2001:db8:1::1 dev v0")
        try namespace.ip("-6 rule add pref 10 \(word)")
        let kernel = try LiveKernel()
        let result = kernel.lookup(RouteQuery(.of("2606:4700::1111"), kind: .entry))
        #expect(result == .failure(failure) || result == .failure(.unreachable))
        try namespace.ip("-6 rule del pref 10")
        #expect((try? kernel.lookup(RouteQuery(.of("2606:4700::1111"), kind: .entry)).get()) != nil)
        withExtendedLifetime(peer) {}
    }
}

@Suite(.inNamespace) struct EventSocketTests {
    private let namespace = Namespace.current

    private func heard(_ socket: inout EventSocket) -> (groups: [EventGroup?], last: EventSocket.Received) {
        var groups: [EventGroup?] = []
        while true {
            let received = socket.receive { _, group in groups.append(group) }
            if received != .datagram { return (groups, received) }
        }
    }

    @Test func `a socket hears its groups only, and says which`() async throws {
        var links = try EventSocket(groups: [.link])
        var routes = try EventSocket(groups: [.ipv4Route, .ipv4Rule])
        var nothing = try EventSocket(groups: [])
        try namespace.ipBatch([
            "link add b0 type bridge", "rule add pref 9 table 99", "route add default dev lo table 99",
        ])
        let first = heard(&links)
        #expect(!first.groups.isEmpty && first.groups.allSatisfy { $0 == .link } && first.last == .nothing)
        let second = heard(&routes)
        #expect(second.groups == [.ipv4Rule, .ipv4Route])
        let third = heard(&nothing)
        #expect(third.groups.isEmpty && third.last == .nothing)
    }

    @Test func `without the filter long prefixes are heard too`() async throws {
        var filtered = try EventSocket(groups: [.ipv4Route])
        var open = try EventSocket(groups: [.ipv4Route], filter: nil)
        try namespace.ip("route add 10.0.0.0/9 dev lo")
        let (few, all) = (heard(&filtered).groups.count, heard(&open).groups.count)
        #expect(few == 0 && all == 1)
    }

    @Test func `sockets have numbers of their own, and as much memory as was asked for`() async throws {
        let first = try EventSocket(groups: [.link], bufferSize: 1 << 20)
        let second = try EventSocket(groups: [.link], bufferSize: 4096)
        #expect(first.port != second.port && first.descriptor != second.descriptor)
        #expect(first.bufferSize >= 1 << 20)
        #expect(second.bufferSize < first.bufferSize)
    }

    @Test func `discarding stops at its limit, and says whether all is gone`() async throws {
        var socket = try EventSocket(groups: [.ipv4Rule])
        try namespace.ipBatch((1...10).map { "rule add pref \($0) table 99" })
        let early = socket.discard(limit: 4)
        #expect(!early)
        let rest = heard(&socket).groups.count
        #expect(rest == 6)
        let empty = socket.discard(limit: 4)
        #expect(empty)
    }

    @Test func `an overrun is told once, and the socket hears on`() async throws {
        var socket = try EventSocket(groups: [.ipv4Rule], bufferSize: 4096)
        try namespace.ipBatch((1...400).map { "rule add pref \($0) table 99" })
        var overruns = 0
        reading: while true {
            switch socket.receive({ _, _ in }) {
            case .datagram: continue
            case .overrun: overruns += 1
            default: break reading
            }
        }
        #expect(overruns == 1)
        try namespace.ip("rule del pref 1")
        let after = heard(&socket).groups
        #expect(after == [.ipv4Rule])
    }
}
