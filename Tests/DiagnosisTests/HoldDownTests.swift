// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Diagnosis
import Testing

@Suite struct HoldDownTests {
    @Test(arguments: VerdictCode.allCases)
    func `the further away a fault lies, the longer it is looked at`(code: VerdictCode) {
        let holdDown = HoldDown(for: code)
        #expect(holdDown.rounds <= holdDown.window && holdDown.rounds >= 1 && holdDown.goodRounds >= 1)
        switch code.layer {
        // Many connections, or twenty seconds of them, were counted before.
        case _ where code.rawValue.hasPrefix("traffic."):
            #expect(holdDown.rounds == 1 && holdDown.age == .zero && holdDown.goodRounds == 1)
        case .address, .local:
            #expect(holdDown.rounds == 1 && holdDown.age == .zero && holdDown.goodRounds == 1)
        case .link:
            // Loss, multicast and neighbours are measured, everything else is what the kernel reports.
            let rounds: [VerdictCode: Int] = [.linkLoss: 3, .linkClientIsolation: 3, .mdnsBlocked: 2]
            #expect(holdDown.rounds == rounds[code] ?? 1)
        case .gateway:
            #expect(holdDown.rounds == 2 && holdDown.age == .seconds(1))
        case .captive, .wan, .dns, .transport, .application, .resolve, .route, .reach, .tcp, .tls, .http, .websocket:
            #expect(holdDown.rounds == 2 && holdDown.age == .seconds(5))
        case .performance:
            #expect(holdDown.rounds == 3 && holdDown.window == 5 && holdDown.age == .seconds(30))
        }
    }
}

@Suite struct ShownByTrafficTests {
    @Test func `a break that many connections show is raised in the first round, and cleared as any other`() {
        for code in [VerdictCode.wanDown, .upstreamBlackhole, .gatewayUnresolved, .captivePortal] {
            let holdDown = HoldDown(for: code, isShownByTraffic: true)
            #expect(holdDown.rounds == 1 && holdDown.age == .zero && holdDown.goodRounds == 2)
        }
        #expect(HoldDown(for: .dnsServerDead, isShownByTraffic: true) == HoldDown(for: .dnsServerDead))
    }

    @Test func `only families whose connections are unanswered are taken for shown`() {
        let diagnosis = Healthy.broken { $0.reach[0].anchors = $0.reach[0].anchors.map(\.silent) }
        #expect(diagnosis.verdicts.map(\.code) == [.ipv4Broken])
        var tracker = VerdictTracker()
        #expect(tracker.apply(diagnosis, at: .seconds(10), stalled: [.ipv6]).isEmpty)
        tracker = VerdictTracker()
        #expect(tracker.apply(diagnosis, at: .seconds(10), stalled: [.ipv4]).count == 1)
    }
}

extension ReachEvidence.Anchor {
    fileprivate var silent: ReachEvidence.Anchor {
        var anchor = self
        (anchor.echo, anchor.datagrams) = (.known(false), .known(false))
        anchor.ports = anchor.ports.mapValues { _ in .silent }
        return anchor
    }
}

@Suite struct AssessmentTests {
    @Test func `an answer has no reason, and a gap has no value`() {
        let known = Assessment.known(7)
        #expect(known.value == 7 && known.reason == nil)
        let unknown = Assessment<Int>.unknown(because: "needs CAP_NET_RAW")
        #expect(unknown.value == nil && unknown.reason == "needs CAP_NET_RAW")
        #expect(Assessment<Int>.notAsked.reason == "not tested")
    }

    @Test func `a layer says why it was not looked at`() {
        let diagnosis = Healthy.broken { evidence in
            let reason = "needs CAP_NET_RAW"
            for place in evidence.gateways.indices {
                evidence.gateways[place] = GatewayEvidence(evidence.gateways[place].address, on: "eth0")
                evidence.gateways[place].hardwareAddresses = .unknown(because: reason)
            }
            evidence.portal = PortalEvidence()
            evidence.portal.api = .unknown(because: "nobody announced one")
            for place in evidence.sending.indices {
                evidence.sending[place].route = .unknown(because: "no permission")
                evidence.sending[place].attempts = 0
            }
        }
        #expect(diagnosis.codes == [])
        #expect(diagnosis.state(.gateway) == .notAssessed(because: "needs CAP_NET_RAW"))
        #expect(diagnosis.state(.captive) == .notAssessed(because: "nobody announced one"))
        #expect(diagnosis.state(.local) == .notAssessed(because: "no permission"))
    }

    @Test func `a verdict shows what was measured`() throws {
        let diagnosis = Healthy.broken { evidence in
            evidence.links[0].mtu = 1200
            evidence.cutOff([.ipv4])
            evidence.reach[0].hops = [.init(1, Healthy.gateway), .init(2, Healthy.provider)]
        }
        let facts = diagnosis.verdicts.flatMap(\.evidence)
        #expect(facts == [.init("hops", "1:10.77.0.1 2:198.18.0.1"), .init("mtu", 1200)])
    }
}
