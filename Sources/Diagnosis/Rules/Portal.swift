// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

extension RuleEvaluator {
    func portalFaults(_ evidence: Evidence) -> [Verdict] {
        let portal = evidence.portal
        if let api = portal.api.value, api.isCaptive {
            return [login(api.portal, .certain), announced]
        }
        let notes = portal.api.value == nil ? [] : [announced]
        let wrong = portal.checks.filter { !$0.isGenuine }
        // One genuine answer shows that there is no portal.
        guard !wrong.isEmpty, wrong.count == portal.checks.count else { return notes }
        let confidence: Confidence = wrong.count > 1 ? .likely : .possible
        if let redirect = wrong.first(where: \.wantsLogin), wrong.allSatisfy(\.wantsLogin) {
            return [login(redirect.location, confidence)] + notes
        }
        guard wrong.allSatisfy({ $0.status == 200 || $0.wantsLogin }), let genuine = portal.isHTTPSGenuine.value
        else {
            return notes
        }
        guard genuine else { return [login(wrong.lazy.compactMap(\.location).first, confidence)] + notes }
        return [intercepted(wrong[0], confidence)] + notes
    }

    private func login(_ page: String?, _ confidence: Confidence) -> Verdict {
        Verdict(
            .captivePortal,
            .broken,
            confidence,
            say: "the network requires a login before it forwards packets",
            action: page.map { "log in at \($0)" } ?? "open any http:// page in a browser and log in"
        )
    }

    private var announced: Verdict {
        Verdict(.captiveAPI, .info, say: "the network announces a captive portal API", action: "nothing")
    }

    private func intercepted(_ check: PortalEvidence.Check, _ confidence: Confidence) -> Verdict {
        Verdict(
            .httpIntercepted,
            .warning,
            confidence,
            say: "plain HTTP to \(check.anchor) is intercepted (status \(check.status)); "
                + "HTTPS is not",
            action: "check for a proxy or filter, or use HTTPS only",
            evidence: [.init("http_status", check.status)]
        )
    }
}
