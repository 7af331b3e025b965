// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Addressing
public import Netlink

/// Links, addresses and some neighbours, kept up to date by kernel events.
///
/// Every event costs the same however many interfaces there are. The state is a hint for evaluations: decisions are the
/// kernel's own (rule S2).
public struct KernelState: Sendable {
    public internal(set) var links: [Int: Link] = [:]
    /// The addresses by the index of their interface, in the order they were reported.
    public internal(set) var addresses: [Int: [HeldAddress]] = [:]
    var indexes: [String: Int] = [:]
    /// The same for alternative names.
    var alternativeIndexes: [String: Int] = [:]
    /// Ports by master.
    var ports: [Int: Set<Int>] = [:]
    /// Links that stand on a link or send by it, except veth peers and masters.
    var uppers: [Int: Set<Int>] = [:]
    /// The links that are bridges.
    var bridges: Set<Int> = []
    /// Interfaces with an address that packets for the Internet could come from.
    var routable: Set<Int> = []
    /// Since when an interface is up and has had no address yet.
    var settling: [Int: Duration] = [:]
    /// The neighbours that an answer rests on.
    var neighbors: [NeighborKey: TrackedNeighbor] = [:]
    /// Whether gateways in use are probed, so that one that answers is known to be there (rule S52).
    var probesGateways = false
    /// Interfaces whose link or addresses changed since dequeueTouched().
    var touched: Set<Int> = []

    public init() {}

    /// The link of a name, or else of an alternative name (rule S19).
    public func link(named name: String) -> Link? {
        (indexes[name] ?? alternativeIndexes[name]).flatMap { links[$0] }
    }

    /// The names of links by their alternative names.
    public var namesByAlternative: [String: String] { alternativeIndexes.compactMapValues { links[$0]?.name } }

    /// The ports of a bridge, bond, team or VRF.
    public func ports(of master: Int) -> Set<Int> { ports[master] ?? [] }

    /// The HSR or PRP links that send by a link.
    func hsrLinks(over index: Int) -> [Int] {
        (uppers[index] ?? []).filter { links[$0]?.hsrPorts.contains(index) ?? false }
    }

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

    public var hasTouched: Bool { !touched.isEmpty }

    /// Interfaces whose link or addresses changed since the last call.
    public mutating func dequeueTouched() -> Set<Int> {
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

/// What an answer needs to know of neighbours (rule S52).
public struct NeighborDependencies: Hashable, Sendable {
    /// The gateways in use.
    public var gateways: Set<NeighborKey> = []
    /// Gateways among which the kernel chooses by what it knows of them.
    public var rivals: Set<NeighborKey> = []

    public init(gateways: Set<NeighborKey> = [], rivals: Set<NeighborKey> = []) {
        self.gateways = gateways
        self.rivals = rivals
    }

    public mutating func formUnion(_ other: NeighborDependencies) {
        gateways.formUnion(other.gateways)
        rivals.formUnion(other.rivals)
    }

    public var all: Set<NeighborKey> { gateways.union(rivals) }
}

/// What is known of a neighbour.
struct TrackedNeighbor: Hashable, Sendable {
    var isInUse: Bool
    var isRival: Bool
    /// The kernel's entry; ``NeighborState/none`` without one.
    var state = NeighborState.none
    /// The last verdict: whether it answered the last probe.
    var answers: Bool?
    /// Its hardware address, as last known.
    var hardwareAddress: [UInt8] = []
    /// The port of a bridge behind which it was last seen (rule S15).
    var port: Int?
    /// Whether its entry has to be read.
    var isUnread = true
}

extension KernelState {
    /// Tracks these neighbours and forgets the others.
    ///
    /// With `probesGateways`, gateways are probed, so that one that answers is known to be there (rule S52).
    /// - Returns: Those whose entry has to be read.
    public mutating func track(_ dependencies: NeighborDependencies, probesGateways: Bool = false) -> [NeighborKey] {
        if self.probesGateways != probesGateways { neighbors = [:] }
        self.probesGateways = probesGateways
        let wanted = dependencies.all
        for key in neighbors.keys where !wanted.contains(key) { neighbors[key] = nil }
        for key in wanted {
            let (isInUse, isRival) = (dependencies.gateways.contains(key), dependencies.rivals.contains(key))
            neighbors[key, default: TrackedNeighbor(isInUse: isInUse, isRival: isRival)].isInUse = isInUse
            neighbors[key]?.isRival = isRival
        }
        return unreadNeighbors
    }

    /// Records all entries of the neighbour table, for an answer that is given once.
    public mutating func learn(_ entries: [Neighbor]) {
        let keys = entries.map { NeighborKey(index: $0.index, address: $0.address) }
        _ = track(.init(rivals: Set(keys)))
        for (key, entry) in zip(keys, entries) { _ = note(entry, of: key) }
    }

    /// The gateways in use.
    public var gatewaysInUse: Set<NeighborKey> { Set(neighbors.lazy.filter(\.value.isInUse).map(\.key)) }

    public var trackedNeighbors: Set<NeighborKey> { Set(neighbors.keys) }

    /// Those whose entry has to be read: new ones, and those behind a bridge that have another hardware address.
    public var unreadNeighbors: [NeighborKey] { neighbors.filter(\.value.isUnread).map(\.key) }

    /// Whether a tracked gateway answers: `false` when it did not answer the last probe; `true` only where gateways
    /// are probed (rule S52); `nil` when unknown.
    public func isReachable(_ key: NeighborKey) -> Bool? {
        guard let answers = neighbors[key]?.answers else { return nil }
        return answers && !probesGateways ? nil : answers
    }

    /// Whether a monitored neighbour answered ARP or Neighbor Solicitation when a packet last went there; `nil` when unknown.
    func hasAnswered(_ key: NeighborKey) -> Bool? { neighbors[key]?.answers }

    /// The hardware address of a monitored neighbour, as last known; empty where it is not.
    func hardwareAddress(of key: NeighborKey) -> [UInt8] { neighbors[key]?.hardwareAddress ?? [] }

    /// The state of a monitored neighbour's entry.
    func neighborState(_ key: NeighborKey) -> NeighborState { neighbors[key]?.state ?? .none }

    /// Applies one entry of the neighbour table; `nil` when there is none.
    ///
    /// An entry that is being resolved or was collected leaves the last verdict standing, so that a dead gateway does
    /// not look alive while the kernel solicits again.
    /// - Returns: Whether an evaluation could come out differently.
    public mutating func note(_ neighbor: Neighbor?, of key: NeighborKey) -> Bool {
        guard var entry = neighbors[key] else { return false }
        let (old, verdict) = (entry, isReachable(key))
        entry.state = neighbor?.state ?? .none
        if let address = neighbor?.hardwareAddress, !address.isEmpty, address != entry.hardwareAddress {
            entry.hardwareAddress = address
            entry.port = nil
            entry.isUnread = !old.isUnread && bridge(below: key.index) != nil
        } else {
            entry.isUnread = false
        }
        entry.port = neighbor?.port ?? entry.port
        switch entry.state {
        case .stale, .delay, .probe:
            guard neighbor?.isExternallyValidated == true else {
                entry.answers = true
                break
            }
            // Another program vouches for it, so that the kernel never calls it failed: what was probed and did not answer is
            // stale again.
            if entry.state == .stale, old.state == .probe, entry.hardwareAddress == old.hardwareAddress {
                entry.answers = false
            }
        case .failed: entry.answers = false
        case .reachable, .noARP, .permanent: entry.answers = true
        case .none, .incomplete: break
        }
        neighbors[key] = entry
        return isReachable(key) != verdict || entry.isRival && entry.state != old.state || entry.port != old.port
            || entry.isUnread
    }

    /// Applies what a bridge learnt.
    /// - Returns: Whether a tracked neighbour moved to another port.
    mutating func note(_ learnt: BridgeEntry) -> Bool {
        var hasMoved = false
        for (key, entry) in neighbors where entry.hardwareAddress == learnt.hardwareAddress && entry.port != learnt.port
        {
            guard bridge(below: key.index) == learnt.bridge else { continue }
            neighbors[key]?.port = learnt.port
            hasMoved = true
        }
        return hasMoved
    }

    /// The bridge that a link is, or stands on.
    public func bridge(below index: Int) -> Int? {
        guard !bridges.isEmpty else { return nil }
        var link = links[index]
        for _ in 0..<8 {
            guard let here = link else { return nil }
            if here.kind == "bridge" { return here.index }
            link = here.standsOn.flatMap { links[$0] }
        }
        return nil
    }

    /// The bridge behind whose port a tracked neighbour is, and that port; `nil` where there is none or it is unknown.
    func bridgePort(of key: NeighborKey) -> (bridge: Link, port: Link)? {
        guard !bridges.isEmpty, let port = neighbors[key]?.port.flatMap({ links[$0] }),
            let bridge = bridge(below: key.index).flatMap({ links[$0] }), port.master == bridge.index
        else { return nil }
        return (bridge, port)
    }

    /// The hardware addresses of tracked neighbours behind bridges.
    public var bridgedAddresses: Set<[UInt8]> {
        guard !bridges.isEmpty else { return [] }
        return Set(neighbors.lazy.filter { bridge(below: $0.key.index) != nil }.map(\.value.hardwareAddress))
    }
}

extension NotificationFilter {
    /// The notifications that answers rest on (rule S3): of routes to some addresses, and of the neighbours that the state has.
    public init(for state: KernelState, restingOn destinations: Set<IPAddress>) {
        self.init(
            destinations: destinations,
            neighbors: Set(state.neighbors.keys.map(\.address)),
            hardwareAddresses: state.bridgedAddresses
        )
    }
}
