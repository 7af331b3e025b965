// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Testing

@testable import Diagnosis

/// What a diagnosis shows of layers where nothing is wrong.
@Suite struct FiguresTests {
    private static func train(_ median: Duration, sent: Int = 10, received: Int = 10) -> PerformanceEvidence.Train {
        .init(
            target: "t",
            sent: sent,
            received: received,
            median: median,
            fifthPercentile: median,
            ninetyFifthPercentile: median
        )
    }

    private static func evidence() -> Evidence {
        var evidence = Evidence()
        evidence.links = [LinkEvidence("eth0")]
        evidence.performance.gateway = train(.microseconds(410))
        evidence.performance.anchors = [
            train(.milliseconds(12), received: 9), train(.milliseconds(11)), train(.milliseconds(1), received: 0),
        ]
        var reach = ReachEvidence(.ipv4)
        reach.anchors = (0..<3).map { ReachEvidence.Anchor("a\($0)", .v4(0xC000_0200 + UInt32($0))) }
        reach.anchors[0].echo = .known(true)
        reach.anchors[1].ports = [443: .silent]
        evidence.reach = [reach]
        var servers = [NameServerEvidence(.v4(0xC000_0235)), NameServerEvidence(.v4(0xC000_0236))]
        servers[0].latency = .milliseconds(9)
        servers[1].latency = .microseconds(2340)
        evidence.dns = .known(servers)
        evidence.application.clockOffset = .known(.milliseconds(-3))
        return evidence
    }

    @Test(
        arguments: [
            (.link, ["mtu": "1500"]), (.gateway, ["round_trip_seconds": "0.00041"]),
            (.wan, ["answering": "1", "asked": "2"]), (.dns, ["answer_seconds": "0.00234"]),
            (.application, ["offset_seconds": "-0.003"]),
            (.performance, ["round_trip_seconds": "0.011", "loss_percent": "0"]), (.transport, [:]), (.address, [:]),
        ] as [(Layer, [String: String])]
    )
    func `a layer has the best of what was measured`(layer: Layer, expected: [String: String]) {
        let figures = Self.evidence().figures(at: layer)
        #expect(Dictionary(uniqueKeysWithValues: figures.map { ($0.name, $0.value) }) == expected)
    }

    @Test(arguments: Layer.allCases)
    func `nothing is shown of what was not asked`(layer: Layer) {
        #expect(Evidence().figures(at: layer).allSatisfy { $0.name == "asked" || $0.name == "answering" })
    }
}
