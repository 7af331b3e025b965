// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Diagnosis
import PathModel
import Testing

/// What the machine's own connections make of the headline, at 300 s since boot.
@Suite struct TrafficHeadlineTests {
    private static func connections(
        _ family: AddressFamily = .ipv4,
        answered: Int? = nil,
        stalled: Int? = nil
    ) -> TrafficObservation {
        TrafficObservation(
            family: family,
            interface: "eth0",
            gateway: IPAddress(family == .ipv4 ? "192.0.2.1" : "2001:db8::1"),
            answered: answered.map { .seconds($0) },
            stalledSince: stalled.map { .seconds($0) }
        )
    }

    private static func headline(
        _ traffic: [TrafficObservation],
        hasIPv6: Bool = true,
        _ change: (inout HeadlineFacts) -> Void = { _ in }
    ) -> Headline {
        let eth0 = PathInterface(name: "eth0", index: 2, type: .wiredEthernet)
        func family(_ family: AddressFamily, _ gateway: String, _ source: String) -> FamilyPath {
            let gateways = IPAddress(gateway).map {
                [Gateway(address: ScopedAddress($0), interface: "eth0", family: family, isReachable: nil)]
            }
            return FamilyPath(interfaces: [eth0], gateways: gateways ?? [], source: IPAddress(source) ?? .v4(0))
        }
        let path = Path(
            status: .satisfied,
            reason: nil,
            interfaces: [eth0],
            ipv4: family(.ipv4, "192.0.2.1", "192.0.2.7"),
            ipv6: hasIPv6 ? family(.ipv6, "2001:db8::1", "2001:db8::7") : nil,
            dns: DNSState(servers: [DNSServer(ScopedAddress(.v4(0xC000_0235)))], isUsable: true)
        )
        var facts = HeadlineFacts(host: "h", path: path, statusSince: .seconds(100), now: .seconds(300))
        facts.traffic = traffic
        change(&facts)
        return HeadlineEvaluator(facts).headline
    }

    @Test func `connections that are answered make it online without a test, for as long as an answer counts`() {
        let headline = Self.headline([Self.connections(answered: 290)])
        #expect(headline.state == .online)
        #expect(headline.message == "connections are answered via eth0 and 192.0.2.1")
        #expect(headline.chain.first { $0.kind == .internet }?.condition == .good)
        #expect(Self.headline([Self.connections(answered: 121)]).state == .online)
        #expect(Self.headline([Self.connections(answered: 119)]).state == .connected)
        // What was answered before the path was satisfied says nothing of it.
        #expect(Self.headline([Self.connections(answered: 200)]) { $0.statusSince = .seconds(210) }.state == .connected)
    }

    @Test func `connections that are unanswered in every family that is known to work are an outage`() {
        let headline = Self.headline([Self.connections(answered: 290, stalled: 290)])
        #expect(headline.state == .noInternet && headline.began == .seconds(290))
        #expect(headline.message == "IPv4 connections through 192.0.2.1 are no longer answered")
        #expect(headline.cause?.code == "traffic.stalled" && headline.cause?.isSpecific == false)
        #expect(headline.chain.first { $0.kind == .internet }?.condition == .broken)
        let both = Self.headline([Self.connections(stalled: 290), Self.connections(.ipv6, stalled: 291)])
        #expect(both.state == .noInternet)
        #expect(both.message == "connections through 192.0.2.1 and through 2001:db8::1 are no longer answered")
        let only = Self.headline([Self.connections(stalled: 290)], hasIPv6: false)
        #expect(only.message == "connections through 192.0.2.1 are no longer answered")
    }

    @Test func `one of several gateways alone is worse, not an outage`() {
        var second = Self.connections(answered: 298)
        second.gateway = IPAddress("192.0.2.9")
        let headline = Self.headline([Self.connections(stalled: 290), second], hasIPv6: false)
        #expect(headline.state == .degraded)
        #expect(headline.message == "connections through 192.0.2.1 are no longer answered")
        second.answered = .seconds(289)
        #expect(Self.headline([Self.connections(stalled: 290), second], hasIPv6: false).state == .noInternet)
    }

    @Test func `one family alone is worse, not an outage, as long as the other is answered since`() {
        let headline = Self.headline([Self.connections(answered: 298), Self.connections(.ipv6, stalled: 290)])
        #expect(headline.state == .degraded)
        #expect(headline.message == "IPv6 connections through 2001:db8::1 are no longer answered")
        // What was answered before only may be gone as well.
        let doubtful = Self.headline([Self.connections(answered: 289), Self.connections(.ipv6, stalled: 290)])
        #expect(doubtful.state == .noInternet)
    }

    @Test func `a test that answers long after connections stalled shows that it is not all`() {
        let test = ProbeObservation("web", .beyond, family: .ipv4, answered: .seconds(299))
        #expect(Self.headline([Self.connections(stalled: 290)]) { $0.probes = [test] }.state == .degraded)
        let early = ProbeObservation("web", .beyond, family: .ipv4, answered: .seconds(292))
        #expect(Self.headline([Self.connections(stalled: 290)]) { $0.probes = [early] }.state == .noInternet)
    }

    @Test func `answers end an outage that a verdict or tests have named before`() {
        let verdict = Verdict(.wanDown, .broken, say: "nothing beyond it answers", action: "-")
        let standing = VerdictTracker.Standing(verdict, since: .seconds(250), lastSeen: .seconds(280))
        #expect(Self.headline([Self.connections(answered: 270)]) { $0.verdicts = [standing] }.state == .noInternet)
        #expect(Self.headline([Self.connections(answered: 290)]) { $0.verdicts = [standing] }.state == .online)
        let failing = ProbeObservation(
            "web",
            .beyond,
            family: .ipv4,
            isFailing: true,
            failingSince: .seconds(200),
            lastStart: .seconds(295),
            failure: "timeout"
        )
        let headline = Self.headline([Self.connections(answered: 298)]) { $0.probes = [failing] }
        #expect(headline.state != .noInternet, "\(headline)")
        #expect(Self.headline([Self.connections(answered: 199)]) { $0.probes = [failing] }.state == .noInternet)
    }
}
