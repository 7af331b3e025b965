// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Diagnosis
internal import Netlink
internal import Probes

/// Who else wants to be a router of the own links: two solicitations on each of the first two, and never again and again.
extension Examination {
    func askRouters() {
        guard !order.isRepeated else { return }
        for place in evidence.links.indices.prefix(2) {
            let link = facts.links[place]
            // Without a link-local address nobody could answer.
            let hasSource = evidence.links[place].addresses.contains { held in
                held.address.family == .ipv6 && held.address.isLinkLocal && !held.isTentative
            }
            guard evidence.links[place].isUp, evidence.links[place].hasCarrier, hasSource, let own = link.sender else {
                continue
            }
            send(.address) { done in
                RouterProbe(on: link.index, from: own, loop: loop) { [weak self] result in
                    self?.take(result, place)
                    done()
                }
            }
        }
    }

    private func take(_ result: RouterResult, _ place: Int) {
        switch result {
        case .advertisements(let routers):
            count(sent: 32, received: 0)
            for router in routers { askPortal(router.portal) }
            // Who does not want to be a default router, such as one into a Thread network, sends nobody astray.
            evidence.links[place].routers = .known(
                routers.filter { $0.lifetime > .zero }.map {
                    RouterAnnouncement(source: $0.source, prefixes: $0.prefixes)
                }
            )
        case .failed(let text), .notAssessed(let text): evidence.links[place].routers = .unknown(because: text)
        }
    }
}
