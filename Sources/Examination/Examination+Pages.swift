// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
internal import Diagnosis
internal import Probes

/// Pages: whether somebody on the way answers in place of an anchor, and whose certificates it shows.
///
/// One request without and one with encryption to each anchor, by its own address where that is known.
extension Examination {
    func askPages() {
        for anchor in order.targets.anchors {
            let way = facts.ways.first { way in
                way.isOpen && (!anchor.isAddressed || anchor.address(way.family) != nil)
            }
            guard let family = way?.family else { continue }
            if anchor.hasPage { askPlainly(anchor, family) }
            if anchor.isAddressed { askSecurely(anchor, family) }
        }
    }

    func definition(
        _ anchor: Targets.Anchor,
        _ family: AddressFamily,
        isSecure: Bool
    ) -> ProbeDefinition? {
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
            timeout: .seconds(3)
        )
        definition.address = address.map { ScopedAddress($0) }
        if !isSecure && order.targets.answersChallenge { definition.page.challenge = RandomLabel.make() }
        return definition
    }

    private static func authority(_ address: IPAddress) -> String {
        address.family == .ipv4 ? "\(address)" : "[\(address)]"
    }

    private func ask(
        _ layer: Layer,
        _ definition: ProbeDefinition,
        take: @escaping (ProbeResult) -> Void
    ) {
        send(layer) { done in
            ProbeAttempt(definition, surroundings: ProbeSurroundings(), loop: loop, pages: pages) {
                [weak self] result in
                self?.count(sent: result.sent, received: result.received)
                if let shortage = result.shortage {
                    self?.note(shortage, at: layer)
                } else if let gap = result.gap {
                    self?.evidence.gaps[layer] = gap
                } else {
                    take(result)
                }
                done()
            }
        }
    }

    /// Notes that a test of a layer was not possible, because this machine lacks what a socket needs.
    func note(_ shortage: String, at layer: Layer) {
        evidence.gaps[layer] = shortage
        evidence.shortage = shortage
    }

    private func askPlainly(_ anchor: Targets.Anchor, _ family: AddressFamily) {
        guard let definition = definition(anchor, family, isSecure: false) else { return }
        ask(.captive, definition) { [unowned self] result in
            guard let page = result.page else {
                evidence.gaps[.captive] = "no page responded"
                return
            }
            evidence.portal.checks.append(
                PortalEvidence.Check(
                    anchor: anchor.name,
                    status: page.status,
                    location: page.location,
                    isEchoed: page.isEchoed || !order.targets.answersChallenge
                )
            )
        }
    }

    private func askSecurely(_ anchor: Targets.Anchor, _ family: AddressFamily) {
        guard let definition = definition(anchor, family, isSecure: true) else { return }
        ask(.application, definition) { [unowned self] result in
            if result.page != nil {
                // An answer over a verified connection is the server's own, whatever its status.
                evidence.portal.isHTTPSGenuine = .known(true)
                evidence.application.certificates.append(.init(anchor: anchor.name))
                return
            }
            if evidence.portal.isHTTPSGenuine.value == nil { evidence.portal.isHTTPSGenuine = .known(false) }
            guard let failure = result.certificate, case .failure(_, let detail) = result.outcome else {
                evidence.gaps[.application] = "no encrypted connection could be made"
                return
            }
            evidence.application.certificates.append(
                .init(anchor: anchor.name, failure: detail, isAboutTime: failure == .outOfDate)
            )
        }
    }
}

extension Targets.Anchor {
    /// Whether it can be asked without looking up its name.
    fileprivate var isAddressed: Bool { ipv4 != nil || ipv6 != nil }
}

extension ProbeResult {
    /// Why nothing was found out; `nil` when something was.
    var gap: String? {
        if case .notAssessed(let advice) = outcome { advice } else { shortage }
    }
}

/// Labels that nobody asked for before.
enum RandomLabel {
    /// Twelve letters.
    static func make() -> String {
        String(decoding: (0..<12).map { _ in UInt8.random(in: UInt8(ascii: "a")...UInt8(ascii: "z")) }, as: UTF8.self)
    }
}
