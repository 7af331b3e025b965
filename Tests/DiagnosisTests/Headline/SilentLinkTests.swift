// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Diagnosis
import PathModel
import Testing

/// The headline of a default route without a gateway (S52).
@Suite struct SilentLinkTests {
    private static func headline(
        from source: String,
        isUnanswered: Bool = false,
        _ change: (inout HeadlineFacts) -> Void = { _ in }
    ) -> Headline {
        let eth0 = PathInterface(name: "eth0", index: 2, type: .wiredEthernet)
        let path = Path(
            status: .satisfied,
            reason: nil,
            interfaces: [eth0],
            ipv4: FamilyPath(
                interfaces: [eth0],
                gateways: [],
                source: IPAddress(source) ?? .v4(0),
                isOnLink: true,
                isUnanswered: isUnanswered
            ),
            dns: DNSState(servers: [DNSServer(ScopedAddress(.v4(0xC000_0235)))], isUsable: true)
        )
        var facts = HeadlineFacts(host: "office-7", path: path, statusSince: .seconds(100), now: .seconds(300))
        change(&facts)
        return HeadlineEvaluator(facts).headline
    }

    @Test func `no destination answers on the link: local only`() {
        let headline = Self.headline(from: "192.0.2.7", isUnanswered: true)
        #expect(headline.state == .localOnly)
        #expect(
            headline.message == "the default route via eth0 has no gateway, and no destination answers on the link"
        )
        #expect(headline.chain.first { $0.condition == .broken }?.kind == .gateway)
        #expect(Self.headline(from: "192.0.2.7").state == .connected)
    }

    @Test func `a link-local source: local only, unless something beyond answers`() {
        let headline = Self.headline(from: "169.254.84.69")
        #expect(headline.state == .localOnly)
        #expect(headline.message == "eth0 has only the link-local address 169.254.84.69, which routers do not forward")
        let answered = ProbeObservation("web", .beyond, answered: .seconds(290), roundTrip: .milliseconds(12))
        #expect(Self.headline(from: "169.254.84.69") { $0.probes = [answered] }.state == .online)
        let sixth = FamilyPath(interfaces: [], gateways: [], source: .v6(1 << 64))
        #expect(Self.headline(from: "169.254.84.69") { $0.path.ipv6 = sixth }.state == .connected)
    }
}
