// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// How well a loaded line still answers; the raw value is what documents show.
///
/// Source: the classes of draft-ietf-ippm-responsiveness-08.
public enum Responsiveness: String, Hashable, Sendable, CaseIterable {
    /// Round trips above 200 ms.
    case poor
    /// Round trips above 60 ms.
    case fair
    /// Round trips above 10 ms.
    case good
    /// Round trips of up to 10 ms.
    case excellent

    public init(_ roundTripsPerMinute: Int) {
        self =
            switch roundTripsPerMinute {
            case ..<300: .poor
            case ..<1000: .fair
            case ..<6000: .good
            default: .excellent
            }
    }
}
