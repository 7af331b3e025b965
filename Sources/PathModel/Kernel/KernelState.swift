// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing
public import Netlink

/// Links, addresses and watched neighbours, kept up to date by kernel events.
///
/// Every event costs the same however many interfaces there are. The state is a hint for evaluations: decisions are the
/// kernel's own (rule S2).
public struct KernelState: Sendable {
    public internal(set) var links: [Int: Link] = [:]
    /// The addresses by the index of their interface, in the order they were told.
    public internal(set) var addresses: [Int: [HeldAddress]] = [:]
    var indexes: [String: Int] = [:]
    /// Ports by master.
    var ports: [Int: Set<Int>] = [:]
    /// Links that stand on a link, except veth peers.
    var uppers: [Int: Set<Int>] = [:]
    /// Interfaces with an address that packets for the Internet could come from.
    var routable: Set<Int> = []
    /// Since when an interface is up and has had no address yet.
    var settling: [Int: Duration] = [:]
    /// The gateways that are watched, and whether they answer.
    var gateways: [NeighborKey: Bool?] = [:]
    /// Interfaces whose link or addresses changed since takeTouched().
    var touched: Set<Int> = []

    public init() {}

    public func link(named name: String) -> Link? {
        indexes[name].flatMap { links[$0] }
    }

    /// The ports of a bridge, bond, team or VRF.
    public func ports(of master: Int) -> Set<Int> { ports[master] ?? [] }

    /// Since when an interface is up without ever having had an address; `nil` when it had one, or is down.
    public func settlingSince(_ index: Int) -> Duration? { settling[index] }

    /// Interfaces with an address that packets for the Internet could come from, usable or not.
    public var routableInterfaces: Set<Int> { routable }

    /// Whether any interface has an address of the family that packets for the Internet could come from, usable or not.
    func hasRoutableAddress(_ family: AddressFamily) -> Bool {
        routable.contains { index in
            addresses[index]?.contains { $0.value.address.family == family && $0.isRoutable } ?? false
        }
    }

    /// Interfaces whose link or addresses changed since this was last asked.
    public mutating func takeTouched() -> Set<Int> {
        guard !touched.isEmpty else { return [] }
        defer { touched = [] }
        return touched
    }
}

// MARK: - Gateways

/// A neighbour: an address on an interface.
public struct NeighborKey: Hashable, Sendable {
    public var index: Int
    public var address: IPAddress

    public init(index: Int, address: IPAddress) {
        self.index = index
        self.address = address
    }
}

extension KernelState {
    /// Watches these gateways and forgets the others (rule S52).
    public mutating func watch(gateways keys: Set<NeighborKey>) {
        for key in Array(gateways.keys) where !keys.contains(key) { gateways[key] = nil }
        for key in keys where gateways.index(forKey: key) == nil { gateways.updateValue(nil, forKey: key) }
    }

    public var watchesGateways: Bool { !gateways.isEmpty }

    public var watchedGateways: Set<NeighborKey> { Set(gateways.keys) }

    /// Whether a watched gateway answers; `nil` when unknown.
    public func isReachable(_ key: NeighborKey) -> Bool? { gateways[key] ?? nil }

    /// Takes one entry of the neighbour table.
    ///
    /// An entry that is being resolved or was collected leaves the last verdict standing, so that a dead gateway does
    /// not look alive while the kernel asks again.
    /// - Returns: Whether a verdict changed.
    mutating func note(_ neighbor: Neighbor) -> Bool {
        let key = NeighborKey(index: neighbor.index, address: neighbor.address)
        guard let known = gateways[key] else { return false }
        let verdict: Bool
        switch neighbor.state {
        case .failed: verdict = false
        case .reachable, .stale, .delay, .probe, .noARP, .permanent: verdict = true
        case .none, .incomplete: return false
        }
        gateways.updateValue(verdict, forKey: key)
        return known != verdict
    }
}
