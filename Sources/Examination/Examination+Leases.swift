// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Diagnosis
internal import Netlink
internal import Probes

/// Who hands out addresses on the own links: two DHCPDISCOVER on each of the first two, and two ARP requests for a router
/// that is offered and not in use.
extension Examination {
    func askLeases() {
        for place in evidence.links.indices.prefix(2) {
            let link = facts.links[place]
            let hasAddress = evidence.links[place].addresses.contains { held in
                held.address.family == .ipv4 && !held.address.isLinkLocal
            }
            guard evidence.links[place].isUp, evidence.links[place].hasCarrier, let own = link.sender else { continue }
            if order.isRepeated && hasAddress { continue }
            // Servers that try an address before they offer it are waited for where there is none.
            let limit = hasAddress ? Duration.milliseconds(1500) : .seconds(4)
            send(.address) { done in
                LeaseProbe(on: link.index, from: own, limit: limit, loop: loop) { [weak self] result in
                    self?.take(result, place, link)
                    done()
                }
            }
        }
    }

    private func take(_ result: LeaseResult, _ place: Int, _ link: Link) {
        switch result {
        case .offers(let offers):
            count(sent: 656, received: 0)
            evidence.links[place].dhcp = .known(offers.map { DHCPOffer(server: $0.server, router: $0.router) })
            for (number, offer) in offers.enumerated() {
                askRouter(offer.router, number, place, link)
                askPortal(offer.portal)
            }
        case .failed(let text), .notAssessed(let text): evidence.links[place].dhcp = .unknown(because: text)
        }
    }

    /// Whether a router that is offered is there, if it is not the one in use.
    private func askRouter(_ router: IPAddress?, _ number: Int, _ place: Int, _ link: Link) {
        guard let router, !evidence.gateways.contains(where: { $0.address == router }), let own = link.sender else {
            return
        }
        send(.address) { done in
            let source = facts.sender(on: link.index)
            return NeighborProbe(router, on: link.index, from: own, source: source, loop: loop) { [weak self] result in
                if case .owners(let owners) = result, case .known(var offers)? = self?.evidence.links[place].dhcp {
                    offers[number].routerAnswers = .known(!owners.isEmpty)
                    self?.evidence.links[place].dhcp = .known(offers)
                }
                done()
            }
        }
    }
}
