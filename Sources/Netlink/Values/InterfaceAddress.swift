// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing

/// One address of an interface (`RTM_NEWADDR`).
public struct InterfaceAddress: Hashable, Sendable {
    public var index: Int
    /// The local address (`IFA_LOCAL`, else `IFA_ADDRESS`).
    public var address: IPAddress
    /// The other end of a point-to-point address, when it differs (`IFA_ADDRESS`).
    public var peer: IPAddress?
    /// How many leading bits name the network.
    public var prefixLength: Int
    /// `ifa_scope`: 0 global, 200 site, 253 link, 254 host.
    public var scope: UInt8
    /// The IFA_F_* bits (`IFA_FLAGS`).
    public var flags: AddressFlags
    /// When the address was made (`cstamp`), in hundredths of a second since boot; 0 when unknown.
    public var created: UInt32
    /// When the address was last refreshed (`tstamp`), in hundredths of a second since boot; 0 when unknown.
    public var updated: UInt32
    /// How long it stays valid, in seconds from the kernel's message; `nil` means for ever.
    ///
    /// The kernel subtracts what has passed since `updated`.
    public var validSeconds: UInt32?
    /// How long it stays preferred, in seconds from the kernel's message; `nil` means for ever.
    public var preferredSeconds: UInt32?

    /// Describes an address; without flags it is permanent, preferred and checked.
    public init(
        index: Int,
        address: IPAddress,
        peer: IPAddress? = nil,
        prefixLength: Int,
        scope: UInt8 = 0,
        flags: AddressFlags = [],
        created: UInt32 = 0,
        updated: UInt32 = 0,
        validSeconds: UInt32? = nil,
        preferredSeconds: UInt32? = nil
    ) {
        self.index = index
        self.address = address
        self.peer = peer
        self.prefixLength = prefixLength
        self.scope = scope
        self.flags = flags
        self.created = created
        self.updated = updated
        self.validSeconds = validSeconds
        self.preferredSeconds = preferredSeconds
    }
}

/// The IFA_F_* bits of an address, linux/if_addr.h.
public struct AddressFlags: OptionSet, Hashable, Sendable {
    public let rawValue: UInt32
    /// Makes a set from the kernel's bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue }
    /// `IFA_F_TEMPORARY` (RFC 8981).
    public static let temporary = AddressFlags(rawValue: 0x1)
    /// `IFA_F_OPTIMISTIC` (RFC 4429).
    public static let optimistic = AddressFlags(rawValue: 0x4)
    /// `IFA_F_DADFAILED`: another host has the address.
    public static let duplicateDetected = AddressFlags(rawValue: 0x8)
    /// `IFA_F_DEPRECATED`.
    public static let deprecated = AddressFlags(rawValue: 0x20)
    /// `IFA_F_TENTATIVE`: duplicate address detection is not done.
    public static let tentative = AddressFlags(rawValue: 0x40)
    /// `IFA_F_PERMANENT`.
    public static let permanent = AddressFlags(rawValue: 0x80)
}
