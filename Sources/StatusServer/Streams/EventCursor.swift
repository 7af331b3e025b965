// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

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

struct EventFilter: Equatable, Sendable {
    /// Patterns with `*` for anything; none means all events.
    let patterns: [String]

    /// Takes patterns separated by commas.
    init(_ text: String? = nil) {
        patterns = (text ?? "").split(separator: ",").map(String.init)
    }

    func matches(_ name: String) -> Bool {
        patterns.isEmpty || patterns.contains { Self.matches(Array($0.utf8)[...], Array(name.utf8)[...]) }
    }

    /// Greedy matching with one step back, linear but for the last star.
    private static func matches(_ pattern: ArraySlice<UInt8>, _ name: ArraySlice<UInt8>) -> Bool {
        var pattern = pattern
        var name = name
        var retry: (pattern: ArraySlice<UInt8>, name: ArraySlice<UInt8>)?
        while !name.isEmpty {
            if pattern.first == UInt8(ascii: "*") {
                pattern = pattern.dropFirst()
                retry = (pattern, name)
            } else if let byte = pattern.first, byte == name.first {
                pattern = pattern.dropFirst()
                name = name.dropFirst()
            } else if let last = retry {
                pattern = last.pattern
                name = last.name.dropFirst()
                retry = (pattern, name)
            } else {
                return false
            }
        }
        return pattern.allSatisfy { $0 == UInt8(ascii: "*") }
    }
}
