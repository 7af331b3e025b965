// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import DNSWire

public struct CensusSettings: Hashable, Sendable {
    public var interval: Duration
    /// Types that are queried before anybody announced them.
    public var wellKnownTypes: [DomainName]
    /// How many types are remembered and browsed per interface.
    public var maximumTypes: Int
    /// How many types one sender may introduce per census.
    public var maximumTypesPerSource: Int

    /// The settings by default: a census per minute.
    public init() {
        interval = .seconds(60)
        wellKnownTypes = Self.usualTypes.compactMap { DomainName("\($0).local") }
        maximumTypes = 256
        maximumTypesPerSource = 64
    }

    private static let usualTypes = [
        "_airplay._tcp", "_googlecast._tcp", "_hap._tcp", "_http._tcp", "_ipp._tcp", "_smb._tcp", "_ssh._tcp",
        "_workstation._tcp",
    ]
}
