// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
@testable import Netlink
import Testing

@Suite struct LinkDecodingTests {
    private static let plain = Builder.link(index: 7, flags: 0x11043).attribute(3, "eth0")

    @Test func `reads every attribute`() {
        let information = Builder().attribute(1, "gre").attribute(2, Builder().attribute(20, 0x2A)).attribute(4, "bond")
        let bytes = Self.plain.attribute(1, [2, 0, 0, 0, 0, 1]).attribute(4, 9000).attribute(5, 3).attribute(10, 4)
            .attribute(16, [6]).attribute(17, [1]).attribute(33, [1]).attribute(35, 12).attribute(18, information)
            .attribute(56, "0000:00:01.0").attribute(57, "pci").bytes
        let link = Link(bytes: bytes)
        let expected = Link(
            index: 7,
            name: "eth0",
            flags: LinkFlags(rawValue: 0x11043),
            carrier: true,
            operationalState: .up,
            isDormantMode: true,
            mtu: 9000,
            master: 4,
            lower: 3,
            kind: "gre",
            portKind: "bond",
            tunnelMark: 42,
            hardwareAddress: [2, 0, 0, 0, 0, 1],
            carrierChanges: 12,
            parentBus: "pci",
            parentDevice: "0000:00:01.0"
        )
        #expect(link == expected)
    }

    @Test func `alternative names are read in order, and nothing else of the list`() {
        let long = String(repeating: "a", count: 127)
        let list = Builder().attribute(53, "enp0s31f6").attribute(53, []).attribute(99, "other").attribute(53, long)
        let link = Link(bytes: Self.plain.attribute(52, list).bytes)
        #expect(link?.alternativeNames == ["enp0s31f6", long])
        #expect(link?.names == ["eth0", "enp0s31f6", long])
        #expect(link?.isNamed("eth0") == true && link?.isNamed(long) == true && link?.isNamed("other") == false)
        #expect(Link(bytes: Self.plain.bytes)?.alternativeNames == [])
    }

    @Test(arguments: ["gre", "gretap", "ip6gre", "erspan", "ipip", "sit", "ip6tnl"])
    func `tunnels tell their mark`(kind: String) {
        let information = Builder().attribute(1, kind).attribute(2, Builder().attribute(20, 5))
        #expect(Link(bytes: Self.plain.attribute(18, information).bytes)?.tunnelMark == 5)
    }

    @Test(arguments: [("vti", 6, 5 as UInt32), ("vti", 20, nil), ("vlan", 20, nil), ("gre", 21, nil)])
    func `only the kind's own attribute is its mark`(kind: String, attribute: Int, expected: UInt32?) {
        let information = Builder().attribute(1, kind).attribute(2, Builder().attribute(attribute, 5))
        #expect(Link(bytes: Self.plain.attribute(18, information).bytes)?.tunnelMark == expected)
    }

    @Test(
        arguments: [
            ("gre", 6, 7), ("gretap", 6, 7), ("ip6gre", 6, 7), ("ipip", 2, 3), ("sit", 2, 3), ("ip6tnl", 2, 3),
            ("vti", 4, 5),
            ("vxlan", 4, 2), ("vxlan", 17, 16), ("geneve", nil, 2), ("geneve", nil, 7),
        ] as [(String, Int?, Int)]
    )
    func `tunnels tell their ends`(kind: String, local: Int?, remote: Int) {
        for (near, far) in [("192.0.2.1", "192.0.2.2"), ("2001:db8::1", "2001:db8::2"), ("0.0.0.0", "0.0.0.0")] {
            var data = Builder().attribute(remote, IPAddress.of(far).bytes)
            if let local { data = data.attribute(local, IPAddress.of(near).bytes) }
            let information = Builder().attribute(1, kind).attribute(2, data)
            let link = Link(bytes: Self.plain.attribute(18, information).bytes)
            let isSet = far != "0.0.0.0"
            #expect(link?.tunnelRemote == (isSet ? .of(far) : nil))
            #expect(link?.tunnelLocal == (isSet && local != nil ? .of(near) : nil))
        }
    }

    @Test func `a group is no end, and neither are bytes of another length or an address of the other family`() {
        func link(_ remote: [UInt8], _ local: [UInt8]) -> Link? {
            let data = Builder().attribute(2, remote).attribute(4, local)
            return Link(bytes: Self.plain.attribute(18, Builder().attribute(1, "vxlan").attribute(2, data)).bytes)
        }
        #expect(link([239, 1, 1, 1], [192, 0, 2, 1])?.tunnelRemote == nil)
        #expect(link([192, 0, 2], [192, 0, 2, 1])?.tunnelRemote == nil)
        let mixed = link([192, 0, 2, 2], IPAddress.of("2001:db8::1").bytes)
        #expect(mixed?.tunnelRemote == .of("192.0.2.2") && mixed?.tunnelLocal == nil)
    }

    @Test func `a VLAN has its kind and the link below, and no mark`() {
        // IFLA_VLAN_ID and IFLA_VLAN_FLAGS inside IFLA_INFO_DATA, as an 802.1Q link tells them.
        let data = Builder().attribute(1, [10, 0]).attribute(2, [1, 0, 0, 0, 255, 255, 255, 255])
        let information = Builder().attribute(1, "vlan").attribute(2, data)
        let bytes = Builder.link(index: 8, flags: 0x1003).attribute(3, "eth0.10").attribute(5, 7)
            .attribute(16, [7]).attribute(33, [0]).attribute(18, information).bytes
        let link = Link(bytes: bytes)
        #expect(link?.name == "eth0.10" && link?.kind == "vlan" && link?.lower == 7)
        #expect(link?.tunnelMark == nil && link?.master == nil && link?.carrier == false)
        // 7 is no state of RFC 2863.
        #expect(link?.operationalState == .unknown)
    }

    @Test func `without attributes it says what is unknown`() {
        let link = Link(bytes: Self.plain.bytes)
        #expect(link?.carrier == nil)
        #expect(link?.operationalState == .unknown)
        #expect(link?.kind == nil && link?.master == nil && link?.lower == nil)
    }

    @Test func `a link of another namespace is not below`() {
        let link = Link(bytes: Self.plain.attribute(5, 3).attribute(37, 0).bytes)
        #expect(link?.lower == nil)
        #expect(link?.isLowerElsewhere == true)
    }

    @Test(arguments: [0, 7] as [UInt32])
    func `nothing is below oneself`(lower: UInt32) {
        #expect(Link(bytes: Self.plain.attribute(5, lower).bytes)?.lower == nil)
    }

    @Test(
        arguments: [
            [], [UInt8](repeating: 0, count: 15), Builder.link(index: 7).bytes,
            Builder.link(index: 0).attribute(3, "x").bytes,
            Builder.link(index: -4).attribute(3, "x").bytes, Self.plain.bytes + [9, 0, 1, 0], Self.plain.bytes + [1],
        ] as [[UInt8]]
    )
    func `what is not whole is no link`(bytes: [UInt8]) {
        #expect(Link(bytes: bytes) == nil)
    }
}

@Suite struct InterfaceAddressDecodingTests {
    @Test func `reads an IPv4 address with its peer`() {
        let bytes = Builder.address(family: 2, length: 32, scope: 253, index: 5).attribute(2, [192, 0, 2, 1])
            .attribute(1, [192, 0, 2, 9]).attribute(8, 0x280).bytes
        let address = InterfaceAddress(bytes: bytes)
        #expect(
            address
                == InterfaceAddress(
                    index: 5,
                    address: .of("192.0.2.1"),
                    peer: .of("192.0.2.9"),
                    prefixLength: 32,
                    scope: 253,
                    flags: AddressFlags(rawValue: 0x280)
                )
        )
    }

    @Test func `the broadcast interface's own address is no peer`() {
        let bytes = Builder.address(family: 2, length: 24).attribute(1, [10, 0, 0, 1]).attribute(2, [10, 0, 0, 1]).bytes
        #expect(InterfaceAddress(bytes: bytes)?.peer == nil)
    }

    @Test func `lifetimes are seconds, and all ones mean for ever`() {
        let header = Builder.address(family: 10, length: 64, flags: 0x40).attribute(
            1,
            IPAddress.of("2001:db8::1").bytes
        )
        let stamps: [UInt32] = [600, .max, 1234, 5678]
        let address = InterfaceAddress(bytes: header.attribute(6, stamps.flatMap(Question.bytes(of:))).bytes)
        #expect(address?.preferredSeconds == 600)
        #expect(address?.validSeconds == nil)
        #expect(address?.created == 1234 && address?.updated == 5678)
        #expect(address?.flags == .tentative)
    }

    @Test(
        arguments: [
            [], [2, 24, 0, 0, 1, 0, 0], Builder.address(family: 2, length: 24).bytes,
            Builder.address(family: 7, length: 24).attribute(1, [1, 2, 3, 4]).bytes,
            Builder.address(family: 10, length: 24).attribute(1, [1, 2, 3, 4]).bytes,
            Builder.address(family: 2, length: 24).attribute(1, [1, 2, 3]).bytes,
            Builder.address(family: 2, length: 24).attribute(1, [1, 2, 3, 4]).bytes + [8, 0, 2, 0],
        ] as [[UInt8]]
    )
    func `what is not whole is no address`(bytes: [UInt8]) {
        #expect(InterfaceAddress(bytes: bytes) == nil)
    }
}

@Suite struct RouteDecodingTests {
    @Test func `reads a plain route`() {
        let bytes = Builder.route(flags: 0x10).attribute(15, 1000).attribute(5, [192, 0, 2, 1]).attribute(4, 3)
            .attribute(6, 100).attribute(7, [192, 0, 2, 2]).attribute(30, 9).bytes
        let expected = RouteAnswer(
            table: 1000,
            nexthops: [RouteNexthop(index: 3, gateway: .of("192.0.2.1"), flags: .linkDown)],
            preferredSource: .of("192.0.2.2"),
            metric: 100,
            nexthopID: 9,
            origin: 4
        )
        let entry = RouteEntry(bytes: bytes)
        #expect(entry?.answer == expected)
        #expect(entry?.destination.description == "0.0.0.0/0")
    }

    @Test func `reads the legs of a multipath route`() {
        let via = [10, 0] + IPAddress.of("fe80::1").bytes
        let first = Builder([16, 0, 1, 0, 2, 0, 0, 0]).attribute(5, [10, 0, 0, 1]).bytes
        let second = Builder([32, 0, 0x11, 0, 3, 0, 0, 0]).attribute(18, via).bytes
        let entry = RouteEntry(bytes: Builder.route().attribute(9, first + second).bytes)
        #expect(
            entry?.answer.nexthops == [
                RouteNexthop(index: 2, gateway: .of("10.0.0.1"), flags: .dead),
                RouteNexthop(index: 3, gateway: .of("fe80::1"), flags: [.dead, .linkDown]),
            ]
        )
    }

    @Test(
        arguments: [
            ([7, 0, 0, 0, 2, 0, 0, 0], 0), ([99, 0, 0, 0, 2, 0, 0, 0], 0), ([8, 0, 0, 0], 0), ([], 0),
            ([8, 0, 0, 0, 2, 0, 0, 0, 4, 0], 1), ([8, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], 1),
        ] as [([UInt8], Int)]
    )
    func `a torn leg ends the list`(bytes: [UInt8], count: Int) {
        let nexthops = RouteNexthop.nexthops(ofMultipath: bytes.span)
        #expect(nexthops.count == count)
    }

    @Test(
        arguments: [
            (10 as UInt8, 0 as UInt32, 300 as Int32, 3.0), (10, 0, -250, -2.5), (10, 0, 0, nil), (10, 0x200, 300, nil),
            (2, 0, 300, nil),
        ] as [(UInt8, UInt32, Int32, Double?)]
    )
    func `only IPv6 entries that are no clones expire`(family: UInt8, flags: UInt32, ticks: Int32, expected: Double?) {
        let information = [UInt8](repeating: 0, count: 8) + Question.bytes(of: ticks) + [UInt8](repeating: 0, count: 20)
        let bytes = Builder.route(family: family, flags: flags).attribute(12, information).bytes
        #expect(RouteEntry(bytes: bytes)?.answer.expiresIn == expected)
    }

    @Test(
        arguments: [
            [10, 0], [7, 0, 1, 2, 3, 4], [2, 0, 1, 2, 3], [10, 0, 1, 2, 3, 4], [],
        ] as [[UInt8]]
    )
    func `an unknown or short via is no gateway`(via: [UInt8]) {
        let bytes = Builder.route().attribute(4, 3).attribute(18, via).bytes
        #expect(RouteEntry(bytes: bytes)?.answer.nexthops == [RouteNexthop(index: 3)])
    }

    @Test(
        arguments: [
            [], [UInt8](repeating: 2, count: 11), Builder.route(family: 128).bytes, Builder.route().bytes + [5, 0],
            Builder.route(family: 2).attribute(1, IPAddress.of("::1").bytes).bytes,
        ] as [[UInt8]]
    )
    func `what is not whole is no route`(bytes: [UInt8]) {
        #expect(RouteEntry(bytes: bytes) == nil)
    }

    @Test(
        arguments: [
            (2, 0x4_0200, 29_700, RouteException(isRedirect: true, expiresIn: 297)),
            (2, 0x200, 60_000, RouteException(isRedirect: false, expiresIn: 600)), (2, 0x200, 0, nil),
            (10, 0x200, 0, RouteException(isRedirect: true)), (10, 0, 60_000, nil),
        ] as [(UInt8, UInt32, Int32, RouteException?)]
    )
    func `what the kernel learned of one destination is an exception`(
        family: UInt8,
        flags: UInt32,
        ticks: Int32,
        expected: RouteException?
    ) {
        let times = [UInt8](repeating: 0, count: 8) + Question.bytes(of: ticks) + [UInt8](repeating: 0, count: 20)
        let bytes = Builder.route(family: family, flags: flags).attribute(4, 3).attribute(12, times).bytes
        #expect(RouteEntry(bytes: bytes)?.answer.exception == expected)
    }

    @Test func `the path MTU is one of the metrics`() {
        let metrics = Builder().attribute(8, 1260).attribute(2, 1300)
        #expect(RouteEntry(bytes: Builder.route().attribute(8, metrics).bytes)?.answer.mtu == 1300)
        #expect(RouteEntry(bytes: Builder.route().attribute(8, Builder().attribute(2, 0)).bytes)?.answer.mtu == nil)
        #expect(RouteEntry(bytes: Builder.route().bytes)?.answer.mtu == nil)
    }

    @Test func `attributes that this version does not know are counted`() {
        let route = Builder.route().attribute(31, 1).attribute(32, 1).attribute(50, 2)
        #expect(RouteEntry(bytes: route.bytes)?.answer.unknownAttributes == [32, 50])
        let link = Builder.link(index: 3).attribute(3, "v0").attribute(69, 1).attribute(70, 1)
        #expect(Link(bytes: link.bytes)?.unknownAttributes == [70])
    }

    @Test func `an unknown type is told as such`() {
        #expect(RouteEntry(bytes: Builder.route(type: 99).bytes)?.answer.type == .unspecified)
    }

    @Test func `reads nexthop objects and groups`() {
        let nexthop = Builder([2, 0, 0, 0, 0x10, 0, 0, 0]).attribute(1, 4).attribute(5, 3).attribute(6, [192, 0, 2, 1])
        #expect(
            Nexthop(bytes: nexthop.bytes)
                == Nexthop(id: 4, nexthop: RouteNexthop(index: 3, gateway: .of("192.0.2.1"), flags: .linkDown))
        )
        let members: [UInt8] = [4, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 1, 0, 0, 0, 9]
        let group = Builder([0, 0, 0, 0, 0, 0, 0, 0]).attribute(1, 9).attribute(2, members)
        #expect(Nexthop(bytes: group.bytes) == Nexthop(id: 9, members: [4, 5]))
        let hole = Builder([2, 0, 0, 0, 0, 0, 0, 0]).attribute(1, 6).attribute(4, [UInt8]())
        #expect(Nexthop(bytes: hole.bytes) == Nexthop(id: 6, isBlackhole: true))
        #expect(Nexthop(bytes: Builder([2, 0, 0, 0, 0, 0, 0, 0]).bytes) == nil)
        #expect(Nexthop(bytes: [2, 0]) == nil)
    }
}

@Suite struct PolicyRuleDecodingTests {
    private static func header(source: UInt8 = 0, destination: UInt8 = 0, tos: UInt8 = 0, flags: UInt32 = 0) -> Builder
    {
        Builder([2, destination, source, tos, 254, 0, 0, 1] + Question.bytes(of: flags))
    }

    @Test(
        arguments: [
            (header(), "all"),
            (header(source: 24).attribute(2, [192, 0, 2, 0]), "from 192.0.2.0/24"),
            (header(destination: 32).attribute(1, [192, 0, 2, 7]), "to 192.0.2.7"),
            (header(tos: 16), "tos 0x10"),
            (header(flags: 2).attribute(10, 0xCA6C).attribute(16, .max), "not fwmark 0xca6c"),
            (header().attribute(10, 0x10).attribute(16, 0xFF), "fwmark 0x10/0xff"),
            (header().attribute(3, "v0").attribute(17, "w0"), "iif v0 oif w0"),
            (
                header().attribute(20, Question.bytes(of: 1000 as UInt32) + Question.bytes(of: 1999 as UInt32)),
                "uidrange 1000-1999"
            ),
            (header().attribute(22, [6]).attribute(24, [53, 0, 53, 0]), "ipproto 6 dport 53"),
            (header().attribute(23, [1, 0, 255, 0]), "sport 1-255"),
            (header().attribute(19, [1]), "l3mdev"),
            (header().attribute(14, 0).attribute(13, .max), "suppress_prefixlength 0"),
            (header().attribute(14, .max).attribute(13, 3), "suppress_ifgroup 3"),
            (header().attribute(4, 300), "goto 300"),
        ] as [(Builder, String)]
    )
    func `says what it applies to as ip-rule does`(bytes: Builder, selector: String) {
        #expect(PolicyRule(bytes: bytes.bytes)?.selector == selector)
    }

    @Test(
        arguments: [[], [2, 0, 0], [128, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0], [2, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]]
            as [[UInt8]]
    )
    func `what is not whole is no rule`(bytes: [UInt8]) {
        #expect(PolicyRule(bytes: bytes) == nil)
    }
}

// The macro #expect cannot hold a span.
extension Link {
    init?(bytes: [UInt8]) { self.init(decoding: bytes.span) }
}

extension InterfaceAddress {
    init?(bytes: [UInt8]) { self.init(decoding: bytes.span) }
}

extension RouteEntry {
    init?(bytes: [UInt8]) { self.init(decoding: bytes.span) }
}

extension Nexthop {
    init?(bytes: [UInt8]) { self.init(decoding: bytes.span) }
}

extension PolicyRule {
    init?(bytes: [UInt8]) { self.init(decoding: bytes.span) }
}

extension Neighbor {
    init?(bytes: [UInt8]) { self.init(decoding: bytes.span) }
}
