// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Netlink
import PathModel
import Testing

@Suite struct ExplanationRuleTests {
    /// A machine whose table 100 has a default of its own, and one more rule.
    private func world(_ selector: String, mark: UInt32 = 0, leadsThere: Bool) -> ExplanationWorld {
        var world = ExplanationWorld()
        world.mark = mark
        world.world.route("0.0.0.0/0", "eth0", via: "192.0.2.254", table: 100)
        world.rules.append(PolicyRule(family: .ipv4, priority: 50, action: 1, table: 100, selector: selector))
        // Two rules to the same table: only selectors can tell which one it was.
        world.rules.append(PolicyRule(family: .ipv4, priority: 60, action: 1, table: 100, selector: "all"))
        world.world.rule(50, table: 100)
        return world
    }

    @Test(
        arguments: [
            ("all", 0, true), ("to 1.0.0.0/8", 0, true), ("to 1.1.1.1", 0, true), ("to 10.0.0.0/8", 0, false),
            ("not to 10.0.0.0/8", 0, true), ("fwmark 0x1", 0, false), ("fwmark 0x1", 1, true),
            ("fwmark 0x0/0xf0", 1, true), ("fwmark 0x10/0xf0", 0x1F, true), ("fwmark 0x10/0xf0", 0x2F, false),
            ("not fwmark 0xca6c", 0, true), ("not fwmark 0xca6c", 0xCA6C, false), ("uidrange 1000-1000", 0, true),
            ("uidrange 0-999", 0, false), ("iif lo", 0, true), ("iif eth0", 0, false), ("oif eth0", 0, false),
            ("l3mdev", 0, false), ("ipproto 6", 0, true), ("ipproto 17", 0, false),
            ("dport 53", 0, false), ("ipproto 6 dport 400-500", 0, true), ("sport 1-2", 0, false),
            ("dport 384/0xff80", 0, true), ("not dport 384/0xff80", 0, false), ("dport 512/0xff80", 0, false),
            ("dport 443/0", 0, true), ("sport 5/0xff0f", 0, false), ("not sport 22", 0, true),
            ("dscp 0", 0, true), ("not dscp 0", 0, false), ("dscp 8", 0, false), ("dscp 7/0x38", 0, true),
            ("dscp 8/0x38", 0, false), ("flowlabel 0", 0, true), ("flowlabel 0x5", 0, false),
            ("flowlabel 0/0x80000", 0, true), ("not flowlabel 0x80000/0x80000", 0, true), ("tun_id 5", 0, false),
            ("from 192.0.2.0/24", 0, true), ("from 192.0.3.0/24", 0, false), ("tos 0x10", 0, false),
            ("to 1.1.1.1 fwmark 0x1", 0, false),
            ("suppress_prefixlength 0", 0, false), ("not all", 0, false), ("strange words to 10.0.0.0/8", 0, false),
            ("not strange words to 10.0.0.0/8", 0, true),
        ] as [(String, UInt32, Bool)]
    )
    func `a rule counts when its selector fits`(selector: String, mark: UInt32, fits: Bool) throws {
        let text = try world(selector, mark: mark, leadsThere: fits).internet().text(.rule)
        #expect(text.hasPrefix(fits ? "50: " : "60: "), "\(text)")
    }

    @Test(arguments: [
        "strange words", "not strange words", "sport 40000", "not sport 40000", "sport 0/0x1", "suppress_ifgroup 1",
        "to nonsense", "not to nonsense", "uidrange 9-1", "fwmark", "dport", "sport", "dscp x",
    ])
    func `a rule of which it is not known whether it applies is said to be one of those that may`(
        selector: String
    ) throws {
        let explanation = try world(selector, leadsThere: true).internet()
        #expect(explanation.verdict(.rule) == .unknown)
        let text = explanation.text(.rule)
        #expect(text.hasPrefix("50: ") && text.hasSuffix(", or 60: from all lookup 100"), "\(text)")
        #expect(text.contains("(not known whether it applies)"))
    }

    @Test(arguments: ["all", "to 1.1.1.1", "not to 10.0.0.0/8"])
    func `a rule with an attribute that this version does not know is no match, and it is said so`(
        selector: String
    ) throws {
        var world = world(selector, leadsThere: true)
        world.rules[world.rules.count - 2].unknownAttributes = [31, 33]
        let explanation = try world.internet()
        #expect(explanation.verdict(.rule) == .unknown && explanation.broken == nil)
        let text = explanation.text(.rule)
        #expect(text.contains("this rule also matches something this version does not know: attributes 31, 33"))
        #expect(text.hasPrefix("50: ") && text.hasSuffix(", or 60: from all lookup 100"), "\(text)")
        // Without the other rule it is still not certain.
        world.rules.removeLast()
        #expect(try world.internet().verdict(.rule) == .unknown)
    }

    @Test func `one that certainly does not apply is left out, one that leads elsewhere is mentioned`() throws {
        var world = world("to 10.0.0.0/8", leadsThere: true)
        world.rules[world.rules.count - 2].unknownAttributes = [31]
        #expect(try world.internet().text(.rule) == "60: from all lookup 100")
        world.rules[world.rules.count - 2] = PolicyRule(
            family: .ipv4,
            priority: 50,
            action: 1,
            table: 7,
            selector: "all",
            unknownAttributes: [31]
        )
        let remark =
            "before it 50: from all lookup 7: this rule also matches something this version does not know: attribute 31"
        #expect(try world.internet().verdict(.rule) == .fine)
        #expect(try world.internet().text(.rule) == "60: from all lookup 100; \(remark)")
    }

    @Test(arguments: [[], [31]])
    func `a refusing rule is the cause only if it is known to apply`(unknown: [Int]) throws {
        var world = ExplanationWorld()
        world.rule(10, action: 8)
        world.rules[world.rules.count - 1].unknownAttributes = unknown
        let explanation = try world.internet()
        #expect(explanation.broken?.element == (unknown.isEmpty ? .rule : .route))
        #expect(explanation.verdict(.rule) == (unknown.isEmpty ? .broken : .unknown))
        #expect(explanation.text(.rule).hasPrefix("10: from all prohibit"))
    }

    @Test(arguments: ["sport 40000", "all"])
    func `rules that a jump may pass over are in doubt`(selector: String) throws {
        var world = ExplanationWorld()
        let goto = selector == "all" ? "goto 32766" : "\(selector) goto 32766"
        world.rules += [
            PolicyRule(family: .ipv4, priority: 5, action: 2, table: 0, selector: goto),
            PolicyRule(family: .ipv4, priority: 10, action: 1, table: 254, selector: "all"),
        ]
        let text = try world.internet().text(.rule)
        #expect(try world.internet().verdict(.rule) == (selector == "all" ? .fine : .unknown))
        #expect(text.hasSuffix("32766: from all lookup main"), "\(text)")
        #expect(text.hasPrefix("10: ") == (selector != "all"))
    }

    @Test(arguments: [
        ("all", "50: from all lookup 100"), ("to 1.1.1.1", "50: from all to 1.1.1.1 lookup 100"),
        ("not fwmark 0xca6c", "50: not from all fwmark 0xca6c lookup 100"),
        ("not all", "50: not from all lookup 100"),
    ])
    func `rules read as ip-rule prints them`(selector: String, line: String) throws {
        var world = world(selector, leadsThere: true)
        world.rules.removeAll { $0.priority == 60 }
        world.mark = 1
        if selector.hasPrefix("not all") {
            #expect(try world.internet().verdict(.rule) == .unknown)
        } else {
            #expect(try world.internet().text(.rule) == line)
        }
    }

    @Test func `a default that wg-quick suppresses in main comes from the table of the tunnel`() throws {
        var world = ExplanationWorld()
        world.world.link("wg0", 7, kind: "wireguard") { $0.flags.insert([.pointToPoint, .noARP]) }
        world.world.add("10.9.0.2/32", on: "wg0")
        world.world.route("0.0.0.0/0", "wg0", table: 51820)
        world.rules += [
            PolicyRule(family: .ipv4, priority: 32764, action: 1, table: 254, selector: "suppress_prefixlength 0"),
            PolicyRule(family: .ipv4, priority: 32765, action: 1, table: 51820, selector: "not fwmark 0xca6c"),
        ]
        world.world.rule(32764) { $0.suppressedLength = 0 }
        world.world.rule(32765, table: 51820)
        let explanation = try world.internet()
        #expect(explanation.text(.rule) == "32765: not from all fwmark 0xca6c lookup 51820")
        #expect(explanation.text(.table) == "51820")
        #expect(explanation.text(.route) == "default dev wg0")
        #expect(explanation.broken == nil && explanation.interface == "wg0")
    }

    @Test func `a jump passes over rules`() throws {
        var world = ExplanationWorld()
        world.rules += [
            PolicyRule(family: .ipv4, priority: 5, action: 2, table: 0, selector: "goto 32766"),
            PolicyRule(family: .ipv4, priority: 10, action: 8, table: 0, selector: "all"),
            PolicyRule(family: .ipv4, priority: 11, action: 3, table: 0, selector: "all"),
        ]
        #expect(try world.internet().text(.rule) == "32766: from all lookup main")
    }

    @Test func `a rule of the other family is innocent`() throws {
        var world = ExplanationWorld()
        world.rule(10, action: 8)
        world.world.table.fixed = [:]
        world.world.table.rules.removeAll { $0.failure != nil }
        world.world.removeRoutes("::/0")
        #expect(try world.internet(.ipv6).broken?.fault == "no IPv6 default route")
    }

    @Test func `a refusing rule that does not fit is innocent`() throws {
        var world = ExplanationWorld()
        world.rules.append(PolicyRule(family: .ipv4, priority: 10, action: 8, table: 0, selector: "fwmark 0x9"))
        world.world.route("0.0.0.0/0", metric: 1, type: .prohibit)
        let explanation = try world.internet()
        #expect(explanation.broken?.element == .route)
        #expect(explanation.text(.rule) == "32766: from all lookup main")
    }

    @Test func `a refusing rule behind tables without an answer is found`() throws {
        var world = ExplanationWorld()
        world.world.removeRoutes("0.0.0.0/0")
        world.rule(40000, action: 8)
        #expect(try world.internet().text(.rule) == "40000: from all prohibit")
    }
}
