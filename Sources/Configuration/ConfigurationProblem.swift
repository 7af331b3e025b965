// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Spelling

/// One thing that is wrong in a configuration, and where.
public struct ConfigurationProblem: Hashable, Sendable, CustomStringConvertible {
    public let origin: ValueOrigin
    public let fact: Fact

    /// The kinds of mistakes, with what a reader needs to mend them.
    public enum Fact: Hashable, Sendable {
        /// The text is not YAML; the parser's words.
        case syntax(String)
        /// YAML that nwpath refuses: an anchor, an alias, a tag, a second document, a key that is not text.
        case unsupported(String)
        /// Lists and maps are nested deeper than `limit`.
        case tooDeep(limit: Int)
        /// The file has more than `limit` bytes.
        case tooLarge(limit: Int)
        /// The file cannot be read; the system's words.
        case unreadable(String)
        /// The key was written before, at `first`.
        case duplicateKey(String, first: ValueOrigin)
        /// No such key exists in `section`, which is empty at the top; `nearest` is one that does.
        case unknownKey(String, section: String, nearest: String?)
        /// The key has a value of another kind.
        case wrongValue(key: String, found: String, expected: String, nearest: String?)
        /// The list or map has more than `limit` entries.
        case tooMany(key: String, limit: Int)
        /// The value contradicts something; the sentence says what.
        case conflict(key: String, String)
        /// More problems were found than are listed.
        case more
    }

    /// One line with the origin, what is wrong, what was expected, and the nearest right spelling.
    public var description: String { "\(origin): \(text)" }

    private var text: String {
        switch fact {
        case .syntax(let words): return "not valid YAML: \(words)"
        case .unsupported(let what): return "\(what) is not supported"
        case .tooDeep(let limit): return "nested deeper than \(limit) levels"
        case .tooLarge(let limit): return "larger than \(ByteCount(bytes: limit))"
        case .unreadable(let words): return "cannot be read: \(words)"
        case .duplicateKey(let key, let first): return "key \(PrintableText.quote(key)) is already at \(first)"
        case .unknownKey(let key, let section, let nearest):
            let home = section.isEmpty ? "" : " in \(PrintableText.escape(section))"
            return "unknown key \(PrintableText.quote(key))\(home)" + Self.question(nearest)
        case .wrongValue(let key, let found, let expected, let nearest):
            return "\(PrintableText.escape(key)) is \(found), expected \(expected)" + Self.question(nearest)
        case .tooMany(let key, let limit): return "\(PrintableText.escape(key)) has more than \(limit) entries"
        case .conflict(let key, let sentence): return "\(PrintableText.escape(key)) \(sentence)"
        case .more: return "there are more problems; fix these first"
        }
    }

    private static func question(_ nearest: String?) -> String {
        guard let nearest else { return "" }
        return " (did you mean '\(nearest)'?)"
    }
}

/// Why a configuration was refused: every problem that was found, in the order of the files.
public struct ConfigurationError: Error, Hashable, Sendable, CustomStringConvertible {
    /// At least one problem.
    public let problems: [ConfigurationProblem]

    /// One problem per line.
    public var description: String { problems.map(\.description).joined(separator: "\n") }
}
