// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Diagnosis
import Netlink
import PathModel
import TestSupport
import Testing

@testable import Examination
@testable import Probes

@Suite(.inNamespace) struct KernelFactsReaderTests {
    private static func read(_ targets: Targets = Targets()) throws -> KernelFacts {
        try KernelFactsReader(kernel: try LiveKernel(), policy: PathPolicy(), targets: targets).read(at: .zero)
    }

    private static func connect() throws {
        try Namespace.current.ipBatch([
            "link add eth0 type veth peer name far", "addr add 192.0.2.10/24 dev eth0", "link set eth0 up",
            "link set far up", "route add default via 192.0.2.1",
        ])
        try Namespace.current.waitUntilRunning("eth0")
    }

    @Test func `without interfaces there is nothing`() throws {
        let facts = try Self.read()
        #expect(facts.links.isEmpty)
        #expect(facts.routes.map(\.family) == AddressFamily.allCases)
        #expect(facts.route(.ipv4)?.route == .known(.missing) && facts.route(.ipv4)?.isOpen == false)
    }

    @Test func `the interface that carries comes first, and its router is known`() throws {
        try Namespace.current.ip("link add aaa0 type veth peer name aaa1")
        try Self.connect()
        let facts = try Self.read()
        #expect(facts.links.first?.name == "eth0")
        let way = try #require(facts.route(.ipv4))
        #expect(way.isOpen && way.nexthops.map(\.gateway) == [IPAddress("192.0.2.1")])
        let index = try #require(facts.links.first?.index)
        #expect(facts.sender(on: index) == IPAddress("192.0.2.10"))
        #expect(facts.route(.ipv6)?.isOpen == false)
    }

    @Test func `an end of a container's cable counts where there is nothing else`() throws {
        try Namespace.current.ip("link add eth0 type veth peer name far")
        let facts = try Self.read()
        #expect(facts.links.map(\.name).sorted() == ["eth0", "far"])
        #expect(facts.links.allSatisfy { !LinkEvidence($0, []).isUp })
    }

    @Test(arguments: [
        ("blackhole", "blackhole default"), ("unreachable", "unreachable default"), ("prohibit", "prohibit default"),
    ])
    func `a route that throws packets away is named as ip(8) takes it`(type: String, text: String) throws {
        try Self.connect()
        try Namespace.current.ipBatch(["route del default", "route add \(type) default"])
        #expect(try Self.read().route(.ipv4)?.route == .known(.discarded(type: type, text: text)))
        try Namespace.current.ip("route del \(text)")
        #expect(try Self.read().route(.ipv4)?.route == .known(.missing))
    }

    @Test func `the most exact of several is named, and one that spares an anchor is none`() throws {
        try Self.connect()
        try Namespace.current.ipBatch([
            "route add blackhole 198.51.100.0/24 metric 7", "route add blackhole 198.51.0.0/16",
        ])
        var targets = Targets()
        targets.anchors = [Targets.Anchor("a", host: nil, ipv4: IPAddress("198.51.100.80"), ipv6: nil)]
        let text = "blackhole 198.51.100.0/24 metric 7"
        #expect(try Self.read(targets).route(.ipv4)?.route == .known(.discarded(type: "blackhole", text: text)))
        targets.anchors.append(Targets.Anchor("b", host: nil, ipv4: IPAddress("203.0.113.80"), ipv6: nil))
        #expect(try Self.read(targets).route(.ipv4)?.route == .known(.found))
    }

    @Test func `flags of addresses are evidence`() throws {
        let link = Link(index: 2, name: "eth0", flags: [.up, .lowerUp], mtu: 1400)
        let address = IPAddress.v4(0xC000_020A)
        let held = [
            InterfaceAddress(index: 2, address: address, prefixLength: 24),
            InterfaceAddress(index: 2, address: address, prefixLength: 24, flags: .tentative),
            InterfaceAddress(index: 2, address: address, prefixLength: 24, flags: [.tentative, .optimistic]),
            InterfaceAddress(index: 2, address: address, prefixLength: 24, flags: .duplicateDetected),
        ]
        let evidence = LinkEvidence(link, held)
        #expect(evidence.isUp && evidence.hasCarrier && evidence.mtu == 1400)
        #expect(evidence.addresses.map(\.isTentative) == [false, true, false, false])
        #expect(evidence.addresses.map(\.hasFailedDetection) == [false, false, false, true])
    }
}

@Suite struct NamePlanTests {
    private static func targets(_ change: (inout Targets) -> Void) -> Targets {
        var targets = Targets()
        change(&targets)
        return targets
    }

    @Test func `nothing is asked unless a name is configured`() {
        #expect(NamePlan(Targets()).questions.isEmpty)
    }

    @Test func `a name under a wildcard is new each time`() {
        let targets = Self.targets { $0.names.wildcard = "p.example.test" }
        let (one, two) = (NamePlan(targets), NamePlan(targets))
        #expect(one.questions.map(\.question.record) == [.a, .aaaa])
        #expect(one.streamName.hasSuffix(".p.example.test") && one.streamName != two.streamName)
        #expect(one.questions[0].question.name == one.questions[1].question.name)
    }

    @Test func `a known name has its address, by the family that it has`() {
        let six = IPAddress.v6(0x2001_0DB8_0000_0000_0000_0000_0000_0080)
        let targets = Self.targets { targets in
            targets.anchors = [
                Targets.Anchor("a", host: nil, ipv4: .v4(1), ipv6: nil),
                Targets.Anchor("b", host: "b.example.test", ipv4: nil, ipv6: six),
            ]
            targets.names.nonexistentZone = "nx.example.test"
        }
        let plan = NamePlan(targets)
        #expect(plan.questions.map(\.question.name).contains("b.example.test"))
        #expect(plan.questions.last?.question.record == .aaaa && plan.expected == [six])
        #expect(plan.questions.count == 4 && plan.textName == nil)
    }

    @Test func `a large text is asked for after everything else`() {
        var targets = Self.targets { $0.names.bigText = "big.example.test" }
        // Whether a server lives is seen from other questions.
        #expect(NamePlan(targets).textName == nil)
        targets.names.wildcard = "p.example.test"
        let plan = NamePlan(targets)
        #expect(plan.textName == "big.example.test" && plan.streamName.hasSuffix(".p.example.test"))
        #expect(plan.questions.map(\.question.record) == [.a, .aaaa, .text])
        let cases: [(NameReply, NameServerEvidence.Delivery)] = [
            (.silent, .silent), (.text(bytes: 0, isCut: true), .cut),
            (.text(bytes: 3015, isCut: false), .whole(bytes: 3015)),
            (.text(bytes: 0, isCut: false), .missing), (.noSuchName, .missing), (.failed("SERVFAIL"), .missing),
        ]
        for (reply, delivery) in cases {
            var evidence = NameServerEvidence(.v4(2))
            let replies: [NameReply] = [.silent, .silent, reply]
            plan.fill(&evidence, from: DNSServerResult(replies: replies, durations: [nil, nil, nil]), nil)
            #expect(evidence.textByDatagram == delivery && evidence.textByStream == .notAsked)
        }
    }

    @Test func `replies go where they belong`() {
        let targets = Self.targets { targets in
            targets.names.wildcard = "p.example.test"
            targets.names.wildcardAddress = .v4(4)
            targets.names.nonexistentZone = "nx.example.test"
            targets.anchors = [Targets.Anchor("a", host: "a.example.test", ipv4: .v4(1), ipv6: nil)]
        }
        let plan = NamePlan(targets)
        var evidence = NameServerEvidence(.v4(2))
        let replies: [NameReply] = [.addresses([.v4(3)]), .silent, .noSuchName, .failed("SERVFAIL")]
        let durations: [Duration?] = [.milliseconds(5), nil, .milliseconds(6), .milliseconds(7)]
        plan.fill(&evidence, from: DNSServerResult(replies: replies, durations: durations), nil)
        #expect(evidence.ipv4 == .answered([.v4(3)]) && evidence.ipv6 == .silent)
        #expect(evidence.nonexistent == .noSuchName && evidence.known == .failed(code: "SERVFAIL"))
        #expect(evidence.latency == .milliseconds(5) && evidence.expected == [.v4(1)] && evidence.wildcard == .v4(4))
    }
}

@Suite struct PacketCountersTests {
    @Test func `the second number behind a name counts packets`() {
        let text = """
            Inter-|   Receive                                                |  Transmit
             face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop
                lo:     100       2    0    0    0     0          0         0      100       2    0    0
              eth0: 2048 17 0 0 0 0 0 0 4096 9 0 0
            eth1:1 3 0

            """
        #expect(PacketCounters.parse(text) == ["lo": 2, "eth0": 17, "eth1": 3])
    }

    @Test(arguments: ["", "eth0", "eth0:", "eth0: 1", "eth0: x y", ":::"])
    func `odd lines are left out`(text: String) {
        #expect(PacketCounters.parse(text).isEmpty)
    }

    @Test func `the kernel's own file is read`() {
        #expect(PacketCounters.received()["lo"] != nil)
    }
}
