// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
public import FoundationEssentials

/// An address of Internet Protocol version 4.
public struct IPv4Address: IPAddress {
    /// In host byte order.
    let value: UInt32
    /// The interface the address is valid on, where it was given.
    public let interface: NWInterface?

    init(value: UInt32, interface: NWInterface? = nil) {
        self.value = value
        self.interface = interface
    }

    /// Reads four decimal numbers such as `192.0.2.1`, with an interface behind a `%` where there is one.
    /// - Returns: `nil` for anything else, and for an interface that does not exist.
    public init?(_ string: String) {
        guard let literal = AddressLiteral(string), case .v4(let value) = literal.address else { return nil }
        self.init(value: value, interface: literal.interface)
    }

    /// Makes an address of four bytes in network order.
    /// - Returns: `nil` for any other number of bytes.
    public init?(_ rawValue: Data, _ interface: NWInterface? = nil) {
        guard rawValue.count == 4 else { return nil }
        self.init(value: rawValue.reduce(0) { $0 << 8 | UInt32($1) }, interface: interface)
    }

    /// The four bytes in network order.
    public var rawValue: Data { Data(raw.bytes) }

    var raw: RawAddress { .v4(value) }

    /// Whether it is in `127.0.0.0/8`.
    public var isLoopback: Bool { raw.isLoopback }
    /// Whether it is in `169.254.0.0/16` (RFC 3927).
    public var isLinkLocal: Bool { raw.isLinkLocal }
    /// Whether it is in `224.0.0.0/4`.
    public var isMulticast: Bool { raw.isMulticast }

    /// `0.0.0.0`.
    public static let any = IPv4Address(value: 0)
    /// `255.255.255.255`.
    public static let broadcast = IPv4Address(value: 0xFFFF_FFFF)
    /// `127.0.0.1`.
    public static let loopback = IPv4Address(value: 0x7F00_0001)
    /// `224.0.0.1`, all hosts of the link.
    public static let allHostsGroup = IPv4Address(value: 0xE000_0001)
    /// `224.0.0.2`, all routers of the link.
    public static let allRoutersGroup = IPv4Address(value: 0xE000_0002)
    /// `224.0.0.22`, where IGMPv3 reports go.
    public static let allReportsGroup = IPv4Address(value: 0xE000_0016)
    /// `224.0.0.251`, multicast DNS.
    public static let mdnsGroup = IPv4Address(value: 0xE000_00FB)
}

extension IPv4Address: CustomDebugStringConvertible {
    /// Such as `192.0.2.1`, with `%` and the interface where there is one.
    public var debugDescription: String { raw.description + (interface.map { "%\($0.name)" } ?? "") }
}
