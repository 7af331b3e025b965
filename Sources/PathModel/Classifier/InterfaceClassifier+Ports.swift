// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

public import Netlink

/// What keeps a link from working, and where.
struct LinkFault {
    var problem: UnusableReason
    /// The port that it is about; `nil` for the link itself.
    var port: Link?
    /// The obstacle, where the problem alone would mislead.
    var obstacle: ReasonSubject.Obstacle?

    /// Whether the link itself is in order, so that what stands on it does not notice.
    fileprivate var isHidden: Bool { port != nil || [.noPorts, .noTeamMode, .noActivePort].contains(obstacle) }
}

/// How many ports of a redundant link work.
public struct PortCount: Hashable, Sendable {
    /// Ports that could send now.
    public var working: Int
    /// All ports.
    public var total: Int
    /// The names of those that could not, in alphabetical order.
    public var failed: [String]

    public init(working: Int, total: Int, failed: [String] = []) {
        self.working = working
        self.total = total
        self.failed = failed
    }

    /// Whether a port failed although another one is left.
    public var isReduced: Bool { working > 0 && working < total }
}

/// An aggregate works as well as the ports that it sends through (rule S15).
extension InterfaceClassifier {
    /// Whether packets that are given to the link leave by it, as far as the links of this machine decide.
    public func isUsable(_ link: Link) -> Bool { fault(of: link) == nil }

    /// What keeps the link from working: its own state, or that of the ports that it sends through.
    func fault(of link: Link) -> LinkFault? { fault(of: link, above: []) }

    /// `seen` holds the links above, so that a circle ends.
    private func fault(of link: Link, above seen: [Int]) -> LinkFault? {
        if let problem = linkProblem(of: link) {
            return LinkFault(problem: problem, obstacle: link.obstacle(behind: problem))
        }
        guard let kind = link.kind, !seen.contains(link.index), seen.count < 8 else { return nil }
        let isStacked = InterfaceKind.isStacked(kind)
        guard isStacked || InterfaceKind.dependsOnPorts(kind) else { return nil }
        let seen = seen + [link.index]
        if isStacked {
            guard let below = link.standsOn.flatMap({ state.links[$0] }), let fault = fault(of: below, above: seen)
            else {
                return nil
            }
            if fault.isHidden { return fault }
            // What stands on a Wi-Fi client has a carrier as long as it is associated.
            guard [.dormant, .authenticationFailed].contains(fault.problem) else { return nil }
            return LinkFault(problem: fault.problem, port: below, obstacle: .lower(of: link.name))
        }
        if facts.teams[link.index]?.hasMode == false {
            return LinkFault(problem: .noCarrier, obstacle: .noTeamMode)
        }
        if link.bond?.sendsByActivePort == true, link.bond?.activePort == nil, !state.ports(of: link.index).isEmpty {
            return LinkFault(problem: .noCarrier, obstacle: .noActivePort)
        }
        let ports = sendingPorts(of: link)
        guard !ports.isEmpty else { return LinkFault(problem: .noCarrier, obstacle: .noPorts) }
        var first: LinkFault?
        for port in ports {
            guard let fault = portFault(port, of: link, above: seen) else { return nil }
            first = first ?? fault
        }
        return first
    }

    /// The ports by which a bond, team, mesh or HSR link sends, as far as the kernel says.
    private func sendingPorts(of link: Link) -> [Link] {
        if let active = link.bond?.activePort.flatMap({ state.links[$0] }), link.bond?.sendsByActivePort == true {
            return [active]
        }
        if let team = facts.teams[link.index], team.isStuck, let active = team.activePort.flatMap({ state.links[$0] }) {
            return [active]
        }
        return state.ports(of: link.index).sorted().compactMap { state.links[$0] }
    }

    /// What keeps one port from sending.
    ///
    /// A bond that monitors its ports changes to another one by itself when this one fails: until it does, its own opinion
    /// counts.
    private func portFault(_ port: Link, of master: Link, above seen: [Int]) -> LinkFault? {
        // A bond tests carriers, which a Wi-Fi client has before it is authorized.
        let isAlive = !isWaiting(port) && master.bond?.isMonitored == true && port.isBondPortUp != false
        if isAlive { return nil }
        guard let fault = fault(of: port, above: seen) else { return nil }
        return LinkFault(problem: fault.problem, port: fault.port ?? port, obstacle: .lower(of: master.name))
    }

    /// Whether the link, or the one it stands on, has lost a port and goes on by the others.
    func isReduced(_ link: Link) -> Bool {
        guard link.standsOn != nil || !state.ports(of: link.index).isEmpty else { return false }
        var link = link
        for _ in 0..<8 where link.kind.map(InterfaceKind.isStacked) == true {
            guard let below = link.standsOn.flatMap({ state.links[$0] }) else { return false }
            link = below
        }
        return portCount(of: link)?.isReduced ?? false
    }

    /// The ports of a redundant link; `nil` for links of other kinds.
    public func portCount(of link: Link) -> PortCount? {
        guard let kind = link.kind, InterfaceKind.isRedundant(kind) else { return nil }
        let ports = state.ports(of: link.index).compactMap { state.links[$0] }
        let failed = ports.filter { port in
            let isIdle = link.bond?.aggregator != nil && port.bondAggregator != link.bond?.aggregator
            return !isUsable(port) || port.isBondPortUp == false || isIdle
        }
        return PortCount(
            working: ports.count - failed.count,
            total: ports.count,
            failed: failed.map(\.name).sorted()
        )
    }
}

// MARK: - Bridges

extension InterfaceClassifier {
    /// The port of a bridge by which packets to the nexthop's router leave, when it does not work or does not forward: what
    /// runs beside it on the bridge keeps the bridge's carrier (rule S15).
    func brokenPort(of nexthop: RouteNexthop) -> (bridge: Link, port: Link, fault: LinkFault)? {
        guard let router = nexthop.router else { return nil }
        // Where the tree blocks the port, packets leave by another one.
        if let (bridge, port) = state.bridgePort(of: router), port.bridgePortState != .blocking {
            return bridgePortFault(port, of: bridge).map { (bridge, port, $0) }
        }
        guard let bridge = state.bridge(below: nexthop.index).flatMap({ state.links[$0] }) else { return nil }
        switch state.neighborState(router) {
        case .failed: return blockedUplink(of: bridge, isSilent: true)
        case .incomplete: return blockedUplink(of: bridge, isSilent: false)
        default: return nil
        }
    }

    /// A port that may keep packets to the nexthop's router, where it is not known by which port that is.
    func suspectPort(of nexthop: RouteNexthop) -> (bridge: Link, port: Link, fault: LinkFault)? {
        guard let router = nexthop.router, state.bridgePort(of: router) == nil,
            let bridge = state.bridge(below: nexthop.index).flatMap({ state.links[$0] })
        else { return nil }
        return blockedUplink(of: bridge, isSilent: true)
    }

    /// Whether the nexthop's router is on a bridge of which a port with a carrier does not forward, so that the state of the
    /// router's entry decides.
    func needsNeighbor(_ nexthop: RouteNexthop) -> Bool {
        guard let bridge = state.bridge(below: nexthop.index) else { return false }
        return state.ports(of: bridge).contains { index in
            guard let port = state.links[index], let spanning = port.bridgePortState else { return false }
            return spanning != .forwarding && isUsable(port)
        }
    }

    private func bridgePortFault(_ port: Link, of bridge: Link) -> LinkFault? {
        if let fault = fault(of: port) {
            return LinkFault(problem: fault.problem, port: fault.port ?? port, obstacle: .lower(of: bridge.name))
        }
        // With MST each VLAN has a state of its own.
        guard let spanning = port.bridgePortState, spanning != .forwarding, !bridge.hasMST else { return nil }
        let obstacle = ReasonSubject.Obstacle.notForwarding(of: bridge.name, spanning)
        return LinkFault(problem: .notForwarding, port: port, obstacle: obstacle)
    }

    /// A port with a carrier that does not forward, where the router does not answer and the bridge has not learned by which
    /// port it is: it counts as the uplink when every port that forwards is less likely to be one; where the router
    /// `isSilent` for good, also when one is as likely and the tree will let the port forward soon.
    private func blockedUplink(of bridge: Link, isSilent: Bool) -> (bridge: Link, port: Link, fault: LinkFault)? {
        var blocked: (rank: Int, port: Link)?
        var forwarding = Int.max
        for index in state.ports(of: bridge.index) {
            guard let port = state.links[index], let spanning = port.bridgePortState, isUsable(port) else { continue }
            let rank = InterfaceKind.uplinkRank(port)
            if spanning == .forwarding {
                forwarding = min(forwarding, rank)
            } else if (rank, index) < blocked.map({ ($0.rank, $0.port.index) }) ?? (.max, .max) {
                blocked = (rank, port)
            }
        }
        guard let (rank, port) = blocked, rank < forwarding || rank == forwarding && isSilent && port.isInTransition,
            let fault = bridgePortFault(port, of: bridge)
        else { return nil }
        return (bridge, port, fault)
    }
}

extension Link {
    /// Whether the spanning tree lets the port forward soon.
    fileprivate var isInTransition: Bool { bridgePortState == .listening || bridgePortState == .learning }
}
