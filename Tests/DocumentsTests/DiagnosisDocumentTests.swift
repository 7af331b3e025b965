// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Diagnosis
import OrderedJSON
import Testing

@testable import Documents

@Suite struct DiagnosisDocumentTests {
    /// A link that works, with an address, a router and two name servers.
    static var evidence: Evidence {
        var evidence = Evidence()
        var link = LinkEvidence("eth0")
        link.addresses = [AddressEvidence(.v4(0xC000_020A))]
        evidence.links = [link]
        var sending = SendEvidence(.ipv4)
        sending.route = .known(.found)
        evidence.sending = [sending]
        var gateway = GatewayEvidence(.v4(0xC000_0201), on: "eth0")
        gateway.hardwareAddresses = .known(["02:00:00:00:00:01"])
        evidence.gateways = [gateway]
        evidence.dns = .known([NameServerEvidence(.v4(0xC000_0235)), NameServerEvidence(.v4(0xC000_0236))])
        return evidence
    }

    private static func document(
        isComplete: Bool = true,
        _ change: (inout Evidence) -> Void = { _ in }
    ) -> DiagnosisDocument {
        var evidence = evidence
        change(&evidence)
        return DiagnosisDocument(
            RuleEvaluator().evaluate(evidence),
            path: DiagnosedPath(evidence),
            targets: "file",
            effort: DiagnosisDocument.Effort(
                time: "2026-11-20T12:00:00.000000000Z",
                duration: .microseconds(1_234_567),
                sent: 600,
                received: 400,
                isComplete: isComplete
            ),
            since: { _ in "2026-11-20T12:00:00.000000000Z" }
        )
    }

    private static func json(_ document: DiagnosisDocument) throws -> JSONValue {
        try shown(document, DiagnosisDocument.form)
    }

    @Test func `a network in order has no verdict and every layer`() throws {
        let value = try Self.json(Self.document())
        #expect(value["verdicts"]?.array?.isEmpty == true)
        #expect(value["severity"] == .null)
        #expect(value["blame"]?.string == "nobody")
        let layers = value["ladder"]?.array?.compactMap { $0["layer"]?.string }
        #expect(layers == Layer.ofNetwork.map(\.rawValue))
        #expect(value["ladder"]?.array?.first?["state"]?.string == "ok")
        #expect(value["ladder"]?.array?.first?["message"] == .null)
        #expect(value["ladder"]?.array?.last?["state"]?.string == "not_assessed")
        #expect(value["ladder"]?.array?.last?["message"]?.string == "not tested")
    }

    @Test func `the members of the contract are there, in their order`() throws {
        let value = try Self.json(Self.document(isComplete: false))
        #expect(
            value.object?.keys == [
                "schema", "verdicts", "info", "masked", "ladder", "severity", "fault_domain", "blame", "path",
                "targets", "complete",
                "time", "duration_seconds", "bytes", "sent_bytes", "received_bytes",
            ]
        )
        #expect(value["duration_seconds"]?.double == 1.234567 && value["schema"]?.string == "nwpath.diagnosis/1")
        #expect(value["bytes"]?.int == 1000 && value["sent_bytes"]?.int == 600)
        #expect(value["received_bytes"]?.int == 400)
        #expect(value["complete"]?.bool == false)
        #expect(value["targets"]?.string == "file")
        #expect(value["path"]?["interfaces"]?[0]?["name"]?.string == "eth0")
        #expect(value["path"]?["gateways"]?.array == [.string("192.0.2.1")])
        #expect(value["path"]?["name_servers"]?.array == [.string("192.0.2.53"), .string("192.0.2.54")])
    }

    @Test func `a verdict says what, where, and what to do`() throws {
        let value = try Self.json(
            Self.document { evidence in
                evidence.links[0].carrierChanges = 4
                evidence.links[0].addresses[0].otherHolders = .known(["02:00:00:00:00:66"])
            }
        )
        let verdicts = try #require(value["verdicts"]?.array)
        #expect(verdicts.compactMap { $0["code"]?.string } == ["addr.duplicate", "link.flapping"])
        let first = try #require(verdicts.first)
        #expect(
            first.object?.keys == [
                "code", "layer", "severity", "confidence", "family", "subject", "message", "hint",
                "evidence", "since",
            ]
        )
        #expect(first["layer"]?.string == "address" && first["severity"]?.string == "broken")
        #expect(first["confidence"]?.string == "certain" && first["family"]?.string == "ipv4")
        #expect(first["subject"]?.string == "192.0.2.10")
        #expect(first["message"]?.string == "192.0.2.10 on eth0 is also used by 02:00:00:00:00:66")
        #expect(first["since"]?.string == "2026-11-20T12:00:00.000000000Z")
        #expect(first["evidence"]?["other_holders"]?.int == 1)
        #expect(verdicts.last?["family"] == .null)
        #expect(value["severity"]?.string == "broken")
        #expect(value["fault_domain"]?.string == "link" && value["blame"]?.string == "link_or_gateway")
    }

    @Test func `consequences are shown with their cause, and the layers above as hidden`() throws {
        let value = try Self.json(
            Self.document { evidence in
                evidence.gateways[0].hardwareAddresses = .known([])
                var server = NameServerEvidence(.v4(0xC000_0235))
                server.ipv4 = .silent
                evidence.dns = .known([server])
            }
        )
        #expect(value["verdicts"]?.array?.count == 1)
        let masked = try #require(value["masked"]?.array?.first)
        #expect(masked["code"]?.string == "dns.unreachable" && masked["cause"]?.string == "gateway.unresolved")
        #expect(masked["layer"]?.string == "dns" && masked["message"]?.string?.isEmpty == false)
        let rungs = try #require(value["ladder"]?.array)
        let gateway = try #require(rungs.first { $0["layer"]?.string == "gateway" })
        #expect(gateway["state"]?.string == "faulty" && gateway["codes"]?.array == [.string("gateway.unresolved")])
        let dns = try #require(rungs.first { $0["layer"]?.string == "dns" })
        #expect(dns["message"]?.string == "hidden by gateway.unresolved")
    }

    @Test func `measured numbers stay numbers, and texts texts`() throws {
        let facts = EvidenceFacts(facts: [.init("a", 3), .init("b", "2.5"), .init("c", "eth0"), .init("d", "nan")])
        let value = try JSONValue(parsing: try OrderedJSONEncoder().encode(facts))
        #expect(value["a"]?.int == 3 && value["b"]?.double == 2.5)
        #expect(value["c"]?.string == "eth0" && value["d"]?.string == "nan")
    }
}

@Suite struct RungDocumentTests {
    @Test func `the states of a layer are told apart`() throws {
        let evidence = DiagnosisDocumentTests.evidence
        let rungs = RuleEvaluator().evaluate(evidence).ladder.map(RungDocument.init)
        #expect(rungs.map(\.layer) == Layer.ofNetwork.map(\.rawValue))
        #expect(Set(rungs.map(\.state)) == ["ok", "not_assessed"])
        #expect(rungs.allSatisfy { ($0.message == nil) == ($0.state == "ok") && $0.codes.isEmpty })
    }

    @Test func `a path shows what was examined, in its order`() {
        var evidence = DiagnosisDocumentTests.evidence
        evidence.links.append(LinkEvidence("wlan0"))
        evidence.gateways.append(GatewayEvidence(.v6(0xFE80_0000_0000_0000_0000_0000_0000_0001), on: "eth0"))
        let path = DiagnosedPath(evidence)
        #expect(path.interfaces.map(\.name) == ["eth0", "wlan0"])
        #expect(path.gateways == ["192.0.2.1", "fe80::1"])
        evidence.dns = .unknown(because: "nobody looked")
        #expect(DiagnosedPath(evidence).nameServers.isEmpty)
    }

    @Test func `a note has the form of a verdict, and no weight`() throws {
        let note = Verdict(.icmpFiltered, .info, family: .ipv6, say: "echo is filtered", action: "nothing")
        let document = VerdictDocument(note, since: "2026-11-20T12:00:00.000000000Z")
        #expect(document.code == "icmp.filtered" && document.layer == "performance" && document.severity == "info")
        #expect(document.family == "ipv6" && document.subject == nil && document.evidence.facts.isEmpty)
    }

    @Test func `what a diagnosis took is told in whole milliseconds`() {
        let effort = DiagnosisDocument.Effort(time: "", duration: .zero, sent: 0, received: 0, isComplete: true)
        let diagnosis = RuleEvaluator().evaluate(DiagnosisDocumentTests.evidence)
        let path = DiagnosedPath(DiagnosisDocumentTests.evidence)
        let document = DiagnosisDocument(diagnosis, path: path, targets: "file", effort: effort) { _ in "" }
        #expect(document.bytes == 0 && document.complete && document.severity == nil)
    }
}
