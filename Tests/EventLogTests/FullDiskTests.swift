// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import EventHub
import EventLog
import Glibc
import LinuxIO
import OrderedJSON
import TestSupport
import Testing

/// A tmpfs of 1 MiB in a mount namespace of its own, reached through the process that lives there.
final class SmallDisk {
    private let process: RunningCommand
    let path: String

    init() throws {
        let script =
            "mount --make-rprivate / && mount -t tmpfs -o size=1m tmpfs /mnt && touch /mnt/ready && exec sleep 600"
        process = try RunningCommand(["unshare", "-m", "sh", "-c", script])
        path = "/proc/\(process.processID)/root/mnt"
        try Command.run(["sh", "-c", "for i in $(seq 500); do test -e \(path)/ready && exit; sleep 0.01; done; exit 1"])
    }

    /// Takes all the space but `free` bytes, in pages of 4 KiB.
    func fill(leaving free: Int = 0) throws {
        _ = try? Command.run(["dd", "if=/dev/zero", "of=\(path)/filler", "bs=4096"])
        if free > 0 { try Command.run(["truncate", "-s", "-\(free)", "\(path)/filler"]) }
    }

    func empty() throws { try Command.run(["rm", "\(path)/filler"]) }
}

@Suite(.computing) struct FullDiskTests {
    @Test func `a full disk costs log lines only; the gap is told once there is room`() throws {
        let disk = try SmallDisk()
        let log = disk.path + "/events.jsonl"
        let pair = try Pair(log).publish(3)
        var heard: [UInt64] = []
        pair.hub.addSink { heard.append($0.sequence) }
        try disk.fill()
        pair.publish(50, filler: String(repeating: "x", count: 200))
        let outage = try #require(pair.log.status.outage)
        #expect(outage.error == "ENOSPC" && pair.log.status.errors > 0)
        let lost = try #require(outage.lost.first)
        #expect(outage.lost == [lost] && lost.upperBound == 54 && pair.log.status.eventsLost == UInt64(lost.count))
        #expect(heard == Array(5...54))
        #expect(try Files.sequences(log) == Array(1..<Int(lost.lowerBound)))

        try disk.empty()
        pair.publish(2)
        #expect(pair.log.status.isWritable)
        let gap = try Files.records(log).first { $0["event"]?.string == "log.gap" }
        #expect(gap?["seq"]?.uint64 == 55 && gap?["log"]?["error"]?.string == "ENOSPC")
        #expect(gap?["log"]?["first_seq"]?.uint64 == lost.lowerBound && gap?["log"]?["last_seq"]?.int == 54)
        #expect(heard == Array(5...57))
        try expectGood(log)
        try Pair.restart(pair, log)
    }

    @Test func `the owner's timer ends an outage without an event`() throws {
        let disk = try SmallDisk()
        let log = disk.path + "/events.jsonl"
        let pair = try Pair(log).publish(3)
        try disk.fill()
        pair.publish(100)
        let before = pair.hub.position.sequence
        pair.hub.prepareJournal()
        #expect(!pair.log.status.isWritable && pair.hub.position.sequence == before)
        try disk.empty()
        pair.hub.prepareJournal()
        #expect(pair.log.status.isWritable && pair.hub.position.sequence == before + 1)
        try expectGood(log)
    }

    @Test(arguments: 0..<6)
    func `no part of a line stays behind, however little room there is`(round: Int) throws {
        let disk = try SmallDisk()
        let log = disk.path + "/events.jsonl"
        let pair = try Pair(log).publish(3)
        for cycle in 0..<4 {
            try disk.fill(leaving: 4096 * (cycle % 2))
            for length in 0..<40 { pair.publish(filler: String(repeating: "y", count: 37 * (length + round))) }
            #expect(!pair.log.status.isWritable)
            let text = try Files.bytes(log)
            #expect(text.last == 0x0A)
            try disk.empty()
            pair.publish()
            #expect(pair.log.status.isWritable)
        }
        let report = try expectGood(log)
        #expect(report.records + pair.log.status.eventsLost == pair.hub.position.sequence)
    }

    @Test func `rotation on a full disk loses nothing that is told as written`() throws {
        let disk = try SmallDisk()
        let log = disk.path + "/events.jsonl"
        let pair = try Pair(log, rotation: RotationPolicy(size: 65_536, keep: 100))
        pair.publish(2000, filler: String(repeating: "z", count: 1000))
        #expect(pair.log.status.eventsLost > 0 && !pair.log.status.isWritable)
        try Command.run(["sh", "-c", "rm \(log).9 \(log).8"])
        pair.publish(5)
        #expect(pair.log.status.isWritable)
        let report = LogVerifier.verify(try LogVerifier.files(of: log))
        let kinds = report.problems.map(\.kind)
        // The two files removed by hand are the only hole.
        let gaps = kinds.filter { if case .gap = $0 { true } else { false } }
        #expect(kinds.count == 1 && gaps == kinds)
    }

    @Test func `a log can be opened on a full disk`() throws {
        let disk = try SmallDisk()
        try disk.fill()
        let log = disk.path + "/events.jsonl"
        let pair = try Pair(log).publish(3)
        #expect(pair.log.status.eventsLost == 3 && pair.hub.position.sequence == 3)
        try disk.empty()
        pair.publish()
        #expect(try Files.records(log).map { $0["event"]?.string } == ["log.opened", "log.gap", "path.changed"])
        #expect(try Files.records(log)[1]["log"]?["first_seq"]?.int == 1)
    }
}

extension Pair {
    /// Opens a log again that `pair` no longer uses, which must go on after its last number.
    static func restart(_ pair: consuming Pair, _ log: String) throws {
        let last = pair.hub.position
        #expect(throws: EventLogError.self) { try Pair(log) }
        #expect(try Files.sequences(log).last == Int(last.sequence))
    }
}

@Suite struct StandardOutputTests {
    /// A log whose lines go to a pipe.
    private func withPipe(_ body: (Pair, Int32) throws -> Void) throws {
        // Standard output itself belongs to the test runner: the log is given a pipe in its place.
        var ends: [Int32] = [-1, -1]
        try #require(unsafe pipe(&ends) == 0)
        let saved = dup(STDOUT_FILENO)
        defer {
            close(saved)
            close(ends[0])
        }
        fflush(nil)
        dup2(ends[1], STDOUT_FILENO)
        close(ends[1])
        let pair = Result { try Pair("-") }
        dup2(saved, STDOUT_FILENO)
        try body(try pair.get(), ends[0])
    }

    private func drain(_ descriptor: Int32) throws -> [UInt8] {
        let reader = FileDescriptor(owning: dup(descriptor))
        try reader.setNonBlocking()
        var bytes: [UInt8] = []
        while let chunk = try? reader.read(upTo: 1 << 16), !chunk.isEmpty { bytes += chunk }
        return bytes
    }

    @Test func `standard output gets the same lines, from log.opened on`() throws {
        try withPipe { pair, reader in
            var lines: [UInt8] = []
            pair.hub.addSink { lines += $0.line }
            pair.log.reopen()
            pair.publish(5)
            let drained = try drain(reader)
            #expect(drained == lines)
            #expect(pair.hub.position.sequence == 6 && pair.log.recovered == nil)
        }
    }

    @Test func `a reader that stands still costs lines, never blocks, and is told of the gap`() throws {
        try withPipe { pair, reader in
            pair.publish(1000, filler: String(repeating: "x", count: 500))
            #expect(pair.log.status.outage?.error == "EAGAIN" && pair.log.status.eventsLost > 800)
            var bytes = try drain(reader)
            pair.publish(3)
            #expect(pair.log.status.isWritable)
            bytes += try drain(reader)
            let records = try bytes.split(separator: 0x0A).map { try JSONValue(parsing: Array($0)) }
            let gap = try #require(records.first { $0["event"]?.string == "log.gap" })
            #expect(gap["log"]?["last_seq"]?.int == 1001 && records.last?["seq"]?.int == 1005)
        }
    }
}
