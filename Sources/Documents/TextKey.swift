// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// What one key of a TXT record says, and what its values mean, in plain words.
public struct TextKey: Sendable, ExpressibleByStringLiteral {
    enum Values: Sendable {
        /// They speak for themselves.
        case plain
        /// One word of some.
        case word([String: String])
        /// Words of some, with commas between them.
        case words([String: String])
        /// A number of bits, in decimal or after `0x`; `none` is what no bit at all means.
        case bits([String], none: String)
    }

    let words: String
    let values: Values

    init(_ words: String, _ values: Values = .plain) {
        self.words = words
        self.values = values
    }

    /// A key whose values speak for themselves.
    public init(stringLiteral value: String) { self.init(value) }

    static func isTrue(_ words: String) -> TextKey {
        let (yes, no) = (["1", "t", "true", "yes"], ["0", "f", "false", "no"])
        return TextKey(words, .word(Dictionary(uniqueKeysWithValues: yes.map { ($0, "yes") } + no.map { ($0, "no") })))
    }

    /// What a key of a type says of a service, and what its value means where that is known.
    ///
    /// - Parameters:
    ///   - key: The key, in any case of letters.
    ///   - value: The value; `nil` for a key without one.
    ///   - type: The type of the service, in any case of letters.
    /// - Returns: Such as `model`, or `category: light`; `nil` for a key that is not known.
    public static func meaning(of key: String, value: String?, type: String) -> String? {
        let keys = table[type] ?? table[type.lowercased()] ?? [:]
        let key = key.lowercased()
        guard let found = keys[key] ?? keys[numbered(key)] ?? common[key] else { return nil }
        let meaning = value.flatMap(found.meaning)
        return found.words + (meaning.map { ": \($0)" } ?? "")
    }

    /// What is written for a key of a row, such as `dk*` for `dk0`.
    private static func numbered(_ key: String) -> String {
        guard let last = key.lastIndex(where: { !("0"..."9").contains($0) }), key.index(after: last) < key.endIndex
        else { return key }
        return key[...last] + "*"
    }

    private func meaning(_ value: String) -> String? {
        switch values {
        case .plain: return nil
        case .word(let words): return words[value.lowercased()]
        case .words(let words):
            let found = value.split(separator: ",").compactMap { words[$0.lowercased()] }
            return found.isEmpty ? nil : found.joined(separator: ", ")
        case .bits(let names, let none):
            let digits = value.lowercased()
            guard let bits = digits.hasPrefix("0x") ? UInt64(digits.dropFirst(2), radix: 16) : UInt64(digits)
            else { return nil }
            let found = names.indices.filter { bits >> UInt64($0) & 1 == 1 && !names[$0].isEmpty }.map { names[$0] }
            return bits == 0 ? none : found.isEmpty ? nil : found.joined(separator: ", ")
        }
    }

    private static let table = Dictionary(
        groups.flatMap { group in group.types.map { ($0, group.keys) } },
        uniquingKeysWith: { $0.merging($1) { first, _ in first } }
    )
}
