// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import EventHub
import EventLog
import OrderedJSON
import TestSupport
import Testing

@Suite(.computing) struct RecoveryTests {
    @Test func `a log cut at any byte recovers to its last complete line`() throws {
        let scratch = try Scratch()
        try Pair(scratch.log).publish(3)
        let whole = try Files.bytes(scratch.log)
        let ends = whole.indices.filter { whole[$0] == 0x0A }
        for cut in 0...whole.count {
            let path = scratch.file("cut.jsonl")
            try Files.write(Array(whole[..<cut]), to: path)
            // A line is complete with its closing brace; the line feed may be missing.
            let complete = ends.filter { $0 <= cut }.count
            let log = try Pair(path)
            #expect(log.log.recovered?.sequence ?? 0 == complete, "cut at \(cut)")
            log.publish()
            let sequences = try Files.sequences(path)
            #expect(sequences == Array(1...(complete + 2)), "cut at \(cut)")
            let stream = try Files.records(path)[0]["stream"]?.string
            #expect(try Files.records(path).allSatisfy { $0["stream"]?.string == stream })
        }
    }

    @Test func `the opening tells how many bytes were cut away`() throws {
        let scratch = try Scratch()
        try Pair(scratch.log).publish(3)
        let whole = try Files.bytes(scratch.log)
        try Files.write(whole + Array(#"{"time":"2026-"#.utf8), to: scratch.log)
        let pair = try Pair(scratch.log).publish()
        #expect(try Files.records(scratch.log)[4]["log"]?["repaired_bytes"]?.int == 14)
        #expect(pair.log.status.repairedBytes == 14)
        try expectGood(scratch.log)
    }

    @Test(arguments: [1, 512, 4096, 70_000, 2_000_000])
    func `zero bytes that a power cut left are cut away`(count: Int) throws {
        let scratch = try Scratch()
        try Pair(scratch.log).publish(3)
        try Files.write(try Files.bytes(scratch.log) + [UInt8](repeating: 0, count: count), to: scratch.log)
        let pair = try Pair(scratch.log).publish()
        #expect(pair.log.recovered?.sequence == 4 && pair.log.status.repairedBytes == count)
        #expect(try Files.sequences(scratch.log) == Array(1...6))
    }

    @Test func `lines that are no records are looked past for the last number`() throws {
        let scratch = try Scratch()
        let stream = try Pair(scratch.log).publish(3).hub.position.stream
        let junk = Array("junk\n\u{0}\u{0}\n{\"time\":\"2026\n\n".utf8)
        try Files.write(try Files.bytes(scratch.log) + junk, to: scratch.log)
        let recovered = try Pair(scratch.log).log.recovered
        #expect(recovered == EventPosition(stream: stream, sequence: 4))
    }

    @Test func `a number behind which there is no room is not gone on from`() throws {
        let scratch = try Scratch()
        try Pair(scratch.log).publish(3)
        let good = try Files.text(scratch.log)
        let last = try #require(good.split(separator: "\n").last)
        let mark = try #require(last.firstRange(of: #""seq":4,"#))
        for number in [UInt64.max, UInt64(Int64.max) + 1, 0] {
            let hostile = last[..<mark.lowerBound] + #""seq":\#(number),"# + last[mark.upperBound...] + "\n"
            try Files.write(Array((good + hostile).utf8), to: scratch.log)
            let pair = try Pair(scratch.log).publish()
            #expect(pair.log.recovered?.sequence == 4 && pair.hub.position.sequence == 6)
        }
    }

    @Test func `the last number is found behind a mountain of junk`() throws {
        let scratch = try Scratch()
        try Pair(scratch.log).publish(3)
        let line = [UInt8](repeating: 0x78, count: 3 << 20) + [0x0A]
        try Files.write(try Files.bytes(scratch.log) + line + line, to: scratch.log)
        #expect(try Pair(scratch.log).log.recovered?.sequence == 4)
    }

    @Test(arguments: ["", "\u{0}\u{0}\u{0}", "{\"tim", "{\"time\":\"2026-11"])
    func `an empty or torn log goes on after the rotated one`(content: String) throws {
        let scratch = try Scratch()
        let stream = try Pair(scratch.log).publish(3).hub.position.stream
        try Command.run(["mv", scratch.log, scratch.log + ".1"])
        try Files.write(Array(content.utf8), to: scratch.log)
        let pair = try Pair(scratch.log).publish()
        #expect(pair.log.recovered == EventPosition(stream: stream, sequence: 4))
        #expect(try Files.sequences(scratch.log) == [5, 6])
        try expectGood(scratch.log)
    }

    @Test func `it goes on after a compressed file, and past unreadable ones`() throws {
        let scratch = try Scratch()
        let stream = try Pair(scratch.log).publish(3).hub.position.stream
        try Command.run(["mv", scratch.log, scratch.log + "-20261120"])
        try Command.run(["gzip", scratch.log + "-20261120"])
        try Files.write(Array("junk".utf8), to: scratch.log + ".2.gz")
        try Files.write(Array("junk\n".utf8), to: scratch.log + ".1")
        #expect(try Pair(scratch.log).log.recovered == EventPosition(stream: stream, sequence: 4))
    }

    @Test func `a lost log begins a new stream`() throws {
        let scratch = try Scratch()
        let old = try Pair(scratch.log).publish(3).hub.position.stream
        try Command.run(["rm", scratch.log])
        let pair = try Pair(scratch.log).publish()
        #expect(pair.log.recovered == nil && pair.hub.position.stream != old)
        #expect(try Files.sequences(scratch.log) == [1, 2])
    }

    @Test func `a file that a crash left in mid-rotation is removed`() throws {
        let scratch = try Scratch()
        try Files.write([1], to: scratch.log + ".new")
        try Pair(scratch.log).publish()
        #expect(try scratch.names == ["events.jsonl"])
    }
}
