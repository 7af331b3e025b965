// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// A threshold of a monitoring plugin: `[@]start:end`, where `~` is minus infinity (monitoring-plugins guidelines).
///
/// Without `@` a value outside of it alerts, with `@` one inside; both ends belong to it.
struct CheckRange: Hashable, Sendable, CustomStringConvertible {
    /// What a reader is told when a text is not one.
    static let expectation = "a range such as 5:, 1:10, ~:3 or @0:2"

    let description: String
    private let start: Double
    private let end: Double
    private let alertsInside: Bool

    /// Reads a range; `10` is `0:10`, and `10:` has no end.
    init?(_ text: String) {
        description = text
        alertsInside = text.hasPrefix("@")
        let ends = text.dropFirst(alertsInside ? 1 : 0).split(separator: ":", omittingEmptySubsequences: false)
        switch ends.count {
        case 1:
            guard let end = Self.number(ends[0]) else { return nil }
            (start, self.end) = (0, end)
        case 2:
            let low: Double? = ends[0] == "~" ? -.infinity : ends[0].isEmpty ? 0 : Self.number(ends[0])
            let high: Double? = ends[1].isEmpty ? .infinity : Self.number(ends[1])
            guard let low, let high else { return nil }
            (start, end) = (low, high)
        default: return nil
        }
        guard start <= end else { return nil }
    }

    func alerts(_ value: Double) -> Bool { (start...end).contains(value) == alertsInside }

    /// A plain decimal number: no exponent, no words such as `inf`.
    private static func number(_ text: Substring) -> Double? {
        guard text.utf8.allSatisfy({ (48...57).contains($0) || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "-") })
        else { return nil }
        return Double(text)
    }
}

extension ArgumentForm where Value == CheckRange {
    static let range = ArgumentForm(CheckRange.expectation, parse: { CheckRange($0) })
}
