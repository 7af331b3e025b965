// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import LinuxIO
internal import Spelling

enum AgeText {
    private static let units: [(name: String, seconds: Int64)] = [
        ("d", 86_400), ("h", 3600), ("min", 60), ("s", 1),
    ]

    /// The two largest units, such as `3 d 4 h` or `1 min 13 s`; below a second `250 ms`.
    static func of(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        guard seconds > 0 || (seconds == 0 && attoseconds >= 0) else { return "0 s" }
        guard seconds > 0 else { return attoseconds == 0 ? "0 s" : "\(attoseconds / 1_000_000_000_000_000) ms" }
        guard let largest = units.firstIndex(where: { seconds >= $0.seconds }) else { return "0 s" }
        let first = "\(seconds / units[largest].seconds) \(units[largest].name)"
        guard largest + 1 < units.count else { return first }
        let rest = seconds % units[largest].seconds / units[largest + 1].seconds
        return rest == 0 ? first : "\(first) \(rest) \(units[largest + 1].name)"
    }

    /// A number of seconds, as JSON has it.
    static func of(seconds: Double?) -> String {
        guard let seconds, seconds.isFinite, seconds >= 0, seconds < 1e12 else { return "?" }
        return of(.milliseconds(Int64((seconds * 1000).rounded())))
    }

    /// How long a moment is ago; `nil` when the text is no time.
    static func since(_ text: String?, now: WallTime) -> String? {
        text.flatMap(WallTime.init).map { of(max(.zero, now - $0)) }
    }

    /// A moment to the second in the time zone of whoever reads, such as `2026-11-20 13:48:50`.
    static func dayAndTime(_ text: String?) -> String { local(text) { "\($0.day) \($0.clock)" } }

    /// A moment to the millisecond, such as `2026-11-20 13:48:50.000`.
    static func preciseTime(_ text: String?) -> String { local(text) { "\($0.day) \($0.clock)\($0.fraction)" } }

    /// A moment to the minute, without the day when it is today's, such as `13:48`.
    static func minute(_ text: String?, now: WallTime) -> String {
        local(text) { time in
            let minute = String(time.clock.prefix(5))
            return LocalTime(now)?.day == time.day ? minute : "\(time.day) \(minute)"
        }
    }

    private static func local(_ text: String?, _ format: (LocalTime) -> String) -> String {
        guard let text, let time = WallTime(text), let local = LocalTime(time) else {
            return PrintableText.escape(text ?? "?")
        }
        return format(local)
    }
}
