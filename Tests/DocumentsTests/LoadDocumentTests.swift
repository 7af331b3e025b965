// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0

import Diagnosis
import OrderedJSON
import Testing

@testable import Documents

@Suite struct LoadDocumentTests {
    private static func json(_ load: PerformanceEvidence.Load) throws -> JSONValue {
        try shown(LoadDocument(load), LoadDocument.form)
    }

    @Test func `a load test shows throughput, latency and what it took`() throws {
        var load = PerformanceEvidence.Load(
            idle: .microseconds(123),
            loaded: .milliseconds(850),
            roundTripsPerMinute: 70,
            down: 93.4567,
            up: 38
        )
        load.duration = .milliseconds(4_812)
        (load.sent, load.received) = (18_000_000, 18_300_000)
        let value = try Self.json(load)
        #expect(
            value.object?.keys == [
                "down_mbps", "up_mbps", "idle_seconds", "loaded_seconds", "rpm",
                "responsiveness", "duration_seconds", "sent_bytes", "received_bytes",
            ]
        )
        #expect(value["down_mbps"]?.double == 93.46 && value["up_mbps"]?.double == 38)
        #expect(value["idle_seconds"]?.double == 0.000123 && value["loaded_seconds"]?.double == 0.85)
        #expect(
            value["rpm"]?.int == 70 && value["responsiveness"]?.string == "poor"
                && value["duration_seconds"]?.double == 4.812
        )
        #expect(value["sent_bytes"]?.int == 18_000_000 && value["received_bytes"]?.int == 18_300_000)
    }

    @Test func `what was not measured is null`() throws {
        let load = PerformanceEvidence.Load(idle: nil, loaded: nil, roundTripsPerMinute: nil, down: 5, up: nil)
        let value = try Self.json(load)
        for key in ["up_mbps", "idle_seconds", "loaded_seconds", "rpm", "responsiveness"] {
            #expect(value[key] == .null, "\(key)")
        }
    }

    @Test func `a diagnosis has it only when there was a load test`() throws {
        let load = PerformanceEvidence.Load(idle: nil, loaded: nil, roundTripsPerMinute: nil, down: 5, up: nil)
        for wanted in [load, nil] {
            let document = DiagnosisDocument(
                RuleEvaluator().evaluate(Evidence()),
                path: DiagnosedPath(Evidence()),
                targets: "file",
                load: wanted.map(LoadDocument.init),
                effort: .init(time: "", duration: .zero, sent: 0, received: 0, isComplete: true),
                since: { _ in "" }
            )
            let value = try JSONValue(parsing: try OrderedJSONEncoder().encode(document))
            #expect((value["load"] == nil) == (wanted == nil))
        }
    }
}
