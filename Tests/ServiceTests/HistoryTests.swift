// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Documents
import EventHub
import Diagnosis
import LinuxIO
import OrderedJSON
import PathModel
import Testing

@testable import PathService

extension OutageHistory {
    mutating func take(_ record: JSONValue) {
        let mark = OutageMark(record)
        take(at: mark?.time, name: record["event"]?.string ?? "") { mark }
    }
}

/// Outages from records.
@Suite struct HistoryTests {
    private let noon = WallTime(nanoseconds: 1_795_176_000_000_000_000)

    private func record(_ second: Int, _ event: String, satisfied: Bool? = nil) throws -> JSONValue {
        let path = satisfied.map {
            #","monitor":"default","path":{"status":"\#($0 ? "satisfied" : "unsatisfied")","unsatisfied_reason":"no_carrier"}"#
        }
        return try JSONValue(
            parsing: #"{"time":"\#(noon + .seconds(second))","event":"\#(event)","message":"m"\#(path ?? "")}"#
        )
    }

    private func history(since: Int = 0, until: Int, _ records: [JSONValue]) -> OutageHistory.Document {
        var history = OutageHistory(monitor: "default", since: noon + .seconds(since))
        for record in records { history.take(record) }
        return history.document(at: noon + .seconds(until))
    }

    @Test func `an outage lasts from loss to recovery`() throws {
        let document = history(
            until: 100,
            [
                try record(0, "path.snapshot", satisfied: true), try record(10, "path.changed", satisfied: false),
                try record(15, "path.changed", satisfied: false), try record(30, "path.changed", satisfied: true),
            ]
        )
        #expect(document.outages.map(\.durationSeconds) == [20])
        #expect(document.outages.first?.reason == "no_carrier")
        #expect(document.knownSeconds == 100 && document.satisfiedSeconds == 80)
        #expect(document.availabilityPercent == 80)
    }

    @Test func `an outage that lasts has no end yet`() throws {
        let document = history(until: 60, [try record(40, "path.snapshot", satisfied: false)])
        #expect(document.outages.map(\.end) == [nil] && document.outages.map(\.durationSeconds) == [20])
    }

    @Test func `what lies before the time looked at does not count`() throws {
        let records = [
            try record(0, "path.snapshot", satisfied: false), try record(10, "path.changed", satisfied: true),
            try record(20, "path.changed", satisfied: false), try record(40, "path.changed", satisfied: true),
        ]
        let document = history(since: 30, until: 50, records)
        #expect(document.outages.map(\.durationSeconds) == [10] && document.knownSeconds == 20)
    }

    @Test func `time without a daemon is unknown`() throws {
        let stopped = history(
            until: 200,
            [
                try record(0, "path.snapshot", satisfied: true), try record(50, "daemon.stopping"),
                try record(150, "daemon.started"), try record(150, "path.snapshot", satisfied: true),
            ]
        )
        #expect(stopped.knownSeconds == 100 && stopped.availabilityPercent == 100)
    }

    @Test func `after a crash the last record is the end of what is known`() throws {
        let document = history(
            until: 200,
            [
                try record(0, "path.snapshot", satisfied: false), try record(70, "census.completed"),
                try record(150, "daemon.started"), try record(150, "path.snapshot", satisfied: true),
            ]
        )
        #expect(document.outages.map(\.durationSeconds) == [70] && document.knownSeconds == 120)
    }

    @Test func `nothing known gives no availability`() {
        #expect(history(until: 10, []).availabilityPercent == nil)
    }

    @Test func `marks remember when an earlier daemon was heard last`() throws {
        var list = MarkList()
        func take(_ second: Int, _ event: String, _ satisfied: Bool? = nil) throws {
            let record = try record(second, event, satisfied: satisfied)
            list.take(at: noon + .seconds(second), name: event) { OutageMark(record) }
        }
        try take(0, "daemon.started")
        try take(1, "path.snapshot", false)
        try take(71, "census.completed")
        try take(150, "daemon.started")
        #expect(list.marks.last == .started(noon + .seconds(150), lastHeard: noon + .seconds(71)))
        #expect(list.marks.count == 3)
    }

    @Test func `marks are bounded, and the newest stay`() throws {
        var list = MarkList(capacity: HistoryIndex.capacity)
        for second in 0..<(HistoryIndex.capacity * 2) {
            let record = try record(second, "daemon.stopping")
            list.take(at: noon + .seconds(second), name: "daemon.stopping") { OutageMark(record) }
        }
        #expect(list.marks.count <= HistoryIndex.capacity)
        #expect(list.marks.last == .stopped(noon + .seconds(HistoryIndex.capacity * 2 - 1)))
    }

    @Test func `an event leaves the mark that its record in the log would leave`() throws {
        let satisfied = Path(status: .satisfied, reason: nil)
        let hub = EventHub(.init(host: "h"))
        let change = EventCause(kind: "link")
        var events: [Event?] = []
        for (old, new) in [(satisfied, Path()), (Path(), satisfied), (Path(), Path(reason: .noCarrier))] {
            events.append(hub.publish(PathSnapshot(monitor: "work", path: PathDocument(new), sentence: "Is so")))
            events.append(
                hub.publish(
                    PathChanged(
                        monitor: "default",
                        changed: ["status"],
                        path: PathDocument(new),
                        previous: .init(old, duration: .seconds(1)),
                        cause: change,
                        evaluation: .zero,
                        sentence: "Became so"
                    )
                )
            )
        }
        let identity = DaemonIdentity(version: "1", revision: "r", processID: 1, bootID: nil)
        events.append(hub.publish(DaemonStarted(identity: identity, configuration: nil, digest: nil)))
        let alive = WallTime(nanoseconds: 5)
        events.append(
            hub.publish(
                DaemonStarted(
                    identity: identity,
                    configuration: nil,
                    digest: nil,
                    previousAlive: alive,
                    unwatched: .seconds(2)
                )
            )
        )
        for cause in [
            ClockJumped.Cause.stepped(by: .seconds(-1)), .suspended(for: .seconds(1)), .stalled(for: .seconds(9)),
        ] {
            events.append(hub.publish(ClockJumped(cause)))
        }
        events.append(hub.publish(DaemonStopping(signal: nil, uptime: .zero)))
        events.append(hub.publish(PathFlapping(monitor: "default", hasStarted: true, changes: 8, window: .seconds(60))))
        for (old, new) in [(satisfied, Path(reason: .noCarrier)), (Path(reason: .noCarrier), satisfied)] {
            events.append(hub.publish(try headlineChange(from: old, to: new)))
        }
        #expect(events.count == 15)
        for event in events.compactMap(\.self) {
            #expect(OutageMark(event) == OutageMark(try JSONValue(parsing: event.json)))
        }
    }

    private func headlineChange(from old: Path, to new: Path) throws -> HeadlineChanged {
        var keeper = HeadlineTracker()
        for (path, time) in [(old, Duration.zero), (new, .seconds(9))] {
            keeper.apply(HeadlineEvaluator(HeadlineFacts(host: "h", path: path)).headline, at: time)
        }
        let told = keeper.dequeueChange(at: .seconds(10))
        let change = try #require(told)
        return HeadlineChanged(change, since: noon, previousSince: noon - .seconds(9))
    }

    @Test func `a headline is bad by its state`() throws {
        for state in Headline.State.allCases.map(\.rawValue) + ["splendid"] where state != "checking" {
            let text =
                #"{"time":"\#(noon + .seconds(1))","event":"headline.changed","message":"m","#
                + #""headline":{"state":"\#(state)","since":"\#(noon)"}}"#
            let isBad = [
                "offline", "local_only", "login_needed", "no_internet", "dns_broken",
            ].contains(state)
            #expect(
                OutageMark(try JSONValue(parsing: text))
                    == .headline(
                        noon + .seconds(1),
                        since: noon,
                        isBad: isBad,
                        reason: isBad ? state : "",
                        message: isBad ? "m" : ""
                    )
            )
        }
        for headline in ["", #","headline":{"state":"checking","since":"\#(noon - .seconds(9))"}"#] {
            let text = #"{"time":"\#(noon)","event":"headline.changed","message":"m"\#(headline)}"#
            #expect(OutageMark(try JSONValue(parsing: text)) == .alive(noon))
        }
    }

    @Test(arguments: [
        #"{"event":"path.changed"}"#, #"{"time":"x","event":"e"}"#, "[]", #"{"time":"2026-11-20T12:00:00Z"}"#,
    ])
    func `what is no record leaves no mark`(text: String) throws {
        #expect(OutageMark(try JSONValue(parsing: text)) == nil)
    }
}
