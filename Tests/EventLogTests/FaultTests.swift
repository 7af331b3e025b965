// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import EventHub
import EventLog
import Glibc
import LinuxIO
import OrderedJSON
import TestSupport
import Testing

/// Whether Tests/run checks threads: the runtime of that sanitizer writes and cuts files of its own.
private let isThreadSanitized = unsafe getenv("TSAN_OPTIONS") != nil

/// A system call that fails in a writer of its own, as on a bad disk.
private struct Fault {
    let error: String
    let call: String
    /// The number of the argument that is looked at, and the values with which the call fails.
    let argument: Int
    let values: ClosedRange<UInt32>

    /// The command line of a program that has this fault.
    func words(_ program: [String]) -> [String] {
        let file = #filePath
        let script = file[..<(file.lastIndex(of: "/") ?? file.endIndex)] + "/Fixtures/failing.py"
        let fault = [error, call, "\(argument)", "\(values.lowerBound)", "\(values.upperBound)"]
        return ["python3", String(script)] + fault + program
    }

    /// A file that cannot be cut, except to nothing.
    static let truncation = Fault(error: "EIO", call: "ftruncate", argument: 1, values: 1...UInt32.max)
}

@Suite(.disabled(if: isThreadSanitized)) struct FaultTests {
    private func writer(_ scratch: Scratch, count: Int = 0) throws -> [String] {
        [try Writer.program, scratch.log, scratch.file("acknowledged"), "0", "\(count)"]
    }

    /// The last number whose publication returned.
    private func acknowledged(_ scratch: Scratch) -> Int {
        let bytes = (try? Files.bytes(scratch.file("acknowledged"))) ?? []
        return bytes.reversed().reduce(0) { $0 << 8 | Int($1) }
    }

    private func wait(_ what: String, until condition: () throws -> Bool) async throws {
        for _ in 0..<2000 {
            if try condition() { return }
            try await Task.sleep(for: .milliseconds(10))
        }
        Issue.record("\(what) did not happen")
    }

    /// Which descriptor a writer's first log file has; the same in every writer, as none is inherited.
    private func logDescriptor() async throws -> UInt32 {
        let scratch = try Scratch()
        let fault = Fault(error: "EIO", call: "write", argument: 0, values: 9999...9999)
        let process = try RunningCommand(fault.words(try writer(scratch)))
        try await wait("the first event") { acknowledged(scratch) > 0 }
        let script = "cd /proc/\(process.processID)/fd && for i in *; do echo $i $(readlink $i); done"
        let line = try Command.run(["sh", "-c", script]).split(separator: "\n").first { $0.hasSuffix(scratch.log) }
        return try #require(line.flatMap { UInt32($0.prefix { $0 != " " }) })
    }

    @Test(arguments: ["EIO", "EDQUOT", "EROFS"])
    func `events that a bad file does not take are told as a gap by the next file`(error: String) async throws {
        let descriptor = try await logDescriptor()
        let scratch = try Scratch()
        let fault = Fault(error: error, call: "write", argument: 0, values: descriptor...descriptor)
        let process = try RunningCommand(fault.words(try writer(scratch)))
        try await wait("fifty events") { acknowledged(scratch) > 50 }
        #expect(try Files.bytes(scratch.log).isEmpty)
        // The next file has another descriptor.
        try Command.run(["mv", scratch.log, scratch.log + ".1"])
        process.signal(SIGUSR1)
        try await wait("the gap") { ((try? Files.text(scratch.log)) ?? "").split(separator: "\n").count > 5 }
        process.signal(SIGTERM)
        #expect(process.wait() == 0)
        let records = try Files.records(scratch.log)
        #expect(records.prefix(2).map { $0["event"]?.string } == ["log.opened", "log.gap"])
        let gap = try #require(records[1]["log"])
        #expect(gap["error"]?.string == error && gap["first_seq"]?.int == 1)
        let last = try #require(gap["last_seq"]?.int)
        #expect(last > 50 && records[0]["seq"]?.int == last + 1 && gap["lost"]?.int == last)
        try expectGood(scratch.log)
    }

    @Test func `a file that cannot be cut gets nothing behind a torn line, and is mended at the next start`() throws {
        let scratch = try Scratch()
        let words = Fault.truncation.words(try writer(scratch, count: 500)).joined(separator: " ")
        // The limit tears a line.
        let output = try runLimited(to: 32, words)
        #expect(output.hasPrefix("501 ") && !output.hasSuffix(" 0\n"))
        let bytes = try Files.bytes(scratch.log)
        #expect(bytes.count == 16_384 && bytes.last != 0x0A)
        #expect(LogVerifier.verify([scratch.log]).problems.map(\.kind) == [.torn])
        let pair = try Pair(scratch.log).publish(2)
        #expect(pair.log.status.repairedBytes > 0)
        try expectGood(scratch.log)
    }

    @Test func `a torn log that cannot be mended is refused in one line and left as it is`() throws {
        let scratch = try Scratch()
        try Pair(scratch.log).publish(3)
        let torn = try Files.bytes(scratch.log) + Array(#"{"time":"2026-"#.utf8)
        try Files.write(torn, to: scratch.log)
        let failure = try #require(throws: CommandFailure.self) {
            try Command.run(Fault.truncation.words(try writer(scratch, count: 1)))
        }
        #expect(failure.code == 1)
        #expect(failure.output == "\(scratch.log): cannot repair the log: Input/output error (EIO)\n")
        #expect(try Files.bytes(scratch.log) == torn)
    }

    @Test func `a file that cannot be read is no log, and no reason to lose it`() throws {
        let scratch = try Scratch()
        // The first page of a process is mapped nowhere, so reading it is an error.
        try Command.run(["ln", "-s", "/proc/self/mem", scratch.log])
        let reason = Errno(EIO)
        #expect(throws: EventLogError.failed(operation: "read the log", file: scratch.log, reason: reason)) {
            try Pair(scratch.log)
        }
        #expect(throws: EventLogError.failed(operation: "read", file: scratch.log, reason: reason)) {
            try LogReader(path: scratch.log)
        }
        let problem = LogVerifier.verify([scratch.log]).problems.first
        #expect(problem?.description == "\(scratch.log):1: \(scratch.log): cannot read: Input/output error (EIO)")
    }
}
