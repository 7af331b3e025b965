// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import LinuxIO
import Netlink
@testable import PathEngine
import PathModel
import TestSupport
import Testing

/// What packet filters and IPsec policies refuse (rule S55).
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

    /// What is refused.
    enum Refused: Equatable {
        case nothing
        case datagrams
        case connections

        init(_ path: Path) {
            let isBlocked = path.status == .unsatisfied && path.reason == .blockedByFirewall
            self = isBlocked ? .connections : path.warnings == [.datagramsRefused] ? .datagrams : .nothing
        }
    }

    /// How many packets to port 443 came to the other end.
    private func arrived() throws -> Int {
        let words = try peer.run(["nft", "list", "table", "inet", "c"]).split(separator: " ")
        let place = try #require(words.firstIndex(of: "packets"))
        return try #require(Int(words[place + 1]))
    }

    @Test(
        arguments: [
            (["drop"], .connections, false), (["oifname v0 drop"], .connections, false),
            (["tcp dport 443 drop"], .connections, true), (["tcp dport 443 reject with tcp reset"], .connections, true),
            (["tcp flags & (fin|syn|rst|ack) == syn ct state new reject"], .connections, true),
            (["udp dport 443 drop"], .datagrams, true), (["udp dport 53 reject"], .nothing, false),
            (["meta l4proto udp reject"], .datagrams, false), (["oifname lo drop"], .nothing, true),
            (["ct state invalid drop", "ct state established accept", "tcp dport 25 drop"], .nothing, true),
            // Some do not want multicast to leave, and nothing else.
            (["ip daddr 224.0.0.0/4 drop", "ip6 daddr ff00::/8 drop"], .nothing, true),
        ] as [([String], Refused, Bool)]
    )
    func `a filter that refuses packets is told, and name servers behind it are not usable (S35, S55)`(
        rules: [String],
        refused: Refused,
        isUsable: Bool
    ) async throws {
        var settings = EngineSettings.prompt
        settings.auditInterval = .milliseconds(200)
        let live = try Subject(settings, facts: Self.facts)
        #expect(live.path.warnings == [] && live.path.dns.isUsable)
        try filter(rules.joined(separator: "; "))
        await live.eventually("the filter") { Refused($0) == refused && $0.dns.isUsable == isUsable }
        let fresh = try Subject(facts: Self.facts)
        #expect(Refused(fresh.path) == refused && fresh.path.dns.isUsable == isUsable)
        #expect(fresh.path.status == (refused == .connections ? .unsatisfied : .satisfied))
        try namespace.run(["nft", "delete table inet t"])
        await live.eventually("no filter") { $0.status == .satisfied && $0.warnings == [] && $0.dns.isUsable }
    }

    @Test func `a family whose connections are refused is closed, and the other one is not (S55)`() async throws {
        try namespace.run("nft table ip t { chain o { type filter hook output priority 0; tcp dport 443 drop; }; }")
        let path = try Subject(facts: Self.facts).path
        #expect(path.status == .satisfied && path.ipv4 == nil && path.ipv6 != nil)
        try namespace.run("nft table ip6 t { chain o { type filter hook output priority 0; tcp dport 443 drop; }; }")
        let closed = try Subject(facts: Self.facts).path
        let text = ReasonText(.blockedByFirewall, closed.subject)
        #expect(text.clause == "a packet filter refuses IPv4 connections via v0")
        #expect(text.hint == "`nft list chain ip t o`")
    }

    @Test func `an IPsec policy that blocks is told (S55)`() throws {
        try namespace.ip("xfrm policy add dir out src 0.0.0.0/0 dst 0.0.0.0/0 action block")
        let subject = try Subject(facts: Self.facts)
        #expect(subject.path.status == .satisfied && subject.path.ipv4 == nil)
        try namespace.ip("xfrm policy add dir out src ::/0 dst ::/0 action block")
        let blocked = try Subject(facts: Self.facts).path
        let text = ReasonText(.blockedByFirewall, blocked.subject)
        #expect(blocked.reason == .blockedByFirewall)
        #expect(text.clause == "an IPsec policy refuses IPv4 connections via v0" && text.hint == "`ip xfrm policy`")
        try namespace.ip("xfrm policy flush")
        #expect(try Subject(facts: Self.facts).path.ipv4 != nil)
    }

    @Test(arguments: [Transport.https, .quic])
    func `nothing leaves the machine, and one packet where multicast alone is refused (S55)`(
        transport: Transport
    ) throws {
        let chain = "type filter hook prerouting priority 0; meta l4proto { tcp, udp } th dport 443 counter;"
        try peer.run(["nft", "table inet c { chain p { \(chain) }; }"])
        // The filter keeps Neighbor Solicitation from leaving, too.
        for gateway in ["10.1.0.1", "2001:db8:1::1"] { try namespace.run("ping -c1 -W5 \(gateway)") }
        let index = try #require(try LiveKernel().link(named: "v0")).index
        for (number, destination) in ["203.0.113.9", "2001:db8:99::9"].enumerated() {
            let table = KernelTable(try LiveKernel())
            func answer() -> OutputAnswer {
                table.outdate()
                return table.output(of: transport, to: .of(destination), by: index)
            }
            #expect(answer() == .open)
            try filter("drop")
            #expect(answer().isRefused)
            try filter("ip daddr 224.0.0.0/4 drop; ip6 daddr ff00::/8 drop")
            for _ in 0..<4 { #expect(answer() == .open) }
            #expect(try arrived() == number + 1, "only the one that decides")
            try namespace.run(["nft", "delete table inet t"])
        }
    }

    @Test(
        arguments: [
            ("type filter hook postrouting priority 0;", "oifname v0 drop"),
            ("type route hook output priority -150;", "meta l4proto { tcp, udp } meta mark set 7"),
        ]
    )
    func `what comes behind the output hook is told where the chains may be read (S55)`(
        chain: String,
        rule: String
    ) async throws {
        for option in ["-4", "-6"] { try namespace.ip("\(option) rule add pref 50 fwmark 7 prohibit") }
        var settings = EngineSettings.prompt
        settings.auditInterval = .milliseconds(200)
        let live = try Subject(settings, facts: Self.facts)
        for family in ["ip", "ip6"] {
            try namespace.run(["nft", "table \(family) t { chain p { \(chain) \(rule); }; }"])
        }
        await live.eventually("the chain") { $0.reason == .blockedByFirewall && !$0.dns.isUsable }
        #expect(ReasonText(.blockedByFirewall, live.path.subject).hint == "`nft list chain ip t p`")
        for family in ["ip", "ip6"] { try namespace.run("nft delete table \(family) t") }
        await live.eventually("no chain") { $0.ipv4 != nil && $0.ipv6 != nil && $0.dns.isUsable }
    }

    @Test func `behind the output hook one packet is sent for each set of rules and routes (S55)`() throws {
        let counting = "type filter hook prerouting priority 0; meta l4proto { tcp, udp } th dport 443 counter;"
        try peer.run(["nft", "table inet c { chain p { \(counting) }; }"])
        try namespace.run("ping -c1 -W5 10.1.0.1")
        try namespace.run(["nft", "table ip t { chain p { type filter hook postrouting priority 0; counter; }; }"])
        let kernel = try LiveKernel()
        let table = KernelTable(kernel)
        let index = try #require(try kernel.link(named: "v0")).index
        func ask() {
            for _ in 0..<3 {
                table.outdate()
                #expect(table.output(of: .https, to: .of("203.0.113.9"), by: index) == .open)
            }
        }
        ask()
        #expect(try arrived() == 1)
        try namespace.run("nft add rule ip t p counter")
        ask()
        #expect(try arrived() == 2)
    }

    /// Rules that let out what should stay on this machine, and the families of which they do.
    enum Releasing: String, CaseIterable {
        case output = "table ip m { chain o { type filter hook output priority -150; ip ttl set 65; }; }"
        case byInterface = """
            table ip m { chain o { type filter hook output priority -150; oifname v0 ip ttl set 65; }; }
            """
        case jump = """
            table inet m { chain o { type filter hook output priority 0; jump t; };
              chain t { meta l4proto udp ip ttl set 9; }; }
            """
        case postrouting = "table ip m { chain p { type filter hook postrouting priority -150; ip ttl set 65; }; }"
        case sixth = "table inet m { chain p { type filter hook postrouting priority 0; ip6 hoplimit set 64; }; }"
        case destination = """
            table ip m { chain o { type nat hook output priority -100; udp dport 443 dnat to 10.1.0.1; }; }
            """
        case allButOne = """
            table ip m { chain o { type nat hook output priority -100; ip daddr != 10.1.0.1 udp dport 443 dnat to 10.1.0.1; }; }
            """
        case group = """
            table ip m { chain o { type nat hook output priority -100; ip daddr 224.0.0.0/4 dnat to 10.1.0.1; }; }
            """
        case otherChain = """
            table ip m { chain p { dnat to 10.1.0.1; }; chain q { jump p; };
              chain o { type nat hook output priority -100; meta l4proto udp goto q; }; }
            """
        case map = """
            table ip m { chain p { dnat to 10.1.0.1; };
              chain o { type nat hook output priority -100; udp dport vmap { 443 : jump p }; }; }
            """
        case source = """
            table ip m { chain o { type nat hook output priority -100; fib saddr type local udp dport 443 dnat to 10.1.0.1; }; }
            """
        case copy = "table ip m { chain o { type filter hook output priority 0; dup to 10.1.0.1 device v0; }; }"

        var families: Set<AddressFamily> { self == .sixth ? [.ipv6] : [.ipv4] }
    }

    @Test(arguments: Releasing.allCases)
    func `nothing is tried where a rule may let it out, and it is not known (S55)`(rules: Releasing) throws {
        let count = "type filter hook prerouting priority 0; meta l4proto { tcp, udp } counter;"
        try peer.run(["nft", "table inet c { chain p { \(count) }; }"])
        for gateway in ["10.1.0.1", "2001:db8:1::1"] { try namespace.run("ping -c1 -W5 \(gateway)") }
        try namespace.run(["nft", rules.rawValue])
        #expect(try PacketFilter.read().releasing == rules.families)
        let kernel = try LiveKernel()
        let table = KernelTable(kernel)
        let index = try #require(try kernel.link(named: "v0")).index
        // A reason to send a packet that decides: the group alone is refused.
        try filter("ip daddr 224.0.0.0/4 tcp dport 443 drop; ip6 daddr ff00::/8 tcp dport 443 drop")
        for destination in ["203.0.113.9", "2001:db8:99::9"].map(IPAddress.of)
        where rules.families.contains(destination.family) {
            for transport in [Transport.https, .quic, .dns] {
                for _ in 0..<3 {
                    table.outdate()
                    #expect(table.output(of: transport, to: destination, by: index) == .unknown)
                }
            }
        }
        #expect(try arrived() == 0)
        try namespace.run(["nft", "flush ruleset"])
        table.outdate()
        #expect(table.output(of: .quic, to: .of("203.0.113.9"), by: index) == .open)
        #expect(try arrived() == 0, "a packet that is tried stays here")
    }

    @Test(
        arguments: [
            "table ip m { chain o { type filter hook prerouting priority 0; ip ttl set 65; }; }",
            "table ip m { chain o { type filter hook output priority 0; ip dscp set 8; tcp option maxseg size set 1200; }; }",
            """
            table ip m { chain o { type nat hook output priority -100; fib daddr type local jump d; };
              chain d { tcp dport 80 dnat to 10.1.0.1; }; chain s { type nat hook postrouting priority 100; masquerade; }; }
            """,
            "table ip m { chain o { type nat hook output priority -100; ip daddr 10.7.7.7 dnat to 10.1.0.1; }; }",
            """
            table ip m { chain p { dnat to 10.1.0.1; }; chain e { drop; };
              chain o { type nat hook output priority -100; ip daddr . udp dport vmap { 10.7.7.7 . 443 : jump p }; };
              chain i { type nat hook prerouting priority -100; jump p; }; }
            """,
            """
            table ip m { set s { type ipv4_addr; elements = { 10.7.7.7 }; };
              chain o { type nat hook output priority -100; ip daddr @s dnat to 10.1.0.1; }; }
            """,
        ]
    )
    func `other rules keep nobody from trying (S55)`(rules: String) throws {
        try namespace.run(["nft", rules])
        #expect(try PacketFilter.read().releasing == [])
        let kernel = try LiveKernel()
        let index = try #require(try kernel.link(named: "v0")).index
        #expect(KernelTable(kernel).output(of: .quic, to: .of("203.0.113.9"), by: index) == .open)
    }

    @Test func `without reading the rules a datagram to oneself shows whether they set the TTL`() throws {
        func keeping() -> [Bool] { AddressFamily.allCases.map(OutputTest.keepsHopLimit) }
        #expect(keeping() == [true, true])
        try namespace.run(["nft", "table ip n { chain s { type nat hook postrouting priority 100; masquerade; }; }"])
        #expect(keeping() == [true, true])
        try namespace.run(["nft", Releasing.output.rawValue])
        #expect(keeping() == [false, true])
        let chain = "type filter hook output priority 0; ip6 hoplimit set 9;"
        try namespace.run(["nft", "table ip6 m { chain o { \(chain) }; }"])
        #expect(keeping() == [false, false])
        try namespace.run(["nft", "flush ruleset"])
        #expect(keeping() == [true, true])
    }

    @Test func `rules that did not change are not read again`() throws {
        try filter("drop")
        let first = try PacketFilter.read()
        var known = first
        known.chains = []
        #expect(try PacketFilter.read(after: known) == known)
        try filter("accept")
        #expect(try PacketFilter.read(after: known).chains == first.chains)
    }

    @Test func `the chains that may refuse packets are read (S55)`() throws {
        #expect(try PacketFilter.read().chains == [])
        try namespace.run([
            "nft",
            """
            table inet a { chain o { type filter hook output priority 0; policy drop; }; chain plain { drop; }; }
            table ip b { chain i { type filter hook input priority 0; drop; }
              chain n { type nat hook postrouting priority 100; masquerade; }
              chain m { type route hook output priority -150; meta mark set 7; }
              chain empty { type filter hook output priority 5; }; }
            table ip6 c { chain p { type filter hook postrouting priority 0; counter; }; }
            """,
        ])
        let filter = try PacketFilter.read()
        #expect(filter.chains.map(\.description).sorted() == ["inet a o", "ip b m", "ip6 c p"])
        #expect(filter.chains(.ipv6).map(\.description).sorted() == ["inet a o", "ip6 c p"])
        #expect(filter.isBehindOutput(.ipv4) && filter.isBehindOutput(.ipv6))
        try namespace.run("nft delete table ip b")
        let later = try PacketFilter.read()
        #expect(!later.isBehindOutput(.ipv4) && later.generation != filter.generation)
    }
}
