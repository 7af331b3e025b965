// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import EventHub
import EventLog
import LinuxIO
import OrderedJSON
import TestSupport
import Testing

@Suite struct RotationTests {
    @Test func `rotation by size keeps every number once and each file begins with log.opened`() throws {
        let scratch = try Scratch()
        let pair = try Pair(scratch.log, rotation: RotationPolicy(size: 4096, keep: 100)).publish(300)
        let rotations = Int(pair.log.status.rotations)
        #expect(rotations > 10)
        #expect(try scratch.names.count == rotations + 1)
        let report = try expectGood(scratch.log)
        #expect(report.records == pair.hub.position.sequence && report.first?.sequence == 1)
        #expect(try Files.sequences(scratch.log + ".\(rotations)").first == 1)
        #expect(try Files.records(scratch.log)[0]["log"]?["reason"]?.string == "rotated")
        #expect(try Files.mode(scratch.log) == "640")
    }

    @Test(arguments: [0, 1, 3])
    func `retention is honoured`(keep: Int) throws {
        let scratch = try Scratch()
        try Files.write([], to: scratch.log + ".7")
        try Files.write([], to: scratch.log + ".2.gz")
        try Files.write([], to: scratch.log + ".old")
        let pair = try Pair(scratch.log, rotation: RotationPolicy(size: 4096, keep: keep)).publish(200)
        let expected = ["events.jsonl"] + (0..<keep).map { "events.jsonl.\($0 + 1)" } + ["events.jsonl.old"]
        #expect(try scratch.names == expected)
        #expect(pair.log.status.errors == 0)
    }

    @Test func `rotation by age counts from the first record, over restarts, whatever the calendar does`() throws {
        let scratch = try Scratch()
        let clock = ManualClock()
        let policy = RotationPolicy(size: nil, age: .seconds(3600), keep: 3)
        func rotations(after duration: Duration) throws -> UInt64 {
            clock.advance(by: duration)
            return try Pair(scratch.log, clock: clock, rotation: policy).publish().publish().log.status.rotations
        }
        #expect(try rotations(after: .zero) == 0)
        #expect(try rotations(after: .seconds(3000)) == 0)
        clock.step(wallBy: .seconds(-7200))
        #expect(try rotations(after: .seconds(300)) == 0)
        clock.step(wallBy: .seconds(7200))
        #expect(try rotations(after: .seconds(500)) == 1)
        let pair = try Pair(scratch.log, clock: clock, rotation: policy).publish()
        clock.step(wallBy: .seconds(86_400))
        #expect(pair.publish().log.status.rotations == 0)
        #expect(pair.publish(step: .seconds(3600)).log.status.rotations == 1)
        try expectGood(scratch.log)
    }

    @Test func `a size below the smallest is raised`() {
        #expect(RotationPolicy(size: 1, keep: -1) == RotationPolicy(size: RotationPolicy.smallestSize, keep: 0))
    }

    @Test func `new rotation rules take effect at once`() throws {
        let scratch = try Scratch()
        let pair = try Pair(scratch.log).publish(50)
        pair.log.setRotation(RotationPolicy(size: 4096, keep: 2))
        #expect(pair.publish().log.status.rotations == 1)
    }

    @Test func `a rotation that fails leaves the log going on, and is tried again`() throws {
        let scratch = try Scratch()
        let pair = try Pair(scratch.log, rotation: RotationPolicy(size: 4096, keep: 2)).publish(2)
        // A directory in the place of the next file: neither removed nor replaced.
        try Command.run(["mkdir", scratch.log + ".new"])
        pair.publish(100)
        #expect(pair.log.status.rotations == 0 && pair.log.status.errors == 1 && pair.log.status.isWritable)
        try Command.run(["rmdir", scratch.log + ".new"])
        pair.publish(step: .seconds(2))
        #expect(pair.log.status.rotations == 1)
        try expectGood(scratch.log)
    }
}

@Suite struct ReopeningTests {
    @Test func `a renamed log is reopened on request, with every number once`() throws {
        let scratch = try Scratch()
        let pair = try Pair(scratch.log).publish(3)
        try Command.run(["mv", scratch.log, scratch.log + ".1"])
        pair.publish(2)
        pair.log.reopen()
        pair.hub.prepareJournal()
        #expect(try Files.sequences(scratch.log + ".1") == Array(1...6) && Files.sequences(scratch.log) == [7])
        pair.publish(2)
        #expect(try Files.records(scratch.log)[0]["log"]?["reason"]?.string == "reopened")
        #expect(pair.log.status.reopenings == 1)
        try expectGood(scratch.log)
    }

    @Test func `a request without a renaming changes nothing`() throws {
        let scratch = try Scratch()
        let pair = try Pair(scratch.log).publish(3)
        pair.log.reopen()
        pair.publish()
        #expect(try Files.records(scratch.log).filter { $0["event"]?.string == "log.opened" }.count == 1)
        #expect(pair.log.status.reopenings == 0)
    }

    @Test(
        arguments: [
            ("mv LOG LOG.1", false), ("mv LOG LOG.1; : >LOG", false), ("mv DIR DIR.old", false),
            ("rm LOG", true), ("rm -r DIR", true), ("rm -r DIR; mkdir DIR", true), ("rm LOG; : >LOG", true),
            ("mount -t tmpfs none DIR", true),
        ]
    )
    func `a removed, replaced or hidden log is noticed within the interval, and what nobody sees is told`(
        command: String,
        isLost: Bool
    ) throws {
        let scratch = try Scratch()
        let log = scratch.file("dir/events.jsonl")
        let pair = try Pair(log).publish(3)
        let line = command.split(separator: "LOG", omittingEmptySubsequences: false).joined(separator: log)
        let script = line.split(separator: "DIR", omittingEmptySubsequences: false).joined(
            separator: scratch.file("dir")
        )
        // The last record before is in the file when it is looked at.
        pair.publish(1, step: .seconds(1))
        try Command.run(["sh", "-c", script])
        // The log is still open there.
        defer { if command.hasPrefix("mount") { _ = try? Command.run(["umount", "--lazy", scratch.file("dir")]) } }
        pair.publish(2).publish(2, step: .seconds(1))
        let records = try Files.records(log)
        #expect(records.compactMap { $0["seq"]?.int } == Array(8...(isLost ? 11 : 10)))
        #expect(records[0]["log"]?["reason"]?.string == "replaced")
        let gap = records[1]["log"]
        #expect(gap?["first_seq"]?.int == (isLost ? 5 : nil) && gap?["last_seq"]?.int == (isLost ? 7 : nil))
        #expect(pair.log.status.isWritable && pair.log.status.eventsLost == (isLost ? 3 : 0))
        try expectGood(log)
    }

    @Test func `a log is looked at before it is rotated, and when it is reopened on request`() throws {
        let scratch = try Scratch()
        let pair = try Pair(scratch.log, rotation: RotationPolicy(size: 4096, keep: 2)).publish(3)
        try Command.run(["rm", scratch.log])
        pair.publish(60)
        #expect(pair.log.status.reopenings == 1 && pair.log.status.eventsLost > 10)
        let lost = pair.log.status.eventsLost
        try Command.run(["rm", scratch.log])
        pair.publish(2)
        pair.log.reopen()
        pair.hub.prepareJournal()
        #expect(pair.log.status.reopenings == 2 && pair.log.status.eventsLost > lost + 2)
        try expectGood(scratch.log)
    }

    @Test func `a log that somebody cut begins anew with log.opened`() throws {
        let scratch = try Scratch()
        let pair = try Pair(scratch.log).publish(3)
        try Command.run(["truncate", "-s", "0", scratch.log])
        pair.publish(1, step: .seconds(2))
        let records = try Files.records(scratch.log)
        #expect(records.compactMap { $0["seq"]?.int } == [5, 6])
        #expect(records[0]["log"]?["reason"]?.string == "truncated")
    }

    @Test func `a foreign file in the place of the log is left alone; the renamed log goes on`() throws {
        let scratch = try Scratch()
        let pair = try Pair(scratch.log).publish(3)
        try Command.run(["mv", scratch.log, scratch.log + ".1"])
        try Files.write(Array("mine\n".utf8), to: scratch.log)
        pair.publish(3, step: .seconds(2))
        #expect(try Files.text(scratch.log) == "mine\n")
        #expect(try Files.sequences(scratch.log + ".1") == Array(1...7))
        #expect(pair.log.status.errors > 0 && pair.log.status.eventsLost == 0)
    }

    @Test func `events that no file can take are counted, and their gap is told later`() throws {
        let scratch = try Scratch()
        let pair = try Pair(scratch.log).publish(3)
        try Files.write(Array("mine\n".utf8), to: scratch.file("mine"))
        try Command.run(["mv", scratch.file("mine"), scratch.log])
        pair.publish(3, step: .seconds(2))
        #expect(pair.log.status.eventsLost == 7 && pair.log.status.outage?.lost == [1...7])
        #expect(pair.log.status.outage?.error == "foreign file")
        try Command.run(["rm", scratch.log])
        pair.publish(1, step: .seconds(2))
        let records = try Files.records(scratch.log)
        #expect(records.map { $0["event"]?.string } == ["log.opened", "log.gap", "path.changed"])
        #expect(records.compactMap { $0["seq"]?.int } == [8, 9, 10])
        #expect(records[1]["log"]?["first_seq"]?.int == 1 && records[1]["log"]?["last_seq"]?.int == 7)
        #expect(pair.log.status.isWritable)
    }
}
