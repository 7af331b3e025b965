// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Netlink
import PathModel
import Testing

/// The patterns of the configuration, as they choose interfaces (rule S15).
@Suite struct InterfacePatternTests {
    private func judged(
        _ name: String,
        ignore: [String] = [],
        _ interfaces: [InterfacePolicy] = []
    ) throws
        -> (classifier: InterfaceClassifier, link: Link)
    {
        var world = World()
        world.link(name, 2)
        world.policy.ignore = ignore
        world.policy.interfaces = interfaces
        return (world.classifier, try #require(world.state.link(named: name)))
    }

    @Test(arguments: [
        ("eth0", ["eth0"], true), ("eth0", ["eth1", "eth*"], true), ("eth0", ["eth"], false), ("eth0", ["*1"], false),
        ("eth0", ["en[op]*", "et[a-h]?"], true), ("eth0", ["[!e]*"], false), ("veth12", ["veth*"], true),
        ("eth0", [], false), ("eth0", [""], false), ("eth0", ["ETH0"], false),
        // The kernel allows these in names, so that a pattern has to be able to mean them.
        ("a*b", ["a\\*b"], true), ("axb", ["a\\*b"], false), ("a]b", ["a[]]b"], true), ("a\\b", ["a\\\\b"], true),
        ("a[b", ["a[b"], true), ("ab", ["a[b"], false), ("ü0", ["?0"], true),
    ])
    func `the ignore list leaves out what it names`(name: String, ignore: [String], isIgnored: Bool) throws {
        let (classifier, link) = try judged(name, ignore: ignore)
        #expect(classifier.isListedIgnored(link) == isIgnored)
        #expect(classifier.isEligible(link) == !isIgnored)
    }

    @Test func `an escaped name is a name, which comes before patterns`() throws {
        let (classifier, link) = try judged(
            "a*b",
            [InterfacePolicy(match: "a*", type: .wifi), InterfacePolicy(match: "a\\*b", type: .cellular)]
        )
        #expect(classifier.type(of: link) == .cellular)
    }

    @Test(
        arguments: [
            ([("lan", .cellular), ("eth0", .wifi)], .wifi), ([("lan", .cellular)], .cellular),
            ([("lan", .wifi), ("enp0s31f6", .cellular)], .cellular), ([("e*", .wifi), ("lan", .cellular)], .cellular),
            ([("enp*", .cellular), ("eth*", .wifi)], .cellular), ([("wl*", .cellular)], .wiredEthernet),
        ] as [([(String, InterfaceType)], InterfaceType)]
    )
    func `alternative names count after the name and before patterns`(
        entries: [(String, InterfaceType)],
        expected: InterfaceType
    ) throws {
        var world = World()
        world.link("eth0", 2) { $0.alternativeNames = ["enp0s31f6", "lan"] }
        world.policy.interfaces = entries.map { InterfacePolicy(match: $0.0, type: $0.1) }
        #expect(world.classifier.type(of: try #require(world.state.links[2])) == expected)
    }

    @Test(arguments: [("enp0s31f6", true), ("enp*", true), ("lan", true), ("lan1", false), ("wl*", false)])
    func `the ignore list and what is required may name alternative names`(name: String, isNamed: Bool) throws {
        var world = World()
        world.link("eth0", 2) { $0.alternativeNames = ["enp0s31f6", "lan"] }
        world.policy.ignore = [name]
        world.policy.interfaces = [InterfacePolicy(match: name, isRequired: true)]
        let link = try #require(world.state.links[2])
        #expect(world.classifier.isListedIgnored(link) == isNamed && world.classifier.isRequired(link) == isNamed)
        #expect(world.classifier.missingRequired == (isNamed || name.hasSuffix("*") ? [] : [name]))
    }

    @Test func `a text that is no pattern stands for itself`() throws {
        let (classifier, link) = try judged("a[b", [InterfacePolicy(match: "a[b", type: .cellular)])
        #expect(classifier.type(of: link) == .cellular)
        let broken = InterfacePolicy(match: "x[", isRequired: true)
        #expect(try judged("eth0", [broken]).classifier.missingRequired == ["x["])
    }

    @Test func `a required name is told as it is, not as it was escaped`() throws {
        let entries = [
            InterfacePolicy(match: "a\\*b", isRequired: true), InterfacePolicy(match: "c*", isRequired: true),
        ]
        #expect(try judged("eth0", entries).classifier.missingRequired == ["a*b"])
        #expect(try judged("a*b", entries).classifier.missingRequired == [])
    }

    @Test func `a question that the first match leaves open is not asked of the next`() throws {
        let entries = [
            InterfacePolicy(match: "e*", isConstrained: true), InterfacePolicy(match: "et*", isExpensive: true),
        ]
        let (classifier, link) = try judged("eth0", entries)
        #expect(
            classifier.decision(for: link)?.isConstrained == true && classifier.decision(for: link)?.isExpensive == nil
        )
    }
}
