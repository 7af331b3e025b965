// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing
public import LinuxIO

public struct MulticastCounters: Hashable, Sendable {
    public struct Key: Hashable, Sendable, Comparable {
        public let interface: String
        public let family: AddressFamily

        public init(interface: String, family: AddressFamily) {
            self.interface = interface
            self.family = family
        }

        /// By interface, then by family.
        public static func < (left: Key, right: Key) -> Bool {
            (left.interface, left.family) < (right.interface, right.family)
        }
    }

    /// Packets received, own ones included.
    public var received: UInt64 = 0
    /// Own packets among them, looped back by the kernel.
    public var echoes: UInt64 = 0
    public var sent: UInt64 = 0
    /// Packets that were not DNS messages.
    public var malformed: UInt64 = 0
    /// Messages that must be ignored: other operations, error codes, responses from a port other than 5353.
    public var ignored: UInt64 = 0
    /// Responses from a port other than 5353, which are ignored (rule F8).
    public var wrongPort: UInt64 = 0
    /// Responses that came with an IP TTL or hop limit other than 255, which are read all the same (rule Q17).
    public var wrongHopLimit: UInt64 = 0
    /// Packets that the kernel dropped because they came faster than they were read (`SO_RXQ_OVFL`).
    public var dropped: UInt64 = 0
    /// Packets that could not be sent.
    public var sendFailures: UInt64 = 0
    /// Times that the socket could not be opened.
    public var socketFailures: UInt64 = 0
    public var lastError: Errno?
}
