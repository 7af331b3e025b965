// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Netlink

extension InterfaceClassifier {
    /// What the interface is, in Apple's words (rule S11).
    public func type(of link: Link) -> InterfaceType { type(of: link, below: []) }

    /// What the interface with that index is; `.other` when it does not exist.
    public func type(of index: Int) -> InterfaceType { state.links[index].map { type(of: $0) } ?? .other }

    func pathInterface(_ link: Link) -> PathInterface {
        PathInterface(name: link.name, index: link.index, type: type(of: link))
    }

    /// `seen` holds the links above, so that a circle of lower links ends.
    private func type(of link: Link, below seen: [Int]) -> InterfaceType {
        if let type = decision(for: link)?.type { return type }
        if isLoopback(link) { return .loopback }
        if let wireless = facts.wireless[link.index] { return wireless.isMember ? .wifi : .other }
        if facts.cellular[link.index] != nil { return .cellular }
        switch facts.devices[link.index]?.role {
        case .modem: return .cellular
        case .wifi: return .wifi
        case .bluetooth, .vpn: return .other
        case .unspecified, nil: break
        }
        guard !seen.contains(link.index), seen.count < 16 else { return .other }
        guard let kind = link.kind else { return Self.hardwareType(link.hardwareType) }
        if kind == "veth" || kind == "netkit" { return .wiredEthernet }
        if InterfaceKind.isAggregate(kind) { return bestPort(of: link, below: seen + [link.index]) }
        if InterfaceKind.isStacked(kind) {
            if let below = link.lower.flatMap({ state.links[$0] }) {
                return type(of: below, below: seen + [link.index])
            }
            return link.isLowerElsewhere ? .wiredEthernet : .other
        }
        switch kind {
        case "wwan", "rmnet": return .cellular
        default: return .other
        }
    }

    private static func hardwareType(_ number: UInt16) -> InterfaceType {
        switch number {
        case 1: .wiredEthernet
        case 519: .cellular
        default: .other
        }
    }

    /// The type of the port that all packets leave by, else the best among those that work, or among all when none does.
    private func bestPort(of link: Link, below seen: [Int]) -> InterfaceType {
        let bonded = link.bond?.sendsByActivePort == true ? link.bond?.activePort : nil
        if let port = (bonded ?? facts.teams[link.index]?.activePort).flatMap({ state.links[$0] }) {
            return type(of: port, below: seen)
        }
        var best: (isActive: Bool, type: InterfaceType)?
        for index in state.ports(of: link.index) {
            guard let port = state.links[index] else { continue }
            let candidate = (isActive: isUsable(port), type: type(of: port, below: seen))
            if candidate.isActive, candidate.type == .wiredEthernet { return .wiredEthernet }
            guard let known = best else {
                best = candidate
                continue
            }
            let isBetter = candidate.type.rank < known.type.rank
            if candidate.isActive == known.isActive ? isBetter : candidate.isActive { best = candidate }
        }
        return best?.type ?? .other
    }
}

extension InterfaceType {
    /// Apple's order of preference: wired, Wi-Fi, cellular, the rest (rule S17).
    var rank: Int {
        switch self {
        case .wiredEthernet: 0
        case .wifi: 1
        case .cellular: 2
        case .other: 3
        case .loopback: 4
        }
    }
}
