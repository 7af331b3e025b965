// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import EventHub
import Glibc
import LinuxIO
import OrderedJSON
import ServiceSupport
import TestSupport
import Testing

@testable import PathService

private let noon = WallTime(nanoseconds: 1_795_176_000_000_000_000)

@Suite struct SignOfLifeTests {
    private let sign = SignOfLife(
        bootID: "0123456789abcdef0123456789abcdef",
        boot: .seconds(1000),
        time: noon,
        position: (try? EventPosition("7f3a.45")) ?? EventPosition(stream: .random(), sequence: 0)
    )

    @Test func `what is written is read`() {
        var nameless = sign
        nameless.bootID = nil
        for sign in [sign, nameless] {
            #expect(sign.record.count == SignOfLife.length)
            #expect(SignOfLife(sign.record) == sign)
        }
    }

    @Test func `a record of which one byte is another, or that is cut, is none`() {
        let record = sign.record
        for index in record.indices {
            var damaged = record
            damaged[index] ^= 1
            #expect(SignOfLife(damaged) == nil)
            #expect(SignOfLife(Array(record[..<index])) == nil)
        }
        #expect(SignOfLife(record + record) == nil)
        #expect(SignOfLife([UInt8](repeating: 0, count: SignOfLife.length)) == nil)
    }

    @Test(arguments: [("7f3a.45", true), ("7f3a.46", true), ("7f3a.44", false), ("7f3b.45", false), (nil, false)])
    func `a sign belongs to the run that ends the log`(last: String?, belongs: Bool) throws {
        #expect(sign.isOfRun(endingAt: try last.map { try EventPosition($0) }) == belongs)
    }

    @Test func `only within one boot it is known for how long nobody watched`() {
        let id = sign.bootID
        #expect(sign.unwatched(until: .seconds(1010), of: id) == .seconds(10))
        #expect(sign.unwatched(until: .seconds(990), of: id) == nil)
        #expect(sign.unwatched(until: .seconds(1010), of: "another") == nil)
        #expect(sign.unwatched(until: .seconds(1010), of: nil) == nil)
    }

    @Test func `many turns leave one sign, and a step of the calendar one at once`() {
        var pulse = Pulse()
        func isDue(_ milliseconds: Int, step: Int = 0) -> Bool {
            pulse.isDue(wall: noon + .milliseconds(milliseconds + step), boot: .milliseconds(milliseconds))
        }
        #expect(isDue(0))
        #expect(!isDue(1) && !isDue(999))
        #expect(isDue(1000))
        #expect(!isDue(1010))
        #expect(isDue(1020, step: -3_600_000))
        #expect(!isDue(1030, step: -3_600_000))
        #expect(isDue(9000, step: -3_600_000))
    }

    @Test(
        arguments: [
            (asleep: 0, late: 4, stalled: nil), (0, 5, 5), (0, 60, 60), (60, 60, nil), (60, 61, nil), (60, 90, 30),
            (90, 0, nil),
        ] as [(asleep: Int, late: Int, stalled: Int?)]
    )
    func `timers that come late tell of a stall, less the time asleep`(asleep: Int, late: Int, stalled: Int?) {
        var detector = StallDetector()
        #expect(detector.observe(asleep: .seconds(7), lateness: .seconds(70)) == nil)
        let found = detector.observe(asleep: .seconds(7 + asleep), lateness: .seconds(70 + late))
        #expect(found == stalled.map { .seconds($0) })
        #expect(detector.observe(asleep: .seconds(7 + asleep), lateness: .seconds(70 + late)) == nil)
    }
}

@Suite struct ContinuationTests {
    private static let stream = StreamID("7f3a")
    private static let other = StreamID("beef")

    @Test(
        arguments: [
            // The number of the sign, its boot, whether it is the last one, and whether numbers go on after 40.
            (40, "b", false, true), (39, "b", false, true), (41, "b", false, false), (40, "a", false, false),
            (40, "a", true, true), (39, "a", true, true), (41, "a", true, false), (41, "b", true, false),
            (40, nil, false, false), (40, nil, true, true),
        ] as [(UInt64, String?, Bool, Bool)]
    )
    func `numbers go on only where none can have been given out behind the log's last`(
        sequence: UInt64,
        bootID: String?,
        isFinal: Bool,
        goesOn: Bool
    ) throws {
        let stream = try #require(Self.stream)
        let last = EventPosition(stream: stream, sequence: 40)
        let sign = SignOfLife(
            bootID: bootID,
            boot: .seconds(5),
            time: noon,
            position: EventPosition(stream: stream, sequence: sequence),
            isFinal: isFinal
        )
        #expect(SignOfLife(sign.record) == sign)
        #expect(SignOfLife.continuation(of: last, after: sign, bootID: "b") == (goesOn ? last : nil))
        guard bootID == nil else { return }
        #expect(SignOfLife.continuation(of: last, after: sign, bootID: nil) == (isFinal ? last : nil))
    }

    @Test func `without a sign, or with one of another log, the log is believed`() throws {
        let last = EventPosition(stream: try #require(Self.stream), sequence: 40)
        let position = EventPosition(stream: try #require(Self.other), sequence: 99)
        let sign = SignOfLife(bootID: "a", boot: .seconds(5), time: noon, position: position)
        #expect(SignOfLife.continuation(of: last, after: nil, bootID: "b") == last)
        #expect(SignOfLife.continuation(of: last, after: sign, bootID: "b") == last)
        #expect(SignOfLife.continuation(of: nil, after: sign, bootID: "b") == nil)
    }
}

@Suite struct AliveFileTests {
    private let scratch: Scratch
    private let sign = SignOfLife(
        bootID: nil,
        boot: .seconds(5),
        time: noon,
        position: EventPosition(stream: .random(), sequence: 3)
    )

    init() throws { scratch = try Scratch() }

    @Test func `the next run finds the last sign`() throws {
        let first = AliveFile(directory: scratch.path)
        #expect(first.earlier == nil && first.problem == nil)
        first.write(sign)
        var later = sign
        later.boot = .seconds(6)
        first.write(later)
        #expect(try scratch.mode("alive").hasPrefix("600 "))
        let second = AliveFile(directory: scratch.path)
        #expect(second.earlier == later && second.problem == nil)
        #expect(AliveFile.read(directory: scratch.path) == later)
    }

    @Test(arguments: ["nwpath-alive 1 torn", "nwpath-alive 2 of a later version"])
    func `a damaged file is told once and begins anew`(text: String) throws {
        try scratch.write(text + String(repeating: "x", count: 300), to: "alive")
        let file = AliveFile(directory: scratch.path)
        #expect(file.earlier == nil)
        #expect(file.problem == "\(scratch.file("alive")) was damaged and starts empty")
        file.write(sign)
        #expect(AliveFile(directory: scratch.path).earlier == sign)
        #expect(!scratch.exists("alive.foreign"))
    }

    @Test(arguments: ["", "somebody's notes", String(repeating: "x", count: 100_000)])
    func `a foreign file is kept under another name`(text: String) throws {
        try scratch.write(text, to: "alive")
        let file = AliveFile(directory: scratch.path)
        #expect(file.earlier == nil && file.problem?.contains("is now") == true)
        #expect(try scratch.text("alive.foreign") == text)
        file.write(sign)
        #expect(AliveFile(directory: scratch.path).earlier == sign)
    }

    @Test func `a link leads nowhere, and a directory that is not there is no file`() throws {
        try scratch.write("kept", to: "target")
        try Command.run(["ln", "-s", "target", scratch.file("alive")])
        let link = AliveFile(directory: scratch.path)
        #expect(link.earlier == nil && link.problem?.contains("cannot be used") == true)
        link.write(sign)
        #expect(try scratch.text("target") == "kept")
        let nowhere = AliveFile(directory: scratch.file("none"))
        #expect(nowhere.problem?.contains("cannot be used") == true)
        nowhere.write(sign)
        #expect(AliveFile.read(directory: scratch.file("none")) == nil)
    }
}

/// The real service, killed.
@Suite(.inNamespace, .serialized) struct KilledServiceTests {
    /// Seconds of the stretches that nobody knows, between two moments.
    private func unknown(_ history: JSONValue, from start: WallTime) -> Double {
        (history["unknown"]?.array ?? []).reduce(0) { sum, stretch in
            guard let begin = stretch["start"]?.string.flatMap(WallTime.init), begin >= start,
                let end = stretch["end"]?.string.flatMap(WallTime.init)
            else { return sum }
            return sum + (end - begin).seconds
        }
    }

    /// The time between what is known and what is asked, which the service did not live through.
    private func expectDeath(
        of dead: Duration,
        in history: JSONValue,
        from start: WallTime,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let known = try #require(history["known_seconds"]?.double)
        let whole = (try #require(history["until"]?.string.flatMap(WallTime.init)) - start).seconds
        #expect(known > 0 && known <= whole - dead.seconds, sourceLocation: sourceLocation)
        #expect(unknown(history, from: start) >= dead.seconds, sourceLocation: sourceLocation)
    }

    @Test func `what a killed service did not watch is unknown, to the next one and to a reader of its log`()
        async throws
    {
        try Uplink.make()
        try Uplink.connect()
        let loop = Namespace.current.loop
        let service = try await Service()
        let start = try #require(try service.records().first?["time"]?.string.flatMap(WallTime.init))
        let first = try #require(AliveFile.read(directory: service.scratch.path))
        await loop.sleep(for: .seconds(2))
        // A request is a wake-up, after which nothing is logged.
        _ = try service.get("/-/ready")
        await loop.eventually("a later sign of life") {
            (AliveFile.read(directory: service.scratch.path)?.boot ?? .zero) >= first.boot + .seconds(2)
        }
        let last = try #require(AliveFile.read(directory: service.scratch.path))
        let records = try service.records().count
        #expect(service.stop(SIGKILL).code != 0)
        let dead = loop.clock.boot
        await loop.sleep(for: .seconds(3))
        let gone = loop.clock.boot - dead
        try await service.restart()
        let started = try #require(try service.records("daemon.started").last?["daemon"])
        let alive = try #require(started["previous_alive"]?.string.flatMap(WallTime.init))
        #expect(alive >= last.time && alive >= start + .seconds(2))
        #expect(try #require(started["unwatched_seconds"]?.double) >= gone.seconds)
        #expect(try service.records().count > records)
        let since = "since=\(start - .seconds(60))"
        await loop.eventually("the log of the earlier run") { (try? service.code("/api/v1/history?\(since)")) == "200" }
        let asked = try service.json("/api/v1/history?\(since)")
        try expectDeath(of: gone, in: asked, from: start)
        // What it lived through is known: two seconds and the first moments.
        #expect(try #require(asked["known_seconds"]?.double) >= 2)
        #expect(service.stop(SIGKILL).code != 0)
        let end = loop.clock.wall
        await loop.sleep(for: .seconds(1))
        let words = ["history", "--file", service.log, "--since", "\(start - .seconds(60))", "--json"]
        let read = try JSONValue(parsing: LiveJSON.check(try Command.run([try Place.program] + words)))
        try expectDeath(of: gone, in: read, from: start)
        // After the second death nothing is known either.
        let until = try #require(read["until"]?.string.flatMap(WallTime.init))
        #expect(unknown(read, from: start) >= gone.seconds + (until - end).seconds)
    }

    /// Stream and number of each record.
    private func places(_ service: Service) throws -> [String] {
        try service.records().map { "\($0["stream"]?.string ?? "").\($0["seq"]?.int ?? 0)" }
    }

    @Test(arguments: [0, 1, 300, 4096])
    func `a number is given once, whatever the log lost of a killed service`(cut: Int) async throws {
        try Uplink.make()
        let service = try await Service()
        for round in 1...3 {
            try Uplink.connect()
            try await service.eventually("path.changed", count: 2 * round - 1)
            try Uplink.disconnect()
            try await service.eventually("path.changed", count: 2 * round)
        }
        // The sign of life is at most one turn late.
        await Namespace.current.loop.eventually("a sign of the last event") {
            _ = try? service.get("/-/ready")
            guard let last = try? service.records().last?["seq"]?.int else { return false }
            return Int(AliveFile.read(directory: service.scratch.path)?.position.sequence ?? 0) == last
        }
        #expect(service.stop(SIGKILL).code != 0)
        let before = try places(service)
        try Command.run(["truncate", "-s", "-\(cut)", service.log])
        // A line that lost no more than its line feed is whole.
        let kept = try cut <= 1 ? before.count : places(service).count
        try await service.restart()
        let after = try places(service)
        let new = after.dropFirst(kept)
        #expect(!new.isEmpty && Set(new).isDisjoint(with: before))
        let sameStream = new.first?.hasPrefix(before[0].prefix { $0 != "." }) == true
        #expect(sameStream == (cut <= 1))
        #expect(Set(after).count == after.count)
    }

    @Test func `a service that is stopped by a signal knows that it did not run`() async throws {
        try Uplink.make()
        let scratch = try Scratch()
        let probes = "probes:\n  active:\n    tick:\n      target: \"192.0.2.1:9\"\n      interval: 1s\n"
        try scratch.write(probes, to: "nwpath.yaml")
        let service = try await Service(["--config", scratch.file("nwpath.yaml")], in: scratch)
        let loop = Namespace.current.loop
        service.process.signal(SIGSTOP)
        await loop.sleep(for: .seconds(8))
        service.process.signal(SIGCONT)
        try await service.eventually("clock.jumped")
        let jump = try #require(try service.records("clock.jumped").first?["clock"])
        #expect(jump["kind"]?.string == "stall")
        let stalled = try #require(jump["jump_seconds"]?.double)
        #expect(stalled >= 5)
        let history = try service.json("/api/v1/history?since=1h")
        let lengths = (history["unknown"]?.array ?? []).compactMap { stretch -> Double? in
            guard let begin = stretch["start"]?.string.flatMap(WallTime.init),
                let end = stretch["end"]?.string.flatMap(WallTime.init)
            else { return nil }
            return (end - begin).seconds
        }
        #expect(lengths.contains { abs($0 - stalled) < 0.1 })
    }
}
