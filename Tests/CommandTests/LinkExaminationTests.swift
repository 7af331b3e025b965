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

/// The test's machine and another one on a cable: 192.0.2.1 and 192.0.2.2, which is the router and everything else.
private struct Cable {
    let far: Namespace
    var order: ExaminationOrder

    init(_ change: (inout Targets) -> Void = { _ in }, servers: [String] = []) throws {
        far = try Namespace()
        try Namespace.current.connect("eth0", to: far, as: "eth1")
        try Namespace.current.ip("address add 192.0.2.1/24 dev eth0")
        try far.ip("address add 192.0.2.2/24 dev eth1")
        try Namespace.current.waitForAddresses(on: "eth0", isLinkLocal: true)
        var targets = Targets()
        change(&targets)
        let servers = servers.compactMap { IPAddress($0).map { DNSServer(ScopedAddress($0)) } }
        order = ExaminationOrder(targets: targets, servers: servers)
        order.limit = .seconds(60)
    }

    /// Runs a program on the other machine as long as the value lives.
    func serve(_ words: [String]) throws -> RunningCommand {
        try RunningCommand(["nsenter", "--net=\(far.path)"] + words)
    }

    func wait(for port: Int, _ kind: String = "u") async throws {
        try await Namespace.current.loop.eventually("port \(port)") {
            try far.run("ss -Hln\(kind) sport = :\(port)").contains(":\(port)")
        }
    }

    func filter(_ rules: String) throws {
        let table = "table inet t {\nchain c {\ntype filter hook output priority 0;\n\(rules)\n}\n}\n"
        try Command.run(["nsenter", "--net=\(far.path)", "nft", "-f", "-"], input: table)
    }

    /// Examines the network; `meanwhile` is called as soon as that began.
    func examine(meanwhile: () async throws -> Void = {}) async throws -> ExaminationResult {
        let loop = Namespace.current.loop
        var result: ExaminationResult?
        let kernel = try LiveKernel()
        let examination = try Examination(order, kernel: kernel, loop: loop, pages: PageClient(loop: loop)) {
            result = $0
        }
        try await meanwhile()
        await loop.eventually(within: .seconds(60)) { result != nil }
        withExtendedLifetime(examination) {}
        return try #require(result)
    }
}

@Suite(.inNamespace) struct CarrierExaminationTests {
    @Test func `a carrier that comes back within a second is waited for`() async throws {
        let cable = try Cable()
        try cable.far.set("eth1", isUp: false)
        await Namespace.current.loop.eventually("the carrier's end") {
            (try? LiveKernel().links().values.first { $0.name == "eth0" })?.carrier == false
        }
        let result = try await cable.examine { try cable.far.set("eth1", isUp: true) }
        let link = try #require(result.evidence.links.first)
        #expect(link.hasCarrier && link.carrierChanges == 1 && link.window >= .seconds(1))
        #expect(!RuleEvaluator().evaluate(result.evidence).verdicts.map(\.code).contains(.linkNoCarrier))
    }

    @Test func `one that stays away is gone, and rounds that come again do not wait`() async throws {
        var cable = try Cable()
        try cable.far.set("eth1", isUp: false)
        await Namespace.current.loop.eventually("the carrier's end") {
            (try? LiveKernel().links().values.first { $0.name == "eth0" })?.carrier == false
        }
        let waited = try await cable.examine()
        #expect(RuleEvaluator().evaluate(waited.evidence).verdicts.map(\.code) == [.linkNoCarrier])
        #expect(waited.duration >= .seconds(1))
        cable.order.isRepeated = true
        let again = try await cable.examine()
        #expect(RuleEvaluator().evaluate(again.evidence).verdicts.map(\.code) == [.linkNoCarrier])
        #expect(again.duration < .seconds(1))
    }

    @Test func `what a memory knows counts for a minute`() async throws {
        var cable = try Cable()
        for word in ["down", "up", "down", "up"] { try cable.far.ip("link set eth1 \(word)") }
        let link = try #require(try LiveKernel().links().values.first { $0.name == "eth0" })
        var memory = CarrierMemory()
        memory.record([link.index: link.carrierChanges - 4], at: Namespace.current.loop.clock.boot)
        cable.order.carriers = memory
        cable.order.isOffline = true
        let evidence = try await cable.examine().evidence
        #expect(evidence.links.first?.carrierChanges == 4 && evidence.links.first?.window == CarrierMemory.window)
        #expect(RuleEvaluator().evaluate(evidence).verdicts.map(\.code).contains(.linkFlapping))
    }
}

@Suite(.inNamespace) struct PortalExaminationTests {
    private static func serve(_ cable: Cable, _ text: String) throws -> RunningCommand {
        try cable.serve([
            "dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--port=0", "--user=root", "--group=root",
            "--no-ping",
            "--interface=eth1", "--bind-dynamic", "--dhcp-range=192.0.2.100,192.0.2.110,1h",
            "--dhcp-leasefile=/dev/null", "--log-facility=/dev/null", "--pid-file=", "--dhcp-option=114,\(text)",
        ])
    }

    /// What is known of the network's portal when its DHCP server says so.
    private static func api(_ text: String) async throws -> Assessment<PortalEvidence.API> {
        let cable = try Cable()
        let server = try serve(cable, text)
        try await cable.wait(for: 67)
        let evidence = try await cable.examine().evidence
        #expect(evidence.links.first?.dhcp.value?.count == 1)
        withExtendedLifetime(server) {}
        return evidence.portal.api
    }

    @Test func `an interface that does not answer is not believed to say anything`() async throws {
        let reason = try #require(try await Self.api("https://192.0.2.2/api").reason)
        #expect(reason.hasPrefix("https://192.0.2.2/api did not answer: "))
    }

    @Test func `an address without encryption is of no use`() async throws {
        #expect(
            try await Self.api("http://192.0.2.2/api").reason
                == "the network announces a portal without a usable address"
        )
    }

    @Test func `a network that says that it has no portal has none`() async throws {
        #expect(try await Self.api(PortalNotice.unrestrictedText) == .notAsked)
    }
}

@Suite(.inNamespace) struct NeighborhoodExaminationTests {
    private static let responder = """
        import socket, struct
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(("", 5353))
        s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton("224.0.0.251")
                     + socket.inet_aton("192.0.2.2"))
        s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("192.0.2.2"))
        record = b"\\x03far\\x05local\\x00" + struct.pack("!HHIH", 12, 1, 9, 2) + b"\\xc0\\x0c"
        while True:
            q, peer = s.recvfrom(9000)
            if q[2] & 0x80: continue
            answer = q[:2] + struct.pack("!HHHHH", 0x8400, 0, 1, 0, 0) + record
            s.sendto(answer, ("224.0.0.251", 5353) if peer[1] == 5353 else peer)
        """

    @Test(arguments: [false, true])
    func `a peer that answers alone and not with all shows a filter`(isFiltered: Bool) async throws {
        let cable = try Cable { $0.peers = [.v4(0xC000_0202), .v4(0xC000_0263)] }
        if isFiltered { try cable.filter("ip daddr 224.0.0.251 drop") }
        let program = try cable.serve(["python3", "-c", Self.responder])
        try await cable.wait(for: 5353)
        let evidence = try await cable.examine().evidence
        #expect(evidence.peers.map(\.answersUnicast) == [.known(true), .known(false)])
        #expect(evidence.peers.map(\.answersMulticast) == [.known(!isFiltered), .known(false)])
        #expect(RuleEvaluator().evaluate(evidence).verdicts.map(\.code).contains(.mdnsBlocked) == isFiltered)
        withExtendedLifetime(program) {}
    }

    /// Two hosts beside a router that does not answer; the kernel has heard of both, of one by two addresses.
    @Test(arguments: [false, true])
    func `hosts that the kernel knows are asked where none are named`(isRepeated: Bool) async throws {
        var cable = try Cable()
        cable.order.isRepeated = isRepeated
        try Namespace.current.ipBatch([
            "route add default via 192.0.2.9", "neigh add 192.0.2.99 lladdr 02:00:00:00:00:63 dev eth0 nud stale",
        ])
        try cable.far.ip("address add 192.0.2.3/24 dev eth1")
        for end in [2, 3] { try Namespace.current.run("ping -qc1 -W10 192.0.2.\(end)") }
        let evidence = try await cable.examine().evidence
        #expect(evidence.peers.map(\.isDiscovered) == (isRepeated ? [] : [true, true]))
        #expect(evidence.peers.compactMap(\.answers.value) == (isRepeated ? [] : [true]))
        let verdicts = RuleEvaluator().evaluate(evidence).verdicts
        #expect(verdicts.map(\.code) == [.gatewayUnresolved])
        #expect(verdicts.first?.say.hasSuffix(" while other hosts do") == !isRepeated)
        let gone = try await cable.examine { try cable.far.set("eth1", isUp: false) }.evidence.peers
        #expect(gone.allSatisfy { $0.answers.value == nil }, "silence says nothing")
    }

    @Test(arguments: [(false, 3015), (true, 0)])
    func `a large text comes over TCP, or is lost on the way`(isLost: Bool, least: Int) async throws {
        let cable = try Cable(
            { targets in
                targets.names.wildcard = "p.example.test"
                targets.names.bigText = "big.example.test"
            },
            servers: ["192.0.2.2"]
        )
        if isLost { try cable.filter("tcp sport 53 ip length > 1000 drop") }
        let texts = (0..<15).map { "--txt-record=big.example.test,\($0)" + String(repeating: "x", count: 200) }
        let server = try cable.serve(
            [
                "dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv", "--no-hosts", "--user=root",
                "--group=root",
                "--bind-interfaces", "--listen-address=192.0.2.2", "--pid-file=",
                "--address=/p.example.test/192.0.2.80",
            ] + texts
        )
        try await cable.wait(for: 53)
        let evidence = try await cable.examine().evidence
        let asked = try #require(evidence.dns.value?.first)
        #expect(asked.textByDatagram == .cut && asked.stream != .silent)
        if case .whole(let count) = asked.textByStream {
            #expect(!isLost && count >= least)
        } else {
            #expect(isLost && asked.textByStream == .silent)
        }
        // Without a route to the Internet it is a consequence.
        let hidden = RuleEvaluator().evaluate(evidence).masked.map(\.verdict.code)
        #expect(hidden.contains(.dnsTCPBlocked) == isLost)
        withExtendedLifetime(server) {}
    }
}
