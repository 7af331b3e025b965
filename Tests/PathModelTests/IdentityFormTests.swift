// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Netlink
import PathModel
import Testing

/// Identities that other programs keep: they were computed once, by hand, from the form that PathIdentity.swift tells.
@Suite struct IdentityFormTests {
    private static let eth0 = PathInterface(name: "eth0", index: 2, type: .wiredEthernet)
    private static let wlan0 = PathInterface(name: "wlan0", index: 3, type: .wifi)

    private static func gateway(
        _ address: String,
        _ name: String,
        _ family: AddressFamily,
        _ metric: UInt32,
        _ isReachable: Bool?
    ) -> Gateway {
        let scope = family == .ipv6 ? name : nil
        let scoped = ScopedAddress(IPAddress(address) ?? .v4(0), scope: scope)
        return Gateway(address: scoped, interface: name, family: family, metric: metric, isReachable: isReachable)
    }

    private static let full = Path(
        status: .satisfied,
        reason: nil,
        interfaces: [eth0, wlan0],
        ipv4: FamilyPath(
            interfaces: [eth0],
            gateways: [gateway("192.0.2.1", "eth0", .ipv4, 100, true)],
            source: .v4(0xC000_020A)
        ),
        ipv6: FamilyPath(
            interfaces: [eth0, wlan0],
            gateways: [
                gateway("fe80::1", "eth0", .ipv6, 1024, nil), gateway("fe80::2", "wlan0", .ipv6, .max, false),
            ],
            source: IPAddress("2001:db8::10") ?? .v4(0)
        ),
        dns: DNSState(
            servers: [
                DNSServer(ScopedAddress(.v4(0xC000_0235))),
                DNSServer(ScopedAddress(IPAddress("fe80::53") ?? .v4(0), scope: "eth0"), port: 5353, interfaceIndex: 2),
            ],
            search: ["a.example", "ü"],
            source: "/etc/resolv.conf",
            isUsable: true
        ),
        isExpensive: true,
        isConstrained: true,
        isUltraConstrained: true,
        linkQuality: .moderate,
        underlyingTypes: [.wifi, .cellular],
        warnings: [.degraded, .expiring]
    )

    private static let refused = Path(
        status: .requiresConnection,
        reason: .policy,
        subject: ReasonSubject(
            interface: "eth0",
            family: .ipv6,
            table: .max,
            alternative: "wwan0",
            requirement: "require_vpn"
        )
    )

    @Test(arguments: [(full, "a993df1506e0304c"), (refused, "8e2ed7459f44a9b0"), (Path(), "efc596be4f3de006")])
    func `a path keeps its identity from release to release (S41)`(path: Path, expected: String) {
        #expect(path.pathId == expected)
        #expect(PathIdentity(path).value == UInt64(expected, radix: 16))
    }

    @Test func `order is part of the identity (S17, S41)`() {
        var swapped = Self.full
        swapped.interfaces.reverse()
        #expect(swapped.pathId != Self.full.pathId)
        swapped = Self.full
        swapped.dns.servers.reverse()
        #expect(swapped.pathId != Self.full.pathId)
    }

    @Test(arguments: [
        ["ab", "c"], ["a", "bc"], ["abc"], ["abc", ""], ["", "abc"], ["a", "b", "c"], [], [""],
    ])
    func `lists that read alike are not alike (S41)`(search: [String]) {
        let others = [["ab", "c"], ["a", "bc"], ["abc"], ["abc", ""], ["", "abc"], ["a", "b", "c"], [], [""]]
        let same = others.filter { other in
            Path(dns: DNSState(search: other)).pathId == Path(dns: DNSState(search: search)).pathId
        }
        #expect(same == [search])
    }
}
