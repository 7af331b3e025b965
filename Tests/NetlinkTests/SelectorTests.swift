// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
@testable import Netlink
import TestSupport
import Testing

/// Rules with every selector, as ip-rule(8) prints them: an overlooked one would make a rule seem to apply to all.
@Suite struct SelectorTests {
    private static func header(
        family: UInt8 = 2,
        source: UInt8 = 0,
        destination: UInt8 = 0,
        flags: UInt32 = 0
    )
        -> Builder
    {
        Builder([family, destination, source, 0, 254, 0, 0, 1] + Question.bytes(of: flags))
    }

    @Test(
        arguments: [
            // The kernel leaves a mark of zero out and tells the mask alone.
            (header().attribute(16, 0x10), "fwmark 0/0x10"),
            (header(flags: 2).attribute(16, .max), "not fwmark 0"),
            (header().attribute(16, 0), "all"),
            (header().attribute(10, 0).attribute(16, 0xFF), "fwmark 0/0xff"),
            (header().attribute(10, 0x2A), "fwmark 0x2a"),
            (header().attribute(12, [0, 0, 0, 1, 0, 0, 0, 2]), "tun_id 4294967298"),
            (header().attribute(12, [1, 2, 3]), "tun_id 0"),
            (header().attribute(25, [10]), "dscp 10"),
            (header().attribute(25, [0]).attribute(30, [0x3F]), "dscp 0"),
            (header().attribute(30, [0x38]).attribute(25, [8]), "dscp 8/0x38"),
            (header(family: 10).attribute(26, [0, 0, 0, 0]).attribute(27, [0, 8, 0, 0]), "flowlabel 0/0x80000"),
            (header(family: 10).attribute(26, [0, 0, 0, 5]).attribute(27, [0, 0x0F, 0xFF, 0xFF]), "flowlabel 0x5"),
            (header().attribute(24, [128, 1, 128, 1]).attribute(29, [0x80, 0xFF]), "dport 384/0xff80"),
            (header().attribute(28, [0xFF, 0xFF]).attribute(23, [22, 0, 22, 0]), "sport 22"),
            (header(family: 10).attribute(26, [0, 1, 2, 3]), "flowlabel 0x10203"),
            (header(flags: 2), "not all"),
            (header().attribute(19, [0]), "all"),
            (header().attribute(14, .max), "all"),
            (header(source: 0).attribute(2, [0, 0, 0, 0]), "from 0.0.0.0/0"),
            (header(family: 10, source: 64).attribute(2, IPAddress.of("2001:db8::").bytes), "from 2001:db8::/64"),
            (header(family: 10, destination: 128).attribute(1, IPAddress.of("::1").bytes), "to ::1"),
            (header(source: 24).attribute(2, [192, 0, 2]), "all"),
            (header().attribute(23, [0, 4, 255, 255]).attribute(24, [80, 0, 80, 0]), "sport 1024-65535 dport 80"),
            (header().attribute(23, [1]), "sport 0"),
        ] as [(Builder, String)]
    )
    func `one selector`(bytes: Builder, selector: String) {
        #expect(PolicyRule(bytes: bytes.bytes)?.selector == selector)
    }

    @Test func `what this version does not know is counted, and what says nothing of packets is not`() {
        let bytes = Self.header().attribute(11, 5).attribute(21, [3]).attribute(31, [1]).attribute(40, [2]).bytes
        #expect(PolicyRule(bytes: bytes)?.unknownAttributes == [31, 40])
        #expect(PolicyRule(bytes: bytes)?.selector == "all")
        #expect(PolicyRule(bytes: Self.header().attribute(30, [0x38]).bytes)?.unknownAttributes == [])
    }

    @Test func `all selectors at once come in the order of ip-rule, whatever the kernel's`() {
        let bytes = Self.header(source: 24, destination: 32, flags: 2)
            .attribute(13, 3).attribute(14, 1).attribute(24, [53, 0, 53, 0]).attribute(23, [1, 0, 2, 0])
            .attribute(22, [17]).attribute(20, Question.bytes(of: 0 as UInt32) + Question.bytes(of: 99 as UInt32))
            .attribute(19, [1]).attribute(17, "w0").attribute(3, "v0").attribute(16, 0xF0).attribute(10, 0x10)
            .attribute(1, [198, 51, 100, 1]).attribute(2, [192, 0, 2, 0]).attribute(6, 77).attribute(15, 1000).bytes
        let rule = PolicyRule(bytes: bytes)
        let expected =
            "not from 192.0.2.0/24 to 198.51.100.1 fwmark 0x10/0xf0 iif v0 oif w0 l3mdev uidrange 0-99 ipproto 17 "
            + "sport 1-2 dport 53 suppress_prefixlength 1 suppress_ifgroup 3"
        #expect(rule?.selector == expected)
        #expect(rule?.priority == 77 && rule?.table == 1000 && rule?.action == 1)
    }

    @Test func `every part of a rule that is cut short is none, or reads without its tail`() {
        let bytes = Self.header(source: 32).attribute(2, [192, 0, 2, 1]).attribute(10, 7).attribute(16, .max)
            .attribute(20, Question.bytes(of: 5 as UInt32) + Question.bytes(of: 6 as UInt32)).bytes
        let texts = ["all", "from 192.0.2.1", "from 192.0.2.1 fwmark 0x7", "from 192.0.2.1 fwmark 0x7 uidrange 5-6"]
        for end in 0...bytes.count {
            guard let rule = PolicyRule(bytes: Array(bytes[..<end])) else { continue }
            #expect(texts.contains(rule.selector), "\(end): \(rule.selector)")
        }
        #expect(PolicyRule(bytes: bytes)?.selector == texts.last)
    }
}

@Suite(.inNamespace) struct SelectorOnKernelTests {
    private let namespace = Namespace.current

    /// What `ip rule` prints of one rule, without its beginning and its action.
    private func printed(_ priority: UInt32, _ option: String) throws -> String {
        let lines = try namespace.ip("\(option) rule show pref \(priority)").split(separator: "\n")
        let words = try #require(lines.first).split { $0 == " " || $0 == "\t" }.dropFirst().filter {
            $0 != "[detached]"
        }
        let end = words.firstIndex { ["lookup", "unreachable", "goto", "blackhole"].contains($0) } ?? words.endIndex
        var kept = words[..<end].map(String.init)
        // "from all" says nothing.
        if let from = kept.firstIndex(of: "from"), from + 1 < kept.count, kept[from + 1] == "all" {
            kept.removeSubrange(from...(from + 1))
        }
        return kept.isEmpty ? "all" : kept.joined(separator: " ")
    }

    @Test(arguments: [
        "fwmark 0/0x10", "fwmark 7", "fwmark 0x10/0x30", "from 192.0.2.1", "to 192.0.2.0/24 iif lo", "oif v9",
        "uidrange 3-4", "sport 1000-2000 dport 53", "not from 192.0.2.1 fwmark 1", "from 10.0.0.0/8 to 10.1.0.0/16",
    ])
    func `a rule reads as ip-rule prints it`(selector: String) async throws {
        try namespace.ip("rule add pref 77 \(selector) table 201")
        let rule = try #require(try LiveKernel().rules().values.first { $0.priority == 77 })
        #expect(rule.selector == (try printed(77, "-4")))
        #expect(rule.table == 201 && rule.action == 1 && rule.family == .ipv4)
    }

    @Test(arguments: ["from 2001:db8::/32", "to 2001:db8::1", "fwmark 0/0xff", "not iif lo"])
    func `a rule of IPv6 reads as ip-rule prints it`(selector: String) async throws {
        try namespace.ip("-6 rule add pref 78 \(selector) table 1000")
        let rule = try #require(try LiveKernel().rules().values.first { $0.priority == 78 })
        #expect(rule.selector == (try printed(78, "-6")))
        #expect(rule.table == 1000 && rule.family == .ipv6)
    }

    @Test func `a jump tells where it leads`() async throws {
        try namespace.ip("rule add pref 200 table 201")
        try namespace.ip("rule add pref 100 fwmark 3 goto 200")
        let rule = try #require(try LiveKernel().rules().values.first { $0.priority == 100 })
        #expect(rule.selector == "fwmark 0x3 goto 200" && rule.action == 2)
    }
}
