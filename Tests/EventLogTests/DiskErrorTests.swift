// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import EventHub
import EventLog
import Glibc
import LinuxIO
import OrderedJSON
import TestSupport
import Testing

/// Errors of the disk other than its being full.
@Suite struct DiskErrorTests {
    /// A tmpfs in a mount namespace of its own that can be made read-only.
    private final class Disk {
        private let process: RunningCommand
        let path: String

        init() throws {
            let script =
                "mount --make-rprivate / && mount -t tmpfs -o size=1m tmpfs /mnt && touch /mnt/ready && exec sleep 600"
            process = try RunningCommand(["unshare", "-m", "sh", "-c", script])
            path = "/proc/\(process.processID)/root/mnt"
            try Command.run([
                "sh", "-c", "for i in $(seq 500); do test -e \(path)/ready && exit; sleep 0.01; done; exit 1",
            ])
        }

        func remount(_ mode: String) throws {
            try Command.run(["nsenter", "-t", "\(process.processID)", "-m", "mount", "-o", "remount,\(mode)", "/mnt"])
        }
    }

    @Test func `a disk that is read-only refuses the log in one line, and takes it later`() throws {
        let disk = try Disk()
        let log = disk.path + "/events.jsonl"
        try disk.remount("ro")
        let refusal = EventLogError.failed(operation: "open the lock", file: log + ".lock", reason: Errno(EROFS))
        #expect(throws: refusal) { try Pair(log) }
        let below = EventLogError.failed(operation: "make the directory", file: disk.path + "/a", reason: Errno(EROFS))
        #expect(throws: below) { try Pair(disk.path + "/a/events.jsonl") }
        try disk.remount("rw")
        try Pair(log).publish(3)
        #expect(try Files.sequences(log) == [1, 2, 3, 4])
    }

    @Test func `a log on a read-only disk can still be read and verified`() throws {
        let disk = try Disk()
        let log = disk.path + "/events.jsonl"
        try Pair(log, rotation: RotationPolicy(size: 4096, keep: 9)).publish(40)
        try disk.remount("ro")
        let report = try expectGood(log)
        #expect(report.records > 40 && report.first?.sequence == 1)
        #expect(try LogReader(path: log).count == Int(report.records))
    }

    @Test func `a limit on the size of files costs lines, never a part of one`() throws {
        let scratch = try Scratch()
        let writer = try Writer.program
        let command = "\(writer) \(scratch.log) \(scratch.file("acknowledged")) 0 500"
        let output = try runLimited(to: 32, command)
        let words = output.split(whereSeparator: { $0 == " " || $0 == "\n" }).compactMap { Int($0) }
        #expect(words.first == 501 && (words.last ?? 0) > 0)
        let bytes = try Files.bytes(scratch.log)
        #expect(bytes.count <= 16_384 && bytes.count > 12_000 && bytes.last == 0x0A)
        let report = try expectGood(scratch.log)
        #expect(report.records < 100)
        // Without the limit it goes on after the last line that is there, and tells nothing twice.
        let pair = try Pair(scratch.log).publish(2)
        #expect(pair.log.recovered?.sequence == report.last?.sequence)
        try expectGood(scratch.log)
    }

    @Test func `a limit on the size of files makes room by rotation`() throws {
        let scratch = try Scratch()
        let writer = try Writer.program
        let command = "\(writer) \(scratch.log) \(scratch.file("acknowledged")) 20000 500"
        try runLimited(to: 64, command)
        let report = try expectGood(scratch.log)
        #expect(report.records == 500 + UInt64(report.files) && report.files > 3)
    }

    @Test(arguments: ["/proc/nwpath/events.jsonl", "/sys/events.jsonl"])
    func `a file system that takes no files refuses the log`(path: String) {
        #expect(throws: EventLogError.self) { try Pair(path) }
    }

    @Test func `an ordinary user's log directory must be writable`() throws {
        let scratch = try Scratch()
        let writer = try Writer.program
        try Command.run(["chmod", "755", scratch.path])
        let command = [
            "setpriv", "--reuid=65534", "--clear-groups", writer, scratch.log, scratch.file("acknowledged"), "0", "1",
        ]
        let failure = #expect(throws: CommandFailure.self) { try Command.run(command) }
        #expect(failure?.output.contains("cannot open the lock: Permission denied (EACCES)") == true)
        #expect(try scratch.names.isEmpty)
    }
}

@Suite struct OutageTests {
    @Test func `events lost in several outages are told apart`() throws {
        let scratch = try Scratch()
        let pair = try Pair(scratch.log).publish(2)
        for _ in 0..<3 {
            try Files.write(Array("mine\n".utf8), to: scratch.file("mine"))
            try Command.run(["mv", scratch.file("mine"), scratch.log])
            pair.publish(2, step: .seconds(2))
            #expect(!pair.log.status.isWritable && pair.log.status.outage?.lost.count == 1)
            try Command.run(["rm", scratch.log])
            pair.publish(1, step: .seconds(2))
            #expect(pair.log.status.isWritable && pair.log.status.outage == nil)
        }
        // Each time the three records of the file that was replaced, and two that no file could take.
        #expect(pair.log.status.eventsLost == 3 * (3 + 2))
        let records = try Files.records(scratch.log)
        #expect(records.map { $0["event"]?.string } == ["log.opened", "log.gap", "path.changed"])
        #expect(records[1]["log"]?["lost"]?.int == 5 && records[1]["log"]?["error"]?.string == "foreign file")
    }

    @Test func `the time of an outage is told`() throws {
        let scratch = try Scratch()
        let pair = try Pair(scratch.log).publish(1)
        try Files.write(Array("mine\n".utf8), to: scratch.file("mine"))
        try Command.run(["mv", scratch.file("mine"), scratch.log])
        pair.publish(1, step: .seconds(2))
        let since = try #require(pair.log.status.outage?.since)
        pair.clock.advance(by: .seconds(58))
        try Command.run(["rm", scratch.log])
        pair.publish(1, step: .seconds(2))
        let gap = try #require(try Files.records(scratch.log).first { $0["event"]?.string == "log.gap" })
        #expect(gap["log"]?["duration_seconds"]?.double == (pair.clock.boot - since).seconds)
        #expect(pair.log.status.errors > 0)
    }

    @Test func `synchronizing and reopening a log that cannot be written does no harm`() throws {
        let scratch = try Scratch()
        let pair = try Pair(scratch.log).publish(1)
        pair.log.synchronize()
        try Command.run(["rm", scratch.log])
        pair.log.synchronize()
        pair.log.reopen()
        pair.log.reopen()
        pair.publish(1)
        pair.log.synchronize()
        let names = try Files.records(scratch.log).map { $0["event"]?.string }
        #expect(names == ["log.opened", "log.gap", "path.changed"])
    }
}
