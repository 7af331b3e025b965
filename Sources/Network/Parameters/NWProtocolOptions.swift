// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

/// The options of one protocol of a stack: ``NWProtocolTCP/Options``, ``NWProtocolUDP/Options`` or
/// ``NWProtocolIP/Options``.
///
/// On Apple's systems this is a class; only the library has types of it on either system.
public protocol NWProtocolOptions: AnyObject, Sendable {
    /// The name of the protocol, such as `tcp`.
    var name: String { get }
    /// Options of their own with the same values.
    func copy() -> Self
}

/// The User Datagram Protocol.
public enum NWProtocolUDP {}

/// The Transmission Control Protocol.
public enum NWProtocolTCP {}

/// The Internet Protocol.
public enum NWProtocolIP {}
