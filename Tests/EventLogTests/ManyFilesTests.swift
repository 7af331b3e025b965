// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import EventHub
import LinuxIO
import OrderedJSON
import TestSupport
import Testing

@testable import EventLog

/// Logs as rotation, compression and people leave them.
@Suite struct ManyFilesTests {
    /// A log of several files, with the numbers of all its records.
    private func log() throws -> (Scratch, [UInt64]) {
        let scratch = try Scratch()
        let pair = try Pair(scratch.log, rotation: RotationPolicy(size: 4096, keep: 100)).publish(60)
        return (scratch, Array(1...pair.hub.position.sequence))
    }

    private func read(_ scratch: Scratch) throws -> [UInt64] {
        var found: [UInt64] = []
        try LogReader(path: scratch.log).forEach { header, _ in
            found.append(header.sequence)
            return true
        }
        return found
    }

    @Test func `a file that is being compressed is read once`() throws {
        let (scratch, all) = try log()
        try Command.run(["gzip", "-k", scratch.log + ".1"])
        #expect(try read(scratch) == all)
        // As gzip(1) has it half way.
        let whole = try Files.bytes(scratch.log + ".1.gz")
        for count in [0, 5, whole.count / 2, whole.count - 3] {
            try Files.write(Array(whole.prefix(count)), to: scratch.log + ".1.gz")
            #expect(try read(scratch) == all, "\(count) bytes")
        }
    }

    @Test(arguments: [
        "cp LOG.1 LOG.1.gz && rm LOG.1", "gzip LOG.1 LOG.2 && cat LOG.2.gz LOG.1.gz > LOG-both.gz && rm LOG.[12].gz",
        "mv LOG.1 LOG-20261120 && gzip LOG-20261120", "mv LOG.1 LOG.zzz && mv LOG.2 LOG.aaa",
        "touch -d 1990-01-01 LOG.1 && touch -d 2090-01-01 LOG.2", "ln LOG.1 LOG.hard", "ln -s LOG.1 LOG.soft",
        "echo mine > LOG.note && head -c 5000 /dev/zero > LOG.zeros && mkdir LOG.dir && mkfifo LOG.pipe",
        "printf 'x%.0s' $(seq 3000) > LOG.gz && : > LOG.empty.gz && echo garbage > LOG-1.gz",
    ])
    func `however the other files are called and kept, each record comes once and in order`(script: String) throws {
        let (scratch, all) = try log()
        let line = script.split(separator: "LOG", omittingEmptySubsequences: false).joined(separator: scratch.log)
        try Command.run(["bash", "-c", line])
        #expect(try read(scratch) == all)
        let stream = try #require(LogVerifier.verify([scratch.log]).last?.stream)
        let page = try LogCursor(path: scratch.log, stream: stream, from: .after(20)).page(limit: 3)
        #expect(page.sequences == [21, 22, 23] && !page.isAtEnd)
    }

    @Test func `a line that ends where a piece of the file ends is one line`() throws {
        let scratch = try Scratch()
        for length in [65_534, 65_535, 65_536, 65_537, 131_071] {
            try Files.write([UInt8](repeating: 0x78, count: length) + Array("\ny\n\nz".utf8), to: scratch.log)
            let reader = try LineReader(path: scratch.log)
            var lines: [(count: Int, isComplete: Bool)] = []
            while let line = try reader.next() { lines.append((line.bytes.count, line.isComplete)) }
            #expect(lines.map(\.count) == [length, 1, 0, 1])
            #expect(lines.map(\.isComplete) == [true, true, true, false])
        }
    }

    @Test(arguments: [
        ("events.jsonl.1", 1, ""), ("events.jsonl.12.gz", 12, ".gz"), ("events.jsonl.0", nil, ""),
        ("events.jsonl.01", nil, ""), ("events.jsonl.-1", nil, ""), ("events.jsonl.+1", nil, ""),
        ("events.jsonl.1.gz.gz", nil, ""), ("events.jsonl.1.old", nil, ""), ("events.jsonl-1", nil, ""),
        ("other.jsonl.1", nil, ""), ("events.jsonl.99999999999999999999", nil, ""), ("events.jsonl.gz", nil, ""),
    ])
    func `rotation touches only the names it gives`(name: String, number: Int?, suffix: String) throws {
        let scratch = try Scratch()
        try Files.write([], to: scratch.file(name))
        let found = try LogSegment.numbered(beside: scratch.log)
        #expect(found == (number.map { [LogSegment.Numbered(number: $0, suffix: suffix)] } ?? []))
        #expect(found.map { $0.path(of: scratch.log) } == (number == nil ? [] : [scratch.file(name)]))
    }
}

@Suite struct WalkTests {
    @Test(arguments: [1, 2, 7, 1000])
    func `a walk in pieces sees what one look sees`(piece: Int) throws {
        let scratch = try Scratch()
        let pair = try Pair(scratch.log, rotation: RotationPolicy(size: 4096, keep: 100)).publish(40)
        try Files.write(try Files.bytes(scratch.log) + Array("junk\n{\"time\":\"20".utf8), to: scratch.log)
        let walk = try LogReader(path: scratch.log)
        var found: [UInt64] = []
        var steps = 0
        while try walk.advance(
            lines: piece,
            { header, line in
                found.append(header.sequence)
                return line.last == UInt8(ascii: "}")
            }
        ) { steps += 1 }
        #expect(found == Array(1...pair.hub.position.sequence))
        #expect(steps >= found.count / piece)
        let isLeft = try walk.advance(lines: piece) { _, _ in true }
        #expect(!isLeft)
    }

    @Test func `a walk ends when it is told to, and an empty log has none`() throws {
        let scratch = try Scratch()
        try Pair(scratch.log).publish(10)
        let walk = try LogReader(path: scratch.log)
        var found: [UInt64] = []
        let hasMore = try walk.advance(lines: 100) { header, _ in
            found.append(header.sequence)
            return header.sequence < 3
        }
        #expect(!hasMore && found == [1, 2, 3])
        let isOver = try !walk.advance(lines: 100) { _, _ in true }
        #expect(isOver)
        let nothing = try LogReader(path: scratch.file("none")).advance(lines: 1) { _, _ in true }
        #expect(!nothing)
    }
}

@Suite struct OutageRangeTests {
    @Test func `numbers lost in a row are one range, and many ranges become few`() {
        var outage = LogStatus.Outage(since: .zero, error: "EIO")
        for sequence in [3, 4, 5, 8, 9, 11] as [UInt64] { outage.lose(sequence...sequence) }
        #expect(outage.lost == [3...5, 8...9, 11...11])
        for number in 0..<1000 as Range<UInt64> { outage.lose(20 + 2 * number...20 + 2 * number) }
        #expect(outage.lost.count == 64)
        #expect(outage.lost.last?.upperBound == 2018 && outage.lost[62] == 138...138)
    }
}

@Suite struct RecordCheckerTests {
    private static let good = [
        "time": #""2026-11-20T12:00:00.000000000Z""#, "seq": "1", "stream": #""7f3a""#,
        "schema": #""nwpath.event/1""#, "event": #""path.changed""#, "severity": #""info""#, "host": #""h""#,
        "message": #""""#,
    ]

    private func problem(_ member: String, _ value: String) throws -> LogProblem.Kind? {
        let members = RecordChecker.envelope.map { name in
            "\"\(name)\":\(name == member ? value : Self.good[name] ?? "null")"
        }
        return RecordChecker.problem(in: try JSONValue(parsing: "{\(members.joined(separator: ","))}"))
    }

    @Test(arguments: [
        ("time", #""2026-11-20T12:00:00.000000000Z""#), ("seq", "9223372036854775807"), ("stream", #""01234567""#),
        ("event", #""a_b.c_d""#), ("severity", #""debug""#), ("severity", #""error""#), ("message", #""\n""#),
    ])
    func `takes every value that a record can have`(member: String, value: String) throws {
        #expect(try problem(member, value) == nil)
    }

    @Test(arguments: [
        ("time", #""2026-13-20T12:00:00.000000000Z""#), ("time", #""2026-11-20T12:00:00.00000000+00""#), ("time", "1"),
        ("seq", "0"), ("seq", "-1"), ("seq", "1.5"), ("seq", #""1""#), ("seq", "18446744073709551616"),
        ("stream", #""7F3A""#), ("stream", #""""#), ("stream", "7"), ("stream", #""012345678""#),
        ("schema", #""nwpath.event/2""#), ("schema", "1"), ("event", #""path""#), ("event", #"".changed""#),
        ("event", #""a.b.c""#), ("event", #""Path.changed""#), ("event", #""a.b1""#), ("severity", #""fatal""#),
        ("host", #""""#), ("host", "null"), ("message", "null"), ("message", "{}"),
    ])
    func `names the member whose value no record can have`(member: String, value: String) throws {
        #expect(try problem(member, value) == .invalid(member: member))
    }
}
