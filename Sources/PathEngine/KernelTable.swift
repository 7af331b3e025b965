// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

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
}
