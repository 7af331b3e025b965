// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing

/// Puts measured values into words.
enum Figures {
    /// Such as `0.4 ms`, `35 ms` or `2.3 s`.
    static func text(_ duration: Duration) -> String {
        let milliseconds = duration / .milliseconds(1)
        if milliseconds.magnitude >= 1000 { return "\(tenths(milliseconds / 1000)) s" }
        return milliseconds.magnitude >= 10 ? "\(whole(milliseconds)) ms" : "\(tenths(milliseconds)) ms"
    }

    /// Such as `15` or `3.5`, without a needless zero.
    static func tenths(_ value: Double) -> String {
        let scaled = whole(value * 10)
        let sign = scaled < 0 ? "-" : ""
        let (units, rest) = scaled.magnitude.quotientAndRemainder(dividingBy: 10)
        return rest == 0 ? "\(sign)\(units)" : "\(sign)\(units).\(rest)"
    }

    private static func whole(_ value: Double) -> Int { Int(exactly: value.rounded()) ?? 0 }

    /// Such as `a`, `a and b`, `a, b and c`.
    static func list(_ words: [String]) -> String {
        guard let last = words.last, words.count > 1 else { return words.first ?? "" }
        return words.dropLast().joined(separator: ", ") + " and " + last
    }
}

extension [Verdict.Fact] {
    /// A duration in seconds, to 0.1 ms.
    static func duration(_ name: String, _ duration: Duration) -> [Verdict.Fact] {
        [.init("\(name)_seconds", (duration / .milliseconds(1) * 10).rounded() / 10_000)]
    }
}

extension AddressFamily {
    /// `IPv4` or `IPv6`.
    var name: String { self == .ipv4 ? "IPv4" : "IPv6" }
    var other: AddressFamily { self == .ipv4 ? .ipv6 : .ipv4 }
    /// The command that shows and changes things of this family.
    var command: String { self == .ipv4 ? "ip" : "ip -6" }
}
