// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Unicode normalization form C, in which names are published (rule N3).
///
/// The standard library normalizes only to compare: strings are ordered by the scalars of their form C. So the first
/// scalar of a text's form C is the greatest one that is not greater than the text, and a search finds it.
public enum ComposedText {
    /// So many marks after one letter are put in order; no script needs as many.
    private static let longestCluster = 8

    /// Whether a text is in form C.
    public static func isComposed(_ text: String) -> Bool { text.allSatisfy(isComposed) }

    /// The form C of a text.
    ///
    /// - Returns: `nil` when it is undetermined: where a mark has to move into a letter that has another one already.
    public static func compose(_ text: String) -> String? {
        var composed = ""
        for character in text {
            guard let part = compose(character) else { return nil }
            composed += part
        }
        return composed
    }

    /// No two characters, as Swift divides texts, ever compose with each other.
    private static func isComposed(_ character: Character) -> Bool {
        if character.isASCII { return true }
        return isComposed(character.unicodeScalars[...])
    }

    private static func isComposed(_ scalars: Substring.UnicodeScalarView) -> Bool {
        guard let scalar = scalars.first else { return true }
        guard scalar == firstComposed(of: String(scalars)) else { return false }
        let rest = scalars.dropFirst()
        guard let next = rest.first else { return true }
        let classes = (scalar.combiningClass, next.combiningClass)
        guard classes.1 == 0 || classes.0 <= classes.1 else { return false }
        return isComposed(rest)
    }

    private static func compose(_ character: Character) -> String? {
        if isComposed(character) { return String(character) }
        let text = String(character)
        guard let first = firstComposed(of: text) else { return nil }
        // The marks that are left, in their order: a subset of those that were written.
        let marks = Array(character.unicodeScalars.dropFirst())
        guard marks.count <= longestCluster else { return nil }
        for choice in 0..<(1 << marks.count) {
            let chosen = marks.indices.filter { choice >> $0 & 1 == 1 }
                .sorted { (marks[$0].combiningClass, $0) < (marks[$1].combiningClass, $1) }.map { marks[$0] }
            var candidate = String(first)
            candidate.unicodeScalars.append(contentsOf: chosen)
            if candidate == text, candidate.allSatisfy(isComposed) { return candidate }
        }
        return nil
    }

    /// The first scalar of the form C of a text that is not empty.
    private static func firstComposed(of text: String) -> Unicode.Scalar? {
        var low: UInt32 = 0
        var high: UInt32 = 0x10FFFF
        while low < high {
            let middle = low + (high - low + 1) / 2
            guard let scalar = composed(atMost: middle) else { return nil }
            if scalar.value <= low || String(scalar) <= text { low = middle } else { high = scalar.value - 1 }
        }
        return composed(atMost: low)
    }

    /// The greatest scalar up to a value that may stand in form C.
    private static func composed(atMost value: UInt32) -> Unicode.Scalar? {
        for value in stride(from: Int64(value), through: 0, by: -1) {
            let scalar = Unicode.Scalar(UInt32(value))
            if let scalar, !scalar.properties.isFullCompositionExclusion { return scalar }
        }
        return nil
    }
}

extension Unicode.Scalar {
    fileprivate var combiningClass: UInt8 { properties.canonicalCombiningClass.rawValue }
}
