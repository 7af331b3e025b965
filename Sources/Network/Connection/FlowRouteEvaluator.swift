// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Netlink
internal import PathModel

/// What the network is to one connection.
struct FlowRoute: Hashable, Sendable {
    /// The interface that has our address; `nil` when none has it any more.
    var interface: PathInterface?
    /// Whether packets of the connection can be sent now.
    var isViable = true
    /// Whether the kernel would choose another interface for a new connection.
    var hasBetterPath = false

    /// The path of a program as that of this connection, which may leave the machine, or stay on the link, where others
    /// do not.
    func path(from path: Path) -> Path {
        var path = path
        if isViable, path.status != .satisfied {
            path.status = .satisfied
            path.reason = nil
            path.subject = nil
        } else if !isViable, path.status == .satisfied {
            path.status = .unsatisfied
            path.reason = interface == nil ? .noSourceAddress : .noDefaultRoute
        }
        if let interface {
            path.interfaces.removeAll { $0.index == interface.index }
            path.interfaces.insert(interface, at: 0)
        }
        return path
    }
}

/// Evaluates connections by the kernel's state and route lookups; pure, the forwarding table is an argument.
struct FlowRouteEvaluator {
    /// Links and addresses.
    let state: KernelState
    /// What interfaces are.
    let classifier: InterfaceClassifier
    /// Queries the forwarding table; `nil` when it cannot be queried.
    let lookup: (RouteQuery) -> Result<RouteAnswer, RouteFailure>?

    /// What the network is to a connection between these ends; one without ends stays on the machine.
    func route(local: SocketEnd?, remote: SocketEnd?) -> FlowRoute {
        guard let local, let remote else { return FlowRoute() }
        if local.address.isLoopback {
            return FlowRoute(interface: state.links.values.first(where: classifier.isLoopback).map(view))
        }
        guard let holder = holder(of: local) else { return FlowRoute(interface: nil, isViable: false) }
        let output = output(to: remote)
        var route = FlowRoute(interface: view(holder))
        // Both ends are on this machine, whichever interface has the address.
        if let link = output.flatMap({ state.links[$0] }), classifier.isLoopback(link) { return route }
        route.isViable = holder.isUsable && output != nil
        route.hasBetterPath = output.map { $0 != holder.index } ?? false
        return route
    }

    /// The interface to bind a new socket to, so that its packets keep to what parameters allow.
    /// - Returns: `nil` within the optional when the kernel's own choice is allowed; nothing when no interface is.
    func device(to remote: SocketEnd, _ filter: InterfaceFilter, sparing costs: Costs) -> String?? {
        if let required = filter.required { return state.links[required.index].map { .some($0.name) } }
        if remote.address.isLoopback { return .some(nil) }
        let allowed = state.links.values.filter { link in
            link.isUsable && !classifier.isLoopback(link) && filter.allows(NWInterface(view(link)))
                && !(costs.expensive.contains(link.index) || costs.constrained.contains(link.index))
        }
        if let output = output(to: remote) {
            let isLocal = state.links[output].map(classifier.isLoopback) ?? false
            if isLocal || allowed.contains(where: { $0.index == output }) { return .some(nil) }
        }
        let reaching = allowed.sorted { $0.index < $1.index }.first { link in
            output(to: remote, by: link.index) != nil
        }
        return reaching.map { .some($0.name) }
    }

    /// Whether a host is this machine, or on one of its links.
    func isOnLink(_ end: SocketEnd) -> Bool {
        end.address.isLoopback || end.address.isLinkLocal
            || state.addresses.values.joined().contains { held in
                IPPrefix(held.value.address, length: held.value.prefixLength).contains(end.address)
            }
    }

    /// Interfaces that cost what is not to be spent, by index.
    struct Costs: Hashable, Sendable {
        var expensive: Set<Int> = []
        var constrained: Set<Int> = []
    }

    // MARK: - Kernel

    private func view(_ link: Link) -> PathInterface {
        PathInterface(name: link.name, index: link.index, type: classifier.type(of: link))
    }

    private func holder(of end: SocketEnd) -> Link? {
        if end.scope != 0 { return state.links[Int(end.scope)].flatMap { has(end.address, $0.index) ? $0 : nil } }
        return state.addresses.keys.sorted().first { has(end.address, $0) }.flatMap { state.links[$0] }
    }

    private func has(_ address: RawAddress, _ index: Int) -> Bool {
        state.addresses[index, default: []].contains { $0.value.address == address }
    }

    /// By which interface a packet to an end would leave.
    private func output(to end: SocketEnd, by index: Int? = nil) -> Int? {
        let bound = index ?? (end.scope == 0 ? nil : Int(end.scope))
        guard case .success(let answer) = lookup(RouteQuery(end.address, kind: .decision, outputInterface: bound)),
            let nexthop = answer.nexthops.first, nexthop.flags.isDisjoint(with: [.dead, .linkDown]),
            let link = state.links[nexthop.index], link.isUsable
        else { return nil }
        return nexthop.index
    }
}
