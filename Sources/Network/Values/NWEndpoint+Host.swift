// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing

extension NWEndpoint {
    /// A host: a name or an address.
    public enum Host: Hashable, Sendable {
        /// A host name, and the interface to use (`nil` is any).
        case name(String, NWInterface?)
        /// An IPv4 address.
        case ipv4(IPv4Address)
        /// An IPv6 address.
        case ipv6(IPv6Address)

        /// Reads an address literal, such as `192.0.2.1`, `2001:db8::1` or `fe80::1%eth0`; anything else is a name.
        ///
        /// A name may end with `%` and an interface as well; where there is no such interface, all of it is the name.
        public init(_ string: String) {
            if let literal = AddressLiteral(string) {
                self.init(literal.address, interface: literal.interface)
                return
            }
            let parts = string.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2, !parts[0].isEmpty, let interface = NWInterface(named: parts[1]) {
                self = .name(String(parts[0]), interface)
            } else {
                self = .name(string, nil)
            }
        }

        init(_ address: RawAddress, interface: NWInterface? = nil) {
            switch address {
            case .v4(let value): self = .ipv4(IPv4Address(value: value, interface: interface))
            case .v6(let value): self = .ipv6(IPv6Address(value: value, interface: interface))
            }
        }

        /// The interface that the host is limited to, where there is one.
        public var interface: NWInterface? {
            switch self {
            case .name(_, let interface): interface
            case .ipv4(let address): address.interface
            case .ipv6(let address): address.interface
            }
        }
    }
}

extension NWEndpoint.Host: ExpressibleByStringLiteral {
    /// As ``init(_:)``.
    public init(stringLiteral value: StringLiteralType) { self.init(value) }
}

extension NWEndpoint.Host: CustomDebugStringConvertible {
    /// The name or address, with `%` and the interface where there is one.
    public var debugDescription: String {
        switch self {
        case .name(let name, let interface): name + (interface.map { "%\($0.name)" } ?? "")
        case .ipv4(let address): address.debugDescription
        case .ipv6(let address): address.debugDescription
        }
    }
}
