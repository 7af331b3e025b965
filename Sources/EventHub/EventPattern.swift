// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// A glob over event names, such as `path.*`; `*` stands for any text and `?` for one character.
public struct EventPattern: Hashable, Sendable, CustomStringConvertible {
    public let description: String

    /// Takes a pattern.
    ///
    /// - Throws: ``EventHubError/unknownEvent(_:)`` when it matches no name of the catalogue.
    public init(_ text: String) throws(EventHubError) {
        description = text
        guard EventName.allCases.contains(where: { matches($0.rawValue) }) else { throw .unknownEvent(text) }
    }

    public func matches(_ name: EventName) -> Bool { matches(name.rawValue) }

    /// Whether a name, perhaps of a later version of the catalogue, fits the pattern.
    public func matches(_ name: String) -> Bool {
        let pattern = Array(description.utf8)
        let name = Array(name.utf8)
        var (patternIndex, nameIndex) = (0, 0)
        // Where to go on after the last star when the text behind it does not fit.
        var retry: (pattern: Int, name: Int)?
        while nameIndex < name.count {
            if patternIndex < pattern.count, pattern[patternIndex] == UInt8(ascii: "*") {
                retry = (patternIndex + 1, nameIndex)
                patternIndex += 1
            } else if patternIndex < pattern.count,
                pattern[patternIndex] == name[nameIndex] || pattern[patternIndex] == UInt8(ascii: "?")
            {
                patternIndex += 1
                nameIndex += 1
            } else if let last = retry {
                retry = (last.pattern, last.name + 1)
                patternIndex = last.pattern
                nameIndex = last.name + 1
            } else {
                return false
            }
        }
        return pattern[patternIndex...].allSatisfy { $0 == UInt8(ascii: "*") }
    }
}

/// What a reader of events wants to see: any of some patterns; everything when there is none.
public struct EventFilter: Hashable, Sendable {
    /// The patterns, any of which must fit.
    public var patterns: [EventPattern]

    /// Makes a filter that lets everything pass unless patterns are given.
    public init(_ patterns: [EventPattern] = []) {
        self.patterns = patterns
    }

    public func accepts(_ name: String) -> Bool {
        patterns.isEmpty || patterns.contains { $0.matches(name) }
    }

    public func accepts(_ name: EventName) -> Bool { accepts(name.rawValue) }
}
