// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Diagnosis
internal import Netlink
internal import Probes

extension Check {
    /// Which hosts announce themselves as routers of the own links: two solicitations on each of the first two, only in
    /// the first examination.
    static let routers = Check(.network) { $0.solicitRouters() }
}

extension ExaminationState {
    fileprivate mutating func solicitRouters() {
        guard !order.isRepeated else { return }
        for index in evidence.links.indices.prefix(2) {
            let link = facts.links[index]
            // Without a link-local address no router could answer.
            let hasSource = evidence.links[index].addresses.contains { held in
                held.address.family == .ipv6 && held.address.isLinkLocal && !held.isTentative
            }
            guard evidence.links[index].isUp, evidence.links[index].hasCarrier, hasSource, let own = link.sender else {
                continue
            }
            run(.address, RouterSolicitation(on: link.index, from: own)) { state, result, _ in
                state.record(result, index)
            }
        }
    }

    private mutating func record(_ result: RouterResult, _ index: Int) {
        switch result {
        case .advertisements(let routers):
            for router in routers { queryPortal(router.portal) }
            // One that is no default router, such as one into a Thread network, misdirects nothing.
            evidence.links[index].routers = .known(
                routers.filter { $0.lifetime > .zero }.map {
                    RouterAnnouncement(source: $0.source, prefixes: $0.prefixes)
                }
            )
        case .failed(let text), .notAssessed(let text): evidence.links[index].routers = .unknown(because: text)
        }
    }
}
