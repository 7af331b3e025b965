// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import LinuxIO
@testable import Netlink
import TestSupport
import Testing

/// Attributes that are short, doubled, in an odd order or of an unknown type.
@Suite struct OddLinkTests {
    private static let plain = Builder.link(index: 7, flags: 1).attribute(3, "eth0")

    /// A link with one more attribute, which may be a second one of its kind.
    private func link(_ kind: Int, _ payload: [UInt8]) -> Link? {
        Link(bytes: Self.plain.attribute(kind, payload).bytes)
    }

    @Test func `is read as far as it can be`() {
        let none: [UInt8] = []
        let ones: [UInt8] = [255, 255, 255, 255]
        #expect(link(33, none)?.carrier == false)
        #expect(link(33, [2])?.carrier == true)
        #expect(link(16, none)?.operationalState == .unknown)
        #expect(link(16, [200])?.operationalState == .unknown)
        #expect(link(17, [2])?.isDormantMode == false)
        for payload in [[0, 0, 0, 0], ones, [1, 2]] as [[UInt8]] {
            #expect(link(10, payload)?.master == nil && link(10, payload) != nil)
            #expect(link(5, payload)?.lower == nil && link(5, payload) != nil)
        }
        #expect(link(4, [1, 2])?.mtu == 0)
        #expect(link(1, none)?.hardwareAddress == none)
        #expect(link(999, [65, 0])?.name == "eth0")
        #expect(link(3, [118, 48, 0])?.name == "v0")
        #expect(link(35, ones)?.carrierChanges == .max)
    }

    @Test(arguments: [[0], [0, 101], []] as [[UInt8]])
    func `has no name, and is none`(name: [UInt8]) {
        #expect(Link(bytes: Builder.link(index: 7).attribute(3, name).bytes) == nil)
    }

    @Test func `a name that is no UTF-8 is a name all the same`() throws {
        let link = try #require(Link(bytes: Builder.link(index: 7).attribute(3, [0xFF, 0x65, 0]).bytes))
        #expect(link.name == "\u{FFFD}e")
    }

    @Test func `a mark that comes before its kind, or with a torn one, is none`() throws {
        let mark = Builder().attribute(20, 5)
        let early = Builder().attribute(2, mark).attribute(1, "gre")
        #expect(try #require(Link(bytes: Self.plain.attribute(18, early).bytes)).tunnelMark == nil)
        let torn = Builder(Builder().attribute(1, "gre").bytes + [9, 0, 2, 0, 1])
        let link = try #require(Link(bytes: Self.plain.attribute(18, torn).bytes))
        #expect(link.kind == "gre" && link.tunnelMark == nil)
        let zero = Builder().attribute(1, "gre").attribute(2, Builder().attribute(20, 0))
        #expect(try #require(Link(bytes: Self.plain.attribute(18, zero).bytes)).tunnelMark == nil)
    }

    @Test(arguments: [2, 10, 28, 255] as [UInt8])
    func `another family's side of a link says nothing about the link (S7)`(family: UInt8) {
        for type in [16, 17] as [UInt16] {
            let bytes = Builder.link(index: 7, family: family).attribute(3, "eth0").bytes
            guard case .ignored = DecodedNotice.decode(type: type, bytes.span) else {
                Issue.record("family \(family) of type \(type) was taken")
                continue
            }
        }
    }

    @Test(
        arguments: [
            // An association of mac80211 under Debian's kernels: SIOCGIWAP (0x8B15) after the name.
            Builder.link(index: 3, flags: 0x1003).attribute(3, "wlan0").attribute(11, [8, 0, 0x15, 0x8B, 0, 0, 0, 0]),
            // A scan that is over (SIOCGIWSCAN), while the link is not associated.
            Builder.link(index: 3, flags: 0x1003).attribute(3, "wlan0").attribute(11, [4, 0, 0x19, 0x8B]),
            Builder.link(index: 3, flags: 0x1043).attribute(3, "wlan0"),
        ]
    )
    func `a message without an MTU describes no link, and asks for it to be read`(message: Builder) {
        guard case .notice(let notice) = DecodedNotice.decode(type: 16, message.bytes.span) else {
            Issue.record("not decoded")
            return
        }
        #expect(notice.event == .linkHint(index: 3))
        #expect(!notice.event.concernsRoutes)
    }

    @Test func `an MTU of 0 is one`() {
        let bytes = Builder.link(index: 3).attribute(3, "wlan0").attribute(4, 0).bytes
        guard case .notice(let notice) = DecodedNotice.decode(type: 16, bytes.span) else {
            Issue.record("not decoded")
            return
        }
        #expect(notice.event == .link(Link(index: 3, name: "wlan0", mtu: 0)))
    }

    @Test func `a port that leaves its bridge names no master any more (S7)`() {
        let bytes = Builder.link(index: 7, family: 7).attribute(3, "eth0").attribute(10, 4).bytes
        let events = [16, 17].map { (type: UInt16) -> KernelEvent? in
            if case .notice(let notice) = DecodedNotice.decode(type: type, bytes.span) { notice.event } else { nil }
        }
        #expect(events == [.bridgePort(index: 7, master: 4), .bridgePort(index: 7, master: nil)])
    }
}

@Suite struct OddRouteTests {
    private func nexthops(_ records: [UInt8]) -> [RouteNexthop] { RouteNexthop.nexthops(ofMultipath: records.span) }

    private static func record(_ index: UInt8, flags: UInt8 = 0, weight: UInt8 = 0, _ more: [UInt8] = []) -> [UInt8] {
        [UInt8(8 + more.count), 0, flags, weight, index, 0, 0, 0] + more
    }

    private static let via6 = Builder().attribute(18, [10, 0] + IPAddress.of("fe80::1").bytes).bytes
    private static let via4 = Builder().attribute(18, [2, 0, 192, 0, 2, 1]).bytes

    @Test func `weights do not make legs, and every leg has its own flags and router`() {
        let bytes =
            Self.record(2, flags: 4, weight: 9, Self.via4) + Self.record(3, flags: 1, weight: 255, Self.via6)
            + Self.record(2)
        #expect(
            nexthops(bytes) == [
                RouteNexthop(index: 2, gateway: .of("192.0.2.1"), flags: .onLink),
                RouteNexthop(index: 3, gateway: .of("fe80::1"), flags: .dead), RouteNexthop(index: 2),
            ]
        )
    }

    @Test func `a leg that is torn after its attributes began is kept without them`() {
        let torn = Self.record(2, [8, 0, 5, 0, 192, 0]) + [0, 0]
        #expect(nexthops(torn) == [RouteNexthop(index: 2)])
        let odd = Self.record(2, Builder().attribute(5, [192, 0, 2]).bytes)
        #expect(nexthops(odd) == [RouteNexthop(index: 2)])
    }

    @Test func `the last word on a route's router counts, and half of one takes none`() throws {
        let both = Builder.route().attribute(4, 3).attribute(5, [192, 0, 2, 1]).attribute(18, [9, 0, 1, 2, 3, 4])
        #expect(try #require(RouteEntry(bytes: both.bytes)).answer.nexthops == [RouteNexthop(index: 3)])
        let rest = Builder.route().attribute(4, 3).attribute(18, [10, 0] + IPAddress.of("fe80::1").bytes + [9])
        let entry = try #require(RouteEntry(bytes: rest.bytes))
        #expect(entry.answer.nexthops == [RouteNexthop(index: 3, gateway: .of("fe80::1"))])
    }

    @Test(
        arguments: [
            (0, []), (0x1, .dead), (0x14, [.onLink, .linkDown]),
            // Flags of the route itself (RTM_F_*) are none of its legs.
            (0x3200, []), (0x4210, .linkDown),
        ] as [(UInt32, NexthopFlags)]
    )
    func `a plain route's flags are those of its leg`(flags: UInt32, expected: NexthopFlags) throws {
        let entry = try #require(RouteEntry(bytes: Builder.route(flags: flags).attribute(4, 3).bytes))
        #expect(entry.answer.nexthops == [RouteNexthop(index: 3, flags: expected)])
    }

    @Test(arguments: [0, 33, 200, 255] as [UInt8])
    func `a prefix longer than its family has is no trap`(length: UInt8) throws {
        let bytes = Builder.route(length: length).attribute(1, [192, 0, 2, 1]).attribute(4, 3).bytes
        let entry = try #require(RouteEntry(bytes: bytes))
        #expect(entry.answer.prefixLength == Int(length))
        #expect(entry.destination.length <= 32)
        #expect(entry.destination.contains(.of("192.0.2.1")))
    }

    @Test func `a route without a way out has none`() throws {
        for nexthop in [0, UInt32.max] {
            let entry = try #require(RouteEntry(bytes: Builder.route().attribute(4, nexthop).bytes))
            #expect(entry.answer.nexthops.isEmpty)
        }
    }

    @Test(
        arguments: [
            (0, .none), (1, .incomplete), (2, .reachable), (0x20, .failed), (0x40, .noARP), (0x80, .permanent),
            (3, .none), (0xFF, .none), (0x100, .none),
        ] as [(UInt16, NeighborState)]
    )
    func `a state that is none of the kernel's is no verdict`(number: UInt16, state: NeighborState) throws {
        var header: [UInt8] = [2, 0, 0, 0, 3, 0, 0, 0]
        header += Question.bytes(of: number)
        header += [0x80, 1]
        let neighbor = try #require(Neighbor(bytes: Builder(header).attribute(1, [192, 0, 2, 1]).bytes))
        #expect(neighbor.state == state && neighbor.isRouter)
    }
}

/// Datagrams of the event socket that hold more than one message.
@Suite struct DatagramTests {
    @Test func `messages about nothing do not hide those behind them`() {
        var decoder = EventDecoder()
        let link = Builder.link(index: 3).attribute(3, "v0").message(type: 16)
        var datagram: [UInt8] = []
        for (type, body) in [(1, [0, 0, 0, 0]), (3, [0, 0, 0, 0]), (24, [1, 0, 0, 0])] as [(UInt16, [UInt8])] {
            datagram += Builder(body).message(type: type)
            datagram += link
        }
        decoder.decode(datagram.span, from: .link)
        #expect(decoder.drain().count == 3)
        #expect(decoder.drain().isEmpty)
        #expect(decoder.statistics.ignored == 2 && decoder.statistics.undecodable == 1)
        #expect(decoder.statistics.messages == [.link: 6])
    }

    @Test func `what stands before a torn message counts`() {
        var decoder = EventDecoder()
        let link = Builder.link(index: 3).attribute(3, "v0").message(type: 16)
        let torn = link + link.dropLast(4)
        decoder.decode(torn.span, from: .link)
        #expect(decoder.notices.count == 1 && decoder.statistics.undecodable == 1)
    }

    @Test func `an index of the other side of a namespace is handed on as it is`() {
        var decoder = EventDecoder()
        let removed = Builder.address(family: 2, length: 24, index: -1).attribute(2, [192, 0, 2, 1])
        decoder.decode(removed.message(type: 21).span, from: .ipv4Address)
        guard case .addressRemoved(let address)? = decoder.notices.first?.event else {
            Issue.record("\(decoder.notices)")
            return
        }
        #expect(address.index == -1)
    }
}

@Suite(.inNamespace) struct ShortBufferTests {
    private let namespace = Namespace.current

    @Test func `half a dump is no dump, and the socket is not used again`() async throws {
        var socket = try RouteSocket(limit: .seconds(2), capacity: 256)
        let error = #expect(throws: NetlinkError.self) { _ = try socket.exchange(.links) { _, _ in true } }
        #expect(error == .malformedAnswer(request: MessageType(rawValue: 18)))
        let isUsedUp = socket.isUsedUp
        #expect(isUsedUp)
    }

    @Test func `half a single answer is none, and the socket goes on`() async throws {
        try namespace.ip("link add v0 type veth peer name v1")
        var socket = try RouteSocket(limit: .seconds(2), capacity: 256)
        let error = #expect(throws: NetlinkError.self) { _ = try socket.exchange(.link(named: "v0")) { _, _ in true } }
        #expect(error == .malformedAnswer(request: MessageType(rawValue: 18)))
        var answer: RouteAnswer?
        let local = Question.lookup(RouteQuery(.of("127.0.0.1"), kind: .entry))
        try namespace.set("lo", isUp: true)
        _ = try socket.exchange(local) { _, body in
            answer = RouteEntry(decoding: body)?.answer
            return false
        }
        #expect(answer?.type == .local)
    }

    @Test func `half an answer to a batch is none, and the next batch has its own`() async throws {
        let local = Question.lookup(RouteQuery(.of("127.0.0.1"), kind: .entry))
        // Room for a refusal and an echo of little else, not for an answer.
        var short = try RouteSocket(limit: .seconds(2), capacity: 48)
        var batch = QuestionBatch([local, local])
        var answers = 0
        let error = #expect(throws: NetlinkError.self) { try short.exchange(&batch) { _, _, _ in answers += 1 } }
        #expect(error == .malformedAnswer(request: MessageType(rawValue: 26)) && answers == 0)
        // Not mended by what the first one left behind.
        #expect(throws: NetlinkError.malformedAnswer(request: MessageType(rawValue: 26))) {
            try short.exchange(&batch) { _, _, _ in answers += 1 }
        }
        var long = try RouteSocket(limit: .seconds(2), capacity: 4096)
        try long.exchange(&batch) { _, code, _ in answers += code == 0 ? 1 : 0 }
        #expect(answers == 2)
    }

    @Test func `legs with weights and routers of both families are told in their order`() async throws {
        let first = try namespace.uplink()
        let second = try namespace.uplink("w0", network: "198.51.100", sixth: "2001:db8:2")
        try namespace.ip(
            "-4 route add default nexthop via inet6 fe80::1 dev v0 weight 200 "
                + "nexthop via 198.51.100.9 dev w0 weight 1 onlink nexthop via 192.0.2.1 dev v0"
        )
        let kernel = try LiveKernel()
        let (v0, w0) = (
            try #require(try kernel.link(named: "v0")).index, try #require(try kernel.link(named: "w0")).index
        )
        let nexthops = try kernel.lookup(RouteQuery(.of("1.1.1.1"), kind: .entry)).get().nexthops
        #expect(
            nexthops == [
                RouteNexthop(index: v0, gateway: .of("fe80::1")),
                RouteNexthop(index: w0, gateway: .of("198.51.100.9"), flags: .onLink),
                RouteNexthop(index: v0, gateway: .of("192.0.2.1")),
            ]
        )
        #expect(try kernel.defaultRoutes(.ipv4).values.map(\.answer.nexthops) == [nexthops])
        // One leg is chosen for one packet; it is one of them.
        let chosen = try kernel.lookup(RouteQuery(.of("1.1.1.1"), kind: .decision)).get().nexthops
        #expect(chosen.count == 1 && nexthops.contains { $0.index == chosen.first?.index })
        withExtendedLifetime((first, second)) {}
    }
}
