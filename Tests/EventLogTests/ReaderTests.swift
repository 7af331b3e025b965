// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import EventHub
import EventLog
import LinuxIO
import OrderedJSON
import TestSupport
import Testing

@Suite struct ReaderTests {
    @Test func `reading can begin at a time`() throws {
        let (scratch, _) = try manyFiles(compressed: false)
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
        #expect(try LogCursor(path: scratch.log, stream: new, from: .after(0)).page().sequences == [1, 2, 3])
        #expect(try LogCursor(path: scratch.log, stream: old, from: .after(0)).page().sequences == [1, 2, 3, 4])
    }

    @Test func `a torn end and junk lines are passed over`() throws {
        let scratch = try Scratch()
        let pair = try Pair(scratch.log).publish(3)
        let torn = Array("junk\n".utf8) + (try Files.bytes(scratch.log)).prefix(200)
        try Files.write(try Files.bytes(scratch.log) + torn, to: scratch.log)
        let stream = pair.hub.position.stream
        #expect(try LogCursor(path: scratch.log, stream: stream, from: .after(0)).page().sequences == [1, 2, 3, 4])
    }

    @Test func `empty, missing and beyond its end a log has no records; a foreign one is an error`() throws {
        let scratch = try Scratch()
        #expect(try LogReader(path: scratch.log).count == 0)
        try Files.write([], to: scratch.log)
        #expect(try LogReader(path: scratch.log).count == 0)
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
