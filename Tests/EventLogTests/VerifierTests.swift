// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import EventHub
import EventLog
import OrderedJSON
import TestSupport
import Testing

@Suite struct VerifierTests {
    /// A good line with its members changed.
    private static func line(
        _ sequence: UInt64,
        event: String = "path.changed",
        stream: String = "7f3a",
        rest: String = ""
    ) -> String {
        #"{"time":"2026-11-20T12:00:00.000000000Z","seq":"# + "\(sequence)" + #","stream":""# + stream
            + #"","schema":"nwpath.event/1","event":""# + event
            + #"","severity":"info","host":"edge-17","message":"m""# + rest + "}"
    }
    private static let padding = #","log":{"file":""# + String(repeating: "a", count: 200) + #""}"#
    private static let opening = line(1, event: "log.opened", rest: padding)

    private static func gap(_ sequence: UInt64, _ first: UInt64, _ last: UInt64) -> String {
        line(sequence, event: "log.gap", rest: #","log":{"first_seq":\#(first),"last_seq":\#(last)}"#)
    }

    private func problems(_ lines: [String], end: String = "\n") throws -> [String] {
        let scratch = try Scratch()
        try Files.write(Array((lines.joined(separator: "\n") + end).utf8), to: scratch.log)
        return LogVerifier.verify([scratch.log]).problems.map {
            String($0.description.dropFirst(scratch.log.count + 1))
        }
    }

    static let cases: [([String], [String])] = [
        ([opening, line(2), line(3)], []),
        ([opening, line(2), "", line(3)], ["3: not JSON: byte 0: unexpected end"]),
        ([opening, "{]", line(2)], ["2: not JSON: byte 1: unexpected ']'"]),
        ([opening, line(2), line(5)], ["3: seq 3 to 4 are missing"]),
        ([opening, line(2), line(4)], ["3: seq 3 is missing"]),
        ([opening, line(2), line(2)], ["3: seq 2 after seq 2"]),
        ([opening, line(2), gap(5, 3, 4), line(6)], []),
        ([opening, line(2), line(5, event: "log.opened"), gap(6, 3, 4), line(7)], []),
        ([opening, line(2), gap(6, 3, 4), line(7)], ["3: seq 3 to 5 are missing"]),
        ([opening, gap(8, 2, 4), gap(9, 5, 7)], []),
        ([opening, line(2), line(9), gap(10, 1, 20)], []),
        // Gaps that are told again and again, and add up to more than a number can hold.
        (
            [opening, line(1 << 62)] + (1...5).map { gap(1 << 62 + $0, 2, 1 << 62 - 2) },
            ["2: seq 2 to \(UInt64(1) << 62 - 1) are missing"]
        ),
        ([opening, line(1 << 63)], ["2: invalid value of 'seq'"]),
        ([opening, line(2, stream: "abcd")], ["2: stream changed from 7f3a to abcd without log.opened"]),
        ([opening, line(1, event: "log.opened", stream: "abcd"), line(2, stream: "abcd")], []),
        ([line(1), line(2)], ["1: the file does not begin with log.opened"]),
        ([line(1, event: "log.opened"), line(2)], ["1: the file does not begin with log.opened"]),
        ([opening, "[]"], ["2: expected member 'time', found 'nothing'"]),
        ([opening, #"{"seq":2}"#], ["2: expected member 'time', found 'seq'"]),
        ([opening, #"{"time":"2026-11-20T12:00:00.000000000Z"}"#], ["2: expected member 'seq', found 'nothing'"]),
        ([opening, #"{"time":"2026-11-20T12:00:00Z"}"#], ["2: invalid value of 'time'"]),
        ([opening, line(0)], ["2: invalid value of 'seq'"]),
        ([opening, line(2, stream: "XYZ")], ["2: invalid value of 'stream'"]),
        ([opening, line(2, event: "Nope")], ["2: invalid value of 'event'"]),
        ([opening, line(2, event: "future.event")], []),
        ([opening, line(2, rest: #","seq":2"#)], ["2: not JSON: byte 163: key 'seq' appears twice"]),
    ]

    @Test(arguments: cases.indices)
    func `names each problem with its place`(index: Int) throws {
        let (lines, expected) = Self.cases[index]
        #expect(try problems(lines) == expected)
    }

    @Test func `a last line that is cut off is a problem, with or without its brace`() throws {
        #expect(try problems([Self.opening, Self.line(2)], end: "") == ["2: the last line is cut off"])
        #expect(try problems([Self.opening, #"{"time":"#], end: "") == ["2: the last line is cut off"])
    }

    @Test func `a line longer than any record is a problem, and reading goes on`() throws {
        let long = String(repeating: "x", count: 3 << 20)
        #expect(try problems([Self.opening, long, Self.line(2)]) == ["2: line too long"])
    }

    @Test func `spaces between the members are no form of ours`() throws {
        let spaced = Self.line(2).split(separator: ",").joined(separator: ", ")
        #expect(try problems([Self.opening, spaced]) == ["2: invalid value of 'time'"])
    }

    @Test func `files are read in the order of their records, compressed ones too`() throws {
        let scratch = try Scratch()
        let pair = try Pair(scratch.log, rotation: RotationPolicy(size: 4096, keep: 100)).publish(100)
        let files = try scratch.names.map { scratch.file($0) }
        for path in files.suffix(3) { try Command.run(["gzip", path]) }
        let report = LogVerifier.verify(try LogVerifier.files(of: scratch.log).shuffled())
        #expect(report.isGood && report.records == pair.hub.position.sequence && report.files == files.count)
        #expect(report.first?.sequence == 1 && report.last == pair.hub.position)
    }

    @Test func `a missing and a damaged file are problems`() throws {
        let scratch = try Scratch()
        try Pair(scratch.log).publish(2000)
        try Command.run(["gzip", scratch.log])
        let whole = try Files.bytes(scratch.log + ".gz")
        try Files.write(Array(whole.prefix(whole.count / 2)), to: scratch.log + ".gz")
        let report = LogVerifier.verify([scratch.log, scratch.log + ".gz"])
        #expect(report.problemCount == 2 && report.records > 0)
        #expect(report.problems[0].description.hasSuffix("cannot read: No such file or directory (ENOENT)"))
        #expect(report.problems[1].description.contains("is damaged"))
    }

    @Test func `a report is bounded`() throws {
        let scratch = try Scratch()
        try Files.write(Array(String(repeating: "x\n", count: 5000).utf8), to: scratch.log)
        let report = LogVerifier.verify([scratch.log])
        #expect(report.problems.count == LogVerifier.maximumProblems && report.problemCount == 5000 && !report.isGood)
    }
}
