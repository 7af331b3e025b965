// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import ServiceSupport
import TestSupport
import Testing

/// What is told of live bytes that are not as they were declared.
@Suite struct LiveJSONTests {
    private static let head =
        #""time":"2026-11-20T10:00:00.000000000Z","seq":1,"stream":"7f3a","schema":"nwpath.event/1","event":"#
    private static let rest = #","severity":"info","host":"h","message":"m""#
    private static let taken =
        "{" + head + #""mdns.port_taken""# + rest + #","port":{"number":5353,"family":"ipv4","holder":null}}"#
    private static let page = #"{"schema":"nwpath.events/1","stream":"7f3a","events":[EVENT],"next":"7f3a.1"}"#
    private static let reload = #"{"schema":"nwpath.reload/1","changed":[],"restart_needed":[]}"#
    private static let problem = #"{"type":"about:blank","title":"Not found","status":404,"detail":"d"}"#

    private static func changed(_ text: String, _ old: String, _ new: String) -> String {
        text.split(separator: old, maxSplits: 1, omittingEmptySubsequences: false).joined(separator: new)
    }

    private static let accepted: [String] = [
        "\(taken)\n", changed(page, "EVENT", taken), reload, problem,
        "{\n\"schema\": \"nwpath.reload/1\",\n\"changed\": [],\n\"restart_needed\": []\n}\n200",
        "id: 7f3a.1\nevent: x\ndata: \(taken)\n\n: heartbeat\n",
        #"{"a":1}"#, "ok\n", "", "[]\n", #"{"schema":{"type":"object"}}"#,
        #"[{"targets":["192.0.2.1:1"],"labels":{}}]"#,
        "\(taken)\n\(taken.dropLast(20))", "\(taken)\n\(taken.dropLast())",
    ]

    @Test(arguments: accepted)
    func `what is as declared, foreign, or still being written is left alone`(text: String) {
        #expect(LiveJSON.problems(in: text) == [])
    }

    @Test(arguments: [
        (changed(taken, "\"host\":\"h\",", ""), ".host: missing"),
        (changed(taken, "null}", "null,\"x\":1}"), ".port.x: not declared"),
        (changed(taken, "\"info\"", "\"loud\""), ".severity: "),
        (changed(taken, "port_taken", "port_lost"), "event: nowhere declared"),
        (changed(taken, "null", "1"), ".port.holder: "),
        (changed(reload, "\"changed\":[],", ""), ".changed: missing"),
        (changed(reload, "[]}", "[],\"x\":1}"), ".x: not declared"),
        (changed(reload, "reload", "relaod"), "nwpath.relaod/1: nowhere declared"),
        (changed(problem, "404", "200"), ".status: "), (changed(problem, "blank", "black"), ".type: "),
        (changed(page, "EVENT", changed(taken, "5353", "null")), ".port.number: "),
        (changed(changed(page, "EVENT", taken), "7f3a.1", "next"), ".next: "),
        (#"[{"targets":["192.0.2.1:1"]}]"#, ".0.labels: missing"),
        (changed(taken, "\"seq\":1", "\"seq\":") + "\n", "unexpected"),
        (#"{"schema":"nwpath.version/1","name":"nwpath"}"#, ".version: missing"),
        (#"{"schema":"nwpath.browse/1","event":"found"}"#, ": none of several forms"),
    ])
    func `what is not as declared is told, wherever it stands`(wrong: String, problem: String) {
        for text in [wrong, Self.taken + "\n" + wrong + "\n", "data: \(wrong)\n", "HTTP/1.1 200 OK\r\n\r\n\(wrong)\n"] {
            let problems = LiveJSON.problems(in: text)
            #expect(problems.count == 1 && problems[0].contains(problem), "\(problems)")
        }
    }

    @Test func `a check fails the test, and hands on the text`() throws {
        #expect(LiveJSON.check(Self.reload) == Self.reload)
        withKnownIssue { _ = LiveJSON.check(Self.changed(Self.reload, "[]}", "[],\"x\":1}")) }
        let scratch = try Scratch()
        let log = try scratch.write("{\"schema\":\"nwpath.x/1\"}\n", to: "events.jsonl")
        withKnownIssue { LiveJSON.check(log: log) }
        LiveJSON.check(log: log, after: "{\"schema\":\"nwpath.x/1\"}\n")
        try scratch.write(Self.taken + "\n", to: "events.jsonl")
        LiveJSON.check(log: log)
        try scratch.write("{\"schema\":\"nwpath.y/1\"}\n", to: "events.jsonl.3")
        withKnownIssue { LiveJSON.check(log: log) }
    }

    @Test func `files of a daemon are checked when they are left`() throws {
        let scratch = try Scratch()
        try scratch.write("{\"schema\":\"nwpath.x/1\"}\n", to: "events.jsonl")
        withKnownIssue { _ = DaemonFiles(in: scratch) }
        _ = DaemonFiles(in: scratch, hasForeignPast: true)
        let other = try Scratch()
        withKnownIssue {
            let files = DaemonFiles(in: other)
            try Command.run(["cp", scratch.file("events.jsonl"), files.stream("lines")])
        }
    }
}
