// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Diagnosis
import LinuxIO
import Netlink
import PathModel
import TestSupport
import Testing

@testable import Examination
@testable import Probes

/// Three machines in a row: the test's own, a router, and one anchor beyond it, which answers echo requests and datagrams
/// and refuses connections.
private struct Row {
    let router: Namespace
    let beyond: Namespace
    var order: ExaminationOrder

    static let anchor4 = "198.51.100.2"
    static let anchor6 = "2001:db8:1::2"

    init() throws {
        router = try Namespace()
        beyond = try Namespace()
        let near = Namespace.current
        try near.connect("eth0", to: router, as: "eth1")
        try router.connect("eth2", to: beyond, as: "eth0")
        try near.ipBatch(["address add 192.0.2.1/24 dev eth0", "address add 2001:db8::1/64 dev eth0 nodad"])
        try router.ipBatch([
            "address add 192.0.2.2/24 dev eth1", "address add 2001:db8::2/64 dev eth1 nodad",
            "address add 198.51.100.1/24 dev eth2", "address add 2001:db8:1::1/64 dev eth2 nodad",
        ])
        try beyond.ipBatch([
            "address add \(Self.anchor4)/24 dev eth0", "address add \(Self.anchor6)/64 dev eth0 nodad",
            "route add default via 198.51.100.1", "route add default via 2001:db8:1::1",
        ])
        try router.run([
            "sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1", "net.ipv4.icmp_ratelimit=0",
            "net.ipv6.icmp.ratelimit=0",
        ])
        try near.ipBatch(["route add default via 192.0.2.2", "route add default via 2001:db8::2"])
        for (machine, device) in [(near, "eth0"), (router, "eth1"), (router, "eth2"), (beyond, "eth0")] {
            // A router looks for IPv6 neighbours from its link-local address.
            try machine.waitForAddresses(on: device, isLinkLocal: true)
        }
        var targets = Targets()
        targets.anchors = [
            .init("a", host: nil, ipv4: IPAddress(Self.anchor4), ipv6: IPAddress(Self.anchor6), hasPage: false)
        ]
        order = ExaminationOrder(targets: targets, servers: [])
        order.limit = .seconds(60)
    }

    /// Examines the network of the test's machine.
    func examine() async throws -> Evidence {
        let loop = Namespace.current.loop
        var result: ExaminationResult?
        let kernel = try LiveKernel()
        let examination = try Examination(order, kernel: kernel, loop: loop, pages: PageClient(loop: loop)) {
            result = $0
        }
        await loop.eventually(within: .seconds(60), "the end of the examination") { result != nil }
        withExtendedLifetime(examination) {}
        let found = try #require(result)
        #expect(found.isComplete && found.bytesSent < 80_000 && found.bytesReceived < 80_000)
        return found.evidence
    }

    /// Puts rules into a hook of the router.
    func filter(_ hook: String, _ rules: [String]) throws {
        let lines = rules.joined(separator: "\n")
        let table = "table inet t {\n chain c {\n type filter hook \(hook) priority 0;\n\(lines)\n }\n}\n"
        try Command.run(["nsenter", "--net=\(router.path)", "nft", "-f", "-"], input: table)
    }

    static let neighbors = "icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } accept"
}

@Suite(.inNamespace) struct DepthTests {
    @Test func `in a network in order full packets pass, and trains arrive`() async throws {
        let evidence = try await Row().examine()
        let sizes = evidence.transport.packetSizes
        #expect(Set(sizes.map(\.family)) == [.ipv4, .ipv6])
        #expect(sizes.allSatisfy { $0.largest == 1500 && $0.linkMTU == 1500 && !$0.isAnnounced })
        #expect(evidence.reach.allSatisfy { $0.isAlive == true && $0.hops.isEmpty })
        let train = try #require(evidence.performance.anchors.first)
        #expect(evidence.performance.anchors.count == 1 && train.target == "a" && train.sent == 20)
        #expect(evidence.performance.gateway?.sent == 5 && train.median > .zero)
        #expect(train.fifthPercentile <= train.median && train.median <= train.ninetyFifthPercentile)
        #expect(evidence.application.clockOffset == .notAsked)
    }

    @Test func `a router that says what is too big makes no fault`() async throws {
        let row = try Row()
        try row.router.ip("link set eth2 mtu 1400")
        try row.beyond.ip("link set eth0 mtu 1400")
        let evidence = try await row.examine()
        #expect(evidence.transport.packetSizes.count == 2)
        #expect(evidence.transport.packetSizes.allSatisfy { $0.largest == 1400 && $0.isAnnounced })
        let diagnosis = RuleEvaluator().evaluate(evidence)
        #expect(!diagnosis.verdicts.map(\.code).contains(.pmtuBlackhole))
        #expect(diagnosis.notes.map(\.code).contains(.pmtuReduced))
    }

    @Test func `a hole for large packets is measured; without a page nobody knows whether it hurts`() async throws {
        let row = try Row()
        try row.filter("forward", ["meta length > 1400 drop"])
        let evidence = try await row.examine()
        #expect(evidence.transport.packetSizes.count == 2)
        for size in evidence.transport.packetSizes {
            #expect((1393...1400).contains(size.largest) && !size.isAnnounced)
            #expect(size.transferStalls == .notAsked)
        }
        #expect(!RuleEvaluator().evaluate(evidence).notes.map(\.code).contains(.pmtuReduced))
    }

    @Test func `where packets vanish beyond the gateway, it is known how far they came`() async throws {
        let row = try Row()
        try row.filter("forward", ["drop"])
        let evidence = try await row.examine()
        #expect(evidence.reach.count == 2 && evidence.reach.allSatisfy { $0.isAlive == false })
        #expect(evidence.reach.map { $0.hops.map(\.distance) } == [[1], [1]])
        #expect(evidence.gateways.allSatisfy { $0.answersHopLimit == .known(true) })
        #expect(evidence.transport.packetSizes.isEmpty && evidence.performance.anchors.isEmpty)
        #expect(evidence.gaps[.performance] == "no host beyond the gateway replies")
        #expect(RuleEvaluator().evaluate(evidence).verdicts.map(\.code).contains(.wanDown))
    }

    @Test func `a router that is found and says nothing forwards nothing`() async throws {
        let row = try Row()
        try row.filter("prerouting", [Row.neighbors, "drop"])
        let evidence = try await row.examine()
        #expect(evidence.gateways.allSatisfy { $0.answersHopLimit == .known(false) && $0.answersEcho == .known(false) })
        let verdicts = RuleEvaluator().evaluate(evidence).verdicts
        let ofGateway = verdicts.map(\.code).filter { $0.layer == .gateway }
        #expect(ofGateway == [.gatewayNotForwarding])
        #expect(verdicts.first { $0.code == .gatewayNotForwarding }?.family == nil)
    }

    @Test func `a tunnel that carries nothing is gone round`() async throws {
        var row = try Row()
        row.order.targets.anchors[0].ipv6 = nil
        try Namespace.current.ip("tuntap add dev tun0 mode tun")
        try Namespace.current.ipBatch([
            "address add 10.99.0.2/24 dev tun0", "link set tun0 up", "route del default",
            "route add default via 192.0.2.2 metric 100", "route add default dev tun0 metric 1",
        ])
        let evidence = try await row.examine()
        let sending = try #require(evidence.sending.first { $0.family == .ipv4 })
        #expect(
            sending.tunnel == .init(interface: "tun0", device: "eth0", answers: false, answersAround: true)
        )
        #expect(RuleEvaluator().evaluate(evidence).verdicts.map(\.code).contains(.routeDeadTunnel))
        try row.filter("forward", ["drop"])
        let dead = try #require(try await row.examine().sending.first { $0.family == .ipv4 }?.tunnel)
        #expect(!dead.answersAround)
    }

    @Test func `an address to which nobody has a way back is told, one beside the usual one is not`() async throws {
        let row = try Row()
        try Namespace.current.ip("address add 192.0.2.33/24 dev eth0")
        #expect(try await row.examine().sending.allSatisfy(\.sources.isEmpty), "no socket uses it")
        let first = try Self.use("192.0.2.33")
        let fine = try await row.examine()
        let four = try #require(fine.sending.first { $0.family == .ipv4 })
        #expect(four.sources == [.init(.v4(0xC000_0201), answers: true), .init(.v4(0xC000_0221), answers: true)])
        try Namespace.current.ip("address add 203.0.113.10/24 dev eth0")
        let second = try Self.use("203.0.113.10")
        let stray = try await row.examine()
        #expect(
            stray.sending.first { $0.family == .ipv4 }?.sources.map(\.answers).sorted { $0 && !$1 } == [
                true, true, false,
            ]
        )
        #expect(RuleEvaluator().evaluate(stray).verdicts.map(\.code).contains(.routeAsymmetric))
        #expect(stray.sending.first { $0.family == .ipv6 }?.sources.isEmpty == true)
        withExtendedLifetime((first, second)) {}
    }

    /// Binds a socket to an address of this machine.
    private static func use(_ address: String) throws -> RunningCommand {
        let program = "import socket, time; s = socket.create_server(('\(address)', 9000)); time.sleep(600)"
        let running = try RunningCommand(["nsenter", "--net=\(Namespace.current.path)", "python3", "-c", program])
        try Namespace.current.wait(for: "the socket") {
            try Namespace.current.run(["ss", "-Hltn"]).contains("\(address):9000")
        }
        return running
    }

    @Test func `a device without a way out of its own has no address that should be answered`() async throws {
        var row = try Row()
        // Ends of cables between containers are left alone unless somebody wants them.
        row.order.policy.interfaces = [InterfacePolicy(match: "eth9", isRequired: true)]
        try Namespace.current.ipBatch([
            "link add eth9 type veth peer name far9", "address add 203.0.113.10/24 dev eth9", "link set eth9 up",
            "link set far9 up",
        ])
        let socket = try Self.use("203.0.113.10")
        let alone = try await row.examine()
        #expect(alone.sending.first { $0.family == .ipv4 }?.sources.isEmpty == true)
        #expect(!RuleEvaluator().evaluate(alone).verdicts.map(\.code).contains(.routeAsymmetric))
        // With a router of its own it is a second line, whose packets leave by the first one.
        try Namespace.current.ip("route add default via 203.0.113.1 dev eth9 metric 700")
        let second = try await row.examine()
        let sources = try #require(second.sending.first { $0.family == .ipv4 }).sources
        #expect(sources.first?.answers == true)
        #expect(sources.dropFirst().allSatisfy { !$0.answers && $0.address == .v4(0xCB00_710A) })
        withExtendedLifetime(socket) {}
    }

    @Test func `loss beyond the gateway shows in the train to the anchor alone`() async throws {
        let row = try Row()
        try row.filter(
            "forward",
            [
                "icmp type echo-request numgen inc mod 3 < 1 drop",
                "icmpv6 type echo-request numgen inc mod 3 < 1 drop",
            ]
        )
        let evidence = try await row.examine()
        let train = try #require(evidence.performance.anchors.first)
        #expect(train.received < train.sent && train.received > 0)
        // Where any are lost more are sent.
        #expect(train.sent == 80 && evidence.performance.gateway?.received == 65)
        #expect(RuleEvaluator().evaluate(evidence).verdicts.map(\.code).contains(.performanceLoss))
    }

    @Test func `a time server tells how far the clock is off`() async throws {
        var row = try Row()
        row.order.targets.timeServers = [try #require(IPAddress(Row.anchor4)), try #require(IPAddress(Row.anchor6))]
        let program = """
            import socket, struct, time
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(("0.0.0.0", 123))
            while True:
                data, sender = s.recvfrom(2048)
                now = int((time.time() + 500 + 2208988800) * 2**32)
                s.sendto(struct.pack("!BBBbIII8s8sQQ", 36, 2, 4, -20, 0, 0, 0, b"", data[40:48], now, now), sender)
            """
        let server = try RunningCommand(["nsenter", "--net=\(row.beyond.path)", "python3", "-c", program])
        try await Namespace.current.loop.eventually("the time server") {
            try row.beyond.run("ss -Hlun sport = :123").contains(":123")
        }
        let evidence = try await row.examine()
        let offset = try #require(evidence.application.clockOffset.value)
        #expect(offset < .seconds(-490) && offset > .seconds(-510) && evidence.transport.timeAnswers == .known(true))
        #expect(RuleEvaluator().evaluate(evidence).verdicts.map(\.code).contains(.clockSkew))
        server.signal(9)
    }

    @Test func `a time server that says nothing leaves the clock unknown`() async throws {
        var row = try Row()
        row.order.targets.timeServers = [try #require(IPAddress(Row.anchor4))]
        let evidence = try await row.examine()
        #expect(evidence.application.clockOffset == .unknown(because: "no time server answers"))
        #expect(evidence.transport.timeAnswers == .known(false))
        #expect(!RuleEvaluator().evaluate(evidence).verdicts.map(\.code).contains(.clockSkew))
    }

    /// Runs a program on the router until the value goes.
    private static func serve(_ row: Row, _ program: String) throws -> RunningCommand {
        try RunningCommand(["nsenter", "--net=\(row.router.path)", "python3", "-c", program])
    }

    private static let leases = """
        import socket
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"eth1"); s.bind(("", 67))
        while True:
            q = s.recv(2048)
            for last in (b"\\x02", b"\\x09"):
                options = b"\\x35\\x01\\x02\\x36\\x04\\xc0\\x00\\x02" + last + b"\\x03\\x04\\xc0\\x00\\x02" + last
                s.sendto(b"\\x02" + q[1:240] + options + b"\\xff", ("255.255.255.255", 68))
        """

    @Test func `two servers that hand out addresses are one too many, unless rounds are many`() async throws {
        var row = try Row()
        let server = try Self.serve(row, Self.leases)
        try await Namespace.current.loop.eventually("the server") {
            try row.router.run("ss -Hlun sport = :67").contains(":67")
        }
        let evidence = try await row.examine()
        let offers = try #require(evidence.links.first?.dhcp.value)
        #expect(offers.map(\.server) == [.v4(0xC000_0202), .v4(0xC000_0209)])
        // The one in use is asked as a gateway; the other one is not there.
        #expect(offers.map(\.routerAnswers) == [.notAsked, .known(false)])
        #expect(RuleEvaluator().evaluate(evidence).verdicts.map(\.code).contains(.dhcpRogue))
        row.order.isRepeated = true
        let again = try await row.examine()
        #expect(again.links.first?.dhcp == .notAsked && again.links.first?.routers == .notAsked)
        server.signal(9)
    }

    @Test func `a link without routers that announce themselves has none`() async throws {
        let evidence = try await Row().examine()
        #expect(evidence.links.first?.routers == .known([]) && evidence.links.first?.dhcp == .known([]))
    }

    @Test func `an examination that is given up says nothing more`() async throws {
        let row = try Row()
        let loop = Namespace.current.loop
        var results = 0
        let kernel = try LiveKernel()
        for _ in 0..<2 {
            let pages = PageClient(loop: loop)
            let examination = try Examination(row.order, kernel: kernel, loop: loop, pages: pages) { _ in results += 1 }
            await loop.sleep(for: .milliseconds(20))
            examination.cancel()
        }
        await loop.sleep(for: .milliseconds(50))
        #expect(results == 0)
    }
}

@Suite struct SourceChoiceTests {
    private static let link = Link(index: 2, name: "eth0", flags: [.up, .lowerUp], mtu: 1500)

    private static func sources(
        _ texts: [String],
        usual: String = "192.168.1.10",
        _ flags: AddressFlags = []
    ) -> [String] {
        guard let usual = IPAddress(usual) else { return [] }
        let held = texts.compactMap { text in
            IPAddress(text).map { InterfaceAddress(index: 2, address: $0, prefixLength: 24, flags: flags) }
        }
        return SourceChoice(usual: usual, mainIndex: 2).sources(of: held, on: link).map(\.description)
    }

    @Test func `only addresses that are good for the same are asked`() {
        let held = ["192.168.1.10", "10.0.0.5", "203.0.113.7", "169.254.1.1", "127.0.0.2", "2001:db8::5"]
        #expect(Self.sources(held) == ["10.0.0.5"])
        #expect(Self.sources(held, usual: "198.51.100.1") == ["203.0.113.7"])
        let six = ["2001:db8::1", "2001:db8::2", "fd00::7", "fe80::1"]
        #expect(Self.sources(six, usual: "2001:db8::1") == ["2001:db8::2"])
        #expect(Self.sources(six, usual: "fd00::1") == ["fd00::7"])
        for flags in [AddressFlags.tentative, .duplicateDetected, .deprecated] {
            #expect(Self.sources(held, flags).isEmpty)
        }
        #expect(Self.sources(held, .temporary) == ["10.0.0.5"])
        #expect(Self.sources(six, usual: "2001:db8::1", .temporary).isEmpty)
    }

    @Test(arguments: [
        ("10.255.0.1", true), ("172.16.0.1", true), ("172.32.0.1", false), ("192.168.9.9", true),
        ("192.169.0.1", false),
        ("100.64.0.1", true), ("100.127.255.1", true), ("100.128.0.1", false), ("fd12::1", true),
        ("2001:db8::1", false),
    ])
    func `addresses without a meaning in the Internet are known`(text: String, isPrivate: Bool) throws {
        #expect(try #require(IPAddress(text)).isPrivate == isPrivate)
    }
}

@Suite struct TrainEvidenceTests {
    private static func result(_ milliseconds: [Int], sent: Int) -> TrainResult {
        var result = TrainResult()
        result.sent = sent
        result.durations = milliseconds.map { .milliseconds($0) }
        return result
    }

    @Test func `a train is summed up by its middle and its ends`() throws {
        let train = try #require(PerformanceEvidence.Train("a", Self.result(Array(1...20), sent: 25), refused: 5))
        #expect(train.target == "a" && train.sent == 20 && train.received == 20)
        #expect(train.median == .milliseconds(10) && train.fifthPercentile == .milliseconds(1))
        #expect(train.ninetyFifthPercentile == .milliseconds(19))
    }

    @Test func `a train of which nothing left, or came back, is none`() {
        #expect(PerformanceEvidence.Train("a", Self.result([], sent: 60), refused: 0) == nil)
        #expect(PerformanceEvidence.Train("a", Self.result([5], sent: 3), refused: 3) == nil)
    }
}
