// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Netlink
import TestSupport
import Testing

@testable import Examination

@Suite struct NameServiceFilesTests {
    @Test(
        arguments: [
            ("hosts: files dns", nil), ("passwd: files\nhosts:\tfiles mdns4_minimal [NOTFOUND=return] dns", nil),
            ("hosts: files resolve [!UNAVAIL=return]", nil), ("hosts: files # dns", "hosts: files"),
            ("hosts:   files\tmyhostname", "hosts: files myhostname"), ("#hosts: files", nil), ("", nil),
            ("hosts:", "hosts:"),
        ] as [(String, String?)]
    )
    func `the line without a service that queries name servers is found`(text: String, line: String?) {
        #expect(NameServiceFiles.sourcesWithoutDNS(text) == line)
    }

    @Test func `the first line of a name is named, and all of its addresses`() throws {
        let text = "127.0.0.1 localhost\n# 192.0.2.9 a.test\n192.0.2.7\tb.test A.Test # here\n2001:db8::7 a.test\n"
        let found = try #require(NameServiceFiles.entry(of: "a.TEST", text))
        #expect(found.line == "/etc/hosts:3")
        #expect(found.addresses == [try #require(IPAddress("192.0.2.7")), try #require(IPAddress("2001:db8::7"))])
        #expect(NameServiceFiles.entry(of: "test", text) == nil)
        #expect(NameServiceFiles.entry(of: "a.test", "nonsense a.test\n") == nil)
    }
}

@Suite struct MachineFilesTests {
    @Test func `local addresses of sockets are read in host order`() throws {
        let text = """
              sl  local_address rem_address   st
               0: 0A02000A:1F90 00000000:0000 0A
               1: B80D0120000000000000000001000000:0016 00000000000000000000000000000000:0000 0A
               2: 0000000000000000FFFF00000200020A:1F90 x
               3: nonsense
            """
        let found = LocalSockets.parse(text)
        #expect(found.contains(try #require(IPAddress("10.0.2.10"))))
        #expect(found.contains(try #require(IPAddress("2001:db8::1"))))
        #expect(found.contains(try #require(IPAddress("10.2.0.2"))))
        #expect(found.count == 3)
    }

    @Test func `users have the name of their first line`() {
        let users = UserNames(
            "root:x:0:0::/root:/bin/sh\nbad line\nalice:x:1000:1000::/:/bin/sh\nother:x:1000:1::/:/bin/sh\n"
        )
        #expect(users[0] == "root" && users[1000] == "alice" && users[7] == nil)
    }

    @Test(.inNamespace, arguments: ["meta skuid 1000 drop", "oif != lo meta skuid 1000 counter reject"])
    func `a rule that drops all packets of a user is found`(rule: String) throws {
        try Self.filter(rule)
        let rules = try PacketFilter.read().users
        #expect(rules.map(\.user) == [1000] && rules.map(\.chain) == ["inet t c"])
    }

    @Test(
        .inNamespace,
        arguments: [
            "meta skuid != 1000 drop", "meta skuid 1000 tcp dport 25 drop", "meta skuid 1000 accept",
            "meta skgid 1000 drop",
            "tcp dport 1000 drop", "meta skuid 1000 limit rate 1/second drop",
        ]
    )
    func `one that drops some, or others, is not`(rule: String) throws {
        try Self.filter(rule)
        #expect(try PacketFilter.read().users.isEmpty)
    }

    private static func filter(_ rule: String) throws {
        let text = "table inet t { chain c { type filter hook output priority 0;\n\(rule)\n}\n}\n"
        try Command.run(["nsenter", "--net=\(Namespace.current.path)", "nft", "-f", "-"], input: text)
    }

    @Test(.inNamespace) func `IPsec policies for packets that leave are counted`() throws {
        #expect(try SecurityPolicies.outputCount() == 0)
        for direction in ["out", "in"] {
            try Command.run([
                "nsenter", "--net=\(Namespace.current.path)", "ip", "xfrm", "policy", "add", "src", "192.0.2.0/24",
                "dst",
                "203.0.113.0/24", "dir", direction, "action", "allow",
            ])
        }
        #expect(try SecurityPolicies.outputCount() == 1)
    }

    @Test(
        .inNamespace,
        arguments: [
            ("", false), ("chain c { type filter hook output priority 0; tcp dport 25 drop; }", false),
            ("chain c { type nat hook output priority 0; tcp dport 80 redirect to :8080; }", true),
            ("chain c { type nat hook output priority 0; tcp dport 80 dnat ip to 192.0.2.7; }", true),
            ("chain c { type filter hook output priority 0; ip daddr set 192.0.2.7; }", true),
            ("chain c { type nat hook postrouting priority 0; masquerade; }", false),
        ] as [(String, Bool)]
    )
    func `rules by which packets leave with another destination are found`(chain: String, expected: Bool) throws {
        let text = "table inet t {\n\(chain)\n}\n"
        try Command.run(["nsenter", "--net=\(Namespace.current.path)", "nft", "-f", "-"], input: text)
        let filter = try #require(LiveKernel().packetFilter(after: nil))
        #expect(filter.mayLeadElsewhere(.ipv4) == expected)
    }

    @Test(.inNamespace) func `chains that packets to this machine pass are read, idle ones and others are not`() throws
    {
        let text = """
            table inet t {
              chain in { type filter hook input priority 0; tcp dport 22 accept; }
              chain idle { type filter hook input priority 1; }
              chain out { type filter hook output priority 0; tcp dport 22 accept; }
            }
            table ip6 six { chain pre { type filter hook prerouting priority 0; policy drop;
            }
            }
            """
        try Command.run(["nsenter", "--net=\(Namespace.current.path)", "nft", "-f", "-"], input: text)
        #expect(try PacketFilter.inputChains(.ipv4).map(\.description) == ["inet t in"])
        #expect(Set(try PacketFilter.inputChains(.ipv6).map(\.description)) == ["inet t in", "ip6 six pre"])
    }
}
