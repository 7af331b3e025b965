// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing

/// One entry of a routing table, as a dump tells it.
public struct RouteEntry: Hashable, Sendable {
    /// Which packets it is for.
    public var destination: IPPrefix
    /// What is done with them.
    public var answer: RouteAnswer

    /// Describes an entry.
    public init(destination: IPPrefix, answer: RouteAnswer) {
        self.destination = destination
        self.answer = answer
    }
}

/// A nexthop object (`RTM_GETNEXTHOP`, ip-nexthop(8)), which routes refer to by number.
public struct Nexthop: Hashable, Sendable {
    /// Its number.
    public var id: UInt32
    /// The way out; `nil` for a group and for one that drops packets.
    public var leg: RouteLeg?
    /// The objects a group is made of.
    public var members: [UInt32]
    /// Whether it drops packets.
    public var isBlackhole: Bool

    /// Describes a nexthop object.
    public init(id: UInt32, leg: RouteLeg? = nil, members: [UInt32] = [], isBlackhole: Bool = false) {
        self.id = id
        self.leg = leg
        self.members = members
        self.isBlackhole = isBlackhole
    }
}
