// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Spelling

enum EventCursor: Equatable {
    /// After this number; the log's name is `nil` when the client did not say.
    case after(UInt64, stream: String?)
    /// After everything older than this.
    case age(Duration)

    /// Reads `7f3a.45`, `45` or `24h`.
    init?(_ text: String) {
        // A sign is no part of a number here.
        guard !text.utf8.contains(UInt8(ascii: "+")) else { return nil }
        if let number = UInt64(text) {
            self = .after(number, stream: nil)
        } else if let age = QueryParameters.age(text) {
            self = .age(age)
        } else {
            let parts = text.split(separator: ".", omittingEmptySubsequences: false)
            guard parts.count == 2, let number = UInt64(parts[1]), (1...16).contains(parts[0].count),
                parts[0].allSatisfy({ $0.isASCII && $0.isHexDigit })
            else { return nil }
            self = .after(number, stream: parts[0].lowercased())
        }
    }
}

/// Which events a reader wants: any of some patterns; everything when there is none.
struct EventFilter: Equatable, Sendable {
    private let patterns: [Glob]

    /// Takes everything.
    init() { patterns = [] }

    /// Takes patterns separated by commas, such as `path.*,dns.changed`.
    /// - Throws: A ``Problem`` with status 400 when one is not a pattern.
    init(_ text: String?) throws(Problem) {
        var patterns: [Glob] = []
        for part in (text ?? "").split(separator: ",").map(String.init) {
            guard let pattern = Glob(part) else {
                let detail = "Parameter 'event' has '\(part)'; expected names or patterns such as path.*, by commas."
                throw Problem(.badParameter, status: 400, detail: detail)
            }
            patterns.append(pattern)
        }
        self.patterns = patterns
    }

    func matches(_ name: String) -> Bool { patterns.isEmpty || patterns.contains { $0.matches(name) } }
}
