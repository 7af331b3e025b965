// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing

/// Where a received packet came from and went to.
struct PacketOrigin: Hashable, Sendable {
    var source: IPAddress
    var port: UInt16
    /// Whether it arrived at the group's address; else it was sent to an address of ours.
    var wasMulticast = true
    /// Whether the source is in a prefix of this interface, or link-local.
    var isOnLink = true
}
