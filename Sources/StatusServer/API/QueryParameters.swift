// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// The parameters of a query, checked against the ones a route knows.
struct QueryParameters: Equatable {
    private let values: [String: String]

    /// Takes a query.
    /// - Throws: ``Problem`` with status 400 for an unknown parameter, naming the nearest, or a repeated one.
    init(_ query: [QueryItem], allowed: [String]) throws(Problem) {
        var values: [String: String] = [:]
        for item in query {
            guard allowed.contains(item.name) else {
                var detail = "Unknown parameter '\(item.name)'"
                if let nearest = Spelling.nearest(to: item.name, among: allowed) {
                    detail += "; did you mean '\(nearest)'?"
                } else {
                    detail +=
                        allowed.isEmpty ? "; this route takes none." : "; expected \(allowed.joined(separator: ", "))."
                }
                throw Problem(.badParameter, status: 400, detail: detail)
            }
            guard values.updateValue(item.value, forKey: item.name) == nil else {
                throw Problem(.badParameter, status: 400, detail: "Parameter '\(item.name)' is given twice.")
            }
        }
        self.values = values
    }

    subscript(_ name: String) -> String? { values[name] }

    /// A duration such as `30s`, at most `limit`.
    func duration(_ name: String, limit: Duration) throws(Problem) -> Duration? {
        guard let text = values[name] else { return nil }
        guard let duration = DurationText.parse(text), duration <= limit else {
            throw bad(name, text, "a duration such as 30s, at most \(limit.components.seconds)s")
        }
        return duration
    }

    /// A whole number in `range`.
    func integer(_ name: String, in range: ClosedRange<Int>) throws(Problem) -> Int? {
        guard let text = values[name] else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw bad(name, text, "a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// The complaint about a value.
    func bad(_ name: String, _ text: String, _ expected: String) -> Problem {
        Problem(.badParameter, status: 400, detail: "Parameter '\(name)' is '\(text)'; expected \(expected).")
    }
}

/// Durations as people write them.
enum DurationText {
    /// Reads `250ms`, `30s`, `5m`, `24h` or `7d`.
    /// - Returns: `nil` for anything else, and above 100 years.
    static func parse(_ text: String) -> Duration? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        guard let number = Int64(digits) else { return nil }
        let milliseconds: Int64
        switch text[digits.endIndex...] {
        case "ms": milliseconds = 1
        case "s": milliseconds = 1000
        case "m": milliseconds = 60_000
        case "h": milliseconds = 3_600_000
        case "d": milliseconds = 86_400_000
        default: return nil
        }
        let (total, overflow) = number.multipliedReportingOverflow(by: milliseconds)
        guard !overflow, total <= 3_155_760_000_000 else { return nil }
        return .milliseconds(total)
    }
}

/// Finds what was probably meant.
enum Spelling {
    /// The candidate with the fewest edits, at most two; `nil` when none is near.
    static func nearest(to word: String, among candidates: [String]) -> String? {
        // A long word is no slip of the pen, and the table below grows with its length.
        guard word.utf8.count <= 40 else { return nil }
        let ranked = candidates.map { ($0, distance(Array(word.utf8), Array($0.utf8))) }.filter { $0.1 <= 2 }
        return ranked.min { $0.1 < $1.1 }?.0
    }

    private static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
        var row = Array(0...right.count)
        for (line, byte) in left.enumerated() {
            var diagonal = row[0]
            row[0] = line + 1
            for (column, other) in right.enumerated() {
                let substituted = diagonal + (byte == other ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = min(substituted, diagonal + 1, row[column] + 1)
            }
        }
        return row[right.count]
    }
}
