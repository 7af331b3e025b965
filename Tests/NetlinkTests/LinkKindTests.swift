// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import LinuxIO
import Netlink
import TestSupport
import Testing

@Suite(.inNamespace) struct LinkKindTests {
    private let kernel: LiveKernel
    private let namespace = Namespace.current

    init() throws { kernel = try LiveKernel() }

    /// Compares every link with what iproute2 prints.
    private func compare(sourceLocation: SourceLocation = #_sourceLocation) throws {
        // The kernel settles a link's operational state up to a second after its carrier: look between two equal prints.
        var printed = try namespace.printed("-d link", as: PrintedLink.self)
        var links: [Link] = []
        for _ in 0..<10 {
            links = try kernel.links().values
            let again = try namespace.printed("-d link", as: PrintedLink.self)
            if again == printed { break }
            printed = again
        }
        #expect(links.map(\.index) == printed.map(\.ifindex), sourceLocation: sourceLocation)
        let names = Dictionary(uniqueKeysWithValues: links.map { ($0.index, $0.name) })
        for (link, other) in zip(links, printed) {
            #expect(link.name == other.ifname, sourceLocation: sourceLocation)
            #expect(link.mtu == other.mtu, sourceLocation: sourceLocation)
            #expect(link.kind == other.linkinfo?.info_kind, sourceLocation: sourceLocation)
            #expect(link.portKind == other.linkinfo?.info_slave_kind, sourceLocation: sourceLocation)
            #expect(link.operationalState.printed == other.operstate, sourceLocation: sourceLocation)
            #expect(link.isDormantMode == (other.linkmode == "DORMANT"), sourceLocation: sourceLocation)
            #expect(link.master.flatMap { names[$0] } == other.master, sourceLocation: sourceLocation)
            #expect(link.isLowerElsewhere == (other.link_netnsid != nil), sourceLocation: sourceLocation)
            if other.link_netnsid == nil {
                #expect(link.lower.flatMap { names[$0] } == other.link, sourceLocation: sourceLocation)
            }
            #expect(link.flags.contains(.up) == other.flags.contains("UP"), sourceLocation: sourceLocation)
            #expect(link.flags.contains(.lowerUp) == other.flags.contains("LOWER_UP"), sourceLocation: sourceLocation)
            #expect(link.flags.contains(.loopback) == other.flags.contains("LOOPBACK"), sourceLocation: sourceLocation)
            if let address = other.address, link.hardwareType == 1 {
                #expect(link.hardwareAddress.printed == address, sourceLocation: sourceLocation)
            }
        }
    }

    @Test(arguments: [
        ["link add v0 type veth peer name v1", "link set v0 up"],
        ["link add v0 type veth peer name v1", "link set v0 up", "link set v1 up"],
        ["link add b0 type bridge", "link set b0 up"],
        [
            "link add b0 type bridge", "link add v0 type veth peer name v1", "link set v0 master b0", "link set v0 up",
            "link set v1 up", "link set b0 up",
        ],
        [
            "link add v0 type veth peer name v1", "link set v0 up", "link set v1 up",
            "link add link v0 name m0 type macvlan mode bridge", "link set m0 up mtu 1400",
        ],
        ["tuntap add t0 mode tun", "link set t0 up"], ["tuntap add t1 mode tap", "link set t1 up"],
        ["link add x0 type vxlan id 5 dstport 4789 local 127.0.0.1", "link set x0 up"],
        ["link add i0 type ifb", "link set i0 up"],
        ["link add v0 type veth peer name v1", "link set v0 mode dormant", "link set v0 up", "link set v1 up"],
    ])
    func `tells of each kind what ip prints`(commands: [String]) async throws {
        try namespace.ipBatch(commands)
        try compare()
    }

    @Test func `a veth whose peer is elsewhere has nothing below it here`() async throws {
        let peer = try Namespace()
        try namespace.connect("v0", to: peer, as: "v1")
        try compare()
        let link = try #require(try kernel.link(named: "v0"))
        #expect(link.lower == nil && link.isLowerElsewhere)
        #expect(link.carrier == true && link.operationalState == .up)
        let changes = link.carrierChanges
        try peer.set("v1", isUp: false)
        let dead = try #require(try kernel.link(named: "v0"))
        #expect(dead.carrier == false && dead.carrierChanges == changes + 1)
    }

    @Test func `addresses are what ip prints`() async throws {
        let peer = try namespace.uplink()
        try namespace.ip("addr add 198.51.100.1 peer 198.51.100.9/32 dev v0")
        try namespace.ip("addr add 2001:db8:2::2/64 dev v0 nodad valid_lft 600 preferred_lft 0")
        try namespace.ip("addr add 2001:db8:3::2/64 dev v0")
        let printed = try namespace.printed("address", as: PrintedAddresses.self)
        let addresses = try kernel.addresses()
        #expect(addresses.isConsistent && addresses.undecodable == 0)
        #expect(addresses.values.count == printed.reduce(0) { $0 + $1.addr_info.count })
        for interface in printed {
            for other in interface.addr_info {
                let address = try #require(
                    addresses.values.first { $0.index == interface.ifindex && $0.address == IPAddress(other.local) }
                )
                #expect(address.prefixLength == other.prefixlen)
                #expect(address.flags.contains(.tentative) == (other.tentative ?? false))
                #expect(address.flags.contains(.deprecated) == (other.deprecated ?? false))
                #expect((address.validSeconds == nil) == (other.valid_life_time == .max))
                #expect((address.preferredSeconds == nil) == (other.preferred_life_time == .max))
                #expect(address.scope == ["global": 0, "link": 253, "host": 254][other.scope])
                #expect(address.created > 0 && address.updated >= address.created)
            }
        }
        let pointToPoint = try #require(addresses.values.first { $0.peer != nil })
        #expect(pointToPoint.address == .of("198.51.100.1") && pointToPoint.peer == .of("198.51.100.9"))
        withExtendedLifetime(peer) {}
    }

    @Test func `rules are told in the kernel's order and in the words of ip-rule`() async throws {
        try namespace.ipBatch([
            "rule add pref 100 from 192.0.2.0/24 fwmark 0x10/0xff table 201",
            "rule add pref 110 not fwmark 0xca6c table 51820", "rule add pref 120 table main suppress_prefixlength 0",
            "rule add pref 130 uidrange 1000-1999 iif lo unreachable", "rule add pref 140 oif v7 prohibit",
            "rule add pref 150 to 198.51.100.1 ipproto udp dport 53 blackhole",
        ])
        try namespace.ip("-6 rule add pref 160 from 2001:db8::/32")
        let rules = try kernel.rules().values
        let described = rules.filter { (100...160).contains($0.priority) }.map {
            "\($0.family) \($0.priority) \($0.action) \($0.table) \($0.selector)"
        }
        #expect(
            described == [
                "ipv4 100 1 201 from 192.0.2.0/24 fwmark 0x10/0xff", "ipv4 110 1 51820 not fwmark 0xca6c",
                "ipv4 120 1 254 suppress_prefixlength 0", "ipv4 130 7 0 iif lo uidrange 1000-1999",
                "ipv4 140 8 0 oif v7", "ipv4 150 6 0 to 198.51.100.1 ipproto 17 dport 53",
                "ipv6 160 1 254 from 2001:db8::/32",
            ]
        )
    }
}

extension OperationalState {
    /// As iproute2 prints it.
    fileprivate var printed: String {
        switch self {
        case .unknown: "UNKNOWN"
        case .notPresent: "NOTPRESENT"
        case .down: "DOWN"
        case .lowerLayerDown: "LOWERLAYERDOWN"
        case .testing: "TESTING"
        case .dormant: "DORMANT"
        case .up: "UP"
        }
    }
}

extension [UInt8] {
    /// As iproute2 prints a hardware address.
    fileprivate var printed: String {
        map { $0 < 16 ? "0" + String($0, radix: 16) : String($0, radix: 16) }.joined(separator: ":")
    }
}
