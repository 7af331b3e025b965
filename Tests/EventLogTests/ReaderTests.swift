// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import EventHub
import EventLog
import LinuxIO
import OrderedJSON
import TestSupport
import Testing

@Suite struct ReaderTests {
    /// A log of many files: 401 events and the openings between them; `gzip` compresses the older half.
    private func manyFiles(compressed: Bool = false) throws -> (Scratch, Pair) {
        let scratch = try Scratch()
        let pair = try Pair(scratch.log, rotation: RotationPolicy(size: 8192, keep: 100)).publish(400)
        pair.hub.publish(Sample(name: .serviceAdded))
        if compressed {
            for name in try scratch.names.dropFirst(4) { try Command.run(["gzip", scratch.file(name)]) }
        }
        return (scratch, pair)
    }

    private func sequences(_ page: LogReader.Page) throws -> [UInt64] {
        try page.records.compactMap { try JSONValue(parsing: $0)["seq"]?.uint64 }
    }

    @Test(arguments: [false, true])
    func `pages give every record once, in order, over all files`(compressed: Bool) throws {
        let (scratch, pair) = try manyFiles(compressed: compressed)
        var found: [UInt64] = []
        var since: UInt64 = 0
        while true {
            let page = try LogReader(path: scratch.log).events(since: since, limit: 37)
            #expect(page.isComplete && page.records.count <= 37)
            found += try sequences(page)
            since = page.next
            guard page.hasMore else { break }
        }
        #expect(found == Array(1...pair.hub.position.sequence))
    }

    @Test func `reading begins right after any number`() throws {
        let (scratch, pair) = try manyFiles()
        let reader = try LogReader(path: scratch.log)
        let last = pair.hub.position.sequence
        for since in stride(from: 0, through: last, by: 3) {
            let page = try reader.events(since: since, limit: 2)
            let expected: [UInt64] = [since + 1, since + 2].filter { $0 <= last }
            #expect(try sequences(page) == expected)
        }
    }

    @Test func `a number in a large file is found by halving`() throws {
        let scratch = try Scratch()
        let filler = String(repeating: "f", count: 600)
        let pair = try Pair(scratch.log).publish(2000, filler: filler)
        let reader = try LogReader(path: scratch.log)
        for since in [0, 1, 2, 999, 1000, 1234, 1999, 2000, 2001] as [UInt64] {
            let page = try reader.events(since: since, limit: 1)
            #expect(try sequences(page) == (since < pair.hub.position.sequence ? [since + 1] : []))
        }
    }

    @Test func `a filter lets only its events pass, and the page ends at the end`() throws {
        let (scratch, pair) = try manyFiles()
        let filter = EventFilter([try EventPattern("service.*")])
        let page = try LogReader(path: scratch.log).events(since: 0, limit: 10, matching: filter)
        #expect(page.records.count == 1 && !page.hasMore && page.next == pair.hub.position.sequence)
    }

    @Test func `a number older than the log is reported`() throws {
        let scratch = try Scratch()
        try Pair(scratch.log, rotation: RotationPolicy(size: 4096, keep: 2)).publish(200)
        let reader = try LogReader(path: scratch.log)
        let oldest = try #require(reader.oldest?.sequence)
        #expect(oldest > 100)
        #expect(try !reader.events(since: 0, limit: 1).isComplete)
        #expect(try !reader.events(since: oldest - 2, limit: 1).isComplete)
        #expect(try reader.events(since: oldest - 1, limit: 1).isComplete)
        #expect(try sequences(reader.events(since: 0, limit: 1)) == [oldest])
    }

    @Test func `reading can begin at a time`() throws {
        let (scratch, _) = try manyFiles()
        let clock = ManualClock()
        let start = clock.wall + .milliseconds(200)
        var first: RecordHeader?
        try LogReader(path: scratch.log).forEach(from: .time(start)) { header, _ in
            first = header
            return false
        }
        #expect(first?.time == start)
    }

    @Test func `all streams are read from the beginning, the oldest first`() throws {
        let scratch = try Scratch()
        let clock = ManualClock()
        let old = try Pair(scratch.log, clock: clock).publish(3).hub.position.stream
        try Command.run(["mv", scratch.log, scratch.file("kept")])
        let new = try Pair(scratch.log, clock: clock).publish(2).hub.position.stream
        try Command.run(["mv", scratch.file("kept"), scratch.log + ".1"])
        var found: [EventPosition] = []
        let reader = try LogReader(path: scratch.log)
        try reader.forEach { header, _ in
            found.append(header.position)
            return true
        }
        #expect(found.map(\.stream) == Array(repeating: old, count: 4) + Array(repeating: new, count: 3))
        #expect(reader.oldest == EventPosition(stream: new, sequence: 1))
        #expect(try sequences(reader.events(since: 0, limit: 10)) == [1, 2, 3])
    }

    @Test func `a torn end and junk lines are passed over`() throws {
        let scratch = try Scratch()
        try Pair(scratch.log).publish(3)
        let torn = Array("junk\n".utf8) + (try Files.bytes(scratch.log)).prefix(200)
        try Files.write(try Files.bytes(scratch.log) + torn, to: scratch.log)
        #expect(try LogReader(path: scratch.log).events(since: 0, limit: 100).records.count == 4)
    }

    @Test func `empty, missing and beyond its end a log has no records; a foreign one is an error`() throws {
        let scratch = try Scratch()
        #expect(try LogReader(path: scratch.log).events(since: 0, limit: 1).records.isEmpty)
        try Files.write([], to: scratch.log)
        let page = try LogReader(path: scratch.log).events(since: 5, limit: 1)
        #expect(page.records.isEmpty && !page.isComplete)
        try Pair(scratch.log).publish(3)
        let beyond = try LogReader(path: scratch.log).events(since: .max, limit: 1)
        #expect(beyond.records.isEmpty && beyond.next == .max)
        try Files.write(Array("mine\n".utf8), to: scratch.log)
        #expect(throws: EventLogError.foreign(file: scratch.log, found: "something else")) {
            try LogReader(path: scratch.log)
        }
    }

    @Test(arguments: [
        (#"{"time":"t","seq":1,"stream":"7f3a","schema":"nwpath.event/1","event":"a.b","#, true),
        (#"{"time":"t","seq":9223372036854775807,"stream":"7f3a","schema":"nwpath.event/1","event":"a.b","#, true),
        (#"{"time":"t","seq":9223372036854775808,"stream":"7f3a","schema":"nwpath.event/1","event":"a.b","#, false),
        (#"{"time":"t","seq":0,"stream":"7f3a","schema":"nwpath.event/1","event":"a.b","#, false),
        (#"{"time":"t","seq":18446744073709551616,"stream":"7f3a","schema":"nwpath.event/1","event":"a.b","#, false),
        (#"{"time":"t","seq":1,"stream":"7F3A","schema":"nwpath.event/1","event":"a.b","#, false),
        (#"{"time":"t","seq":1,"stream":"7f3a","schema":"other/1","event":"a.b","#, false),
        (#"{"time":"t","seq":1,"stream":"7f3a","schema":"nwpath.event/1","event":"a.b"#, false),
        (#"{"seq":1,"time":"t","stream":"7f3a","schema":"nwpath.event/1","event":"a.b","#, false),
        (#"{"time":"\u0041","seq":1,"stream":"7f3a","schema":"nwpath.event/1","event":"a.b","#, false), ("", false),
    ])
    func `the head of a record is read strictly`(line: String, isHeader: Bool) {
        #expect((RecordHeader(line: Array(line.utf8)[...]) != nil) == isHeader)
    }
}
