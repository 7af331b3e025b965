// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Diagnosis
import Examination
import Testing

@testable import PathService
@testable import Probes

/// What is sent to confirm that nothing is wrong.
@Suite struct ConfirmationTests {
    private static let servers = [
        ProbeDefinition(name: "nameserver1", method: .dns, target: .domain(".")),
        ProbeDefinition(name: "nameserver2", method: .dns, target: .domain(".")),
    ]
    private static let hosts: [IPAddress] = [.v4(0xC000_0201), .v4(0xC000_0202)]

    private static func evidence(echo: Bool, ports: [UInt16: ReachEvidence.Connection]) -> Evidence {
        var reach = ReachEvidence(.ipv4)
        reach.anchors = hosts.enumerated().map { ReachEvidence.Anchor("a\($0)", $1) }
        reach.anchors[1].echo = .known(echo)
        reach.anchors[1].ports = ports
        var evidence = Evidence()
        evidence.reach = [reach]
        return evidence
    }

    private static func recent(_ target: ProbeTarget, _ method: ProbeMethod) -> RecentAnswers {
        let schedule = ProbeSchedule(interval: .seconds(30), threshold: 3, at: .zero, chance: 0)
        let definition = ProbeDefinition(name: "p", method: method, target: target)
        var state = ProbeState(definition: definition, schedule: schedule)
        let address = method == .dns ? nil : ScopedAddress(hosts[0])
        state.last = ProbeResult(.success, duration: .milliseconds(7), address: address)
        state.lastStart = .seconds(9)
        return RecentAnswers([state], since: .seconds(5))
    }

    @Test(
        arguments: [
            (true, [443: .connected], [.icmp, .dns]), (false, [80: .silent, 443: .connected], [.tcp, .dns]),
            (false, [443: .silent], [.dns]),
        ] as [(Bool, [UInt16: ReachEvidence.Connection], [ProbeMethod])]
    )
    func `one host of a family gets a packet that it answered before, and one name server a query`(
        echo: Bool,
        ports: [UInt16: ReachEvidence.Connection],
        methods: [ProbeMethod]
    ) {
        let sent = Confirmation.definitions(
            Self.evidence(echo: echo, ports: ports),
            servers: Self.servers,
            recent: RecentAnswers()
        )
        #expect(sent.map(\.method) == methods)
    }

    @Test func `what a probe was answered is not sent again`() {
        let evidence = Self.evidence(echo: true, ports: [:])
        func methods(_ recent: RecentAnswers) -> [ProbeMethod] {
            Confirmation.definitions(evidence, servers: Self.servers, recent: recent).map(\.method)
        }
        let host = ProbeTarget.host(.address(ScopedAddress(Self.hosts[0])), port: nil)
        #expect(methods(Self.recent(host, .icmp)) == [.dns])
        #expect(methods(Self.recent(.domain("."), .dns)) == [.icmp])
    }
}
