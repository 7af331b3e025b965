// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Netlink
import PathModel
import TestSupport
import Testing

/// The identity hash (rule S41).
@Suite struct PathIdentityTests {
    @Test func `equal paths have the same hash, different ones another (S41)`() {
        var random = SeededRandom(seed: 11)
        var byHash: [UInt64: Path] = [:]
        for _ in 0..<4000 {
            let path = Path.random(using: &random)
            let hash = PathIdentity(path).value
            #expect(PathIdentity(path).value == hash)
            if let known = byHash[hash] { #expect(known == path) }
            byHash[hash] = path
        }
        #expect(Set(byHash.values).count == byHash.count)
    }

    @Test func `one change changes the hash (S41)`() {
        var random = SeededRandom(seed: 12)
        for _ in 0..<2000 {
            let path = Path.random(using: &random)
            let varied = path.varied(using: &random)
            #expect((path == varied) == (path.pathId == varied.pathId))
        }
    }

    @Test func `the hash is the same in every run and on every machine (S41)`() {
        #expect(Path().pathId == "efc596be4f3de006")
        #expect(World.ordinary().path().pathId == "e7a08b46f8df1846")
    }

    @Test func `the text has sixteen digits (S41)`() {
        var random = SeededRandom(seed: 13)
        for _ in 0..<500 {
            let text = Path.random(using: &random).pathId
            #expect(text.utf8.count == 16)
            #expect(text.allSatisfy { $0.isHexDigit && !$0.isUppercase })
        }
    }

    /// Each changes exactly one thing that a program or an operator acts on.
    static let changes: [@Sendable (inout Path) -> Void] = [
        { $0.status = .requiresConnection },
        { $0.reason = .dormant },
        { $0.subject = ReasonSubject(interface: "eth0") },
        { $0.subject = ReasonSubject(family: .ipv4) },
        { $0.subject = ReasonSubject(table: 254) },
        { $0.subject = ReasonSubject(alternative: "eth0") },
        { $0.subject = ReasonSubject(requirement: "eth0") },
        { $0.interfaces = [PathInterface(name: "a", index: 1, type: .wifi)] },
        { $0.interfaces = [PathInterface(name: "a", index: 2, type: .wifi)] },
        { $0.interfaces = [PathInterface(name: "b", index: 1, type: .wifi)] },
        { $0.interfaces = [PathInterface(name: "a", index: 1, type: .other)] },
        { $0.ipv4 = FamilyPath(interfaces: [], gateways: [], source: .v4(1)) },
        { $0.ipv4 = FamilyPath(interfaces: [], gateways: [], source: .v4(2)) },
        { $0.ipv6 = FamilyPath(interfaces: [], gateways: [], source: .v4(1)) },
        { $0.ipv6 = FamilyPath(interfaces: [], gateways: [], source: .v6(1)) },
        { $0.dns.servers = [DNSServer(ScopedAddress(.v4(1)))] },
        { $0.dns.servers = [DNSServer(ScopedAddress(.v4(1)), port: 53)] },
        { $0.dns.servers = [DNSServer(ScopedAddress(.v4(1)), interfaceIndex: 53)] },
        { $0.dns.search = ["a", "b"] },
        { $0.dns.search = ["ab"] },
        { $0.dns.source = "ab" },
        { $0.dns.isUsable = true },
        { $0.isExpensive = true },
        { $0.isConstrained = true },
        { $0.isUltraConstrained = true },
        { $0.linkQuality = .good },
        { $0.underlyingTypes = [.wifi] },
        { $0.warnings = [.degraded] },
        { $0.warnings = [.degraded, .expiring] },
    ]

    @Test func `every field is part of the hash (S41)`() {
        var seen: Set<UInt64> = [PathIdentity(Path()).value]
        for change in Self.changes {
            var path = Path()
            change(&path)
            #expect(seen.insert(PathIdentity(path).value).inserted)
        }
    }

    @Test func `a temporary address that replaces another is another path with the same identity (S41)`() {
        let path = World.ordinary().path()
        var later = path
        later.ipv6?.source = IPAddress("2001:db8::abcd:1") ?? .v4(0)
        #expect(later != path && later.pathId == path.pathId)
        later.ipv6?.source = IPAddress("2001:db8:0:1::10") ?? .v4(0)
        #expect(later.pathId != path.pathId)
    }

    @Test func `two networks with the same name and gateway differ by their source (lesson 15)`() {
        let home = World.ordinary()
        var cafe = World.ordinary()
        cafe.flush("eth0")
        cafe.add("192.0.2.44/24", on: "eth0")
        cafe.add("2001:db8::10/64", on: "eth0")
        #expect(home.path().gateways == cafe.path().gateways)
        #expect(home.path().pathId != cafe.path().pathId)
    }
}
