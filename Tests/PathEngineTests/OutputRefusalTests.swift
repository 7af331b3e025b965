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

    /// Counts what comes to the other end of connections and datagrams, fragments included.
    private func count() throws {
        let chain =
            "type filter hook prerouting priority -500; ip protocol { tcp, udp } counter; ip6 nexthdr { tcp, udp, 44 } counter;"
        try peer.run(["nft", "table inet c { chain p { \(chain) }; }"])
        // A filter of the test may keep Neighbor Solicitation from leaving, too.
        for gateway in ["10.1.0.1", "2001:db8:1::1"] { try namespace.run("ping -c1 -W5 \(gateway)") }
    }

    /// How many such packets came.
    private func arrived() throws -> Int {
        let words = try peer.run(["nft", "list", "table", "inet", "c"]).split(separator: " ")
        let places = words.indices.filter { words[$0] == "packets" }
        try #require(places.count == 2)
        return places.compactMap { Int(words[$0 + 1]) }.reduce(0, +)
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

    /// Verdicts of a rule set on packets to the Internet, of both families.
    private func verdicts(_ transport: Transport) throws -> [OutputAnswer] {
        let kernel = try LiveKernel()
        let table = KernelTable(kernel)
        let index = try #require(try kernel.link(named: "v0")).index
        return ["203.0.113.9", "2001:db8:99::9"].map { destination in
            let answers = (0..<3).map { _ in
                table.outdate()
                return table.output(of: transport, from: nil, to: .of(destination), by: index)
            }
            return answers.allSatisfy { $0 == answers[0] } ? answers[0] : .unknown
        }
    }

    /// Rules that would let out a packet that relies on its TTL, its destination or its way.
    private static let harmless = [
        "table ip m { chain o { type filter hook output priority -150; ip ttl set 65; }; }",
        "table inet m { chain o { type filter hook output priority 0; jump t; }; chain t { meta l4proto udp ip ttl set 9; }; }",
        "table ip m { chain p { type filter hook postrouting priority -150; ip ttl set 65; }; }",
        "table inet m { chain p { type filter hook postrouting priority 0; ip6 hoplimit set 64; }; }",
        "table ip m { chain o { type nat hook output priority -100; udp dport 443 dnat to 10.1.0.1; }; }",
        "table ip m { chain o { type nat hook output priority -100; meta l4proto { tcp, udp } redirect to :5000; }; }",
        "table ip m { chain p { type nat hook postrouting priority 100; masquerade; }; }",
        "table inet m { chain o { type route hook output priority -150; meta mark set 7; }; }",
        "table inet m { chain o { type filter hook output priority 0; ct state invalid drop; ct state new accept; }; }",
        "table ip m { chain o { type filter hook output priority 0; ip dscp set 8; tcp option maxseg size set 1200; }; }",
    ]

    @Test(arguments: harmless)
    func `what is tried does not leave, whatever rules do with it (S55)`(rules: String) throws {
        try count()
        // Marked packets lead back to this machine, where a proxy may wait.
        for option in ["-4", "-6"] {
            try namespace.ip("\(option) rule add pref 50 fwmark 7 lookup 100")
            try namespace.ip("\(option) route add local default dev lo table 100")
        }
        try namespace.run(["nft", rules])
        let open: OutputAnswer = rules.contains("type route") ? .unknown : .open
        for transport in [Transport.https, .quic, .dns] { #expect(try verdicts(transport) == [open, open]) }
        try filter("oifname lo accept; fib daddr type multicast accept; meta l4proto tcp reject; meta l4proto udp drop")
        for transport in [Transport.https, .quic, .dns] {
            #expect(try verdicts(transport).allSatisfy(\.isRefused))
        }
        try namespace.run("nft delete table inet t")
        try filter("ip daddr 224.0.0.0/4 drop; ip6 daddr ff00::/8 drop")
        for transport in [Transport.https, .quic, .dns] { #expect(try verdicts(transport) == [open, open]) }
        #expect(try arrived() == 0)
        #expect(try !namespace.run("ip route get 203.0.113.9").contains("mtu"), "no path MTU is left behind")
    }

    @Test(arguments: [Transport.https, .quic])
    func `what is tried confirms no neighbour, which may be gone (S55)`(transport: Transport) async throws {
        for gateway in ["10.1.0.1", "2001:db8:1::1"] { try namespace.run("ping -c1 -W5 \(gateway)") }
        let kernel = try LiveKernel()
        let index = try #require(try kernel.link(named: "v0")).index
        await namespace.loop.sleep(for: .milliseconds(1200))
        #expect(try verdicts(transport) == [.open, .open])
        for gateway in ["10.1.0.1", "2001:db8:1::1"] {
            let confirmed = try #require(try kernel.neighbor(.of(gateway), index: index)?.confirmed)
            #expect(confirmed >= .seconds(1), "\(gateway)")
        }
    }

    @Test func `a kill switch that lets the local network and multicast pass closes both families (S55)`() throws {
        try count()
        try filter(
            "oifname lo accept; ip daddr { 10.0.0.0/8, 169.254.0.0/16, 224.0.0.0/4, 255.255.255.255 } accept",
            "ip6 daddr { fe80::/10, fc00::/7, ff00::/8 } accept; oifname tun* accept; drop"
        )
        let path = try Subject(facts: Self.facts).path
        #expect(path.reason == .blockedByFirewall && !path.dns.isUsable)
        #expect(ReasonText(.blockedByFirewall, path.subject).hint == "`nft list chain inet t o`")
        #expect(try arrived() == 0)
    }

    @Test func `changes of filters and policies are received from the kernel, not found by an audit (S55)`()
        async throws
    {
        var settings = EngineSettings.prompt
        settings.auditInterval = .zero
        let live = try Subject(settings, facts: Self.facts)
        #expect(live.path.ipv4 != nil && live.path.ipv6 != nil)
        for _ in 0..<2 {
            try filter("drop")
            await live.eventually("the filter") { $0.reason == .blockedByFirewall }
            try namespace.run("nft flush ruleset")
            await live.eventually("no filter") { $0.ipv4 != nil && $0.ipv6 != nil }
            try namespace.ip("xfrm policy add dir out src 0.0.0.0/0 dst 0.0.0.0/0 action block")
            await live.eventually("the policy") { $0.ipv4 == nil && $0.ipv6 != nil }
            try namespace.ip("xfrm policy flush")
            await live.eventually("no policy") { $0.ipv4 != nil }
        }
        try namespace.ip("xfrm policy add dir out src 0.0.0.0/0 dst 0.0.0.0/0 action block limit time-hard 3")
        await live.eventually("the policy") { $0.ipv4 == nil }
        await live.eventually("its end") { $0.ipv4 != nil }
    }

    @Test func `what comes at the hook postrouting is detected (S55)`() async throws {
        let live = try Subject(facts: Self.facts)
        for family in ["ip", "ip6"] {
            let chain = "type filter hook postrouting priority 0; oifname v0 drop;"
            try namespace.run(["nft", "table \(family) t { chain p { \(chain) }; }"])
        }
        await live.eventually("the chain") { $0.reason == .blockedByFirewall && !$0.dns.isUsable }
        #expect(ReasonText(.blockedByFirewall, live.path.subject).hint == "`nft list chain ip t p`")
        for family in ["ip", "ip6"] { try namespace.run("nft delete table \(family) t") }
        await live.eventually("no chain") { $0.ipv4 != nil && $0.ipv6 != nil && $0.dns.isUsable }
    }

    /// Marks all connections and datagrams, which a rule leads to table 77.
    private func mark() throws {
        for family in ["ip", "ip6"] {
            let chain = "type route hook output priority -150; meta l4proto { tcp, udp } meta mark set 7;"
            try namespace.run(["nft", "table \(family) t { chain p { \(chain) }; }"])
        }
        for transport in [Transport.https, .quic] {
            #expect(try verdicts(transport) == [.open, .open], "without a rule that matches on it a mark does nothing")
        }
        for option in ["-4", "-6"] { try namespace.ip("\(option) rule add pref 50 fwmark 7 lookup 77") }
    }

    @Test(arguments: ["blackhole", "prohibit", "unreachable"])
    func `marked packets whose route refuses them are refused (S55)`(kind: String) throws {
        try count()
        try mark()
        for option in ["-4", "-6"] { try namespace.ip("\(option) route add \(kind) default table 77") }
        for transport in [Transport.https, .quic, .dns] {
            #expect(try verdicts(transport).allSatisfy(\.isRefused))
        }
        let path = try Subject(facts: Self.facts).path
        #expect(path.reason == .blockedByFirewall && !path.dns.isUsable)
        #expect(ReasonText(.blockedByFirewall, path.subject).hint == "`nft list chain ip t p`")
        #expect(try arrived() == 0)
    }

    @Test func `by which interface marked packets leave is not known, and those that are tried do not (S55)`() throws {
        try namespace.uplink("w0", 2, to: peer, metric: nil)
        try count()
        try mark()
        for route in ["-4 route add default via 10.2.0.1", "-6 route add default via 2001:db8:2::1"] {
            try namespace.ip("\(route) dev w0 table 77")
        }
        for transport in [Transport.https, .quic, .dns] { #expect(try verdicts(transport) == [.unknown, .unknown]) }
        #expect(try arrived() == 0)
        #expect(try !namespace.run("ip route get 203.0.113.9 mark 7").contains("mtu"), "no path MTU is left behind")
        for option in ["-4", "-6"] { try namespace.ip("\(option) route replace prohibit default table 77") }
        #expect(try verdicts(.https).allSatisfy(\.isRefused))
        // A packet of 65,000 bytes could leave by such an interface.
        try namespace.ip("link set w0 mtu 65535")
        #expect(try verdicts(.https) == [.unknown, .unknown])
        #expect(try arrived() == 0)
    }

    @Test func `nothing is sent where a mark leads to this machine (S55)`() throws {
        try mark()
        for option in ["-4", "-6"] {
            try namespace.ip("\(option) route add local default dev lo table 77")
        }
        func count(_ kind: String, _ name: Substring) throws -> Int {
            let rows = try namespace.run("cat /proc/net/snmp").split(separator: "\n").map { $0.split(separator: " ") }
            let own = rows.filter { $0.first == "\(kind):" }
            let column = try #require(own.first?.firstIndex(of: name))
            return try #require(Int(own[1][column]))
        }
        for transport in [Transport.https, .quic, .dns] { #expect(try verdicts(transport) == [.unknown, .unknown]) }
        for (kind, names) in [("Tcp", ["InCsumErrors", "OutRsts"]), ("Udp", ["InCsumErrors", "NoPorts"])] {
            for name in names { #expect(try count(kind, Substring(name)) == 0) }
        }
        for option in ["-4", "-6"] { try namespace.ip("\(option) route replace prohibit default table 77") }
        #expect(try verdicts(.https).allSatisfy(\.isRefused), "what it leads to is looked up each time")
    }

    @Test func `an address or a name that a filter is for counts at once (S55)`() async throws {
        var settings = EngineSettings.prompt
        settings.auditInterval = .zero
        let live = try Subject(settings, facts: Self.facts)
        try filter("oifname w9 drop; ip saddr 10.1.0.9 drop")
        #expect(live.path.ipv4 != nil && live.path.ipv6 != nil)
        try namespace.apply(["addr add 10.1.0.9/24 dev v0", "route replace default via 10.1.0.1 dev v0 src 10.1.0.9"])
        await live.eventually("no IPv4") { $0.ipv4 == nil && $0.ipv6 != nil }
        try namespace.ip("route replace default via 10.1.0.1 dev v0 src 10.1.0.2")
        await live.eventually("IPv4") { $0.ipv4 != nil }
        // The address is there already, and only the route changes.
        try namespace.ip("route replace default via 10.1.0.1 dev v0 src 10.1.0.9")
        await live.eventually("no IPv4 again") { $0.ipv4 == nil && $0.ipv6 != nil }
        try namespace.ip("link set v0 name w9")
        await live.eventually("the name") { $0.reason == .blockedByFirewall }
    }

    @Test func `a packet of two nexthops has the address of each (S55)`() throws {
        try namespace.uplink("w0", 2, to: peer, metric: nil)
        try namespace.ip("route replace default nexthop via 10.1.0.1 dev v0 nexthop via 10.2.0.1 dev w0")
        try filter("oifname v0 ip saddr != 10.1.0.0/24 drop; oifname w0 ip saddr != 10.2.0.0/24 drop")
        let path = try Subject(facts: Self.facts).path
        #expect(path.ipv4?.interfaces.map(\.name) == ["v0", "w0"] && path.warnings == [])
    }

    /// Rules that let out what should stay on this machine.
    private static let releasing = [
        "table ip m { chain o { type filter hook output priority -150; ip frag-off set 0; }; }",
        "table ip m { chain o { type route hook output priority -150; ip daddr set 10.1.0.2; }; }",
        "table ip m { chain p { type filter hook postrouting priority -150; oifname v0 ip frag-off set 0; }; }",
        """
        table inet m { chain o { type filter hook output priority 0; jump t; };
          chain t { meta l4proto udp ip frag-off set 0; }; }
        """,
        "table ip m { chain o { type filter hook output priority 0; dup to 10.1.0.1 device v0; }; }",
        "table ip m { chain o { type filter hook output priority 0; ip saddr set 198.51.100.7; }; }",
        // What is tried would use these up.
        "table ip m { chain o { type filter hook output priority 0; quota over 500 kbytes drop; }; }",
        """
        table ip m { quota q { over 500 kbytes; };
          chain o { type filter hook output priority 0; quota name "q" drop; }; }
        """,
    ]

    @Test(arguments: releasing)
    func `nothing is tried where a rule may let it out, and it is not known (S55)`(rules: String) throws {
        try count()
        try namespace.run(["nft", rules])
        #expect(try PacketFilter.read().may(.release, .ipv4) && !PacketFilter.read().may(.release, .ipv6))
        for transport in [Transport.https, .quic, .dns] { #expect(try verdicts(transport) == [.unknown, .open]) }
        #expect(try arrived() == 0)
        try namespace.run(["nft", "flush ruleset"])
        for transport in [Transport.https, .quic, .dns] { #expect(try verdicts(transport) == [.open, .open]) }
        #expect(try arrived() == 0)
    }

    /// Rules that lead packets to another destination, and whether it may be this machine.
    private static let translations = [
        ("nft add rule ip m o udp dport { 53, 443 } dnat to 10.1.0.2:5353", true),
        ("nft add rule ip m o meta l4proto { tcp, udp } dnat to 10.1.0.255", true),
        ("nft add rule ip m o udp dport 443 dnat to 10.1.0.1-10.1.0.5", true),
        ("nft add rule ip m o udp dport 443 dnat to ip daddr map { 203.0.113.9 : 10.1.0.2 }", true),
        ("iptables-nft -t nat -A OUTPUT -p udp -j DNAT --to-destination 10.1.0.2:5353", true),
        ("iptables-nft -t nat -A OUTPUT -j NETMAP --to 10.1.0.0/24", true),
        ("nft add rule ip m o udp dport 443 dnat to 10.1.0.1:5353", false),
        ("nft add rule ip m o udp dport 443 dnat to :5353", false),
        ("nft add rule ip m o udp dport 443 dnat to 127.0.0.1:5353", false),
        ("iptables-nft -t nat -A OUTPUT -p udp -j DNAT --to-destination 10.1.0.1:5353", false),
        ("iptables-nft -t nat -A POSTROUTING -j NETMAP --to 10.1.0.0/24", false),
    ]

    @Test(arguments: translations)
    func `nothing is tried where a rule may lead it to this machine, whose program may pass it on (S55)`(
        rule: String,
        mayBeHere: Bool
    ) throws {
        try count()
        try namespace.run(["nft", "table ip m { chain o { type nat hook output priority -100; }; }"])
        try namespace.run(rule)
        let first = mayBeHere ? OutputAnswer.unknown : .open
        for transport in [Transport.https, .quic, .dns] { #expect(try verdicts(transport) == [first, .open]) }
        #expect(try arrived() == 0)
    }

    /// Rules that treat what is tried otherwise than other packets, by its length.
    private static let lengths = [
        "nft add rule inet m o meta length > 1500 drop",
        "nft add rule inet m o udp length > 1400 drop",
        "nft add rule inet m o ip length > 1500 drop",
        "nft add rule inet m o ip6 length > 1500 drop",
        "nft add rule inet m o meta length vmap { 1500-65535 : drop }",
        "nft add rule inet m o limit rate over 100 bytes/second burst 100 bytes drop",
        "iptables-nft -A OUTPUT -m length --length 1500:65535 -j DROP",
    ]

    @Test(arguments: lengths)
    func `a filter for the length of packets takes nothing offline (S55)`(rule: String) throws {
        try namespace.run(["nft", "table inet m { chain o { type filter hook output priority 0; }; }"])
        try namespace.run(rule)
        for transport in [Transport.https, .quic, .dns] {
            #expect(try !verdicts(transport).contains(where: \.isRefused))
        }
        #expect(try Subject(facts: Self.facts).path.warnings == [])
    }

    @Test(
        arguments: [
            ("nft add rule ip m o tcp option maxseg size > 1400 drop", true),
            ("nft add rule ip m o meta l4proto tcp tcp option sack-perm missing drop", true),
            ("iptables-nft -A OUTPUT -p tcp ! --tcp-option 2 -j DROP", true),
            ("iptables-nft -A OUTPUT -p tcp -m tcpmss --mss 1400:1500 -j DROP", true),
            ("iptables-nft -A OUTPUT -p tcp --dport 25 -j DROP", false),
            ("nft add rule ip m o tcp option maxseg size set 1200", false),
        ] as [(String, Bool)]
    )
    func `what a filter for TCP options makes of connections is not known (S55)`(rule: String, isMatch: Bool) throws {
        try namespace.run(["nft", "table ip m { chain o { type filter hook output priority 0; }; }"])
        try namespace.run(rule)
        #expect(try verdicts(.https) == [isMatch ? .unknown : .open, .open] && verdicts(.quic) == [.open, .open])
    }

    @Test(
        arguments: [
            ("-P OUTPUT DROP", .refused(.filter([]))), ("-A OUTPUT -j ACCEPT", .open),
            ("-A OUTPUT -p udp -j NFQUEUE", .unknown), ("-A OUTPUT -p udp -j TEE --gateway 10.1.0.1", .unknown),
            ("-A OUTPUT -m length --length 1500:65535 -j DROP", .unknown),
            ("-t nat -A OUTPUT -p udp -j DNAT --to-destination 10.1.0.2:5353", .unknown),
            ("-t nat -A OUTPUT -p udp -j DNAT --to-destination 10.1.0.1:5353", .open),
            ("-t nat -A PREROUTING -p udp -j DNAT --to-destination 10.1.0.2:5353", .open),
            ("-A FORWARD -p udp -j NFQUEUE", .open), ("-A INPUT -m length --length 1500:65535 -j DROP", .open),
        ] as [(String, OutputAnswer)]
    )
    func `iptables beside nf_tables counts by the rules that are there (S55)`(
        rule: String,
        expected: OutputAnswer
    ) throws {
        // Some kernels have no such tables.
        guard (try? namespace.run("iptables-legacy -S")) != nil else { return }
        try count()
        try namespace.run("iptables-legacy \(rule)")
        #expect(try verdicts(.quic) == [expected, .open])
        #expect(try arrived() == 0)
    }

    @Test func `rules that write the TTL keep datagrams out of tunnels that nobody reads the peers of (S18)`() throws {
        try namespace.run(["nft", "table ip m { chain i { type filter hook input priority 0; ip ttl set 65; }; }"])
        #expect(try !PacketFilter.read().may(.writeHopLimit, .ipv4))
        try namespace.run(["nft", Self.harmless[0]])
        #expect(try PacketFilter.read().may(.writeHopLimit, .ipv4) && !PacketFilter.read().may(.writeHopLimit, .ipv6))
        try namespace.run([
            "nft", "table ip6 m { chain o { type filter hook output priority 0; ip6 hoplimit set 9; }; }",
        ])
        #expect(try PacketFilter.read().may(.writeHopLimit, .ipv6))
    }

    @Test func `without reading the rules a datagram to oneself shows what they change in the header`() throws {
        func kept() -> [KeptHeader] { AddressFamily.allCases.map(OutputTest.keptHeader) }
        let all: KeptHeader = [.hopLimit, .dontFragment]
        #expect(kept() == [all, all])
        try namespace.run(["nft", "table ip n { chain s { type nat hook postrouting priority 100; masquerade; }; }"])
        #expect(kept() == [all, all])
        try namespace.run(["nft", Self.harmless[0]])
        #expect(kept() == [.dontFragment, all])
        try namespace.run([
            "nft", "table ip6 m { chain o { type filter hook output priority 0; ip6 hoplimit set 9; }; }",
        ])
        #expect(kept() == [.dontFragment, .dontFragment])
        try namespace.run(["nft", "flush ruleset"])
        try namespace.run(["nft", Self.releasing[0]])
        #expect(kept() == [.hopLimit, all])
        try namespace.run(["nft", "flush ruleset"])
        #expect(kept() == [all, all])
    }

    @Test func `only tables that packets meet on their way out are read (S55)`() throws {
        let rules = "jump t; }; chain t { ip frag-off set 0; }"
        let hooks = ["input", "prerouting", "forward"].map {
            "chain \($0) { type filter hook \($0) priority 0; jump t; };"
        }
        try namespace.run([
            "nft",
            "table ip m { \(hooks.joined()) chain o { type filter hook output priority 0; }; chain x { \(rules); }",
        ])
        #expect(try !PacketFilter.read().may(.release, .ipv4))
        try namespace.run(["nft", "table inet n { chain p { type filter hook postrouting priority 0; \(rules); }"])
        #expect(try PacketFilter.read().may(.release, .ipv4))
        try namespace.run(["nft", "delete table inet n; add rule ip m o counter"])
        #expect(try PacketFilter.read().may(.release, .ipv4), "a chain may be jumped to from any of its table")
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
        #expect(filter.reroutes(.ipv4) && !filter.reroutes(.ipv6))
        try namespace.run("nft delete table ip b")
        let later = try PacketFilter.read()
        #expect(!later.reroutes(.ipv4) && later.generation != filter.generation)
    }
}
