// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Addressing
import Diagnosis
import LinuxIO
import OrderedJSON
import TestSupport
import Testing

@testable import Documents
@testable import EventHub

extension Example {
    private static let since = WallTime(nanoseconds: 1_795_176_000_000_000_000)
    private static let lost = Verdict(
        .gatewayUnresolved,
        .broken,
        .likely,
        family: .ipv4,
        about: "192.0.2.1",
        say: "the gateway 192.0.2.1 on eth0 does not answer ARP",
        action: "check the router",
        evidence: [.init("tries", 2), .init("loss_percent", "12.5")]
    )
    private static let late = Verdict(.dnsSlow, .degraded, say: "name servers are slow", action: "use another one")

    static let verdicts = [
        Example(
            body: VerdictChanged(lost, isRaised: true, since: since),
            summary: "error verdict.raised the gateway 192.0.2.1 on eth0 does not answer ARP",
            data: #""state":"raised","verdict":{"code":"gateway.unresolved","layer":"gateway","severity":"broken","#
                + #""confidence":"likely","family":"ipv4","subject":"192.0.2.1","#
                + #""message":"the gateway 192.0.2.1 on eth0 does not answer ARP","hint":"check the router","#
                + #""evidence":{"tries":2,"loss_percent":12.5},"since":"2026-11-20T12:00:00.000000000Z"}}"#
        ),
        Example(
            body: VerdictChanged(late, isRaised: true, since: since),
            summary: "warning verdict.raised name servers are slow",
            data: #""state":"raised","verdict":{"code":"dns.slow","layer":"dns","severity":"degraded","#
                + #""confidence":"certain","family":null,"subject":null,"message":"name servers are slow","#
                + #""hint":"use another one","#
                + #""evidence":{},"since":"2026-11-20T12:00:00.000000000Z"}}"#
        ),
        Example(
            body: VerdictChanged(late, isRaised: false, since: since),
            summary: "info verdict.cleared resolved: name servers are slow",
            data: #""state":"cleared","verdict":{"code":"dns.slow","layer":"dns","severity":"degraded","#
                + #""confidence":"certain","family":null,"subject":null,"message":"name servers are slow","#
                + #""hint":"use another one","#
                + #""evidence":{},"since":"2026-11-20T12:00:00.000000000Z"}}"#
        ),
    ]
}

@Suite struct IdleDiagnosisTests {
    @Test func `before the first round nothing is known, and every member is there`() throws {
        let value = try JSONValue(parsing: try OrderedJSONEncoder().encode(DiagnosisDocument.idle))
        #expect(value["verdicts"]?.array?.isEmpty == true && value["ladder"]?.array?.isEmpty == true)
        #expect(value["time"] == .null && value["severity"] == .null)
        #expect(value["targets"]?.string == "none" && value["complete"]?.bool == false)
        #expect(value["bytes"]?.int == 0 && value["duration_seconds"]?.int == 0)
        #expect(value["blame"]?.string == "nobody")
        #expect(value["info"]?.array?.isEmpty == true)
        #expect(value["masked"]?.array?.isEmpty == true)
        #expect(value["path"]?["gateways"]?.array?.isEmpty == true)
        #expect(value["path"]?["interfaces"]?.array?.isEmpty == true)
        #expect(value.object?.keys.count == 16)
    }

    @Test func `the service says at the end how far the examination is that runs`() throws {
        var running = DiagnosisStateDocument.Running(
            started: "2026-11-20T12:00:00.000000000Z",
            layers: [.link, .wan, .dns]
        )
        running.finish(.wan)
        running.finish(.wan)
        let text = try OrderedJSONEncoder().string(DiagnosisDocument.idle).dropLast()
        #expect(
            try OrderedJSONEncoder().string(DiagnosisStateDocument(.idle, running: running))
                == text + #","running":{"started":"2026-11-20T12:00:00.000000000Z","layers":["link","dns"]}}"#
        )
        #expect(
            try OrderedJSONEncoder().string(DiagnosisStateDocument(.idle, running: nil)) == text + #","running":null}"#
        )
        for running in [running, nil] {
            _ = try shown(DiagnosisStateDocument(.idle, running: running), DiagnosisStateDocument.form)
        }
    }
}
