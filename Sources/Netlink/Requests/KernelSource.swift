// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing
public import LinuxIO

public struct Dump<Element: Hashable & Sendable>: Hashable, Sendable {
    public var values: [Element]
    /// `false` when the table changed during each of five attempts (`NLM_F_DUMP_INTR`): read it again later.
    public var isConsistent: Bool
    /// `false` when more entries exist than were requested.
    public var isComplete: Bool
    /// How many entries could not be understood.
    public var undecodable: Int

    public init(_ values: [Element], isConsistent: Bool = true, isComplete: Bool = true, undecodable: Int = 0) {
        self.values = values
        self.isConsistent = isConsistent
        self.isComplete = isComplete
        self.undecodable = undecodable
    }
}

/// Queries of the kernel; the live one and a recording answer alike.
///
/// Every call is synchronous and bounded in time.
public protocol KernelSource: AnyObject {
    func links() throws(NetlinkError) -> Dump<Link>
    /// One link; `nil` when there is none.
    func link(index: Int) throws(NetlinkError) -> Link?
    /// One link; `nil` when there is none.
    func link(named name: String) throws(NetlinkError) -> Link?
    /// All addresses of both families.
    func addresses() throws(NetlinkError) -> Dump<InterfaceAddress>
    /// All policy rules of both families, in the order the kernel evaluates them.
    func rules() throws(NetlinkError) -> Dump<PolicyRule>
    func nexthops() throws(NetlinkError) -> Dump<Nexthop>
    /// One nexthop object; `nil` when there is none.
    func nexthop(id: UInt32) throws(NetlinkError) -> Nexthop?
    /// The neighbours of one interface, or of all.
    func neighbors(index: Int?) throws(NetlinkError) -> Dump<Neighbor>
    /// One neighbour; `nil` when there is no entry.
    func neighbor(_ address: IPAddress, index: Int) throws(NetlinkError) -> Neighbor?
    /// The port behind which a bridge last saw a hardware address; `nil` when it does not know it.
    func bridgePort(of hardwareAddress: [UInt8], bridge: Int) throws(NetlinkError) -> Int?
    /// The default routes of one table, or of one interface in it, reading at most `limit` entries of the table.
    func defaultRoutes(
        _ family: AddressFamily,
        table: UInt32,
        index: Int?,
        limit: Int
    ) throws(NetlinkError) -> Dump<RouteEntry>
    /// The routes of all tables that `isWanted`, of one type or of all, reading at most `limit` entries.
    func routes(
        _ family: AddressFamily,
        type: RouteType?,
        limit: Int,
        where isWanted: (RouteEntry) -> Bool
    ) throws(NetlinkError) -> Dump<RouteEntry>
    /// Where a packet would go.
    func lookup(_ query: RouteQuery) -> Result<RouteAnswer, RouteFailure>
    /// What connect(2) of a UDP socket gives, which sends nothing; `nil` where, as in a recording, that is unknown.
    func connect(_ query: RouteQuery) -> ConnectAnswer?
    /// Whether a packet filter or an IPsec policy refuses packets of this process; ``OutputVerdict/unknown`` where, as in a
    /// recording, it is unknown; unless it `sends` a packet, which does not leave, it covers policies only. Without an
    /// interface it is about packets that go where a mark leads that a rule sets.
    func output(
        of transport: Transport,
        to destination: IPAddress,
        by index: Int?,
        sends: Bool
    ) -> OutputVerdict
    /// The packet filters of this machine, which are not read again while they are those of `previous`; `nil` where they
    /// may not be read.
    func packetFilter(after previous: PacketFilter?) -> PacketFilter?
    /// What rules leave as it is in packets of a family, as far as a datagram to this machine shows.
    func keptHeader(_ family: AddressFamily) -> KeptHeader
    /// What the peers of a WireGuard interface make of packets to a destination; `nil` where they may not be read.
    func wireGuardAnswer(of index: Int, for destination: IPAddress) -> TunnelAnswer?
    /// Why a tunnel refuses an empty datagram, whose TTL of 1 ends at the tunnel's first router; `nil` when it does not, or it
    /// is not known.
    func tunnelRefusal(of destination: IPAddress) -> TunnelRefusal?
    /// In which network namespace the program runs that serves a tun or tap interface.
    func tunnelProgram(named interface: String) -> TunnelProgram
    /// Whether sockets that are bound to nothing receive what arrives in a VRF (`net.ipv4.tcp_l3mdev_accept` and
    /// `udp_l3mdev_accept`, which count for IPv6 too).
    func acceptsFromVRFs(_ transport: Transport) -> Bool
    /// Makes the kernel find out whether a neighbour answers; the result comes as an event (rule S52).
    /// - Returns: `false` for an entry of another program, which the kernel probes when a packet goes there.
    /// - Throws: ``NetlinkError/notPermitted(request:)`` without `CAP_NET_ADMIN`.
    @discardableResult
    func probeNeighbor(_ address: IPAddress, index: Int) throws(NetlinkError) -> Bool
}

extension KernelSource {
    /// They may not be read.
    public func wireGuardAnswer(of index: Int, for destination: IPAddress) -> TunnelAnswer? { nil }

    /// It is not known.
    public func tunnelRefusal(of destination: IPAddress) -> TunnelRefusal? { nil }

    /// It is not known.
    public func tunnelProgram(named interface: String) -> TunnelProgram { .unknown }

    /// It is not known, so that no path is called broken for it.
    public func acceptsFromVRFs(_ transport: Transport) -> Bool { true }

    /// It is unknown.
    public func connect(_ query: RouteQuery) -> ConnectAnswer? { nil }

    /// It is unknown.
    public func output(
        of transport: Transport,
        to destination: IPAddress,
        by index: Int?,
        sends: Bool
    ) -> OutputVerdict { .unknown }

    /// It is unknown.
    public func packetFilter(after previous: PacketFilter?) -> PacketFilter? { nil }

    public func keptHeader(_ family: AddressFamily) -> KeptHeader { [] }
}

/// A kernel source that answers netlink messages; everything else follows from that.
public protocol MessageSource: KernelSource {
    /// Sends a request, and passes type and body of each message of the answer until `each` returns `false`.
    func request(
        _ question: Question,
        each: (UInt16, Span<UInt8>) -> Bool
    ) throws(NetlinkError) -> Completion
    /// How long to wait before an interrupted dump is requested again.
    func pauseBeforeRetry()
}
