// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import LinuxIO
import Testing

@testable import PathService

private let noon = WallTime(nanoseconds: 1_795_176_000_000_000_000)

private func at(_ second: Double) -> WallTime { noon + .milliseconds(Int64((second * 1000).rounded())) }

extension OutageMark {
    fileprivate static func up(_ second: Double, of monitor: String = "default") -> OutageMark {
        .status(at(second), monitor: monitor, isSatisfied: true, reason: "", message: "")
    }

    fileprivate static func down(_ second: Double, of monitor: String = "default") -> OutageMark {
        .status(at(second), monitor: monitor, isSatisfied: false, reason: "no_carrier", message: "lost")
    }

    /// A state of the headline; one that is not bad is `online`.
    fileprivate static func headline(_ state: String, since: Double, told: Double? = nil) -> OutageMark {
        let isBad = state != "online"
        return .headline(
            at(told ?? since + 1),
            since: at(since),
            isBad: isBad,
            reason: isBad ? state : "",
            message: isBad ? "\(state)!" : ""
        )
    }

    fileprivate static func started(_ second: Double, alive: Double) -> OutageMark {
        .started(at(second), lastHeard: at(alive))
    }
}

/// What a log tells, and the outages of the headline that are to be made of it.
private struct Story: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let marks: [OutageMark]
    var since = 0.0
    let until: Double
    var known: Double?
    /// Where each begins and ends, and why.
    let outages: [(start: Double, end: Double, reason: String)]
}

private let judged = [
    Story(
        testDescription: "a portal while the path is satisfied",
        marks: [.up(0), .headline("login_needed", since: 10), .headline("online", since: 40)],
        until: 100,
        outages: [(10, 40, "login_needed")]
    ),
    Story(
        testDescription: "a carrier that is lost for 72 s",
        marks: [
            .up(0), .down(100), .headline("offline", since: 100), .up(172), .headline("online", since: 172),
        ],
        until: 200,
        outages: [(100, 172, "offline")]
    ),
    Story(
        testDescription: "the headline is judged a moment after the path",
        marks: [.up(0), .down(100), .headline("offline", since: 100.001), .up(172), .headline("online", since: 172)],
        until: 200,
        outages: [(100, 172, "offline")]
    ),
    Story(
        testDescription: "a carrier that is lost for less than a second",
        marks: [.up(0), .down(10), .up(10.5)],
        until: 20,
        outages: [(10, 10.5, "no_carrier")]
    ),
    Story(
        testDescription: "a carrier that is lost for less than a second while there is no Internet",
        marks: [
            .up(0), .headline("no_internet", since: 10), .down(20), .up(20.5), .headline("online", since: 30),
        ],
        until: 40,
        outages: [(10, 30, "no_internet")]
    ),
    Story(
        testDescription: "a path that is satisfied again does not make the headline good",
        marks: [.down(0), .headline("local_only", since: 5), .up(10), .headline("online", since: 15)],
        until: 20,
        outages: [(0, 15, "local_only")]
    ),
    Story(
        testDescription: "an outage through several states has the last of them for a reason",
        marks: [
            .up(0), .headline("no_internet", since: 10), .down(20), .headline("offline", since: 20), .up(30),
            .headline("online", since: 30),
        ],
        until: 40,
        outages: [(10, 30, "offline")]
    ),
    Story(
        testDescription: "names fail first, then everything",
        marks: [
            .up(0), .headline("dns_broken", since: 10), .headline("no_internet", since: 15, told: 42),
            .headline("online", since: 50), .headline("dns_broken", since: 60),
        ],
        until: 70,
        outages: [(10, 50, "no_internet"), (60, 70, "dns_broken")]
    ),
    Story(
        testDescription: "before the first word of the headline the path counts",
        marks: [.down(0), .up(10), .headline("online", since: 10), .down(20), .up(30)],
        until: 40,
        outages: [(0, 10, "no_carrier"), (20, 30, "no_carrier")]
    ),
    Story(
        testDescription: "other monitors say nothing of it",
        marks: [.up(0), .down(10, of: "vpn"), .up(20, of: "vpn")],
        until: 40,
        outages: []
    ),
    Story(
        testDescription: "without a word of the path nothing is known",
        marks: [.headline("no_internet", since: 10)],
        until: 40,
        known: 0,
        outages: []
    ),
]

private let interrupted = [
    Story(
        testDescription: "a daemon that is killed leaves no headline behind",
        marks: [
            .up(0), .headline("no_internet", since: 10), .started(50, alive: 30), .up(50),
            .headline("no_internet", since: 60), .headline("online", since: 70),
        ],
        until: 80,
        known: 60,
        outages: [(10, 30, "no_internet"), (60, 70, "no_internet")]
    ),
    Story(
        testDescription: "a daemon that ended does not either",
        marks: [.up(0), .headline("no_internet", since: 10), .stopped(at(30)), .started(50, alive: 30), .up(50)],
        until: 80,
        known: 60,
        outages: [(10, 30, "no_internet")]
    ),
    Story(
        testDescription: "a state does not begin before the daemon that tells it",
        marks: [.up(0), .started(10, alive: 5), .up(10), .headline("no_internet", since: 8, told: 11)],
        until: 20,
        known: 15,
        outages: [(10, 20, "no_internet")]
    ),
    Story(
        testDescription: "while the machine sleeps nothing is known, and the headline stays",
        marks: [
            .up(0), .headline("login_needed", since: 10), .unwatched(for: .seconds(100), at: at(120)),
            .headline("online", since: 130),
        ],
        until: 140,
        known: 40,
        outages: [(10, 20, "login_needed"), (120, 130, "login_needed")]
    ),
    Story(
        testDescription: "what is over at once when records begin again ended without them",
        marks: [
            .up(0), .headline("no_internet", since: 10), .unwatched(for: .seconds(100), at: at(120)),
            .headline("online", since: 120),
        ],
        until: 140,
        known: 40,
        outages: [(10, 20, "no_internet")]
    ),
    Story(
        testDescription: "the word of a state came between the awakening and the word of that",
        marks: [
            .up(0), .headline("login_needed", since: 19.5, told: 120.5),
            .unwatched(for: .seconds(100), at: at(120.75)),
        ],
        until: 140,
        known: 40,
        outages: [(120.5, 140, "login_needed")]
    ),
    Story(
        testDescription: "an hour forward adds nothing",
        marks: [
            .up(0), .headline("no_internet", since: 10), .stepped(by: .seconds(3600), at: at(3620)),
            .headline("online", since: 3640),
        ],
        since: 3600,
        until: 3650,
        outages: [(3610, 3640, "no_internet")]
    ),
    Story(
        testDescription: "an hour back hides nothing",
        marks: [
            .up(0), .headline("no_internet", since: 10), .stepped(by: .seconds(-3600), at: at(-3580)),
            .headline("online", since: -3560),
        ],
        since: -3600,
        until: -3550,
        outages: [(-3590, -3560, "no_internet")]
    ),
    Story(
        testDescription: "a step between the beginning of a state and its word",
        marks: [
            .up(0), .stepped(by: .seconds(3600), at: at(3610.5)), .headline("no_internet", since: 3610),
            .headline("online", since: 3640),
        ],
        since: 3600,
        until: 3650,
        outages: [(3610.5, 3640, "no_internet")]
    ),
    Story(
        testDescription: "a state that is reported late counts from its beginning",
        marks: [.up(0), .down(22), .up(23), .headline("no_internet", since: 20, told: 50)],
        until: 60,
        outages: [(20, 60, "no_internet")]
    ),
    Story(
        testDescription: "it counts from a minute before the report at most",
        marks: [.up(0), .down(12), .up(13), .headline("no_internet", since: 10, told: 80)],
        until: 90,
        outages: [(12, 13, "no_carrier"), (20, 90, "no_internet")]
    ),
    Story(
        testDescription: "a late report does not reach back over a start, a sleep or a step",
        marks: [
            .up(0), .started(10, alive: 5), .up(10), .headline("no_internet", since: 8, told: 38),
            .headline("online", since: 40), .unwatched(for: .seconds(10), at: at(60)),
            .headline("no_internet", since: 55, told: 80),
        ],
        until: 90,
        known: 75,
        outages: [(10, 40, "no_internet"), (60, 90, "no_internet")]
    ),
]

@Suite struct HeadlineHistoryTests {
    private static func document(
        _ marks: [OutageMark],
        _ state: OutageHistory.State = .headline,
        since: Double = 0,
        until: Double
    ) -> OutageHistory.Document {
        var history = OutageHistory(monitor: "default", since: at(since), until: at(until), state: state)
        for mark in marks { history.take(mark) }
        return history.document(at: at(until))
    }

    @Test(arguments: judged + interrupted)
    fileprivate func `the headline's outages begin and end with what it says`(story: Story) {
        let document = Self.document(story.marks, since: story.since, until: story.until)
        let known = story.known ?? story.until - story.since
        let down = story.outages.reduce(0) { $0 + $1.end - $1.start }
        #expect(document.state == .headline && document.monitor == "default")
        #expect(document.knownSeconds == known && document.satisfiedSeconds == known - down)
        #expect(document.outages.map(\.start) == story.outages.map { at($0.start).description })
        let last = at(story.until).description
        #expect(document.outages.map { $0.end ?? last } == story.outages.map { at($0.end).description })
        #expect(document.outages.map(\.durationSeconds) == story.outages.map { $0.end - $0.start })
        #expect(document.outages.map(\.reason) == story.outages.map(\.reason))
        for outage in document.outages {
            #expect(outage.message == (outage.reason == "no_carrier" ? "lost" : "\(outage.reason)!"))
        }
    }

    @Test(arguments: judged + interrupted)
    fileprivate func `the history of the path is as without headlines`(story: Story) {
        let statuses = story.marks.filter { if case .headline = $0 { false } else { true } }
        let document = Self.document(story.marks, .path, since: story.since, until: story.until)
        #expect(document == Self.document(statuses, .path, since: story.since, until: story.until))
        #expect(document.state == .path && document.steps == nil)
    }

    @Test func `a state that is told after the end of the time counts before it`() {
        let marks: [OutageMark] = [.up(0), .headline("no_internet", since: 10), .headline("online", since: 40)]
        let document = Self.document(marks, until: 10.5)
        #expect(document.outages.map(\.durationSeconds) == [0.5] && document.outages.map(\.end) == [nil])
    }
}
