// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Diagnosis
import Testing

@Suite struct PatienceTests {
    @Test(arguments: VerdictCode.allCases)
    func `the further away a fault lies, the longer it is looked at`(code: VerdictCode) {
        let patience = Patience(for: code)
        #expect(patience.rounds <= patience.window && patience.rounds >= 1 && patience.goodRounds >= 1)
        switch code.layer {
        case .address, .local:
            #expect(patience.rounds == 1 && patience.age == .zero && patience.goodRounds == 1)
        case .link:
            // Loss and multicast are measured, everything else is told by the kernel.
            #expect(patience.rounds == (code == .linkLoss ? 3 : code == .mdnsBlocked ? 2 : 1))
        case .gateway:
            #expect(patience.rounds == 2 && patience.age == .seconds(1))
        case .captive, .wan, .dns, .transport, .application, .resolve, .route, .reach, .tcp, .tls, .http, .websocket:
            #expect(patience.rounds == 2 && patience.age == .seconds(5))
        case .performance:
            #expect(patience.rounds == 3 && patience.window == 5 && patience.age == .seconds(30))
        }
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
