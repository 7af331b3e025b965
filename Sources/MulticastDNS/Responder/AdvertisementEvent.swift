// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import DNSWire

/// What identifies an advertised service or host.
public struct AdvertisementID: Hashable, Sendable, Comparable {
    let rawValue: Int

    /// In the order of advertising.
    public static func < (left: AdvertisementID, right: AdvertisementID) -> Bool { left.rawValue < right.rawValue }
}

/// Another host has a name of ours.
public struct NameConflict: Hashable, Sendable {
    /// The name that was lost.
    public let name: DomainName
    /// Where it was lost, by name.
    public let interface: String
    /// The name that is tried next; `nil` when it may have no other and is withdrawn.
    public let newName: DomainName?
}

public struct AdvertisementEvent: Hashable, Sendable {
    public enum Kind: Hashable, Sendable {
        /// Nobody objected to its name, on any interface and by either family; it is answered for from now on.
        case registered(DomainName)
        /// Its name was in use; it goes on under another one.
        case renamed(from: DomainName, to: DomainName)
        case updated(DomainName)
        /// Its name is in use and it may have no other; it is withdrawn.
        case conflict(DomainName)
    }

    public let id: AdvertisementID
    public let kind: Kind
}
