// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing

public struct RouteEntry: Hashable, Sendable {
    public var destination: IPPrefix
    public var answer: RouteAnswer

    public init(destination: IPPrefix, answer: RouteAnswer) {
        self.destination = destination
        self.answer = answer
    }
}

/// A nexthop object (`RTM_GETNEXTHOP`, ip-nexthop(8)), which routes refer to by number.
public struct Nexthop: Hashable, Sendable {
    public var id: UInt32
    /// Its nexthop; `nil` for a group and for one that drops packets.
    public var nexthop: RouteNexthop?
    public var members: [UInt32]
    public var isBlackhole: Bool

    public init(id: UInt32, nexthop: RouteNexthop? = nil, members: [UInt32] = [], isBlackhole: Bool = false) {
        self.id = id
        self.nexthop = nexthop
        self.members = members
        self.isBlackhole = isBlackhole
    }
}
