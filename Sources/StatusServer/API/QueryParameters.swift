// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Spelling

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
                if let nearest = NearestSpelling.nearest(to: item.name, among: allowed) {
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
            throw bad(name, text, "a duration such as 30s, at most \(DurationText.format(limit))")
        }
        return duration
    }

    /// A whole number in `range`.
    func integer(_ name: String, in range: ClosedRange<Int>) throws(Problem) -> Int? {
        guard let text = values[name] else { return nil }
        guard text.first != "+", let number = Int(text), range.contains(number) else {
            throw bad(name, text, "a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    func bad(_ name: String, _ text: String, _ expected: String) -> Problem {
        Problem(.badParameter, status: 400, detail: "Parameter '\(name)' is '\(text)'; expected \(expected).")
    }
}

extension Duration {
    /// The longest age of an event or an outage that may be asked for: a hundred years, which no calendar minds.
    static var longestAge: Duration { .seconds(36_525 * 86_400) }
}

extension QueryParameters {
    /// How long ago something was, such as `24h`; `nil` when the text is no duration, or too long a one.
    static func age(_ text: String) -> Duration? {
        guard let age = DurationText.parse(text), age <= .longestAge else { return nil }
        return age
    }
}
