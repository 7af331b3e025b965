// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Diagnosis
internal import Probes

/// The network's own word on its portal: one request to each interface that a DHCP server or a router announces, at
/// most two.
///
/// A redirect is not followed, and no more is read than an answer has.
extension Examination {
    func askPortal(_ notice: PortalNotice?) {
        guard let notice else { return }
        guard case .interface(let page) = notice else {
            if notice == .unusable { note("the network announces a portal without a usable address") }
            return
        }
        guard portals.count < 2, portals.insert(page).inserted else { return }
        var definition = ProbeDefinition(name: "portal", method: .http, target: .page(page), timeout: .seconds(3))
        definition.page = PageExpectation(statuses: [200])
        definition.page.accepted = PortalStatus.mediaType
        definition.page.longestBody = PortalStatus.longest
        send(.captive) { done in
            ProbeAttempt(definition, surroundings: ProbeSurroundings(), loop: loop, pages: pages) {
                [weak self] result in
                self?.count(sent: result.sent, received: result.received)
                self?.take(result, from: page)
                done()
            }
        }
    }

    private func take(_ result: ProbeResult, from page: PageAddress) {
        if let shortage = result.shortage {
            evidence.shortage = shortage
            return note(shortage)
        }
        switch result.outcome {
        case .notAssessed(let advice): note(advice)
        case .failure(_, let detail): note("\(page) did not answer: \(detail)")
        case .success:
            guard let status = result.page.flatMap(PortalStatus.init) else {
                return note("\(page) does not say whether a login is required")
            }
            // Of two that differ, the one that holds packets back is right.
            if evidence.portal.api.value?.isCaptive == true { return }
            evidence.portal.api = .known(.init(isCaptive: status.isCaptive, portal: status.portal?.description))
        }
    }

    private func note(_ reason: String) {
        if evidence.portal.api.value == nil { evidence.portal.api = .unknown(because: reason) }
    }
}
