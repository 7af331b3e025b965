// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import DNSWire

/// Records that are owned together: probed, announced, changed and withdrawn as one.
struct RecordSet: Hashable, Sendable {
    struct ID: Hashable, Sendable, Comparable {
        let rawValue: Int

        static func < (left: ID, right: ID) -> Bool { left.rawValue < right.rawValue }
    }

    let id: ID
    /// Records that only this host may have; their names are probed for.
    var unique: [ResourceRecord] = []
    /// Records of which other hosts have more.
    var shared: [ResourceRecord] = []
    /// Shared records that other hosts may have just the same, so that nobody says goodbye for them (rule P14).
    var common: [ResourceRecord] = []
    /// Names that have the addresses of whichever interface they are published on (rule A12).
    var hosts: Set<DomainName> = []
    /// The name that the addresses of the interface are called by, in pointers from their reverse names.
    ///
    /// They are unique but not probed for: whoever had the same address would have other troubles (RFC 6762 section 8.1).
    var reverseTarget: DomainName?
    /// Whether the names are left to another responder on this machine that answers for them with our addresses.
    var yieldsToNeighbour = false
}
