// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Diagnosis
internal import Netlink
internal import PathModel
internal import Probes

extension Check {
    /// A default route by a tunnel through which no anchor answers: the same anchors by the device below.
    ///
    /// Three echo requests and one TCP connection to each of two anchors, bound to a device (`SO_BINDTODEVICE`), and to the
    /// other end of the tunnel where that is known.
    static let tunnels = Check(.depth) { state in
        for index in state.evidence.reach.indices where state.evidence.reach[index].isAlive == false {
            state.testAround(index)
        }
    }
}

extension ExaminationState {
    fileprivate mutating func testAround(_ index: Int) {
        let reach = evidence.reach[index]
        guard let nexthop = facts.route(reach.family)?.nexthops.first, facts.tunnels.contains(nexthop.index),
            let tunnel = facts.link(nexthop.index), let anchor = reach.anchors.first,
            let device = facts.links.first(where: { leads($0, to: anchor.address) }),
            let number = evidence.sending.firstIndex(where: { $0.family == reach.family })
        else { return }
        evidence.sending[number].tunnel = SendEvidence.Tunnel(
            interface: tunnel.name,
            device: device.name,
            answers: false,
            answersAround: false
        )
        for anchor in reach.anchors.prefix(2) {
            test(anchor.address, by: device.name) { $0.evidence.sending[number].tunnel?.answersAround = true }
        }
        // Where packets around the tunnel are forbidden, its other end shows whether the line works.
        for endpoint in endpoints(of: tunnel, to: anchor.address).prefix(2) {
            test(endpoint, by: nil) { $0.evidence.sending[number].tunnel?.answersAround = true }
        }
    }

    /// The hosts that may be the other end of a tunnel: the peer of WireGuard, else those with a route of their own by a
    /// gateway.
    private func endpoints(of tunnel: Link, to address: IPAddress) -> [IPAddress] {
        if case .sent(let endpoint, _, _)? = kernel.wireGuardAnswer(of: tunnel.index, for: address) {
            return [endpoint]
        }
        let routes = AddressFamily.allCases.flatMap { family in
            let length = family == .ipv4 ? 32 : 128
            return (try? kernel.routes(family, type: .unicast, limit: 10_000) { $0.destination.length == length })?
                .values
                ?? []
        }
        return routes.filter { route in
            route.answer.nexthops.contains { $0.gateway != nil && !facts.tunnels.contains($0.index) }
        }.map(\.destination.address).filter { !$0.isLinkLocal && !$0.isPrivate }
    }
}
