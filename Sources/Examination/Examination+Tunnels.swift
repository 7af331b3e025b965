// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Diagnosis
internal import Netlink
internal import PathModel
internal import Probes

/// A default route via a tunnel through which nobody answers: the same anchors, asked by the device below.
///
/// Three echo requests and one TCP connection to each of two anchors, bound to a device (`SO_BINDTODEVICE`).
extension Examination {
    func askAround(_ place: Int) {
        let reach = evidence.reach[place]
        guard let leg = facts.way(reach.family)?.legs.first, facts.tunnels.contains(leg.index),
            let tunnel = facts.link(leg.index), let anchor = reach.anchors.first,
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
            ask(anchor.address, by: device.name) { [unowned self] in
                evidence.sending[number].tunnel?.answersAround = true
            }
        }
    }

    /// Whether a device that is no tunnel has a router of its own on the way to an address.
    func leads(_ link: Link, to address: IPAddress) -> Bool {
        guard !facts.tunnels.contains(link.index), link.flags.contains(.up) else { return false }
        let query = RouteQuery(address, kind: .decision, outputInterface: link.index)
        guard case .success(let answer) = kernel.lookup(query) else { return false }
        return answer.legs.contains { $0.index == link.index && $0.gateway != nil }
    }

    private func ask(_ address: IPAddress, by device: String, answered: @escaping () -> Void) {
        let route = ProbeRoute(interface: device)
        send(.local) { done in
            PacketTrain(
                .echo,
                to: ScopedAddress(address),
                route: route,
                count: 3,
                pace: .milliseconds(50),
                patience: .milliseconds(1200),
                loop: loop
            ) { [weak self] result in
                self?.count(sent: result.bytesSent, received: result.bytesReceived)
                if result.received > 0 { answered() }
                done()
            }
        }
        let definition = ProbeDefinition(
            name: "around",
            method: .tcp,
            target: .host(.address(ScopedAddress(address)), port: order.targets.httpsPort),
            route: route,
            timeout: .milliseconds(1500)
        )
        send(.local) { done in
            ProbeAttempt(definition, surroundings: ProbeSurroundings(), loop: loop, pages: pages) { result in
                if result.isSuccess || result.reason == .refused { answered() }
                done()
            }
        }
    }
}
