// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxIO
import OrderedJSON
@testable import Probes
import TestSupport
import Testing

@testable import PathService

/// Records of invented results.
private enum Invented {
    static let now = WallTime(nanoseconds: 1_795_176_000_000_000_000)

    static func key(_ name: String) -> ProbeKey { ProbeKey(name: name, method: "icmp", target: "192.0.2.1") }

    static func definition(_ name: String, _ target: String = "192.0.2.1") -> ProbeDefinition {
        ProbeDefinition(name: name, method: .icmp, target: ProbeTarget(target, method: .icmp) ?? .gateway)
    }

    /// Something in every tier, up to now.
    static func record(_ count: Int) -> ProbeRecord {
        var record = ProbeRecord()
        for number in 0..<count {
            let moment = now - .seconds((count - 1 - number) * 400)
            let answer = ProbeResult(.success, duration: .microseconds(number * number % 7919 * 37 + 1))
            let loss = ProbeResult(.failure(.timeout, detail: ""))
            record.append(number % 3 == 2 ? loss : answer, at: moment)
        }
        return record
    }

    static func file(_ records: [ProbeKey: ProbeRecord]) -> [UInt8] {
        var bytes = ProbeHistoryFormat.header(at: now)
        for (key, record) in records.sorted(by: { $0.key < $1.key }) {
            for tier in ProbeTier.allCases where !record[tier].isEmpty {
                bytes += ProbeHistoryFormat.line(key, tier, record[tier])
            }
        }
        return bytes
    }

    static func read(_ bytes: [UInt8]) -> ProbeHistoryFormat.Reading? {
        ProbeHistoryFormat.read(bytes, at: now) { _ in true }
    }
}

@Suite(.computing) struct ProbeHistoryFormatTests {
    @Test func `what is written is read again`() {
        let records = [Invented.key("a"): Invented.record(500), Invented.key("b"): Invented.record(7)]
        #expect(Invented.read(Invented.file(records)) == .init(records: records, time: Invented.now))
        let some = ProbeHistoryFormat.read(Invented.file(records), at: Invented.now) { $0.name == "b" }
        #expect(some?.records == [Invented.key("b"): Invented.record(7)] && some?.badLines == 0)
    }

    @Test func `a line is JSON that others can read`() throws {
        var record = ProbeRecord()
        record.append(ProbeResult(.success, duration: .microseconds(400)), at: Invented.now)
        record.append(ProbeResult(.failure(.timeout, detail: "")), at: Invented.now)
        let line = ProbeHistoryFormat.line(Invented.key("a\"b"), .medium, record[.medium])
        #expect(
            String(decoding: line, as: UTF8.self)
                == #"{"probe":"a\"b","method":"icmp","target":"192.0.2.1","step_seconds":600,"#
                + #""cells":[[2991960,2,1,400000,62,1]]}"# + "\n"
        )
    }

    @Test func `what the calendar says is not yet, or long ago, is left out`() throws {
        let bytes = Invented.file([Invented.key("a"): Invented.record(500)])
        let earlier = try #require(ProbeHistoryFormat.read(bytes, at: Invented.now - .seconds(3600)) { _ in true })
        let cells = try #require(earlier.records[Invented.key("a")])
        #expect(!cells[.medium].isEmpty)
        for tier in ProbeTier.allCases { #expect(cells[tier].allSatisfy { $0.start <= Invented.now - .seconds(3600) }) }
        let later = try #require(ProbeHistoryFormat.read(bytes, at: Invented.now + .seconds(7_776_000)) { _ in true })
        #expect(later.records[Invented.key("a")]?.isEmpty == true)
    }

    @Test func `a file that was torn anywhere is read as far as it goes`() throws {
        let bytes = Invented.file([Invented.key("a"): Invented.record(30), Invented.key("b"): Invented.record(30)])
        let header = ProbeHistoryFormat.header(at: Invented.now).count
        for length in header...bytes.count {
            let reading = try #require(Invented.read(Array(bytes.prefix(length))))
            #expect(reading.badLines <= 1)
            #expect(reading.records.count <= 2)
        }
    }

    @Test func `a file with any byte changed is read without harm, and says nothing impossible`() throws {
        let original = Invented.file([Invented.key("a"): Invented.record(40)])
        var generator = SystemRandomNumberGenerator()
        var readable = 0
        for place in original.indices {
            var bytes = original
            bytes[place] = UInt8.random(in: 0...255, using: &generator)
            guard let reading = Invented.read(bytes) else { continue }
            readable += 1
            for record in reading.records.values {
                for tier in ProbeTier.allCases {
                    let cells = record[tier]
                    #expect(cells.count <= tier.capacity)
                    #expect(cells.allSatisfy { $0.lost <= $0.sent && $0.start <= Invented.now })
                    #expect(zip(cells, cells.dropFirst()).allSatisfy { $0.start < $1.start })
                }
            }
        }
        #expect(readable > original.count / 2)
    }

    @Test(arguments: [
        "", "\n", "{}", "[1]", "hello\nworld", "{\"schema\":\"nwpath.services/1\"}\n", "{\"schema\":1}\n", "\u{0}\u{0}",
    ])
    func `a foreign file is not ours`(text: String) {
        #expect(Invented.read(Array(text.utf8)) == nil)
    }

    @Test(arguments: [
        "[]", "[1]", "[2991960,1]", "[2991960,1,0]", "[2991960,1,0,1]", "[2991960,1,0,1,2]", "[2991960,0,0]",
        "[2991960,-1,0]", "[2991960,1,2]", "[9223372036854775807,1,1]", "[-9223372036854775808,1,1]", "[2991960.5,1,1]",
        "[\"2991960\",1,1]", "[2991960,1,0,400000,63,1]", "[2991960,1,0,400000,62,9223372036854775807]",
        "[2991960,1,0,-9223372036854775808,0,1]", "[2991960,1201,1201]", "{}", "null", "1", "[2999999,1,1]", "[0,1,1]",
    ])
    func `a cell that says nonsense is left out, and the others count`(cell: String) throws {
        let head = #"{"probe":"a","method":"icmp","target":"192.0.2.1","step_seconds":600,"cells":[[2991959,2,2],"#
        let bytes = ProbeHistoryFormat.header(at: Invented.now) + Array((head + cell + ",[2991960,3,3]]}\n").utf8)
        let cells = try #require(Invented.read(bytes)?.records[Invented.key("a")])[.medium]
        #expect(cells.map(\.sent) == [2, 3])
    }
}

@Suite(.inNamespace) struct ProbeHistoryKeeperTests {
    private var loop: EventLoop { Namespace.current.loop }
    private static let answer = ProbeResult(.success, duration: .milliseconds(3))

    private func keeper(_ scratch: Scratch, limit: Int = ProbeHistoryFormat.longestFile) -> ProbeHistoryStore {
        ProbeHistoryStore(loop: loop, clock: loop.clock, directory: scratch.path, limit: limit)
    }

    private func sent(_ keeper: ProbeHistoryStore, _ definition: ProbeDefinition) -> Int {
        keeper.record(of: definition)[.coarse].reduce(0) { $0 + Int($1.sent) }
    }

    @Test func `what came is on the disk soon, and again at the end`() async throws {
        let scratch = try Scratch()
        let (first, one) = (keeper(scratch), Invented.definition("one"))
        first.expect([one])
        first.record(Self.answer, of: one)
        await loop.eventually("the file") { scratch.exists("probes.jsonl") }
        #expect(try scratch.mode("probes.jsonl").hasPrefix("640"))
        first.record(Self.answer, of: one)
        // Killed here, it would have lost the second.
        let killed = keeper(scratch)
        killed.expect([one])
        #expect(sent(killed, one) == 1)
        first.close()
        #expect(!scratch.exists("probes.jsonl.new"))
        let second = keeper(scratch)
        second.expect([one])
        #expect(second.record(of: one) == first.record(of: one) && sent(second, one) == 2)
        #expect(first.problem == nil && second.problem == nil)
    }

    @Test func `without probes there is no file, and what is found there stays`() async throws {
        let scratch = try Scratch()
        try scratch.write("mine\n", to: "probes.jsonl")
        let first = keeper(scratch)
        first.expect([])
        first.record(Self.answer, of: Invented.definition("one"))
        first.close()
        #expect(try scratch.text("probes.jsonl") == "mine\n" && first.problem == nil)
    }

    @Test func `another target begins anew, and a probe that is gone is forgotten`() async throws {
        let scratch = try Scratch()
        let (one, other, two) = (
            Invented.definition("one"), Invented.definition("one", "192.0.2.2"), Invented.definition("two")
        )
        let first = keeper(scratch)
        first.expect([one, two])
        for definition in [one, two] { first.record(Self.answer, of: definition) }
        var slower = two
        slower.interval = .seconds(3600)
        first.expect([other, slower])
        #expect(first.record(of: other).isEmpty && first.record(of: one).isEmpty && sent(first, slower) == 1)
        first.close()
        let second = keeper(scratch)
        second.expect([one, two])
        #expect(second.record(of: one).isEmpty && sent(second, two) == 1)
        second.expect([])
        #expect(!scratch.exists("probes.jsonl"))
        second.expect([two])
        #expect(second.record(of: two).isEmpty)
    }

    @Test func `a calendar that is not set yet after a restart costs nothing that was kept`() async throws {
        let scratch = try Scratch()
        let (clock, one) = (ManualClock(), Invented.definition("one"))
        func started() -> ProbeHistoryStore {
            let keeper = ProbeHistoryStore(loop: loop, clock: clock, directory: scratch.path)
            keeper.expect([one])
            return keeper
        }
        let first = started()
        first.record(Self.answer, of: one)
        first.close()
        let text = try scratch.text("probes.jsonl")
        clock.step(wallBy: .seconds(-86_400))
        let second = started()
        second.record(Self.answer, of: one)
        second.close()
        #expect(try scratch.text("probes.jsonl") == text && sent(second, one) == 1)
        clock.step(wallBy: .seconds(86_460))
        second.record(Self.answer, of: one)
        second.close()
        // The two of today, and the one that counts as yesterday's.
        #expect(sent(second, one) == 2 && second.record(of: one)[.coarse].map { Int($0.sent) } == [2])
        #expect(try scratch.text("probes.jsonl") != text)
        // Whatever is still in the future after an hour is not waited for.
        clock.step(wallBy: .seconds(-86_400))
        let third = started()
        third.record(Self.answer, of: one)
        clock.advance(by: ProbeHistoryStore.calendarTimeout)
        third.record(Self.answer, of: one)
        #expect(third.record(of: one)[.coarse].map { Int($0.sent) } == [1, 1])
        third.close()
        #expect(started().record(of: one) == third.record(of: one))
    }

    @Test(arguments: ["", "hello\n", "{\"schema\":\"other/1\"}\n"])
    func `a foreign file is kept beside`(text: String) async throws {
        let scratch = try Scratch()
        try scratch.write(text, to: "probes.jsonl")
        let (first, one) = (keeper(scratch), Invented.definition("one"))
        first.expect([one])
        #expect(try scratch.text("probes.jsonl.foreign") == text)
        #expect(first.problem?.hasSuffix("probes.jsonl.foreign") == true)
        first.record(Self.answer, of: one)
        first.close()
        #expect(try scratch.text("probes.jsonl").lines.count == 4)
        #expect(first.problem == nil)
    }

    @Test(arguments: ["mkfifo", "mkdir", "ln -s /etc/passwd", "ln -s /dev/zero", "truncate -s 33M"])
    func `nothing that stands in its place stops or misleads it`(command: String) async throws {
        let scratch = try Scratch()
        try Command.run(command.split(separator: " ").map(String.init) + [scratch.file("probes.jsonl")])
        let (first, one) = (keeper(scratch), Invented.definition("one"))
        first.expect([one])
        #expect(first.record(of: one).isEmpty && first.problem != nil)
        first.record(Self.answer, of: one)
        first.close()
        let second = keeper(scratch)
        second.expect([one])
        #expect(sent(second, one) == 1, "\(second.problem ?? "")")
    }

    @Test func `the file is never longer than it may be, and what is left out is told`() async throws {
        let scratch = try Scratch()
        let probes = (0..<20).map { Invented.definition("probe\($0)") }
        let first = keeper(scratch, limit: 4096)
        first.expect(probes)
        for probe in probes { first.record(Self.answer, of: probe) }
        first.close()
        let size = try #require(Int(try Command.run(["stat", "-c", "%s", scratch.file("probes.jsonl")]).trimmed))
        #expect(size <= 4096 && size > 3900)
        #expect(first.problem?.contains("is full") == true)
        let second = keeper(scratch, limit: 4096)
        second.expect(probes)
        // The longest cells come first.
        for probe in probes { #expect(sent(second, probe) == 1) }
        #expect(second.record(of: probes[19])[.fine].isEmpty)
    }

    @Test func `a directory that is gone is told, and mended when it is back`() async throws {
        let scratch = try Scratch()
        let one = Invented.definition("one")
        let first = ProbeHistoryStore(loop: loop, clock: loop.clock, directory: scratch.file("state"))
        first.expect([one])
        #expect(first.problem == nil)
        first.record(Self.answer, of: one)
        first.close()
        #expect(first.problem?.contains("cannot be written") == true)
        try Command.run(["mkdir", scratch.file("state")])
        first.close()
        #expect(first.problem == nil && scratch.exists("state/probes.jsonl"))
    }
}

/// The real service, asked what came of its probes.
@Suite(.inNamespace) struct ProbeHistoryServiceTests {
    private func history(_ service: Service, _ query: String = "since=1h&step=5s") throws -> JSONValue {
        try service.json("/api/v1/probes/echo/history?\(query)")
    }

    private func wait(_ service: Service, _ what: String, _ condition: @escaping (JSONValue) -> Bool) async throws {
        try await Namespace.current.loop.eventually(within: .seconds(20), "\(what)") {
            condition(try history(service))
        }
    }

    private func configure(_ scratch: Scratch, interval: String) throws {
        let probe = "echo: {target: 127.0.0.1, interval: \(interval), timeout: 500ms}"
        try scratch.write("probes: {active: {\(probe)}}", to: "nwpath.yaml")
    }

    @Test func `answers and losses are counted step by step, and a restart keeps them`() async throws {
        let scratch = try Scratch()
        try configure(scratch, interval: "1s")
        let arguments = ["--config", scratch.file("nwpath.yaml")]
        let service = try await Service(arguments, in: scratch)
        try await wait(service, "two answers") { ($0["sent"]?.int ?? 0) >= 2 }
        let good = try history(service)
        #expect(good["schema"]?.string == "nwpath.probehistory/1" && good["probe"]?.string == "echo")
        #expect(good["method"]?.string == "icmp" && good["target"]?.string == "127.0.0.1")
        #expect(good["step_seconds"]?.int == 5 && good["lost"]?.int == 0 && good["loss_percent"]?.double == 0)
        let (least, median, p95) = (
            good["min_seconds"]?.double, good["median_seconds"]?.double, good["p95_seconds"]?.double
        )
        #expect(try #require(least) <= #require(median) && #require(median) <= #require(p95))
        try Namespace.current.set("lo", isUp: false)
        try await wait(service, "a loss") { ($0["lost"]?.int ?? 0) >= 1 }
        let worse = try history(service)
        let steps = worse["steps"]?.array ?? []
        #expect(steps.reduce(0) { $0 + ($1["sent"]?.int ?? 0) } == worse["sent"]?.int)
        #expect(steps.reduce(0) { $0 + ($1["lost"]?.int ?? 0) } == worse["lost"]?.int)
        #expect(try history(service, "")["step_seconds"]?.int == 600)
        #expect(try history(service, "since=30d")["step_seconds"]?.int == 14_400)
        #expect(try history(service, "since=30d")["steps"]?.array?.count ?? 0 >= 1)
        try await validate(worse, service)
        #expect(service.stop().code == 0)
        try Namespace.current.set("lo", isUp: true)
        try await service.restart(arguments)
        let kept = try history(service)
        #expect(try #require(kept["sent"]?.int) >= #require(worse["sent"]?.int))
        #expect(try #require(kept["lost"]?.int) >= #require(worse["lost"]?.int))
        #expect(try #require(kept["min_seconds"]?.double) <= #require(least))
    }

    @Test func `a daemon that is killed loses at most what was not written`() async throws {
        let scratch = try Scratch()
        try configure(scratch, interval: "1s")
        let arguments = ["--config", scratch.file("nwpath.yaml")]
        let service = try await Service(arguments, in: scratch)
        await Namespace.current.loop.eventually(within: .seconds(20), "the file") { scratch.exists("probes.jsonl") }
        let before = try history(service)
        _ = service.stop(SIGKILL)
        let bytes = Array(try scratch.text("probes.jsonl").utf8)
        let reading = try #require(ProbeHistoryFormat.read(bytes, at: KernelClock().wall) { _ in true })
        let written = try #require(reading.records.values.first)[.coarse].reduce(0) { $0 + Int($1.sent) }
        #expect(written >= 1 && written <= (before["sent"]?.int ?? 0))
        try configure(scratch, interval: "1h")
        try await service.restart(arguments)
        let after = try #require(try history(service, "since=1d")["sent"]?.int)
        // The run at the start may be over already.
        #expect((written...written + 1).contains(after))
    }

    @Test func `a probe that is not there, and steps that cannot be, are refused`() async throws {
        let service = try await Service()
        #expect(try service.code("/api/v1/probes/echo/history") == "404")
        #expect(try service.code("/api/v1/probes/echo/history?step=0s") == "400")
        #expect(try service.code("/api/v1/history?since=1678-01-01T00:00:00Z") == "400")
        #expect(!service.scratch.exists("probes.jsonl"))
    }

    /// Holds a document against its schema.
    private func validate(_ document: JSONValue, _ service: Service) async throws {
        let check = """
            import sys, json, jsonschema
            schema, value = json.loads(sys.stdin.readline()), json.loads(sys.stdin.readline())
            jsonschema.Draft202012Validator(schema).validate(value)
            """
        let lines = try [service.json("/api/v1/schema/probehistory.json"), document].map {
            String(decoding: try OrderedJSONEncoder().encode($0), as: UTF8.self)
        }
        #expect(try Place.python(["-c", check], input: lines.joined(separator: "\n") + "\n") == "")
    }
}
