// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import EventHub
import EventLog
import Glibc
import LinuxIO
import OrderedJSON
import TestSupport
import Testing

@Suite struct AppendTests {
    @Test func `a new log begins with a unique first record over 256 bytes`() throws {
        let scratch = try Scratch()
        let paths = [scratch.file("a/b/events.jsonl"), scratch.file("c/events.jsonl")]
        for path in paths { try Pair(path).publish(2) }
        let first = try paths.map { try Files.records($0)[0] }
        for record in first {
            #expect(record["event"]?.string == "log.opened" && record["seq"]?.int == 1)
            #expect(record["log"]?["previous_seq"]?.isNull == true && record["log"]?["reason"]?.string == "started")
        }
        #expect(first[0] != first[1])
        #expect(try Files.text(paths[0]).split(separator: "\n")[0].utf8.count > 256)
        #expect(try Files.sequences(paths[0]) == [1, 2, 3])
        #expect(try Files.mode(paths[0]) == "640" && Files.mode(scratch.file("a")) == "750")
        #expect(try Files.mode(scratch.file("a/b")) == "750")
    }

    @Test func `numbers and stream go on over restarts`() throws {
        let scratch = try Scratch()
        var streams: Set<StreamID> = []
        for _ in 0..<5 { streams.insert(try Pair(scratch.log).publish(3).hub.position.stream) }
        #expect(try Files.sequences(scratch.log) == Array(1...20) && streams.count == 1)
        let openings = try Files.records(scratch.log).filter { $0["event"]?.string == "log.opened" }
        #expect(openings.map { $0["log"]?["previous_seq"]?.int } == [nil, 4, 8, 12, 16])
        try expectGood(scratch.log)
    }

    @Test func `what the log holds is what was published, byte for byte`() throws {
        let scratch = try Scratch()
        let pair = try Pair(scratch.log)
        var lines: [UInt8] = []
        pair.hub.addSink { lines += $0.line }
        pair.publish(20)
        #expect(try Files.bytes(scratch.log) == lines)
        #expect(pair.log.status.recordsWritten == 21 && pair.log.status.size == lines.count)
        #expect(pair.log.status.lastRecord == pair.hub.position && pair.log.status.isWritable)
    }

    @Test func `a second daemon cannot write the same log, and is told who does`() throws {
        let scratch = try Scratch()
        let first = try Pair(scratch.log)
        #expect(throws: EventLogError.locked(file: scratch.log, holder: getpid())) { try Pair(scratch.log) }
        first.publish()
        try Command.run(["mv", scratch.log, scratch.log + ".1"])
        #expect(throws: EventLogError.locked(file: scratch.log, holder: getpid())) { try Pair(scratch.log) }
    }

    @Test(arguments: [
        ("hello\n", "'hello'"), ("{}\n", "'{}'"), ("\u{7F}ELF\u{1}\n", "'?ELF?'"), ("hello", "'hello'"),
        (
            #"{"time":"x","seq":1,"stream":"7f3a","schema":"nwpath.event/2","event":"log.opened"}"#,
            "schema nwpath.event/2"
        ),
        (#"{"time":"torn"# + "\n", #"'{"time":"torn'"#),
    ])
    func `a foreign file is refused and left alone`(content: String, found: String) throws {
        let scratch = try Scratch()
        try Files.write(Array(content.utf8), to: scratch.log)
        #expect(throws: EventLogError.foreign(file: scratch.log, found: found)) { try Pair(scratch.log) }
        #expect(try Files.text(scratch.log) == content)
        #expect(try Command.run(["ls", scratch.path]) == "events.jsonl\n", "no lock is left behind")
        // One that was there before is somebody's.
        try Files.write([], to: scratch.log + ".lock")
        #expect(throws: EventLogError.foreign(file: scratch.log, found: found)) { try Pair(scratch.log) }
        #expect(try Files.bytes(scratch.log + ".lock").isEmpty == false)
    }

    @Test func `a path that is no file, or below one, is refused in one line`() throws {
        let scratch = try Scratch()
        try Command.run(["mkfifo", scratch.file("fifo")])
        let found = "something that is not a regular file (- is standard output)"
        #expect(throws: EventLogError.foreign(file: scratch.file("fifo"), found: found)) {
            try Pair(scratch.file("fifo"))
        }
        #expect(try Command.run(["ls", scratch.path]) == "fifo\n", "no lock is left behind")
        #expect(throws: EventLogError.failed(operation: "open the log", file: scratch.path, reason: Errno(EISDIR))) {
            try Pair(scratch.path)
        }
        try Files.write([], to: scratch.file("file"))
        let reason = Errno(ENOTDIR)
        #expect(
            throws: EventLogError.failed(operation: "make the directory", file: scratch.file("file/a"), reason: reason)
        ) {
            try Pair(scratch.file("file/a/b.jsonl"))
        }
    }

    @Test func `errors name the file and what was expected`() {
        let errors: [(EventLogError, String)] = [
            (
                .failed(operation: "open the log", file: "/l", reason: .accessDenied),
                "/l: cannot open the log: Permission denied (EACCES)"
            ),
            (
                .locked(file: "/l", holder: 7),
                "/l: is in use by another nwpath (process 7); use another log file"
            ),
            (.locked(file: "/l", holder: nil), "/l: is in use by another nwpath; use another log file"),
            (.damaged(file: "/l", reason: "crc"), "/l: is damaged: crc"),
        ]
        for (error, text) in errors { #expect(error.description == text) }
        let foreign = EventLogError.foreign(file: "/l", found: "'x'").description
        #expect(
            foreign.contains("expected a record of schema nwpath.event/1") && foreign.contains("nothing was changed")
        )
    }

    @Test func `what was written is to be saved once, rotated files included`() throws {
        let scratch = try Scratch()
        let pair = try Pair(scratch.log, rotation: RotationPolicy(size: 4096, keep: 9))
        #expect(!pair.log.hasUnsaved && pair.log.removeUnsaved() == nil)
        pair.publish(3)
        #expect(pair.log.hasUnsaved && pair.log.removeUnsaved() != nil)
        #expect(!pair.log.hasUnsaved && pair.log.removeUnsaved() == nil)
        pair.publish(100)
        let rotated = Int(pair.log.status.rotations)
        let unsaved = try #require(pair.log.removeUnsaved())
        #expect(rotated > 2 && unsaved.count == rotated + 1)
        unsaved.save()
    }
}
