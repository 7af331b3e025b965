// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing
internal import LinuxIO
public import Netlink
public import PathModel

public struct KernelTable: ForwardingTable {
    private let source: any KernelSource

    /// Asks `source`.
    public init(_ source: any KernelSource) {
        self.source = source
    }

    /// Asks where a packet would go.
    public func lookup(_ query: RouteQuery) -> Result<RouteAnswer, RouteFailure> {
        source.lookup(query)
    }

    /// What connect(2) of a UDP socket gives.
    public func connect(_ query: RouteQuery) -> ConnectAnswer? { source.connect(query) }

    /// Whether a packet filter or an IPsec policy refuses datagrams of this process.
    public func refusesDatagrams(to destination: IPAddress, port: UInt16, by index: Int) -> Bool {
        source.output(to: destination, port: port, by: index, confirms: true) == .refused
    }

    public var asksForTransport: Bool {
        (try? source.rules())?.values.contains { $0.asksForTransport } ?? false
    }

    /// The default routes of a table; none of one that is too long to be read.
    public func defaultRoutes(_ family: AddressFamily, table: UInt32) -> [RouteAnswer] {
        let dump = try? source.defaultRoutes(family, table: table, index: nil, limit: Self.most)
        return dump?.values.map(\.answer) ?? []
    }

    /// How many routes of a table are read.
    private static let most = 10_000
}

extension KernelSource {
    /// The entry of a neighbour, with the port of the bridge behind which it is; one that cannot be read is as unknown as
    /// one that is not there.
    func entry(of key: NeighborKey, over bridge: Int?) -> Neighbor? {
        guard var entry = (try? neighbor(key.address, index: key.index)) ?? nil else { return nil }
        if let bridge, !entry.hardwareAddress.isEmpty {
            entry.port = (try? bridgePort(of: entry.hardwareAddress, bridge: bridge)) ?? nil
        }
        return entry
    }
}
