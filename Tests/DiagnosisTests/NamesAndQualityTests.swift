// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Diagnosis
import Testing

@Suite struct NameServerRuleTests {
    /// The healthy network with name servers that are changed.
    private func diagnose(_ change: (inout [NameServerEvidence]) -> Void) -> Diagnosis {
        Healthy.broken { evidence in
            var servers = evidence.dns.value ?? []
            change(&servers)
            evidence.dns = .known(servers)
        }
    }

    private func silence(_ server: inout NameServerEvidence) {
        server.ipv4 = .silent
        server.ipv6 = .silent
        server.nonexistent = .silent
        server.known = .silent
        server.stream = .silent
        server.latency = nil
    }

    @Test func `none configured, none answering, and one of two are three things`() throws {
        #expect(diagnose { $0 = [] }.codes == [.dnsNoConfig])
        let all = diagnose { servers in
            for place in servers.indices { silence(&servers[place]) }
        }
        #expect(all.codes == [.dnsUnreachable] && all.severity == .broken)
        let one = diagnose { silence(&$0[1]) }
        #expect(one.codes == [.dnsServerDead] && one.verdicts.first?.subject == "198.51.100.53")
        #expect(try #require(one.verdicts.first).say == "the name server 198.51.100.53 does not answer; 1 of 2 do")
    }

    @Test func `of a server that programs query over TCP, connections count and datagrams do not`() throws {
        func diagnosis(_ stream: NameServerEvidence.Answer, _ datagrams: NameServerEvidence.Answer) -> Diagnosis {
            diagnose { servers in
                for index in servers.indices {
                    var server = NameServerEvidence(servers[index].address)
                    (server.isQueriedOverTCP, server.stream, server.ipv4) = (true, stream, datagrams)
                    servers[index] = server
                }
            }
        }
        #expect(diagnosis(.answered([]), .silent).codes == [])
        let broken = diagnosis(.silent, .answered([]))
        #expect(broken.codes == [.dnsUnreachable])
        #expect(try #require(broken.verdicts.first?.action).contains("dig +tcp @"))
    }

    @Test func `a server beyond a way that is blamed is not called dead`() {
        let diagnosis = Healthy.broken { evidence in
            evidence.cutOff([.ipv6])
            var far = NameServerEvidence(Healthy.address6)
            far.ipv4 = .silent
            evidence.dns = .known([Healthy.nameServer(Healthy.server), far])
        }
        #expect(diagnosis.codes == [.ipv6Broken])
    }

    @Test func `failing is broken when all fail, and degraded when one does`() {
        let all = diagnose { servers in
            for place in servers.indices { servers[place].ipv4 = .failed(code: "SERVFAIL") }
        }
        #expect(all.codes == [.dnsServfail] && all.severity == .broken)
        let one = diagnose { $0[0].ipv4 = .failed(code: "REFUSED") }
        #expect(one.codes == [.dnsServfail] && one.severity == .degraded)
    }

    @Test(arguments: [(first: 302, second: 400, isSlow: true), (302, 20, false), (300, 400, false)])
    func `slow is what every server is, beyond the way to it`(first: Int, second: Int, isSlow: Bool) {
        let diagnosis = diagnose { servers in
            servers[0].latency = .milliseconds(first)
            servers[1].latency = .milliseconds(second)
        }
        #expect(diagnosis.codes == (isSlow ? [.dnsSlow] : []))
    }

    @Test func `questions for AAAA that are ignored cost seconds`() {
        #expect(diagnose { $0[0].ipv6 = .silent }.codes == [.dnsAAAATimeout])
    }

    @Test func `an address for a name that does not exist is rewriting`() {
        let diagnosis = diagnose { $0[0].nonexistent = .answered([Healthy.peer]) }
        #expect(diagnosis.codes == [.dnsNXRewrite] && diagnosis.severity == .warning)
    }

    @Test func `a known name with another address, or none, is wrong`() throws {
        let lying = diagnose { $0[1].known = .answered([Healthy.peer]) }
        #expect(lying.codes == [.dnsWrongAnswer])
        #expect(
            try #require(lying.verdicts.first).say
                == "198.51.100.53 answers 10.77.0.20 for a name whose address is 203.0.113.80"
        )
        #expect(diagnose { $0[1].known = .noSuchName }.codes == [.dnsWrongAnswer])
        #expect(diagnose { $0[1].known = .answered([Healthy.peer, Healthy.address]) }.codes == [])
    }

    @Test(
        arguments: [
            (.answered([Healthy.address]), true), (.answered([Healthy.peer, Healthy.address]), true), (.silent, true),
            (.answered([Healthy.peer]), false), (.answered([]), false), (.noSuchName, false),
        ] as [(NameServerEvidence.Answer, Bool)]
    )
    func `a name under a wildcard has the address that is configured`(answer: NameServerEvidence.Answer, isRight: Bool)
    {
        #expect(diagnose { $0[1].ipv4 = answer }.codes == [])
        let codes = diagnose { ($0[1].ipv4, $0[1].wildcard) = (answer, Healthy.address) }.codes
        #expect(codes == (isRight ? [] : [.dnsWrongAnswer]))
    }

    @Test func `TCP is blocked when no server answers over it, and a hole for large packets explains it`() {
        let both: (inout [NameServerEvidence]) -> Void = { servers in
            for place in servers.indices { servers[place].stream = .silent }
        }
        #expect(diagnose(both).codes == [.dnsTCPBlocked])
        #expect(diagnose { $0[0].stream = .silent }.codes == [])
        let hole = Healthy.broken { evidence in
            var servers = evidence.dns.value ?? []
            both(&servers)
            evidence.dns = .known(servers)
            evidence.transport.packetSizes[0].largest = 1396
            evidence.transport.packetSizes[0].transferStalls = .known(true)
        }
        #expect(hole.codes == [.pmtuBlackhole])
        #expect(hole.masked.map(\.verdict.code) == [.dnsTCPBlocked])
    }
}

extension NameServerRuleTests {
    /// All servers but so many of the first ones lose a large text over TCP.
    private func loseText(
        sparing count: Int = 0,
        byDatagram: NameServerEvidence.Delivery = .cut
    ) -> (inout [NameServerEvidence]) -> Void {
        { servers in
            for place in servers.indices {
                servers[place].textByDatagram = byDatagram
                servers[place].textByStream = place < count ? .whole(bytes: 3015) : .silent
            }
        }
    }

    @Test func `large answers that are lost over TCP are as if it were blocked`() throws {
        let diagnosis = diagnose(loseText())
        let verdict = try #require(diagnosis.verdicts.first)
        #expect(diagnosis.codes == [.dnsTCPBlocked] && verdict.severity == .degraded)
        #expect(
            verdict.say == "large answers of 10.77.0.53 and 198.51.100.53 are lost over TCP; small ones arrive"
        )
        #expect(verdict.evidence == [.init("large_answer_by_udp", "cut cut")])
        let whole = diagnose(loseText(byDatagram: .whole(bytes: 3015))).verdicts.first
        #expect(whole?.evidence.first?.value == "3015 bytes 3015 bytes")
        #expect(diagnose(loseText(byDatagram: .silent)).verdicts.first?.evidence.first?.value == "lost lost")
        // A program asks the next server.
        #expect(diagnose(loseText(sparing: 1)).codes == [])
    }

    @Test func `a hole for large packets explains that they are lost`() {
        let hole = Healthy.broken { evidence in
            var servers = evidence.dns.value ?? []
            loseText()(&servers)
            evidence.dns = .known(servers)
            evidence.transport.packetSizes[0].largest = 1396
            evidence.transport.packetSizes[0].transferStalls = .known(true)
        }
        #expect(hole.codes == [.pmtuBlackhole] && hole.masked.map(\.verdict.code) == [.dnsTCPBlocked])
    }

    @Test func `a server without such a text loses nothing`() {
        let diagnosis = diagnose { servers in
            for place in servers.indices { servers[place].textByDatagram = .missing }
        }
        #expect(diagnosis.codes == [])
        #expect(diagnose { $0[0].textByStream = .missing }.codes == [])
    }
}

@Suite struct TransportRuleTests {
    @Test(arguments: [
        (outcome: ReachEvidence.Connection.silent, code: VerdictCode.transportPortBlocked),
        (.refused, .transportPortReset),
    ])
    func `a port that fails at every anchor is filtered`(outcome: ReachEvidence.Connection, code: VerdictCode) throws {
        let diagnosis = Healthy.broken { evidence in
            for anchor in evidence.reach[0].anchors.indices { evidence.reach[0].anchors[anchor].ports[443] = outcome }
        }
        let verdict = try #require(diagnosis.verdicts.first)
        #expect(diagnosis.codes == [code] && verdict.subject == "443" && verdict.family == .ipv4)
        let one = Healthy.broken { $0.reach[0].anchors[0].ports[443] = outcome }
        #expect(one.codes == [])
    }

    @Test func `UDP is blocked when nothing of it comes back, and then the clock is unknown`() {
        let block: (inout Evidence) -> Void = { evidence in
            for reach in evidence.reach.indices {
                for anchor in evidence.reach[reach].anchors.indices {
                    evidence.reach[reach].anchors[anchor].datagrams = .known(false)
                }
            }
            evidence.transport.timeAnswers = .known(false)
        }
        let diagnosis = Healthy.broken { evidence in
            block(&evidence)
            evidence.application.clockOffset = .known(.seconds(20))
        }
        #expect(diagnosis.codes == [.transportUDPBlocked])
        #expect(diagnosis.masked.map(\.verdict.code) == [.clockSkew])
        let time = Healthy.broken { evidence in
            block(&evidence)
            evidence.transport.timeAnswers = .known(true)
        }
        #expect(time.codes == [])
    }

    @Test(arguments: [
        (isAnnounced: false, stalls: Assessment<Bool>.known(true), codes: [VerdictCode.pmtuBlackhole]),
        (true, .known(false), []), (false, .known(false), []), (false, .notAsked, []),
    ])
    func `a hole for large packets is told only when a transfer stalls too`(
        isAnnounced: Bool,
        stalls: Assessment<Bool>,
        codes: [VerdictCode]
    ) throws {
        let diagnosis = Healthy.broken { evidence in
            evidence.transport.packetSizes = [
                .init(.ipv4, largest: 1396, linkMTU: 1500, isAnnounced: isAnnounced, transferStalls: stalls)
            ]
        }
        #expect(diagnosis.codes == codes)
        // Without a transfer nobody knows whether it hurts.
        #expect(diagnosis.notes.map(\.code) == (isAnnounced || stalls == .known(false) ? [.pmtuReduced] : []))
        if let verdict = diagnosis.verdicts.first { #expect(verdict.action.contains("1356")) }
    }
}

@Suite struct ApplicationRuleTests {
    @Test(arguments: [
        (seconds: 1, codes: [VerdictCode](), severity: Severity?.none), (2, [.clockSkew], .warning),
        (5, [.clockSkew], .warning), (6, [.clockSkew], .degraded), (-90, [.clockSkew], .degraded),
    ])
    func `the clock is judged by how far it is off`(seconds: Int, codes: [VerdictCode], severity: Severity?) {
        let diagnosis = Healthy.broken { $0.application.clockOffset = .known(.seconds(seconds)) }
        #expect(diagnosis.codes == codes && diagnosis.severity == severity)
    }

    @Test func `certificates that fail everywhere are changed on the way`() throws {
        let all = Healthy.broken { evidence in
            evidence.application.certificates = ["a", "b"].map {
                .init(anchor: $0, failure: "unknown authority", issuer: "Proxy CA")
            }
        }
        #expect(all.codes == [.tlsIntercepted])
        #expect(try #require(all.verdicts.first).say.hasSuffix("unknown authority, issued by Proxy CA"))
        let one = Healthy.broken { $0.application.certificates[0].failure = "expired" }
        #expect(one.codes == [])
    }

    @Test func `a wrong clock explains certificates that look too old`() {
        let diagnosis = Healthy.broken { evidence in
            evidence.application.clockOffset = .known(.seconds(86_400 * 400))
            evidence.application.certificates = [.init(anchor: "a", failure: "expired", isAboutTime: true)]
        }
        #expect(diagnosis.codes == [.clockSkew])
    }

    @Test func `an anchor is down itself when another one of its family works`() {
        let diagnosis = Healthy.broken { evidence in
            evidence.reach[1].anchors[0].echo = .known(false)
            evidence.reach[1].anchors[0].datagrams = .known(false)
            evidence.reach[1].anchors[0].ports = [80: .silent, 443: .silent]
        }
        #expect(diagnosis.codes == [.targetDown] && diagnosis.verdicts.first?.family == .ipv6)
    }
}

@Suite struct PerformanceRuleTests {
    @Test func `loss is located by comparing the gateway with what lies beyond`() {
        let link = Healthy.broken { evidence in
            evidence.performance.gateway?.received = 51
            for place in evidence.performance.anchors.indices { evidence.performance.anchors[place].received = 50 }
        }
        #expect(link.codes == [.linkLoss] && link.verdicts.first?.say.hasPrefix("15 % ") == true)
        let beyond = Healthy.broken { evidence in
            for place in evidence.performance.anchors.indices { evidence.performance.anchors[place].received = 54 }
        }
        #expect(beyond.codes == [.performanceLoss])
        let one = Healthy.broken { $0.performance.anchors[0].received = 30 }
        #expect(one.codes == [])
        // A router that answers echo requests sparingly forwards everything.
        let sparing = Healthy.broken { $0.performance.gateway?.received = 30 }
        #expect(sparing.codes == [])
    }

    @Test(arguments: [(received: 58, isFault: true), (59, false)])
    func `three in a hundred are too many`(received: Int, isFault: Bool) {
        let diagnosis = Healthy.broken { $0.loseOnLink(received) }
        #expect(diagnosis.codes == (isFault ? [.linkLoss] : []))
    }

    @Test func `latency is that of the nearest anchor`() {
        let far = Healthy.broken { evidence in
            evidence.performance.anchors = [
                Healthy.train("a", median: .milliseconds(600)), Healthy.train("b", median: .milliseconds(251)),
            ]
        }
        #expect(far.codes == [.performanceHighLatency])
        let near = Healthy.broken { $0.performance.anchors[0] = Healthy.train("a", median: .milliseconds(600)) }
        #expect(near.codes == [])
        var budgets = Budgets()
        budgets.roundTrip = .milliseconds(5)
        #expect(Healthy.broken(budgets: budgets) { _ in }.codes == [.performanceHighLatency])
    }

    @Test(arguments: [(median: 40, spread: 31, isFault: true), (40, 29, false), (200, 50, false)])
    func `jitter is large, and large beside the median`(median: Int, spread: Int, isFault: Bool) {
        let diagnosis = Healthy.broken { evidence in
            for place in evidence.performance.anchors.indices {
                var train = Healthy.train("a", median: .milliseconds(median))
                train.fifthPercentile = .milliseconds(median)
                train.ninetyFifthPercentile = .milliseconds(median + spread)
                evidence.performance.anchors[place] = train
            }
        }
        #expect(diagnosis.codes == (isFault ? [.performanceJitter] : []))
    }

    @Test(arguments: [
        (loaded: 850, rpm: 70, codes: [VerdictCode.performanceBufferbloat]), (90, 70, []), (850, 300, []),
    ])
    func `a queue is a fault when latency grows and few round trips are left`(
        loaded: Int,
        rpm: Int,
        codes: [VerdictCode]
    ) {
        let diagnosis = Healthy.broken { evidence in
            evidence.performance.load = .init(
                idle: .microseconds(100),
                loaded: .milliseconds(loaded),
                roundTripsPerMinute: rpm,
                down: 90,
                up: 40
            )
        }
        #expect(diagnosis.codes == codes)
        if let verdict = diagnosis.verdicts.first {
            #expect(verdict.say == "latency grows from 0.1 ms to 850 ms under load (70 round trips per minute)")
        }
    }

    @Test func `throughput is judged by the operator's figures alone`() throws {
        let load = PerformanceEvidence.Load(
            idle: .milliseconds(10),
            loaded: .milliseconds(20),
            roundTripsPerMinute: 3000,
            down: 0.5,
            up: 0.25
        )
        #expect(Healthy.broken { $0.performance.load = load }.codes == [])
        var budgets = Budgets()
        budgets.down = 1
        budgets.up = 1
        let slow = Healthy.broken(budgets: budgets) { $0.performance.load = load }
        #expect(slow.codes == [.performanceLowThroughput])
        #expect(
            try #require(slow.verdicts.first).say
                == "the line is slow: 0.5 Mbit/s arrive of 1 and 0.3 Mbit/s leave of 1"
        )
    }
}
