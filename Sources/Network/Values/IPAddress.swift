// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
public import FoundationEssentials

/// An Internet address of either family.
public protocol IPAddress: Hashable, Sendable, CustomDebugStringConvertible {
    /// Reads an address literal, with an interface behind a `%` where there is one.
    init?(_ string: String)
    /// Makes an address of bytes in network order, and the interface it is valid on.
    init?(_ rawValue: Data, _ interface: NWInterface?)
    /// The bytes in network order: 4 or 16.
    var rawValue: Data { get }
    /// The interface the address is valid on, where it was given.
    var interface: NWInterface? { get }
    /// Whether it stands for the machine itself.
    var isLoopback: Bool { get }
    /// Whether it is valid on one link only.
    var isLinkLocal: Bool { get }
    /// Whether it names a group.
    var isMulticast: Bool { get }
}

/// What engines call an address, beside the protocol of this module.
typealias RawAddress = Addressing.IPAddress

/// An address literal in two parts.
struct AddressLiteral {
    let address: RawAddress
    let interface: NWInterface?

    /// Reads `192.0.2.1`, `2001:db8::1` or `fe80::1%eth0`.
    /// - Returns: `nil` when it is none, or names an interface that does not exist.
    init?(_ text: String) {
        guard text.utf8.contains(UInt8(ascii: "%")) else {
            guard let address = RawAddress(text) else { return nil }
            self.address = address
            interface = nil
            return
        }
        let parts = text.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first, let address = RawAddress(first) else { return nil }
        self.address = address
        guard parts.count == 2 else {
            interface = nil
            return
        }
        guard let found = NWInterface(named: parts[1]) else { return nil }
        interface = found
    }
}
