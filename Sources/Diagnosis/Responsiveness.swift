// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// How well a loaded line still answers; the raw value is what documents show.
///
/// Source: the classes of draft-ietf-ippm-responsiveness-08.
public enum Responsiveness: String, Hashable, Sendable, CaseIterable {
    /// A round trip takes more than 200 ms.
    case poor
    /// A round trip takes more than 60 ms.
    case fair
    /// A round trip takes more than 10 ms.
    case good
    /// A round trip takes no more than 10 ms.
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
