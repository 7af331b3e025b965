// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import OrderedJSON
import TestSupport
import Testing

/// Streams, pages and waiting requests over real changes of a path.
@Suite(.inNamespace) struct StreamTests {
    private func events(_ count: Int, in service: Service, _ file: String) async throws -> [String] {
        await Namespace.current.loop.eventually(within: .seconds(20), "\(count) events in \(file)") {
            ((try? service.scratch.text(file)) ?? "").lines.count { $0.hasPrefix("id:") } >= count
        }
        return try service.scratch.text(file).lines.filter { $0.hasPrefix("id:") }.map { String($0.dropFirst(4)) }
    }

    private func resume(_ service: Service, after id: String, to file: String) throws -> RunningCommand {
        let fields = ["-H", "Accept: text/event-stream", "-H", "Last-Event-ID: \(id)"]
        return try service.stream("/api/v1/events", to: file, fields)
    }

    @Test func `a stream resumes from memory, and after a restart from the log`() async throws {
        try Uplink.make()
        let service = try await Service()
        try Uplink.connect()
        try await service.eventually("path.changed")
        let records = try service.records()
        let stream = try #require(records.first?["stream"]?.string)
        let all = try records.map { "\(stream).\(try #require($0["seq"]?.int))" }
        let fromMemory = try resume(service, after: "\(stream).2", to: "memory")
        let remembered = try await events(all.count - 2, in: service, "memory")
        #expect(remembered.starts(with: all.dropFirst(2)))
        withExtendedLifetime(fromMemory) {}
        _ = service.stop()
        try await service.restart()
        let fromLog = try resume(service, after: "\(stream).2", to: "log")
        let resumed = try await events(all.count, in: service, "log")
        #expect(resumed.starts(with: all.dropFirst(2)))
        let numbers = resumed.compactMap { Int($0.dropFirst(stream.count + 1)) }
        #expect(numbers == Array(3..<(3 + numbers.count)))
        withExtendedLifetime(fromLog) {}
    }

    @Test func `a place that the log does not hold resets the stream`() async throws {
        let service = try await Service()
        for (number, id) in ["beef.7", "nonsense"].enumerated() {
            let stream = try resume(service, after: id, to: "\(number)")
            await Namespace.current.loop.eventually {
                ((try? service.scratch.text("\(number)")) ?? "").contains("\n\n")
            }
            #expect(try service.scratch.text("\(number)").contains("event: stream.reset\n"))
            withExtendedLifetime(stream) {}
        }
        #expect(try service.code("/api/v1/events?since=beef.7", ["-H", "Accept: application/json"]) == "410")
    }

    @Test func `JSON lines follow, and pages continue where the last one ended`() async throws {
        try Uplink.make()
        let service = try await Service()
        let lines = try service.stream("/api/v1/events?since=1", to: "lines", ["-H", "Accept: application/x-ndjson"])
        try Uplink.connect()
        try await service.eventually("path.changed")
        // Further events, such as those of addresses that were checked for duplicates, may still come.
        var log: [String] = []
        await Namespace.current.loop.eventually("the stream to hold what the log holds") {
            log = ((try? service.scratch.text("events.jsonl")) ?? "").lines
            return ((try? service.scratch.text("lines")) ?? "").lines == Array(log.dropFirst())
        }
        withExtendedLifetime(lines) {}
        var next = "1"
        var sequences: [Int] = []
        for _ in 0..<20 {
            let page = try service.json("/api/v1/events?since=\(next)&limit=2")
            let events = page["events"]?.array ?? []
            if events.isEmpty { break }
            sequences += events.compactMap { $0["seq"]?.int }
            next = try #require(page["next"]?.string)
        }
        #expect(sequences.starts(with: 2...log.count))
        #expect(sequences == Array(2..<(sequences.count + 2)))
        let changes = try service.json("/api/v1/events?since=1&event=path.*")["events"]?.array ?? []
        #expect(changes.compactMap { $0["event"]?.string } == ["path.snapshot", "path.changed"])
    }

    @Test func `a waiting request is answered by the change of the path`() async throws {
        try Uplink.make()
        let service = try await Service()
        let head = try service.get("/api/v1/status", ["-D", "-", "-o", "/dev/null"])
        let line = try #require(head.split(whereSeparator: \.isNewline).first { $0.lowercased().hasPrefix("etag:") })
        let tag = String(line.dropFirst(6))
        #expect(try service.code("/api/v1/status", ["-H", "If-None-Match: \(tag)"]) == "304")
        #expect(try service.code("/api/v1/status?wait=50ms", ["-H", "If-None-Match: \(tag)"]) == "304")
        #expect(try service.code("/api/v1/status?wait=soon", ["-H", "If-None-Match: \(tag)"]) == "400")
        let poll = try service.stream("/api/v1/status?wait=30s", to: "poll", ["-H", "If-None-Match: \(tag)"])
        await Namespace.current.loop.eventually {
            (try? service.get("/metrics").contains(#"nwpath_event_stream_clients{transport="longpoll"} 1"#)) == true
        }
        try Uplink.connect()
        #expect(poll.wait() == 0)
        #expect(try JSONValue(parsing: try service.scratch.text("poll"))["seq"]?.int ?? 0 > 3)
    }

    @Test func `a client that stops reading holds nobody up`() async throws {
        try Uplink.make()
        try Uplink.connect()
        let service = try await Service()
        let stalled = try service.stream("/api/v1/events?since=1", to: "stalled", ["-H", "Accept: text/event-stream"])
        _ = try await events(1, in: service, "stalled")
        stalled.signal(SIGSTOP)
        let reading = try service.stream("/api/v1/events?since=1", to: "reading", ["-H", "Accept: text/event-stream"])
        // More than every buffer between the two holds, in portions that a reader on a busy machine can follow.
        for round in 0..<12 {
            let verb = round % 2 == 0 ? "add" : "del"
            try Namespace.current.ipBatch((0..<500).map { "addr \(verb) 10.1.\($0 / 250).\($0 % 250)/32 dev up0" })
            // The last address of the portion ends it: a slow service is not given the next one on top.
            await Namespace.current.loop.eventually("the portion in the log") {
                let count = try? Command.run(["grep", "-c", #"10\.1\.1\.249"#, service.log])
                return count.flatMap { Int($0.trimmed) } ?? 0 > round
            }
            await Namespace.current.loop.eventually(within: .seconds(60), "the reader follows") {
                let last = try? Command.run(["tail", "-n", "1", service.log])
                let seq = (last.flatMap { try? JSONValue(parsing: $0.trimmed) })?["seq"]?.int ?? 0
                return (try? Command.run(["grep", "-q", "\"seq\":\(seq),", service.scratch.file("reading")])) != nil
            }
        }
        try Uplink.disconnect()
        // Looked for by grep: the files are too large to be parsed again and again.
        var loss = ""
        await Namespace.current.loop.eventually(within: .seconds(20), "the loss of the path") {
            let found = try? Command.run([
                "grep", "-m1", #""event":"path.changed".*"status":"unsatisfied""#, service.log,
            ])
            loss = found ?? ""
            return !loss.isEmpty
        }
        let last = try #require(try JSONValue(parsing: loss)["seq"]?.int)
        await Namespace.current.loop.eventually(within: .seconds(60), "the change at the reader") {
            (try? Command.run(["grep", "-q", "\"seq\":\(last),", service.scratch.file("reading")])) != nil
        }
        // The stalled one is still asleep, and the reader has every event before the change, in order.
        let numbers = try Command.run(["grep", "^id:", service.scratch.file("reading")]).lines
            .compactMap { $0.split(separator: ".").last.flatMap { Int($0) } }
        #expect(Array(numbers.prefix(last - 1)) == Array(2...last))
        try await Namespace.current.loop.eventually(within: .seconds(60), "the stalled one is dropped") {
            try service.get("/metrics").contains("nwpath_event_stream_dropped_total{transport=\"sse\"} 1\n")
        }
        withExtendedLifetime(reading) {}
    }

    @Test func `history is told from the log of earlier runs and of this one`() async throws {
        try Uplink.make()
        try Uplink.connect()
        let service = try await Service()
        try Uplink.disconnect()
        try await service.eventually("path.changed")
        _ = service.stop(SIGKILL)
        try await service.restart()
        try Uplink.connect()
        try await service.eventually("path.changed", count: 2)
        await Namespace.current.loop.eventually { (try? service.code("/api/v1/history")) == "200" }
        let history = try service.json("/api/v1/history?since=1h&state=path")
        let outages = history["outages"]?.array ?? []
        #expect(outages.count == 2)
        #expect(outages.allSatisfy { $0["reason"]?.string == "no_default_route" && $0["end"]?.string != nil })
        #expect(try service.code("/api/v1/history?monitor=other") == "404")
        #expect(try service.code("/api/v1/history?since=tomorrow") == "400")
    }
}
