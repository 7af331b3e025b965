// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import EventHub
import EventLog
import Glibc
import LinuxIO
import OrderedJSON
import ServiceSupport
import TestSupport
import Testing

/// How often the service is killed; `NWPATH_TEST_KILLS` asks for more than the suite's 40.
private let kills = unsafe getenv("NWPATH_TEST_KILLS").flatMap { unsafe Int(String(cString: $0)) } ?? 40

/// Checks all files of a log together: every line parses, every number comes once.
@discardableResult
func expectGood(_ log: String, sourceLocation: SourceLocation = #_sourceLocation) throws -> LogVerifier.Report {
    let report = LogVerifier.verify(try LogVerifier.files(of: log))
    #expect(report.isGood, "\(report.problems.prefix(5))", sourceLocation: sourceLocation)
    return report
}

/// The log of the real service under event load, when it is killed, renamed and rotated.
@Suite(.inNamespace, .serialized) struct KillTests {
    @Test func `killed at random moments it leaves a log without gap or repeat`() async throws {
        try Uplink.make()
        let load = try Uplink.load()
        let scratch = try Scratch()
        let loop = Namespace.current.loop
        func written() -> Int { (try? scratch.text("events.jsonl").utf8.count) ?? 0 }
        for round in 0..<kills {
            let before = written()
            let process = try Service.start(in: scratch)
            if round % 4 > 0 {
                // Past the start, so that most kills meet it writing.
                await loop.eventually("a line") { written() > before }
            }
            await loop.sleep(for: .microseconds(.random(in: 0...60_000)))
            process.signal(SIGKILL)
            #expect(process.wait() == 128 + SIGKILL)
            _ = unsafe unlink(scratch.file("api.sock"))
        }
        let service = try await Service(in: scratch)
        try await service.eventually("address.added")
        withExtendedLifetime(load) {}
        #expect(service.stop().code == 0)
        let report = try expectGood(service.log)
        #expect(report.first?.sequence == 1 && report.records == report.last?.sequence)
        #expect(try service.records("daemon.started").count > kills / 3)
    }

    @Test(arguments: [SIGUSR1, SIGHUP])
    func `renamed and signalled under load it keeps every number once`(signal: Int32) async throws {
        try Uplink.make()
        let load = try Uplink.load()
        let service = try await Service()
        for round in 1...8 {
            let before = try service.scratch.text("events.jsonl").lines.count
            try await Namespace.current.loop.eventually(within: .seconds(20), "events") {
                try service.scratch.text("events.jsonl").lines.count > before + 20
            }
            try Command.run(["mv", service.log, "\(service.log).\(100 - round)"])
            service.process.signal(signal)
            await Namespace.current.loop.eventually(within: .seconds(20), "a new file") {
                ((try? service.scratch.text("events.jsonl")) ?? "").contains("log.opened")
            }
        }
        withExtendedLifetime(load) {}
        _ = service.stop()
        let report = try expectGood(service.log)
        #expect(report.files == 9 && report.first?.sequence == 1 && report.records == report.last?.sequence)
    }

    @Test func `rotated by itself under load it keeps every number once`() async throws {
        try Uplink.make()
        let load = try Uplink.load()
        let scratch = try Scratch()
        try scratch.write("log:\n  max_size: 64KiB\n  keep: 100\n", to: "nwpath.yaml")
        let service = try await Service(["--config", scratch.file("nwpath.yaml")], in: scratch)
        await Namespace.current.loop.eventually(within: .seconds(30), "four files") { scratch.exists("events.jsonl.3") }
        withExtendedLifetime(load) {}
        _ = service.stop()
        let report = try expectGood(service.log)
        #expect(report.files >= 4 && report.first?.sequence == 1 && report.records == report.last?.sequence)
    }

    @Test func `a full disk costs log lines and is told, and the service goes on`() async throws {
        try Uplink.make()
        let scratch = try Scratch()
        try Command.run(["mkdir", scratch.file("disk")])
        // The file system is seen by the service alone, and ends with it.
        let log = scratch.file("disk/events.jsonl")
        let script =
            "mount -t tmpfs -o size=1m none \(scratch.file("disk")) && touch \(scratch.file("disk/room")) && exec \"$@\""
        let words = ["nsenter", "--net=\(Namespace.current.path)", "unshare", "-m", "sh", "-c", script, "sh"]
        let process = try RunningCommand(
            words + [
                try Place.program, "serve", "--log-file", log, "--state-dir", scratch.path, "--no-mdns", "--debounce",
                "0s", "--listen", "unix:" + scratch.file("api.sock"),
            ],
            captures: true
        )
        let loop = Namespace.current.loop
        func get(_ path: String) throws -> JSONValue {
            let words = ["curl", "-s", "--unix-socket", scratch.file("api.sock"), "http://localhost\(path)"]
            return try JSONValue(parsing: LiveJSON.check(try Command.run(words)))
        }
        func inside(_ script: String) throws -> String {
            try Command.run(["nsenter", "-m", "-t", "\(process.processID)", "sh", "-c", script])
        }
        await loop.eventually(within: .seconds(20), "an answer") { (try? get("/api/v1/status")) != nil }
        _ = try inside("dd if=/dev/zero of=\(scratch.file("disk/fill")) bs=4k 2>/dev/null; true")
        // Each change is on the endpoint although the log cannot tell it.
        for round in 0..<20 {
            if round % 2 == 0 { try Uplink.connect() } else { try Uplink.disconnect() }
            try await loop.eventually(within: .seconds(10), "the right status") {
                let status = try get("/api/v1/status")["path"]?["status"]?.string
                return status == (round % 2 == 0 ? "satisfied" : "unsatisfied")
            }
        }
        let problem = try get("/api/v1/status")["problems"]?.array?.first
        #expect(problem?["part"]?.string == "log")
        #expect(problem?["message"]?.string?.contains("ENOSPC") == true)
        _ = try inside("rm \(scratch.file("disk/fill"))")
        try await loop.eventually(within: .seconds(10), "recovery") {
            try get("/api/v1/status")["problems"]?.array?.isEmpty == true
        }
        let lines = try LiveJSON.check(try inside("cat \(log)")).lines.map { try JSONValue(parsing: $0) }
        let gap = try #require(lines.last { $0["event"]?.string == "log.gap" })
        #expect(gap["log"]?["error"]?.string == "ENOSPC")
        let sequences = lines.compactMap { $0["seq"]?.int }
        let first = try #require(gap["log"]?["first_seq"]?.int)
        #expect(sequences.contains(first - 1) && !sequences.contains(first))
        process.signal(SIGTERM)
        #expect(Service.outcome(of: process).code == 0)
    }
}
