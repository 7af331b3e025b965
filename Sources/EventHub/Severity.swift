// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// How much an event matters to the operator.
public enum Severity: String, CaseIterable, Sendable {
    /// For debugging nwpath; not published unless requested.
    case debug
    case info
    case warning
    /// Something does not work.
    case error
}

extension Severity: Comparable {
    /// Whether `left` matters less.
    public static func < (left: Severity, right: Severity) -> Bool { left.rank < right.rank }

    private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}
