// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Diagnosis
import Testing

@Suite struct LoadTests {
    /// A line with a long queue that is slower than the operator wants.
    private static let load = PerformanceEvidence.Load(
        idle: .milliseconds(5),
        loaded: .milliseconds(900),
        roundTripsPerMinute: 66,
        down: 2,
        up: 0.5
    )

    private static var budgets: Budgets {
        var budgets = Budgets()
        (budgets.down, budgets.up) = (10, 1)
        return budgets
    }

    private static func broken(_ change: (inout Evidence) -> Void = { _ in }) -> Diagnosis {
        Healthy.broken(budgets: budgets) { evidence in
            evidence.performance.load = load
            change(&evidence)
        }
    }

    @Test func `a queue and a slow line are two faults`() throws {
        let diagnosis = Self.broken()
        #expect(diagnosis.codes == [.performanceBufferbloat, .performanceLowThroughput])
        #expect(diagnosis.verdicts.allSatisfy { $0.severity == .degraded })
        let facts = diagnosis.verdicts.map { Dictionary(uniqueKeysWithValues: $0.evidence.map { ($0.name, $0.value) }) }
        let queue = ["rpm": "66", "idle_seconds": "0.005", "loaded_seconds": "0.9"]
        #expect(facts == [queue, ["down_mbps": "2", "up_mbps": "0.5"]])
    }

    @Test func `an address that two hold hides both`() {
        let diagnosis = Self.broken { $0.links[0].addresses[0].otherHolders = .known(["02:00:00:00:00:66"]) }
        #expect(diagnosis.codes == [.addressDuplicate])
        #expect(diagnosis.masked.map(\.verdict.code) == [.performanceBufferbloat, .performanceLowThroughput])
        #expect(diagnosis.masked.allSatisfy { $0.cause == .addressDuplicate })
    }

    @Test func `a gateway with two addresses hides both`() {
        let diagnosis = Self.broken { evidence in
            evidence.gateways[0].hardwareAddresses = .known(["02:00:00:00:00:01", "02:00:00:00:00:66"])
            evidence.performance.gateway?.received = 40
        }
        #expect(diagnosis.codes == [.gatewayARPConflict] && diagnosis.masked.count == 2)
    }

    @Test func `a portal hides both`() {
        let diagnosis = Self.broken { $0.portal.checks = [.init(anchor: "a", status: 511)] }
        #expect(diagnosis.codes == [.captivePortal] && diagnosis.masked.count == 2)
        #expect(diagnosis.state(.performance) == .hidden(by: .captivePortal))
    }

    @Test func `a black hole explains a slow line, and no queue`() {
        let diagnosis = Self.broken { evidence in
            evidence.transport.packetSizes = [
                .init(.ipv4, largest: 1396, linkMTU: 1500, isAnnounced: false, transferStalls: .known(true))
            ]
        }
        #expect(diagnosis.codes == [.pmtuBlackhole, .performanceBufferbloat])
        #expect(diagnosis.masked.map(\.cause) == [.pmtuBlackhole])
    }

    @Test func `what was not measured is not judged`() {
        let half = Healthy.broken(budgets: Self.budgets) { evidence in
            evidence.performance.load = .init(idle: nil, loaded: nil, roundTripsPerMinute: nil, down: 20, up: nil)
        }
        #expect(half.codes == [] && half.state(.performance) == .sound)
        let never = Healthy.broken(budgets: Self.budgets) { _ in }
        #expect(never.codes == [])
    }

    @Test func `a load test that could not be made leaves its layer open`() {
        let diagnosis = Healthy.broken { $0.performance.loadGap = "load test: nq.download answered with status 404" }
        #expect(diagnosis.codes == [])
        #expect(
            diagnosis.state(.performance)
                == .notAssessed(because: "load test: nq.download answered with status 404")
        )
    }

    @Test(
        arguments: [
            (0, .poor), (299, .poor), (300, .fair), (999, .fair), (1000, .good), (5999, .good), (6000, .excellent),
            (90_000, .excellent),
        ] as [(Int, Responsiveness)]
    )
    func `responsiveness has four classes`(rate: Int, expected: Responsiveness) {
        #expect(Responsiveness(rate) == expected)
        let load = PerformanceEvidence.Load(idle: nil, loaded: nil, roundTripsPerMinute: rate, down: nil, up: nil)
        #expect(load.responsiveness == expected)
    }
}
