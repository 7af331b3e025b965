// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing
public import Netlink

/// The kernel's forwarding decisions, asked one at a time; tests put a table of their own here.
public protocol ForwardingTable {
    /// Asks where a packet would go.
    func lookup(_ query: RouteQuery) -> Result<RouteAnswer, RouteFailure>

    /// What connect(2) of a UDP socket gives, which sends nothing; `nil` where nobody can tell.
    func connect(_ query: RouteQuery) -> ConnectAnswer?

    /// What packet filters and IPsec policies make of packets of this process that the table lets out by an interface.
    func output(of transport: Transport, to destination: IPAddress, by index: Int) -> OutputAnswer

    /// Whether a rule asks for the protocol or the ports of packets.
    var asksForTransport: Bool { get }

    /// What a tunnel makes of packets that the table sends into it; only `isOwn` packets of this process may be sent as a test.
    func tunnel(_ tunnel: Link, to destination: IPAddress, isOwn: Bool) -> TunnelAnswer

    /// Whether sockets that are bound to nothing receive what arrives in a VRF.
    func acceptsFromVRFs(_ transport: Transport) -> Bool

    /// The default routes of a table in the kernel's order; none where nobody can tell.
    func defaultRoutes(_ family: AddressFamily, table: UInt32) -> [RouteAnswer]
}

extension ForwardingTable {
    /// Does not tell.
    public func connect(_ query: RouteQuery) -> ConnectAnswer? { nil }

    public var asksForTransport: Bool { false }

    /// Does not tell.
    public func output(of transport: Transport, to destination: IPAddress, by index: Int) -> OutputAnswer { .unknown }

    /// It is not known.
    public func tunnel(_ tunnel: Link, to destination: IPAddress, isOwn: Bool) -> TunnelAnswer { .unknown }

    /// It is not known.
    public func acceptsFromVRFs(_ transport: Transport) -> Bool { true }

    /// Knows of none.
    public func defaultRoutes(_ family: AddressFamily, table: UInt32) -> [RouteAnswer] { [] }
}
