// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import EventHub
import FuzzKit
import Glibc
import LinuxIO

@testable import EventLog

/// Whatever a log file holds: it is repaired once, verified and read to its end.
@main enum FuzzEventLog {
    static func main() {
        unsafe Fuzzer.run { start, count in
            unsafe FuzzEventLog.examine(UnsafeRawBufferPointer(start: start, count: count))
            return 0
        }
    }

    private static let file = FileDescriptor(owning: Fuzzer.makeMemoryFile())
    private static let path = "/proc/self/fd/\(file.rawValue)"

    private static func examine(_ bytes: UnsafeRawBufferPointer) {
        ftruncate(file.rawValue, 0)
        unsafe pwrite(file.rawValue, bytes.baseAddress, bytes.count, 0)
        repair(size: Int64(bytes.count))
        let report = LogVerifier.verify([path])
        require(report.problemCount >= report.problems.count, "miscounted problems")
        require(!report.problems.contains { $0.kind == LogProblem.Kind.torn }, "the end is torn after the repair")
        readBack(report)
    }

    /// What the daemon does with the end of the file when it starts: once is enough.
    private static func repair(size: Int64) {
        guard let tail = try? LogTail(reading: file, size: size) else { fatalError("cannot read the end") }
        require((0...size).contains(tail.goodSize), "would cut at \(tail.goodSize)")
        ftruncate(file.rawValue, Int(tail.goodSize))
        if tail.lacksLineFeed { unsafe pwrite(file.rawValue, "\n", 1, Int(tail.goodSize)) }
        let repaired = tail.goodSize + (tail.lacksLineFeed ? 1 : 0)
        guard let again = try? LogTail(reading: file, size: repaired) else { fatalError("cannot read the end again") }
        require(again.goodSize == repaired && !again.lacksLineFeed, "repaired twice")
        require(again.last == tail.last, "the last record changed by the repair")
    }

    private static func readBack(_ report: LogVerifier.Report) {
        guard let reader = try? LogReader(path: path) else { return }
        var records: UInt64 = 0
        try? reader.forEach { _, _ in
            records += 1
            return true
        }
        require(records >= report.records, "reads fewer records than there are good ones")
        guard let stream = report.last?.stream else { return }
        for sequence in [0, 1, UInt64.max] {
            var cursor = LogCursor(path: path, stream: stream, from: .after(sequence))
            guard let step = try? cursor.advance(lines: 9, limit: 3, where: { _ in true }) else { continue }
            require(step.records.count <= 3 && step.last >= sequence, "a page of its own")
        }
    }
}
