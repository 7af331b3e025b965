// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Diagnosis

/// Evidence of a network without a fault, for tests to break in one place.
enum Healthy {
    static let own = IPAddress.v4(0x0A4D_000A)
    static let gateway = IPAddress.v4(0x0A4D_0001)
    static let peer = IPAddress.v4(0x0A4D_0014)
    static let provider = IPAddress.v4(0xC612_0001)
    static let server = IPAddress.v4(0x0A4D_0035)
    static let second = IPAddress.v4(0xC633_6435)
    static let address = IPAddress.v4(0xCB00_7150)
    static let own6 = IPAddress.v6(0x2001_0DB8_0000_0000_0000_0000_0000_000A)
    static let gateway6 = IPAddress.v6(0xFE80_0000_0000_0000_0000_0000_0000_0001)
    static let address6 = IPAddress.v6(0x2001_0DB8_00FF_0000_0000_0000_0000_0080)

    static var link: LinkEvidence {
        var link = LinkEvidence("eth0")
        link.received = .known(240)
        var held = AddressEvidence(own)
        held.otherHolders = .known([])
        link.addresses = [held, AddressEvidence(own6)]
        link.dhcp = .known([DHCPOffer(server: gateway, router: gateway, routerAnswers: .known(true))])
        link.routers = .known([RouterAnnouncement(source: gateway6, prefixes: [IPPrefix(own6, length: 64)])])
        return link
    }

    static func sending(_ family: AddressFamily) -> SendEvidence {
        var sending = SendEvidence(family)
        sending.route = .known(.found)
        sending.attempts = 10
        sending.sources = [.init(family == .ipv4 ? own : own6, answers: true)]
        return sending
    }

    static func router(_ address: IPAddress) -> GatewayEvidence {
        var router = GatewayEvidence(address, on: "eth0")
        router.hardwareAddresses = .known(["02:00:00:00:00:01"])
        router.answersEcho = .known(true)
        router.answersHopLimit = .known(true)
        router.othersAnswer = .known(true)
        return router
    }

    /// What eight connections of the machine show that are lossy or have stalled.
    static func connections(
        _ state: TrafficEvidence.State,
        _ sentence: String = "x",
        to destination: String? = nil,
        othersAnswer: Bool = false
    ) -> TrafficEvidence {
        TrafficEvidence(
            state,
            family: .ipv4,
            interface: "eth0",
            gateway: gateway,
            destination: destination,
            connections: 8,
            unanswered: 8,
            loss: 0.1,
            othersAnswer: othersAnswer,
            sentence: sentence
        )
    }

    static func anchor(_ name: String, _ address: IPAddress) -> ReachEvidence.Anchor {
        var anchor = ReachEvidence.Anchor(name, address)
        anchor.echo = .known(true)
        anchor.ports = [80: .connected, 443: .connected]
        anchor.datagrams = .known(true)
        return anchor
    }

    static func reach(_ family: AddressFamily) -> ReachEvidence {
        var reach = ReachEvidence(family)
        let place = family == .ipv4 ? address : address6
        reach.anchors = [anchor("a", place), anchor("b", place)]
        return reach
    }

    static func nameServer(_ address: IPAddress) -> NameServerEvidence {
        var server = NameServerEvidence(address)
        server.ipv4 = .answered([Healthy.address])
        server.ipv6 = .answered([])
        server.nonexistent = .noSuchName
        server.known = .answered([Healthy.address])
        server.expected = [Healthy.address]
        server.stream = .answered([])
        server.latency = .milliseconds(12)
        server.roundTrip = .milliseconds(1)
        return server
    }

    static func train(_ target: String, median: Duration = .milliseconds(12)) -> PerformanceEvidence.Train {
        PerformanceEvidence.Train(
            target: target,
            sent: 60,
            received: 60,
            median: median,
            fifthPercentile: median - .milliseconds(1),
            ninetyFifthPercentile: median + .milliseconds(3)
        )
    }

    static var evidence: Evidence {
        var evidence = Evidence()
        evidence.links = [link]
        var neighbor = PeerEvidence(peer)
        neighbor.answers = .known(true)
        neighbor.answersMulticast = .known(true)
        neighbor.answersUnicast = .known(true)
        evidence.peers = [neighbor]
        evidence.sending = [sending(.ipv4), sending(.ipv6)]
        evidence.gateways = [router(gateway), router(gateway6)]
        evidence.portal.checks = ["a", "b"].map { .init(anchor: $0, status: 204, isEchoed: true) }
        evidence.portal.isHTTPSGenuine = .known(true)
        evidence.reach = [reach(.ipv4), reach(.ipv6)]
        evidence.dns = .known([nameServer(server), nameServer(second)])
        evidence.transport.timeAnswers = .known(true)
        evidence.transport.packetSizes = [.init(.ipv4, largest: 1500, linkMTU: 1500, isAnnounced: false)]
        evidence.application.certificates = [.init(anchor: "a"), .init(anchor: "b")]
        evidence.application.clockOffset = .known(.milliseconds(-3))
        evidence.performance.gateway = train("gateway", median: .milliseconds(1))
        evidence.performance.anchors = [train("a"), train("b")]
        return evidence
    }

    /// What a judge says after `change`.
    static func broken(budgets: Budgets = Budgets(), by change: (inout Evidence) -> Void) -> Diagnosis {
        var evidence = evidence
        change(&evidence)
        return RuleEvaluator(budgets: budgets).evaluate(evidence)
    }
}

extension Evidence {
    /// Nothing beyond the gateways answers any more.
    mutating func cutOff(_ families: Set<AddressFamily> = [.ipv4, .ipv6]) {
        for place in reach.indices where families.contains(reach[place].family) {
            for anchor in reach[place].anchors.indices {
                reach[place].anchors[anchor].echo = .known(false)
                reach[place].anchors[anchor].datagrams = .known(false)
                reach[place].anchors[anchor].ports = [80: .silent, 443: .silent]
            }
        }
        guard families.count == 2 else { return }
        // One beyond the gateway would show that it is not the line.
        dns = .known((dns.value ?? []).map { $0.address == Healthy.second ? NameServerEvidence($0.address) : $0 })
        portal.checks = []
        portal.isHTTPSGenuine = .known(false)
        transport.timeAnswers = .known(false)
        transport.packetSizes = []
        application.certificates = []
        application.clockOffset = .unknown(because: "no time server answers")
        performance.anchors = []
    }

    /// Of 60 packets over the own link so many come back.
    mutating func loseOnLink(_ received: Int) {
        performance.gateway?.received = received
        for place in performance.anchors.indices { performance.anchors[place].received = received }
    }

    /// The gateways answer nothing either.
    mutating func loseGateways() {
        cutOff()
        for place in gateways.indices {
            gateways[place].hardwareAddresses = .known([])
            gateways[place].answersEcho = .known(false)
            gateways[place].answersHopLimit = .known(false)
        }
        performance.gateway = nil
    }
}

extension Diagnosis {
    var codes: [VerdictCode] { verdicts.map(\.code) }
    func state(_ layer: Layer) -> State? { ladder.first { $0.layer == layer }?.state }
}
