// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import EventHub
internal import OrderedJSON

/// Checks that the numbers of records follow each other, over files and explained gaps.
struct SequenceChecker {
    /// A jump of the numbers that may still be explained by a `log.gap`.
    private struct Jump {
        let after: UInt64
        let before: UInt64
        let line: Int
        let file: String
        var explained: UInt64 = 0
        /// The greatest number that was explained; at first the one before the jump.
        var explainedThrough: UInt64

        var isExplained: Bool { explained == before - after - 1 }
    }

    private var last: EventPosition?
    private var jumps: [Jump] = []
    private var problems: [LogProblem] = []

    mutating func add(_ header: RecordHeader, _ record: JSONValue, file: String, line: Int) {
        defer { last = header.position }
        if let last, last.stream == header.position.stream {
            check(header.sequence, after: last.sequence, file: file, line: line)
        } else if let last {
            settle()
            if header.event != EventName.logOpened.rawValue {
                let kind = LogProblem.Kind.streamChanged(
                    from: last.stream.description,
                    to: header.position.stream.description
                )
                problems.append(LogProblem(file: file, line: line, kind: kind))
            }
        }
        if header.event == EventName.logGap.rawValue { explain(record["log"]) }
    }

    /// Hands over the problems found since the last call.
    mutating func removeProblems() -> [LogProblem] {
        defer { problems = [] }
        return problems
    }

    /// Reports what was left unexplained.
    mutating func settle() {
        for jump in jumps where !jump.isExplained {
            let kind = LogProblem.Kind.gap(after: jump.after, before: jump.before)
            problems.append(LogProblem(file: jump.file, line: jump.line, kind: kind))
        }
        jumps = []
    }

    private mutating func check(_ sequence: UInt64, after last: UInt64, file: String, line: Int) {
        if sequence <= last {
            problems.append(LogProblem(file: file, line: line, kind: .repeated(sequence, after: last)))
        } else if sequence - last > 1 {
            // The newest jumps are the ones that can still be explained.
            if jumps.count >= 100 { settle() }
            jumps.append(Jump(after: last, before: sequence, line: line, file: file, explainedThrough: last))
        }
    }

    private mutating func explain(_ gap: JSONValue?) {
        guard let first = gap?["first_seq"]?.uint64, let end = gap?["last_seq"]?.uint64, first <= end else { return }
        for index in jumps.indices {
            // Gaps are reported in their order; what is reported again explains nothing more.
            let low = max(first, jumps[index].explainedThrough + 1)
            let high = min(end, jumps[index].before - 1)
            guard low <= high else { continue }
            jumps[index].explained += high - low + 1
            jumps[index].explainedThrough = high
        }
        jumps.removeAll { $0.isExplained }
    }
}
