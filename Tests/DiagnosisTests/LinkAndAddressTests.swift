// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Diagnosis
import Testing

@Suite struct HealthyTests {
    @Test func `a network without a fault gives no verdict, and every layer is sound`() {
        let diagnosis = RuleEvaluator().evaluate(Healthy.evidence)
        #expect(diagnosis.verdicts.isEmpty && diagnosis.masked.isEmpty && diagnosis.notes.isEmpty)
        #expect(diagnosis.severity == nil && diagnosis.faultDomain == nil)
        #expect(diagnosis.ladder.map(\.layer) == Layer.ofNetwork)
        #expect(diagnosis.ladder.allSatisfy { $0.state == .sound })
    }

    @Test func `what was not asked is not judged, and says so`() {
        var evidence = Evidence()
        evidence.links = [Healthy.link]
        evidence.dns = .unknown(because: "needs a target")
        let diagnosis = RuleEvaluator().evaluate(evidence)
        #expect(diagnosis.verdicts.isEmpty)
        #expect(diagnosis.state(.link) == .sound && diagnosis.state(.address) == .sound)
        #expect(diagnosis.state(.dns) == .notAssessed(because: "needs a target"))
        #expect(diagnosis.state(.gateway) == .notAssessed(because: "the path has no gateway"))
        for layer in [Layer.local, .captive, .wan, .transport, .application, .performance] {
            guard case .notAssessed(let reason)? = diagnosis.state(layer) else {
                Issue.record("\(layer) is assessed")
                continue
            }
            #expect(!reason.isEmpty)
        }
    }

    @Test func `ICMP filtered everywhere is a note, not a fault`() {
        let diagnosis = Healthy.broken { evidence in
            for reach in evidence.reach.indices {
                for anchor in evidence.reach[reach].anchors.indices {
                    evidence.reach[reach].anchors[anchor].echo = .known(false)
                }
            }
            evidence.gateways[0].answersEcho = .known(false)
            evidence.performance = PerformanceEvidence()
        }
        #expect(diagnosis.codes == [])
        #expect(diagnosis.notes.map(\.code) == [.icmpFiltered])
    }

    @Test func `a machine with IPv4 alone has no fault`() {
        let diagnosis = Healthy.broken { evidence in
            evidence.links[0].addresses.removeLast()
            evidence.sending[1] = SendEvidence(.ipv6)
            evidence.sending[1].route = .known(.missing)
            evidence.gateways.removeLast()
            evidence.reach.removeLast()
        }
        #expect(diagnosis.codes == [])
    }
}

@Suite struct LinkRuleTests {
    @Test func `no interface at all hides everything`() {
        let diagnosis = RuleEvaluator().evaluate(Evidence())
        #expect(
            diagnosis.codes == [.linkNone] && diagnosis.severity == .broken && diagnosis.faultDomain == .host
        )
        #expect(diagnosis.state(.link) == .faulty([.linkNone]))
        #expect(diagnosis.state(.wan) == .hidden(by: .linkNone))
    }

    @Test func `an interface that is switched off says how to switch it on`() throws {
        let diagnosis = Healthy.broken { evidence in
            evidence.links[0].isUp = false
            evidence.links[0].hasCarrier = false
            evidence.loseGateways()
        }
        let verdict = try #require(diagnosis.verdicts.first)
        #expect(diagnosis.codes == [.linkAdminDown] && verdict.subject == "eth0")
        #expect(verdict.say == "eth0 is down" && verdict.action == "`ip link set eth0 up`")
        #expect(diagnosis.masked.contains { $0.verdict.code == .gatewayUnresolved && $0.cause == .linkAdminDown })
    }

    @Test func `a cable that is out hides what follows from it`() {
        let diagnosis = Healthy.broken { evidence in
            evidence.links[0].hasCarrier = false
            evidence.loseGateways()
            evidence.dns = .known([NameServerEvidence(Healthy.server)])
        }
        #expect(diagnosis.codes == [.linkNoCarrier])
        #expect(
            diagnosis.ladder.dropFirst().allSatisfy { $0.state == .hidden(by: .linkNoCarrier) }
        )
    }

    @Test func `a second interface that nobody uses may be down`() {
        let diagnosis = Healthy.broken { evidence in
            var spare = LinkEvidence("eth1")
            spare.hasCarrier = false
            evidence.links.append(spare)
        }
        #expect(diagnosis.codes == [])
    }

    @Test(arguments: [
        (changes: 1, seconds: 2, isFlapping: false), (2, 2, true), (3, 60, false), (4, 60, true),
    ])
    func `a carrier that comes and goes is counted`(changes: Int, seconds: Int, isFlapping: Bool) {
        let diagnosis = Healthy.broken { evidence in
            evidence.links[0].carrierChanges = changes
            evidence.links[0].window = .seconds(seconds)
        }
        #expect(diagnosis.codes == (isFlapping ? [.linkFlapping] : []))
    }

    @Test func `a carrier that is gone again is told as one that comes and goes`() {
        let diagnosis = Healthy.broken { evidence in
            evidence.links[0].carrierChanges = 5
            evidence.links[0].window = CarrierMemory.window
            evidence.links[0].hasCarrier = false
            evidence.loseGateways()
        }
        #expect(diagnosis.codes == [.linkFlapping] && diagnosis.severity == .broken)
        #expect(diagnosis.state(.gateway) == .hidden(by: .linkFlapping))
    }

    @Test func `losses of the carrier are told, not changes`() throws {
        let diagnosis = Healthy.broken { evidence in
            evidence.links[0].carrierChanges = 5
            evidence.links[0].window = .seconds(60)
        }
        #expect(try #require(diagnosis.verdicts.first).say == "eth0 lost its carrier 3 times in 60 s")
    }

    @Test(arguments: [(received: 2, codes: [VerdictCode.linkIsolated]), (3, [.gatewayUnresolved])])
    func `a silent port is in another network`(received: Int, codes: [VerdictCode]) {
        let diagnosis = Healthy.broken { evidence in
            evidence.links[0].received = .known(received)
            evidence.links[0].dhcp = .known([])
            evidence.peers[0].answers = .known(false)
            evidence.loseGateways()
            for place in evidence.gateways.indices { evidence.gateways[place].othersAnswer = .known(false) }
        }
        #expect(Set(diagnosis.codes) == Set(codes))
    }

    @Test func `nobody is called isolated who asked nobody`() {
        var evidence = Evidence()
        evidence.links = [Healthy.link]
        evidence.links[0].received = .known(0)
        evidence.links[0].dhcp = .notAsked
        #expect(RuleEvaluator().evaluate(evidence).codes == [])
    }

    @Test func `a link over which a destination answers is not isolated, however quiet`() {
        let quiet: (inout Evidence) -> Void = { evidence in
            evidence.links[0].received = .known(1)
            evidence.links[0].dhcp = .known([])
            evidence.peers = []
            evidence.loseGateways()
        }
        #expect(Healthy.broken(by: quiet).codes == [.linkIsolated])
        let untrusted = Working.destination { destination in
            destination.paths = [Working.path(Healthy.peer, gateway: nil)]
            destination.exchange = .known(.untrusted(detail: "self-signed", isAboutTime: false))
        }
        #expect(Working.masked(untrusted, quiet).codes.contains(.destinationCertificate))
        var elsewhere = untrusted
        elsewhere.paths[0].route = .known(.found(interface: "eth1", gateway: nil))
        #expect(Working.masked(elsewhere, quiet).codes == [.linkIsolated])
    }

    @Test func `an MTU below 1280 explains why IPv6 is gone`() {
        let diagnosis = Healthy.broken { evidence in
            evidence.links[0].mtu = 1200
            evidence.cutOff([.ipv6])
        }
        #expect(diagnosis.codes == [.linkMTUTooSmall])
        #expect(diagnosis.masked.map(\.verdict.code) == [.ipv6Broken])
    }

    @Test func `peers that are silent while the gateway answers are isolated clients`() throws {
        let diagnosis = Healthy.broken { evidence in
            evidence.peers[0].answers = .known(false)
            evidence.peers[0].answersMulticast = .notAsked
            evidence.peers[0].answersUnicast = .notAsked
        }
        let verdict = try #require(diagnosis.verdicts.first)
        #expect(diagnosis.codes == [.linkClientIsolation] && verdict.severity == .warning)
        #expect(verdict.confidence == .possible)
    }

    @Test func `multicast that only unicast survives is filtered`() throws {
        let diagnosis = Healthy.broken { $0.peers[0].answersMulticast = .known(false) }
        #expect(diagnosis.codes == [.mdnsBlocked])
        #expect(try #require(diagnosis.verdicts.first).say.contains("10.77.0.20"))
        let six = Healthy.broken { evidence in
            evidence.peers[0].address = Healthy.address6
            evidence.peers[0].answersMulticast = .known(false)
        }
        #expect(try #require(six.verdicts.first).say.contains("multicast to ff02::fb"))
    }

    @Test func `multicast is not blamed for hosts that do not speak it, nor while one of them hears it`() {
        let silent = Healthy.broken { evidence in
            evidence.peers[0].answersMulticast = .known(false)
            evidence.peers[0].answersUnicast = .known(false)
        }
        #expect(silent.codes == [])
        let unknown = Healthy.broken { $0.peers[0].answersMulticast = .unknown(because: "the port is taken") }
        #expect(unknown.codes == [])
        let one = Healthy.broken { evidence in
            evidence.peers.append(evidence.peers[0])
            evidence.peers[1].answersMulticast = .known(false)
        }
        #expect(one.codes == [])
    }
}

@Suite struct AddressRuleTests {
    @Test func `no address says whether a DHCP server answers`() throws {
        let with = Healthy.broken { evidence in
            evidence.links[0].addresses = []
            evidence.loseGateways()
        }
        #expect(with.codes == [.addressNone])
        #expect(try #require(with.verdicts.first).say == "eth0 has no address; a DHCP server does answer")
        let without = Healthy.broken { evidence in
            evidence.links[0].addresses = []
            evidence.links[0].dhcp = .known([])
            evidence.loseGateways()
        }
        #expect(try #require(without.verdicts.first).say == "eth0 has no address; no DHCP server answers")
        let unasked = Healthy.broken { evidence in
            evidence.links[0].addresses = []
            evidence.links[0].dhcp = .notAsked
            evidence.gateways = []
        }
        #expect(try #require(unasked.verdicts.first).say == "eth0 has no address")
    }

    @Test func `an address of one's own making is no address`() throws {
        let diagnosis = Healthy.broken { evidence in
            evidence.links[0].addresses = [AddressEvidence(.v4(0xA9FE_0102)), AddressEvidence(Healthy.gateway6)]
            evidence.loseGateways()
        }
        #expect(diagnosis.codes == [.addressLinkLocalOnly])
    }

    @Test func `an address that the kernel refuses is named`() {
        let alone = Healthy.broken { evidence in
            evidence.links[0].addresses = [AddressEvidence(Healthy.own6)]
            evidence.links[0].addresses[0].hasFailedDetection = true
            evidence.loseGateways()
        }
        #expect(alone.codes == [.addressDADFailed] && alone.severity == .broken)
        let beside = Healthy.broken { evidence in
            evidence.links[0].addresses[1].hasFailedDetection = true
        }
        #expect(beside.codes == [.addressDADFailed] && beside.severity == .degraded)
    }

    @Test func `an address that is still checked is no source`() {
        let diagnosis = Healthy.broken { evidence in
            evidence.links[0].addresses = [AddressEvidence(Healthy.own6)]
            evidence.links[0].addresses[0].isTentative = true
            evidence.loseGateways()
        }
        #expect(diagnosis.codes == [.addressNone])
    }

    @Test func `an address that two use hides the loss that follows, and nothing else`() throws {
        let diagnosis = Healthy.broken { evidence in
            evidence.links[0].addresses[0].otherHolders = .known(["02:00:00:00:00:66"])
            evidence.loseOnLink(40)
            evidence.dns = .known([])
        }
        #expect(diagnosis.codes == [.addressDuplicate, .dnsNoConfig])
        #expect(diagnosis.masked.map(\.verdict.code) == [.linkLoss])
        let verdict = try #require(diagnosis.verdicts.first)
        #expect(verdict.say == "10.77.0.10 on eth0 is also used by 02:00:00:00:00:66" && diagnosis.faultDomain == .link)
    }

    @Test func `two DHCP servers are one too many`() throws {
        let diagnosis = Healthy.broken { evidence in
            evidence.links[0].dhcp = .known([
                DHCPOffer(server: Healthy.gateway, router: Healthy.gateway), DHCPOffer(server: Healthy.peer),
                DHCPOffer(server: Healthy.peer),
            ])
        }
        #expect(diagnosis.codes == [.dhcpRogue])
        #expect(try #require(diagnosis.verdicts.first).say.hasSuffix("10.77.0.1 and 10.77.0.20"))
    }

    @Test func `routers with the same prefixes are redundancy, with others one is wrong`() {
        let other = RouterAnnouncement(source: Healthy.own6, prefixes: [IPPrefix(Healthy.own6, length: 64)])
        let redundant = Healthy.broken { evidence in
            evidence.links[0].routers = .known((evidence.links[0].routers.value ?? []) + [other])
        }
        #expect(redundant.codes == [])
        let rogue = Healthy.broken { evidence in
            let wrong = RouterAnnouncement(source: Healthy.own6, prefixes: [IPPrefix(Healthy.address6, length: 64)])
            evidence.links[0].routers = .known((evidence.links[0].routers.value ?? []) + [wrong])
            evidence.cutOff([.ipv6])
        }
        #expect(rogue.codes == [.routerRogue])
    }
}
