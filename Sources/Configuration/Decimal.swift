// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// A number with up to three digits behind the point, kept exactly.
public struct Decimal: Hashable, Sendable, Comparable, CustomStringConvertible {
    public let thousandths: Int

    public init(_ whole: Int) { thousandths = whole * 1000 }

    /// Reads digits, with a point and one to three more or without; `nil` for anything else.
    public init?(_ text: some StringProtocol) {
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        let isDigits = parts.allSatisfy { part in !part.isEmpty && part.utf8.allSatisfy { (48...57).contains($0) } }
        guard isDigits, let whole = parts.first.flatMap({ Int($0) }), whole <= 1_000_000_000 else { return nil }
        var fraction = 0
        if parts.count > 1 {
            guard parts[1].utf8.count <= 3 else { return nil }
            fraction = Int(parts[1] + String(repeating: "0", count: 3 - parts[1].utf8.count)) ?? 0
        }
        thousandths = whole * 1000 + fraction
    }

    public var value: Double { Double(thousandths) / 1000 }

    /// Without needless zeros.
    public var description: String {
        let (whole, rest) = thousandths.quotientAndRemainder(dividingBy: 1000)
        guard rest > 0 else { return "\(whole)" }
        var digits = "\(1000 + rest)".dropFirst()
        while digits.hasSuffix("0") { digits = digits.dropLast() }
        return "\(whole).\(digits)"
    }

    public static func < (left: Decimal, right: Decimal) -> Bool { left.thousandths < right.thousandths }
}

extension ValueForm where Value == Decimal {
    /// A number from 0 to a limit, with up to three digits behind the point.
    static func decimal(upTo limit: Int) -> ValueForm {
        ValueForm(
            scalar: "a number from 0 to \(limit), such as 1.5",
            schema: [
                "anyOf": [
                    ["type": "number", "minimum": 0, "maximum": .integer(limit)],
                    ["type": "string", "pattern": "^[0-9]+(\\.[0-9]{1,3})?$"],
                ]
            ],
            parse: { (text) throws(Refusal) in
                guard let number = Decimal(text), number <= Decimal(limit) else { throw .malformed }
                return number
            },
            write: { $0.thousandths % 1000 == 0 ? .integer($0.thousandths / 1000) : .text("\($0)") }
        )
    }
}
