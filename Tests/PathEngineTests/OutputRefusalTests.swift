// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import LinuxIO
import Netlink
@testable import PathEngine
import PathModel
import TestSupport
import Testing

/// What packet filters and IPsec policies refuse (rule S55), seen without privileges.
@Suite(.inNamespace) struct OutputRefusalTests {
    private let namespace = Namespace.current
    private let peer: Namespace

    init() throws {
        peer = try Namespace()
        try namespace.uplink("v0", 1, to: peer)
    }

    private func filter(_ rules: String...) throws {
        let chain = "type filter hook output priority 0;"
        let text = "table inet t { chain o { \(chain) \(rules.joined(separator: "; ")); }; }"
        try namespace.run(["nft", "add table inet t; delete table inet t; \(text)"])
    }

    private static let facts: ProviderFacts = {
        let servers = ["198.51.100.53", "2001:db8:53::53"].map { DNSServer(ScopedAddress(.of($0))) }
        return ProviderFacts(dns: DNSConfiguration(servers: servers))
    }()

    /// How many datagrams to port 443 came to the other end.
    private func arrived() throws -> Int {
        let words = try peer.run(["nft", "list", "table", "inet", "c"]).split(separator: " ")
        let place = try #require(words.firstIndex(of: "packets"))
        return try #require(Int(words[place + 1]))
    }

    @Test(
        arguments: [
            (["drop"], true, false), (["udp dport 443 drop"], true, true), (["udp dport 53 reject"], false, false),
            (["meta l4proto udp reject"], true, false), (["oifname v0 drop"], true, false),
            (["oifname lo drop"], false, true),
            (["ct state established accept", "tcp dport 25 drop"], false, true),
            // Some do not want multicast to leave, and nothing else.
            (["ip daddr 224.0.0.0/4 drop", "ip6 daddr ff00::/8 drop"], false, true),
        ] as [([String], Bool, Bool)]
    )
    func `a filter that refuses datagrams is told, and name servers behind it are not usable (S35, S55)`(
        rules: [String],
        isRefused: Bool,
        isUsable: Bool
    ) async throws {
        var settings = EngineSettings.prompt
        settings.auditInterval = .milliseconds(200)
        let live = try Subject(settings, facts: Self.facts)
        #expect(live.path.warnings == [] && live.path.dns.isUsable)
        try filter(rules.joined(separator: "; "))
        let expected: [PathWarning] = isRefused ? [.datagramsRefused] : []
        await live.eventually("the filter") { $0.warnings == expected && $0.dns.isUsable == isUsable }
        let fresh = try Subject(facts: Self.facts)
        #expect(fresh.path.status == .satisfied && fresh.path.warnings == expected)
        #expect(fresh.path.dns.isUsable == isUsable)
        try namespace.run(["nft", "delete table inet t"])
        await live.eventually("no filter") { $0.warnings == [] && $0.dns.isUsable }
    }

    @Test func `an IPsec policy that blocks is told (S55)`() throws {
        try namespace.ip("xfrm policy add dir out src 0.0.0.0/0 dst 0.0.0.0/0 action block")
        let subject = try Subject(facts: Self.facts)
        #expect(subject.path.warnings == [.datagramsRefused])
        try namespace.ip("xfrm policy flush")
        #expect(try Subject(facts: Self.facts).path.warnings == [])
    }

    @Test func `nothing leaves the machine, and one datagram where multicast alone is refused (S55)`() throws {
        let chain = "type filter hook prerouting priority 0; udp dport 443 counter;"
        try peer.run(["nft", "table inet c { chain p { \(chain) }; }"])
        // The filter keeps Neighbor Solicitation from leaving, too.
        for gateway in ["10.1.0.1", "2001:db8:1::1"] { try namespace.run("ping -c1 -W5 \(gateway)") }
        let index = try #require(try LiveKernel().link(named: "v0")).index
        for (number, destination) in ["203.0.113.9", "2001:db8:99::9"].enumerated() {
            let table = KernelTable(try LiveKernel())
            func isRefused() -> Bool {
                table.outdate()
                return table.refusesDatagrams(to: .of(destination), port: 443, by: index)
            }
            #expect(!isRefused())
            try filter("drop")
            #expect(isRefused())
            try filter("ip daddr 224.0.0.0/4 drop; ip6 daddr ff00::/8 drop")
            for _ in 0..<4 { #expect(!isRefused()) }
            #expect(try arrived() == number + 1, "only the one that decides")
            try namespace.run(["nft", "delete table inet t"])
        }
    }
}
