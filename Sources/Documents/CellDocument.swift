// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

internal import Addressing
package import Diagnosis
package import OrderedJSON

/// One test of a diagnosis: one kind of packets to one target, and what became of it.
package struct CellDocument: MemberDeclaring, Equatable, Sendable {
    enum Outcome: String, CaseIterable {
        case answered, refused, blocked
        case noAnswer = "no_answer"
        case wrong
        case notTested = "not_tested"
    }

    let target: String
    let test: String
    var outcome: Outcome
    var message: String?
    var flows: Int?
    var answered: Int?

    package static let members = Members<Self>
        .named("Cell", "One kind of packets to one target, and what became of it.")
        .member("target", "Its name or address, or the interface.") { $0.target }
        .member("test", "Such as `TCP port 443` or `ICMP echo`.") { $0.test }
        .member(
            "result",
            as: .words("answered", "refused", "blocked", "no_answer", "wrong", "not_tested"),
            "`blocked` by this machine itself; `wrong`: an answer that must not be."
        ) { $0.outcome.rawValue }
        .member("message", "What was measured, or why there is no result; `null` without either.") { $0.message }
        .member("flows", "How many further flows, or packets of a train, were sent; `null` without.") { $0.flows }
        .member("answered", "How many of those were answered.") { $0.answered }

    init(_ target: String, _ test: String, _ outcome: Outcome, _ message: String? = nil) {
        self.target = target
        self.test = test
        self.outcome = outcome
        self.message = message
    }

    init(_ target: String, _ test: String, _ result: Assessment<Bool>) {
        self.init(target, test, result.value.map { $0 ? .answered : .noAnswer } ?? .notTested, result.reason)
    }

    /// All tests of an examination, from the gateways to single hosts.
    package static func cells(_ evidence: Evidence) -> [CellDocument] {
        gateways(evidence) + anchors(evidence) + uplinks(evidence) + servers(evidence) + sizes(evidence)
            + pages(evidence) + trains(evidence)
    }

    private static func gateways(_ evidence: Evidence) -> [CellDocument] {
        evidence.gateways.flatMap { gateway in
            let name = "\(gateway.address)"
            var neighbor = CellDocument(
                name,
                gateway.address.family == .ipv4 ? "ARP" : "neighbour solicitation",
                gateway.hardwareAddresses.value.map { .known(!$0.isEmpty) }
                    ?? .unknown(because: gateway.hardwareAddresses.reason ?? "")
            )
            neighbor.message = neighbor.message ?? gateway.hardwareAddresses.value?.sorted().joined(separator: " ")
            if neighbor.message?.isEmpty == true { neighbor.message = nil }
            return [neighbor, CellDocument(name, "ICMP echo", gateway.answersEcho)]
        }
    }

    private static func anchors(_ evidence: Evidence) -> [CellDocument] {
        evidence.reach.flatMap(\.anchors).flatMap { anchor -> [CellDocument] in
            let name = "\(anchor.name) \(anchor.address)"
            var cells = [CellDocument(name, "ICMP echo", anchor.echo).repeated(evidence, anchor.address, .echo)]
            if anchor.datagrams.value != nil {
                let query = evidence.queries.first { query in
                    if case .udp = query.kind { query.address == anchor.address } else { false }
                }
                cells.append(CellDocument(name, "UDP echo", anchor.datagrams).repeated(query))
            }
            for (port, connection) in anchor.ports.sorted(by: { $0.key < $1.key }) {
                let cell = CellDocument(name, "TCP port \(port)", Outcome(connection))
                cells.append(cell.repeated(evidence, anchor.address, .tcp(port)))
            }
            return cells
        }
    }

    private static func uplinks(_ evidence: Evidence) -> [CellDocument] {
        evidence.uplinks.map { uplink in
            let family = uplink.family == .ipv4 ? "IPv4" : "IPv6"
            return CellDocument(uplink.interface, "\(family) beyond the gateway", .known(uplink.answers))
        }
    }

    private static func servers(_ evidence: Evidence) -> [CellDocument] {
        (evidence.dns.value ?? []).flatMap { server in
            [("DNS by UDP", server.ipv4), ("DNS by TCP", server.stream)].compactMap { test, answer in
                let query = evidence.queries.first { query in
                    let isStream = if case .tcp = query.kind { true } else { false }
                    return query.target == .nameServer && query.address == server.address
                        && isStream == (test == "DNS by TCP")
                }
                let cell = CellDocument("\(server.address)", test, answer).repeated(query)
                return cell.outcome == .notTested ? nil : cell
            }
        }
    }

    private static func sizes(_ evidence: Evidence) -> [CellDocument] {
        evidence.transport.packetSizes.map { size in
            let isWhole = size.largest >= size.linkMTU
            return CellDocument(
                size.family == .ipv4 ? "IPv4" : "IPv6",
                "packets of \(size.linkMTU) bytes",
                isWhole ? .answered : .noAnswer,
                isWhole ? nil : "\(size.largest) bytes pass" + (size.isAnnounced ? ", as a router reports" : "")
            )
        }
    }

    private static func pages(_ evidence: Evidence) -> [CellDocument] {
        let plain = evidence.portal.checks.map { check in
            CellDocument(check.anchor, "HTTP", check.status == 204 ? .answered : .wrong, "status \(check.status)")
        }
        let secure = evidence.application.certificates.map { certificate in
            CellDocument(
                certificate.anchor,
                "HTTPS",
                certificate.failure == nil ? .answered : .wrong,
                certificate.failure
            )
        }
        let failed = evidence.application.failedHandshakes.map { handshake in
            CellDocument(handshake.anchor, "TLS handshake", handshake.isSilent ? .noAnswer : .refused)
        }
        let proxies = evidence.proxies.map { proxy in
            CellDocument(
                proxy.name,
                "page of \(proxy.host)",
                proxy.failure == nil ? .answered : .noAnswer,
                proxy.failure
            )
        }
        return plain + secure + failed + proxies
    }

    private static func trains(_ evidence: Evidence) -> [CellDocument] {
        let performance = evidence.performance
        return ([performance.gateway].compactMap(\.self) + performance.anchors).map { train in
            let median = (train.median / .milliseconds(1) * 100).rounded() / 100
            var cell = CellDocument(
                train.target,
                "train of packets",
                train.received > 0 ? .answered : .noAnswer,
                train.received > 0 ? "median \(median) ms" : nil
            )
            (cell.flows, cell.answered) = (train.sent, train.received)
            return cell
        }
    }

    private func repeated(_ evidence: Evidence, _ address: IPAddress, _ kind: QueryProtocol) -> CellDocument {
        repeated(evidence.queries.first { $0.address == address && $0.kind == kind })
    }

    /// With what became of further flows, and with what keeps them from leaving.
    private func repeated(_ query: QueryEvidence?) -> CellDocument {
        guard let query else { return self }
        var cell = self
        if query.flows > 0 { (cell.flows, cell.answered) = (query.flows, query.answered) }
        if let obstacle = query.obstacle { (cell.outcome, cell.message) = (.blocked, obstacle.text) }
        return cell
    }

    private init(_ target: String, _ test: String, _ answer: NameServerEvidence.Answer) {
        switch answer {
        case .silent: self.init(target, test, .noAnswer)
        case .answered, .noSuchName: self.init(target, test, .answered)
        case .failed(let code): self.init(target, test, .wrong, code)
        default: self.init(target, test, .notTested)
        }
    }
}

extension CellDocument.Outcome {
    init(_ connection: ReachEvidence.Connection) {
        switch connection {
        case .connected: self = .answered
        case .refused: self = .refused
        case .silent: self = .noAnswer
        case .blocked: self = .blocked
        }
    }
}
