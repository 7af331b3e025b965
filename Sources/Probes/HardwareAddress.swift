// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing

/// An Ethernet address.
public struct HardwareAddress: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// Its six bytes.
    public let bytes: [UInt8]

    /// Wraps six bytes; `nil` for any other number of them.
    public init?(_ bytes: [UInt8]) {
        guard bytes.count == 6 else { return nil }
        self.bytes = bytes
    }

    /// Such as `02:00:00:00:00:66`.
    public var description: String {
        bytes.hexadecimal(separator: ":")
    }

    public static func < (left: HardwareAddress, right: HardwareAddress) -> Bool {
        left.bytes.lexicographicallyPrecedes(right.bytes)
    }
}
