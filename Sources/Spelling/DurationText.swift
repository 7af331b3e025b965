// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// Durations as people write them: a whole number and a unit, such as `250ms`, `10s`, `5m`, `1h` or `7d`.
public enum DurationText {
    /// What a reader is told when a text is not a duration.
    public static let expectation = "a duration such as 250ms, 10s, 5m, 1h or 7d"

    /// A regular expression (ECMA 262) that accepts the same texts, for schemas.
    public static let pattern = "^(0|[0-9]+(us|ms|s|m|h|d))$"

    /// Unit names with their microseconds, the largest first.
    private static let units: [(name: String, microseconds: Int64)] = [
        ("d", 86_400_000_000), ("h", 3_600_000_000), ("m", 60_000_000), ("s", 1_000_000), ("ms", 1000), ("us", 1),
    ]

    /// Reads a duration; a bare `0` needs no unit.
    /// - Returns: `nil` when the text is not one, or is longer than 292 years.
    public static func parse(_ text: some StringProtocol) -> Duration? {
        let digits = text.prefix { ("0"..."9").contains($0) }
        guard !digits.isEmpty, let number = Int64(digits) else { return nil }
        let name = text[digits.endIndex...]
        if name.isEmpty { return number == 0 ? .zero : nil }
        guard let unit = units.first(where: { $0.name == name }) else { return nil }
        let (microseconds, overflows) = number.multipliedReportingOverflow(by: unit.microseconds)
        guard !overflows, microseconds <= Int64.max / 1000 else { return nil }
        return .microseconds(microseconds)
    }

    /// Writes a duration with the largest unit that needs no fraction, such as `90s` or `2m`.
    ///
    /// What is smaller than a microsecond is cut off.
    public static func format(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        let (whole, overflows) = seconds.multipliedReportingOverflow(by: 1_000_000)
        guard !overflows else { return "\(seconds)s" }
        let microseconds = whole + attoseconds / 1_000_000_000_000
        guard microseconds != 0 else { return "0" }
        let unit = units.first { microseconds % $0.microseconds == 0 } ?? ("us", 1)
        return "\(microseconds / unit.microseconds)\(unit.name)"
    }
}
