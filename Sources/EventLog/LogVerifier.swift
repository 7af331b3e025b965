// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import EventHub
internal import OrderedJSON

/// Checks logs: JSON, schema, order of the members, numbers without gap or repeat.
public struct LogVerifier {
    public struct Report: Sendable {
        public internal(set) var files = 0
        public internal(set) var records: UInt64 = 0
        public internal(set) var first: EventPosition?
        public internal(set) var last: EventPosition?
        /// The first problems, in the order of the records.
        public internal(set) var problems: [LogProblem] = []
        /// How many problems there are in all.
        public internal(set) var problemCount = 0

        public var isGood: Bool { problemCount == 0 }
    }

    public static let maximumProblems = 1000
    /// A first record must be longer than this, so that log shippers can distinguish files by their beginning.
    public static let shortestOpening = 256

    private var report = Report()
    private var sequence = SequenceChecker()

    private init() {}

    /// The files of a log, the one being written and the rotated ones beside it.
    public static func files(of log: String) throws(EventLogError) -> [String] {
        [log] + (try LogSegment.rotated(beside: log))
    }

    /// Reads files, also ones compressed as `.gz`, in the order of their records.
    public static func verify(_ paths: [String]) -> Report {
        var verifier = LogVerifier()
        for path in ordered(paths) { verifier.read(path) }
        verifier.sequence.settle()
        verifier.collect()
        return verifier.report
    }

    /// Sorts files by stream and first number; those without a record come first.
    private static func ordered(_ paths: [String]) -> [String] {
        let heads = paths.map { path in
            let line = try? LineReader(path: path).next()
            return (path: path, header: line.flatMap { RecordHeader(line: $0.bytes) })
        }
        var starts: [StreamID: String] = [:]
        for case let header? in heads.map(\.header) {
            starts[header.position.stream] = min(starts[header.position.stream] ?? "~", header.timeText)
        }
        func key(_ header: RecordHeader?) -> (String, String, UInt64) {
            guard let header else { return ("", "", 0) }
            let stream = header.position.stream
            return (starts[stream] ?? "", stream.description, header.sequence)
        }
        return heads.sorted { key($0.header) < key($1.header) }.map(\.path)
    }

    private mutating func read(_ path: String) {
        report.files += 1
        var number = 0
        do throws(EventLogError) {
            let lines = try LineReader(path: path)
            while let line = try lines.next() {
                number += 1
                check(line, file: path, number: number)
                collect()
            }
        } catch {
            add(LogProblem(file: path, line: number + 1, kind: .unreadable(error)))
        }
    }

    private mutating func check(_ line: LineReader.Line, file: String, number: Int) {
        if line.isTooLong { return add(LogProblem(file: file, line: number, kind: .tooLong)) }
        let record: JSONValue
        do throws(JSONError) {
            record = try JSONValue(parsing: line.bytes)
        } catch {
            let kind: LogProblem.Kind = line.isComplete ? .notJSON(error) : .torn
            return add(LogProblem(file: file, line: number, kind: kind))
        }
        if !line.isComplete { add(LogProblem(file: file, line: number, kind: .torn)) }
        if let problem = RecordChecker.problem(in: record) {
            return add(LogProblem(file: file, line: number, kind: problem))
        }
        guard let header = RecordHeader(line: line.bytes) else {
            return add(LogProblem(file: file, line: number, kind: .invalid(member: "time")))
        }
        if number == 1, header.event != EventName.logOpened.rawValue || line.bytes.count <= Self.shortestOpening {
            add(LogProblem(file: file, line: number, kind: .noOpening))
        }
        sequence.add(header, record, file: file, line: number)
        report.records += 1
        report.first = report.first ?? header.position
        report.last = header.position
    }

    /// Adds what the check of the numbers found.
    private mutating func collect() {
        for problem in sequence.removeProblems() { add(problem) }
    }

    private mutating func add(_ problem: LogProblem) {
        report.problemCount += 1
        if report.problems.count < Self.maximumProblems { report.problems.append(problem) }
    }
}
