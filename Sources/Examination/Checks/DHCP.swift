// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Diagnosis
internal import Netlink
internal import Probes

extension Check {
    /// Which servers hand out addresses on the own links: two DHCPDISCOVER on each of the first two, and two ARP requests
    /// for a router that is offered and not in use.
    static let dhcp = Check(.network) { $0.queryDHCP() }
}

extension ExaminationState {
    fileprivate mutating func queryDHCP() {
        for index in evidence.links.indices.prefix(2) {
            let link = facts.links[index]
            let hasAddress = evidence.links[index].addresses.contains { held in
                held.address.family == .ipv4 && !held.address.isLinkLocal
            }
            guard evidence.links[index].isUp, evidence.links[index].hasCarrier, let own = link.sender else { continue }
            if order.isRepeated && hasAddress { continue }
            // Servers that test an address before they offer it are waited for where there is none.
            let limit = hasAddress ? Duration.milliseconds(1500) : .seconds(4)
            run(.address, DHCPProbe(on: link.index, from: own, limit: limit)) { state, result, _ in
                state.record(result, index, link)
            }
        }
    }

    private mutating func record(_ result: DHCPResult, _ index: Int, _ link: Link) {
        switch result {
        case .offers(let offers):
            evidence.links[index].dhcp = .known(
                offers.map {
                    var offer = DHCPOffer(
                        server: $0.server,
                        router: $0.router,
                        mask: $0.mask,
                        nameServers: $0.nameServers
                    )
                    offer.prefersIPv6Only = $0.prefersIPv6Only
                    return offer
                }
            )
            for (number, offer) in offers.enumerated() {
                test(offer.router, number, index, link)
                queryPortal(offer.portal)
            }
        case .failed(let text), .notAssessed(let text): evidence.links[index].dhcp = .unknown(because: text)
        }
    }

    /// Whether a router that is offered is there, if it is not the one in use.
    private mutating func test(_ router: IPAddress?, _ number: Int, _ index: Int, _ link: Link) {
        guard let router, !evidence.gateways.contains(where: { $0.address == router }), let own = link.sender else {
            return
        }
        let source = facts.sender(on: link.index)
        run(.address, NeighborProbe(router, on: link.index, from: own, source: source)) { state, result, _ in
            guard case .owners(let owners) = result, case .known(var offers) = state.evidence.links[index].dhcp else {
                return
            }
            offers[number].routerAnswers = .known(!owners.isEmpty)
            state.evidence.links[index].dhcp = .known(offers)
        }
    }
}
