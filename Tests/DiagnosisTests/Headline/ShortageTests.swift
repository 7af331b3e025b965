// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Diagnosis
import PathModel
import Testing

/// The headline while this machine itself lacks ports, descriptors or memory.
@Suite struct ShortageTests {
    private static func headline(_ probes: [ProbeObservation]) -> Headline {
        let eth0 = PathInterface(name: "eth0", index: 2, type: .wiredEthernet)
        let gateway = Gateway(address: ScopedAddress(.v4(0xC000_0201)), interface: "eth0", family: .ipv4)
        let path = Path(
            status: .satisfied,
            reason: nil,
            interfaces: [eth0],
            ipv4: FamilyPath(interfaces: [eth0], gateways: [gateway], source: .v4(0xC000_0207)),
            dns: DNSState(servers: [DNSServer(ScopedAddress(.v4(0xC000_0235)))], isUsable: true)
        )
        var facts = HeadlineFacts(host: "office-7", path: path, statusSince: .seconds(100), now: .seconds(300))
        facts.probes = probes
        return HeadlineEvaluator(facts).headline
    }

    private static func short(
        _ name: String,
        _ position: ProbeObservation.Position,
        isFailing: Bool = true
    ) -> ProbeObservation {
        ProbeObservation(
            name,
            position,
            isFailing: isFailing,
            failingSince: .seconds(280),
            failure: "resources",
            failureDetail: "no local port is left (EADDRNOTAVAIL)"
        )
    }

    @Test func `tests that cannot run blame this machine, not the network or the name server`() {
        let headline = Self.headline([Self.short("web", .beyond), Self.short("ns", .nameServer)])
        #expect(headline.state == .degraded && headline.cause?.code == "resources")
        #expect(headline.message == "no local port is left (EADDRNOTAVAIL), so that the test web cannot run")
        #expect(headline.hint?.hasPrefix("`ss -s` counts connections") == true)
        #expect(headline.chain.map(\.condition) == [.degraded, .good, .notAsked, .notAsked, .notAsked])
        // Once is no row of failures.
        #expect(Self.headline([Self.short("web", .beyond, isFailing: false)]).state == .connected)
    }

    @Test func `a test that cannot run does not keep others from being believed`() {
        var far = Self.short("far", .beyond, isFailing: false)
        far.answered = .seconds(250)
        let web = ProbeObservation("web", .beyond, isFailing: true, failingSince: .seconds(270), failure: "timeout")
        #expect(Self.headline([web]).state == .noInternet)
        #expect(Self.headline([web, far]).state == .noInternet)
        far.answered = .seconds(275)
        #expect(Self.headline([web, far]).state != .noInternet)
    }

    @Test func `what still answers is not put in doubt`() {
        let answered = ProbeObservation("far", .beyond, answered: .seconds(290), roundTrip: .milliseconds(12))
        let headline = Self.headline([Self.short("web", .beyond), answered])
        #expect(headline.state == .degraded)
        #expect(headline.chain.first { $0.kind == .internet }?.condition == .good)
    }
}
