// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// What a reader collects from the files: problems, and where each setting was written.
struct Findings {
    /// So many problems are listed; one more says that there are others.
    static let limit = 100

    private(set) var problems: [ConfigurationProblem] = []
    private var origins: [String: ValueOrigin] = [:]
    private var troubled: Set<String> = []

    mutating func report(_ fact: ConfigurationProblem.Fact, at origin: ValueOrigin) {
        if problems.count < Self.limit {
            problems.append(ConfigurationProblem(origin: origin, fact: fact))
        } else if problems.count == Self.limit {
            problems.append(ConfigurationProblem(origin: origin, fact: .more))
        }
    }

    /// Notes that a node is of another kind than its key wants.
    mutating func report(_ key: String, _ node: YAMLNode, expected: String, nearest: String? = nil) {
        let fact = ConfigurationProblem.Fact.wrongValue(
            key: key,
            found: node.shape,
            expected: expected,
            nearest: nearest
        )
        troubled.insert(key)
        report(fact, at: node.origin)
    }

    /// Notes a key that does not exist in the section at `path`.
    mutating func report(unknownKey key: String, in path: String, nearest: String?, at origin: ValueOrigin) {
        troubled.insert(SectionReader.join(path, key))
        report(.unknownKey(key, section: path, nearest: nearest), at: origin)
    }

    /// Notes that right values contradict each other, unless one of `keys` is in trouble already.
    mutating func reportConflict(at key: String, _ sentence: String, between keys: String...) {
        reportConflict(at: key, sentence, between: keys)
    }

    mutating func reportConflict(at key: String, _ sentence: String, between keys: [String]) {
        let isKnown = troubled.contains { bad in
            ([key] + keys).contains { bad == $0 || bad.hasPrefix($0 + ".") || bad.hasPrefix($0 + "[") }
        }
        if !isKnown { report(.conflict(key: key, sentence), at: origin(of: key)) }
    }

    /// Remembers where the setting at `path` was written last.
    mutating func remember(_ path: String, at origin: ValueOrigin) {
        origins[path] = origin
    }

    /// Where the setting at `path` was written, or the nearest one around it.
    func origin(of path: String) -> ValueOrigin {
        var path = path[...]
        while true {
            if let origin = origins[String(path)] { return origin }
            guard let end = path.lastIndex(where: { $0 == "." || $0 == "[" }) else { return .builtIn }
            path = path[..<end]
        }
    }
}
