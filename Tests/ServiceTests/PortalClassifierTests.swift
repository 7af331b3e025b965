// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import PathModel
import Testing

@testable import PathService
@testable import Probes

@Suite struct PortalClassifierTests {
    private static let portal = ProbeResult(.failure(.captivePortal, detail: ""))
    private static let success = ProbeResult(.success)

    private static func state(
        _ url: String,
        _ result: ProbeResult?,
        interface: String? = nil,
        mark: UInt32? = nil
    ) throws -> ProbeState {
        let definition = ProbeDefinition(
            name: url,
            method: .http,
            target: .page(try #require(PageAddress(url))),
            route: ProbeRoute(interface: interface, mark: mark)
        )
        let schedule = ProbeSchedule(interval: .seconds(30), threshold: 3, at: .zero, chance: 0)
        var state = ProbeState(definition: definition, schedule: schedule)
        guard let result else { return state }
        state.schedule.start(at: .zero)
        _ = state.schedule.finish(result, at: .zero, chance: 0)
        state.record(result, started: .zero, at: .zero)
        return state
    }

    private static let paths: [(name: String, interface: [String])] = [
        ("default", ["eth0", "enp0s31f6"]), ("wifi", ["wlan0"]), ("none", []),
    ]

    private static func verdicts(_ states: [ProbeState]) -> [String: Bool] {
        Dictionary(
            uniqueKeysWithValues: PortalClassifier.verdicts(states, paths: paths).map {
                ($0.monitor, $0.isCaptive)
            }
        )
    }

    @Test func `nothing is said without a result over plain HTTP`() throws {
        #expect(Self.verdicts([]).isEmpty)
        #expect(Self.verdicts([try Self.state("http://a.test/", nil)]).isEmpty)
        #expect(Self.verdicts([try Self.state("https://a.test/", Self.success)]).isEmpty)
        #expect(
            Self.verdicts([try Self.state("http://a.test/", ProbeResult(.notAssessed(advice: "")))])
                .isEmpty
        )
    }

    @Test func `a probe by the routes speaks of the default path`() throws {
        #expect(Self.verdicts([try Self.state("http://a.test/", Self.success)]) == ["default": false])
        #expect(Self.verdicts([try Self.state("http://a.test/", Self.portal)]) == ["default": true])
        #expect(Self.verdicts([try Self.state("http://a.test/", Self.portal, mark: 7)]).isEmpty)
    }

    @Test func `one that is bound speaks of the paths by its interface`() throws {
        #expect(
            Self.verdicts([try Self.state("http://a.test/", Self.portal, interface: "wlan0")]) == [
                "wifi": true
            ]
        )
        #expect(
            Self.verdicts([try Self.state("http://a.test/", Self.portal, interface: "eth0")]) == [
                "default": true
            ]
        )
        #expect(
            Self.verdicts([try Self.state("http://a.test/", Self.portal, interface: "enp0s31f6")]) == [
                "default": true
            ]
        )
        #expect(
            Self.verdicts([try Self.state("http://a.test/", Self.portal, interface: "wwan0")]).isEmpty
        )
    }

    @Test func `one portal is enough`() throws {
        let states = try [
            Self.state("http://a.test/", Self.success), Self.state("http://b.test/", Self.portal),
        ]
        #expect(Self.verdicts(states) == ["default": true])
    }
}
