// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import OrderedJSON
import TestSupport
import Testing

@Suite(.inNamespace) struct HostOnKernelTests {
    private let namespace = Namespace.current
    private var why: WhyProgram { WhyProgram(namespace: namespace) }

    @Test func `an address on the link is reached directly`() async throws {
        let peer = try namespace.uplink()
        try namespace.ip("neigh replace 192.0.2.1 dev eth0 lladdr 02:00:00:00:00:01 nud reachable")
        let run = try why.run("192.0.2.1")
        #expect(run.code == 0)
        let tests = "not tested (run `nwpath diagnose 192.0.2.1`)"
        #expect(run.firstLine == "The kernel would send to 192.0.2.1: IPv4 via eth0; \(tests)")
        #expect(run.line("route") == "✓ route     192.0.2.0/24 dev eth0 (kernel)")
        #expect(run.line("nexthop") == "✓ nexthop   directly on eth0")
        #expect(run.line("source") == "✓ source    192.0.2.2 (eth0)")
        #expect(run.line("neighbour") == "✓ neighbour 192.0.2.1 on eth0 at 02:00:00:00:00:01: reachable")
        withExtendedLifetime(peer) {}
    }

    @Test(arguments: [("192.0.2.2", "eth0"), ("2001:db8:1::2", "eth0"), ("127.0.0.1", "lo"), ("::1", "lo")])
    func `an address of this machine is local`(address: String, interface: String) async throws {
        let peer = try namespace.uplink()
        let run = try why.run(address)
        #expect(run.code == 0)
        #expect(run.line("rule") == "✓ rule      0: from all lookup local", "\(run.text)")
        #expect(run.line("table") == "✓ table     local")
        #expect(run.line("route").hasPrefix("✓ route     local \(address)"))
        #expect(run.line("nexthop") == "✓ nexthop   this machine")
        withExtendedLifetime(peer) {}
    }

    @Test func `a tunnel's rule by firewall mark is the one that matched`() async throws {
        let peer = try namespace.uplink()
        try namespace.ip("tuntap add wg0 mode tun")
        try namespace.ip("addr add 10.9.0.2/32 dev wg0")
        try namespace.set("wg0", isUp: true)
        try namespace.ip("route add default dev wg0 table 51820")
        try namespace.ip("rule add priority 32764 lookup main suppress_prefixlength 0")
        try namespace.ip("rule add priority 32765 not fwmark 0xca6c lookup 51820")
        let run = try why.run("203.0.113.1")
        #expect(run.line("rule") == "✓ rule      32765: not from all fwmark 0xca6c lookup 51820", "\(run.text)")
        #expect(run.line("table") == "✓ table     51820")
        // Nobody holds the other end of the tunnel.
        #expect(run.code == 1 && run.firstLine.hasPrefix("Broken at carrier: wg0 has no carrier"))
        let direct = try why.run("192.0.2.1")
        #expect(direct.line("rule").hasPrefix("✓ rule      32764: from all suppress_prefixlength 0 lookup main"))
        withExtendedLifetime(peer) {}
    }

    @Test func `a path MTU that is not the link's is shown`() async throws {
        let peer = try namespace.uplink()
        try namespace.ip("route add 198.51.100.0/24 via 192.0.2.1 mtu 1300")
        let run = try why.run("198.51.100.7")
        #expect(
            run.line("link") == "✓ link      eth0: up, veth wiredEthernet, mtu 1500; path MTU 1300, set for the route"
        )
        withExtendedLifetime(peer) {}
    }

    @Test func `a black hole for some hosts leaves the others alone`() async throws {
        let peer = try namespace.uplink()
        try namespace.ip("route add blackhole 198.18.0.0/15")
        let run = try why.run("198.18.0.1")
        #expect(run.code == 1)
        #expect(run.firstLine.hasPrefix("Broken at route: the IPv4 route blackhole 198.18.0.0/15 refuses packets"))
        #expect(try why.run("198.20.0.1").code == 0)
        withExtendedLifetime(peer) {}
    }

    @Test func `both families of a working uplink are told`() async throws {
        let peer = try namespace.uplink()
        let run = try why.run("2001:db8:9::1")
        #expect(run.code == 0)
        #expect(run.line("route") == "✓ route     default via 2001:db8:1::1 dev eth0 metric 100", "\(run.text)")
        #expect(run.line("source") == "✓ source    2001:db8:1::2 (eth0)")
        withExtendedLifetime(peer) {}
    }

    @Test func `a filter that refuses datagrams may be in the way (S55)`() async throws {
        let peer = try namespace.uplink()
        let capabilities = "-net_raw,-net_admin"
        let usual = try why.run("203.0.113.1", without: capabilities)
        #expect(usual.line("firewall") == "✓ firewall  UDP port 443 is allowed", "\(usual.text)")
        let filter = "table inet t { chain o { type filter hook output priority 0; udp dport 443 drop; }; }"
        try namespace.run(["nft", filter])
        let run = try why.run("203.0.113.1", without: capabilities)
        #expect(run.code == 1)
        #expect(run.firstLine.hasPrefix("Possibly broken at firewall: a packet filter refuses UDP port 443"))
        #expect(run.line("firewall").hasPrefix("? firewall  a packet filter"))
        let document = try why.run("--json", "203.0.113.1", without: capabilities).text
        let value = try JSONValue(parsing: Array(document.utf8))
        #expect(value["verdict"]?.string == "unknown" && value["broken"]?["element"]?.string == "firewall")
        #expect(value["chains"]?.array?.first?["verdict"]?.string == "unknown")
        // What is to stay on this machine would leave it.
        try namespace.run(["nft", "add rule inet t o ip ttl set 65"])
        #expect(try why.run("203.0.113.1", without: capabilities).code == 1)
        try namespace.run(["nft", "add rule inet t o ip frag-off set 0"])
        let untried = try why.run("203.0.113.1", without: capabilities)
        #expect(untried.code == 0)
        #expect(untried.line("firewall") == "? firewall  unknown without a test packet", "\(untried.text)")
        withExtendedLifetime(peer) {}
    }

    @Test func `a filter that refuses connections is named, where it may be known (S55)`() async throws {
        let peer = try namespace.uplink()
        let usual = try why.run("203.0.113.1")
        #expect(usual.line("firewall") == "✓ firewall  TCP and UDP port 443 are allowed")
        let filter = "table inet t { chain o { type filter hook output priority 0; udp dport 443 drop; }; }"
        try namespace.run(["nft", filter])
        let datagrams = try why.run("203.0.113.1")
        let text = "✓ firewall  a packet filter refuses UDP port 443, but not TCP"
        #expect(datagrams.code == 0 && datagrams.line("firewall") == text)
        try namespace.run("nft add rule inet t o tcp dport 443 reject")
        let run = try why.run("203.0.113.1")
        let fault = "Broken at firewall: a packet filter refuses IPv4 connections via eth0"
        #expect(run.code == 1 && run.firstLine == "\(fault). Fix: `nft list chain inet t o`")
        withExtendedLifetime(peer) {}
    }

    @Test func `where nothing leaves, the kernel's reason is told and no name server is waited for`() async throws {
        let peer = try namespace.uplink()
        // The route stays, and what is sent to a name server vanishes.
        try peer.set("p0", isUp: false)
        try namespace.wait(for: "the lost carrier") { try namespace.ip("link show eth0").contains("NO-CARRIER") }
        let run = try why.run("nobody.example")
        #expect(run.code == 1, "not 3, which blames the name servers: \(run.text)")
        #expect(run.firstLine.hasPrefix("Broken at carrier: eth0 has no carrier"))
        // The machine's own names are found all the same.
        #expect(try why.run("localhost").code == 0)
        withExtendedLifetime(peer) {}
    }

    @Test func `JSON has every element and the verdict`() async throws {
        let peer = try namespace.uplink()
        try namespace.set("eth0", isUp: false)
        let run = try why.run("--json", "203.0.113.1")
        #expect(run.code == 1)
        let value = try JSONValue(parsing: Array(run.text.utf8))
        #expect(value["schema"]?.string == "nwpath.why/1")
        #expect(value["target"]?.string == "203.0.113.1")
        #expect(value["verdict"]?.string == "broken")
        #expect(value["broken"]?["element"]?.string == "link")
        #expect(value["broken"]?["hint"]?.string == "`ip link set eth0 up`")
        let steps = value["chains"]?.array?.first?["steps"]?.array ?? []
        let elements = steps.compactMap { $0["element"]?.string }
        let order = ["rule", "table", "route", "nexthop", "link", "carrier", "source", "firewall", "neighbour", "dns"]
        #expect(elements == order)
        withExtendedLifetime(peer) {}
    }

    @Test func `a name is looked up, and a family it does not have is not asked for`() async throws {
        let run = try why.run("localhost")
        #expect(run.code == 0)
        #expect(run.text.contains("\n✓ dns       localhost resolves; "), "\(run.text)")
    }

    @Test func `a name no host answers for ends in time`() async throws {
        let peer = try namespace.uplink()
        let run = try why.run("--timeout", "300ms", "host.example.test")
        #expect(run.code == 3 || run.code == 1, "\(run.code): \(run.text)")
        #expect(run.text.contains("host.example.test: "))
        withExtendedLifetime(peer) {}
    }

    @Test(arguments: ["not a name", "/etc/passwd", "a\tb", String(repeating: "a", count: 300)])
    func `what is neither an address nor a name is a usage error`(host: String) async throws {
        let run = try why.run(host)
        #expect(run.code == 2)
        #expect(run.text.hasSuffix("is neither an address nor a name\n"))
    }

    @Test func `a scope names the interface`() async throws {
        let peer = try namespace.uplink()
        #expect(try why.run("fe80::1%eth0").line("nexthop") == "✓ nexthop   directly on eth0")
        let missing = try why.run("fe80::1%eth9")
        #expect(missing.code == 1 && missing.firstLine.hasPrefix("Broken at link: there is no interface eth9"))
        withExtendedLifetime(peer) {}
    }
}
