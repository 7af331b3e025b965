// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// An Internet address of either family, without a scope; ``ScopedAddress`` adds the interface.
public enum IPAddress: Hashable, Sendable {
    /// An IPv4 address in host byte order: `192.0.2.1` is `0xC0000201`.
    case v4(UInt32)
    /// An IPv6 address in host byte order.
    case v6(UInt128)

    public var family: AddressFamily {
        switch self {
        case .v4: .ipv4
        case .v6: .ipv6
        }
    }

    /// Four or sixteen bytes in network order.
    public init?(bytes: Span<UInt8>) {
        switch bytes.count {
        case 4:
            var value: UInt32 = 0
            for index in bytes.indices { value = value << 8 | UInt32(bytes[index]) }
            self = .v4(value)
        case 16:
            var value: UInt128 = 0
            for index in bytes.indices { value = value << 8 | UInt128(bytes[index]) }
            self = .v6(value)
        default:
            return nil
        }
    }

    /// The bytes in network order: 4 or 16.
    public var bytes: [UInt8] {
        switch self {
        case .v4(let value): (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) }
        case .v6(let value): (0..<16).map { UInt8(truncatingIfNeeded: value >> (120 - 8 * $0)) }
        }
    }
}

/// The two families of Internet addresses.
public enum AddressFamily: String, Hashable, Sendable, CaseIterable, Comparable {
    /// Internet Protocol version 4.
    case ipv4
    /// Internet Protocol version 6.
    case ipv6

    /// How many bits an address has: 32 or 128.
    public var bitWidth: Int { self == .ipv4 ? 32 : 128 }

    /// IPv4 comes first.
    public static func < (left: AddressFamily, right: AddressFamily) -> Bool { left == .ipv4 && right == .ipv6 }
}

extension IPAddress: Comparable {
    /// IPv4 before IPv6, then by value.
    public static func < (left: IPAddress, right: IPAddress) -> Bool {
        switch (left, right) {
        case (.v4(let left), .v4(let right)): left < right
        case (.v6(let left), .v6(let right)): left < right
        case (.v4, .v6): true
        case (.v6, .v4): false
        }
    }
}

// MARK: - Classes of addresses

extension IPAddress {
    /// The IPv4 address in an IPv4-mapped IPv6 address, else itself.
    ///
    /// Sockets send there what is addressed to `::ffff:192.0.2.1` (RFC 4291 section 2.5.5.2).
    public var unmapped: IPAddress {
        guard case .v6(let value) = self, value >> 32 == 0xFFFF else { return self }
        return .v4(UInt32(truncatingIfNeeded: value))
    }

    /// `0.0.0.0` or `::`.
    public var isUnspecified: Bool { self == .v4(0) || self == .v6(0) }

    /// `127.0.0.0/8` or `::1`.
    public var isLoopback: Bool {
        switch self {
        case .v4(let value): value >> 24 == 127
        case .v6(let value): value == 1
        }
    }

    /// `169.254.0.0/16` (RFC 3927) or `fe80::/10` (RFC 4291).
    public var isLinkLocal: Bool {
        switch self {
        case .v4(let value): value >> 16 == 0xA9FE
        case .v6(let value): value >> 118 == 0x3FA
        }
    }

    /// `224.0.0.0/4` or `ff00::/8`.
    public var isMulticast: Bool {
        switch self {
        case .v4(let value): value >> 28 == 0xE
        case .v6(let value): value >> 120 == 0xFF
        }
    }

    /// `10.0.0.0/8`, `172.16.0.0/12`, `192.168.0.0/16` (RFC 1918), `100.64.0.0/10` (RFC 6598) or `fc00::/7` (RFC 4193).
    public var isPrivate: Bool {
        switch self {
        case .v4(let value): value >> 24 == 10 || value >> 20 == 0xAC1 || value >> 16 == 0xC0A8 || value >> 22 == 0x191
        case .v6: isUniqueLocal
        }
    }

    /// `fc00::/7` (RFC 4193).
    public var isUniqueLocal: Bool {
        if case .v6(let value) = self { value >> 121 == 0x7E } else { false }
    }
}

/// An address and, for link-local ones, the interface it is valid on.
public struct ScopedAddress: Hashable, Sendable, Comparable {
    public let address: IPAddress
    /// The interface name of a link-local IPv6 address, as in `fe80::1%eth0`.
    public let scope: String?

    /// Pairs an address with a scope; the scope is kept for IPv6 link-local unicast and multicast only.
    public init(_ address: IPAddress, scope: String? = nil) {
        self.address = address
        let needsScope = address.family == .ipv6 && (address.isLinkLocal || address.isMulticast)
        self.scope = needsScope ? scope : nil
    }

    /// By address, then by scope.
    public static func < (left: ScopedAddress, right: ScopedAddress) -> Bool {
        (left.address, left.scope ?? "") < (right.address, right.scope ?? "")
    }
}

extension ScopedAddress: CustomStringConvertible {
    /// Such as `192.0.2.1` or `fe80::1%eth0`.
    public var description: String {
        guard let scope else { return address.description }
        return "\(address)%\(scope)"
    }
}

/// An address prefix such as `192.0.2.0/24`; bits past the length are zero.
public struct IPPrefix: Hashable, Sendable, CustomStringConvertible {
    /// The first address of the prefix.
    public let address: IPAddress
    public let length: Int

    /// Clears the bits past `length`, which is clamped to the family's width.
    public init(_ address: IPAddress, length: Int) {
        let length = min(max(length, 0), address.family.bitWidth)
        self.length = length
        switch address {
        case .v4(let value): self.address = .v4(length == 0 ? 0 : value & ~0 << UInt32(32 - length))
        case .v6(let value): self.address = .v6(length == 0 ? 0 : value & ~0 << UInt128(128 - length))
        }
    }

    /// Whether `other` lies in the prefix; an address of the other family never does.
    public func contains(_ other: IPAddress) -> Bool {
        other.family == address.family && IPPrefix(other, length: length).address == address
    }

    /// Such as `192.0.2.0/24`.
    public var description: String { "\(address)/\(length)" }
}
