// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Diagnosis
internal import Probes

extension Check {
    /// Pages: whether another host answers in place of an anchor, and whose certificates it shows.
    ///
    /// One request without and one with encryption to each anchor, by its own address where that is known.
    static let pages = Check(.network) { $0.requestPages() }
}

extension ExaminationState {
    fileprivate mutating func requestPages() {
        for anchor in order.targets.anchors {
            let route = facts.routes.first { route in
                route.isOpen && (!anchor.isAddressed || anchor.address(route.family) != nil)
            }
            guard let family = route?.family else { continue }
            if anchor.hasPage { requestPlainly(anchor, family) }
            if anchor.isAddressed { requestSecurely(anchor, family) }
        }
    }

    func page(of anchor: Targets.Anchor, _ family: AddressFamily, isSecure: Bool) -> ProbeDefinition? {
        let address = anchor.address(family)
        let port = isSecure ? order.targets.httpsPort : order.targets.httpPort
        guard let host = anchor.host ?? address.map(Self.authority) else { return nil }
        let path = anchor.hasPage ? order.targets.path : "/"
        guard let page = PageAddress("\(isSecure ? "https" : "http")://\(host):\(port)\(path)") else { return nil }
        var definition = ProbeDefinition(
            name: "page",
            method: .http,
            target: .page(page),
            family: family,
            page: PageExpectation(statuses: [204], authorities: isSecure ? order.targets.authorities : nil),
            timeout: .milliseconds(2500)
        )
        definition.address = address.map { ScopedAddress($0) }
        if !isSecure && order.targets.answersChallenge { definition.page.challenge = RandomLabel.make() }
        return definition
    }

    private static func authority(_ address: IPAddress) -> String {
        address.family == .ipv4 ? "\(address)" : "[\(address)]"
    }

    private mutating func request(
        _ layer: Layer,
        _ definition: ProbeDefinition,
        record: @escaping (inout ExaminationState, ProbeResult) -> Void
    ) {
        attempt(layer, definition) { state, result in
            if let shortage = result.shortage {
                state.record(shortage: shortage, at: layer)
            } else if let gap = result.gap {
                state.evidence.gaps[layer] = gap
            } else {
                record(&state, result)
            }
        }
    }

    private mutating func requestPlainly(_ anchor: Targets.Anchor, _ family: AddressFamily) {
        guard let definition = page(of: anchor, family, isSecure: false) else { return }
        request(.captive, definition) { state, result in
            guard let page = result.page else {
                state.evidence.gaps[.captive] = "no page responded"
                return
            }
            state.evidence.portal.checks.append(
                PortalEvidence.Check(
                    anchor: anchor.name,
                    status: page.status,
                    location: page.location,
                    isEchoed: page.isEchoed || !state.order.targets.answersChallenge
                )
            )
        }
    }

    private mutating func requestSecurely(_ anchor: Targets.Anchor, _ family: AddressFamily) {
        guard let definition = page(of: anchor, family, isSecure: true) else { return }
        request(.application, definition) { state, result in
            if result.page != nil {
                // An answer over a verified connection is the server's own, whatever its status.
                state.evidence.portal.isHTTPSGenuine = .known(true)
                state.evidence.application.certificates.append(.init(anchor: anchor.name))
                if result.page?.offersQUIC == true { state.quicAnchors.insert(anchor.name) }
                return
            }
            if state.evidence.portal.isHTTPSGenuine.value == nil {
                state.evidence.portal.isHTTPSGenuine = .known(false)
            }
            guard let failure = result.certificate, case .failure(_, let detail) = result.outcome else {
                state.evidence.gaps[.application] = "no encrypted connection could be made"
                state.recordHandshake(anchor, family, result)
                return
            }
            state.evidence.application.certificates.append(
                .init(anchor: anchor.name, failure: detail, isAboutTime: failure == .outOfDate)
            )
        }
    }
}

extension ExaminationState {
    fileprivate mutating func recordHandshake(_ anchor: Targets.Anchor, _ family: AddressFamily, _ result: ProbeResult)
    {
        guard !result.isSecured, let reason = result.reason else { return }
        let port = order.targets.httpsPort
        evidence.application.failedHandshakes.append(
            .init(anchor: anchor.name, family: family, port: port, isSilent: reason == .timeout)
        )
    }
}

extension Targets.Anchor {
    /// Whether it can be tested without looking up its name.
    fileprivate var isAddressed: Bool { ipv4 != nil || ipv6 != nil }
}
