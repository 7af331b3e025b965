// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Documents
import EventHub
import Glibc
import LinuxIO
import OrderedJSON
import PathModel
import TestSupport
import Testing

@testable import PathService

private let noon = WallTime(nanoseconds: 1_795_176_000_000_000_000)

private func at(_ second: Int) -> WallTime { noon + .seconds(second) }

/// A record of a log, by its calendar.
private struct Told: Sendable {
    let second: Int
    let event: String
    let members: String

    static func up(_ second: Int) -> Told {
        Told(second: second, event: "path.changed", members: #","monitor":"default","path":{"status":"satisfied"}"#)
    }

    static func down(_ second: Int) -> Told {
        let path = #"{"status":"unsatisfied","unsatisfied_reason":"no_carrier"}"#
        return Told(second: second, event: "path.changed", members: #","monitor":"default","path":\#(path)"#)
    }

    static func opened(_ second: Int, _ reason: String = "started") -> Told {
        Told(second: second, event: "log.opened", members: #","log":{"reason":"\#(reason)"}"#)
    }

    static func started(_ second: Int, alive: Int? = nil, unwatched: Double? = nil) -> Told {
        let end = alive.map { #","previous_alive":"\#(at($0))""# } ?? ""
        let gap = unwatched.map { #","unwatched_seconds":\#($0)"# } ?? ""
        return Told(second: second, event: "daemon.started", members: #","daemon":{"pid":1\#(end)\#(gap)}"#)
    }

    static func stopping(_ second: Int) -> Told { Told(second: second, event: "daemon.stopping", members: "") }
    static func census(_ second: Int) -> Told { Told(second: second, event: "census.completed", members: "") }

    static func jumped(_ second: Int, _ kind: String, _ seconds: Double) -> Told {
        let clock = #"{"kind":"\#(kind)","jump_seconds":\#(seconds)}"#
        return Told(second: second, event: "clock.jumped", members: #","clock":\#(clock)"#)
    }

    func record() throws -> JSONValue {
        try JSONValue(parsing: #"{"time":"\#(at(second))","event":"\#(event)","message":"m"\#(members)}"#)
    }
}

/// What a log tells, and what is to be made of it.
private struct Story: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let told: [Told]
    /// Where the time looked at begins and ends, by the calendar after the last step.
    var since = 0
    let until: Int
    let known: Double
    let satisfied: Double
    var unknown: [Range<Int>] = []
    var outages: [Range<Int>] = []
    /// Whether nobody is there to go on after the last record.
    var isOver = false
    /// A sign of life after the last record.
    var alive: Int?
}

private let deaths = [
    Story(
        testDescription: "the next daemon opens its log before it says that it started",
        told: [.opened(0), .started(0), .up(0), .census(2), .opened(12), .started(12), .up(12)],
        until: 13,
        known: 3,
        satisfied: 3,
        unknown: [2..<12]
    ),
    Story(
        testDescription: "a daemon was alive after its last record",
        told: [.opened(0), .started(0), .down(0), .census(2), .opened(19), .started(19, alive: 9), .up(19)],
        until: 20,
        known: 10,
        satisfied: 1,
        unknown: [9..<19],
        outages: [0..<9]
    ),
    Story(
        testDescription: "a sign of life that is older than the last record says nothing",
        told: [.up(0), .census(8), .opened(19), .started(19, alive: 7, unwatched: 12), .up(19)],
        until: 20,
        known: 9,
        satisfied: 9,
        unknown: [8..<19]
    ),
    Story(
        testDescription: "a new file in the middle of a run ends nothing",
        told: [.up(0), .opened(10, "rotated"), .down(20), .opened(25, "reopened")],
        until: 30,
        known: 30,
        satisfied: 20,
        outages: [20..<30]
    ),
    Story(
        testDescription: "the record of a start was lost",
        told: [.down(0), .census(5), .opened(50), .census(55), .up(60)],
        until: 70,
        known: 15,
        satisfied: 10,
        unknown: [5..<60],
        outages: [0..<5]
    ),
    Story(
        testDescription: "a log of yesterday ends without a word",
        told: [.opened(0), .started(0), .up(0), .census(60)],
        until: 86_400,
        known: 60,
        satisfied: 60,
        unknown: [60..<86_400],
        isOver: true
    ),
    Story(
        testDescription: "a log of yesterday ends, and its daemon lived on for a while",
        told: [.opened(0), .started(0), .down(0)],
        until: 86_400,
        known: 90,
        satisfied: 0,
        unknown: [90..<86_400],
        outages: [0..<90],
        isOver: true,
        alive: 90
    ),
]

private let steps = [
    Story(
        testDescription: "an hour forward adds nothing",
        told: [.up(0), .jumped(3603, "step", 3600), .down(3605)],
        since: 3600,
        until: 3606,
        known: 6,
        satisfied: 5,
        outages: [3605..<3606]
    ),
    Story(
        testDescription: "an hour back hides no outage",
        told: [.up(0), .down(10), .jumped(-3580, "step", -3600), .up(-3570)],
        since: -3600,
        until: -3560,
        known: 40,
        satisfied: 20,
        outages: [-3590 ..< -3570]
    ),
    Story(
        testDescription: "forward and back again",
        told: [.up(0), .jumped(3610, "step", 3600), .down(3620), .jumped(30, "step", -3600), .up(40)],
        until: 50,
        known: 50,
        satisfied: 30,
        outages: [20..<40]
    ),
    Story(
        testDescription: "a record came between a step forward and the word of it",
        told: [.up(0), .down(3604), .jumped(3604, "step", 3600), .up(3606)],
        since: 3600,
        until: 3610,
        known: 10,
        satisfied: 8,
        outages: [3604..<3606]
    ),
    Story(
        testDescription: "a record came between a step back and the word of it",
        told: [.up(0), .down(-3596), .jumped(-3596, "step", -3600), .up(-3594)],
        since: -3600,
        until: -3590,
        known: 10,
        satisfied: 8,
        outages: [-3596 ..< -3594]
    ),
    Story(
        testDescription: "a step back that nobody told of makes no negative time",
        told: [.up(100), .down(200), .up(150), .down(160)],
        until: 170,
        known: 120,
        satisfied: 110,
        unknown: [0..<50],
        outages: [150..<150, 160..<170]
    ),
    Story(
        testDescription: "a step between two daemons of one boot",
        told: [.up(0), .opened(3620), .started(3620, alive: 10, unwatched: 10), .up(3620)],
        since: 3600,
        until: 3630,
        known: 20,
        satisfied: 20,
        unknown: [3610..<3620]
    ),
    Story(
        testDescription: "a step back between two daemons of two boots",
        told: [.down(1000), .census(1010), .opened(500), .started(500, alive: 1020), .up(500)],
        until: 510,
        known: 30,
        satisfied: 10,
        unknown: [0..<480],
        outages: [480..<500]
    ),
    Story(
        testDescription: "a step of the present boot leaves an earlier one where it was",
        told: [.up(0), .stopping(10), .started(20), .up(20), .jumped(3630, "step", 3600)],
        until: 3640,
        known: 30,
        satisfied: 30,
        unknown: [10..<3620]
    ),
    Story(
        testDescription: "a machine that sleeps watches nothing",
        told: [.up(0), .down(10), .jumped(120, "suspend", 100), .up(130)],
        until: 140,
        known: 40,
        satisfied: 20,
        unknown: [20..<120],
        outages: [10..<20, 120..<130]
    ),
    Story(
        testDescription: "a record came between the awakening and the word of it",
        told: [.up(0), .down(121), .jumped(122, "suspend", 100), .up(130)],
        until: 140,
        known: 40,
        satisfied: 31,
        unknown: [21..<121],
        outages: [121..<130]
    ),
    Story(
        testDescription: "a daemon that is stopped watches nothing",
        told: [.up(0), .jumped(30, "stall", 20)],
        until: 40,
        known: 20,
        satisfied: 20,
        unknown: [10..<30]
    ),
]

@Suite struct WatchedTimeTests {
    private func tell(_ story: Story, until: WallTime? = nil) throws -> OutageHistory {
        var history = OutageHistory(monitor: "default", since: at(story.since), until: until)
        for told in story.told { history.take(try told.record()) }
        if story.isOver { history.end(alive: story.alive.map(at)) }
        return history
    }

    @Test(arguments: deaths + steps)
    fileprivate func `time counts by the boot clock, and where it was watched`(story: Story) throws {
        let document = try tell(story).document(at: at(story.until))
        #expect(document.knownSeconds == story.known)
        #expect(document.satisfiedSeconds == story.satisfied)
        let spans = { (spans: [Range<Int>]) in
            spans.map { [at($0.lowerBound).description, at($0.upperBound).description] }
        }
        #expect(document.unknown.map { [$0.start, $0.end] } == spans(story.unknown))
        let end = at(story.until).description
        #expect(document.outages.map { [$0.start, $0.end ?? end] } == spans(story.outages))
        #expect(document.outages.map(\.durationSeconds) == story.outages.map { Double($0.count) })
    }

    @Test(arguments: deaths + steps)
    fileprivate func `known and unknown time make the whole, wherever it begins and ends`(story: Story) throws {
        for until in stride(from: story.since, through: story.until, by: max(1, (story.until - story.since) / 60)) {
            let document = try tell(story, until: at(until)).document(at: at(until))
            let unknown = try document.unknown.reduce(Duration.zero) { sum, stretch in
                sum + (try #require(WallTime(stretch.end)) - (try #require(WallTime(stretch.start))))
            }
            #expect(document.knownSeconds + unknown.seconds == Double(until - story.since))
            #expect(document.satisfiedSeconds <= document.knownSeconds)
        }
    }

    @Test(arguments: [
        #"{"previous_alive":"yesterday","unwatched_seconds":5}"#, #"{"previous_alive":7}"#,
        #"{"unwatched_seconds":1e300}"#, "[]", #"{"unwatched_seconds":5}"#,
    ])
    func `a start that tells nonsense of the daemon before it tells nothing`(daemon: String) throws {
        let text = #"{"time":"\#(at(5))","event":"daemon.started","daemon":\#(daemon)}"#
        #expect(OutageMark(try JSONValue(parsing: text)) == .started(at(5), lastHeard: nil))
    }

    @Test(arguments: [
        #"{"kind":"step","jump_seconds":1e300}"#, #"{"kind":"step"}"#, #"{"kind":"leap","jump_seconds":1}"#, "7",
        #"{"kind":"suspend","jump_seconds":-5}"#,
    ])
    func `a jump that cannot be is none`(clock: String) throws {
        let text = #"{"time":"\#(at(5))","event":"clock.jumped","clock":\#(clock)}"#
        #expect(OutageMark(try JSONValue(parsing: text)) == .alive(at(5)))
    }
}

/// The run that answers, which has both clocks.
@Suite(.inNamespace) struct PresentRunTests {
    private let clock = ManualClock()

    private struct Run {
        let hub: EventHub
        let index: HistoryIndex

        func tell(_ isSatisfied: Bool) {
            let path = isSatisfied ? Path(status: .satisfied, reason: nil) : Path(reason: .noCarrier)
            hub.publish(PathSnapshot(monitor: "default", path: PathDocument(path), sentence: "is so"))
        }
    }

    private func run(severity: Severity = .info) -> Run {
        var options = EventHub.Options(host: "h")
        options.minimumSeverity = severity
        let hub = EventHub(options, clock: clock)
        let index = HistoryIndex(loop: Namespace.current.loop, clock: clock)
        hub.addSink { index.take($0) }
        let identity = DaemonIdentity(version: "1", revision: "r", processID: 1, bootID: nil)
        hub.publish(DaemonStarted(identity: identity, configuration: nil, digest: nil))
        return Run(hub: hub, index: index)
    }

    @Test(arguments: [3600, -3600, 86_400 * 300, -1])
    func `a step counts for nothing, told or not`(step: Int) throws {
        for isTold in [true, false] {
            let run = run()
            run.tell(true)
            clock.advance(by: .seconds(3))
            run.tell(false)
            clock.advance(by: .seconds(2))
            clock.step(wallBy: .seconds(step))
            if isTold { run.hub.publish(ClockJumped(.stepped(by: .seconds(step)))) }
            clock.advance(by: .seconds(1))
            if isTold { run.tell(true) }
            clock.advance(by: .seconds(4))
            let history = run.index.history(monitor: "default", since: clock.wall - .seconds(20), until: clock.wall)
            let document = history.document(at: clock.wall)
            #expect(document.knownSeconds == 10)
            #expect(document.outages.map(\.durationSeconds) == [isTold ? 3 : 7])
            #expect(document.unknown.count == 1)
            #expect(
                run.index.history(monitor: "default", since: clock.wall - .seconds(20), until: clock.wall)
                    .document(at: clock.wall) == document
            )
        }
    }

    @Test func `sleep counts for nothing at any level of the log`() {
        for severity in [Severity.info, .warning] {
            let run = run(severity: severity)
            run.tell(false)
            clock.advance(by: .seconds(3))
            clock.suspend(for: .seconds(100))
            run.index.skip(.seconds(100))
            run.hub.publish(ClockJumped(.suspended(for: .seconds(100))))
            clock.advance(by: .seconds(2))
            let document = run.index.history(monitor: "default", since: clock.wall - .seconds(200), until: clock.wall)
                .document(at: clock.wall)
            #expect(document.knownSeconds == 5 && document.outages.map(\.durationSeconds) == [3, 2])
        }
    }

    @Test func `marks that were forgotten leave unknown time`() {
        let run = run()
        for round in 0..<HistoryIndex.capacity + 10 {
            run.tell(round % 2 == 0)
            clock.advance(by: .seconds(1))
        }
        let all = run.index.history(monitor: "default", since: clock.wall - .seconds(10_000), until: clock.wall)
            .document(at: clock.wall)
        #expect(all.knownSeconds <= Double(HistoryIndex.capacity) && all.knownSeconds > 3000)
    }
}
