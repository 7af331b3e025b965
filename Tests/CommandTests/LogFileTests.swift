// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import OrderedJSON
import TestSupport
import Testing

@testable import nwpath

/// `nwpath history --file` and `nwpath log verify` over logs as machines leave them.
@Suite(.inNamespace) struct LogFileTests {
    private static func line(_ sequence: Int, _ minute: Int, _ event: String, _ rest: String = "") -> String {
        let time =
            "2026-11-20T\(minute < 600 ? "0" : "")\(minute / 60):\(minute % 60 < 10 ? "0" : "")\(minute % 60):00.000000000Z"
        return #"{"time":"\#(time)","seq":\#(sequence),"stream":"7f3a","schema":"nwpath.event/1","event":"\#(event)","#
            + #""severity":"info","host":"h","message":"m, \"\#(sequence)\""\#(rest)}"# + "\n"
    }

    private static func path(_ sequence: Int, _ minute: Int, _ status: String, monitor: String = "default") -> String {
        let reason = status == "satisfied" ? "null" : "\"no_carrier\""
        let path = #","monitor":"\#(monitor)","path":{"status":"\#(status)","unsatisfied_reason":\#(reason)}"#
        return line(sequence, minute, sequence == 3 ? "path.snapshot" : "path.changed", path)
    }

    private static let opening = line(1, 60, "log.opened", #","log":{"file":"\#(String(repeating: "x", count: 200))"}"#)

    /// A day: up at 1:00, down from 2:00 to 2:30, a crash at 3:00, up again at 4:00, down from 5:00 to the end at 6:00.
    private static let day = [
        opening, line(2, 60, "daemon.started"), path(3, 60, "satisfied"), path(4, 61, "unsatisfied", monitor: "vpn"),
        path(5, 120, "unsatisfied"), path(6, 150, "satisfied"), line(7, 180, "census.completed"),
        line(8, 240, "daemon.started"), path(9, 240, "satisfied"), path(10, 300, "unsatisfied"),
        line(11, 360, "daemon.stopping"),
    ]

    private func history(_ tool: Tool, _ words: String...) async throws -> Result {
        try await tool.run(["history", "--file", tool.scratch.file("events.jsonl")] + words)
    }

    private func written(_ lines: [String] = day) throws -> Tool {
        let tool = Tool(scratch: try Scratch())
        _ = try tool.scratch.write(lines.joined(), to: "events.jsonl")
        return tool
    }

    @Test func `a day with an outage, a crash and an end gives its figures`() async throws {
        let tool = try written()
        let day = try await history(
            tool,
            "--since",
            "2026-11-20T00:00:00Z",
            "--until",
            "2026-11-20T12:00:00Z",
            "--json"
        ).json
        // Known from 1:00 to 3:00 and from 4:00 to 6:00.
        #expect(day["known_seconds"]?.double == 14_400 && day["satisfied_seconds"]?.double == 9000)
        #expect(day["availability_percent"]?.double == 62.5)
        let outages = day.list("outages")
        #expect(outages.map { $0["duration_seconds"]?.double } == [1800, 3600])
        #expect(outages.map { $0.text("end") } == ["2026-11-20T02:30:00.000000000Z", "2026-11-20T06:00:00.000000000Z"])
        let part = try await history(
            tool,
            "--since",
            "2026-11-20T02:15:00Z",
            "--until",
            "2026-11-20T05:30:00Z",
            "--json"
        ).json
        #expect(part.list("outages").map { $0["duration_seconds"]?.double } == [900, 1800])
        #expect(part.list("outages").last?["end"]?.isNull == true)
    }

    @Test(arguments: ["gzip LOG.1", "mv LOG.1 LOG-20261120", "mv LOG LOG.2 && mv LOG.1 LOG", "gzip -k LOG.1"])
    func `rotated and compressed files are part of the story`(script: String) async throws {
        let tool = Tool(scratch: try Scratch())
        _ = try tool.scratch.write(Self.day.prefix(6).joined(), to: "events.jsonl.1")
        _ = try tool.scratch.write(Self.day.dropFirst(6).joined(), to: "events.jsonl")
        let log = tool.scratch.file("events.jsonl")
        try Command.run([
            "sh", "-c", script.split(separator: "LOG", omittingEmptySubsequences: false).joined(separator: log),
        ])
        let csv = try await history(tool, "--since", "2026-11-20T00:00:00Z", "--until", "2026-11-20T12:00:00Z", "--csv")
        #expect(
            csv.output == """
                start,end,duration_seconds,reason,message
                2026-11-20T02:00:00.000000000Z,2026-11-20T02:30:00.000000000Z,1800,no_carrier,"m, ""5""\"
                2026-11-20T05:00:00.000000000Z,2026-11-20T06:00:00.000000000Z,3600,no_carrier,"m, ""10""\"

                """
        )
    }

    @Test func `another monitor has a story of its own, and one that nobody heard of has none`() async throws {
        let tool = try written()
        let span = ["--since", "2026-11-20T00:00:00+00:00", "--until", "2026-11-20T13:00:00+01:00"]
        let vpn = try await tool.run(
            ["history", "--file", tool.scratch.file("events.jsonl"), "--monitor", "vpn", "--json"] + span
        )
        #expect(try vpn.json["satisfied_seconds"]?.double == 0)
        #expect(try vpn.json.list("outages").map { $0["duration_seconds"]?.double } == [7140])
        let none = try await tool.run(
            ["history", "--file", tool.scratch.file("events.jsonl"), "--monitor", "x"] + span
        )
        #expect(none.status == 0 && none.output.contains("no data for this period"))
    }

    @Test func `a torn, a strange and a repeated line do not change the figures`() async throws {
        var lines = Self.day
        lines.insert("junk\n", at: 3)
        lines.insert(
            #"{"time":"2026-11-20T02:10:00.000000000Z","seq":6,"stream":"7f3a","schema":"nwpath.event/1","event":"#
                + "\n",
            at: 6
        )
        lines.append(String(Self.day[10].dropLast(20)))
        let tool = try written(lines)
        let span = ["--since", "2026-11-20T00:00:00Z", "--until", "2026-11-20T12:00:00Z"]
        let json = try await tool.run(["history", "--file", tool.scratch.file("events.jsonl"), "--json"] + span).json
        #expect(json["availability_percent"]?.double == 62.5)
        let verify = try await tool.run("log", "verify", tool.scratch.file("events.jsonl"))
        #expect(verify.status == 1)
        #expect(
            verify.output.hasSuffix("✗ 10 records in 1 file, 7f3a.1 to 7f3a.11: 3 problems\n")
                || verify.output.contains("3 problems")
        )
    }

    @Test(arguments: [
        (["--since", "2026-11-20T03:00:00Z", "--until", "2026-11-20T02:00:00Z"], "before --until"),
        (["--since", "25:00"], "--since is '25:00', expected a duration such as 24h, or a time such as"),
        (["--until", "2026-11-31T00:00:00Z"], "--until is '2026-11-31T00:00:00Z'"),
        (["--monitor", ""], "--monitor is ''"),
        (["--csv", "--json"], "give --json or --csv, not both"), (["--outages=yes"], "--outages takes no value"),
    ])
    func `a time that cannot be is refused before the log is read`(words: [String], message: String) async throws {
        let tool = Tool(scratch: try Scratch())
        let result = try await tool.run(["history", "--file", "/nonexistent"] + words)
        #expect(result.status == 2 && result.output == "")
        #expect(result.messages.contains(message), "\(result.messages)")
    }

    @Test func `verify reads files in the order of their records, and bounds what it prints`() async throws {
        let tool = Tool(scratch: try Scratch())
        let log = try tool.scratch.write(Self.day.prefix(6).joined(), to: "a")
        let second = try tool.scratch.write(
            Self.opening.split(separator: "\"seq\":1,").joined(separator: "\"seq\":7,"),
            to: "b"
        )
        for files in [[log, second], [second, log]] {
            let good = try await tool.run(["log", "verify"] + files)
            #expect(good.status == 0)
            #expect(good.output == "✓ 7 records in 2 files, 7f3a.1 to 7f3a.7: no problems\n")
        }
        let bad = try tool.scratch.write(String(repeating: "x\n", count: 1500), to: "bad")
        let result = try await tool.run("log", "verify", bad)
        #expect(result.status == 1 && result.output.split(separator: "\n").count == 1002)
        #expect(result.output.hasSuffix("and 500 more\n✗ 0 records in 1 file: 1500 problems\n"))
        let quiet = try await tool.run("log", "verify", "-q", bad)
        #expect(quiet.status == 1 && quiet.output == "")
        let json = try await tool.run("log", "verify", "--json", bad, tool.scratch.file("none")).json
        #expect(json["problem_count"]?.int == 1501 && json["files"]?.int == 2 && json["first"]?.isNull == true)
        let empty = try await tool.run("log", "verify", try tool.scratch.write("", to: "empty"))
        #expect(empty.status == 0 && empty.output == "✓ 0 records in 1 file: no problems\n")
    }
}
