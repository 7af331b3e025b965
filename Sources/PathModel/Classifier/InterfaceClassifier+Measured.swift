// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Netlink

/// A link whose counters are read.
public struct MeasuredLink: Hashable, Sendable {
    public var index: Int
    /// Whether it is a network card with a cable.
    public var isCable: Bool
    /// Whether packets of the default path pass it now.
    public var isUsed: Bool
}

extension InterfaceClassifier {
    /// How many links are measured.
    static let mostMeasured = 16

    /// The links whose counters are read: those that packets pass, from the ports upwards, and then network cards with a
    /// cable and Wi-Fi clients.
    ///
    /// - Parameters:
    ///   - used: The interfaces by which packets of the default path leave, by index.
    ///   - others: Further ones, such as those that were measured before.
    /// - Returns: At most 16 of them.
    public func measuredLinks(used: [Int], others: [Int] = []) -> [MeasuredLink] {
        var indexes: [Int] = []
        for index in used { addStack(of: index, to: &indexes) }
        // What carries a tunnel depends on its own packets.
        let isTunneled = indexes.contains { state.links[$0].map(isTunnel) ?? false }
        let count = isTunneled ? Self.mostMeasured : indexes.count
        for index in others { addStack(of: index, to: &indexes) }
        for link in state.links.values.sorted(by: { $0.index < $1.index }) where !indexes.contains(link.index) {
            if (isCable(link) || isStation(link)) && !isListedIgnored(link) { indexes.append(link.index) }
        }
        return indexes.prefix(Self.mostMeasured).enumerated().compactMap { position, index in
            state.links[index].map { MeasuredLink(index: index, isCable: isCable($0), isUsed: position < count) }
        }
    }

    /// Adds a link behind those that it stands on.
    private func addStack(of index: Int, to indexes: inout [Int], depth: Int = 0) {
        guard depth < 8, !indexes.contains(index), let link = state.links[index] else { return }
        // Behind the other ports of a bridge there are guests.
        let ports = state.ports(of: index).filter { link.kind != "bridge" || isPhysical($0) }
        for port in ports.sorted() + [link.standsOn].compactMap(\.self) {
            addStack(of: port, to: &indexes, depth: depth + 1)
        }
        if !indexes.contains(index) { indexes.append(index) }
    }

    /// Buses of devices that a hypervisor makes up.
    private static let virtualBuses: Set<String> = ["virtio", "vmbus", "xen"]

    /// Whether the link is a network card with a cable.
    ///
    /// GRE, bonds and the devices of hypervisors count other things as damaged frames.
    func isCable(_ link: Link) -> Bool {
        guard link.hardwareType == 1, link.kind == nil || link.kind == "dsa", type(of: link) == .wiredEthernet else {
            return false
        }
        // Between the machine and a switch chip there is a board.
        let isConduit = (state.uppers[link.index] ?? []).contains { state.links[$0]?.kind == "dsa" }
        return link.kind == "dsa"
            || !isConduit && link.parentDevice != nil && !Self.virtualBuses.contains(link.parentBus ?? "")
    }

    private func isPhysical(_ port: Int) -> Bool {
        state.links[port].map { InterfaceKind.uplinkRank($0) == 0 } ?? false
    }
}
