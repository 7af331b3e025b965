// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// A time of the calendar, in UTC, as people and log readers see it.
public struct WallTime: Hashable, Sendable, Comparable {
    /// Nanoseconds since 1970-01-01T00:00:00Z, without leap seconds.
    public let nanoseconds: Int64

    /// Makes a time from nanoseconds since 1970.
    public init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// Seconds since 1970 with a fraction, as Prometheus wants timestamps.
    public var secondsSince1970: Double { Double(nanoseconds) / 1e9 }

    /// Earlier comes first.
    public static func < (left: WallTime, right: WallTime) -> Bool { left.nanoseconds < right.nanoseconds }

    /// The time `duration` later.
    public static func + (time: WallTime, duration: Duration) -> WallTime {
        WallTime(nanoseconds: time.nanoseconds + duration.nanoseconds)
    }

    /// The time `duration` earlier.
    public static func - (time: WallTime, duration: Duration) -> WallTime {
        WallTime(nanoseconds: time.nanoseconds - duration.nanoseconds)
    }

    /// How much later `left` is than `right`; negative when earlier.
    public static func - (left: WallTime, right: WallTime) -> Duration {
        .nanoseconds(left.nanoseconds - right.nanoseconds)
    }

    /// The last multiple of a length since 1970 that is not later.
    public func roundedDown(to step: Duration) -> WallTime {
        let rest = nanoseconds % step.nanoseconds
        return WallTime(nanoseconds: nanoseconds - (rest < 0 ? rest + step.nanoseconds : rest))
    }
}

// MARK: - RFC 3339

extension WallTime: CustomStringConvertible {
    /// RFC 3339 with nine digits and `Z`, such as `2026-11-20T13:48:50.000120345Z`.
    public var description: String {
        let (days, time) = Self.divide(nanoseconds, by: 86_400_000_000_000)
        let date = Self.civil(fromDays: days)
        let seconds = time / 1_000_000_000
        return unsafe String(unsafeUninitializedCapacity: Self.length) { text in
            unsafe text.initialize(repeating: UInt8(ascii: "Z"))
            unsafe Self.write(date.year, digits: 4, then: "-", to: text, at: 0)
            unsafe Self.write(date.month, digits: 2, then: "-", to: text, at: 5)
            unsafe Self.write(date.day, digits: 2, then: "T", to: text, at: 8)
            unsafe Self.write(seconds / 3600, digits: 2, then: ":", to: text, at: 11)
            unsafe Self.write(seconds / 60 % 60, digits: 2, then: ":", to: text, at: 14)
            unsafe Self.write(seconds % 60, digits: 2, then: ".", to: text, at: 17)
            unsafe Self.write(time % 1_000_000_000, digits: 9, then: "Z", to: text, at: 20)
            return Self.length
        }
    }

    /// How many bytes the text has.
    private static let length = 30

    /// Reads RFC 3339: date, `T` or a space, time, an optional fraction, then `Z` or an offset such as `+02:00`.
    /// - Returns: `nil` when the text is not such a time, names a day that its month does not have, or is not within the
    ///   292 years around 1970 that 64 bits of nanoseconds hold.
    public init?(_ text: String) {
        var reader = DigitReader(text)
        guard let year = reader.number(digits: 4), reader.skip("-"),
            let month = reader.number(digits: 2), reader.skip("-"),
            let day = reader.number(digits: 2), reader.skip("T") || reader.skip("t") || reader.skip(" "),
            let hour = reader.number(digits: 2), reader.skip(":"),
            let minute = reader.number(digits: 2), reader.skip(":"),
            let second = reader.number(digits: 2),
            (1678...2261).contains(year), (1...12).contains(month), (1...31).contains(day), hour < 24, minute < 60,
            second <= 60,
            let fraction = reader.skip(".") ? reader.fraction() : 0,
            let offset = reader.offset(), reader.isAtEnd
        else { return nil }
        let days = Self.days(year: year, month: month, day: day)
        guard Self.civil(fromDays: days).day == day else { return nil }
        let seconds = days * 86_400 + hour * 3600 + minute * 60 + second - offset
        nanoseconds = seconds * 1_000_000_000 + fraction
    }

    private static func write(
        _ value: Int64,
        digits: Int,
        then mark: Unicode.Scalar,
        to text: UnsafeMutableBufferPointer<UInt8>,
        at position: Int
    ) {
        var rest = UInt64(value)
        var digit = position + digits
        unsafe text[digit] = UInt8(ascii: mark)
        while digit > position {
            digit -= 1
            unsafe text[digit] = UInt8(truncatingIfNeeded: 48 + rest % 10)
            rest /= 10
        }
    }
}

// MARK: - The civil calendar

extension WallTime {
    /// Divides towards minus infinity, so that times before 1970 keep a positive remainder.
    private static func divide(_ value: Int64, by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = value.quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }

    /// The proleptic Gregorian date of a day number; years are counted from March so that leap days come last.
    private static func civil(fromDays days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let (era, dayOfEra) = divide(days + 719_468, by: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        let month = shifted < 10 ? shifted + 3 : shifted - 9
        return (era * 400 + yearOfEra + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shifted + 2) / 5 + 1)
    }

    private static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
        let (era, yearOfEra) = divide(month <= 2 ? year - 1 : year, by: 400)
        let shifted = month > 2 ? month - 3 : month + 9
        let dayOfYear = (153 * shifted + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }
}

/// Reads the fixed-width numbers of RFC 3339.
private struct DigitReader {
    private var rest: Substring.UTF8View

    init(_ text: String) { rest = text[...].utf8 }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func skip(_ mark: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: mark) else { return false }
        rest = rest.dropFirst()
        return true
    }

    mutating func number(digits: Int) -> Int64? {
        let word = rest.prefix(digits)
        guard word.count == digits, word.allSatisfy({ (48...57).contains($0) }) else { return nil }
        rest = rest.dropFirst(digits)
        return word.reduce(0) { $0 * 10 + Int64($1 - 48) }
    }

    /// One to nine digits after the point, in nanoseconds; further digits are dropped.
    mutating func fraction() -> Int64? {
        let digits = rest.prefix { (48...57).contains($0) }
        guard !digits.isEmpty else { return nil }
        rest = rest.dropFirst(digits.count)
        let kept = digits.prefix(9)
        return (kept.count..<9).reduce(kept.reduce(0) { $0 * 10 + Int64($1 - 48) }) { value, _ in value * 10 }
    }

    /// `Z` or `+hh:mm`, in seconds.
    mutating func offset() -> Int64? {
        if skip("Z") || skip("z") { return 0 }
        let direction: Int64 = skip("-") ? -1 : 1
        guard direction < 0 || skip("+"), let hours = number(digits: 2), skip(":"), let minutes = number(digits: 2),
            hours < 24, minutes < 60
        else { return nil }
        return direction * (hours * 3600 + minutes * 60)
    }
}
