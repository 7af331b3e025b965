// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Finds what somebody probably meant to type.
public enum NearestSpelling {
    /// Texts longer than this are not compared, so that hostile input costs nothing.
    static let longestText = 64

    /// The candidate that needs the fewest typing errors corrected to become what was typed.
    ///
    /// At most one error per three letters is forgiven, and never so many that nothing of the word would be left.
    /// Letter case and `-` against `_` do not count.
    /// - Returns: The nearest candidate, the first one of equals; `nil` when none is near.
    public static func nearest(to typed: String, among candidates: some Sequence<String>) -> String? {
        guard (1...longestText).contains(typed.utf8.count) else { return nil }
        let wanted = folded(typed)
        var best: (candidate: String, distance: Int)?
        for candidate in candidates where candidate.utf8.count <= longestText {
            let other = folded(candidate)
            let allowed = min(max(1, max(wanted.count, other.count) / 3), min(wanted.count, other.count) - 1)
            let found = distance(wanted, other)
            guard found <= max(allowed, 0), found < best?.distance ?? .max else { continue }
            best = (candidate, found)
        }
        return best?.candidate
    }

    private static func folded(_ text: String) -> [Unicode.Scalar] {
        text.lowercased().unicodeScalars.map { $0 == "-" ? "_" : $0 }
    }

    /// Counts the single-letter insertions, deletions, substitutions and swaps of neighbours between two texts.
    ///
    /// This is the optimal string alignment distance: a swapped pair of letters counts once.
    static func distance(_ left: [Unicode.Scalar], _ right: [Unicode.Scalar]) -> Int {
        guard !left.isEmpty else { return right.count }
        guard !right.isEmpty else { return left.count }
        var beforePrevious: [Int] = []
        var previous = Array(0...right.count)
        for row in 1...left.count {
            var current = [row]
            current.reserveCapacity(right.count + 1)
            for column in 1...right.count {
                let isSame = left[row - 1] == right[column - 1]
                var cost = min(previous[column] + 1, current[column - 1] + 1, previous[column - 1] + (isSame ? 0 : 1))
                if row > 1, column > 1, left[row - 1] == right[column - 2], left[row - 2] == right[column - 1] {
                    cost = min(cost, beforePrevious[column - 2] + 1)
                }
                current.append(cost)
            }
            (beforePrevious, previous) = (previous, current)
        }
        return previous[right.count]
    }
}
