// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Writes floating-point numbers as JSON likes them.
enum JSONNumber {
    /// Numbers from 1e-7 up to this many digits before the point are written without an exponent.
    private static let longestPlain = 21
    private static let smallestPlain = -7

    /// The shortest decimal text that reads back as the same number, without `.0` and, between 1e-7 and 1e21,
    /// without an exponent.
    /// - Returns: `nil` for infinities and NaN.
    static func text(of value: Double) -> String? {
        guard value.isFinite else { return nil }
        let text = value.description
        guard let mark = text.firstIndex(of: "e") else {
            return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
        }
        let mantissa = text[..<mark]
        guard let exponent = Int(text[text.index(after: mark)...]), exponent >= smallestPlain, exponent < longestPlain
        else { return String(mantissa.hasSuffix(".0") ? mantissa.dropLast(2) : mantissa) + text[mark...] }
        let minus = mantissa.hasPrefix("-") ? "-" : ""
        let digits = mantissa.filter { $0.isNumber }
        let significant = digits.hasSuffix("0") && mantissa.hasSuffix(".0") ? String(digits.dropLast()) : digits
        return minus + plain(significant, exponent: exponent)
    }

    /// Inserts the decimal point in `digits`, whose first digit counts ten to the power of `exponent`.
    private static func plain(_ digits: String, exponent: Int) -> String {
        if exponent < 0 {
            return "0." + String(repeating: "0", count: -exponent - 1) + digits
        }
        let whole = exponent + 1
        guard digits.count > whole else { return digits + String(repeating: "0", count: whole - digits.count) }
        return digits.prefix(whole) + "." + digits.dropFirst(whole)
    }
}
