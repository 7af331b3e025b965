// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public enum Severity: String, Hashable, Sendable, CaseIterable, Comparable {
    /// Worth knowing, no fault: it never counts.
    case info
    /// Nothing fails yet.
    case warning
    /// Everything works, worse than it should.
    case degraded
    /// Some class of traffic has no usable service.
    case broken

    /// Orders by weight.
    public static func < (left: Severity, right: Severity) -> Bool { left.rank < right.rank }

    private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}

public enum Confidence: String, Hashable, Sendable, CaseIterable {
    /// The kernel reports it, or an answer has one meaning only.
    case certain
    /// Several checks or targets agree.
    case likely
    /// One silent target, which may have reasons of its own.
    case possible
}
