// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// A time of the calendar in the zone of this process, localtime_r(3).
public struct LocalTime {
    /// Such as `2026-11-20`.
    public let day: String
    /// To the second, such as `13:48:50`.
    public let clock: String
    /// Milliseconds, such as `.250`.
    public let fraction: String

    /// Converts a time; `nil` when its year does not fit.
    public init?(_ time: WallTime) {
        let (whole, rest) = time.nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        var seconds = Int(rest < 0 ? whole - 1 : whole)
        var parts = unsafe tm()
        guard unsafe localtime_r(&seconds, &parts) != nil else { return nil }
        func digits(_ number: some BinaryInteger, _ count: Int = 2) -> String {
            let text = String(number)
            return String(repeating: "0", count: max(0, count - text.count)) + text
        }
        let (year, month, date) = unsafe (parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday)
        let (hour, minute, second) = unsafe (parts.tm_hour, parts.tm_min, parts.tm_sec)
        day = "\(digits(year, 4))-\(digits(month))-\(digits(date))"
        clock = "\(digits(hour)):\(digits(minute)):\(digits(second))"
        fraction = ".\(digits((rest < 0 ? rest + 1_000_000_000 : rest) / 1_000_000, 3))"
    }
}
