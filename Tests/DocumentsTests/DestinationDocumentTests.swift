// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Diagnosis
import OrderedJSON
import Testing

@testable import Documents

@Suite struct DestinationDocumentTests {
    private static func json(_ change: (inout DestinationEvidence) -> Void = { _ in }) throws -> JSONValue {
        var evidence = DestinationEvidence("https://a.test/", host: "a.test", port: 443, .page(isSecure: true))
        change(&evidence)
        return try shown(DestinationDocument(evidence), DestinationDocument.form)
    }

    private static func path(_ change: (inout DestinationEvidence.Path) -> Void) -> DestinationEvidence.Path {
        var path = DestinationEvidence.Path(ScopedAddress(.v4(0xC000_0207)))
        change(&path)
        return path
    }

    @Test func `what was not found out is null, and nothing is left out`() throws {
        let value = try Self.json()
        #expect(
            value.object?.keys == [
                "target", "host", "port", "lookup_seconds", "addresses", "status", "location",
            ]
        )
        #expect(value["target"]?.string == "https://a.test/" && value["host"]?.string == "a.test")
        #expect(value["port"]?.int == 443 && value["addresses"]?.array?.isEmpty == true)
        for name in ["lookup_seconds", "status", "location"] { #expect(value[name] == .null, "\(name)") }
        #expect(try Self.json { $0.port = nil }["port"] == .null)
    }

    @Test func `an address shows its way, and what came back`() throws {
        let value = try Self.json { evidence in
            evidence.lookupTime = .microseconds(2_345)
            evidence.paths = [
                Self.path { path in
                    path.route = .known(.found(interface: "eth0", gateway: .v4(0xC000_0201)))
                    path.echo = .known(true)
                    path.roundTrip = .microseconds(12_346)
                    path.connection = .known(.connected)
                    path.connectTime = .milliseconds(13)
                },
                Self.path { $0.route = .known(.missing) },
                Self.path { path in
                    path.route = .known(.found(interface: "lo", gateway: nil))
                    path.echo = .unknown(because: "needs CAP_NET_RAW")
                    path.connection = .known(.refused)
                },
            ]
        }
        let addresses = try #require(value["addresses"]?.array)
        let names = [
            "address", "interface", "gateway", "echo", "echo_seconds", "connection", "connect_seconds",
        ]
        #expect(addresses.count == 3 && addresses.allSatisfy { $0.object?.keys == names })
        #expect(value["lookup_seconds"]?.double == 0.002345 && addresses[0]["address"]?.string == "192.0.2.7")
        #expect(addresses[0]["interface"]?["name"]?.string == "eth0" && addresses[0]["gateway"]?.string == "192.0.2.1")
        #expect(addresses[0]["echo"]?.bool == true && addresses[0]["echo_seconds"]?.double == 0.012346)
        #expect(addresses[0]["connection"]?.string == "connected" && addresses[0]["connect_seconds"]?.double == 0.013)
        for name in names.dropFirst() { #expect(addresses[1][name] == .null, "\(name)") }
        #expect(addresses[2]["gateway"] == .null && addresses[2]["echo"] == .null)
        #expect(addresses[2]["connection"]?.string == "refused" && addresses[2]["connect_seconds"] == .null)
    }

    @Test func `an answer shows its status and where it leads`() throws {
        let moved = try Self.json { $0.exchange = .known(.answered(status: 301, location: "/x", isUpgraded: false)) }
        #expect(moved["status"]?.int == 301 && moved["location"]?.string == "/x")
        let silent = try Self.json { $0.exchange = .known(.unanswered(detail: "no answer in time")) }
        #expect(silent["status"] == .null && silent["location"] == .null)
    }

    @Test func `a diagnosis has a destination only when one was asked for`() throws {
        var evidence = Evidence()
        evidence.isNetworkExamined = false
        evidence.destination = DestinationEvidence("192.0.2.7", host: "192.0.2.7", port: nil, .host)
        let document = DiagnosisDocument(
            RuleEvaluator().evaluate(evidence),
            path: DiagnosedPath(evidence),
            targets: "none",
            destination: evidence.destination.map(DestinationDocument.init),
            effort: .init(time: "2026-11-20T12:00:00.000Z", duration: .zero, sent: 0, received: 0, isComplete: true),
            since: { _ in "" }
        )
        let value = try JSONValue(parsing: try OrderedJSONEncoder().encode(document))
        #expect(value["destination"]?["host"]?.string == "192.0.2.7" && value["blame"]?.string == "nobody")
        #expect(value["ladder"]?.array?.compactMap { $0["layer"]?.string } == ["route", "reach"])
    }
}
