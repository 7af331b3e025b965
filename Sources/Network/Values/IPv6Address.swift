// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
public import FoundationEssentials

/// An address of Internet Protocol version 6.
public struct IPv6Address: IPAddress {
    /// How far packets to a group travel (RFC 4291 section 2.7).
    public enum Scope: UInt8, Hashable, Sendable, CaseIterable {
        /// Within the machine.
        case nodeLocal = 1
        /// Within the link.
        case linkLocal = 2
        /// Within the site.
        case siteLocal = 5
        /// Within the organisation.
        case organizationLocal = 8
        /// Everywhere.
        case global = 14
    }

    /// In host byte order.
    let value: UInt128
    /// The interface the address is valid on, where it was given.
    public let interface: NWInterface?

    init(value: UInt128, interface: NWInterface? = nil) {
        self.value = value
        self.interface = interface
    }

    /// Reads any form of RFC 4291 section 2.2, with an interface behind a `%` where there is one.
    /// - Returns: `nil` for anything else, and for an interface that does not exist.
    public init?(_ string: String) {
        guard let literal = AddressLiteral(string), case .v6(let value) = literal.address else { return nil }
        self.init(value: value, interface: literal.interface)
    }

    /// Makes an address of sixteen bytes in network order.
    /// - Returns: `nil` for any other number of bytes.
    public init?(_ rawValue: Data, _ interface: NWInterface? = nil) {
        guard rawValue.count == 16 else { return nil }
        self.init(value: rawValue.reduce(0) { $0 << 8 | UInt128($1) }, interface: interface)
    }

    /// The sixteen bytes in network order.
    public var rawValue: Data { Data(raw.bytes) }

    var raw: RawAddress { .v6(value) }

    /// Whether it is `::1`.
    public var isLoopback: Bool { raw.isLoopback }
    /// Whether it is in `fe80::/10`.
    public var isLinkLocal: Bool { raw.isLinkLocal }
    /// Whether it is in `ff00::/8`.
    public var isMulticast: Bool { raw.isMulticast }
    /// Whether it is `::`.
    public var isAny: Bool { value == 0 }
    /// Whether it is in `::/96` but neither `::` nor `::1` (RFC 4291 section 2.5.5.1; the spelling is Apple's).
    public var isIPv4Compatabile: Bool { value > 1 && value >> 32 == 0 }
    /// Whether it is in `::ffff:0:0/96` (RFC 4291 section 2.5.5.2).
    public var isIPv4Mapped: Bool { value >> 32 == 0xFFFF }
    /// Whether it is in `2002::/16` (RFC 3056).
    public var is6to4: Bool { value >> 112 == 0x2002 }
    /// Whether it is in `fc00::/7` (RFC 4193).
    public var isUniqueLocal: Bool { raw.isUniqueLocal }

    /// The IPv4 address in it, when it is mapped or compatible.
    public var asIPv4: IPv4Address? {
        guard isIPv4Mapped || isIPv4Compatabile else { return nil }
        return IPv4Address(value: UInt32(truncatingIfNeeded: value), interface: interface)
    }

    /// How far packets to the group travel; `nil` for an address that names no group, or has another scope.
    public var multicastScope: Scope? {
        isMulticast ? Scope(rawValue: UInt8(truncatingIfNeeded: value >> 112 & 15)) : nil
    }

    /// `::`.
    public static let any = IPv6Address(value: 0)
    /// The same as ``any``: IPv6 has no broadcast.
    public static let broadcast = IPv6Address(value: 0)
    /// `::1`.
    public static let loopback = IPv6Address(value: 1)
    /// `ff01::1`, all nodes of the machine.
    public static let nodeLocalNodes = IPv6Address(value: 0xFF01 << 112 | 1)
    /// `ff02::1`, all nodes of the link.
    public static let linkLocalNodes = IPv6Address(value: 0xFF02 << 112 | 1)
    /// `ff02::2`, all routers of the link.
    public static let linkLocalRouters = IPv6Address(value: 0xFF02 << 112 | 2)
}

extension IPv6Address: CustomDebugStringConvertible {
    /// The canonical text of RFC 5952, with `%` and the interface where there is one.
    public var debugDescription: String { raw.description + (interface.map { "%\($0.name)" } ?? "") }
}
