// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Diagnosis
import PathModel
import Testing

/// Since when a state stands, and which changes are reported.
@Suite struct HeadlineTrackerTests {
    private static let connected = headline { _ in }
    private static let offline = HeadlineEvaluator(
        HeadlineFacts(
            host: "office-7",
            path: Path(status: .unsatisfied, reason: .noCarrier, subject: ReasonSubject(interface: "eth0"))
        )
    ).headline

    /// The headline of a satisfied path, 1000 s after the boot unless the change says otherwise.
    private static func headline(_ change: (inout HeadlineFacts) -> Void) -> Headline {
        let server = DNSServer(ScopedAddress(.v4(0xC000_0235)))
        let path = Path(status: .satisfied, reason: nil, dns: DNSState(servers: [server], isUsable: true))
        var facts = HeadlineFacts(host: "office-7", path: path, now: .seconds(1000))
        change(&facts)
        return HeadlineEvaluator(facts).headline
    }

    /// A test that fails since a second of the clock, decided or not.
    private static func failing(since: Int, isDecided: Bool) -> Headline {
        headline {
            $0.now = .seconds(since)
            $0.probes = [
                ProbeObservation(
                    "far",
                    .beyond,
                    isFailing: isDecided,
                    failingSince: .seconds(since),
                    answered: .seconds(since - 5)
                )
            ]
        }
    }

    /// A test that answers again since a second of the clock, after a state that was reported before.
    private static func answering(since: Int, reported: Duration) -> Headline {
        headline {
            ($0.now, $0.reportedSince) = (.seconds(since), reported)
            $0.probes = [ProbeObservation("far", .beyond, answered: .seconds(since))]
        }
    }

    @Test func `a change is reported once its state stood for a second, with how long the one before stood`() {
        var tracker = HeadlineTracker()
        tracker.apply(Self.connected, at: .seconds(1))
        #expect(tracker.due == nil && tracker.dequeueChange(at: .seconds(9)) == nil, "the first is not reported")
        tracker.apply(Self.offline, at: .seconds(10))
        #expect(tracker.due == .seconds(11) && tracker.dequeueChange(at: .milliseconds(10_900)) == nil)
        let change = tracker.dequeueChange(at: .seconds(11))
        #expect(change?.headline == Self.offline && change?.since == .seconds(10))
        #expect(change?.previous == Self.connected && change?.previousDuration == .seconds(9))
        #expect(tracker.due == nil && tracker.dequeueChange(at: .seconds(12)) == nil, "it was reported")
        // What is over within a second is not reported, and the state before goes on.
        tracker.apply(Self.connected, at: .seconds(20))
        tracker.apply(Self.offline, at: .milliseconds(20_500))
        #expect(tracker.due == nil && tracker.since == .seconds(10))
        tracker.apply(Self.connected, at: .seconds(30))
        #expect(tracker.dequeueChange(at: .seconds(31))?.previousDuration == .seconds(20))
    }

    @Test func `an outage begins with the first failure and ends with the first answer, each in one step`() {
        var tracker = HeadlineTracker()
        tracker.apply(Self.answering(since: 100, reported: .zero), at: .seconds(100))
        #expect(tracker.headline?.state == .online)
        tracker.apply(Self.failing(since: 200, isDecided: false), at: .seconds(202))
        #expect(tracker.headline?.state == .checking && tracker.since == .seconds(200) && tracker.due == nil)
        tracker.apply(Self.failing(since: 200, isDecided: true), at: .seconds(204))
        #expect(tracker.since == .seconds(200), "the due moment has passed")
        let down = tracker.dequeueChange(at: .seconds(204))
        #expect(down?.headline.state == .noInternet && down?.since == .seconds(200))
        #expect(down?.previousDuration == .seconds(100))
        // One answers at 233, and the others were tested by 235.
        tracker.apply(Self.answering(since: 233, reported: tracker.reportedSince), at: .seconds(235))
        let up = tracker.dequeueChange(at: .seconds(235))
        #expect(up?.headline.state == .online && up?.since == .seconds(233) && up?.previousDuration == .seconds(33))
    }

    @Test func `the first state is reported when something is wrong`() {
        var tracker = HeadlineTracker()
        tracker.apply(Self.offline, at: .seconds(5))
        #expect(tracker.since == .seconds(5) && tracker.due == .seconds(6))
        let change = tracker.dequeueChange(at: .seconds(6))
        #expect(change?.headline == Self.offline && change?.since == .seconds(5))
        #expect(change?.previous.state == .checking && change?.previousDuration == .zero)
    }

    @Test func `an outage does not end before it was last found`() {
        var tracker = HeadlineTracker()
        tracker.apply(Self.answering(since: 100, reported: .zero), at: .seconds(100))
        tracker.apply(Self.failing(since: 200, isDecided: true), at: .seconds(204))
        _ = tracker.dequeueChange(at: .seconds(204))
        tracker.apply(Self.failing(since: 200, isDecided: true), at: .seconds(500))
        // Another test has answered since 231, which ended nothing.
        tracker.apply(Self.answering(since: 231, reported: tracker.reportedSince), at: .seconds(510))
        #expect(tracker.dequeueChange(at: .seconds(511))?.since == .seconds(500))
    }

    @Test func `a failure that came to nothing is no change`() {
        var tracker = HeadlineTracker()
        tracker.apply(Self.answering(since: 100, reported: .zero), at: .seconds(100))
        tracker.apply(Self.failing(since: 200, isDecided: false), at: .seconds(202))
        tracker.apply(Self.answering(since: 203, reported: tracker.reportedSince), at: .seconds(203))
        #expect(tracker.due == nil && tracker.since == .seconds(100))
    }

    @Test func `what the kernel reports while tests fail began with the first failure`() {
        var tracker = HeadlineTracker()
        tracker.apply(Self.connected, at: .seconds(1))
        tracker.apply(Self.failing(since: 200, isDecided: false), at: .seconds(202))
        tracker.apply(Self.offline, at: .seconds(203))
        #expect(tracker.dequeueChange(at: .seconds(203))?.since == .seconds(200))
    }

    @Test func `a clearer cause is reported once, and dated like the state`() {
        func down(_ code: VerdictCode?) -> Headline {
            Self.headline {
                let silent = ProbeObservation("far", .beyond, isFailing: true, failingSince: .seconds(200))
                $0.probes = [silent]
                $0.verdicts =
                    code.map {
                        let verdict = Verdict($0, .broken, say: $0.rawValue, action: "")
                        return [VerdictTracker.Standing(verdict, since: .seconds(210), lastSeen: .seconds(210))]
                    } ?? []
            }
        }
        var tracker = HeadlineTracker()
        tracker.apply(Self.connected, at: .seconds(1))
        tracker.apply(down(nil), at: .seconds(204))
        #expect(tracker.dequeueChange(at: .seconds(204))?.headline.cause?.code == "tests")
        tracker.apply(down(.wanDown), at: .seconds(210))
        #expect(tracker.due == .seconds(211) && tracker.dequeueChange(at: .seconds(210)) == nil)
        tracker.apply(down(.wanDown), at: .seconds(211))
        let change = tracker.dequeueChange(at: .seconds(211))
        #expect(change?.headline.cause?.code == "wan.down" && change?.previous.cause?.code == "tests")
        #expect(change?.since == .seconds(200) && change?.previousSince == .seconds(200))
        // Losing the verdict and finding it again is no news.
        tracker.apply(down(nil), at: .seconds(220))
        tracker.apply(down(.wanDown), at: .seconds(230))
        #expect(tracker.due == nil)
        tracker.apply(down(.upstreamLoop), at: .seconds(240))
        #expect(tracker.due == .seconds(241))
    }
}
