// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import EventHub
import EventLog
import Glibc
import LinuxIO
import OrderedJSON
import TestSupport
import Testing

/// The writer program beside the tests.
enum Writer {
    /// The directory of the running test program; the writer is built into the same one.
    static var program: String {
        get throws { try BuiltProgram.path("EventLogWriter") }
    }

    static func start(
        _ scratch: Scratch,
        rotation: Int = 0,
        count: Int = 0,
        captures: Bool = false
    ) throws -> RunningCommand {
        let arguments = [try program, scratch.log, scratch.file("acknowledged"), "\(rotation)", "\(count)"]
        return try RunningCommand(arguments, captures: captures)
    }

    /// The last number whose publication had returned.
    static func acknowledged(_ scratch: Scratch) throws -> UInt64 {
        guard let bytes = try? Files.bytes(scratch.file("acknowledged")), bytes.count == 8 else { return 0 }
        return bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
}

/// How often the writer is killed; `NWPATH_TEST_KILLS` asks for more than the suite's 40.
private let kills = unsafe getenv("NWPATH_TEST_KILLS").flatMap { unsafe Int(String(cString: $0)) } ?? 40

@Suite(.inNamespace, .serialized) struct CrashTests {
    @Test(arguments: [0, 20_000])
    func `a writer killed at random moments leaves every acknowledged record, in order, once`(
        rotation: Int
    ) async throws {
        let scratch = try Scratch()
        let loop = Namespace.current.loop
        var wroteBetweenKills = 0
        for round in 0..<(kills / 2) {
            let before = try Writer.acknowledged(scratch)
            let writer = try Writer.start(scratch, rotation: rotation)
            if round % 4 > 0 {
                // Past the start of the program, so that most kills meet it writing.
                try await loop.eventually(within: .seconds(20), "writing") { try Writer.acknowledged(scratch) > before }
            }
            await loop.sleep(for: .microseconds(.random(in: 0...15_000)))
            writer.signal(SIGKILL)
            #expect(writer.wait() == 128 + SIGKILL)
            let acknowledged = try Writer.acknowledged(scratch)
            if acknowledged > before { wroteBetweenKills += 1 }
        }
        #expect(wroteBetweenKills > kills / 4)
        let acknowledged = try Writer.acknowledged(scratch)
        let last = try Pair(scratch.log).publish().hub.position.sequence
        let report = try expectGood(scratch.log)
        #expect(report.records == last && report.first?.sequence == 1 && last > acknowledged)
    }

    @Test func `rename and reopen under load keeps every number once`() async throws {
        let scratch = try Scratch()
        let loop = Namespace.current.loop
        let writer = try Writer.start(scratch, captures: true)
        for round in 1...12 {
            let before = try Writer.acknowledged(scratch)
            try await loop.eventually(within: .seconds(20), "writing") {
                try Writer.acknowledged(scratch) > before + 200
            }
            try Command.run(["mv", scratch.log, scratch.log + ".\(100 - round)"])
            writer.signal(SIGUSR1)
            await loop.eventually(within: .seconds(20), "reopening") {
                (try? Files.bytes(scratch.log).isEmpty) == false
            }
        }
        writer.signal(SIGTERM)
        let output = try writer.finish()
        let report = try expectGood(scratch.log)
        #expect(output.hasPrefix("\(report.records) 0 12 0") && report.files == 13 && report.first?.sequence == 1)
    }

    @Test func `rotation under load keeps every number once`() throws {
        let scratch = try Scratch()
        let output = try Writer.start(scratch, rotation: 30_000, count: 5000, captures: true).finish()
        let report = try expectGood(scratch.log)
        #expect(output.hasPrefix("\(report.records) \(report.files - 1) 0 0") && report.files > 20)
        #expect(report.records == 5000 + UInt64(report.files))
    }

    @Test func `a second writer is refused in one line`() async throws {
        let scratch = try Scratch()
        let writer = try Writer.start(scratch)
        try await Namespace.current.loop.eventually(within: .seconds(20), "writing") {
            try Writer.acknowledged(scratch) > 0
        }
        let second = try Writer.start(scratch, captures: true)
        let failure = try #require(throws: CommandFailure.self) { try second.finish() }
        #expect(failure.code == 1)
        #expect(failure.output.contains("is in use by another nwpath (process \(writer.processID))"))
    }
}
