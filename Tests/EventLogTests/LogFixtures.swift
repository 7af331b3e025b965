// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import EventHub
import EventLog
import Glibc
import LinuxIO
import OrderedJSON
import TestSupport
import Testing

extension Scratch {
    var log: String { path + "/events.jsonl" }

    /// The names in the directory without the lock, sorted.
    var names: [String] {
        get throws {
            try Command.run(["ls", path]).split(separator: "\n").map(String.init).filter { !$0.hasSuffix(".lock") }
        }
    }
}

/// Whole files.
enum Files {
    static func bytes(_ path: String) throws -> [UInt8] {
        let descriptor = try FileDescriptor(opening: path, flags: O_RDONLY)
        var bytes: [UInt8] = []
        while true {
            let chunk = try descriptor.read(upTo: 1 << 16)
            if chunk.isEmpty { return bytes }
            bytes += chunk
        }
    }

    static func text(_ path: String) throws -> String { String(decoding: try bytes(path), as: UTF8.self) }

    static func write(_ bytes: [UInt8], to path: String) throws {
        try FileDescriptor(opening: path, flags: O_WRONLY | O_CREAT | O_TRUNC).writeAll(bytes.span)
    }

    static func records(_ path: String) throws -> [JSONValue] {
        try text(path).split(separator: "\n").map { try JSONValue(parsing: String($0)) }
    }

    static func sequences(_ path: String) throws -> [Int] { try records(path).compactMap { $0["seq"]?.int } }

    static func mode(_ path: String) throws -> String {
        try Command.run(["stat", "-c", "%a", path]).trimmed
    }
}

extension String {
    var trimmed: String { String(split(separator: "\n").first ?? "") }
}

/// A body of a chosen size.
struct Sample: EventBody {
    var name = EventName.pathChanged
    var severity: Severity { .info }
    var message = "Sample"
    var filler = ""

    func write(to object: inout JSONObjectWriter) { object.write("filler", filler) }
}

/// A log with a hub before it, as the daemon has them.
final class Pair {
    static let identity = DaemonIdentity(version: "0.1.0", revision: "test", processID: 1, bootID: nil)
    let clock: ManualClock
    let log: EventLog
    let hub: EventHub

    init(_ path: String, clock: ManualClock = ManualClock(), rotation: RotationPolicy = .external) throws {
        var options = EventLog.Options(identity: Self.identity)
        options.rotation = rotation
        self.clock = clock
        log = try EventLog(path: path, options: options, clock: clock)
        hub = EventHub(EventHub.Options(host: "edge-17"), after: log.recovered, clock: clock)
        hub.attach(log)
    }

    /// Publishes `count` events, `step` apart.
    @discardableResult
    func publish(_ count: Int = 1, step: Duration = .milliseconds(1), filler: String = "") -> Pair {
        for _ in 0..<count {
            clock.advance(by: step)
            hub.publish(Sample(filler: filler))
        }
        return self
    }
}

/// Verifies a log with all its files; records an issue for each problem.
@discardableResult
func expectGood(_ path: String, sourceLocation: SourceLocation = #_sourceLocation) throws -> LogVerifier.Report {
    let report = LogVerifier.verify(try LogVerifier.files(of: path))
    for problem in report.problems.prefix(10) { Issue.record("\(problem)", sourceLocation: sourceLocation) }
    return report
}

/// Runs a command whose files may have that many blocks of 512 bytes.
///
/// The signal of the limit is ignored, so that write(2) says `EFBIG`. The runtime of the thread sanitizer wants to write
/// a larger file of its own, and does without when it finds no directory for it.
@discardableResult
func runLimited(to blocks: Int, _ command: String) throws -> String {
    try Command.run(["sh", "-c", "export TMPDIR=/nonexistent; trap '' XFSZ; ulimit -f \(blocks); exec \(command)"])
}
