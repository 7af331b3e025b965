// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Diagnosis
import LinuxIO
import Netlink
import TestSupport
import Testing

@testable import Examination
@testable import Probes

@Suite struct RecentAnswersTests {
    private static let anchor = IPAddress.v4(0xC000_0201)

    /// A probe whose last run began two seconds after boot.
    private static func state(
        _ method: ProbeMethod,
        _ target: String,
        _ outcome: ProbeResult.Outcome = .success,
        mark: UInt32? = nil
    ) throws -> ProbeState {
        let target = try #require(ProbeTarget(target, method: method))
        var definition = ProbeDefinition(name: "p", method: method, target: target)
        definition.route.mark = mark
        let schedule = ProbeSchedule(interval: .seconds(30), threshold: 3, at: .zero, chance: 0)
        var state = ProbeState(definition: definition, schedule: schedule)
        state.last = ProbeResult(outcome, duration: .milliseconds(7), address: ScopedAddress(anchor))
        state.lastStart = .seconds(2)
        return state
    }

    @Test func `answers of before do not count, failures and routes of their own neither`() throws {
        let right = try [Self.state(.icmp, "192.0.2.1"), Self.state(.tcp, "192.0.2.1:443")]
        let address = SocketAddress(ScopedAddress(Self.anchor), port: 443)
        for (since, counts) in [(0, true), (2, true), (3, false)] as [(Int, Bool)] {
            let recent = RecentAnswers(right, since: .seconds(since))
            #expect(recent.echo(of: Self.anchor) == (counts ? .milliseconds(7) : nil))
            #expect(recent.isConnected(to: address) == counts && recent.isAnswered(by: Self.anchor) == counts)
            #expect(!recent.hasNames)
        }
        let wrong = try [
            Self.state(.icmp, "192.0.2.1", .failure(.timeout, detail: "")), Self.state(.tcp, "192.0.2.1:443", mark: 1),
            Self.state(.tcp, "192.0.2.1:80"), Self.state(.dns, "example.test"),
        ]
        let recent = RecentAnswers(wrong, since: .seconds(2))
        #expect(recent.echo(of: Self.anchor) == nil && !recent.isConnected(to: address) && recent.hasNames)
    }

    @Test func `what was answered a moment ago is evidence, and not queried again`() throws {
        var targets = Targets()
        targets.anchors = [Targets.Anchor("a", host: nil, ipv4: Self.anchor, ipv6: nil)]
        var order = ExaminationOrder(targets: targets, servers: nil)
        // The connections of its pages stand for those to its ports.
        for (recent, tasks) in [
            (RecentAnswers(), 1),
            (RecentAnswers(try [Self.state(.icmp, "192.0.2.1")], since: .seconds(1)), 0),
            (RecentAnswers(try [Self.state(.tcp, "192.0.2.1:443")], since: .seconds(1)), 1),
        ] {
            order.recent = recent
            var state = ExaminationState(order, kernel: try LiveKernel())
            state.facts.routes = [.init(family: .ipv4, route: .known(.found), nexthops: [], hasSource: true)]
            Check.anchors.start(&state)
            #expect(state.tasks.count == tasks)
            let evidence = try #require(state.evidence.reach.first?.anchors.first)
            #expect((evidence.echo == .known(true)) == (recent.echo(of: Self.anchor) != nil))
            let isConnected = recent.isConnected(to: SocketAddress(ScopedAddress(Self.anchor), port: 443))
            #expect((evidence.ports[443] == .connected) == isConnected)
        }
    }
}
