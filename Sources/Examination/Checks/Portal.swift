// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Diagnosis
internal import Probes

/// The network's own announcement of its portal (RFC 8910): one request to each API that a DHCP server or a router
/// announces, at most two.
///
/// A redirect is not followed, and no more is read than an answer has.
extension ExaminationState {
    private static let mostPortals = 2

    mutating func queryPortal(_ notice: PortalNotice?) {
        guard let notice else { return }
        guard case .interface(let page) = notice else {
            if notice == .unusable { record(gap: "the network announces a portal without a usable address") }
            return
        }
        guard portals.count < Self.mostPortals, portals.insert(page).inserted else { return }
        var definition = ProbeDefinition(name: "portal", method: .http, target: .page(page), timeout: .seconds(3))
        definition.page = PageExpectation(statuses: [200])
        definition.page.accepted = PortalStatus.mediaType
        definition.page.longestBody = PortalStatus.longest
        attempt(.captive, definition) { $0.record($1, from: page) }
    }

    private mutating func record(_ result: ProbeResult, from page: PageAddress) {
        if let shortage = result.shortage {
            evidence.shortage = shortage
            return record(gap: shortage)
        }
        switch result.outcome {
        case .notAssessed(let advice): record(gap: advice)
        case .failure(_, let detail): record(gap: "\(page) did not answer: \(detail)")
        case .success:
            guard let status = result.page.flatMap(PortalStatus.init) else {
                return record(gap: "\(page) does not say whether a login is required")
            }
            // Of two that differ, the one that holds packets back is right.
            if evidence.portal.api.value?.isCaptive == true { return }
            evidence.portal.api = .known(.init(isCaptive: status.isCaptive, portal: status.portal?.description))
        }
    }

    private mutating func record(gap reason: String) {
        if evidence.portal.api.value == nil { evidence.portal.api = .unknown(because: reason) }
    }
}
