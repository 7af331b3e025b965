// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Testing

@testable import Diagnosis

/// Faults that look like others, because packets or their answers go to the wrong machine.
@Suite struct MisdirectionTests {
    private static func silence(_ evidence: inout Evidence) {
        evidence.cutOff([.ipv4])
        var servers = evidence.dns.value ?? []
        for place in servers.indices {
            servers[place].ipv4 = .silent
            servers[place].ipv6 = .silent
            servers[place].nonexistent = .silent
            servers[place].known = .silent
        }
        evidence.dns = .known(servers)
        evidence.peers[0].answers = .known(false)
    }

    @Test func `two holders of the gateway's address explain silence beyond it`() {
        let diagnosis = Healthy.broken { evidence in
            Self.silence(&evidence)
            evidence.gateways[0].hardwareAddresses = .known(["02:00:00:00:00:01", "02:00:00:00:00:66"])
        }
        #expect(diagnosis.codes == [.gatewayARPConflict])
        #expect(diagnosis.masked.allSatisfy { $0.cause == .gatewayARPConflict })
    }

    @Test func `another holder of the own address explains silence too`() {
        let diagnosis = Healthy.broken { evidence in
            Self.silence(&evidence)
            evidence.links[0].addresses[0].otherHolders = .known(["02:00:00:00:00:66"])
        }
        #expect(diagnosis.codes == [.addressDuplicate])
    }

    @Test func `what a server says wrong is its own fault all the same`() {
        let diagnosis = Healthy.broken { evidence in
            evidence.gateways[0].hardwareAddresses = .known(["02:00:00:00:00:01", "02:00:00:00:00:66"])
            evidence.performance.gateway?.received = 40
            var servers = evidence.dns.value ?? []
            for place in servers.indices { servers[place].ipv4 = .failed(code: "SERVFAIL") }
            evidence.dns = .known(servers)
        }
        #expect(Set(diagnosis.codes) == [.gatewayARPConflict, .dnsServfail])
    }

    @Test func `a portal hides the name servers behind its walls`() {
        let diagnosis = Healthy.broken { evidence in
            evidence.portal.checks = ["a", "b"].map { .init(anchor: $0, status: 302, location: "http://login.test/") }
            evidence.portal.isHTTPSGenuine = .known(false)
            Self.silence(&evidence)
            evidence.peers[0].answers = .known(true)
        }
        #expect(diagnosis.codes == [.captivePortal])
    }

    @Test func `a router that is silent in both families is one fault`() throws {
        let both = Healthy.broken { $0.loseGateways() }
        #expect(both.codes == [.gatewayUnresolved])
        #expect(try #require(both.verdicts.first).family == nil)
        let one = Healthy.broken { evidence in
            evidence.gateways[1].hardwareAddresses = .known([])
            evidence.cutOff([.ipv6])
        }
        #expect(one.codes == [.gatewayUnresolved])
        #expect(try #require(one.verdicts.first).family == .ipv6)
    }

    @Test func `a target that is down in both families is one fault`() throws {
        let diagnosis = Healthy.broken { evidence in
            for place in evidence.reach.indices {
                evidence.reach[place].anchors[1].echo = .known(false)
                evidence.reach[place].anchors[1].datagrams = .known(false)
                evidence.reach[place].anchors[1].ports = [80: .silent, 443: .silent]
            }
        }
        #expect(diagnosis.codes == [.targetDown])
        let verdict = try #require(diagnosis.verdicts.first)
        #expect(verdict.family == nil && verdict.subject == "b")
        #expect(verdict.say == "b (203.0.113.80 and 2001:db8:ff::80) does not answer; others do")
    }
}

@Suite struct TargetsTests {
    @Test func `nobody is asked unless somebody is named`() {
        let targets = Targets()
        #expect(targets.anchors.isEmpty && targets.names == Targets.Names() && targets.echoPort == nil)
        #expect(targets.answersChallenge && targets.path == "/generate_204")
    }

    @Test func `the public defaults have two addresses of each family and two pages`() {
        let targets = Targets.publicDefaults
        for family in AddressFamily.allCases {
            #expect(Set(targets.anchors.compactMap { $0.address(family) }).count == 2)
        }
        #expect(targets.anchors.count(where: \.hasPage) == 2)
        #expect(targets.anchors.allSatisfy { $0.host != nil })
        #expect(!targets.answersChallenge)
    }

    @Test func `a gap that is known better is told`() {
        var evidence = Healthy.evidence
        evidence.reach = []
        evidence.application = ApplicationEvidence()
        evidence.gaps = [.wan: "nobody was named", .application: "no libcurl"]
        let diagnosis = RuleEvaluator().evaluate(evidence)
        #expect(diagnosis.state(.wan) == .notAssessed(because: "nobody was named"))
        #expect(diagnosis.state(.application) == .notAssessed(because: "no libcurl"))
    }

    @Test(arguments: [true, false])
    func `hosts whose connections are unanswered are to blame only while others answer`(othersAnswer: Bool) {
        var evidence = Healthy.evidence
        (evidence.reach, evidence.peers) = ([], [])
        evidence.traffic = [Healthy.connections(.stalled, to: "198.51.100.0/24", othersAnswer: othersAnswer)]
        let diagnosis = RuleEvaluator().evaluate(evidence)
        #expect(diagnosis.codes == [.trafficDestinationStalled])
        #expect(diagnosis.faultDomain == (othersAnswer ? FaultDomain.remote : .unknown))
    }
}
