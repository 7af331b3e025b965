// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import EventHub
import EventLog
import LinuxIO
import OrderedJSON
import TestSupport
import Testing

/// A log of many files: 401 events and the openings between them; `gzip` compresses the older half.
func manyFiles(compressed: Bool) throws -> (Scratch, Pair) {
    let scratch = try Scratch()
    let pair = try Pair(scratch.log, rotation: RotationPolicy(size: 8192, keep: 100)).publish(400)
    pair.hub.publish(Sample(name: .serviceAdded))
    if compressed {
        for name in try scratch.names.dropFirst(4) { try Command.run(["gzip", scratch.file(name)]) }
    }
    return (scratch, pair)
}

extension LogReader {
    /// How many records there are.
    var count: Int {
        get throws {
            var count = 0
            try forEach { _, _ in
                count += 1
                return true
            }
            return count
        }
    }
}

extension LogCursor {
    /// The numbers of up to `limit` records, as their lines have them, and whether those were the last.
    func page(limit: Int = 1000, matching name: String? = nil) throws -> (sequences: [UInt64], isAtEnd: Bool) {
        var cursor = self
        return try cursor.next(limit: limit, matching: name)
    }

    mutating func next(limit: Int, matching name: String? = nil) throws -> (sequences: [UInt64], isAtEnd: Bool) {
        var sequences: [UInt64] = []
        while true {
            let step = try advance(lines: 7, limit: limit - sequences.count) { name == nil || $0 == name }
            for record in step.records {
                #expect(try JSONValue(parsing: record.line)["seq"]?.uint64 == record.sequence)
                sequences.append(record.sequence)
            }
            if step.isAtEnd || sequences.count >= limit { return (sequences, step.isAtEnd) }
        }
    }
}

@Suite struct LogCursorTests {
    private func cursor(_ pair: Pair, _ scratch: Scratch, _ start: LogCursor.Start) -> LogCursor {
        LogCursor(path: scratch.log, stream: pair.hub.position.stream, from: start)
    }

    @Test(arguments: [false, true])
    func `pages give every record once, in order, over all files`(compressed: Bool) throws {
        let (scratch, pair) = try manyFiles(compressed: compressed)
        var cursor = cursor(pair, scratch, .after(0))
        var found: [UInt64] = []
        while true {
            let (sequences, isAtEnd) = try cursor.next(limit: 37)
            #expect(sequences.count == 37 || isAtEnd)
            found += sequences
            if isAtEnd { break }
        }
        #expect(found == Array(1...pair.hub.position.sequence) && !cursor.isCut && cursor.oldest == 1)
    }

    @Test(arguments: [false, true])
    func `reading begins right after any number`(compressed: Bool) throws {
        let (scratch, pair) = try manyFiles(compressed: compressed)
        let last = pair.hub.position.sequence
        for since in stride(from: 0, through: last, by: compressed ? 19 : 3) {
            let expected: [UInt64] = [since + 1, since + 2].filter { $0 <= last }
            #expect(try cursor(pair, scratch, .after(since)).page(limit: 2).sequences == expected)
        }
    }

    @Test(arguments: [false, true])
    func `files that are rotated meanwhile are found by their numbers`(compresses: Bool) throws {
        let (scratch, pair) = try manyFiles(compressed: false)
        var cursor = cursor(pair, scratch, .after(0))
        var found: [UInt64] = []
        for _ in 0..<10_000 {
            let (sequences, isAtEnd) = try cursor.next(limit: 23)
            found += sequences
            if isAtEnd { break }
            guard found.count < 300 else { continue }
            pair.publish(20)
            guard compresses else { continue }
            try Command.run(["sh", "-c", "ls \(scratch.log).* | grep -E '[.][0-9]+$' | xargs -r gzip"])
        }
        #expect(found == Array(1...pair.hub.position.sequence))
    }

    @Test func `a number in a large file is found by halving`() throws {
        let scratch = try Scratch()
        let filler = String(repeating: "f", count: 600)
        let pair = try Pair(scratch.log).publish(2000, filler: filler)
        for since in [0, 1, 2, 999, 1000, 1234, 1999, 2000, 2001] as [UInt64] {
            let found = try cursor(pair, scratch, .after(since)).page(limit: 1).sequences
            #expect(found == (since < pair.hub.position.sequence ? [since + 1] : []))
        }
    }

    @Test func `only wanted events are given, and the page ends at the end`() throws {
        let (scratch, pair) = try manyFiles(compressed: false)
        let page = try cursor(pair, scratch, .after(0)).page(limit: 10, matching: "service.added")
        #expect(page.sequences.count == 1 && page.isAtEnd)
    }

    @Test(arguments: [false, true])
    func `a time begins with the first record of it or later, and is the end when there is none`(
        compressed: Bool
    ) throws {
        let (scratch, pair) = try manyFiles(compressed: compressed)
        let begin = ManualClock().wall
        for milliseconds in [-5, 0, 1, 120, 200, 399] as [Int64] {
            let time = begin + .milliseconds(milliseconds)
            var first: UInt64?
            try LogReader(path: scratch.log).forEach(from: .time(time)) { header, _ in
                first = header.sequence
                return false
            }
            #expect(try cursor(pair, scratch, .time(time)).page(limit: 1).sequences.first == first)
        }
        var later = cursor(pair, scratch, .time(begin + .seconds(9000)))
        #expect(try later.next(limit: 1).isAtEnd)
        #expect(try later.advance(lines: 1, limit: 1) { _ in true }.last == pair.hub.position.sequence)
    }

    @Test func `a number older than the log, or of another log, is cut`() throws {
        let scratch = try Scratch()
        let pair = try Pair(scratch.log, rotation: RotationPolicy(size: 4096, keep: 2)).publish(200)
        var whole = cursor(pair, scratch, .after(.max))
        #expect(try whole.next(limit: 1).isAtEnd && !whole.isCut)
        let oldest = try #require(whole.oldest)
        #expect(oldest > 100)
        for (since, isCut) in [(0, true), (oldest - 2, true), (oldest - 1, false)] as [(UInt64, Bool)] {
            var cursor = cursor(pair, scratch, .after(since))
            let found = try cursor.next(limit: 1).sequences
            #expect(cursor.isCut == isCut && found == (isCut ? [] : [oldest]))
        }
        var other = LogCursor(path: scratch.log, stream: StreamID("beef") ?? pair.hub.position.stream, from: .after(0))
        #expect(try other.next(limit: 1).sequences.isEmpty && other.isCut && other.oldest == nil)
        var foreign = LogCursor(path: "/etc/passwd", stream: pair.hub.position.stream, from: .after(0))
        #expect(throws: EventLogError.self) { try foreign.next(limit: 1) }
    }
}
