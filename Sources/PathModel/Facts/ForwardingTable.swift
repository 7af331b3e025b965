// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing
public import Netlink

/// The kernel's forwarding decisions, one lookup at a time; tests substitute a table of their own.
public protocol ForwardingTable {
    /// Looks up where a packet would go.
    func lookup(_ query: RouteQuery) -> Result<RouteAnswer, RouteFailure>

    /// What connect(2) of a UDP socket gives, which sends nothing; `nil` where that is unknown.
    func connect(_ query: RouteQuery) -> ConnectAnswer?

    /// What packet filters and IPsec policies make of packets of this process that the table lets out by an interface.
    func output(of: Transport, from: IPAddress?, to: IPAddress, by index: Int) -> OutputAnswer

    /// Whether a rule selects by the protocol or the ports of packets.
    var selectsByTransport: Bool { get }

    /// The marks of packets that rules lead past a table to which they lead others, as those of a VPN's own packets.
    func marksExempt(fromTable number: UInt32, _ family: AddressFamily) -> [UInt32]

    /// Whether a rule refuses all packets with a mark before they come to any route.
    func refuses(mark: UInt32, _ family: AddressFamily) -> Bool

    /// Whether an interface has a route that the kernel did not make itself with an address, be it to a host; of one family,
    /// or of any.
    func carriesRoutes(_ index: Int, _ family: AddressFamily?) -> Bool

    /// Reads again which interfaces carry routes, unless nothing can have changed since they were read.
    /// - Returns: Whether it did.
    func refreshCarriers() -> Bool

    /// The neighbours on a link; none where they are unknown.
    func neighbors(on index: Int) -> [Neighbor]

    /// What a tunnel makes of packets that the table sends into it; only `isOwn` packets of this process may be sent as a test.
    func tunnel(_ tunnel: Link, to destination: IPAddress, isOwn: Bool) -> TunnelAnswer

    /// In which network namespace the program runs that serves a tun or tap interface.
    func program(of tunnel: Link) -> TunnelProgram

    /// Whether sockets that are bound to nothing receive what arrives in a VRF.
    func acceptsFromVRFs(_ transport: Transport) -> Bool

    /// The default routes of a table in the kernel's order; none where they are unknown.
    func defaultRoutes(_ family: AddressFamily, table: UInt32) -> [RouteAnswer]
}

extension ForwardingTable {
    /// Does not tell.
    public func connect(_ query: RouteQuery) -> ConnectAnswer? {
        nil
    }

    public var selectsByTransport: Bool { false }

    /// Knows of none.
    public func marksExempt(fromTable number: UInt32, _ family: AddressFamily) -> [UInt32] { [] }

    /// Knows of none.
    public func refuses(mark: UInt32, _ family: AddressFamily) -> Bool { false }

    /// Knows of none.
    public func carriesRoutes(_ index: Int, _ family: AddressFamily?) -> Bool { false }

    /// Whether an interface has a route of any family that the kernel did not make itself.
    public func carriesRoutes(_ index: Int) -> Bool { carriesRoutes(index, nil) }

    /// Knows of none.
    public func refreshCarriers() -> Bool { false }

    /// Knows of none.
    public func neighbors(on index: Int) -> [Neighbor] { [] }

    /// Does not tell.
    public func output(of: Transport, from: IPAddress?, to: IPAddress, by: Int) -> OutputAnswer { .unknown }

    /// It is not known.
    public func tunnel(_ tunnel: Link, to destination: IPAddress, isOwn: Bool) -> TunnelAnswer { .unknown }

    /// It is not known.
    public func program(of tunnel: Link) -> TunnelProgram { .unknown }

    /// It is not known.
    public func acceptsFromVRFs(_ transport: Transport) -> Bool { true }

    /// Knows of none.
    public func defaultRoutes(_ family: AddressFamily, table: UInt32) -> [RouteAnswer] { [] }
}

extension RouteAnswer {
    /// The interfaces of a route that neither the kernel made with an address nor a program instead, which has the address as
    /// its source or comes from a router advertisement.
    public var carriers: Set<Int> {
        // RTPROT_KERNEL
        guard origin != 2 else { return [] }
        // RTPROT_RA
        return Set(nexthops.filter { $0.gateway != nil || preferredSource == nil && origin != 9 }.map(\.index))
    }
}
